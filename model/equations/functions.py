"""Functions of CasADi in the form that takes the least of what they are made of."""

from math import inf
from typing import Any

import casadi as ca


def concise(
    name: str, arguments: list[Any], results: list[Any], *names: list[str], merged: Any
) -> ca.Function:
    """A function of SX expressions in which, `merged`, none is computed twice.

    Merge only where it saves much. A product that is used once is fused with the sum it goes into, one
    that is shared is rounded first; rows that depend on each other are then no longer computed alike, and
    singular poses magnify the difference a thousandfold.
    """
    return ca.Function(name, arguments, ca.cse(results) if merged else results, *names)


def dense(function: ca.Function) -> ca.Function:
    """The same with dense results: zeros are filled in by a loop, not written out one by one."""
    arguments = [ca.MX.sym(function.name_in(k), function.sparsity_in(k)) for k in range(function.n_in())]
    results = function.call(arguments)
    names = function.name_in(), function.name_out()
    return ca.Function(function.name(), arguments, [ca.densify(x) for x in results], *names)


def fading(x: Any) -> Any:
    """eˣ for x ≤ 0, to round-off of one: exp has a newer version in some C libraries, tanh has not."""
    t = ca.tanh(x / 2)
    return (1 + t) / (1 - t)


def saturated(u: Any, low: float, high: float) -> Any:
    """u within its bounds; no code for one that is infinite."""
    u = u if low == -inf else ca.fmax(u, low)
    return u if high == inf else ca.fmin(u, high)
