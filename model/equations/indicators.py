"""Where what acts has kinks, of all elements: what solvers with a variable step stop at."""

import casadi as ca

from .elements.contract import element_indicators
from .terms import Equations, once, terms


@once
def indicators(eq: Equations) -> ca.Function:
    """(q, v, z, u, p) → x: values of all indicators, in the order of `element_indicators`."""
    known = terms(eq).applied.indicators
    found = ca.vertcat(ca.SX(0, 1), *(known.get(item.name, 1) for item in element_indicators(eq.mechanism)))
    arguments = [eq.q, eq.v, eq.z, eq.u, eq.p]
    return ca.Function("indicators", arguments, [ca.densify(found)], ["q", "v", "z", "u", "p"], ["x"])
