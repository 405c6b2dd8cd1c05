"""Every joint as a chain of joints with one coordinate each, as URDF and ROS joint states want them.

A ball becomes three turns about z, y and x of the moving frame (yaw, pitch, roll), a screw a turn
and a slide, a rod without mass two turns (`rods.py`). The angles of a ball follow its motion
without jumps; at a pitch of 90°, where yaw and roll turn about the same line, yaw stays where it was.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import atan2, cos, hypot, pi, sin
from typing import Any

import numpy as np

from .description import Joint
from .joints import MOVES, TYPES
from .rods import Rods
from .simulation import Simulation

GIMBAL = 1e-7  # cosine of the pitch below which yaw is kept
SINGLE = {"Q": ("Rz", "Ry", "Rx"), "Hz": ("Rz", "Pz")}


@dataclass(frozen=True)
class SingleJoint:
    """One turn or slide of a described joint: `move` is an entry of joints.MOVES."""

    name: str
    move: str
    joint: str


def chain(joint: Joint) -> tuple[SingleJoint, ...]:
    """The joints with one coordinate that make up a joint, in the order of its moves.

    A joint with one freedom keeps its name (a screw's slide ends in `_z`); the parts of others
    end in what they do, such as `ball1_rx` or `slider_z`.
    """
    moves = ("Rz", "Ry") if joint.type == "distance" else TYPES[joint.type].moves or ()
    single = [part for move in moves for part in SINGLE.get(move, (move,))]
    names = [f"{joint.name}_{MOVES[part][0][0]}" for part in single]
    if TYPES[joint.type].nv == 1:
        names[0] = joint.name
    return tuple(SingleJoint(n, m, joint.name) for n, m in zip(names, single, strict=True))


class JointValues:
    """Coordinates and speeds of all single joints of a simulation, tree joints and cut ones.

    `read(y)` fills `position` and `velocity` (in the order of `names`) from an output vector.
    The layout is found once, so that reading is quick enough for a loop at 1 kHz.
    """

    def __init__(self, simulation: Simulation):
        at = {v.name: v.where for v in simulation.variables()}
        self.joints: tuple[SingleJoint, ...] = ()
        plain: list[tuple[int, int, int, float]] = []  # where it goes, from where, how much of it
        balls: list[tuple[int, int, int]] = []  # where its three angles go, from where
        for joint in simulation.mechanism.joints:
            if f"joint.{joint.name}.position" not in at:
                continue  # fixed or a free joint inside a loop: no coordinates; rods come last
            q = at[f"joint.{joint.name}.position"].start
            v = at[f"joint.{joint.name}.velocity"].start
            n = len(self.joints)
            for move in TYPES[joint.type].moves or ():
                if move == "Q":
                    balls.append((n, q, v))
                    n, q, v = n + 3, q + 4, v + 3
                    continue
                plain.append((n, q, v, 1.0))
                if move == "Hz":
                    n += 1
                    plain.append((n, q, v, float(joint.pitch)))
                n, q, v = n + 1, q + 1, v + 1
            self.joints += chain(joint)
        self._rods = Rods(simulation)
        self._rods_from = len(self.joints)
        self.joints += tuple(part for rod in self._rods.joints for part in chain(rod))
        self.names = tuple(j.name for j in self.joints)
        self.position = np.zeros(len(self.names))
        self.velocity = np.zeros(len(self.names))
        columns = np.array(plain, float).reshape(-1, 4)
        self._to, self._q, self._v = (columns[:, k].astype(int) for k in range(3))
        self._scale = columns[:, 3]
        # One gather and one scatter for all balls: numpy's cost is per call, not per number.
        self._balls_to = np.array([n + k for n, _, _ in balls for k in range(3)], int)
        parts = [[*range(q, q + 4), *range(v, v + 3)] for _, q, v in balls]
        self._balls_from = np.array([k for part in parts for k in part], int)
        self._angles = [(0.0, 0.0, 0.0)] * len(balls)

    def read(self, y: np.ndarray) -> None:
        """Take the values out of `Simulation.output_vector()`."""
        self.position[self._to] = y[self._q] * self._scale
        self.velocity[self._to] = y[self._v] * self._scale
        if self._angles:
            given = y[self._balls_from].tolist()
            rates: list[float] = []
            for k, near in enumerate(self._angles):
                angles = yaw_pitch_roll(given[7 * k : 7 * k + 4], near)
                self._angles[k] = angles
                rates += angle_rates(angles, given[7 * k + 4 : 7 * k + 7])
            self.position[self._balls_to] = [x for angles in self._angles for x in angles]
            self.velocity[self._balls_to] = rates
        if self._rods.joints:
            self._rods.read(y)
            self.position[self._rods_from :] = self._rods.angles.ravel()
            self.velocity[self._rods_from :] = self._rods.rates.ravel()


def yaw_pitch_roll(e: Sequence[float], near: Sequence[float] = (0.0, 0.0, 0.0)) -> tuple[float, float, float]:
    """Angles (a, b, c) with Rz(a) Ry(b) Rx(c) = R(e), of all such angles the ones nearest to `near`.

    Yaw first, then pitch and roll of Rz(−a) R: exact for every yaw, so no digits are lost
    near a pitch of 90°.
    """
    w, x, y, z = e
    r00, r10 = w * w + x * x - y * y - z * z, 2 * (x * y + w * z)
    if hypot(r00, r10) < GIMBAL:
        a = near[0]
    else:
        a = _nearest(atan2(r10, r00), near[0], pi)
    c, s = cos(a), sin(a)
    r20 = 2 * (x * z - w * y)
    r01, r11 = 2 * (x * y - w * z), w * w - x * x + y * y - z * z
    r02, r12 = 2 * (x * z + w * y), 2 * (y * z - w * x)
    b = atan2(-r20, c * r00 + s * r10)
    roll = atan2(s * r02 - c * r12, c * r11 - s * r01)
    return a, _nearest(b, near[1], 2 * pi), _nearest(roll, near[2], 2 * pi)


def angle_rates(angles: Sequence[float], omega: Sequence[float]) -> tuple[float, float, float]:
    """Rates of (yaw, pitch, roll) from ω of the moving frame in its own axes; finite at 90° of pitch."""
    _, b, c = angles
    wx, wy, wz = omega
    across = wy * sin(c) + wz * cos(c)  # cos(b) times the rate of yaw
    yaw = across * cos(b) / max(cos(b) ** 2, GIMBAL)
    return yaw, wy * cos(c) - wz * sin(c), wx + sin(b) * yaw


def _nearest(angle: float, to: float, period: float) -> float:
    return angle + period * round((to - angle) / period)


def as_dict(values: JointValues) -> dict[str, Any]:
    """Positions by name, as most URDF readers take them."""
    return dict(zip(values.names, values.position.tolist(), strict=True))
