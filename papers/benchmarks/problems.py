"""The benchmark library's problems as mechanisms, each drawn at its start: every frame is the world's there.

Numbers are those of the library's definitions (A01 to A05, the spatial slider-crank, the four-bar with a
diagonal spring); Bennett's linkage is ours, since no other loop of four hinges moves in space.
"""

from math import cos, pi, radians, sin, sqrt
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from ...model.describe.mechanism import Body, Frame, Joint, Load, Mechanism, Strut

DOWN_Y, DOWN_Z = (0.0, -9.81, 0.0), (0.0, 0.0, -9.81)
X, Y, Z = np.eye(3)

# Andrews' squeezer: points on the ground, lengths, and angles at the start.
ORIGIN, A = np.zeros(2), np.array([-0.06934, -0.00227])
B, C = np.array([-0.03635, 0.03273]), np.array([0.014, 0.072])
RR, D, SS, SC, SD, ZT, E, U, ZF = 0.007, 0.028, 0.035, 0.018, 0.02, 0.04, 0.02, 0.04, 0.02
RA, DA, SA, SB, EA, TA, TB, FA, UA, UB = (
    *(0.00092, 0.0115, 0.01874, 0.01043, 0.01421),
    *(0.02308, 0.00916, 0.01421, 0.01228, 0.00449),
)
SQUEEZER_MASS = (0.04325, 0.00365, 0.02373, 0.00706, 0.0705, 0.00706, 0.05498)
SQUEEZER_INERTIA = (2.194e-06, 4.41e-07, 5.255e-06, 5.667e-07, 1.169e-05, 5.667e-07, 1.912e-05)
SQUEEZER_SPRING, SQUEEZER_LENGTH, SQUEEZER_TORQUE = 4530.0, 0.07785, 0.033
SQUEEZER_START = {
    "beta": -0.06171389001427645,
    "theta": 0.0,
    "gamma": 0.45527981916307037,
    "phi": 0.22266839016588588,
    "delta": 0.48736497954384256,
    "omega": -0.22266839016588588,
    "epsilon": 1.2305474445498212,
}

# The flyball governor.
ROD_MASS, BALL_MASS, SLIDER_MASS, ARM, THICK = 0.3, 5.0, 3.0, 0.05, 0.01
GOVERNOR_ANGLE, GOVERNOR_TURN = radians(30), 2 * pi
GOVERNOR_STIFFNESS, GOVERNOR_DAMPING, GOVERNOR_LENGTH = 8e5, 4e4, 0.5

BENNETT = (1.0, 0.6, 0.9)  # two lengths, and the twist of the first; sin α/a = sin β/b gives the other
BENNETT_START, BENNETT_INERTIA = 1.9, (0.01, 0.1, 0.1)

# The spatial slider-crank: its points at the start; masses and principal inertias, that along the rod first.
CRANK_POINTS = np.array([(0, 0.1, 0.12), (0, 0.1, 0.2), (0.2, 0, 0)])
CRANK, CRANK_SLIDER = (0.12, (1e-4, 1e-4, 1e-5)), (2.0, (1e-4,) * 3)
CONNECTING_ROD = (0.5, (4e-4, 4e-3, 4e-3))
CRANK_SPEED = 6.0

# The four-bar with a spring: where it is drawn, near its equilibrium; stiffness, damping, relaxed length.
SPRING_ANGLE, SPRING = 2.2, (25.0, 1.0, sqrt(2))


def drawn_frame(at: Any, axis: Any = Z, across: Any = None) -> Frame:
    """A frame with its z axis along `axis`, and its x axis along `across` where that matters."""
    z = np.asarray(axis, float) / np.linalg.norm(axis)
    x = np.cross(Y if abs(z[1]) < 0.9 else Z, z) if across is None else np.asarray(across, float)
    x = x / np.linalg.norm(x)
    e = Rotation.from_matrix(np.column_stack([x, np.cross(z, x), z])).as_quat()
    return Frame(tuple(float(c) for c in (*at, 0.0)[:3]), tuple(float(c) for c in e[[3, 0, 1, 2]]))


def hinge(
    name: str,
    parent: str,
    child: str,
    at: Any,
    axis: Any = Z,
    across: Any = None,
    type: str = "revolute",
    **more: Any,
) -> Joint:
    """A joint drawn in world axes, a hinge unless told otherwise."""
    frame = drawn_frame(at, axis, across)
    return Joint(name, type, parent, child, frame, frame, **more)


def body(name: str, mass: float, com: Any, along: Any, inertia: Any) -> Body:
    """A body whose principal axes are the columns of `along`, with the inertias about them."""
    R = np.column_stack(along)
    six = (R @ np.diag(inertia) @ R.T)[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]]
    return Body(name, mass, tuple(map(float, (*com, 0.0)[:3])), tuple(map(float, six)))


def between(start: Any, end: Any, across: Any) -> tuple[Any, tuple[Any, Any, Any]]:
    """Middle and axes of a bar: along it, along `across` (at right angles to it), and along their product.

    Entries may be complex: lengths are roots of sums of squares, not norms.
    """
    along, across = ((v / np.sqrt((v * v).sum())) for v in (end - start, across))
    return (start + end) / 2, (along, across, np.cross(along, across))


def flat(name: str, mass: float, com: Any, inertia: float) -> Body:
    """A thin plate in the plane of x and y."""
    return body(name, mass, com, (X, Y, Z), (inertia / 2, inertia / 2, inertia))


def rod(name: str, start: Any, end: Any, mass: float = 1.0) -> Body:
    """A slender uniform rod in the plane of x and y."""
    a, b = np.asarray(start, float), np.asarray(end, float)
    return flat(name, mass, (a + b) / 2, mass * float((b - a) @ (b - a)) / 12)


def pendulum() -> Mechanism:
    """A01: a point of 1 kg, 1 m from a hinge, let go at the height of the hinge."""
    point = Body("point", 1.0, (-1.0, 0.0, 0.0))
    return Mechanism("pendulum", (point,), (hinge("hinge", "ground", "point", ORIGIN),), gravity=DOWN_Y)


def four_bars(loops: int) -> Mechanism:
    """A02: uprights A_i B_i and couplers between their tops, all of 1 m and 1 kg; the tops move at 1 m/s."""
    bodies, joints = [], []
    for k in range(loops + 1):
        bodies.append(rod(f"upright{k}", (k, 0), (k, 1)))
        joints.append(hinge(f"foot{k}", "ground", f"upright{k}", (k, 0), speed=(-1.0,)))
    for k in range(loops):
        bodies.append(rod(f"coupler{k}", (k, 1), (k + 1, 1)))
        joints.append(hinge(f"left{k}", f"upright{k}", f"coupler{k}", (k, 1), speed=(1.0,)))
        joints.append(hinge(f"right{k}", f"coupler{k}", f"upright{k + 1}", (k + 1, 1), cut=True))
    return Mechanism(f"four_bars_{loops}", tuple(bodies), tuple(joints), gravity=DOWN_Y)


def squeezer() -> Mechanism:
    """A03: Andrews' squeezer, seven bodies on four points of the ground, driven by a constant torque."""
    b, th, ga, ph, de, om, ep = SQUEEZER_START.values()

    def at(start: Any, angle: float, along: float, across: float = 0.0) -> Any:
        return start + about(2, angle)[:2, :2] @ (along, across)

    F = at(ORIGIN, b, RR)
    tip = at(F, b + th, -D)
    G, H = at(A, de, ZT), at(A, ep, 0.0, -U)
    coms = (
        at(ORIGIN, b, RA),
        at(F, b + th, -DA),
        at(B, ga, SB, -SA),
        at(G, ph + de, 0.0, -(E - EA)),
        at(A, de, TA, TB),
        at(H, om + ep, ZF - FA),
        at(A, ep, -UB, -UA),
    )
    names = ("OF", "FE", "BDE", "GE", "AG", "HE", "AH")
    bodies = map(flat, names, SQUEEZER_MASS, coms, SQUEEZER_INERTIA)
    joints = (
        hinge("O", "ground", "OF", ORIGIN),
        hinge("F", "OF", "FE", F),
        hinge("E2", "FE", "BDE", tip, cut=True),
        hinge("B", "ground", "BDE", B),
        hinge("E4", "BDE", "GE", tip, cut=True),
        hinge("G", "AG", "GE", G),
        hinge("A5", "ground", "AG", A),
        hinge("E6", "BDE", "HE", tip, cut=True),
        hinge("H", "AH", "HE", H),
        hinge("A7", "ground", "AH", A),
    )
    start, end = (tuple(map(float, (*point, 0.0))) for point in (C, at(B, ga, SD, -SC)))
    spring = Strut("spring", "ground", "BDE", start, end, SQUEEZER_SPRING, length=SQUEEZER_LENGTH)
    drive = Load("drive", "OF", torque=(0.0, 0.0, SQUEEZER_TORQUE))
    return Mechanism("squeezer", tuple(bodies), joints, (), (spring,), (drive,), gravity=(0.0, 0.0, 0.0))


def bricard() -> Mechanism:
    """A04: six hinges along edges of a cube; five bricks of 1 × 0.1 × 0.1 m and 1 kg."""
    points = np.array([(0, 0, 0), (1, 0, 0), (1, -1, 0), (1, -1, 1), (0, -1, 1), (0, 0, 1)], float)
    axes = (Y, Z, X, Y, Z, X)
    names = ["ground", *(f"rod{k}" for k in range(5)), "ground"]
    bodies = []
    for k in range(5):
        along = points[k + 1] - points[k]
        inertia = np.where(np.abs(along) == 1, 1 / 600, 101 / 1200)
        bodies.append(body(f"rod{k}", 1.0, (points[k] + points[k + 1]) / 2, (X, Y, Z), inertia))
    joints = [hinge(f"hinge{k}", names[k], names[k + 1], points[k], axes[k]) for k in range(6)]
    return Mechanism("bricard", tuple(bodies), tuple(joints), gravity=DOWN_Y)


def bennett_points(angle: Any) -> tuple[Any, Any]:
    """Hinges of Bennett's linkage and their axes, 4 × 3 each; `angle` is of the first, and may be complex.

    Opposite hinges turn alike; of the two, tan(θ/2) tan(φ/2) = sin((α + β)/2)/sin((α − β)/2).
    """
    a, b, first = BENNETT
    other = float(np.arcsin(b * np.sin(first) / a))
    phi = 2 * np.arctan(sin((first + other) / 2) / sin((first - other) / 2) / np.tan(angle / 2))
    point: np.ndarray = np.zeros(3)
    turn: np.ndarray = np.eye(3)
    points, axes = [], []
    for length, twist, by in zip((a, b) * 2, (first, other) * 2, (angle, phi, -angle, -phi), strict=True):
        point = point + length * turn[:, 0]
        turn = turn @ about(0, twist)
        points.append(point)
        axes.append(turn[:, 2])
        turn = turn @ about(2, by)
    return np.array(points), np.array(axes)


def about(axis: int, angle: Any) -> Any:
    """The rotation matrix about a coordinate axis."""
    i, j = (axis + 1) % 3, (axis + 2) % 3
    R = np.eye(3, dtype=np.result_type(angle, float))
    R[i, i] = R[j, j] = np.cos(angle)
    R[j, i] = np.sin(angle)
    R[i, j] = -R[j, i]
    return R


def bennett() -> Mechanism:
    """Bennett's linkage, bars of 1 kg: three speeds, five rows, of rank two on the manifold only."""
    points, axes = bennett_points(BENNETT_START)
    names = ["ground", "bar1", "bar2", "bar3", "ground"]
    bodies = []
    for k in range(1, 4):
        bodies.append(body(names[k], 1.0, *between(points[k - 1], points[k], axes[k - 1]), BENNETT_INERTIA))
    joints = [hinge(f"hinge{k}", names[k], names[k + 1], points[k], axes[k]) for k in range(4)]
    return Mechanism("bennett", tuple(bodies), tuple(joints), gravity=DOWN_Y)


def governor() -> Mechanism:
    """A05: a shaft, a slider on it, two arms with balls, held to the slider by stiff springs and dampers."""
    down = GOVERNOR_ANGLE
    height = 1 - 0.5 * sin(down)  # of the arms' middles
    box = THICK**2 / 12
    mass = ROD_MASS + BALL_MASS
    middle = (ROD_MASS * 0.5 + BALL_MASS) / mass
    across = ROD_MASS * (1 / 12 + box + (0.5 - middle) ** 2) + BALL_MASS * (1 - middle) ** 2
    spin = 0.3 * (2 * box), 0.3 * (1 / 12 + box), SLIDER_MASS * 0.1**2 / 6
    bodies = [
        body("shaft", 0.3, (0, 0, 0.5), (X, Y, Z), (spin[1], spin[1], spin[0])),
        body("slider", SLIDER_MASS, (0, 0, 0.5), (X, Y, Z), (spin[2],) * 3),
    ]
    joints = [
        hinge("shaft", "ground", "shaft", ORIGIN, speed=(GOVERNOR_TURN,)),
        hinge("slide", "shaft", "slider", ORIGIN, type="prismatic"),
    ]
    springs = []
    for side, name in ((1, "1"), (-1, "2")):
        pivot, along = np.array([side * ARM, 0, 1]), np.array([side * cos(down), 0, -sin(down)])
        frame = (along, Y, np.cross(along, Y))
        inertia = (ROD_MASS * 2 * box, across, across)
        bodies.append(body(f"arm{name}", mass, pivot + middle * along, frame, inertia))
        joints.append(hinge(f"arm{name}", "shaft", f"arm{name}", pivot, Y))
        ends = (side * ARM, 0.0, 0.5), (side * (ARM + 0.5 * cos(down)), 0.0, height)
        stiff = GOVERNOR_STIFFNESS, GOVERNOR_DAMPING, GOVERNOR_LENGTH
        springs.append(Strut(f"spring{name}", "slider", f"arm{name}", *ends, *stiff))
    return Mechanism("governor", tuple(bodies), tuple(joints), struts=tuple(springs), gravity=DOWN_Z)


def slider_crank() -> Mechanism:
    """The spatial slider-crank: hinge, ball, universal joint, slide; the crank starts at 6 rad/s."""
    a, b, c = CRANK_POINTS
    pin = np.cross(X, c - b)
    bodies = (
        body("crank", CRANK[0], (a + b) / 2, (X, Y, Z), CRANK[1]),
        body("rod", CONNECTING_ROD[0], *between(b, c, pin), CONNECTING_ROD[1]),
        body("slider", CRANK_SLIDER[0], c, (X, Y, Z), CRANK_SLIDER[1]),
    )
    joints = (
        hinge("crank", "ground", "crank", a, X, speed=(CRANK_SPEED,)),
        hinge("ball", "crank", "rod", b, type="spherical"),
        hinge("universal", "slider", "rod", c, X, pin, type="universal"),
        hinge("slide", "ground", "slider", c, X, type="prismatic"),
    )
    return Mechanism("slider_crank_3d", bodies, joints, gravity=DOWN_Z)


def spring_four_bar() -> Mechanism:
    """A rhombus of three rods of 1 m and 1 kg, and a damped spring along its diagonal."""
    angle = SPRING_ANGLE
    p, q = np.array([cos(angle), sin(angle)]), np.array([1 + cos(angle), sin(angle)])
    bodies = (rod("left", ORIGIN, p), rod("top", p, q), rod("right", (1, 0), q))
    joints = (
        hinge("left", "ground", "left", ORIGIN),
        hinge("top_left", "left", "top", p),
        hinge("top_right", "top", "right", q, cut=True),
        hinge("right", "ground", "right", (1, 0)),
    )
    end = tuple(map(float, (*q, 0.0)))
    spring = Strut("spring", "ground", "right", (0.0, 0.0, 0.0), end, *SPRING)
    return Mechanism("spring_four_bar", bodies, joints, struts=(spring,), gravity=DOWN_Y)
