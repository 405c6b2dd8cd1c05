"""Joint trajectories: torques fed as given, or positions followed by computed torque.

Computed torque cancels the whole dynamics by the exact inverse dynamics of the closed mechanism,
u = ID(q, v, q̈_d + 2ω(q̇_d − q̇) + ω²(q_d − q)), so each driven joint follows like a critically
damped oscillator of frequency ω, whatever the pose (if no torque limit is met).
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.interpolate import BPoly, CubicSpline

from ..model import Mechanism, Simulation
from ..model.describe.mechanism import outer_name
from .motor_commands import Refused


class Point(NamedTuple):
    """One point of a trajectory: seconds after its start, and values in the order of its joints."""

    time: float
    positions: Sequence[float] = ()
    velocities: Sequence[float] = ()
    accelerations: Sequence[float] = ()
    effort: Sequence[float] = ()


class Follower:
    """One trajectory, ready to be asked for torques at any simulated time after `begin`."""

    def __init__(self, simulation: Simulation, joints: Sequence[str], points: Sequence[Point]):
        self.simulation = simulation
        self.begin = simulation.time
        driven = _driven(simulation.mechanism)
        ours = {outer_name(simulation.mechanism.joint(name)): name for name in driven}
        self.joints = tuple(ours.get(name, name) for name in joints)
        _check(driven, self.joints, points)
        outputs = simulation.variables().outputs
        self._q = outputs.rows(f"joint.{name}.position" for name in self.joints)
        self._v = outputs.rows(f"joint.{name}.velocity" for name in self.joints)
        order = [self.joints.index(name) for name in driven]
        self.end = points[-1].time
        self.feeds = len(points[0].positions) == 0
        times = [p.time for p in points]
        if self.feeds:
            self._times, self._effort = times, np.array([p.effort for p in points], float)[:, order]
            return
        y = simulation.output_vector()
        if times[0] > 0:
            times = [0.0, *times]
            here = Point(0.0, y[self._q].tolist(), y[self._v].tolist(), [0.0] * len(self.joints))
            points = [here, *points]
        self._path = _path(times, points)

    def torques(self, frequency: float) -> np.ndarray | None:
        """Inputs for the present state; None once a torque feed has ended. Positions are held at the end."""
        t = self.simulation.time - self.begin
        if self.feeds:
            if t > self.end:
                return None
            return np.array([np.interp(t, self._times, column) for column in self._effort.T])
        y = self.simulation.output_vector()
        position, velocity, acceleration = self.wanted(t)
        acceleration += 2 * frequency * (velocity - y[self._v]) + frequency**2 * (position - y[self._q])
        return self.simulation.inverse_dynamics(dict(zip(self.joints, acceleration.tolist(), strict=True)))

    def wanted(self, t: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Position, velocity and acceleration asked for at a time after the start; at rest beyond the end."""
        if t >= self.end:
            zero = np.zeros(len(self.joints))
            return self._path(self.end), zero, zero.copy()
        return self._path(t), self._path(t, 1), self._path(t, 2)


def _driven(mechanism: Mechanism) -> list[str]:
    """Joints of the motors in the order of the inputs."""
    if any(s.actuated for s in mechanism.struts):
        raise Refused("trajectories are for mechanisms driven by motors on joints; this one has cylinders")
    return [motor.joint for motor in mechanism.motors]


def _check(driven: list[str], joints: tuple[str, ...], points: Sequence[Point]) -> None:
    if sorted(joints) != sorted(driven):
        raise Refused(f"a trajectory names each driven joint once: {', '.join(driven) or 'none'}")
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
