"""Gravity, and a push on a body or frame, that can change while a mechanism runs: they become parameters."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from ..base.errors import DescriptionError, UnknownName
from ..describe.mechanism import GROUND, Load, Mechanism
from ..describe.validation import nearest

FORCE, TORQUE, GRAVITY = "external_force", "external_torque", "gravity"
NAME = "external"


def with_runtime_gravity(mechanism: Mechanism) -> Mechanism:
    """The same with a parameter `gravity`, unless it has one."""
    there = GRAVITY in mechanism.parameters.values()
    return mechanism if there else _with(mechanism, {GRAVITY: "gravity"})


class ExternalWrench:
    """A force and torque on a body, or on a frame of one, in its own axes and at its origin."""

    def __init__(self, mechanism: Mechanism, place: str):
        bodies = [b.name for b in mechanism.bodies]
        frames = {f.name: f for f in mechanism.frames if f.body != GROUND}
        if place not in bodies and place not in frames:
            raise UnknownName(
                f"there is no moving body or frame '{place}'; {nearest(place, [*bodies, *frames])}"
            )
        self.body, at, self._turn = place, (0.0, 0.0, 0.0), np.eye(3)
        if place not in bodies:
            from scipy.spatial.transform import Rotation  # few need it, and SciPy takes a while to import

            frame = frames[place]
            w, *xyz = frame.orientation
            self.body, at = frame.body, frame.at
            self._turn = Rotation.from_quat([*xyz, w]).as_matrix()
        load = Load(NAME, self.body, at, axes="body")
        pushed = replace(mechanism, loads=(*mechanism.loads, load))
        self.mechanism = _with(pushed, {FORCE: f"load.{NAME}.force", TORQUE: f"load.{NAME}.torque"})

    def values(self, force: Iterable[float], torque: Iterable[float]) -> dict[str, Any]:
        """Parameters for a push that is given in the axes of the place."""
        turned = np.array([list(force), list(torque)], float) @ self._turn.T
        return {FORCE: turned[0].tolist(), TORQUE: turned[1].tolist()}


def with_runtime_parameters(
    mechanism: Mechanism, gravity: bool, place: str
) -> tuple[Mechanism, ExternalWrench | None]:
    """The same with what is chosen as parameters: gravity, and a push on a place."""
    described = with_runtime_gravity(mechanism) if gravity else mechanism
    push = ExternalWrench(described, place) if place else None
    return (described if push is None else push.mechanism), push


def _with(mechanism: Mechanism, parameters: dict[str, str]) -> Mechanism:
    taken = next((name for name in parameters if name in mechanism.parameters), None)
    if taken is not None:
        raise DescriptionError(f"'{mechanism.name}' has a parameter '{taken}' of its own; rename it")
    return replace(mechanism, parameters={**mechanism.parameters, **parameters})
