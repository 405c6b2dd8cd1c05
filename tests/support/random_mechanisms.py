"""Seeded random mechanisms with every joint type, and a plain numeric twin of their kinematics.

The twin is written with NumPy and SciPy from the description alone, so that the traced code is
compared with something it does not share a line with.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from cutjoint.model.describe.mechanism import (
    GROUND,
    Body,
    Coupling,
    Frame,
    Joint,
    Load,
    Mechanism,
    Motor,
    Strut,
)
from cutjoint.model.joints.types import TYPES
from scipy.spatial.transform import Rotation

LATER = {"pin-in-slot"}  # than the seeds were chosen; tests of types and the gallery have it
MOVING = [name for name, kind in TYPES.items() if kind.moves and name not in LATER]
ROLLING = [name for name, kind in TYPES.items() if not all(kind.holds_poses)]
CUTTABLE = [
    name for name, kind in TYPES.items() if kind.moves is not None and kind.rows and name not in LATER
]


def transform(R: np.ndarray, p: np.ndarray) -> np.ndarray:
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = R, p
    return T


def quaternion_matrix(e) -> np.ndarray:
    w, x, y, z = e
    return Rotation.from_quat([x, y, z, w]).as_matrix()


def frame_matrix(frame: Frame) -> np.ndarray:
    return transform(quaternion_matrix(frame.orientation), np.asarray(frame.position))


def moved(joint: Joint, q) -> np.ndarray:
    """Pose of the child's joint frame in the parent's, by hand for each type."""
    turn = lambda axis, angle: Rotation.from_euler(axis, angle).as_matrix()  # noqa: E731
    q = list(q)
    zero = np.zeros(3)
    match joint.type:
        case "revolute":
            return transform(turn("z", q[0]), zero)
        case "prismatic":
            return transform(np.eye(3), [0, 0, q[0]])
        case "cylindrical":
            return transform(turn("z", q[0]), [0, 0, q[1]])
        case "universal":
            return transform(turn("z", q[0]) @ turn("x", q[1]), zero)
        case "spherical":
            return transform(quaternion_matrix(q), zero)
        case "planar":
            return transform(turn("z", q[2]), [q[0], q[1], 0])
        case "pin-in-slot":
            return transform(turn("z", q[1]), [q[0], 0, 0])
        case "helical":
            return transform(turn("z", q[0]), [0, 0, joint.pitch * q[0]])
        case "free":
            return transform(quaternion_matrix(q[3:]), q[:3])
        case "spherical-translational":
            return transform(quaternion_matrix(q[:4]), quaternion_matrix(q[:4]) @ [0, 0, q[4]])
        case "fixed":
            return np.eye(4)
    raise AssertionError(f"the twin does not know joints of type {joint.type}")


def body_matrices(mechanism: Mechanism, positions: dict) -> dict[str, np.ndarray]:
    """Poses of all bodies from the coordinates of tree joints (name -> coordinates)."""
    found = {GROUND: np.eye(4)}
    waiting = [j for j in mechanism.joints if j.name in positions]
    while waiting:
        for joint in list(waiting):
            step = frame_matrix(joint.on_parent) @ moved(joint, positions[joint.name])
            step = step @ np.linalg.inv(frame_matrix(joint.on_child))
            if joint.parent in found and joint.child not in found:
                found[joint.child] = found[joint.parent] @ step
            elif joint.child in found and joint.parent not in found:
                found[joint.parent] = found[joint.child] @ np.linalg.inv(step)
            else:
                continue
            waiting.remove(joint)
    return found


def free_coordinates(T: np.ndarray) -> tuple[float, ...]:
    """Coordinates of a free joint at a pose."""
    *e, e0 = Rotation.from_matrix(T[:3, :3]).as_quat()
    return tuple(float(x) for x in (*T[:3, 3], e0, *e))


def turned_round(mechanism: Mechanism) -> Mechanism:
    """The same mechanism with parent and child of its joints exchanged, of types that look the same so."""
    return replace(mechanism, joints=tuple(_turned_round(joint) for joint in mechanism.joints))


def _turned_round(joint: Joint) -> Joint:
    if joint.type in ("universal", "spherical-translational"):
        return joint
    start = joint.start
    if start:
        back = np.linalg.inv(moved(joint, start))
        match joint.type:
            case "free":
                start = free_coordinates(back)
            case "spherical":
                start = free_coordinates(back)[3:]
            case "planar":
                start = (float(back[0, 3]), float(back[1, 3]), -start[2])
            case _:
                start = tuple(-x for x in start)
    ends = {"parent": joint.child, "child": joint.parent, "limits": (-joint.limits[1], -joint.limits[0])}
    return replace(joint, **ends, on_parent=joint.on_child, on_child=joint.on_parent, start=start)


class Maker:
    """Random parts from one seed."""

    def __init__(self, seed: int):
        self.random = np.random.default_rng(seed)

    def unit_quaternion(self) -> tuple[float, ...]:
        e = self.random.normal(size=4)
        return tuple(float(x) for x in e / np.linalg.norm(e))

    def point(self, size: float = 0.5) -> tuple[float, ...]:
        return tuple(float(x) for x in self.random.uniform(-size, size, 3))

    def frame(self) -> Frame:
        return Frame(self.point(), self.unit_quaternion())

    def body(self, name: str) -> Body:
        # inertia of a random cloud of points: always one that a real body can have
        cloud = self.random.normal(size=(8, 3)) * self.random.uniform(0.05, 0.3, 3)
        moment = sum(np.dot(x, x) * np.eye(3) - np.outer(x, x) for x in cloud - cloud.mean(axis=0)) / 8
        mass = float(self.random.uniform(0.5, 3.0))
        I = mass * (moment + 0.01 * np.eye(3))  # noqa: E741
        return Body(name, mass, self.point(0.2), tuple(float(I[k]) for k in zip(*SIX, strict=True)))

    def coordinates(self, kind: str) -> tuple[float, ...]:
        values: list[float] = []
        for move in TYPES[kind].moves or ():
            values += [float(self.random.uniform(-0.9, 0.9))] if move.plain else self.unit_quaternion()
        return tuple(values)

    def joint(self, name: str, kind: str, parent: str, child: str, forces: bool) -> Joint:
        nv, same = TYPES[kind].nv, TYPES[kind].nq == TYPES[kind].nv

        def some(high: float) -> tuple[float, ...]:
            return tuple(float(x) for x in self.random.uniform(0.1, high, nv)) if forces else ()

        joint = Joint(name, kind, parent, child, self.frame(), self.frame(), start=self.coordinates(kind))
        joint = replace(joint, pitch=float(self.random.uniform(0.05, 0.3)) if kind == "helical" else 0.0)
        if kind in ("spherical", "free"):
            values = np.arange(1.0, nv + 1) if some(0.5) else np.zeros(0)
            each = {"damping": 0.1 * values, "stiffness": values, "rest": 0.2 * values[::-1]}
            return replace(joint, **{key: tuple(x.tolist()) for key, x in each.items()})
        if same and nv:
            stiffness, rest = some(5.0), some(0.5)
            return replace(
                joint,
                damping=some(0.5),
                stiffness=stiffness,
                rest=rest,
                friction=some(0.3),
                friction_speed=0.5,
            )
        return joint


SIX = ((0, 1, 2, 0, 0, 1), (0, 1, 2, 1, 2, 2))


def random_tree(seed: int, bodies: int = 4, forces: bool = True, types: list[str] | None = None) -> Mechanism:
    """A tree; joints may point either way, and the first type is taken in turn so that all occur."""
    make = Maker(seed)
    kinds = types or [*MOVING, "fixed"]
    names = [GROUND]
    parts, joints = [], []
    for k in range(bodies):
        name = f"b{k + 1}"
        kind = kinds[seed % len(kinds)] if k == 0 else str(make.random.choice(kinds))
        inner = str(make.random.choice(names))
        ends = (inner, name) if make.random.random() < 0.6 else (name, inner)
        joint = make.joint(f"j{k + 1}", kind, *ends, forces)
        if k == 0 and kind in ("revolute", "prismatic", "helical") and forces:
            (start,) = joint.start or (0.0,)
            joint = replace(joint, armature=(0.2,), limits=(start - 0.3, start + 0.2))
        if kind in ("spherical", "free") and forces and seed % 2:
            joint = replace(joint, armature=tuple((0.1 * np.arange(1.0, TYPES[kind].nv + 1)).tolist()))
        parts.append(make.body(name))
        joints.append(joint)
        names.append(name)
    driven = [j for j in joints if TYPES[j.type].nv == 1]
    motors = tuple(Motor(f"m_{j.name}", j.name) for j in driven)
    struts: tuple[Strut, ...] = ()
    loads: tuple[Load, ...] = ()
    if forces:
        a, b = make.random.choice(names, 2, replace=False)
        struts = (
            Strut("s1", str(a), str(b), make.point(), make.point(), 20.0, 2.0, 0.4),
            Strut("c1", GROUND, "b1", make.point(), make.point(), actuated=True),
        )
        loads = (
            Load("l1", "b1", make.point(), make.point(5), make.point(2)),
            Load("l2", names[-1], make.point(), make.point(5), make.point(2), "body"),
        )
    gravity = make.point(10)
    return Mechanism(f"random{seed}", tuple(parts), tuple(joints), motors, struts, loads, gravity)


def random_loop(seed: int, bodies: int = 5, forces: bool = True) -> Mechanism:
    """A tree closed by one or two cut joints that fit at the start pose; every type is cut in turn."""
    make = Maker(10_000 + seed)
    tree = random_tree(seed, bodies, forces)
    poses = body_matrices(tree, {j.name: j.start for j in tree.joints})
    joints = list(tree.joints)
    for k in range(1 + seed % 2):
        kind = CUTTABLE[(seed + 3 * k) % len(CUTTABLE)]
        names = [b.name for b in tree.bodies]
        a, b = (str(x) for x in make.random.choice([GROUND, *names] if k else names, 2, replace=False))
        cut = make.joint(f"cut{k + 1}", kind, a, b, forces)
        at = cut.start
        end = np.linalg.inv(poses[b]) @ poses[a] @ frame_matrix(cut.on_parent) @ moved(cut, at)
        place = free_coordinates(end)
        joints.append(replace(cut, on_child=Frame(place[:3], place[3:]), start=(), cut=True))
    return replace(tree, name=f"loop{seed}", joints=tuple(joints))


def random_coupled(seed: int, bodies: int = 4, forces: bool = True) -> Mechanism:
    """A tree with one or two couplings of its joints, straight and curved, that fit at the start."""
    make = Maker(30_000 + seed)
    types = ["revolute", "prismatic", "helical", "revolute", "spherical", "universal"]
    tree = random_tree(seed, bodies + 2, forces, types[:4] if seed % 3 else types)
    single = [joint for joint in tree.joints if TYPES[joint.type].nv == 1]
    while len(single) < 3:
        seed += 100
        tree = random_tree(seed, bodies + 2, forces, types[:4])
        single = [joint for joint in tree.joints if TYPES[joint.type].nv == 1]
    ties = []
    for k in range(1 + seed % 2):
        first, *others = single[k : k + 2 + (seed + k) % 2]
        ratio = tuple(make.random.uniform(0.3, 2, len(others)).tolist())
        curve = tuple(make.random.uniform(-0.3, 0.3, seed % 3).tolist())
        lead = others[0].start[0]
        follows = sum(r * j.start[0] for r, j in zip(ratio, others, strict=True))
        follows += sum(c * lead ** (n + 2) for n, c in enumerate(curve))
        names = tuple(j.name for j in others)
        ties.append(Coupling(f"tie{k + 1}", first.name, names, ratio, first.start[0] - follows, curve))
    return replace(tree, name=f"coupled{seed}", couplings=tuple(ties))


def lowest_point(kind: str, T: np.ndarray, normal: np.ndarray, radius: float) -> np.ndarray:
    """Where a wheel about z of a frame, a ball around it, or a blade at it touches a plane."""
    across = normal - normal @ T[:3, 2] * T[:3, 2]
    down = {"rolling": across / np.linalg.norm(across), "rolling-ball": normal, "knife-edge": 0 * normal}
    return T[:3, 3] - radius * down[kind]


def random_rolling(seed: int, bodies: int = 3, forces: bool = True) -> Mechanism:
    """A floating tree with one or two velocity constraints, to ground and within, that fit at the start."""
    make = Maker(20_000 + seed)
    tree = random_tree(
        seed, bodies, forces, types=["free", "revolute", "spherical", "universal", "prismatic"]
    )
    first = replace(tree.joints[0], type="free", parent=GROUND, child="b1", start=make.coordinates("free"))
    plain = replace(
        first, stiffness=(), rest=(), damping=(), friction=(), armature=(), limits=(-np.inf, np.inf)
    )
    motors = tuple(m for m in tree.motors if m.joint != first.name)
    tree = replace(tree, joints=(plain, *tree.joints[1:]), motors=motors)
    poses = body_matrices(tree, {j.name: j.start for j in tree.joints})
    joints = list(tree.joints)
    for k in range(1 + seed % 2):
        kind = ROLLING[(seed + k) % len(ROLLING)]
        a, b = GROUND, "b1"
        if k:
            a, b = (str(x) for x in make.random.choice([b.name for b in tree.bodies], 2, replace=False))
        cut = Joint(f"touch{k + 1}", kind, a, b, on_child=make.frame())
        if kind != "knife-edge":
            belt = tuple(make.random.uniform(-1, 1, 2).tolist()) if forces else (0.0, 0.0)
            cut = replace(cut, radius=float(make.random.uniform(0.2, 0.6)), belt=belt)
        plane = transform(quaternion_matrix(make.unit_quaternion()), np.zeros(3))
        touch = lowest_point(kind, poses[b] @ frame_matrix(cut.on_child), plane[:3, 2], cut.radius)
        plane[:3, 3] = touch + plane[:3, :2] @ make.random.uniform(-1, 1, 2)
        place = free_coordinates(np.linalg.inv(poses[a]) @ plane)
        joints.append(replace(cut, on_parent=Frame(place[:3], place[3:])))
    return replace(tree, name=f"rolling{seed}", joints=tuple(joints))
