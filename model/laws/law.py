"""What a law is: a number or a vector over time, with exact first and second derivatives.

Scalar laws drive joints and give inputs; laws of three and four numbers carry and turn markers of the lock
constraint. Where a law or a derivative of it jumps, it says so: steps of time end there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import inf, isfinite
from typing import Any, NamedTuple

import casadi as ca
import numpy as np

from ..base.errors import DescriptionError, SimulationError

Array = np.ndarray
Numbers = float | Sequence[float] | Array


class Jet(NamedTuple):
    """A quantity at one time: value, first and second time derivative."""

    x: Array  # its value
    dx: Array  # its rate
    ddx: Array  # the rate of its rate


@dataclass(frozen=True)
class Law:
    """A law over time.

    `still` tells that it never changes, so its derivatives need no code. At the times in `breaks` it, or a
    derivative, jumps; there it has the value it goes on from. `span` is when it says anything at all, and
    `smooth` whether between breaks it is a formula, of which the error of a long step can tell; one longer
    than `longest` could pass over whole periods.
    """

    name: str  # by which messages call it
    size: int  # of the vector it is
    evaluate: Callable[[float], tuple[Any, Any, Any]]  # time -> value and both derivatives
    still: bool = False
    breaks: tuple[float, ...] = ()
    span: tuple[float, float] = (-inf, inf)
    smooth: bool = True
    longest: float = inf

    def __call__(self, t: float) -> Jet:
        """Value and derivatives at time t; refuses to pass on what is not a number."""
        jet = Jet(*(np.atleast_1d(np.asarray(part, float)).ravel() for part in self.evaluate(t)))
        for part, what in zip(jet, ("value", "first derivative", "second derivative"), strict=True):
            if not np.isfinite(part).all():
                raise SimulationError(
                    f"motion law '{self.name}' gives {part[~np.isfinite(part)][0]} as its {what} at "
                    f"t = {t:g} s; change the law or the time it is used over"
                )
        return jet

    def named(self, name: str) -> Law:
        """The same law under another name."""
        return replace(self, name=name)

    def through(self, f: Callable[[Any], Any], size: int) -> Law:
        """A vector function of this law, over symbols."""
        at = followed(f, self.size)
        return replace(self, size=size, evaluate=lambda t: at(self(t)))


def numbers(value: Any, name: str) -> Array:
    """A vector of finite numbers, or a sentence that names the law."""
    x = np.atleast_1d(np.asarray(value, float))
    if x.ndim != 1 or not all(isfinite(c) for c in x):
        raise DescriptionError(f"motion law '{name}' needs finite numbers, not {value}")
    return x


def followed(f: Callable[[Any], Any], size: int, symbol: Any = ca.SX.sym) -> Callable[[Jet], Jet]:
    """f of a vector over time, with both derivatives, exactly."""
    x, dx, ddx = (symbol(name, size) for name in ("x", "dx", "ddx"))
    y = f(x)
    dy = ca.jtimes(y, x, dx)
    ddy = ca.jtimes(dy, x, dx) + ca.jtimes(dy, dx, ddx)
    traced = ca.Function("followed", [x, dx, ddx], [ca.densify(part) for part in (y, dy, ddy)])
    return lambda jet: Jet(*(np.array(part).ravel() for part in traced(*jet)))


unit_turn = followed(lambda q: q / ca.norm_2(q), 4)  # any four numbers over time make a rotation
