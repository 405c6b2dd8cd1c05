"""The mechanism as visualization markers: bodies as sticks, joints as dots, rods and struts as lines."""

from __future__ import annotations

from typing import Any

import numpy as np
from geometry_msgs.msg import Point
from std_msgs.msg import ColorRGBA
from visualization_msgs.msg import Marker, MarkerArray

from ..model import Simulation
from ..model.describe.mechanism import GROUND
from ..model.joints.types import TYPES
from ..model.robots.write_urdf import COLOURS
from ..model.show.shapes import points, radius, shapes


class Markers:
    """Builds the messages: shapes once, poses each time."""

    def __init__(self, simulation: Simulation):
        self.simulation = simulation
        mechanism = simulation.mechanism
        self.thick = radius(mechanism)
        self._outputs = simulation.variables().outputs
        looks, held = shapes(mechanism), points(mechanism)
        self.message = MarkerArray()
        self._bodies: list[tuple[str, Any]] = []
        for k, body in enumerate(mechanism.bodies):
            look = looks[body.name]
            ends = [p for stick in look.sticks for p in stick]
            sticks = self._marker("bodies", k, Marker.LINE_LIST, 2 * self.thick, _colour(k))
            sticks.points = [_point(p) for p in ends]
            dots = self._marker("joints", k, Marker.SPHERE_LIST, 3 * self.thick, _colour(k))
            ball = [] if look.ball is None else [look.ball]
            dots.points = [_point(p) for p in [*held[body.name], *ball]]
            self._bodies += [(body.name, m) for m in (sticks, dots) if m.points]
        self.message.markers = [m for _, m in self._bodies]
        # Massless elements between two bodies have no frame of their own: their ends move.
        self._lines = [
            (j.parent, np.array(j.on_parent.position, float), j.child, np.array(j.on_child.position, float))
            for j in mechanism.joints
            if TYPES[j.type].directionless_ends
        ] + [
            (s.body1, np.array(s.point1, float), s.body2, np.array(s.point2, float)) for s in mechanism.struts
        ]
        self._rods = self._marker(
            "rods", 0, Marker.LINE_LIST, self.thick, ColorRGBA(r=0.5, g=0.5, b=0.5, a=1.0)
        )
        if self._lines:
            self.message.markers.append(self._rods)

    def update(self, stamp: Any) -> MarkerArray:
        """The message for the present state."""
        y = self.simulation.output_vector()
        for name, marker in self._bodies:
            marker.header.stamp = stamp
            p = y[self._outputs.find(f"body.{name}.position").where].tolist()
            w, x, y_, z = y[self._outputs.find(f"body.{name}.orientation").where].tolist()
            at, turn = marker.pose.position, marker.pose.orientation
            at.x, at.y, at.z = p
            turn.w, turn.x, turn.y, turn.z = w, x, y_, z
        if self._lines:
            poses = self.simulation.body_poses() | {GROUND: (np.eye(3), np.zeros(3))}
            self._rods.header.stamp = stamp
            self._rods.points = [
                _point(poses[body][0] @ local + poses[body][1])
                for a, pa, b, pb in self._lines
                for body, local in ((a, pa), (b, pb))
            ]
        return self.message

    def _marker(self, family: str, number: int, kind: int, size: float, colour: ColorRGBA) -> Any:
        marker = Marker(ns=family, id=number, type=kind, action=Marker.ADD, color=colour)
        marker.header.frame_id = GROUND
        marker.pose.orientation.w = 1.0
        marker.scale.x = size
        if kind == Marker.SPHERE_LIST:
            marker.scale.y = marker.scale.z = size
        return marker


def _point(p: Any) -> Point:
    x, y, z = (float(c) for c in p)
    return Point(x=x, y=y, z=z)


def _colour(k: int) -> ColorRGBA:
    r, g, b, a = (float(c) for c in COLOURS[k % len(COLOURS)].split())
    return ColorRGBA(r=r, g=g, b=b, a=a)
