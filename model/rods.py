"""Rods without mass (distance joints) as two turns each, so that a viewer of joint values can draw them.

A rod of length ℓ hangs on its parent at a point and aims at a point of its child. Its direction in
the parent's axes is Rz(yaw) Ry(pitch) x̂; where it stands upright, yaw stays where it was.
"""

from __future__ import annotations

import numpy as np

from .description import GROUND, Joint
from .simulation import Simulation

UPRIGHT = 1e-7  # cosine of the pitch below which yaw is kept
# Position, orientation (w, x, y, z), velocity and angular velocity of ground, as a body's outputs.
STILL = np.array([0.0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0])
NEXT, AFTER = np.array([1, 2, 0]), np.array([2, 0, 1])
PARTS = (("position", 3), ("orientation", 4), ("velocity", 3), ("angular_velocity", 3))


class Rods:
    """Angles (n, 2) of all distance joints and their rates, from output vectors."""

    def __init__(self, simulation: Simulation):
        self.joints: tuple[Joint, ...] = tuple(j for j in simulation.mechanism.joints if j.type == "distance")
        at = {v.name: v.where for v in simulation.variables()}
        size = max((w.stop for w in at.values()), default=0)
        still, places = size, {}
        for part, count in PARTS:  # ground's values follow the outputs
            places[part] = np.arange(still, still + count)
            still += count

        def where(body: str, part: str) -> np.ndarray:
            return places[part] if body == GROUND else np.r_[at[f"body.{body}.{part}"]]

        self._from = [
            {part: np.array([where(body, part) for body in bodies], int) for part, _ in PARTS}
            for bodies in ([j.parent for j in self.joints], [j.child for j in self.joints])
        ]
        self._points = [
            np.array([f.position for f in frames], float).reshape(-1, 3)
            for frames in ([j.on_parent for j in self.joints], [j.on_child for j in self.joints])
        ]
        self.angles = np.zeros((len(self.joints), 2))
        self.rates = np.zeros((len(self.joints), 2))

    def read(self, y: np.ndarray) -> None:
        """Bring `angles` and `rates` up to date."""
        if not self.joints:
            return
        y = np.concatenate([y, STILL])
        ends, speeds = [], []
        for which, local in zip(self._from, self._points, strict=True):
            arm = _turn(y[which["orientation"]], local)
            ends.append(y[which["position"]] + arm)
            speeds.append(y[which["velocity"]] + _cross(y[which["angular_velocity"]], arm))
        parent = self._from[0]
        back = y[parent["orientation"]] * [1, -1, -1, -1]
        d, dd = ends[1] - ends[0], speeds[1] - speeds[0]
        dd = _turn(back, dd - _cross(y[parent["angular_velocity"]], d))
        d = _turn(back, d)
        length = np.linalg.norm(d, axis=1, keepdims=True)
        d, dd = d / length, dd / length
        flat = np.hypot(d[:, 0], d[:, 1])
        seen = np.arctan2(d[:, 1], d[:, 0])
        near = self.angles[:, 0]
        yaw = np.where(flat < UPRIGHT, near, seen + np.pi * np.round((near - seen) / np.pi))
        c, s = np.cos(yaw), np.sin(yaw)
        pitch = np.arctan2(-d[:, 2], c * d[:, 0] + s * d[:, 1])
        pitch += 2 * np.pi * np.round((self.angles[:, 1] - pitch) / (2 * np.pi))
        across = c * dd[:, 1] - s * dd[:, 0]
        along = c * dd[:, 0] + s * dd[:, 1]
        self.rates[:, 0] = across * np.cos(pitch) / np.maximum(np.cos(pitch) ** 2, UPRIGHT)
        self.rates[:, 1] = -np.sin(pitch) * along - np.cos(pitch) * dd[:, 2]
        self.angles[:, 0], self.angles[:, 1] = yaw, pitch


def _cross(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """a × b row by row; numpy's own costs ten times as much for a few rows."""
    return a[:, NEXT] * b[:, AFTER] - a[:, AFTER] * b[:, NEXT]


def _turn(e: np.ndarray, v: np.ndarray) -> np.ndarray:
    """R(e) v row by row: v + 2 w (u × v) + 2 u × (u × v) with e = (w, u)."""
    w, u = e[:, :1], e[:, 1:]
    t = 2 * _cross(u, v)
    return v + w * t + _cross(u, t)
