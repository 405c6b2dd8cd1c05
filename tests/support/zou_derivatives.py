"""The constraint derivatives of paper 003: by poses, joint positions s' and orientations C, in both spaces.

A pair of bodies i (parent) and j (child) with origins r, axes A (to the world), joint positions s'
and joint axes C (to the body). Small changes are δr, the rotation δπ in world axes (δA = δπ̃ A),
δs', and ξ' in the body's axes (δC = ξ̃' C). They move a joint's frame by

    δ(r + A s') = δr − (A s')~ δπ + A δs',    turn = δπ + A ξ'

so the covectors of `joints/rows.py`, Φ̇ = c_r·ṙ + c_ω·ω of both frames, give every entry of Table 1.
Table 1 and Eqs. 5, 7, 14, 30-35 of the paper lack the factor A in the ξ' columns; Eqs. 12 and 16 end with
δs'_ij; the sum Φ_ẑi + Φ_ẑj is −d̃ for the spherical constraint, zero only once it is closed, so the
share of the junction body is kept. `design/dimensions.py` gets the same by automatic differentiation.
"""

from dataclasses import replace
from functools import cache
from types import SimpleNamespace
from typing import Any, NamedTuple

import casadi as ca
import numpy as np
from cutjoint.model.describe.mechanism import GROUND, Frame, Joint, Mechanism
from cutjoint.model.equations.topology import Tree
from cutjoint.model.joints.euler import rotation, tilde, world_matrix
from cutjoint.model.joints.moves import Move
from cutjoint.model.joints.rows import Ends, Primitive
from cutjoint.model.joints.types import TYPES

Array = np.ndarray
FIELDS = ("length", "travel", "pitch")


class End(NamedTuple):
    """One side of a joint: the body's axes and origin, the joint's position and axes on it."""

    A: Array
    r: Array
    s: Array
    C: Array

    @property
    def arm(self) -> Array:
        return self.A @ self.s  # from the body's origin to the joint, world axes

    @property
    def point(self) -> Array:
        return self.r + self.arm


class PairSide(NamedTuple):
    """Derivatives of some rows by one body and the joint's place on it: columns of Table 1, 3 each."""

    r: Array  # by δr
    turn: Array  # by δπ
    s: Array  # by δs'
    C: Array  # by ξ'
    state: Array  # Φ_ẑ (Eq. 37), ẑ = (δr + r̃δπ, δπ): the motion of the point at the world's origin


class Partials(NamedTuple):
    """Residual of some rows, derivatives by either side, and by the fields of the joint, rows × 1 each."""

    value: Array
    i: PairSide
    j: PairSide
    fields: dict[str, Array]


def partials(locks: tuple[Primitive, ...], i: End, j: End, fields: Any) -> Partials:
    """Table 1 and Eqs. 52 to 57 for any rows; `fields` has the length, travel or pitch they read."""
    values = [float(getattr(fields, name)) for name in FIELDS]
    ends = (i.A @ i.C, i.point, j.A @ j.C, j.point)
    value, ri, wi, rj, wj, by_fields = (np.array(x) for x in _traced(locks)(*ends, *values))
    by_field = {name: by_fields[:, [k]] for k, name in enumerate(FIELDS)}
    return Partials(value.ravel(), _side(ri, wi, i), _side(rj, wj, j), by_field)


def _side(c_r: Array, c_w: Array, end: End) -> PairSide:
    turn = c_w - c_r @ tilde(end.arm)
    state = np.hstack([c_r, turn - c_r @ tilde(end.r)])
    return PairSide(c_r, turn, c_r @ end.A, c_w @ end.A, state)


@cache
def _traced(locks: tuple[Primitive, ...]) -> ca.Function:
    """(R_i, r_i, R_j, r_j, fields) → Φ, its covectors on (ṙ_i, ω_i, ṙ_j, ω_j), ∂Φ/∂fields; world axes."""
    frames = [ca.SX.sym(name, 3, wide) for name, wide in (("Ri", 3), ("ri", 1), ("Rj", 3), ("rj", 1))]
    fields = {name: ca.SX.sym(name) for name in FIELDS}
    rest = [ca.SX.zeros(3, 1)] * 4
    base = (ca.SX.eye(3), *rest[:2])
    found = [lock.evaluate(Ends(*frames, *rest), SimpleNamespace(**fields), base) for lock in locks]
    rows = [row for part in found for row in part]
    value = ca.vertcat(*(row.residual for row in rows))
    covectors = [ca.vertcat(*(getattr(row, name).T for row in rows)) for name in ("ri", "wi", "rj", "wj")]
    by_fields = ca.jacobian(value, ca.vertcat(*fields.values()))
    return ca.Function("rows", [*frames, *fields.values()], [value, *covectors, by_fields])


def by_euler_parameters(by_rotation: Array, p: Any) -> Array:
    """Φ_p = Φ_ξ' 2E (Eq. 39): the derivative by Euler parameters of unit length, for δp ⟂ p."""
    return by_rotation @ (2 * world_matrix(p))


class MovedBodies(NamedTuple):
    """Bodies placed along the tree, and by Eq. 46 what moves each: (design variable, 6 × n) pairs."""

    A: dict[str, Array]
    r: dict[str, Array]
    moved: dict[str, dict[str, Array]]

    def end(self, body: str, frame: Frame) -> End:
        return End(self.A[body], self.r[body], np.asarray(frame.position), frame_axes(frame))


def moved_bodies(mechanism: Mechanism, tree: Tree, q: Array) -> MovedBodies:
    """Eq. 35 along the whole tree: δẑ_j = δẑ_i + B δq + M δs' + N ξ'.

    The paper puts the outer body's frame at the joint; here the joint has a frame on it as well,
    with derivatives of its own: −(A_j δs'_ji, 0) and a turn by −A_j ξ'_ji about the joint.
    """
    bodies = MovedBodies({GROUND: np.eye(3)}, {GROUND: np.zeros(3)}, {GROUND: {}})
    for name in dict.fromkeys(link.joint for link in tree.links):
        joint = mechanism.joint(name)
        back = next(link.reverse for link in tree.links if link.joint == name)
        near, far = ("on_child", "on_parent") if back else ("on_parent", "on_child")
        inner, outer = (joint.child, joint.parent) if back else (joint.parent, joint.child)
        i = bodies.end(inner, getattr(joint, near))
        moved = dict(bodies.moved[inner])
        moved[f"joint.{name}.{near}.position"] = _slid(i.A)  # M
        moved[f"joint.{name}.{near}.orientation"] = _about(i.point, i.A)  # N
        R, x = i.A @ i.C, i.point
        B = []
        for move, link in ((move, link) for move, link in tree.moves if link.joint == name):
            step, S = move.pose(q[link.q], joint, back), _numbers(move.subspace(joint, back))
            for field in move.fields:
                moved[f"joint.{name}.{field}"] = _slid(R @ _slope(move, q[link.q], joint, field, back))
            x, R = x + R @ _numbers(step.p).ravel(), R @ _numbers(step.R)
            B.append((link.v.start, _about(x, R @ S[:3]) + _slid(R @ S[3:])))
        if B:
            moved[f"q.{name}"] = np.hstack([columns for _, columns in sorted(B, key=lambda pair: pair[0])])
        frame: Frame = getattr(joint, far)
        A = bodies.A[outer] = R @ frame_axes(frame).T
        bodies.r[outer] = x - A @ np.asarray(frame.position)
        moved[f"joint.{name}.{far}.position"] = _slid(-A)
        moved[f"joint.{name}.{far}.orientation"] = -_about(x, A)
        bodies.moved[outer] = moved
    return bodies


def joint_space(mechanism: Mechanism, tree: Tree, q: Array, cut: str) -> dict[str, Array]:
    """Derivative of a cut joint's rows by every coordinate and dimension (Eqs. 43, 48, 50).

    Case 1, the pair stays connected by one joint, is the case of an empty chain on one side. What
    both chains share enters as (Φ_ẑi + Φ_ẑj) δẑ_p.
    """
    joint, bodies = mechanism.joint(cut), moved_bodies(mechanism, tree, q)
    i, j = bodies.end(joint.parent, joint.on_parent), bodies.end(joint.child, joint.on_child)
    rows = partials(TYPES[joint.type].locks, i, j, joint)
    result: dict[str, Array] = {}
    for body, side in ((joint.parent, rows.i), (joint.child, rows.j)):
        for name, columns in bodies.moved[body].items():
            result[name] = result.get(name, 0) + side.state @ columns
    for frame, side in (("on_parent", rows.i), ("on_child", rows.j)):
        result |= {f"joint.{cut}.{frame}.position": side.s, f"joint.{cut}.{frame}.orientation": side.C}
    return result | {f"joint.{cut}.{name}": columns for name, columns in rows.fields.items()}


def connected(tree: Tree, mechanism: Mechanism, cut: str) -> bool:
    """Case 1 of the paper: the pair of a cut joint is still connected by one joint of the tree."""
    ends = {mechanism.joint(cut).parent, mechanism.joint(cut).child}
    return any({mechanism.joint(n).parent, mechanism.joint(n).child} == ends for n in tree.q)


def frame_axes(frame: Frame) -> Array:
    """C, the joint's axes on a body."""
    e = np.asarray(frame.orientation, float)
    return rotation(e) / (e @ e)


def _about(point: Array, axes: Array) -> Array:
    """State variation of turns about axes through a point: (x̃ a, a)."""
    return np.vstack([tilde(point) @ axes, axes])


def _slid(ways: Array) -> Array:
    """State variation of slides: (a, 0)."""
    return np.vstack([ways, np.zeros_like(ways)])


def _slope(move: Move, q: Array, joint: Joint, field: str, back: bool) -> Array:
    """How much farther a move slides for a field of its joint, such as a screw's pitch, 3 × 1."""
    x = ca.SX.sym(field)
    changed: dict[str, Any] = {field: x}
    return _numbers(ca.jacobian(move.pose(q, replace(joint, **changed), back).p, x))


def _numbers(x: Any) -> Array:
    return np.array(ca.DM(x))
