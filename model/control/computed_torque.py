"""What the inputs do: give forces, hold a pose, follow a path; and whether a path can be followed at all.

An input either gives a force, or makes the coordinate it drives (a joint's, tree or cut, or the length of
a cylinder) follow: with the exact forces for the accelerations (`equations/driving.py`)

    a = q̈_d + 2ω(q̇_d − q̇) + ω²(q_d − q),

so that its error fades like that of a critically damped oscillator of frequency ω, whatever the pose. At rest
at its goal it gives exactly the force that holds it there.

No force is larger than the input's limit. An input without one is given `AMPLE` times what it takes to hold
the start: the force that does, or the mechanism's whole weight at the length of its size, or the inertia
that it feels at an error of `FOLLOWED`, whichever is the largest.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from math import ceil, isfinite
from typing import Any, NamedTuple

import numpy as np

from ..describe.mechanism import Mechanism, Motor, Strut, outer_name
from ..describe.motors import delayed, has, signals, tells_motion
from ..equations.driving import driving
from ..equations.spatial import lumped
from ..errors import SimulationError
from ..state import LiveState, State
from ..thresholds import AMPLE, FOLLOWED, REACHED, REHEARSED, SETTLED
from .joint_values import JointValues

FORCE, POSITION, VELOCITY = range(3)  # what an input is told


class Wanted(NamedTuple):
    """What every input is told, in their order; never changed, only replaced.

    `value` is a force, a position or a velocity, as `kind` says; `rate` and `acceleration` go with positions.
    """

    kind: np.ndarray
    value: np.ndarray
    rate: np.ndarray
    acceleration: np.ndarray

    @classmethod
    def forces(cls, u: np.ndarray) -> "Wanted":
        """Every input gives a force."""
        zero = np.zeros(len(u))
        return cls(np.zeros(len(u), int), np.asarray(u, float), zero, zero)

    @classmethod
    def positions(cls, q: np.ndarray) -> "Wanted":
        """Every input holds its coordinate."""
        zero = np.zeros(len(q))
        return cls(np.full(len(q), POSITION), np.asarray(q, float), zero, zero)

    def changed(self, at: Any, kind: int, value: Any, rate: Any = 0.0, acceleration: Any = 0.0) -> "Wanted":
        """The same with other orders for some inputs."""
        parts = [part.copy() for part in self]
        for part, new in zip(parts, (kind, value, rate, acceleration), strict=True):
            part[at] = new
        return Wanted(*parts)

    def still(self) -> "Wanted":
        """The same without going on: positions are held where they are."""
        return self._replace(rate=0 * self.rate, acceleration=0 * self.acceleration)

    def relaxed(self) -> "Wanted":
        """When nobody speaks any more: no force, no speed; positions stay as they were told."""
        return self._replace(value=np.where(self.kind == POSITION, self.value, 0.0)).still()


@dataclass(frozen=True)
class Path:
    """Where some inputs shall go: `at` are their places.

    `wanted(t)` gives position, velocity and acceleration after t seconds, rows of them for several times.
    """

    at: np.ndarray
    wanted: Callable[[Any], tuple[np.ndarray, np.ndarray, np.ndarray]]
    end: float


class Drives:
    """Forces of all inputs for what is wanted of them, at the present state of a simulation."""

    def __init__(self, simulation: LiveState, values: JointValues, frequency: float):
        self.simulation, self.values = simulation, values
        mechanism = simulation.mechanism
        joints = [part.joint for part in values.joints]
        found = driven_values(mechanism, joints)
        wrenches = len(simulation.inputs) - len(found)  # which move nothing of their own
        self.places = np.array([*found, *[0] * wrenches], int)  # in `values`
        self.moves = np.arange(len(self.places)) < len(self.places) - wrenches
        self.names = [values.names[k] for k in self.places]
        sizes = [1.0] * len(self.names)
        for k, unit in enumerate(_units(mechanism)):
            if unit == "m":
                sizes[k] = simulation.equations.scales.length
        self.sizes = np.array(sizes)
        ranges = [(v.low, v.high) for v in simulation.engine.variables.inputs.columns()]
        self.limits = np.array(ranges, float).reshape(-1, 2).T  # least and most; a winch pushes nothing
        self.bounds: np.ndarray = self.limits  # of what is given where it follows
        self.own = np.array([what for item in mechanism.drives for what in _followed(item)], str)
        self.own = np.append(self.own, [""] * (len(self.names) - self.own.size))
        self.main = np.arange(len(self.names))  # whose orders an input follows: the first of its motor
        at = 0
        for item in mechanism.drives:
            for n, signal in enumerate(signals(item)):
                self.main[at + n] = at if signal.what in _LED else at + n
            at += len(signals(item))
        moves = set(mechanism.motions)
        self.exact = np.array([name in moves for name in mechanism.inputs()], bool)  # go on by their rates
        self._served = bool(self.own.any())
        if self.names and not self._served:
            self._kernel = simulation.bind("driving", driving)
            ample = self._ample(frequency)
            self.bounds = np.clip(self.limits, -ample, ample)
            limited = np.isfinite(self.limits)
            self.bounds[limited] = self.limits[limited]

    def _ample(self, frequency: float) -> np.ndarray:
        """What inputs without a limit are given."""
        simulation = self.simulation
        before = simulation.state
        simulation.put(replace(before, v=np.zeros(simulation.tree.nv)))
        held = self._forces(np.zeros(len(self.names)), np.ones(len(self.names))).copy()
        moved = self._forces(FOLLOWED * frequency**2 * self.sizes, np.ones(len(self.names)))
        simulation.put(before)
        mechanism, size = simulation.mechanism, simulation.equations.scales.length
        weight = sum(float(b.mass) for b in lumped(mechanism).bodies) * float(
            np.linalg.norm(mechanism.gravity)
        )
        arms = np.array([1.0 if unit == "m" else size for unit in _units(mechanism)])
        return AMPLE * np.maximum.reduce([np.abs(held), np.abs(moved - held), weight * arms])

    @property
    def position(self) -> np.ndarray:
        """Of what each input drives, as last read."""
        return self.values.position[self.places]

    @property
    def velocity(self) -> np.ndarray:
        return self.values.velocity[self.places]

    @property
    def effort(self) -> np.ndarray:
        """What each motor or cylinder gives."""
        return self.values.effort[self.places]

    def forces(self, wanted: Wanted, frequency: float) -> np.ndarray:
        """Inputs for the present state, none beyond its limit, nor beyond what is ample where it follows."""
        kind = wanted.kind
        follows, given = (kind != FORCE) & self.moves, np.where(kind == FORCE, wanted.value, 0.0)
        if not follows.any():
            return _within(given, *self.limits)
        self.values.read()
        if self._served:
            return self._by_servos(wanted, frequency)
        at_place = kind == POSITION
        rate = np.where(at_place, wanted.rate, wanted.value)
        a = wanted.acceleration + 2 * frequency * (rate - self.velocity)
        a += frequency**2 * np.where(at_place, wanted.value - self.position, 0.0)
        u = self._forces(a, follows, given)
        if not isfinite(u.sum()):
            u = np.nan_to_num(u)
        return _within(u, *np.where(follows, self.bounds, self.limits))

    def _by_servos(self, wanted: Wanted, frequency: float) -> np.ndarray:
        """What servos are to follow: a place and its rate; one of a given speed is led on ahead."""
        given, wanted = wanted.value, Wanted(*(part[self.main] for part in wanted))
        lead = self.position + np.where(self.exact, 0.0, wanted.value / frequency)
        place = np.select(
            [wanted.kind == POSITION, wanted.kind == VELOCITY], [wanted.value, lead], wanted.value
        )
        rate = np.where(wanted.kind == POSITION, wanted.rate, wanted.value)
        ways = (self.own == "position", np.isin(self.own, ("speed", "velocity")), self.own == "acceleration")
        told = np.select(ways, [place, rate, wanted.acceleration], 0.0)
        return np.where((wanted.kind == FORCE) | (self.own == "") | (self.own == "torque"), given, told)

    def _forces(self, a: np.ndarray, follows: np.ndarray, given: np.ndarray | float = 0.0) -> np.ndarray:
        """Inputs that give accelerations a where an input follows."""
        u = self.simulation.u
        kernel, before = self._kernel, u.copy()
        u[:], kernel.arguments[4][:], kernel.arguments[5][:] = given, a, follows
        kernel.evaluate()
        u[:] = before
        return kernel.results[0]

    def held(self) -> Wanted:
        """The present pose, to be held; refused with a sentence if there is nothing to hold, or nobody to."""
        name = self.simulation.mechanism.name
        if not self.names:
            raise SimulationError(f"'{name}' has no inputs to hold it")
        self.values.read()
        motors = [m for m in self.simulation.mechanism.motors if not has(m.servo_stiffness)]
        blind = [m.name for m in motors if delayed(m) or signals(m)[0].what == "voltage"]
        if blind:
            raise SimulationError(
                f"'{blind[0]}' has a winding, a lag or play and no servo: nothing holds it still"
            )
        if self._served and not self.own.all():
            raise SimulationError(
                f"some inputs of '{name}' have servos and others not: nothing is held for them"
            )
        if self.velocity.any():
            raise SimulationError(f"'{name}' starts in motion, which inputs that hold would stop")
        return Wanted.positions(self.position)


def _within(values: np.ndarray, least: np.ndarray, most: np.ndarray) -> np.ndarray:
    """np.clip, at a third of its cost for a few numbers."""
    bounded: np.ndarray = np.minimum(np.maximum(values, least), most)
    return bounded


_LED = ("position", "speed", "velocity", "acceleration")  # what goes with a motor's first input


def orders(mechanism: Mechanism, values: np.ndarray) -> Wanted:
    """What one value for each input tells: forces, and places and rates of servos and driven motions."""
    wanted, at = Wanted.forces(values), 0
    for item in mechanism.drives:
        own = {signal.what: float(values[at + n]) for n, signal in enumerate(signals(item))}
        rate, acceleration = own.get("velocity", own.get("speed", 0.0)), own.get("acceleration", 0.0)
        if "position" in own:
            wanted = wanted.changed(at, POSITION, own["position"], rate, acceleration)
        elif "velocity" in own:
            wanted = wanted.changed(at, VELOCITY, own["velocity"], 0.0, acceleration)
        at += len(own)
    return wanted


def _followed(item: Motor | Strut) -> Iterator[str]:
    """For each input of a motor or cylinder what of a path it follows by itself; nothing if it is a force."""
    servo = isinstance(item, Motor) and has(item.servo_stiffness)
    for signal in signals(item):
        yield signal.what if servo or tells_motion(item) or signal.what == "voltage" else ""


def driven_values(mechanism: Mechanism, joints: list[str]) -> list[int]:
    """What each input of motors and cylinders drives: a place among single joints, whose joints these are,
    and cylinders behind them."""
    motors = [joints.index(motor.joint) for motor in mechanism.motors for _ in signals(motor)]
    cylinders = [strut for strut in mechanism.struts if strut.actuated]
    return motors + [len(joints) + k for k, strut in enumerate(cylinders) for _ in signals(strut)]


def _units(mechanism: Mechanism) -> Iterator[str]:
    """m or rad, of what each input drives."""
    for motor in mechanism.motors:
        kind = mechanism.joint_type(motor)
        assert kind is not None
        yield from (kind.position_units[0] for _ in signals(motor))
    yield from ("m" for strut in mechanism.struts if strut.actuated for _ in signals(strut))
    yield from ("m" for frame in mechanism.frames if frame.port == "force" for _ in range(6))


def input_places(mechanism: Mechanism) -> dict[str, int]:
    """Every name by which an input may be told: its own, its joint's, its joint's in ROS -> its number."""
    places = {name: k for k, name in enumerate(mechanism.inputs())}
    for motor in mechanism.motors:
        for name in (motor.joint, outer_name(mechanism.joint(motor.joint))):
            places.setdefault(name, places[motor.name])
    return places


class Rehearsal:
    """Tries a path out on a double before it is followed: the very motion that will come, in advance."""

    def __init__(self, drives: Drives, frequency: float):
        simulation = drives.simulation
        self.double = LiveState(simulation.engine, simulation.state, simulation.stepping)
        self.drives = Drives(self.double, JointValues(self.double), frequency)

    def run(
        self,
        state: State,
        near: np.ndarray,
        others: Wanted,
        path: Path,
        h: float,
        steps: int,
        frequency: float,
    ) -> None:
        """Follow a path from a state in periods of `steps` steps h; a sentence says why it can't be done.

        `near` are the joints' values that angles are counted from, `others` what is wanted of all inputs
        that are not on the path. Paths longer than `REHEARSED` are tried so far.
        """
        drives, double = self.drives, self.double
        double.put(state)
        drives.values.position[:] = near
        past = path.end + SETTLED / frequency
        times = h * steps * np.arange(ceil(min(past, REHEARSED) / (h * steps)))
        for t, position, velocity, acceleration in zip(times, *path.wanted(times), strict=True):
            wanted = others.changed(path.at, POSITION, position, velocity, acceleration)
            u = drives.forces(wanted, frequency)
            off = np.abs(position - drives.position[path.at]) / drives.sizes[path.at]
            worst = int(np.argmax(off))
            if not off[worst] <= FOLLOWED:
                self._refuse(path.at[worst], off[worst], u, f"off its path after {t:.3g} s")
            try:
                double.set_inputs(u)
                for _ in range(steps):
                    double.step(h)
            except SimulationError as problem:
                raise SimulationError(f"it can't be followed: {problem}") from problem
        if past <= REHEARSED and off[worst] > REACHED:
            self._refuse(path.at[worst], off[worst], u, "off its goal")

    def _refuse(self, k: int, off: float, u: np.ndarray, where: str) -> None:
        drives = self.drives
        size, (least, most) = drives.sizes[k], drives.bounds[:, k]
        unit, force = ("rad", "N·m") if list(_units(self.double.mechanism))[k] == "rad" else ("m", "N")
        full = "" if least < u[k] < most else f" with the {abs(u[k]):.4g} {force} that it may give"
        raise SimulationError(
            f"it can't be followed: '{drives.names[k]}' would be {off * size:.2g} {unit} {where}{full}; "
            "give it more time, or a goal nearer to where it is and where it moves"
        )
