"""Every number by which a mechanism is judged, once, with its reason. C gets them by a generated header.

Residuals are in metres and radians, as `loops.py` writes them; ratios have no unit.
"""

# -- descriptions --------------------------------------------------------------------------------
PARALLEL = 1e-6  # sine of the angle below which two directions are taken for one
# Robots write 1.5708 for a right angle; the common normal of two axes is 1/sine lengths away.
FAR_NORMAL = 0.05  # sine below which frames stay off it: inertias about it lose 1/sine² of their digits
NOT_ROTATION = 1e-3  # products of columns off those of a rotation matrix, which is written with a few digits
NOT_SYMMETRIC = 1e-9  # of the largest entry: the same number is written twice
INERTIA_ROUND_OFF = 1e-6  # of the moments: printed ones are rounded, and flat bodies sit on the limit
UNIT_ROUND_OFF = 1e-12  # of one: Euler parameters of this length stay as they are written
PLANE_LOOP = 1e-3  # of one: weights of speeds in a cut angle's rate, where the axes of its loop are parallel
FAR_AWAY = 50.0  # times the usual distance of joints from centres of mass: millimetres are a thousand
ODD_GYRATION = 10.0  # times the span of its joints: the radius of gyration of a body whose unit is another
POINTLIKE = 300.0  # the span of its joints over the radius of gyration: thin rods have four
ODD_MASS = 1e4  # times what is usual, or less by that: bodies of one machine hardly differ so much
ODD_TURNS = 3.0  # turns of a joint's limits or start, beyond which degrees are more likely
REWRITTEN = 1e-14  # of the largest number near: what changing axes and units may cost

# -- robots of other formats -----------------------------------------------------------------------
MASSLESS = 1e-7  # of the robot's: exporters write 1e-9 kg for links that are mere frames
MEETS = 1e-6  # metres: axes that pass each other closer than this meet, since files have six digits or more
INERTIA_ROUNDED = 0.02  # of the largest moment: what two printed digits may cost in the triangle inequality
ROTOR_MASS = 1e-12  # of the robot's mass: given to links that have inertia and no mass
MOVES = 0.1  # of the largest part of a motion that moves no mass: joints with less are not named for it
ROUNDED_LOOP = 1e-4  # radians or metres: what numbers of five digits leave of a loop's plane, or common point
MEND_POSES = 6  # of a rounded loop's motion in which it must close, and as many that check it
MEND_REACH = 0.5  # radians or metres: how far away these are, and the most of one step towards them
MEND_TRIES = 30  # steps of Newton's method, which halve the way to a geometry that is exactly redundant
IN_FACE = 1e-9  # of a shape's size: points so near to the plane of a face of its hull are in it
OPEN_START = 1e-6  # residual of a loop at the start above which the gap is worth telling

# -- rotations -----------------------------------------------------------------------------------
SNAP = 1e-14  # constants this near to -1, 0 or 1, of inertias to 0, are made so, which removes operations
GIMBAL = 1e-7  # cosine of the pitch below which yaw is kept, and its square below which yaw's rate is bounded

# -- long trees ------------------------------------------------------------------------------------
SHORT_TREE = 6  # speeds on the longest way to ground up to which M written out takes fewer operations
LONG_TREE = 32  # and beyond which it always takes more

# -- cutting loops -------------------------------------------------------------------------------
NO_INERTIA = 1e-12  # of the largest inertia at a joint's speeds: half a body with less there is none

# -- closing loops -----------------------------------------------------------------------------
CLOSED = 1e-13  # residual at which Newton's method ends: a few units of round-off for sizes of a metre
ROUND_OFF = 1e-11  # residual that is good enough where no step makes it smaller: large mechanisms round more
OPEN = 1e-9  # residual above which a loop counts as open: far above any round-off, far below any tolerance
OTHER_STARTS = (0.03, 0.3, 1.0, 0.3, 1.0, 3.0)  # radians or lengths: how far from a start that does not close
STARTS_EACH = (4, 4, 4, 40, 40, 40)  # poses tried at each of these distances, always the same ones
REFUSED = 1e-6  # residual above which a given state is refused: typed digits and rough steps leave less
LONGEST = 0.5  # radians or metres in one step of Newton's, so that it does not leap to another branch
FIRST_DAMPING = 1e-8  # of the mean diagonal of G Gᵀ, when a full step did not help; ten times more each time
LAST_DAMPING = 1e-6  # damping below this is dropped again once steps help
MOST_DAMPING = 1e8  # no step helps: give up
SAME_WAY = 0.5  # cosine between axes that coincide where a loop is closed: else it is 0 or −1 there
ASSEMBLY_TRIES = 200  # steps of an assembly, which may start far away
LIFT_TRIES = 12  # steps of a lift, which starts near; two or three are usual

# -- poses that are asked for ------------------------------------------------------------------------
FOLLOWED_BRANCH = 0.3  # of Newton's first step: if later ones add more, another branch may be meant
SHORTEST_WAY = 2.0**-16  # of the way to a target: where shorter steps do not lead on, it ends
SOFT = 1e-6  # compliance of rows met by least squares: smaller ones round more, larger ones converge slowly
NEAREST_SOFT = 1.0  # the same of targets out of reach, which are far off: smaller ones overshoot
NEAREST_STEPS = 60  # of the search for the nearest pose, each Newton's method to its end
DISAGREE = 1e-2  # radians, or parts of the mechanism's size: measurements further apart are contradictions
SMALL_TURN = 1e-3  # radians: below, angles of rotations are summed as a series, whose next term is round-off
MISSED = 1e-11  # radians, or parts: a row that is off by less is met

# -- rank and charts -----------------------------------------------------------------------------
RANK = 1e-7  # singular values (or pivots) below this part of the largest count as zero
CARRIED = 1e-6  # entry of a null vector of Gᵀ above which a loop carries a stress of its own
TIE = 1e-6  # columns that differ by less are equally long: the first is taken, whatever the compiler rounds
NEAR_SINGULAR = 1e-3  # singular value below which a pose is worth a warning while it runs
DETERMINED = 1e-3  # smallest singular value at which coordinates that the user would like are taken unasked
POOR = 0.7  # a chart is left when its smallest pivot is this part of the best chart's
ROUGHLY = 0.02  # of that margin: events are located only so well
FAR = 1.0  # displacement of a ball, about 53°, beyond which it is given a new reference
JUMP = 0.05  # of the speeds: a change that accelerations don't explain

SAMPLES = 4  # poses beside a given one at which the rank is looked at as well
REACH = 0.02  # radians, or parts of the mechanism's size: how far away they are

TINY = 1e-300  # divides where zero must not
LARGEST = 1e50  # of a number in a description: products of six still are numbers
LARGEST_ANGLE = 1e8  # rad: of one beyond, too few digits are left to tell poses apart
HUGE = 1e300  # stands for infinite and NaN where numbers are compared
TAUT = 1e-3  # of a cable's length: stretch over which its damper takes hold, so that forces do not jump
NO_LENGTH = 1e-24  # m²: keeps the direction of a strut whose ends meet finite

# -- multipliers ---------------------------------------------------------------------------------
REGULARIZATION = 1e-11  # weight of the proximal term, of the mean diagonal of a group of rows
SWEEPS = 4  # how often it is applied: rows of full rank are then met to round-off
MIXED_INERTIAS = 1e8  # their ratio in M from which it is looked whether loops get their accelerations
LEAST_REGULARIZATION = 1e-30  # added to it, so that rows which all vanish at a pose divide by something

# -- speeds --------------------------------------------------------------------------------------
NOTHING = 1e-9  # of a row's length: free directions that see less of it see its round-off
SLIP = 1e-8  # of the speeds: what G v may leave when wanted speeds contradict no loop

# -- forces and rest -----------------------------------------------------------------------------
DRIVE_TRIES = 6  # of Newton's method for inputs whose torques lose by their sign: two or three are usual
LACKING = 1e-6  # of the generalized forces, and one: what inputs may leave out of a motion they can produce
STILL = 1e-10  # rad/s² or m/s²: largest acceleration that counts as rest
SETTLE_TRIES = 100  # steps of Newton's towards rest, loops closed at each
STANDING = 1e-6  # rad/s or m/s: a joint with friction that turns round by less stands still for solvers
AT_REST = 1e-6  # in SI units: speeds and accelerations that a user would still call rest
GROWTH = 1e-6  # of the fastest eigenvalue, and one: growth and decay below can't be told from none

# -- drives that follow ----------------------------------------------------------------------------
AMPLE = 10.0  # times what holds it: the most that a drive without a limit gives, however near a singular pose
FOLLOWED = 0.1  # radians, or parts of the mechanism's size: farther from its path, a drive does not follow it
REACHED = 1e-3  # radians, or parts: nearer to its goal, a drive has come to it
SETTLED = 10.0  # times 1/frequency after a path's end: by then a critically damped error has faded to 5e-4
SAMPLED = 0.2  # of the rate: no drive follows more stiffly, since orders that are held for a period push late
FASTER = 0.01  # of a speed limit: what sampled orders may exceed it by without a word
PATH_SAMPLES = 1000  # times at which a path is held against stops and speed limits
REHEARSED = 10.0  # seconds of a path that are tried out before it is followed: a moment's work

# -- designs -------------------------------------------------------------------------------------
SHORTEST_LENGTH = 1e-6  # of the mechanism's size: no length becomes shorter
UNCHANGED = 1e-12  # metres, radians: numbers that differ by less are the same number
HELPFUL = 1e-4  # of the largest: singular values below it say little about what would close a gap
FOLLOWS = 1e-7  # part of a parameter's effect on the loops that may be left unexplained
REPEATED = 1e-6  # wᴴx of unit vectors: below it an eigenvalue is not simple and has no derivative

# -- steps ---------------------------------------------------------------------------------------
MOST_SUBSTEPS = 800  # tries in one step, refused ones included, unless told: 1 mg under 1 kg asks for 600
MANY_OUTPUTS = 2000  # numbers: an FMU that would show more shows what is usual unless it is asked for all
FMU_SUBSTEPS = 106  # of an exported FMU, whose host waits: as dear as 160 plain steps; examples ask for 58
PATIENCE = 106  # tries, after which the shortest are given up, and again: no number settles a singular point
SHORTEST = 2.0**-22  # of a step: no sub-step is shorter; 1 mg under 1 kg asks for 2 ns in 10 ms
ENERGY_ERROR = 1e-6  # of the kinetic energy, per sub-step
SUBSTEP_ERROR = 0.25  # of a plain step's: those over a stop are taken where they just do, and several add up
ENERGY_ROUND_OFF = 1e-12  # of all energies: what can't be told from zero
SPEED_LOSS = 1e-5  # length of the correction of v over the length of v, in the mass metric
ATTITUDE_ERROR = 1e-7  # radians of a body's attitude, and part of its spin, per step
POSITION_SWEEPS = 2  # Newton steps onto the loops: the second leaves round-off
SWEEPS_EACH = 2  # of the proximal term in each of these: both together are as many as `SWEEPS`
SEATING_SWEEPS = 4  # the same where a driven motion is told anew and may have jumped
STEP_GAP = 1e-11  # residual that a sub-step may leave, radians or parts of the mechanism's size
UNDECIDED = 100.0  # times what is allowed: up to this error, a step straight on may be the right one
MOST_SCALING = 1.1  # of the kinetic energy, where sub-steps do not settle
TRUSTED = 1e-3  # of the energies exchanged in a run: a result that keeps them worse is not to be trusted
MOST_UNSETTLED = 0.1  # of the steps too coarse even in sub-steps: what more have in common is wrong
LONGER = (8.0, 2.0)  # times the steps of a run: with those it is done once more, and again if that differs
LOOSER = (1e4, 10.0)  # times the tolerance of one
LOOSEST = 0.1  # tolerance of such a run: beyond it no step is refused
MOST_COMPARED = 50  # states of the two
LOOPS_MISS = 1e-4  # of the accelerations in loops: those of bodies are then off by up to ten times as much

FAST_MOTIONS = (0.03, 0.1, 0.3, 1.0, 3.0)  # radians or metres in a step, tried until it takes sub-steps

EXPLICIT_REACH = 2.0  # h times a joint's own rate: explicit steps diverge from 2.8 on, or sooner

# -- leaving a singular pose from rest -------------------------------------------------------------
AHEAD = 2e-3  # radians or parts of the mechanism's size: far enough for G to have its rank, and still small
NEAREST_TRIES = 12  # of Newton's method for the nearest closed pose; five or six are usual
SAME_POSE = 1e-6  # of that displacement: the search has settled
PARTED = 1e-3  # of the acceleration: first and second order differ, the pose is singular
RESOLVED = 3e-5  # radians or parts: displacement at which regularized rows (`solve.py`) are met again

CUT_OFF = 1e-9  # of an input's range: what it may be asked for beyond its limit without a word, as round-off

# -- variable steps ------------------------------------------------------------------------------
ADVISED_TOLERANCE = 1e-8  # what FMUs tell the solvers of model exchange to aim at
LEAST_TOLERANCE = 1e-13  # tolerance of solvers with a variable step: less is round-off
JUDGED_TOLERANCE = 100.0  # times the tolerance: energy of a step, in parts of the kinetic, that may be wrong
MOST_REFUSALS = 8  # of a step, each a quarter of the last: if shorter ones are no better, that is how it is
TOO_SHORT = 1e-2  # of the longest one: near a singularity, steps that get nowhere
NEARER = 0.1  # of the largest singular distance met: what short steps are then blamed on
LEAP = 1 / 64  # of the longest step: what the fixed step is then given, again and again until it is passed
MOST_PLANNED = 2e7  # steps of a run, five hours at a millisecond: records of more would fill the memory
MOST_STEPS = 1e6  # still to take, and a thousand do not get from one record to the next: a run is ended
IN_A_RECORD = 1e-3  # of the time between records: steps that short are what nobody meant to ask for
STEPS_BETWEEN = 2_000  # checks of that: some seconds for large mechanisms even without a compiler

# -- time ----------------------------------------------------------------------------------------
ROUNDED = 2.0**-50  # of a time: what the difference of two that were rounded may be off by
SAME_TIME = 1e-9  # of a step, or of a second: times that differ by less are the same
LOCATED = 1e-13  # of a step: times of events are found this well
BESIDE = 1e-6  # of a step: how far ahead one looks to see whether a function rises or falls

LOOKS = 4096  # at a function of time over a run: what it does is then known but for shorter pulses
MOST_LOOKS = 100_000  # where records are that close
JUMPED = 4.0  # times the change before and after: a change that may be a jump

MOST_IN_FLIGHT = 1000  # samples of a sensor on their way: all are kept in every state

# -- trust ---------------------------------------------------------------------------------------
MOTION_TRUSTED = 1e-4  # radians or sizes that a shorter step, or the way back, may change a motion by
MOTION_SAME = 1e-9  # radians or sizes: motions nearer than this are the same, and tell no order
LEAST_ORDER = 1.0  # of a step: halving it halves the error at least, also where stops and knees are rough
ENERGY_TRUSTED = 1e-5  # of the energies exchanged: what a motion may lose or gain
FORCES_TRUSTED = 1e-8  # of the largest force: what Newton's law may leave over on a body
LINEAR_TRUSTED = 1e-5  # of a row's largest slope: what fourth-order differences leave of round-off
DIFFERENCE = 1e-5  # step of differences, radians, metres, their rates, inputs: far below the knee of friction
IMPORTER_TRUSTED = 1e-6  # of a result: what another tool may be off by on an experiment inside an FMU
SCALE_TRUSTED = 1e-9  # of the motion's numbers: what other units may change of them
