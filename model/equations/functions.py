"""Functions of CasADi in the form that takes the least of what they are made of."""

from typing import Any

import casadi as ca


def concise(name: str, arguments: list[Any], results: list[Any], *names: list[str]) -> ca.Function:
    """A function of SX expressions in which none is computed twice."""
    return ca.Function(name, arguments, ca.cse(results), *names)


def dense(function: ca.Function) -> ca.Function:
    """The same with dense results: zeros are filled in by a loop, not written out one by one."""
    arguments = [ca.MX.sym(function.name_in(k), function.sparsity_in(k)) for k in range(function.n_in())]
    results = function.call(arguments)
    names = function.name_in(), function.name_out()
    return ca.Function(function.name(), arguments, [ca.densify(x) for x in results], *names)
