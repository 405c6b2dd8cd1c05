"""The mechanism as visualization markers: bodies as sticks, joints as dots, rods and struts as lines."""

from typing import Any

from geometry_msgs.msg import Point
from std_msgs.msg import ColorRGBA
from visualization_msgs.msg import Marker, MarkerArray

from ..model.describe.mechanism import GROUND
from ..model.show.sketch import rod_ends
from ..model.simulation import Simulation
from ..model.urdf.shapes import points, radius, rods, shapes
from ..model.urdf.surfaces import hull, surfaces
from ..model.urdf.write_urdf import COLOURS

MOST_TRIANGLES = 2000  # of a visual


class Markers:
    """Builds the messages: shapes once, poses each time."""

    def __init__(self, simulation: Simulation, prefix: str = ""):
        self.simulation, self.prefix = simulation, prefix
        mechanism = simulation.mechanism
        self.thick = radius(mechanism)
        looks, held = shapes(mechanism), points(mechanism)
        self._bodies: list[list[Any]] = []
        seen = self._visuals()
        for k, body in enumerate(mechanism.bodies):
            if body.name in seen:
                self._bodies.append(seen[body.name])
                continue
            look = looks[body.name]
            sticks = self._marker("bodies", k, Marker.LINE_LIST, 2 * self.thick, _colour(k))
            sticks.points = [_point(p) for stick in look.sticks for p in stick]
            dots = self._marker("joints", k, Marker.SPHERE_LIST, 3 * self.thick, _colour(k))
            dots.points = [_point(p) for p in (*held[body.name], look.ball) if p is not None]
            self._bodies.append([m for m in (sticks, dots) if m.points])
        names = (f"body.{b.name}.{what}" for b in mechanism.bodies for what in ("position", "orientation"))
        self._places = simulation.variables().outputs.rows(names)
        # Massless elements between two bodies have no frame of their own: their ends move.
        grey = ColorRGBA(r=0.5, g=0.5, b=0.5, a=1.0)
        self._rods = self._marker("rods", 0, Marker.LINE_LIST, self.thick, grey)
        moving = [self._rods] if rods(mechanism) else []
        still = seen.get(GROUND, [])
        self.message = MarkerArray(markers=[*(m for body in self._bodies for m in body), *still, *moving])

    def update(self, stamp: Any) -> MarkerArray:
        """The message for the present state."""
        places = self.simulation.read(self._places).reshape(-1, 7).tolist()
        for markers, (x, y, z, *turn) in zip(self._bodies, places, strict=True):
            for marker in markers:
                at, by = marker.pose.position, marker.pose.orientation
                at.x, at.y, at.z = x, y, z
                by.w, by.x, by.y, by.z = turn
        if self._rods in self.message.markers:
            ends = rod_ends(self.simulation.mechanism, self.simulation.body_poses())
            self._rods.points = [_point(p) for pair in ends for p in pair]
        for marker in self.message.markers:
            marker.header.stamp = stamp
        return self.message

    def _visuals(self) -> dict[str, list[Any]]:
        """Triangles of what bodies look like; of large meshes the hull, since they are sent over and over."""
        found: dict[str, list[Any]] = {}
        for k, (visual, triangles) in enumerate(surfaces(self.simulation.mechanism)[0]):
            corners, faces = hull(triangles[0]) if len(triangles[1]) > MOST_TRIANGLES else triangles
            r, g, b, a = visual.colour or (0.6, 0.6, 0.6, 1.0)
            colour = ColorRGBA(r=r, g=g, b=b, a=a)
            marker = self._marker("visuals", k, Marker.TRIANGLE_LIST, 1.0, colour)
            marker.scale.y = marker.scale.z = 1.0
            marker.points = [_point(p) for p in corners[faces].reshape(-1, 3)]
            found.setdefault(visual.body, []).append(marker)
        return found

    def _marker(self, family: str, number: int, kind: int, size: float, colour: ColorRGBA) -> Any:
        marker = Marker(ns=family, id=number, type=kind, action=Marker.ADD, color=colour)
        marker.header.frame_id = self.prefix + GROUND
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
