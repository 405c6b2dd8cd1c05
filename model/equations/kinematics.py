"""Positions, velocities and Jacobians of a tree, by one recursion outward.

Link frames, twists and accelerations are body-fixed (paper 004, A.3): V_i is the velocity of
frame {i} over the world in the axes of {i}; ω̇_i its angular acceleration, a_i that of its origin.
The world's own acceleration is set to −g, which is gravity for everything that follows.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import casadi as ca

from ..describe.mechanism import Mechanism
from ..joints.moves import Move
from ..joints.rigid_motion import IDENTITY, Pose, compose, conjugate, inverse, pose, product, snap, vector
from .frames import Placement, Trim, in_link, inner_frame, outer_frame, place, trims
from .spatial import SpatialInertia, body_inertia, shift, to_child, turning_rate, without_round_off
from .topology import Link, Tree


@dataclass(frozen=True)
class Model:
    """A mechanism (numbers or symbols) with its spanning tree: what every equation takes.

    The properties are constants that follow from the two; every recursion asks for them.
    """

    mechanism: Mechanism
    tree: Tree
    motions: Mapping[str, Any] = field(default_factory=dict, compare=False)  # motor -> s, ṡ, s̈
    # cut joint -> place of an angle -> how its turns are counted (`turn_counts.py`)
    turn_counts: Mapping[str, Mapping[int, Any]] = field(default_factory=dict, compare=False)

    @cached_property
    def in_link(self) -> dict[str, Pose]:
        """Pose of each body's frame in the frame of the link that carries it."""
        return {body: in_link(self.mechanism, self.tree, self.trims, body) for body in self.tree.holder}

    @cached_property
    def trims(self) -> list[Trim]:
        """Where each link's frame sits against its joint's frame on the outer body."""
        return trims(self.mechanism, self.tree)

    @cached_property
    def placements(self) -> list[Placement]:
        """M_i of paper 004: where each link's move starts, seen from the parent link."""
        pairs = zip(self.tree.links, self.trims, strict=True)
        return [place(self.mechanism, link, trim, self.in_link) for link, trim in pairs]

    @cached_property
    def subspaces(self) -> list[Any]:
        """Motion subspace S of each link, 6 × speeds, constant in the link's frame."""
        found = []
        for link, trim in zip(self.tree.links, self.trims, strict=True):
            S = ca.SX(6, 0)
            if link.move:
                S = link.move.subspace(self.mechanism.joint(link.joint), link.reverse)
            if trim.kept:  # a slide in other axes
                S = ca.sparsify(ca.vertcat(S[:3, :], trim.kept.R.T @ S[3:, :]))
            found.append(S)
        return found

    @cached_property
    def inertias(self) -> list[SpatialInertia | None]:
        """Inertia of each link in its frame; None for the massless links within a joint."""
        result: list[SpatialInertia | None] = [None] * len(self.tree.links)
        for body in self.mechanism.bodies:
            moved = shift(self.in_link[body.name], body_inertia(body))
            result[self.tree.holder[body.name]] = without_round_off(moved)
        return result


class Motion(NamedTuple):
    """What the outward recursion leaves behind, one entry a link."""

    f: list[Pose]  # frame {i} seen from its parent link
    X: list[Pose]  # frame {i} seen from the world
    V: list[Any]  # body-fixed twists
    dw: list[Any]  # ω̇ at the given accelerations
    a: list[Any]  # acceleration of the link's origin at these, in its axes, the world accelerating by −g
    N: list[Any]  # ω̇× + ω×ω×: a point s of the link accelerates by a + N s
    q: Any  # the coordinates, speeds and accelerations it was asked for
    v: Any
    dv: Any


def joint_origin(model: Model, motion: Motion, link: int) -> Any:
    """Where the joint's frame behind a link's move is, in the world."""
    return compose(motion.X[link], inverse(model.trims[link].pose)).p


def frame_in_link(model: Model, body: str, frame: Any) -> tuple[int, Pose]:
    """The link that carries a frame of a body, and the frame's pose in it."""
    return model.tree.holder[body], compose(model.in_link[body], pose(frame))


def poses(model: Model, q: Any) -> tuple[list[Pose], list[Pose]]:
    """Each link's frame in its parent link, and in the world."""
    f: list[Pose] = []
    X: list[Pose] = []
    for link, M, S in zip(model.tree.links, model.placements, model.subspaces, strict=True):
        f.append(M.fixed)
        if link.move:
            if M.straight:
                move = Pose(ca.SX.eye(3), S[3:, :] @ q[link.q])
            else:
                joint = model.mechanism.joint(link.joint)
                move = link.move.pose(q[link.q], joint, link.reverse, M.turn, M.slide)
            f[-1] = compose(M.fixed, move)
        X.append(compose(X[link.parent], f[-1]) if link.parent >= 0 else f[-1])
    return f, X


def displaced_poses(
    model: Model, f: list[Pose], X: list[Pose], delta: Any, free: Collection[int]
) -> tuple[list[Pose], list[Pose]]:
    """The same with every link displaced by 1 + [S δ] behind its move.

    Differentiating by δ at zero is differentiating by q along v, at the price of exchanging columns instead
    of new sines. Links that are `free` do not turn with those before them (`absolute.py`).
    """
    found, there = list[Pose](), list[Pose]()
    for i, (link, S) in enumerate(zip(model.tree.links, model.subspaces, strict=True)):
        before, twist = there[link.parent] if link.parent >= 0 else IDENTITY, ca.densify(S @ delta[link.v, :])
        own = Pose(ca.SX.eye(3) + ca.skew(twist[:3]), twist[3:])
        if i in free:
            R = X[i].R @ own.R
            found.append(Pose(before.R.T @ R, f[i].p))
            there.append(Pose(R, before.p + before.R @ f[i].p))
        else:
            found.append(compose(f[i], own) if link.move else f[i])
            there.append(compose(before, found[i]) if link.parent >= 0 else found[i])
    return found, there


def outward(
    model: Model, q: Any, v: Any, dv: Any = None, delta: Any = None, free: Collection[int] = ()
) -> Motion:
    """Outward recursion of Newton-Euler (paper 004, A.3), accelerations as those of points.

    With S_i v_i = (ω_J, v_J): V_i = Ad_{f⁻¹} V_P + S_i v_i,  ω̇_i = Rᵀω̇_P + ω_i×ω_J + ω̇_J and
    a_i = Rᵀ(a_P + N_P p) + (2ω_i − ω_J)×v_J + v̇_J, which is V̇_i = (ω̇_i, a_i − ω_i×v_i) of the thesis in fewer
    operations: linear velocities are left out. Without `dv` the accelerations are zero. Links that are `free`
    turn by v_i over the world, and ω̇_i = v̇_i.
    """
    f, X = poses(model, q)
    if delta is not None:
        f, X = displaced_poses(model, f, X, delta, free)
    V, dw, a, N = list[Any](), list[Any](), list[Any](), list[Any]()
    still = ca.SX.zeros(3, 1)
    for i, (link, fi, S) in enumerate(zip(model.tree.links, f, model.subspaces, strict=True)):
        Sv = ca.densify(S @ v[link.v, :])
        turn, slide = Sv[:3], Sv[3:]
        if link.parent < 0:
            Vi, dwi, ai = Sv, still, fi.R.T @ -vector(model.mechanism.gravity)
        else:
            Vi = to_child(fi, V[link.parent]) + Sv
            dwi, ai = fi.R.T @ dw[link.parent], fi.R.T @ (a[link.parent] + N[link.parent] @ fi.p)
        w = Vi[:3]
        if i in free:
            Vi, dwi = ca.vertcat(turn, Vi[3:]), still
        else:
            dwi, ai = dwi + ca.cross(w, turn), ai + ca.cross(2 * w - turn, slide)
        if dv is not None:
            Sdv = ca.densify(S @ dv[link.v, :])
            dwi, ai = dwi + Sdv[:3], ai + Sdv[3:]
        V.append(Vi)
        dw.append(dwi)
        a.append(ai)
        N.append(turning_rate(Vi[:3], dwi))
    moved = q if delta is None else q + position_rates(model, q, delta)
    given = ca.SX.zeros(model.tree.nv, 1) if dv is None else dv
    return Motion(f, X, V, dw, a, N, moved, v, given)


def point_motion(model: Model, motion: Motion, link: int, s: Any) -> tuple[Any, Any, Any]:
    """Position, velocity and acceleration in world axes of a link's point s (of ground's if −1)."""
    if link < 0:
        return s, ca.SX.zeros(3, 1), -vector(model.mechanism.gravity)
    X, V = motion.X[link], motion.V[link]
    v = V[3:] + ca.cross(V[:3], s)
    return X.p + X.R @ s, X.R @ v, X.R @ (motion.a[link] + motion.N[link] @ s)


def turning(motion: Motion, link: int) -> tuple[Any, Any, Any]:
    """Axes of a link (of ground if −1), their angular velocity and its rate, in world axes."""
    if link < 0:
        return IDENTITY.R, ca.SX.zeros(3, 1), ca.SX.zeros(3, 1)
    R = motion.X[link].R
    return R, R @ motion.V[link][:3], R @ motion.dw[link]


def quaternions(model: Model, q: Any) -> list[Any]:
    """Euler parameters of each link over the world, continuous along any motion."""
    result: list[Any] = []
    for link in model.tree.links:
        e = link.move.euler_parameters(q[link.q], link.reverse) if link.move else ca.SX([1, 0, 0, 0])
        if link.first:
            body, frame = inner_frame(model.mechanism, link)
            e = product(product(body_quaternion(model, body), unit_quaternion(frame.orientation)), e)
        result.append(product(result[link.parent], e) if link.parent >= 0 else e)
    return result


def unit_quaternion(e: Any) -> Any:
    e = vector(e)
    return snap(e / ca.norm_2(e))


def body_quaternion(model: Model, body: str) -> Any:
    """Euler parameters of a body's frame in the link that carries it."""
    index = model.tree.holder[body]
    if index < 0:
        return ca.SX([1, 0, 0, 0])
    return conjugate(unit_quaternion(outer_frame(model.mechanism, model.tree.links[index]).orientation))


def columns(model: Model, X: Sequence[Pose], path: Sequence[int]) -> list[tuple[int, Any, Any, Any]]:
    """Axes of the joints on a path: (speed index, ω axis, v axis, point the axis passes), world.

    The Jacobian column of a point r is ω_axis × (r − point) + v_axis.
    """
    result = []
    for i in path:
        link = model.tree.links[i]
        S = model.subspaces[i]
        for k in range(S.shape[1]):
            axis = ca.densify(S[:, k])
            result.append((link.v.start + k, X[i].R @ axis[:3], X[i].R @ axis[3:], X[i].p))
    return result


def position_rates(model: Model, q: Any, v: Any) -> Any:
    """q̇ = N(q) v."""
    return _gathered(model, "q", lambda move, at: move.rates(q[at.q], v[at.v], at.reverse))


def normalize(model: Model, q: Any) -> Any:
    """The same coordinates with Euler parameters of length one."""
    return _gathered(model, "q", lambda move, at: move.normalized(q[at.q]))


def user_speeds(model: Model, q: Any, v: Any) -> Any:
    """Speeds, and accelerations as further columns, of every joint's child against its parent."""
    return _gathered(model, "v", lambda move, at: move.user_speed(q[at.q], v[at.v, :], at.reverse))


def _gathered(model: Model, by: str, part: Callable[[Move, Link], Any]) -> Any:
    """One column of what each move gives, in the order of the coordinates (`q`) or of the speeds (`v`)."""
    moves = sorted(model.tree.moves, key=lambda pair: getattr(pair[1], by).start)
    return ca.vertcat(*(part(move, link) for move, link in moves))
