"""Charts by coordinate partitioning (paper 004, 2.3): which speeds are independent, and for how long.

A chart is a reference pose r and a choice of dependent speeds, `dependent_v`, and among them of dependent
coordinates, `dependent_q`: 1 for every dependent one, 0 for every independent one. They are the same unless
velocity constraints leave fewer speeds independent than coordinates. The choice is pivoted QR's: as many
columns of G as its rank says, each the longest once those before it are taken out; the smallest pivot tells
how far they are from dependence. All of it is traced, so that Python and FMU make the same choices.
"""

from functools import lru_cache
from typing import Any, NamedTuple

import casadi as ca

from ..base.thresholds import FAR, JUMP, POOR, RANK, TIE, TINY
from ..equations.kinematics import outward
from ..equations.motion_drives import acceleration_drives, driven_ties, tie_rows
from ..equations.terms import Equations, at_rest, once


class Ranks(NamedTuple):
    """Of the rows that hold poses, and of all rows: they differ where there are velocity constraints."""

    poses: int
    speeds: int


@lru_cache
def pivots(shape: tuple[int, int], rank: int) -> ca.Function:
    """(A, allowed) → (chosen, smallest): `rank` columns of A by pivoted Gram-Schmidt, and the smallest pivot.

    Among columns of equal length, up to TIE, the first is taken: symmetric mechanisms have such, and
    round-off must not decide.
    """
    rows, columns = shape
    A, allowed = ca.MX.sym("A", rows, columns), ca.MX.sym("allowed", columns)
    chosen, smallest = ca.MX.zeros(columns, 1), ca.MX(ca.inf)
    if rank:
        end = _pivot(rows, columns).fold(rank)(ca.vertcat(ca.vec(A), chosen, smallest, allowed))
        _, chosen, smallest, _ = ca.vertsplit(end, _borders(rows, columns))
    return ca.Function("pivots", [A, allowed], [chosen, smallest], ["A", "allowed"], ["chosen", "smallest"])


def _borders(rows: int, columns: int) -> list[int]:
    """Where the parts of what pivoting goes on with begin: A, chosen, smallest, allowed."""
    sizes = (rows * columns, columns, 1, columns)
    return [sum(sizes[:k]) for k in range(len(sizes) + 1)]


def _pivot(rows: int, columns: int) -> ca.Function:
    """One column more is chosen, and A goes on without it."""
    borders = _borders(rows, columns)
    x = ca.MX.sym("x", borders[-1])
    flat, chosen, smallest, allowed = ca.vertsplit(x, borders)
    A = ca.reshape(flat, rows, columns)
    length = ca.if_else(ca.logic_and(allowed, ca.logic_not(chosen)), ca.sum1(A**2).T, -1)
    best = ca.mmax(length)
    hit = length >= (1 - TIE) * best
    first = ca.logic_and(hit, ca.cumsum(hit) < 1.5)
    pivot = ca.sqrt(ca.fmax(best, 0))
    a = A @ first / ca.fmax(pivot, TINY)
    for _ in range(2):  # the second pass removes the first one's round-off
        A = A - a @ (a.T @ A)
    step = ca.vertcat(ca.vec(A), chosen + first, ca.fmin(smallest, pivot), allowed)
    return ca.Function("pivot", [x], [step])


@once
def unitless_jacobian(eq: Equations) -> ca.Function:
    """(q, p) → G with lengths measured by the size of the mechanism: what rank and charts are judged by."""
    G = ca.densify(at_rest(eq).G) * ca.DM(eq.scales.speeds / eq.scales.rows[:, None])
    return ca.Function("unitless_jacobian", [eq.q, eq.p], [ca.densify(G)], ["q", "p"], ["G"])


def driven_jacobian(eq: Equations) -> ca.Function:
    """(q, p) → the same with the rows of given accelerations behind."""
    motion = outward(eq.model, eq.q, ca.SX.zeros(eq.tree.nv, 1))
    motors = acceleration_drives(eq.mechanism)
    rows = tie_rows(eq.model, driven_ties(eq.model, motion, motors))
    unitless = [row * ca.DM(eq.scales.speeds).T for row in ca.vertsplit(rows)] if motors else []
    J = ca.vertcat(unitless_jacobian(eq)(eq.q, eq.p), *unitless)
    return ca.Function("driven_jacobian", [eq.q, eq.p], [ca.densify(J)], ["q", "p"], ["J"])


def _levels(eq: Equations, G: Any, ranks: Ranks) -> list[tuple[Any, int]]:
    """All rows with their rank, and those that hold poses with theirs where they are fewer."""
    held = [k for k, kept in enumerate(eq.tree.holds_poses) if kept]
    return [(G, ranks.speeds), (G[held, :], ranks.poses)][: 1 + (len(held) < G.shape[0])]


def partition(eq: Equations, ranks: Ranks) -> ca.Function:
    """(q, p) → (dependent_q, dependent_v, regular): what depends on the rest; `regular` is 0 if none can."""
    q, p = eq.symbols("q", "p")
    chosen, regular = [ca.MX.ones(eq.tree.nv, 1)], ca.MX(1)
    for G, rank in _levels(eq, unitless_jacobian(eq)(q, p), ranks):
        dependent_q, smallest = pivots(G.shape, rank)(G, chosen[-1])
        chosen.append(dependent_q)
        if G.numel():
            regular = ca.logic_and(regular, smallest >= RANK * ca.norm_inf(ca.vec(G)))
    results = [chosen[-1], chosen[1], regular]
    return ca.Function("partition", [q, p], results, ["q", "p"], ["dependent_q", "dependent_v", "regular"])


def margin(eq: Equations, ranks: Ranks) -> ca.Function:
    """(q, d, dependent_q, dependent_v, p) → room: how far a chart is from being left; or NaN."""
    q, d, dependent_q, dependent_v, p = eq.symbols("q", "d", "dependent_q", "dependent_v", "p")
    room = ca.MX(1 - POOR)
    allowed = ca.MX.ones(eq.tree.nv, 1)
    for (G, rank), mine in zip(
        _levels(eq, unitless_jacobian(eq)(q, p), ranks), (dependent_v, dependent_q), strict=False
    ):
        if rank:
            choose = pivots(G.shape, rank)
            here = choose(G, mine)[1] / choose(G, allowed)[1] - POOR
            room = ca.if_else(room > here, here, room + 0 * here)  # NaN stays
        allowed = dependent_v
    for move, link in eq.tree.moves:
        if not move.plain:
            room = ca.if_else(FAR - ca.norm_inf(d[link.v]) < room, FAR - ca.norm_inf(d[link.v]), room)
    names = ["q", "d", "dependent_q", "dependent_v", "p"]
    return ca.Function("margin", [q, d, dependent_q, dependent_v, p], [room], names, ["room"])


def passes_singularity(eq: Equations, rank: int) -> ca.Function:
    """(q, d, rate, v, dv; q0, d0, rate0, v0, dv0; dependent_v, p) → jumped: one was passed wrongly.

    At a singular pose two branches of closed poses meet, and a solver may leave on the wrong one, with
    speeds that jump. It can have passed one only if the dependent columns of G have changed by more than
    they were from linear dependence. If so, the speeds must be what the accelerations at both ends
    make of them in the time τ that the displacements took.
    """
    now = eq.symbols("q", "d", "rate", "v", "dv")
    before = eq.symbols("q0", "d0", "rate0", "v0", "dv0")
    dependent_v, p = eq.symbols("dependent_v", "p")
    (q, d, rate, v, dv), (q0, d0, rate0, v0, dv0) = now, before
    jumped = ca.MX(0)
    if rank:
        G, G0 = unitless_jacobian(eq)(q, p), unitless_jacobian(eq)(q0, p)
        choose = pivots(G.shape, rank)
        near = ca.fmin(choose(G, dependent_v)[1], choose(G0, dependent_v)[1])
        possible = near**2 < ca.sumsqr((G - G0) @ ca.diag(dependent_v))
        mean, moved = (rate + rate0) / 2 / eq.scales.speeds, (d - d0) / eq.scales.speeds
        tau = ca.dot(moved, mean) / ca.fmax(ca.sumsqr(mean), TINY)
        miss, *speeds = ((x / eq.scales.speeds) for x in (v - v0 - tau * (dv + dv0) / 2, v, v0))
        smooth = ca.sumsqr(miss) <= JUMP**2 * (ca.sumsqr(speeds[0]) + ca.sumsqr(speeds[1]))
        jumped = ca.logic_and(possible, ca.logic_not(smooth))
    names = ["q", "d", "rate", "v", "dv", "q0", "d0", "rate0", "v0", "dv0", "dependent_v", "p"]
    return ca.Function("passed", [*now, *before, dependent_v, p], [jumped], names, ["jumped"])
