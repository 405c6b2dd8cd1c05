"""Yaw, pitch and roll that follow a motion without jumps, for numbers and symbols alike.

R = Rz(yaw) Ry(pitch) Rx(roll). Of all such angles the ones nearest to given ones are taken; at a pitch
of 90°, where yaw and roll turn about the same line, yaw stays where it was.
"""

from collections.abc import Sequence
from math import pi
from typing import Any, NamedTuple

import casadi as ca

from ..base.thresholds import GIMBAL


class Aim(NamedTuple):
    """Yaw and pitch that turn x into a direction, and the yaw's cosine and sine."""

    yaw: Any
    pitch: Any
    c: Any
    s: Any


def aim(x: Any, y: Any, z: Any, near: Sequence[Any]) -> Aim:
    """Rz(yaw) Ry(pitch) x̂ = (x, y, z): yaw first, then pitch in its plane, so no digits are lost at 90°."""
    yaw = one_of_two(ca.hypot(x, y) < GIMBAL, near[0], nearest_angle(ca.atan2(y, x), near[0], pi))
    c, s = ca.cos(yaw), ca.sin(yaw)
    return Aim(yaw, nearest_angle(ca.atan2(-z, c * x + s * y), near[1], 2 * pi), c, s)


def yaw_rate(across: Any, flat: Any) -> Any:
    """The rate of yaw from its product with flat = cos(pitch); finite at 90° of pitch."""
    return across * flat / ca.fmax(flat**2, GIMBAL)


def yaw_pitch_roll(e: Sequence[Any], near: Sequence[Any] = (0.0, 0.0, 0.0)) -> tuple[Any, Any, Any]:
    """Angles (a, b, c) with Rz(a) Ry(b) Rx(c) = R(e), of all such angles the ones nearest to `near`."""
    w, x, y, z = e
    r00, r10, r20 = w * w + x * x - y * y - z * z, 2 * (x * y + w * z), 2 * (x * z - w * y)
    a, b, c, s = aim(r00, r10, r20, near)
    r01, r11 = 2 * (x * y - w * z), w * w - x * x + y * y - z * z
    r02, r12 = 2 * (x * z + w * y), 2 * (y * z - w * x)
    roll = ca.atan2(s * r02 - c * r12, c * r11 - s * r01)
    return a, b, nearest_angle(roll, near[2], 2 * pi)


def angle_rates(angles: Sequence[Any], omega: Sequence[Any]) -> tuple[Any, Any, Any]:
    """Rates of (yaw, pitch, roll) from ω of the moving frame in its own axes."""
    _, b, c = angles
    wx, wy, wz = omega
    yaw = yaw_rate(wy * ca.sin(c) + wz * ca.cos(c), ca.cos(b))
    return yaw, wy * ca.cos(c) - wz * ca.sin(c), wx + ca.sin(b) * yaw


def nearest_angle(angle: Any, to: Any, period: float) -> Any:
    """Of all angles that are a number of periods apart, the one nearest to another."""
    return angle + period * ca.floor((to - angle) / period + 0.5)


def one_of_two(first: Any, a: Any, b: Any) -> Any:
    """a or b, exactly, for numbers and symbols alike; both must be finite."""
    return first * a + (1 - first) * b
