"""Where the cameras of the browser's view stand: so that the mechanism fills the window."""

from collections.abc import Sequence
from math import radians, tan
from typing import Any

import numpy as np

from ..show.sketch import FROM_ABOVE, Angle, body_points, choose_view
from .station import Station

LENS = radians(35)  # between the upper and the lower edge of the picture
FILLED = 0.85  # of the window's width or height, whichever is tighter
WIDE = 1.4  # width over height of a window that has not said yet
CLOSEST = 1.4  # times as far as needed for the present pose: what a camera goes back at most for a motion
EVERY = 5  # frames between those that are looked at for room
APART = 0.25  # of the size of mechanisms that stand side by side: the gap between them
# Directions to look from; none: what suits the mechanism.
PRESETS: dict[str, Angle | None] = {
    "home": None,
    "front": (radians(-90), 0.0),
    "side": (0.0, 0.0),
    "top": (radians(-90), radians(89.9)),
}


def stand(cloud: Any, axes: np.ndarray, aspect: float) -> tuple[np.ndarray, np.ndarray]:
    """Where a camera stands and what it looks at, so that points fill the window.

    `axes` are (right, up, towards the viewer). A point (x, y, z) of the picture's own axes about the middle
    is seen at x/(d − z) and y/(d − z) from the distance d: the least d at which all are within the window.
    """
    seen = np.asarray(cloud, float) @ axes.T
    middle = (seen.max(axis=0) + seen.min(axis=0)) / 2
    x, y, z = (seen - middle).T
    high = FILLED * tan(LENS / 2)
    far = float(np.max(z + np.maximum(np.abs(x) / (high * aspect), np.abs(y) / high)))
    return (middle + np.array([0, 0, far])) @ axes, middle @ axes


def filled(cloud: Any, position: Any, axes: np.ndarray, aspect: float) -> tuple[float, float]:
    """How far from the middle of the window points are, as parts of half its width and of half its height."""
    seen = (np.asarray(cloud, float) - position) @ axes.T
    flat = seen[:, :2] / -np.minimum(seen[:, 2:], -1e-9) / (np.array([aspect, 1.0]) * tan(LENS / 2))
    wide, high = np.abs(flat).max(axis=0)
    return float(wide), float(high)


def stand_apart(stations: Sequence[Station]) -> None:
    """Mechanisms side by side, from left to right as the first one is looked at."""
    right, edge = directions(stations, "home")[0], 0.0
    gap = APART * max(station.scene.size for station in stations)
    for k, station in enumerate(stations):
        if k:
            station.scene.place = right * (edge + gap - float((station.scene.cloud() @ right).min()))
        edge = float((station.scene.cloud() @ right).max())


def directions(stations: Sequence[Station], preset: str) -> np.ndarray:
    """Axes (right, up, towards the viewer) of a preset; home is from above unless all stay in a plane."""
    angle = PRESETS[preset]
    if angle is None and not all(station.scene.view.planar for station in stations):
        angle = FROM_ABOVE
    scene = stations[0].scene
    held = body_points(scene.mechanism, scene.poses)
    return choose_view(scene.mechanism, scene.poses, held, angle).axes


class Cameras:
    """The cameras of all who look on."""

    def __init__(self, server: Any, stations: Sequence[Station], lock: Any):
        self.server, self.stations, self.lock = server, stations, lock
        self.up = tuple(stations[0].scene.up)
        # where each was put, in a window of which shape, and from where it was to look
        self._left: dict[int, tuple[np.ndarray, float, str]] = {}
        initial = server.initial_camera
        server.scene.set_up_direction(self.up)
        initial.position, initial.look_at = map(tuple, self.place("home", WIDE))
        initial.up, initial.fov = self.up, LENS

        @server.on_client_connect
        def _(client: Any) -> None:
            self.look(client, "home")
            client.camera.on_update(lambda _: self._resized(client))

    def axes(self, preset: str) -> np.ndarray:
        return directions(self.stations, preset)

    def place(self, preset: str, aspect: float) -> tuple[np.ndarray, np.ndarray]:
        """Where a camera stands and what it looks at; it leaves room for the motion, but not too much."""
        axes = self.axes(preset)
        here = self._here()
        near, close = stand(here, axes, aspect)
        far, middle = stand(np.vstack([here, *self._along()]), axes, aspect)
        way, most = far - middle, CLOSEST * float(np.linalg.norm(near - close))
        return (far, middle) if np.linalg.norm(way) <= most else (close + axes[2] * most, close)

    def _here(self) -> np.ndarray:
        """What is drawn at the present frame, and all of the paths."""
        found = [station.scene.cloud() for station in self.stations]
        for s in self.stations:
            found += [s.line.values(s.places[path]) + s.scene.origin for path in s.traced]
        return np.vstack(found)

    def _along(self) -> list[np.ndarray]:
        """What is drawn, at every frame that is known."""
        found = []
        for station in self.stations:
            line, simulation = station.line, station.simulation
            for state in line.frames[::EVERY]:
                simulation.put(state)
                found.append(station.scene.cloud(simulation.body_poses()))
            simulation.put(line.frames[line.now])
        return found

    def look(self, client: Any, preset: str) -> None:
        """Let someone look from a direction."""
        with self.lock:
            aspect = float(client.camera.aspect)
            position, middle = self.place(preset, aspect)
        self._left[client.client_id] = position, aspect, preset
        with client.atomic():
            client.camera.fov = LENS
            client.camera.up_direction = self.up
            client.camera.position, client.camera.look_at = position, middle

    def follow(self) -> None:
        """Whoever has not moved the camera since sees the whole mechanism, wherever it goes."""
        cloud = self._here()
        for number, client in self.server.get_clients().items():
            if number in self._left:
                position, aspect, preset = self._left[number]
                out = max(filled(cloud, position, self.axes(preset), aspect)) > 1
                if out and self._untouched(client, position):
                    self.look(client, preset)

    def _untouched(self, client: Any, position: np.ndarray) -> bool:
        near = 1e-2 * self.stations[0].scene.size
        return bool(np.allclose(client.camera.position, position, atol=near))

    def _resized(self, client: Any) -> None:
        """A window of another shape gets the whole mechanism again, too."""
        position, aspect, preset = self._left[client.client_id]
        other = abs(float(client.camera.aspect) - aspect) > 0.02 * aspect
        if other and self._untouched(client, position):
            self.look(client, preset)
