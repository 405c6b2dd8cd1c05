"""Torques from outside: checked, held until the next ones, taken to zero when they stop.

Nothing here knows ROS; the node hands over lists of numbers and names. What can't be used is
refused as a whole with a sentence that says why, and the last good torques stay.
"""

import time
from collections.abc import Sequence
from math import isfinite, isnan

import numpy as np

from ..model import CutjointError, Mechanism
from ..model.describe.mechanism import outer_name
from .jitter import Jitter


class Refused(CutjointError):
    """A message that was not obeyed."""


class Commands:
    """The latest torques or forces, in the order of the mechanism's inputs."""

    def __init__(self, mechanism: Mechanism, period: float, timeout: float):
        self.inputs = mechanism.inputs()
        self.timeout = timeout  # seconds of silence before torques go to zero; 0 for never
        self.index = {name: k for k, name in enumerate(self.inputs)}
        for k, motor in enumerate(mechanism.motors):
            for name in (motor.joint, outer_name(mechanism.joint(motor.joint))):
                self.index.setdefault(name, k)
        self.limits = np.array(
            [m.limit for m in mechanism.motors] + [s.limit for s in mechanism.struts if s.actuated], float
        )
        self.jitter = Jitter(period)
        self.received = self.refused = self.saturated = 0
        self.silent = True  # nobody commands: torques are zero
        self.seen = 0.0  # steady time of the latest good command
        self._latest = self._zero = np.zeros(len(self.inputs))

    def accept(self, torques: np.ndarray, now: float | None = None) -> np.ndarray:
        """Take new torques for all inputs; called by whoever receives them, in any thread."""
        now = time.monotonic() if now is None else now
        if self.seen and not self.silent:
            self.jitter.add(now - self.seen)
        self.received += 1
        if (np.abs(torques) > self.limits).any():
            self.saturated += 1
            torques = np.clip(torques, -self.limits, self.limits)
        self._latest, self.seen, self.silent = torques, now, False
        return torques

    def present(self, now: float) -> np.ndarray:
        """Torques to apply now: the latest, or zero once the sender has been silent too long."""
        if self.silent or (self.timeout > 0 and now - self.seen > self.timeout):
            self.clear()
        return self._latest

    def clear(self) -> None:
        """Forget the latest torques."""
        self.silent, self._latest = True, self._zero

    def from_vector(self, data: Sequence[float]) -> np.ndarray:
        """Torques in the order of the inputs."""
        if len(data) != len(self.inputs):
            raise Refused(
                f"{len(data)} values, but there are {len(self.inputs)} inputs: {', '.join(self.inputs)}"
            )
        torques = np.array(data, float)
        if not np.isfinite(torques).all():
            raise Refused(f"the value of '{self.inputs[int(np.argmin(np.isfinite(torques)))]}' is not finite")
        return torques

    def from_names(self, names: Sequence[str], effort: Sequence[float], known: Sequence[str]) -> np.ndarray:
        """Torques by joint or motor name; inputs that are not named keep theirs.

        ros2_control's topic hardware names all its joints but fills effort for those with an
        effort interface only: then there are as many efforts as driven joints among the names.
        Joints without a motor may have an effort of zero or NaN.
        """
        if not effort:
            raise Refused("the effort field is empty; torques are taken from effort")
        unknown = next((n for n in names if n not in self.index and n not in known), None)
        if unknown is not None:
            raise Refused(f"there is no joint '{unknown}'; driven joints: {', '.join(self.index) or 'none'}")
        driven = [n for n in names if n in self.index]
        if len(effort) == len(names):
            pairs = list(zip(names, effort, strict=True))
        elif len(effort) == len(driven):
            pairs = list(zip(driven, effort, strict=True))
        else:
            raise Refused(
                f"{len(effort)} efforts for {len(names)} names of which {len(driven)} are driven; "
                "give one for each name, or one for each driven joint"
            )
        torques = self._latest.copy()
        for name, value in pairs:
            if name in self.index:
                if not isfinite(value):
                    raise Refused(f"the effort of '{name}' is not finite")
                torques[self.index[name]] = value
            elif not isnan(value) and value != 0:
                raise Refused(f"joint '{name}' has no motor to give {value:g}; leave it out or give zero")
        return torques
