"""Joint trajectories as messages bring them: checked, and joined to smooth paths that begin where it is.

How paths are followed, and whether they can be, is said in `model/control/computed_torque.py`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.interpolate import BPoly, CubicSpline

from ..model.chain.chain import Chain
from ..model.chain.target import Target
from ..model.control.command_law import FORCE, POSITION
from ..model.control.computed_torque import Drives, Path, Wanted
from .motor_commands import Refused, Stale


class Point(NamedTuple):
    """One point of a trajectory: seconds after its start, and values in the order of its joints."""

    time: float
    positions: Sequence[float] = ()
    velocities: Sequence[float] = ()
    accelerations: Sequence[float] = ()
    effort: Sequence[float] = ()


class Follower:
    """One trajectory from the present state on: orders for any simulated time after `begin`.

    Joints that it does not name do what `others` says. `late` seconds of it are over already.
    """

    def __init__(
        self,
        drives: Drives,
        places: dict[str, int],
        joints: Sequence[str],
        points: Sequence[Point],
        others: Wanted,
        late: float = 0.0,
    ):
        simulation = drives.simulation
        self.begin, self.others = simulation.time, others
        self.over = False  # whether a torque feed was given to its end
        self.joints = tuple(joints)
        _check(places, joints, points)
        if points[-1].time < late:
            raise Stale(f"it was over {late - points[-1].time:.3g} s ago, by its header's stamp")
        points = [p._replace(time=p.time - late) for p in points if p.time >= late]
        at = np.array([places[name] for name in joints], int)
        self.end = points[-1].time
        self.feeds = len(points[0].positions) == 0
        times = [p.time for p in points]
        if self.feeds:
            self.path = Path(at, self._nowhere, self.end)
            self._times, self._effort = times, np.array([p.effort for p in points], float)
            return
        drives.values.read()
        if times[0] > 0:
            times = [0.0, *times]
            q, v = drives.position[at].tolist(), drives.velocity[at].tolist()
            points = [Point(0.0, q, v, [0.0] * len(at)), *points]
        self._path = _path(times, points)
        self.path = Path(at, self.wanted, self.end)
        drives.check_path(self.path)

    def orders(self, time: float) -> Wanted | None:
        """For all inputs at a simulated time; positions are held at the end, a torque feed is over (None)."""
        t = time - self.begin
        if not self.feeds:
            return self.others.changed(self.path.at, POSITION, *self.wanted(t))
        if t > self.end:
            return None
        force = [np.interp(t, self._times, column) for column in self._effort.T]
        return self.others.changed(self.path.at, FORCE, force)

    def wanted(self, t: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Position, velocity and acceleration asked for at times after the start; at rest beyond the end."""
        on = np.minimum(t, self.end)
        going = np.less(t, self.end)[..., None]
        return self._path(on), going * self._path(on, 1), going * self._path(on, 2)

    @staticmethod
    def _nowhere(t: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        raise AssertionError("a torque feed has no path")


@dataclass(eq=False)
class AcceptedTrajectory:
    """A trajectory that was taken: yet to begin, followed, dropped for something newer, or refused."""

    joints: tuple[str, ...] = ()
    points: Sequence[Point] = ()
    at: float | None = None  # simulated time at which it is to begin
    start: float = 0.0  # and at which it is looked at again, or begins
    follower: Follower | None = None
    refusal: str = ""
    dropped: bool = False
    topic, word = "joint_trajectory", "trajectory"
    planned = False  # whether its joints are yet to be found, which takes time

    def follower_at(self, drives: Drives, places: dict[str, int], others: Wanted, time: float) -> Follower:
        """Followed from the present state of the drives' simulation, which has come to a time."""
        return Follower(drives, places, self.joints, self.points, others, self.late(time))

    def late(self, time: float) -> float:
        """Seconds of it that are over at a simulated time."""
        return 0.0 if self.at is None else max(time - self.at, 0.0)


@dataclass(eq=False)
class AcceptedPose(AcceptedTrajectory):
    """A frame's target: its way begins with the motion that there is when it begins."""

    chain: Chain | None = None
    target: Target | None = None
    topic, word = "target_pose", "target"
    planned = True

    def follower_at(self, drives: Drives, places: dict[str, int], others: Wanted, time: float) -> Follower:
        assert self.chain is not None and self.target is not None
        plan = self.chain.plan(self.target, start=drives.simulation.state)
        table = zip(plan.times, plan.positions, plan.speeds, plan.accelerations, strict=True)
        return Follower(drives, places, plan.actuators, [Point(*row) for row in table], others)


def _check(places: dict[str, int], joints: Sequence[str], points: Sequence[Point]) -> None:
    for name in joints:
        if name not in places:
            raise Refused(f"there is no driven joint '{name}'; driven joints: {', '.join(places) or 'none'}")
    if not joints or len({places[name] for name in joints}) < len(joints):
        raise Refused(f"a trajectory names one or more driven joints, each once: {', '.join(places)}")
    if not points:
        raise Refused("a trajectory needs a point")
    fields = ("positions", "velocities", "accelerations", "effort")
    for k, point in enumerate(points):
        for name in fields:
            values = getattr(point, name)
            if len(values) not in (0, len(joints)):
                raise Refused(f"point {k + 1}: {len(values)} {name} for {len(joints)} joints")
            if len(values) != len(getattr(points[0], name)):
                raise Refused(f"point {k + 1}: either all points have {name} or none")
            if not np.isfinite(np.array(values, float)).all():
                raise Refused(f"point {k + 1}: {name} must be finite")
        if not np.isfinite(point.time) or point.time < 0 or (k and point.time <= points[k - 1].time):
            raise Refused(f"point {k + 1}: time_from_start must grow from point to point")
    if not (len(points[0].positions) or len(points[0].effort)):
        raise Refused("points need positions to follow or effort to feed")


def _path(times: list[float], points: Sequence[Point]) -> BPoly | CubicSpline:
    """Quintic through accelerations, cubic through velocities, or a smooth spline that ends at rest."""
    if len(times) == 1:
        return BPoly.from_derivatives([times[0], times[0] + 1.0], [[points[0].positions]] * 2)
    if not len(points[-1].velocities):
        rest = np.zeros(len(points[0].positions))
        start = points[0].velocities if len(points[0].velocities) else rest
        positions = np.array([p.positions for p in points], float)
        return CubicSpline(times, positions, bc_type=((1, start), (1, rest)))
    given = 3 if len(points[-1].accelerations) else 2
    return BPoly.from_derivatives(times, np.array([p[1 : 1 + given] for p in points], float))
