"""What a cut joint measures between its two frames: speeds, and the row that drives it."""

from typing import Any

import casadi as ca

from .moves import Turn
from .rows import Ends, Row
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


def driven_row(joint: Any, e: Ends, s: Any, rate: Any) -> Row:
    """The row that keeps the one coordinate of a cut joint at s, with ṡ = −rate.

    Angles are measured within a turn, and so is how far one is from s.
    """
    fresh = Ends(*(ca.SX.sym(name, *getattr(e, name).shape) for name in Ends._fields))
    speed = cut_speeds(joint, fresh)[0]
    turning = ca.skew(fresh.wi) @ fresh.Ri, fresh.vi, ca.skew(fresh.wj) @ fresh.Rj, fresh.vj
    bias = sum(ca.jtimes(speed, x, dx) for x, dx in zip(fresh[:4], turning, strict=True))
    covectors = [ca.gradient(speed, x) for x in (fresh.wi, fresh.vi, fresh.wj, fresh.vj)]
    wi, ri, wj, rj, bias = ca.Function("driven", list(fresh), [*covectors, bias])(*e)
    kind = TYPES[joint.type]
    miss = kind.measure(e.Ri.T @ e.Rj, e.Ri.T @ (e.rj - e.ri), ca.SX([1, 0, 0, 0]), joint)[0] - s
    if isinstance(next(iter(kind.parts)).move, Turn):
        miss = ca.atan2(ca.sin(miss), ca.cos(miss))
    return Row(miss, wi, ri, wj, rj, bias, rate)
