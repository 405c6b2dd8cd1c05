"""The constraint derivatives of paper 003, written out: by poses, joint positions s' and orientations C.

A pair of bodies i (parent) and j (child) with origins r, axes A (to the world), joint positions s'
and joint axes C (to the body). Small changes are δr, the rotation δπ in world axes (δA = δπ̃ A),
δs', and ξ' in the body's axes (δC = ξ̃' C). Table 1 and Eqs. 5, 7, 14, 30-35 of the paper lack the
factor A in the ξ' columns, which is put in here; Eqs. 12 and 16 end with δs'_ij; the sum
Φ_ẑi + Φ_ẑj is −d̃ for the spherical constraint, zero only once it is closed, so the share of
the junction body is kept. `design/dimensions.py` gets the same by automatic differentiation, for any joint.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import casadi as ca
import numpy as np

from ..describe.mechanism import GROUND, Frame, Joint, Mechanism
from ..equations.topology import Tree
from ..joints.euler import rotation, tilde, world_matrix
from ..joints.moves import Move
from ..joints.rows import Across, Along, AlongChild, Distance, SlideDistance, Thread, Together
from ..joints.types import TYPES


class End(NamedTuple):
    """One side of a joint: the body's axes and origin, the joint's position and axes on it."""

    A: np.ndarray
    r: np.ndarray
    s: np.ndarray
    C: np.ndarray

    @property
    def arm(self) -> np.ndarray:
        return self.A @ self.s  # from the body's origin to the joint, world axes

    @property
    def point(self) -> np.ndarray:
        return self.r + self.arm

    def axis(self, k: int) -> np.ndarray:
        return self.A @ self.C[:, k]


class Partials(NamedTuple):
    """Residual and derivatives of some rows (the columns of the paper's Table 1, and lengths)."""

    value: np.ndarray
    ri: np.ndarray
    pi: np.ndarray  # by δπ_i
    rj: np.ndarray
    pj: np.ndarray
    si: np.ndarray  # by δs'_ij
    sj: np.ndarray
    xi: np.ndarray  # by ξ'_ij
    xj: np.ndarray
    length: np.ndarray
    travel: np.ndarray
    pitch: np.ndarray

    def state(self, i: End, j: End) -> tuple[np.ndarray, np.ndarray]:
        """Φ_ẑi and Φ_ẑj (Eq. 37), with ẑ = (δr + r̃δπ, δπ): the motion of the point at the world's origin."""
        return np.hstack([self.ri, self.pi - self.ri @ tilde(i.r)]), np.hstack(
            [self.rj, self.pj - self.rj @ tilde(j.r)]
        )


def euler(by_rotation: np.ndarray, p: Any) -> np.ndarray:
    """Φ_p = Φ_ξ' 2E (Eq. 39): the derivative by Euler parameters of unit length, for δp ⟂ p."""
    return by_rotation @ (2 * world_matrix(p))


def _row(value: Any, **columns: Any) -> Partials:
    rows = np.atleast_1d(value).shape[0]
    widths = {"length": 1, "travel": 1, "pitch": 1}
    filled = {
        key: np.asarray(columns.get(key, np.zeros((rows, widths.get(key, 3))))).reshape(rows, -1)
        for key in Partials._fields[1:]
    }
    return Partials(np.atleast_1d(value), **filled)


def dot1(i: End, j: End, a: int, b: int) -> Partials:
    """Axis a of frame i across axis b of frame j: Φ = a_i·a_j (Eqs. 1, 7)."""
    ai, aj = i.axis(a), j.axis(b)
    turn_i, turn_j = -aj @ tilde(ai), -ai @ tilde(aj)
    return _row(ai @ aj, pi=turn_i, pj=turn_j, xi=turn_i @ i.A, xj=turn_j @ j.A)


def dot2(i: End, j: End, a: int) -> Partials:
    """d across axis a of frame i: Φ = a_i·d (Eqs. 8, 14)."""
    ai, d = i.axis(a), j.point - i.point
    return _row(
        ai @ d,
        ri=-ai,
        rj=ai,
        pi=ai @ tilde(i.arm) - d @ tilde(ai),
        pj=-ai @ tilde(j.arm),
        si=-ai @ i.A,
        sj=ai @ j.A,
        xi=-d @ tilde(ai) @ i.A,
    )


def dot2_child(i: End, j: End, a: int) -> Partials:
    """d across axis a of frame j, for the spherical-translational joint: Φ = a_j·d."""
    other = dot2(j, i, a)  # with −d
    swap = {"ri": "rj", "rj": "ri", "pi": "pj", "pj": "pi", "si": "sj", "sj": "si", "xi": "xj", "xj": "xi"}
    return _row(-other.value, **{key: -getattr(other, swap[key]) for key in swap})


def spherical(i: End, j: End) -> Partials:
    """The points coincide: Φ = d in world axes (Eqs. 15, 16)."""
    eye = np.eye(3)
    return _row(j.point - i.point, ri=-eye, rj=eye, pi=tilde(i.arm), pj=-tilde(j.arm), si=-i.A, sj=j.A)


def distance(i: End, j: End, length: float) -> Partials:
    """The points are a length apart: Φ = d·d − ℓ² (Eqs. 17, 18)."""
    return translational_distance(i, j, length, 0.0)


def translational_distance(i: End, j: End, length: float, travel: float) -> Partials:
    """Φ = l·l − ℓ² with l = d − t h, h the z axis of frame i (Eqs. 53, 54, 57; t is the paper's q3)."""
    h = i.axis(2)
    v = j.point - i.point - travel * h
    return _row(
        v @ v - length**2,
        ri=-2 * v,
        rj=2 * v,
        pi=2 * v @ (tilde(i.arm) + travel * tilde(h)),
        pj=-2 * v @ tilde(j.arm),
        si=-2 * v @ i.A,
        sj=2 * v @ j.A,
        xi=2 * travel * v @ tilde(h) @ i.A,
        length=-2 * length,
        travel=-2 * v @ h,
    )


def screw(i: End, j: End, pitch: float) -> Partials:
    """d·z_i = P θ up to whole turns, tan θ = s/c with s = y_i·x_j and c = x_i·x_j; ours, not the paper's."""
    along, cosine, sine = dot2(i, j, 2), dot1(i, j, 0, 0), dot1(i, j, 1, 0)
    c, s = cosine.value, sine.value
    share = pitch / (c * c + s * s)
    slopes = {
        key: getattr(along, key) - share * (c * getattr(sine, key) - s * getattr(cosine, key))
        for key in ("ri", "rj", "pi", "pj", "si", "sj", "xi", "xj")
    }
    turn = along.value / pitch - np.arctan2(s, c)
    left = np.arctan2(np.sin(turn), np.cos(turn))
    return _row(pitch * left, **slopes, pitch=left - along.value / pitch)


def stack(*parts: Partials) -> Partials:
    return Partials(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


def revolute_spherical(i: End, j: End, length: float) -> Partials:
    """Eq. 52: d across the hinge's axis, and a length from the hinge."""
    return stack(dot2(i, j, 2), distance(i, j, length))


def joint_partials(joint: Any, i: End, j: End) -> Partials:
    """All rows of a cut joint, from the primitives its type lists."""
    parts: list[Partials] = []
    for lock in TYPES[joint.type].locks:
        match lock:
            case Across(a, b):
                parts.append(dot1(i, j, a, b))
            case Along(a):
                parts.append(dot2(i, j, a))
            case AlongChild(a):
                parts.append(dot2_child(i, j, a))
            case Together():
                parts.append(spherical(i, j))
            case Distance():
                parts.append(distance(i, j, joint.length))
            case SlideDistance():
                parts.append(translational_distance(i, j, joint.length, joint.travel))
            case Thread():
                parts.append(screw(i, j, joint.pitch))
    return stack(*parts)


class Chain(NamedTuple):
    """Bodies placed along the tree, and by Eq. 46 what moves each: (design variable, 6 × n) pairs."""

    A: dict[str, np.ndarray]
    r: dict[str, np.ndarray]
    moved: dict[str, dict[str, np.ndarray]]

    def end(self, body: str, frame: Frame) -> End:
        return End(self.A[body], self.r[body], np.asarray(frame.position), matrix(frame.orientation))


def chains(mechanism: Mechanism, tree: Tree, q: np.ndarray) -> Chain:
    """Eq. 35 along the whole tree: δẑ_j = δẑ_i + B δq + M δs' + N ξ'.

    The paper puts the outer body's frame at the joint; here the joint has a frame on it as well,
    with derivatives of its own: −(A_j δs'_ji, 0) and a turn by −A_j ξ'_ji about the joint.
    """
    chain = Chain({GROUND: np.eye(3)}, {GROUND: np.zeros(3)}, {GROUND: {}})
    for name in dict.fromkeys(link.joint for link in tree.links):
        joint = mechanism.joint(name)
        back = next(link.reverse for link in tree.links if link.joint == name)
        near, far = ("on_child", "on_parent") if back else ("on_parent", "on_child")
        inner, outer = (joint.child, joint.parent) if back else (joint.parent, joint.child)
        frame: Frame = getattr(joint, near)
        i = chain.end(inner, frame)
        moved = dict(chain.moved[inner])
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
        frame = getattr(joint, far)
        A = chain.A[outer] = R @ matrix(frame.orientation).T
        chain.r[outer] = x - A @ np.asarray(frame.position)
        moved[f"joint.{name}.{far}.position"] = _slid(-A)
        moved[f"joint.{name}.{far}.orientation"] = -_about(x, A)
        chain.moved[outer] = moved
    return chain


def joint_space(mechanism: Mechanism, tree: Tree, q: np.ndarray, cut: str) -> dict[str, np.ndarray]:
    """Derivative of a cut joint's rows by every coordinate and dimension (Eqs. 43, 48, 50).

    Case 1, the pair stays connected by one joint, is the case of an empty chain on one side. What
    both chains share enters as (Φ_ẑi + Φ_ẑj) δẑ_p.
    """
    joint = mechanism.joint(cut)
    chain = chains(mechanism, tree, q)
    i, j = chain.end(joint.parent, joint.on_parent), chain.end(joint.child, joint.on_child)
    rows = joint_partials(joint, i, j)
    result: dict[str, np.ndarray] = {}
    for body, by_state in zip((joint.parent, joint.child), rows.state(i, j), strict=True):
        for name, columns in chain.moved[body].items():
            result[name] = result.get(name, 0) + by_state @ columns
    own = {
        "on_parent.position": rows.si,
        "on_child.position": rows.sj,
        "on_parent.orientation": rows.xi,
        "on_child.orientation": rows.xj,
        "length": rows.length,
        "travel": rows.travel,
        "pitch": rows.pitch,
    }
    return result | {f"joint.{cut}.{key}": columns for key, columns in own.items()}


def connected(tree: Tree, mechanism: Mechanism, cut: str) -> bool:
    """Case 1 of the paper: the pair of a cut joint is still connected by one joint of the tree."""
    ends = {mechanism.joint(cut).parent, mechanism.joint(cut).child}
    return any({mechanism.joint(n).parent, mechanism.joint(n).child} == ends for n in tree.q)


def _about(point: np.ndarray, axes: np.ndarray) -> np.ndarray:
    """State variation of turns about axes through a point: (x̃ a, a)."""
    return np.vstack([tilde(point) @ axes, axes])


def _slid(ways: np.ndarray) -> np.ndarray:
    """State variation of slides: (a, 0)."""
    return np.vstack([ways, np.zeros_like(ways)])


def _slope(move: Move, q: np.ndarray, joint: Joint, field: str, back: bool) -> np.ndarray:
    """How much farther a move slides for a field of its joint, such as a screw's pitch, 3 × 1."""
    x = ca.SX.sym(field)
    changed: dict[str, Any] = {field: x}
    return _numbers(ca.jacobian(move.pose(q, replace(joint, **changed), back).p, x))


def _numbers(x: Any) -> np.ndarray:
    return np.array(ca.DM(x))


def matrix(e: Any) -> np.ndarray:
    """Rotation of Euler parameters of any length: A = E Gᵀ / eᵀe."""
    return rotation(e) / np.dot(e, e)
