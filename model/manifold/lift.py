"""The lift: from independent coordinates and speeds to the whole motion (paper 004, 2.2 and 2.3).

A chart is a reference pose r and a choice of dependent directions (`charts.py`). Poses are written
q = r ⊕ d; the independent entries of d and of v are the states of the local state-space form, and the
dependent ones follow from

    g(r ⊕ d) = 0   by Newton's method (`closing.py`),   G(q) v + b = 0   at once.
"""

from typing import Any

import casadi as ca

from ..base.thresholds import LIFT_TRIES, LONGEST, OPEN, TINY
from ..equations.terms import Equations, once
from .closing import Pieces, closing, follow, free_directions, pieces, pieces_by_joint


@once
def displacement(eq: Equations) -> ca.Function:
    """(r, q) → d with q = r ⊕ d."""
    r = ca.SX.sym("r", eq.tree.nq)
    d = ca.SX.zeros(eq.tree.nv, 1)
    for move, link in eq.tree.moves:
        d[link.v] = move.displacement(r[link.q], eq.q[link.q], link.reverse)
    return ca.Function("displacement", [r, eq.q], [d], ["r", "q"], ["d"])


@once
def displacement_rates(eq: Equations) -> ca.Function:
    """(d, v) → ḋ = E(d) v."""
    d = ca.SX.sym("d", eq.tree.nv)
    rate = ca.SX(eq.v)
    for move, link in eq.tree.moves:
        rate[link.v] = move.displacement_rates(d[link.v], eq.v[link.v])
    return ca.Function("displacement_rates", [d, eq.v], [rate], ["d", "v"], ["rate"])


def lift(eq: Equations, use: Pieces | None = None) -> ca.Function:
    """(r, d, rate, x, y, dependent_q, dependent_v, s, p)
    → (d, q, v, rate, closed): the motion of independent entries.

    d and its rate are those of the last pose; the held entries of x and y are the new independent
    displacements (not in `dependent_q`) and speeds (not in `dependent_v`). The search starts where the last
    rates lead: by the time τ in which they change the independent entries most nearly as wanted. Near a
    singular pose two branches of closed poses lie side by side, and this start is what leads on to the one
    that momentum takes. No clock is asked: whoever sets states may do so in any order.
    """
    use = use or pieces_by_joint(eq)
    r, d, rate, x, y, s, p = eq.symbols("r", "d", "rate", "x", "y", "s", "p")
    f, f_v = (ca.MX.sym(name, *use.newton.size_in(2)) for name in ("dependent_q", "dependent_v"))

    def dependent(z: Any, f: Any) -> Any:
        return f @ z if f.shape[1] > 1 else f * z

    def joined(old: Any, new: Any, f: Any) -> Any:
        return dependent(old, f) + (new - dependent(new, f))

    near, kept = joined(d, x, f), rate - dependent(rate, f)
    tau = ca.dot(kept, near - d) / ca.fmax(ca.sumsqr(kept), TINY)
    ahead = tau * dependent(rate, f)
    ahead = ca.if_else(ca.norm_inf(ahead / use.scales.speeds) < LONGEST, ahead, 0)
    search = closing(use, LIFT_TRIES, recentred=False)
    first = search(r, near + ahead, f, s, p)
    done = use.size(first[2]) < OPEN
    second = ca.Function.if_else("second", _stay(use), search)
    _, d1, g, _ = second(done, r, ca.if_else(done, first[1], near), f, s, p)
    q = use.place(r, d1)
    v = use.speeds(q, joined(rate, y, f_v), f_v, s, p)
    results = [d1, q, v, displacement_rates(eq)(d1, v), use.size(g) < OPEN]
    masks = ("dependent_q", "dependent_v") if f.shape[1] == 1 else ("F", "F_v")
    names = ["r", "d", "rate", "x", "y", *masks, "s", "p"]
    found = ["d_new", "q", "v", "rate_new", "closed"]
    return ca.Function("lift", [r, d, rate, x, y, f, f_v, s, p], results, names, found)


def lift_along(eq: Equations) -> ca.Function:
    """The same for any directions: the arguments F, F_v are the projectors onto the dependent ones."""
    return lift(eq, pieces(eq, follow(eq, free_directions(eq))))


def _stay(use: Pieces) -> ca.Function:
    """The other branch of a second search: the first one was good."""
    r, d, f, s, p = (ca.MX.sym(f"x{k}", *use.newton.size_in(k)) for k in (0, 1, 2, 4, 5))
    return ca.Function("stay", [r, d, f, s, p], [r, d, use.gap(r, d, s, p), ca.MX(0)])
