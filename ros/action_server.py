"""FollowJointTrajectory, as MoveIt and others send it, where control_msgs is installed."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..model.base.errors import CutjointError
from .loop import Loop
from .motor_commands import Refused, Stale
from .services import PATIENCE, rest
from .subscriptions import Orders
from .trajectory_interpolation import AcceptedTrajectory

try:  # in every installation of ros2_control, but not among the wheels
    from control_msgs.action import FollowJointTrajectory
except ImportError:
    FollowJointTrajectory = None

OFTEN = 0.05  # seconds between two words of feedback


class Failed(CutjointError):
    """A goal that began and was not reached, with the action's code for that."""

    def __init__(self, code: int, text: str):
        super().__init__(text)
        self.code = code


class Goals:
    """One action: accepted trajectories are followed like those of the topic, and reported on."""

    def __init__(self, node: Any, loop: Loop, orders: Orders):
        from rclpy.action import ActionServer, CancelResponse
        from rclpy.callback_groups import ReentrantCallbackGroup

        self.node, self.loop, self.orders = node, loop, orders
        self._server = ActionServer(
            node,
            FollowJointTrajectory,
            "follow_joint_trajectory",
            self._follow,
            cancel_callback=lambda goal: CancelResponse.ACCEPT,
            callback_group=ReentrantCallbackGroup(),
        )

    async def _follow(self, goal: Any) -> Any:
        """Until its end, its refusal, or somebody else's command; the executor goes on meanwhile."""
        result = FollowJointTrajectory.Result()
        try:
            _check(goal.request)
            course = self.orders.follow(goal.request.trajectory).result(PATIENCE)
            said = await self._watch(goal, course)
        except CutjointError as problem:
            result.error_code, result.error_string = self._code(problem, goal.request), str(problem)
            goal.abort()
            return result
        if said is None:
            goal.canceled()
            return result
        result.error_string = said
        goal.succeed()
        return result

    async def _watch(self, goal: Any, course: AcceptedTrajectory) -> str | None:
        """How near it came, once it is at its goal; None if it was canceled."""
        loop, request, codes = self.loop, goal.request, FollowJointTrajectory.Result
        patience = request.goal_time_tolerance.sec + request.goal_time_tolerance.nanosec / 10**9
        while True:
            if loop.over:  # nobody would answer any more
                raise Failed(codes.PATH_TOLERANCE_VIOLATED, "the node was cleaned up")
            told = loop.ask(lambda: self._look(course)).result(PATIENCE)
            if goal.is_cancel_requested:
                loop.ask(lambda: loop.trajectories.leave(course)).result(PATIENCE)
                return None
            if course.follower is not None and course.follower.over:
                return "all was fed"
            if told is not None:
                late, off, feedback = told
                goal.publish_feedback(feedback)
                missed = _beyond(request.goal_tolerance if late >= 0 else request.path_tolerance, off)
                if missed and late < 0:
                    loop.ask(lambda: loop.trajectories.leave(course)).result(PATIENCE)
                    raise Failed(codes.PATH_TOLERANCE_VIOLATED, f"{missed} on its path")
                if missed and late >= patience:
                    raise Failed(codes.GOAL_TOLERANCE_VIOLATED, f"{missed} at its goal")
                if not missed and late >= 0:
                    return f"{max(abs(x) for x, _ in off.values()):.3g} rad or m from the goal"
            await rest(self.node, OFTEN)

    def _look(self, course: AcceptedTrajectory) -> tuple[float, dict[str, Any], Any] | None:
        """Seconds since its end, how far joints and their speeds are off, feedback; None without a path.

        In the loop's thread, so that all is of one instant.
        """
        loop, mine = self.loop, course.follower
        if loop.trajectories.awaits(course):
            return None
        if course.refusal:
            raise Refused(course.refusal)
        if mine is None or not (mine.over or loop.trajectories.follower is mine):
            code = FollowJointTrajectory.Result.PATH_TOLERANCE_VIOLATED
            why = loop.fault or ("the emergency stop is on" if loop.stopped else "another command took over")
            raise Failed(code, why)
        if mine.feeds:
            return None
        loop.values.read()
        t, at = loop.time - mine.begin, mine.path.at
        wanted, here = mine.wanted(t), (loop.drives.position[at], loop.drives.velocity[at])
        off = [there - now for there, now in zip(wanted, here, strict=False)]
        feedback = FollowJointTrajectory.Feedback(joint_names=list(mine.joints))
        feedback.header.stamp = self.node.telling.stamp()
        points = feedback.desired, feedback.actual, feedback.error
        for point, values in zip(points, (wanted, here, off), strict=True):
            point.positions, point.velocities = values[0].tolist(), values[1].tolist()
        return t - mine.end, dict(zip(mine.joints, zip(*off, strict=True), strict=True)), feedback

    def _code(self, problem: CutjointError, request: Any) -> int:
        codes, named = FollowJointTrajectory.Result, set(request.trajectory.joint_names)
        if isinstance(problem, Failed):
            return problem.code
        if isinstance(problem, Stale):
            return int(codes.OLD_HEADER_TIMESTAMP)
        known = named <= self.loop.commands.index.keys() and _foreign(request) is None
        return int(codes.INVALID_GOAL if known else codes.INVALID_JOINTS)

    def destroy(self) -> None:
        self._server.destroy()


def _check(request: Any) -> None:
    """Refuse what no topic can say, and what would let go there."""
    if request.multi_dof_trajectory.points:
        raise Refused("a multi_dof_trajectory can't be followed; name single joints in trajectory")
    if not request.trajectory.points:
        raise Refused("a trajectory needs a point")
    foreign = _foreign(request)
    if foreign is not None:
        raise Refused(f"there is a tolerance for '{foreign}', which the trajectory does not name")


def _foreign(request: Any) -> str | None:
    """A joint with a tolerance that is not in the trajectory."""
    named = request.trajectory.joint_names
    return next(
        (t.name for t in (*request.path_tolerance, *request.goal_tolerance) if t.name not in named), None
    )


def _beyond(tolerances: Sequence[Any], off: dict[str, Any]) -> str:
    """What is further off than it may be; zero and less allow everything."""
    for each in tolerances:
        for x, most, unit in zip(off[each.name], (each.position, each.velocity), ("", "/s"), strict=True):
            if most > 0 and not np.abs(x) <= most:
                return f"'{each.name}' is {abs(x):.3g} rad{unit} or m{unit} off, more than {most:g},"
    return ""
