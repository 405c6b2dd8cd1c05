"""A mechanism as a chain: what its joints are when a frame is there, and where frames are when joints are."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..base.display import Displayed
from ..describe.mechanism import GROUND
from ..run.inverse import inputs_for
from ..state import State
from .complete import complete
from .core import ChainCore, ChainMotion
from .inverse import inverse
from .maps import FrameJacobian, Transmission, jacobian
from .plan import Plan, followed, plan
from .rows import AXES, FrameRows, frame_name
from .target import Target, numbers, resolve


@dataclass(frozen=True)
class FramePose(Displayed):
    """Where a frame is and how it moves, as its base sees it, in the base's axes."""

    position: np.ndarray  # metres
    orientation: np.ndarray  # Euler parameters (w, x, y, z)
    velocity: np.ndarray  # m/s
    angular_velocity: np.ndarray  # rad/s


class Chain(ChainCore):
    """Kinematics of a mechanism with closed loops, for any frame and any choice of rows.

    Parameters
    ----------
    mechanism : Mechanism, the name of an example or the path of a description; an Engine; or a
        Simulation, whose present state is then the start.

    Attributes
    ----------
    start : the state that methods begin from unless they are given another.
    actuators : names of motors and cylinders, in the order of their coordinates.

    Methods
    -------
    inverse, complete, plan, follow, jacobian, transmission, inverse_dynamics, holding_forces, pose

    Examples
    --------
    >>> import cutjoint
    >>> chain = cutjoint.Chain("hexapod")
    >>> there = chain.inverse(cutjoint.Target("platform", (0, 0, 0.85), (1, 0, 0, 0)))
    >>> round(there.actuators["leg1"][0], 6)
    0.017744
    """

    def inverse(
        self,
        *targets: Target,
        start: State | None = None,
        hold: Mapping[str, Any] | None = None,
        nearest: bool = False,
        margin: float | None = None,
    ) -> ChainMotion:
        """All joints and actuators, their speeds and accelerations, for what frames shall do.

        From `start` the targets are followed without a change of branch, joints within their limits,
        actuators at least `margin` from losing hold (a smallest singular value, 1e-3 if None). `hold` gives
        coordinates of joints that shall have a value, too; what is left free moves as little as it can.

        What can't be reached is refused with what stops it, or, with `nearest`, met as nearly as it can be by
        least squares: `slack` then says what each row is off by.
        """
        return inverse(self, targets, start, hold or {}, nearest, margin)

    def complete(
        self,
        positions: Mapping[str, Any],
        rates: Mapping[str, Any] | None = None,
        efforts: Mapping[str, Any] | None = None,
        weights: Mapping[str, float] | None = None,
        tolerance: float | None = None,
        start: State | None = None,
    ) -> ChainMotion:
        """All joints, from measured `positions`: of joints, cylinders, frames such as `platform.z`.

        Where more is measured than needed, the pose is that of least squares, loops closed exactly, each
        square times its number among `weights`, 1 if it has none;
        measurements that disagree by more than `tolerance` (radians, or parts of the mechanism's size; 0.01
        if None) are refused. `rates` are measured speeds, `efforts` inputs by name, which give accelerations.
        """
        return complete(self, positions, rates, efforts, weights or {}, tolerance, start)

    def plan(
        self,
        *targets: Target,
        start: State | None = None,
        duration: float | None = None,
        bounds: Mapping[str, float] | None = None,
        margin: float | None = None,
    ) -> Plan:
        """The motion of all actuators that brings frames to rest at targets, smooth from the present motion.

        It takes `duration` seconds, or as long as `bounds` ask for: speed, acceleration and jerk of a frame's
        origin (0.2 m/s, 1 m/s², 20 m/s³), turn_speed, turn_acceleration and turn_jerk (1, 5, 100 rad/s…), or
        those of the described target.
        Refused, before anything moves, where the way meets a limit or a singular pose, by `margin` as for
        `inverse`.
        """
        given = self.start if start is None else start
        state = self.released(given)
        motion = self.present_motion(given) if state.v.any() else None
        return plan(self, targets, given, motion, bounds or {}, duration, margin)

    def follow(
        self,
        path: Callable[[float], Sequence[Target]],
        duration: float,
        start: State | None = None,
        margin: float | None = None,
    ) -> Plan:
        """The motion of all actuators along a path of targets: path(t) gives them, with their rates, at t.

        It takes `duration` seconds from `start`, and keeps `margin` as for `inverse`.
        """
        return followed(self, path, duration, self.start if start is None else start, margin)

    def present_motion(self, state: State) -> ChainMotion:
        """How the chain moves at a state, accelerations as its inputs make them."""
        dv = np.asarray(self.engine.kernels.dynamics(*state.at)[0])
        return self.motion(self.released(state), state, dv, 0.0)

    def jacobian(
        self,
        frame: str,
        inputs: Iterable[str] | None = None,
        at: State | None = None,
        base: str = GROUND,
        axes: str = AXES[0],
    ) -> FrameJacobian:
        """Velocity of a frame by the speeds of inputs, the actuators if None, that determine the motion.

        It is taken `at` a state, the start if None, as `base` sees it, along `axes` of the base or its own.
        """
        return jacobian(self, frame, inputs, self.released(at), base, axes)

    def transmission(self, joints: Iterable[str], actuators: Iterable[str] | None = None) -> Transmission:
        """Between virtual joints and actuators, all of them if None: `Transmission`."""
        return Transmission(self, joints, actuators)

    def inverse_dynamics(
        self,
        *targets: Target,
        wrench: Sequence[float] | None = None,
        start: State | None = None,
        hold: Mapping[str, Any] | None = None,
    ) -> dict[str, float]:
        """Torque or force of each actuator for the motion of `targets`; `wrench` acts on the first one.

        It is (force; moment) at the frame's origin, newtons and newton metres along the axes of that target.
        The pose is reached as by `inverse`, from `start`, with coordinates to `hold`. Motors are taken as
        what they give to their joints.
        """
        motion = self.inverse(*targets, start=start, hold=hold)
        state, force = self.released(motion.state), np.zeros(self.free.tree.nv)
        if wrench is not None:
            first = resolve(self.mechanism, targets[0])
            given = numbers(wrench, 6, first.frame, "wrench")
            rows = FrameRows(first.frame, base=first.base, axes=first.axes)
            force = self.values((rows,), state)[2].T @ given
        return self._efforts(state, motion.accelerations, force)

    def holding_forces(self, at: State | None = None) -> dict[str, float]:
        """Torque or force of each actuator that holds a pose at rest."""
        state = self.released(at)
        state = replace(state, v=np.zeros_like(state.v))
        return self._efforts(state, np.zeros_like(state.v), np.zeros_like(state.v))

    def _efforts(self, state: State, dv: np.ndarray, force: np.ndarray) -> dict[str, float]:
        u, table = inputs_for(self.free, state, dv, force=force), self.free.variables.inputs
        return {name: float(u[table.find(name).where][0]) for name in self.actuators}

    def pose(self, frame: str, at: State | None = None, base: str = GROUND) -> FramePose:
        """Where a body or frame is and how it moves at a state, seen from a base."""
        items = (FrameRows(frame_name(self.mechanism, frame), base=frame_name(self.mechanism, base, True)),)
        t, w, _, _ = self.values(items, at or self.start)
        return FramePose(t[:3].copy(), t[3:].copy(), w[:3].copy(), w[3:].copy())
