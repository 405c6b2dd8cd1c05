"""What a cut joint measures between its two frames."""

from typing import Any

import casadi as ca

from .rows import Ends
from .types import TYPES


def cut_speeds(joint: Any, e: Ends) -> Any:
    """Speeds of a cut joint: the rates of what it measures, and ω in child axes where that is not plain."""
    kind = TYPES[joint.type]
    R, p = ca.SX.sym("R", 3, 3), ca.SX.sym("p", 3)
    measured = ca.vertcat(*kind.measure(R, p, ca.SX([1, 0, 0, 0]), joint), ca.SX(0, 1))
    d, w = e.rj - e.ri, e.wj - e.wi
    rates = ca.jtimes(measured, R, e.Ri.T @ ca.skew(w) @ e.Rj)
    rates += ca.jtimes(measured, p, e.Ri.T @ (e.vj - e.vi - ca.cross(e.wi, d)))
    (rates,) = ca.substitute([rates], [R, p], [e.Ri.T @ e.Rj, e.Ri.T @ d])
    # nothing turns behind a ball, so that its axes are the child's
    return ca.vertcat(*(rates[part.q] if part.move.plain else e.Rj.T @ w for part in kind.parts), ca.SX(0, 1))
