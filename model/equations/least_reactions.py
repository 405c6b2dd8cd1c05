"""Reactions that redundant constraints leave open: the least ones, whichever joints were cut.

A loop with redundant rows can carry a stress of its own: wrenches of its joints that balance on every body
and move nothing. The multipliers of cut joints say nothing about it, and to set it to zero there would load
the other joints with all that a cut one could have carried. So all joints of the loops are treated alike, by
the rows of their types. With z the parts of reactions along orthonormal wrenches that a joint can exert
(forces, and moments over the mechanism's length, at its origin on the child) and E z their sum on every body,

    minimize Σ |z|²  with E z = E z₀,      z = Eᵀy,   E Eᵀ y = E z₀,

z₀ being the reactions found before: the same motion, the least reactions. E Eᵀ knows neither masses nor
cuts; it has the mechanism's motions as null vectors, which the proximal sweeps of `solve.py` leave alone.
"""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np

from ..thresholds import RANK, SOFTNESS
from .kinematics import Motion, outward
from .loops import CutLoop
from .solve import factorize, least_degree, proximal, softened
from .terms import Equations, described_start, once
from .topology import Tree
from .traced import closure

Wrenches = dict[str, tuple[Any, Any]]  # joint -> force, moment


@once
def redundant(eq: Equations) -> bool:
    """Whether rows of the loops follow from others, found at the described start."""
    if not eq.tree.cuts:
        return False
    G = np.array(closure(eq)(*described_start(eq))[1]) * (eq.scales.speeds / eq.scales.rows[:, None])
    values = np.linalg.svd(G, compute_uv=False)
    return int((values > RANK * values.max()).sum()) < len(G)


def least(eq: Equations, motion: Motion, found: Wrenches) -> Wrenches:
    """The reactions with the least stress of the loops' own; those of joints outside loops stay."""
    L = eq.scales.length
    parts, E = _balance(eq, motion)
    start = ca.vertcat(*(part.basis.T @ _scaled(*found[part.name], L) for part in parts))
    K = ca.SX(E @ E.T)
    mu = softened(K, [range(K.shape[0])], SOFTNESS)
    y = proximal(factorize(K, least_degree(K)), mu, ca.densify(E @ start))
    change = E.T @ y - start
    result, at = dict(found), 0
    for part in parts:
        more = part.basis @ change[at : at + part.basis.shape[1]]
        force, moment = found[part.name]
        result[part.name] = force + more[:3], moment + L * more[3:]
        at += part.basis.shape[1]
    return result


@once
def exertable(eq: Equations) -> ca.Function:
    """(q, p) → (E, W): sums on bodies, and wrenches of every joint in loops, of the parts z of reactions.

    W z are force and moment over the mechanism's length, six rows a joint of `joints_in_loops`. What E z = 0
    leaves of W z are stresses of the loops' own, which reactions are unique but for.
    """
    motion = outward(eq.model, eq.q, ca.SX.zeros(eq.tree.nv, 1))
    parts, E = _balance(eq, motion)
    W = ca.diagcat(*(part.basis for part in parts)) if parts else ca.SX(0, 0)
    return ca.Function("exertable", [eq.q, eq.p], [ca.densify(E), ca.densify(W)], ["q", "p"], ["E", "W"])


def _balance(eq: Equations, motion: Motion) -> tuple[list[_Part], Any]:
    """What the joints in loops can exert, and E, which sums it on every body."""
    L = eq.scales.length
    parts = [
        _Part(CutLoop(eq.model, motion, eq.mechanism.joint(name)), L) for name in joints_in_loops(eq.tree)
    ]
    nodes = sorted({link for part in parts if part.basis.numel() for link in part.links if link >= 0})
    E = ca.SX(6 * len(nodes), sum(part.basis.shape[1] for part in parts))
    at = 0
    for part in parts:
        columns = slice(at, at + part.basis.shape[1])
        wrenches = part.on_bodies([motion.X[k].p for k in part.links], L)
        for link, wrench in zip(part.links, wrenches, strict=True):
            if link >= 0 and part.basis.numel():
                row = 6 * nodes.index(link)
                E[row : row + 6, columns] += wrench
        at = columns.stop
    return parts, ca.sparsify(E)


def joints_in_loops(tree: Tree) -> tuple[str, ...]:
    """Names of all joints that loops run through."""
    found: dict[str, None] = {}
    for cut in tree.cuts:
        found |= dict.fromkeys(tree.loop(cut))
    return tuple(found)


def _scaled(force: Any, moment: Any, length: float) -> Any:
    return ca.vertcat(force, moment / length)


class _Part:
    """What a joint can exert: orthonormal wrenches on its child, and the same rows on its parent."""

    def __init__(self, joint: CutLoop, length: float):
        self.name, self.links = joint.joint.name, (joint.j.link, joint.i.link)
        self.points = joint.ends.rj, joint.ends.ri
        columns: list[tuple[Any, Any]] = []
        for row in joint.rows:
            child, parent = (_scaled(r, w, length) for r, w in ((row.rj, row.wj), (row.ri, row.wi)))
            for unit, other in columns:
                along = ca.dot(unit, child)
                child, parent = child - along * unit, parent - along * other
            size = ca.norm_2(child)
            columns.append((child / size, parent / size))
        self.basis, self._parent = (
            ca.horzcat(*(c[k] for c in columns)) if columns else ca.SX(6, 0) for k in (0, 1)
        )

    def on_bodies(self, origins: list[Any], length: float) -> tuple[Any, Any]:
        """The wrenches on child and parent about given points."""
        return tuple(  # type: ignore[return-value]
            ca.vertcat(w[:3, :], w[3:, :] + ca.skew(r - p) @ w[:3, :] / length)
            for w, r, p in zip((self.basis, self._parent), self.points, origins, strict=True)
        )
