"""The laws there are, beside tables; each says its formula. Times are in seconds, frequencies in hertz."""

from __future__ import annotations

from itertools import pairwise
from math import cos, inf, pi, sin
from typing import Any

import casadi as ca
import numpy as np

from ..base.errors import DescriptionError
from .law import Jet, Law, Numbers, followed, numbers


def constant(value: Numbers, name: str = "constant") -> Law:
    """x(t) = value, a number or a vector."""
    x = numbers(value, name)
    return Law(name, len(x), lambda t: (x, 0 * x, 0 * x), still=True)


def ramp(
    rate: Numbers,
    start: Numbers = 0.0,
    at: float | None = None,
    until: float | None = None,
    name: str = "ramp",
) -> Law:
    """x(t) = start + rate·t: a motor at constant speed. With `at` it rests before, with `until` from then on.

    Then x = start + rate·(t − at) in between.
    """
    v = numbers(rate, name)
    x = np.broadcast_to(numbers(start, name), v.shape)
    limits = [numbers(t, name).item() for t in (at, until) if t is not None]
    begin = limits[0] if at is not None else 0.0
    low, high = begin if at is not None else -inf, limits[-1] if until is not None else inf
    if not low < high or high <= begin:
        raise DescriptionError(f"law '{name}' must end after it begins: 'until' is not after {begin:g} s")

    def evaluate(t: float) -> tuple[Any, Any, Any]:
        inside = low <= t < high
        return x + v * (min(max(t, low), high) - begin), v if inside else 0 * v, 0 * v

    return Law(name, len(v), evaluate, breaks=tuple(limits))


def polynomial(coefficients: Numbers, name: str = "polynomial") -> Law:
    """x(t) = c0 + c1 t + c2 t² + … with the `coefficients` c0, c1, …"""
    c = numbers(coefficients, name)
    if not len(c):
        raise DescriptionError(f"law '{name}' needs one coefficient or more")
    x = np.polynomial.Polynomial(c)
    dx, ddx = x.deriv(), x.deriv(2)
    return Law(name, 1, lambda t: (x(t), dx(t), ddx(t)))


def sine(
    amplitude: float, frequency: float, phase: float = 0.0, offset: float = 0.0, name: str = "sine"
) -> Law:
    """x(t) = offset + amplitude·sin(2π·frequency·t + phase), frequency in hertz."""
    a, f, phi, c = numbers([amplitude, frequency, phase, offset], name).tolist()
    w = 2 * pi * f

    def evaluate(t: float) -> tuple[Any, Any, Any]:
        s = a * sin(w * t + phi)
        return c + s, a * w * cos(w * t + phi), -w * w * s

    return Law(name, 1, evaluate, longest=_half_period(f))


def chirp(
    amplitude: float,
    begin: float,
    end: float,
    over: float,
    phase: float = 0.0,
    offset: float = 0.0,
    name: str = "chirp",
) -> Law:
    """x(t) = offset + amplitude·sin(φ(t)), with a frequency that goes evenly from `begin` to `end` hertz.

    φ = phase + 2π(begin·t + (end − begin)·t²/(2·over)) up to t = over; the frequency stays before and after.
    """
    a, f0, f1, T, phi, c = numbers([amplitude, begin, end, over, phase, offset], name).tolist()
    if T <= 0:
        raise DescriptionError(f"law '{name}' needs 'over', the time it sweeps, above zero, not {T:g}")

    def evaluate(t: float) -> tuple[Any, Any, Any]:
        s, rest = min(max(t, 0.0), T), max(t - T, 0.0) * f1 + min(t, 0.0) * f0
        angle = phi + 2 * pi * (f0 * s + (f1 - f0) * s * s / (2 * T) + rest)
        w = 2 * pi * (f0 + (f1 - f0) * s / T)
        dw = 2 * pi * (f1 - f0) / T if 0 <= t < T else 0.0
        return c + a * sin(angle), a * w * cos(angle), a * (dw * cos(angle) - w * w * sin(angle))

    return Law(name, 1, evaluate, breaks=(0.0, T), longest=_half_period(f0, f1))


def step(to: float, at: float = 0.0, start: float = 0.0, rise: float = 0.0, name: str = "step") -> Law:
    """From `start` to `to` at the time `at`: at once, or within `rise` seconds, smoothly.

    Then x = start + (to − start)(10s³ − 15s⁴ + 6s⁵), s = (t − at)/rise, with continuous accelerations.
    """
    b, t0, a, T = numbers([to, at, start, rise], name).tolist()
    if T < 0:
        raise DescriptionError(f"law '{name}' needs a 'rise' that is not negative, not {T:g}")

    def evaluate(t: float) -> tuple[Any, Any, Any]:
        if not t0 < t < t0 + T:
            return (b if t >= t0 + T else a), 0.0, 0.0
        s, d = (t - t0) / T, b - a
        x, dx = s**3 * (10 + s * (6 * s - 15)), 30 * s * s * (1 - s) ** 2 / T
        return a + d * x, d * dx, d * 60 * s * (1 - s) * (1 - 2 * s) / T**2

    return Law(name, 1, evaluate, breaks=(t0, t0 + T) if T else (t0,))


def trapezoid(
    to: float,
    at: float = 0.0,
    rise: float = 0.0,
    hold: float = 0.0,
    fall: float | None = None,
    start: float = 0.0,
    name: str = "trapezoid",
) -> Law:
    """From `start` straight to `to` within `rise`, held for `hold`, and straight back within `fall`.

    It leaves `start` at the time `at`. `fall` is as long as `rise` if nothing is said; both may be zero.
    """
    given = [to, at, rise, hold, rise if fall is None else fall, start]
    b, t0, up, flat, down, a = numbers(given, name).tolist()
    if min(up, flat, down) < 0 or up + flat + down == 0:
        raise DescriptionError(
            f"law '{name}' needs rise, hold and fall that are not negative, one of them above zero"
        )
    corners = (t0, t0 + up, t0 + up + flat, t0 + up + flat + down)
    heights = (a, b, b, a)

    def evaluate(t: float) -> tuple[Any, Any, Any]:
        for (t1, t2), (x1, x2) in zip(pairwise(corners), pairwise(heights), strict=True):
            if t1 <= t < t2:
                slope = (x2 - x1) / (t2 - t1)
                return x1 + slope * (t - t1), slope, 0.0
        return a, 0.0, 0.0

    return Law(name, 1, evaluate, breaks=tuple(dict.fromkeys(corners)))


def added(*parts: Law) -> Law:
    """The sum of several laws, `parts`, of one size."""
    if not parts or len({part.size for part in parts}) > 1:
        raise DescriptionError("a sum of laws needs one or more, all of the same size")
    name = " + ".join(part.name for part in parts)
    return Law(
        name,
        parts[0].size,
        lambda t: tuple(map(sum, zip(*(part.evaluate(t) for part in parts), strict=True))),  # type: ignore
        *_together(parts),
    )


def function(f: ca.Function, name: str = "") -> Law:
    """Any CasADi function `f` of time alone, differentiated exactly."""
    name = name or f.name()
    if f.n_in() != 1 or f.n_out() != 1 or f.size_in(0) != (1, 1) or f.size_out(0)[1] != 1:
        raise DescriptionError(
            f"motion law '{name}' must be a CasADi function of time with one column as result"
        )
    at = followed(f, 1, ca.MX.sym)
    return Law(name, f.size_out(0)[0], lambda t: at(Jet(np.array(t), np.ones(1), np.zeros(1))), smooth=False)


def stack(*parts: Law) -> Law:
    """Several laws, `parts`, as one vector, such as three coordinates of a point."""
    name = ", ".join(dict.fromkeys(part.name for part in parts if not part.still)) or "constant"

    def evaluate(t: float) -> tuple[Any, Any, Any]:
        x, dx, ddx = (np.concatenate(column) for column in zip(*(part(t) for part in parts), strict=True))
        return x, dx, ddx

    return Law(name, sum(part.size for part in parts), evaluate, *_together(parts))


def _half_period(*frequencies: float) -> float:
    return 0.5 / highest if (highest := max(map(abs, frequencies))) else inf


def _together(parts: tuple[Law, ...]) -> tuple[bool, tuple[float, ...], tuple[float, float], bool, float]:
    """What is true of laws as one: `still` and all that stands behind it in `Law`."""
    begins, ends = zip(*(part.span for part in parts), strict=True)
    breaks = tuple(sorted({t for part in parts for t in part.breaks}))
    smooth = all(part.smooth for part in parts)
    longest = min(part.longest for part in parts)
    return all(part.still for part in parts), breaks, (max(begins), min(ends)), smooth, longest
