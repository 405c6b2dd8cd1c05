"""Charts by coordinate partitioning (paper 004, 2.3): which speeds are independent, and for how long.

A chart is a reference pose r and a choice of dependent speeds, `free`: 1 for every dependent one, 0
for every independent one. The choice is pivoted QR's: `rank` columns of G, each the longest once
those before it are taken out; the smallest pivot tells how far they are from dependence. All of it is
traced, so that Python and FMU make the same choices.
"""

from functools import lru_cache

import casadi as ca

from ..equations.terms import Equations, closure, once
from ..thresholds import FAR, JUMP, POOR, RANK, TIE, TINY


@lru_cache
def pivots(shape: tuple[int, int], rank: int) -> ca.Function:
    """(A, allowed) → (chosen, smallest): `rank` columns of A by pivoted Gram-Schmidt, and the smallest pivot.

    Among columns of equal length, up to TIE, the first is taken: symmetric mechanisms have such, and
    round-off must not decide.
    """
    rows, columns = shape
    sizes = (rows * columns, columns, 1, columns)
    borders = [sum(sizes[:k]) for k in range(len(sizes) + 1)]
    x = ca.SX.sym("x", borders[-1])
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
    A, allowed = ca.MX.sym("A", rows, columns), ca.MX.sym("allowed", columns)
    start = ca.vertcat(ca.vec(A), ca.MX.zeros(columns, 1), ca.inf, allowed)
    end = ca.Function("pivot", [x], [step]).fold(rank)(start) if rank else start
    _, chosen, smallest, _ = ca.vertsplit(end, borders)
    return ca.Function("pivots", [A, allowed], [chosen, smallest], ["A", "allowed"], ["chosen", "smallest"])


@once
def unitless_jacobian(eq: Equations) -> ca.Function:
    """(q, p) → G with lengths measured by the size of the mechanism: what rank and charts are judged by."""
    G = closure(eq)(eq.q, eq.p)[1] * ca.DM(eq.scales.speeds / eq.scales.rows[:, None])
    return ca.Function("unitless_jacobian", [eq.q, eq.p], [ca.densify(G)], ["q", "p"], ["G"])


def partition(eq: Equations, rank: int) -> ca.Function:
    """(q, p) → (free, regular): the dependent speeds at a pose; `regular` is 0 where there are none."""
    q, p = eq.symbols("q", "p")
    G = unitless_jacobian(eq)(q, p)
    free, smallest = pivots(G.shape, rank)(G, ca.MX.ones(eq.tree.nv, 1))
    regular = smallest >= RANK * ca.norm_inf(ca.vec(G)) if G.numel() else ca.MX(1)
    return ca.Function("partition", [q, p], [free, regular], ["q", "p"], ["free", "regular"])


def margin(eq: Equations, rank: int) -> ca.Function:
    """(q, d, free, p) → room: how far a chart is from being left, negative beyond; NaN at a singular pose."""
    q, d, free, p = eq.symbols("q", "d", "free", "p")
    room = ca.MX(1 - POOR)
    if rank:
        G = unitless_jacobian(eq)(q, p)
        choose = pivots(G.shape, rank)
        best, mine = choose(G, ca.MX.ones(eq.tree.nv, 1))[1], choose(G, free)[1]
        room = mine / best - POOR
    for move, link in eq.tree.moves:
        if not move.plain:
            room = ca.if_else(FAR - ca.norm_inf(d[link.v]) < room, FAR - ca.norm_inf(d[link.v]), room)
    return ca.Function("margin", [q, d, free, p], [room], ["q", "d", "free", "p"], ["room"])


def passed(eq: Equations, rank: int) -> ca.Function:
    """(q, d, rate, v, dv; q0, d0, rate0, v0, dv0; free, p) → jumped: a singular pose was passed wrongly.

    At a singular pose two branches of closed poses meet, and a solver may leave on the wrong one, with
    speeds that jump. It can have passed one only if the dependent columns of G have changed by more than
    they were from linear dependence. If so, the speeds must be what the accelerations at both ends
    make of them in the time τ that the displacements took.
    """
    now = eq.symbols("q", "d", "rate", "v", "dv")
    before = eq.symbols("q0", "d0", "rate0", "v0", "dv0")
    free, p = eq.symbols("free", "p")
    (q, d, rate, v, dv), (q0, d0, rate0, v0, dv0) = now, before
    jumped = ca.MX(0)
    if rank:
        G, G0 = unitless_jacobian(eq)(q, p), unitless_jacobian(eq)(q0, p)
        choose = pivots(G.shape, rank)
        near = ca.fmin(choose(G, free)[1], choose(G0, free)[1])
        possible = near**2 < ca.sumsqr((G - G0) @ ca.diag(free))
        mean, moved = (rate + rate0) / 2 / eq.scales.speeds, (d - d0) / eq.scales.speeds
        tau = ca.dot(moved, mean) / ca.fmax(ca.sumsqr(mean), TINY)
        miss, *speeds = ((x / eq.scales.speeds) for x in (v - v0 - tau * (dv + dv0) / 2, v, v0))
        smooth = ca.sumsqr(miss) <= JUMP**2 * (ca.sumsqr(speeds[0]) + ca.sumsqr(speeds[1]))
        jumped = ca.logic_and(possible, ca.logic_not(smooth))
    names = ["q", "d", "rate", "v", "dv", "q0", "d0", "rate0", "v0", "dv0", "free", "p"]
    return ca.Function("passed", [*now, *before, free, p], [jumped], names, ["jumped"])
