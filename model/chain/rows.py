"""What a chain is asked for, as rows below those of its loops: coordinates, and poses of frames.

Every row has a residual e(q, t) that is zero where it is met, t being what is wanted, and a rate w(q, v),
linear in the speeds. Of a coordinate e = y(q) − t and w = ẏ. Of a frame {f} seen from a base {b},

    along the axes:  r − t_r,    about them:  2 vec(ε) sign(ε₀),  ε = e ⊗ t_e⁻¹ (base axes), t_e⁻¹ ⊗ e (own),

with r, e its place and Euler parameters in the base, and the rates are its velocity and angular velocity
as the base sees them, in the chosen axes. A few of the six may be chosen: what is left is free.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import casadi as ca
import numpy as np

from ..base.errors import SimulationError, UnknownName
from ..base.thresholds import SMALL_TURN
from ..describe.mechanism import GROUND, Frame, Mechanism
from ..describe.parameters import split_component
from ..describe.targets import SIX
from ..describe.validation import nearest
from ..equations.kinematics import (
    Motion,
    body_quaternion,
    frame_in_link,
    outward,
    point_motion,
    position_rates,
    quaternions,
    turning,
    unit_quaternion,
)
from ..equations.loops import cut_loops
from ..equations.single_joints import chain as single_joint_chain
from ..equations.struts import strut_motion
from ..equations.terms import Equations
from ..joints.measured import cut_speeds
from ..joints.moves import Turn
from ..joints.rigid_motion import conjugate, product
from ..joints.types import TYPES

AXES = ("base", "own")


@dataclass(frozen=True)
class CoordinateRow:
    """A joint's coordinate, `hinge` or `foot[2]`, or the length of a strut."""

    name: str

    @property
    def names(self) -> tuple[str, ...]:
        return (self.name,)


@dataclass(frozen=True)
class FrameRows:
    """Rows of a body's or frame's pose, seen from a base, along and about axes of the base or its own."""

    frame: str
    rows: tuple[str, ...] = SIX
    base: str = GROUND
    axes: str = AXES[0]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(f"{self.frame}.{row}" for row in self.rows)


@dataclass(frozen=True)
class FrameCoordinate:
    """One of a frame's x, y, z, or of the rotation vector rx, ry, rz of its axes, seen from a base."""

    frame: str
    row: str
    base: str = GROUND

    @property
    def names(self) -> tuple[str, ...]:
        return (f"{self.frame}.{self.row}",)


Item = CoordinateRow | FrameRows | FrameCoordinate


class Traced(NamedTuple):
    """Rows over symbols: where they are now as wanted numbers would say it, and what they lack."""

    t: Any  # symbols of what is wanted
    now: Any  # what t would be at this pose
    residual: Any
    rate: Any  # of v


class Rows(NamedTuple):
    """All rows of some items; J = ∂e/∂δ along speeds, W = ∂w/∂v, bias what ẇ is without accelerations."""

    t: Any
    now: Any
    residual: Any
    J: Any
    W: Any
    bias: Any
    scales: np.ndarray  # 1 for angles, the mechanism's size for lengths


def trace_rows(eq: Equations, items: Sequence[Item]) -> Rows:
    """The rows of items in order."""
    motion = outward(eq.model, eq.q, eq.v)
    kinds: dict[type, Callable[..., Traced]] = {
        FrameRows: _frame,
        FrameCoordinate: _frame_coordinate,
        CoordinateRow: _coordinate,
    }
    found = [kinds[type(item)](eq, motion, item) for item in items]
    none = ca.SX(0, 1)
    found.append(Traced(none, none, none, none))
    t, now, residual, rate = (ca.vertcat(*column) for column in zip(*found, strict=True))
    along = position_rates(eq.model, eq.q, eq.v)
    length, units = eq.scales.length, row_units(eq.mechanism, items)
    scales = np.array([1.0 if unit == "rad" else length for unit in units])
    return Rows(
        t,
        ca.densify(now),
        ca.densify(residual),
        ca.sparsify(ca.jacobian(residual, eq.q) @ ca.jacobian(along, eq.v)),
        ca.sparsify(ca.jacobian(rate, eq.v)),
        ca.densify(ca.jtimes(rate, eq.q, along)),
        scales,
    )


def _coordinate(eq: Equations, motion: Motion, item: CoordinateRow) -> Traced:
    name, k = split_component(item.name)
    k = (k or 1) - 1
    t = ca.SX.sym("t")
    strut = next((x for x in eq.mechanism.struts if x.name == name), None)
    if name not in {joint.name for joint in eq.mechanism.joints} and strut is not None:
        _, _, length, rate = strut_motion(eq.model, motion, strut)
        return Traced(t, length, length - t, rate)
    joint = eq.mechanism.joint(name)
    part = next(part for part in TYPES[joint.type].parts if part.q.start <= k < part.q.stop)
    angle = isinstance(part.move, Turn)
    if name in eq.tree.q:
        at, speed = eq.tree.q[name].start + k, eq.tree.v[name].start + part.v.start
        return Traced(t, eq.q[at], eq.q[at] - t, eq.v[speed])
    loop = next(x for x in cut_loops(eq.model, motion) if x.joint.name == name)
    e = loop.near
    R, p = e.Ri.T @ e.Rj, e.Ri.T @ (e.rj - e.ri)
    y = TYPES[joint.type].measure(R, p, ca.SX([1, 0, 0, 0]), joint)[k]
    miss = y - t  # measured within a turn, and so is how far it is from t
    rate = cut_speeds(joint, loop.ends)[part.v.start]
    return Traced(t, y, ca.atan2(ca.sin(miss), ca.cos(miss)) if angle else miss, rate)


class Seen(NamedTuple):
    """A frame in the world: place, velocity, axes, angular velocity, Euler parameters."""

    r: Any
    v: Any
    R: Any
    w: Any
    e: Any


def _seen(eq: Equations, motion: Motion, turns: list[Any], name: str) -> Seen:
    """A body or named frame, or ground."""
    named = {frame.name: frame for frame in eq.mechanism.frames}
    body, frame = name, Frame()
    if name in named:
        body, frame = named[name].body, Frame(named[name].at, named[name].orientation)
    link, local = frame_in_link(eq.model, body, frame)
    r, v, _ = point_motion(eq.model, motion, link, local.p)
    R, w, _ = turning(motion, link)
    e = product(body_quaternion(eq.model, body), unit_quaternion(frame.orientation))
    return Seen(r, v, R @ local.R, w, product(turns[link], e) if link >= 0 else e)


def _frame(eq: Equations, motion: Motion, item: FrameRows) -> Traced:
    turns = quaternions(eq.model, eq.q)
    f, b = (_seen(eq, motion, turns, name) for name in (item.frame, item.base))
    t = ca.SX.sym("t", 7)
    r, e = b.R.T @ (f.r - b.r), product(conjugate(b.e), f.e)
    wanted = t[3:] / ca.norm_2(t[3:])
    own = item.axes == "own"
    off = product(conjugate(wanted), e) if own else product(e, conjugate(wanted))
    turned = 2 * ca.if_else(off[0] < 0, -1, 1) * off[1:]
    axes = f.R if own else b.R
    six = ca.vertcat(axes.T @ (b.R @ (r - t[:3])), turned)
    rate = ca.vertcat(axes.T @ (f.v - b.v - ca.cross(b.w, f.r - b.r)), axes.T @ (f.w - b.w))
    rows = [SIX.index(row) for row in item.rows]
    return Traced(t, ca.vertcat(r, e), six[rows], rate[rows])


def _frame_coordinate(eq: Equations, motion: Motion, item: FrameCoordinate) -> Traced:
    turns, t, k = quaternions(eq.model, eq.q), ca.SX.sym("t"), SIX.index(item.row)
    f, b = (_seen(eq, motion, turns, name) for name in (item.frame, item.base))
    if k < 3:
        y = (b.R.T @ (f.r - b.r))[k]
    else:
        y = rotation_vector(product(conjugate(b.e), f.e))[k - 3]
    return Traced(t, y, y - t, ca.jtimes(y, eq.q, position_rates(eq.model, eq.q, eq.v)))


def rotation_vector(e: Any) -> Any:
    """φ of unit Euler parameters, |φ| ≤ π: 2 atan(n/e₀)/n times their vector part, n its length."""
    e = ca.if_else(e[0] < 0, -1, 1) * e
    square = ca.sumsqr(e[1:])
    small = square < SMALL_TURN**2
    n, x = ca.sqrt(ca.if_else(small, 1, square)), square / e[0] ** 2
    series = 2 / e[0] * (1 - x / 3 + x**2 / 5)
    return ca.if_else(small, series, 2 * ca.atan2(n, e[0]) / n) * e[1:]


# -- names ----------------------------------------------------------------------------------------


def coordinate_row(mechanism: Mechanism, name: str) -> CoordinateRow:
    """A coordinate by the name of a joint, of one of its components, of a cylinder, or of a motor.

    Where a motor is called as another joint is, `motor.` or `joint.` before the name says which is meant.
    """
    word, _, rest = name.partition(".")
    said = word if word in ("joint", "motor") else ""
    whole, k = split_component(rest if said else name)
    joints = {joint.name: joint for joint in mechanism.joints}
    motors = {motor.name: motor.joint for motor in mechanism.motors}
    struts = [strut.name for strut in mechanism.struts]
    if whole in joints and motors.get(whole, whole) != whole and not said:
        raise SimulationError(
            f"'{whole}' is a joint, and a motor that drives '{motors[whole]}'; "
            f"say 'joint.{whole}' or 'motor.{whole}'"
        )
    if whole in motors and (said == "motor" or whole not in joints):
        whole = motors[whole]
    if whole not in joints:
        if whole in struts and k is None:
            return CoordinateRow(whole)
        raise UnknownName(
            f"there is no joint or strut '{name}'; {nearest(name, [*joints, *motors, *struts])}"
        )
    kind = TYPES[joints[whole].type]
    at = 1 if k is None and kind.nq == 1 else k
    if at is None or not 1 <= at <= kind.nq:
        many = f"has the coordinates 1 to {kind.nq}, such as '{whole}[1]'" if kind.nq else "has no coordinate"
        raise SimulationError(f"joint '{whole}' {many}; name one that it has")
    if not next(part for part in kind.parts if part.q.start < at <= part.q.stop).move.plain:
        raise SimulationError(
            f"'{name}' is an Euler parameter, which says nothing by itself; give the pose of a body or frame"
        )
    return CoordinateRow(whole if kind.nq == 1 else f"{whole}[{at}]")


def number_row(mechanism: Mechanism, name: str, base: str = GROUND) -> CoordinateRow | FrameCoordinate:
    """A coordinate by name, or one of a frame, such as `platform.z` or `foot.rx`."""
    frame, _, row = name.rpartition(".")
    if frame and row in SIX:
        return FrameCoordinate(frame_name(mechanism, frame), row, frame_name(mechanism, base, base=True))
    return coordinate_row(mechanism, name)


def frame_name(mechanism: Mechanism, name: str, base: bool = False) -> str:
    """A body or frame of that name; a base may be ground."""
    known = [*(b.name for b in mechanism.bodies), *(f.name for f in mechanism.frames)]
    if name not in known and not (base and name == GROUND):
        targets = [] if base else [x.name for x in mechanism.targets]
        raise UnknownName(f"there is no body or frame '{name}'; {nearest(name, [*known, *targets])}")
    return name


def row_units(mechanism: Mechanism, items: Sequence[Item]) -> tuple[str, ...]:
    """Unit of what each row lacks: m or rad."""
    found: list[str] = []
    joints = {joint.name: TYPES[joint.type] for joint in mechanism.joints}
    for item in items:
        if isinstance(item, FrameRows | FrameCoordinate):
            rows = item.rows if isinstance(item, FrameRows) else (item.row,)
            found += ["m" if row in SIX[:3] else "rad" for row in rows]
        else:
            whole, k = split_component(item.name)
            found.append(joints[whole].position_units[(k or 1) - 1] if whole in joints else "m")
    return tuple(found)


def limited(mechanism: Mechanism) -> dict[str, tuple[float, float]]:
    """Coordinates that have limits, of joints in the tree and cut, with these."""
    single = (joint for joint in mechanism.joints if TYPES[joint.type].nq == 1)
    return {j.name: j.limits for j in single if np.isfinite(j.limits).any()}


def between(items: Sequence[Item], a: np.ndarray, b: np.ndarray, part: float) -> np.ndarray:
    """Wanted numbers a part of the way from a to b: straight, turning about one axis."""
    found, at = np.array(a, float), 0
    for item in items:
        if isinstance(item, FrameRows):
            found[at : at + 3] += part * (b[at : at + 3] - a[at : at + 3])
            found[at + 3 : at + 7] = slerp(a[at + 3 : at + 7], b[at + 3 : at + 7], part)
            at += 7
        else:
            found[at] += part * (b[at] - a[at])
            at += 1
    return found


def slerp(a: np.ndarray, b: np.ndarray, part: float) -> np.ndarray:
    """Euler parameters a part of the shorter way from a to b, about one axis."""
    a, b = a / np.linalg.norm(a), b / np.linalg.norm(b)
    b = -b if a @ b < 0 else b
    angle = np.arctan2(np.linalg.norm(b - (a @ b) * a), a @ b)
    if angle < SMALL_TURN**2:
        return b if part == 1 else a + part * (b - a)
    return (np.sin((1 - part) * angle) * a + np.sin(part * angle) * b) / np.sin(angle)


def measured_names(mechanism: Mechanism) -> dict[str, str]:
    """Names that joints and cylinders have in joint states, and those of their coordinates here."""
    names = {strut.name: strut.name for strut in mechanism.struts if strut.actuated}
    for joint in mechanism.joints:
        kind, parts = TYPES[joint.type], single_joint_chain(joint)
        if kind.nq == len(parts) and all(part.move.plain for part in parts):
            rows = [joint.name] if kind.nq == 1 else [f"{joint.name}[{k + 1}]" for k in range(kind.nq)]
            names |= {part.name: row for part, row in zip(parts, rows, strict=True)}
    return names
