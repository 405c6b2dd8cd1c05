"""The functions of a chain's C library, each one traced function with all decisions inside.

Results come with a code (`CODES`): C copies numbers and hands the code on, and decides nothing.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import casadi as ca

from ..base.errors import SimulationError
from ..base.thresholds import MISSED, SLIP, SOFT, TINY
from ..equations.terms import Equations, mass, terms
from . import traced
from .complete import require_determined
from .core import ChainCore, row_names
from .maps import require_independent
from .rows import FrameRows, Item, trace_rows

CODES = {
    "MET": "done",
    "TOO_FAR": "too far from the last pose to stay on its branch for sure: go there in shorter steps",
    "NOT_MET": "no pose near the last one does it: out of reach, or at a singular pose",
    "LIMIT": "a joint would be beyond its limit",
    "NO_RATES": "the pose is met, but its loops do not allow the speeds or accelerations",
    "DISAGREE": "what is measured disagrees, by the slack",
    "NOT_FINITE": "an argument is not a finite number, or an orientation is zero",
}


class Choice(NamedTuple):
    """What a library is about: frames that are put somewhere, what is measured, actuators."""

    targets: tuple[FrameRows, ...]
    measured: tuple[Item, ...]
    actuators: tuple[Item, ...]


def check_choice(chain: ChainCore, choice: Choice) -> None:
    """Refuse actuators or measurements that do not determine the pose."""
    state = chain.released(None)
    if not choice.targets:
        raise SimulationError(
            "a library needs a frame that is put somewhere; name one, or describe 'targets'"
        )
    require_determined(chain, state, choice.measured)
    require_independent(chain, state, choice.actuators)


def functions(chain: ChainCore, choice: Choice) -> dict[str, ca.Function]:
    """Name -> function over symbols, of the mechanism with its parameters as arguments."""
    eq = chain.free.equations
    freedoms = chain.freedoms(choice.measured, chain.released(None)).shape[1]
    more = len(row_names(choice.measured)) > freedoms
    return {
        "inverse": _inverse(eq, chain, choice),
        "complete": _complete(eq, chain, choice, SOFT if more else 0.0),
        "pose": traced.values(eq, choice.targets),
        "jacobian": traced.transmission(eq, choice.targets, choice.actuators),
        "efforts": efforts(eq, choice),
    }


def _inverse(eq: Equations, chain: ChainCore, choice: Choice) -> ca.Function:
    """(q, t, w, a, p) → (q, v, dv, x, dx, ddx, code): x are the actuators' positions."""
    n, none = len(row_names(choice.targets)), ca.MX.zeros(0, 1)
    q, p = eq.symbols("q", "p")
    t, w, a = ca.MX.sym("t", 7 * len(choice.targets)), ca.MX.sym("w", n), ca.MX.sym("a", n)
    hard = ca.MX.zeros(n, 1)
    new, _, g, miss, closed, followed = traced.place(eq, choice.targets)(q, t, hard, none, p)
    v, _, slip = traced.speeds(eq, choice.targets)(new, w, hard, none, p)
    dv, _, jump = traced.accelerations(eq, choice.targets)(new, v, a, hard, none, p)
    rates = ca.logic_and(_small(slip, SLIP * (1 + _largest(w))), _small(jump, SLIP * (1 + _largest(a))))
    met = ca.logic_and(closed, _met(eq, choice.targets, g, miss))
    code = _code(
        ("NOT_FINITE", ca.logic_not(ca.logic_and(_finite(q, t, w, a, p), _oriented(t)))),
        ("NOT_MET", ca.logic_not(met)),
        ("TOO_FAR", ca.logic_not(followed)),
        ("LIMIT", ca.logic_not(_within(eq, chain, new, p))),
        ("NO_RATES", ca.logic_not(rates)),
    )
    x, dx, W, bias = traced.values(eq, choice.actuators)(new, v, p)
    results = [new, v, dv, x, dx, W @ dv + bias, code]
    names = ["q", "t", "w", "a", "p"], ["q_new", "v", "dv", "x", "dx", "ddx", "code"]
    return ca.Function("inverse", [q, t, w, a, p], results, *names)


def _complete(eq: Equations, chain: ChainCore, choice: Choice, soft: float) -> ca.Function:
    """(q, m, dm, most, p) → (q, v, slack, code): the pose of what is measured, m, and its speeds."""
    n, none = len(row_names(choice.measured)), ca.MX.zeros(0, 1)
    q, p = eq.symbols("q", "p")
    m, dm, most = ca.MX.sym("m", n), ca.MX.sym("dm", n), ca.MX.sym("most")
    softness = soft * ca.MX.ones(n, 1)
    new, slack, g, miss, closed, followed = traced.place(eq, choice.measured)(q, m, softness, none, p)
    v, *_ = traced.speeds(eq, choice.measured)(new, dm, softness, none, p)
    met = ca.logic_and(closed, _met(eq, choice.measured, g, miss))
    code = _code(
        ("NOT_FINITE", ca.logic_not(_finite(q, m, dm, most, p))),
        ("NOT_MET", ca.logic_not(met)),
        ("TOO_FAR", ca.logic_not(followed)),
        ("DISAGREE", _largest(slack) > most),
    )
    names = ["q", "m", "dm", "most", "p"], ["q_new", "v", "slack", "code"]
    return ca.Function("complete", [q, m, dm, most, p], [new, v, slack, code], *names)


def efforts(eq: Equations, choice: Choice) -> ca.Function:
    """(q, v, dv, F, p) → tau: what actuators give for a motion, F wrenches on the frames along their rows.

    With v = K ẏ of the actuators, W_a K = 1, virtual power says τ = Kᵀ(M v̇ − (τ₀ − h) − W_fᵀF).
    """
    _, K = traced.solved_motions(eq, trace_rows(eq, choice.actuators))
    rows = trace_rows(eq, choice.targets)
    dv, F = ca.SX.sym("dv", eq.tree.nv), ca.SX.sym("F", rows.bias.numel())
    right = ca.substitute(
        terms(eq).right, ca.vertcat(eq.u, eq.z), ca.SX.zeros(eq.u.numel() + eq.z.numel(), 1)
    )
    tau = K.T @ (mass(eq) @ dv - right - rows.W.T @ F)
    names = ["q", "v", "dv", "F", "p"], ["tau"]
    return ca.Function("efforts", [eq.q, eq.v, dv, F, eq.p], [ca.densify(tau)], *names)


def _code(*cases: tuple[str, Any]) -> Any:
    """The number of the first case that holds; 0 if none does."""
    found = ca.MX(0)
    for name, holds in reversed(cases):
        found = ca.if_else(holds, list(CODES).index(name), found)
    return found


def _finite(*columns: Any) -> Any:
    """Whether a sum of squares is a number: NaN compares with nothing."""
    return sum(ca.sumsqr(x) for x in columns if x.numel()) < ca.inf


def _oriented(t: Any) -> Any:
    """Whether no orientation among poses is zero."""
    lengths = [ca.sumsqr(t[k + 3 : k + 7]) for k in range(0, t.numel(), 7)]
    return ca.mmin(ca.vertcat(*lengths)) > TINY


def _largest(x: Any) -> Any:
    return ca.norm_inf(x) if x.numel() else ca.MX(0)


def _small(x: Any, most: Any) -> Any:
    return _largest(x) <= most


def _met(eq: Equations, items: Sequence[Item], g: Any, miss: Any) -> Any:
    """Whether loops and rows are met as far as numbers allow."""
    scales = trace_rows(eq, items).scales
    loops = _small(g / ca.DM(eq.scales.rows), MISSED) if g.numel() else ca.MX(1)
    return ca.logic_and(loops, _small(miss / ca.DM(scales), MISSED))


def _within(eq: Equations, chain: ChainCore, q: Any, p: Any) -> Any:
    """Whether all joints are within their limits, but for round-off."""
    if not chain.limit_rows:
        return ca.MX(1)
    x = traced.values(eq, chain.limit_rows)(q, ca.MX.zeros(eq.tree.nv, 1), p)[0]
    low, high = (ca.DM([limits[k] for limits in chain.limits.values()]) for k in (0, 1))
    room = MISSED * ca.fmax(1, ca.fabs(x))
    return ca.logic_and(ca.mmin(x + room - low) >= 0, ca.mmax(x - room - high) <= 0)
