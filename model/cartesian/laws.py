"""Motion laws: functions of time with exact first and second derivatives.

A law is a number or a vector over time. Scalar laws drive joints; laws of three and four numbers
carry and turn markers of the lock constraint. Laws are built by `constant`, `ramp`, `polynomial`,
`sine`, `table`, `function` and `stack`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import cos, isfinite, pi, sin
from typing import Any, NamedTuple

import casadi as ca
import numpy as np
from scipy.interpolate import CubicSpline

from ..errors import DescriptionError, SimulationError

Array = np.ndarray
Numbers = float | Sequence[float] | Array


class Jet(NamedTuple):
    """A quantity at one time: value, first and second time derivative."""

    x: Array
    dx: Array
    ddx: Array


@dataclass(frozen=True)
class Law:
    """A motion law. `still` tells that it never changes, so its derivatives need no code."""

    name: str
    size: int
    evaluate: Callable[[float], tuple[Any, Any, Any]]
    still: bool = False

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
        return replace(self, name=name)

    def through(self, f: Callable[[Any], Any], size: int) -> Law:
        """A vector function of this law, over symbols."""
        at = followed(f, self.size)
        return replace(self, size=size, evaluate=lambda t: at(self(t)))


def constant(value: Numbers, name: str = "constant") -> Law:
    """x(t) = value."""
    x = _numbers(value, name)
    return Law(name, len(x), lambda t: (x, 0 * x, 0 * x), still=True)


def ramp(rate: Numbers, start: Numbers = 0.0, name: str = "ramp") -> Law:
    """x(t) = start + rate·t: a motor at constant speed."""
    v = _numbers(rate, name)
    x = np.broadcast_to(_numbers(start, name), v.shape)
    return Law(name, len(v), lambda t: (x + v * t, v, 0 * v))


def polynomial(coefficients: Numbers, name: str = "polynomial") -> Law:
    """x(t) = c0 + c1 t + c2 t² + …"""
    x = np.polynomial.Polynomial(_numbers(coefficients, name))
    dx, ddx = x.deriv(), x.deriv(2)
    return Law(name, 1, lambda t: (x(t), dx(t), ddx(t)))


def sine(
    amplitude: float, frequency: float, phase: float = 0.0, offset: float = 0.0, name: str = "sine"
) -> Law:
    """x(t) = offset + amplitude·sin(2π·frequency·t + phase), frequency in hertz."""
    a, f, phi, c = _numbers([amplitude, frequency, phase, offset], name)
    w = 2 * pi * f
    return Law(
        name,
        1,
        lambda t: (c + a * sin(w * t + phi), a * w * cos(w * t + phi), -a * w * w * sin(w * t + phi)),
    )


def table(times: Numbers, values: Any, name: str = "table") -> Law:
    """A cubic spline through values at increasing times, so that accelerations are continuous."""
    t, x = _numbers(times, name), np.asarray(values, float)
    if len(t) < 2 or len(x) != len(t) or (np.diff(t) <= 0).any() or not np.isfinite(x).all():
        raise DescriptionError(
            f"motion law '{name}' needs two or more increasing times and a finite value for each"
        )
    spline = CubicSpline(t, x)

    def evaluate(at: float) -> tuple[Any, Any, Any]:
        if not t[0] <= at <= t[-1]:
            raise SimulationError(
                f"motion law '{name}' is a table from {t[0]:g} to {t[-1]:g} s and says nothing at "
                f"t = {at:g} s; lengthen it"
            )
        return spline(at), spline(at, 1), spline(at, 2)

    return Law(name, 1 if x.ndim == 1 else x.shape[1], evaluate)


def function(f: ca.Function, name: str = "") -> Law:
    """Any CasADi function of time alone, differentiated exactly."""
    name = name or f.name()
    if f.n_in() != 1 or f.n_out() != 1 or f.size_in(0) != (1, 1) or f.size_out(0)[1] != 1:
        raise DescriptionError(
            f"motion law '{name}' must be a CasADi function of time with one column as result"
        )
    at = followed(f, 1, ca.MX.sym)
    return Law(name, f.size_out(0)[0], lambda t: at(Jet(np.array(t), np.ones(1), np.zeros(1))))


def stack(*parts: Law) -> Law:
    """Several laws as one vector, such as three coordinates of a point."""
    name = ", ".join(dict.fromkeys(part.name for part in parts if not part.still)) or "constant"

    def evaluate(t: float) -> tuple[Any, Any, Any]:
        x, dx, ddx = (np.concatenate(column) for column in zip(*(part(t) for part in parts), strict=True))
        return x, dx, ddx

    return Law(name, sum(part.size for part in parts), evaluate, all(part.still for part in parts))


def _numbers(value: Any, name: str) -> Array:
    x = np.atleast_1d(np.asarray(value, float))
    if x.ndim != 1 or not all(isfinite(c) for c in x):
        raise DescriptionError(f"motion law '{name}' needs finite numbers, not {value}")
    return x


# -- what laws are made into -----------------------------------------------------------------


def followed(f: Callable[[Any], Any], size: int, symbol: Any = ca.SX.sym) -> Callable[[Jet], Jet]:
    """f of a vector over time, with both derivatives, exactly."""
    x, dx, ddx = (symbol(name, size) for name in ("x", "dx", "ddx"))
    y = f(x)
    dy = ca.jtimes(y, x, dx)
    ddy = ca.jtimes(dy, x, dx) + ca.jtimes(dy, dx, ddx)
    traced = ca.Function("followed", [x, dx, ddx], [ca.densify(part) for part in (y, dy, ddy)])
    return lambda jet: Jet(*(np.array(part).ravel() for part in traced(*jet)))


unit_turn = followed(lambda q: q / ca.norm_2(q), 4)  # any four numbers over time make a rotation
