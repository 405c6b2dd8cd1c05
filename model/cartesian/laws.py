"""Motion laws: functions of time with exact first and second derivatives.

A law is a number or a vector over time. Scalar laws drive joints; laws of three and four numbers
carry and turn markers of the lock constraint. Laws are built by `constant`, `ramp`, `polynomial`,
`sine`, `table`, `function` and `stack`; the helpers below combine values without losing exactness.
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
from ..joints import euler

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
    t = ca.MX.sym("t")
    x = f(t)
    dx = ca.jacobian(x, t)
    jet = ca.Function("jet", [t], [ca.densify(part) for part in (x, dx, ca.jacobian(dx, t))])

    def evaluate(at: float) -> tuple[Any, Any, Any]:
        value, rate, acceleration = (np.array(part) for part in jet(at))
        return value, rate, acceleration

    return Law(name, f.size_out(0)[0], evaluate)


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

IDENTITY = Jet(np.array([1.0, 0, 0, 0]), np.zeros(4), np.zeros(4))
ORIGIN = Jet(np.zeros(3), np.zeros(3), np.zeros(3))


def times(product: Callable[[Array, Array], Array], a: Jet, b: Jet) -> Jet:
    """Leibniz for any bilinear product: a∘b, ȧ∘b + a∘ḃ, ä∘b + 2 ȧ∘ḃ + a∘b̈."""
    return Jet(
        product(a.x, b.x),
        product(a.dx, b.x) + product(a.x, b.dx),
        product(a.ddx, b.x) + 2 * product(a.dx, b.dx) + product(a.x, b.ddx),
    )


def plus(a: Jet, b: Jet) -> Jet:
    return Jet(*(x + y for x, y in zip(a, b, strict=True)))


def turned(q: Jet, v: Jet) -> Jet:
    """q ⊗ (0, v) ⊗ q̄ of a unit q."""
    pure = Jet(*(np.concatenate([[0.0], part]) for part in v))
    back = Jet(*(euler.conjugate(part) for part in q))
    result = times(euler.multiply, times(euler.multiply, q, pure), back)
    return Jet(*(part[1:] for part in result))


def unit(q: Jet) -> Jet:
    """q/|q|, so that any four numbers over time make a rotation."""
    s = np.linalg.norm(q.x)
    n = q.x / s
    ds = n @ q.dx
    dn = (q.dx - n * ds) / s
    dds = (q.dx @ q.dx + q.x @ q.ddx - ds * ds) / s
    return Jet(n, dn, (q.ddx - 2 * dn * ds - n * dds) / s)
