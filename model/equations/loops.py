"""Loop closure: residual g, constraint Jacobian G and velocity terms of cut joints; couplings, drives behind.

Holonomic constraints: 0 = g(q), 0 = G v + b, 0 = G v̇ − γ with γ = −Ġv − ḃ. G is built for the speeds v, so
nq ≠ nv is no concern here. b is zero but for surfaces that run like a belt and for driven motions.
Non-holonomic ones, which hold speeds alone, have rows in G that belong to no entry of g: there g is zero, and
`of_poses` leaves their rows empty. Rows come from `joints/rows.py`, velocities and accelerations of the two
ends from the outward recursion. The world accelerates by −g there, and so does every end: relative quantities
do not notice.
"""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import casadi as ca

from ..joints.rigid_motion import IDENTITY, Pose
from ..joints.rows import Ends, Row
from ..joints.types import TYPES
from .absolute import NOT_FREE, FreeLinks
from .couplings import Tie, ties
from .kinematics import Model, Motion, columns, frame_in_link, point_motion, turning
from .motion_drives import driven_joint, driven_ties


class LoopEnd:
    """One frame of a cut joint in world axes: pose, velocity, and acceleration at v̇ = 0."""

    def __init__(self, model: Model, motion: Motion, body: str, frame: Any):
        self.link, local = frame_in_link(model, body, frame)
        self.local = local.p
        self.r, self.v, self.dv = point_motion(model, motion, self.link, local.p)
        R, self.w, self.dw = turning(motion, self.link)
        self.R = R @ local.R


class CutLoop:
    """One cut joint: its name, ends and rows.

    Rows ask only how far the ends are apart, so places are counted from where the loop begins: a loop far
    from the world's origin rounds as little as one near it, which shows at singular poses.
    """

    def __init__(self, model: Model, motion: Motion, joint: Any):
        self.joint = joint
        self.i = LoopEnd(model, motion, joint.parent, joint.on_parent)
        self.j = LoopEnd(model, motion, joint.child, joint.on_child)
        self.ends = Ends(self.i.R, self.i.r, self.j.R, self.j.r, self.i.w, self.i.v, self.j.w, self.j.v)
        tree = model.tree
        shared = tree.common(self.i.link, self.j.link)
        self.paths = [
            [k for k in tree.path(end.link) if k not in tree.path(shared)] for end in (self.i, self.j)
        ]
        self.places = _places(motion, shared, self.paths)
        ri, rj = (
            self.places[end.link] + turning(motion, end.link)[0] @ end.local for end in (self.i, self.j)
        )
        self.near = self.ends._replace(ri=ri, rj=rj)
        axes = turning(motion, shared)
        self.rows: list[Row] = [
            row for lock in TYPES[joint.type].locks for row in lock.evaluate(self.near, joint, axes)
        ]

    def columns(
        self, model: Model, motion: Motion, free: FreeLinks = NOT_FREE
    ) -> Iterator[tuple[int, bool, Any, Any]]:
        """Of every speed of the loop: whether it moves the child's end, its turn, how that end moves.

        What is before a link that is `free` does not turn the end, and moves it as that link's origin
        (`absolute.py`).
        """
        near = [Pose(x.R, self.places.get(k, x.p)) for k, x in enumerate(motion.X)]
        for k in free.links if free.in_world_axes else ():
            near[k] = near[k]._replace(R=IDENTITY.R)
        for path, r, is_j in ((self.paths[1], self.near.rj, True), (self.paths[0], self.near.ri, False)):
            turns = True
            for i in reversed(path):
                for k, w, v, point in columns(model, near, [i]):
                    yield k, is_j, w if turns else ca.SX.zeros(3, 1), ca.cross(w, r - point) + v
                if i in free.links:
                    r, turns = near[i].p, False


def _slope(row: Row, is_j: bool, w: Any, lever: Any) -> Any:
    c_w, c_r = (row.wj, row.rj) if is_j else (row.wi, row.ri)
    return ca.dot(c_w, w) + ca.dot(c_r, lever)


def all_ties(model: Model, motion: Motion) -> list[Tie]:
    """The rows behind those of the cut joints: couplings, then driven motions."""
    return ties(model, motion) + driven_ties(model, motion, model.tree.driven)


def _places(motion: Motion, shared: int, paths: list[list[int]]) -> dict[int, Any]:
    """Origins of the links that a loop passes, world axes, from the first joint of its first path."""
    whole = paths[0] or paths[1]
    first = motion.f[whole[0]].p if whole else ca.SX(0)
    begin = first if first.is_constant() else ca.SX.zeros(3, 1)
    places = {shared: -(turning(motion, shared)[0] @ begin)}
    for path in paths:
        for before, k in pairwise([shared, *path]):
            places[k] = places[before] + turning(motion, before)[0] @ motion.f[k].p
    return places


def cut_loops(model: Model, motion: Motion) -> list[CutLoop]:
    # `joint` objects of the tree may be numeric; take the model's own, which may hold symbols.
    return [CutLoop(model, motion, model.mechanism.joint(cut.name)) for cut in model.tree.cuts]


def residual(model: Model, motion: Motion, loops: list[CutLoop]) -> Any:
    """g(q), m; zero where a row holds speeds alone."""
    tied = (tie.residual for tie in all_ties(model, motion))
    return ca.vertcat(*(row.residual for loop in loops for row in loop.rows), *tied, ca.SX(0, 1))


def loop_jacobian(model: Model, motion: Motion, loops: list[CutLoop], free: FreeLinks = NOT_FREE) -> Any:
    """G(q), m × nv, with structural zeros for joints off the loop; `free` as in `mass_matrix`."""
    tree = model.tree
    G = ca.SX(tree.row_count, tree.nv)
    rows = tree.rows
    for at, tie in zip(list(rows.values())[len(tree.cuts) :], all_ties(model, motion), strict=True):
        for k, slope in tie.slopes.items():
            G[at.start, k] = slope
    for loop in loops:
        at = rows[loop.joint.name]
        for k, is_j, w, lever in loop.columns(model, motion, free):
            for n, row in enumerate(loop.rows):
                G[at.start + n, k] = _slope(row, is_j, w, lever)
    return ca.sparsify(G)


def of_poses(model: Model, G: Any) -> Any:
    """∂g, m × nv: G with empty rows where speeds alone are held."""
    held = model.tree.holds_poses
    if all(held):
        return G
    return ca.vertcat(
        *(row if kept else ca.SX(*row.shape) for row, kept in zip(ca.vertsplit(G), held, strict=True))
    )


def own_rates(model: Model, motion: Motion, loops: list[CutLoop]) -> Any:
    """b, m: what G v has to make up for, the rates of running surfaces and of driven motions."""
    driven = (tie.rate for tie in driven_ties(model, motion, model.tree.driven))
    surfaces = (row.rate for loop in loops for row in loop.rows)
    return ca.vertcat(*surfaces, ca.SX(len(model.tree.couplings), 1), *driven)


def row_rates(model: Model, motion: Motion, loops: list[CutLoop]) -> Any:
    """G v + b, m, by the velocities of the ends."""
    rates = []
    for loop in loops:
        i, j = loop.i, loop.j
        for row in loop.rows:
            turning_ends = ca.dot(row.wi, i.w) + ca.dot(row.wj, j.w)
            rates.append(turning_ends + ca.dot(row.ri, i.v) + ca.dot(row.rj, j.v) + row.rate)
    for tie in all_ties(model, motion):
        rates.append(sum(slope * motion.v[k] for k, slope in tie.slopes.items()) + tie.rate)
    return ca.vertcat(*rates, ca.SX(0, 1))


def velocity_terms(model: Model, motion: Motion, loops: list[CutLoop]) -> Any:
    """Ġv + ḃ = −γ, m: what g̈ is when all v̇ are zero."""
    terms = []
    for loop in loops:
        i, j = loop.i, loop.j
        for row in loop.rows:
            terms.append(
                row.bias
                + ca.dot(row.wi, i.dw)
                + ca.dot(row.wj, j.dw)
                + ca.dot(row.ri, i.dv)
                + ca.dot(row.rj, j.dv)
            )
    return ca.vertcat(*terms, *(tie.acceleration for tie in all_ties(model, motion)), ca.SX(0, 1))


def tie_forces(model: Model, motion: Motion, loops: list[CutLoop], lam: Any) -> Any:
    """−λ s on the speeds, nv: what couplings and driven motions do, of all multipliers λ."""
    force, first = ca.SX(model.tree.nv, 1), sum(len(loop.rows) for loop in loops)
    for n, tie in enumerate(all_ties(model, motion), start=first):
        for k, slope in tie.slopes.items():
            force[k] -= lam[n] * slope
    return force


def cut_reactions(loops: list[CutLoop], lam: Any) -> list[dict[str, Any]]:
    """Forces and torques of the multipliers, −λ times the rows, on both ends of every cut joint.

    Keys `ri`, `wi` are force and torque on the parent's end, `rj`, `wj` on the child's, world axes.
    """
    result, at = [], 0
    for loop in loops:
        part = {n: ca.SX.zeros(3, 1) for n in ("wi", "ri", "wj", "rj")}
        for row in loop.rows:
            for n in part:
                part[n] -= lam[at] * getattr(row, n)
            at += 1
        result.append(part)
    return result


def row_names(model: Model) -> tuple[str, ...]:
    """A name for every constraint row, such as `ball2: gap along x`."""
    return tuple(
        f"{cut.name}: {name}"
        for cut in model.tree.cuts
        for lock in TYPES[cut.type].locks
        for name in lock.names()
    ) + tuple(
        [f"{coupling.name}: coupling" for coupling in model.tree.couplings]
        + [f"{item.name}: drive of {driven_joint(item) or 'its length'}" for item in model.tree.driven]
    )
