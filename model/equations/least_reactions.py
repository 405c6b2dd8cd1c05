"""Forces that redundant constraints leave open: the least ones, whichever joints were cut.

Redundant rows can carry a stress of their own: wrenches of joints and couplings that balance on every body
and move nothing. The multipliers of cut joints say nothing about it, and to set it to zero there would load
the other joints with all that a cut one could have carried. So all joints of the loops are treated alike, by
the rows of their types, and beside them the couplings that have a part in it. With z the parts of these
forces along wrenches of unit size (forces, and moments over the mechanism's length; of a joint at its origin
on the child, of a coupling at all its joints together) and E z their sum on every body,

    minimize Σ |z|²  with E z = E z₀,      z = Eᵀy,   E Eᵀ y = E z₀,

z₀ being those found before: the same motion, the least forces. E Eᵀ knows neither masses nor cuts; it has
the mechanism's motions as null vectors, which the proximal sweeps of `solve.py` leave alone. Driven motions
have no part in it: those that follow from other constraints are refused.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import casadi as ca
import numpy as np

from ..base.thresholds import CARRIED, RANK, REGULARIZATION
from ..describe.mechanism import Coupling
from .couplings import ties
from .cut_joints import cut_wrenches
from .kinematics import Motion, outward
from .loops import CutLoop
from .solve import factorize, least_degree, proximal, regularize
from .terms import Equations, described_start, once
from .topology import Tree
from .traced import closure

Wrenches = dict[str, tuple[Any, Any]]  # joint -> force, moment


@once
def stressed(eq: Equations) -> tuple[int, ...]:
    """Rows that follow from others, and those others: where null vectors of Gᵀ are not zero at the start."""
    G = np.array(closure(eq)(*described_start(eq))[1]) * (eq.scales.speeds / eq.scales.rows[:, None])
    if not G.size:
        return ()
    U, values, _ = np.linalg.svd(G)
    null = U[:, (values > RANK * values.max()).sum() :]
    return tuple(np.flatnonzero(np.abs(null).max(axis=1, initial=0.0) > CARRIED).tolist())


def least(eq: Equations, motion: Motion, found: Wrenches, lam: Any) -> tuple[Wrenches, Any]:
    """Reactions and multipliers with the least stress of the constraints' own.

    Of the multipliers those of couplings are changed; those of loops are in the reactions.
    """
    L = eq.scales.length
    parts, E = _balance(eq, motion)
    begin = ca.vertcat(*(part.size(found, lam, L) for part in parts))
    K = ca.SX(E @ E.T)
    mu = regularize(K, [range(K.shape[0])], REGULARIZATION)
    y = proximal(factorize(K, least_degree(K)), mu, ca.densify(E @ begin))
    change = E.T @ y - begin
    result, lam, at = dict(found), ca.SX(lam), 0
    for part in parts:
        dz = change[at : at + part.count]
        at += part.count
        for name, basis in part.through.items():
            (force, moment), more = result[name], basis @ dz
            result[name] = force + more[:3], moment + L * more[3:]
        if isinstance(part, _TiePart):
            lam[part.row] -= dz / part.scale
    return result, lam


@once
def exertable(eq: Equations) -> ca.Function:
    """(q, p) → (E, W): sums on bodies, and wrenches through every joint of `sharing`, of the parts z.

    W z are force and moment over the mechanism's length, six rows a joint. What E z = 0 leaves of W z are
    stresses of the constraints' own, which reactions are unique but for.
    """
    motion = outward(eq.model, eq.q, ca.SX.zeros(eq.tree.nv, 1))
    parts, E = _balance(eq, motion)
    none = [ca.SX(6, part.count) for part in parts]
    W = ca.vertcat(
        ca.SX(0, E.shape[1]),
        *(
            ca.horzcat(*(part.through.get(name, zero) for part, zero in zip(parts, none, strict=True)))
            for name in sharing(eq)
        ),
    )
    return ca.Function("exertable", [eq.q, eq.p], [ca.densify(E), ca.densify(W)], ["q", "p"], ["E", "W"])


def sharing(eq: Equations) -> tuple[str, ...]:
    """Names of the joints that may share a stress: those in loops, and those of stressed couplings."""
    tied = (name for tie in _stressed_ties(eq) for name in (tie.joint, *tie.follows))
    return tuple(dict.fromkeys([*joints_in_loops(eq.tree), *tied]))


def joints_in_loops(tree: Tree) -> tuple[str, ...]:
    """Names of all joints that loops run through."""
    found: dict[str, None] = {}
    for cut in tree.cuts:
        found |= dict.fromkeys(tree.loop(cut))
    return tuple(found)


def _stressed_ties(eq: Equations) -> list[Coupling]:
    """Couplings that have a part in a stress."""
    return [tie for tie in eq.tree.couplings if eq.tree.rows[tie.name].start in stressed(eq)]


def _balance(eq: Equations, motion: Motion) -> tuple[list[_Part], Any]:
    """What joints in loops and stressed ties can exert, and E, which sums it on every body."""
    L = eq.scales.length
    parts: list[_Part] = [
        _JointPart(CutLoop(eq.model, motion, eq.mechanism.joint(name)), L)
        for name in joints_in_loops(eq.tree)
    ]
    rows = dict(zip((tie.name for tie in eq.tree.couplings), ties(eq.model, motion), strict=True))
    parts += [_TiePart(eq, motion, tie, rows[tie.name].slopes) for tie in _stressed_ties(eq)]
    # halves of a body are one: what holds them together is no joint
    welds, holder = (cut for cut in eq.tree.cuts if cut.name in eq.tree.beside), eq.tree.holder
    whole = {holder[weld.child]: holder[weld.parent] for weld in welds}
    for part in parts:
        part.ends = [end._replace(link=whole.get(end.link, end.link)) for end in part.ends]
    nodes = sorted({end.link for part in parts if part.count for end in part.ends if end.link >= 0})
    E = ca.SX(6 * len(nodes), sum(part.count for part in parts))
    at = 0
    for part in parts:
        for link, r, w in part.ends:
            if link >= 0 and part.count:
                row = 6 * nodes.index(link)
                lever = ca.skew(r - motion.X[link].p) @ w[:3, :] / L
                E[row : row + 6, at : at + part.count] += ca.vertcat(w[:3, :], w[3:, :] + lever)
        at += part.count
    return parts, ca.sparsify(E)


def _scaled(force: Any, moment: Any, length: float) -> Any:
    return ca.vertcat(force, moment / length)


class _End(NamedTuple):
    """Wrenches, a column each, at a point of a link."""

    link: int
    r: Any
    wrenches: Any


class _Part:
    """Wrenches that one constraint can exert, `count` of them: on its `ends`, and `through` joints."""

    count: int
    ends: list[_End]
    through: dict[str, Any]

    def size(self, found: Wrenches, lam: Any, length: float) -> Any:
        """How much of each there is in reactions, or multipliers, that were found."""
        raise NotImplementedError


class _JointPart(_Part):
    """What a joint can exert: orthonormal wrenches on its child, and the same rows on its parent."""

    def __init__(self, joint: CutLoop, length: float):
        columns: list[tuple[Any, Any]] = []
        for row in joint.rows:
            child, parent = (_scaled(r, w, length) for r, w in ((row.rj, row.wj), (row.ri, row.wi)))
            for unit, other in columns:
                along = ca.dot(unit, child)
                child, parent = child - along * unit, parent - along * other
            size = ca.norm_2(child)
            columns.append((child / size, parent / size))
        basis, other = (ca.horzcat(*(c[k] for c in columns)) if columns else ca.SX(6, 0) for k in (0, 1))
        self.count, self.name, self.through = len(columns), joint.joint.name, {joint.joint.name: basis}
        self.ends = [_End(joint.j.link, joint.ends.rj, basis), _End(joint.i.link, joint.ends.ri, other)]

    def size(self, found: Wrenches, lam: Any, length: float) -> Any:
        return self.through[self.name].T @ _scaled(*found[self.name], length)


class _TiePart(_Part):
    """What the −λ of a coupling exerts at all its joints."""

    count = 1

    def __init__(self, eq: Equations, motion: Motion, tie: Coupling, slopes: dict[int, Any]):
        self.row, self.ends, self.through, L = eq.tree.rows[tie.name].start, [], {}, eq.scales.length
        for name in (tie.joint, *tie.follows):
            loop = CutLoop(eq.model, motion, eq.mechanism.joint(name))
            on = cut_wrenches(loop, slopes[eq.tree.v[name].start])
            self.through[name] = _scaled(on["vj"], on["wj"], L)
            self.ends.append(_End(loop.j.link, loop.ends.rj, self.through[name]))
            self.ends.append(_End(loop.i.link, loop.ends.ri, _scaled(on["vi"], on["wi"], L)))
        self.scale = ca.norm_2(ca.vertcat(*self.through.values()))
        self.through = {name: w / self.scale for name, w in self.through.items()}
        self.ends = [end._replace(wrenches=end.wrenches / self.scale) for end in self.ends]

    def size(self, found: Wrenches, lam: Any, length: float) -> Any:
        return -lam[self.row] * self.scale
