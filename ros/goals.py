"""FollowJointTrajectory, as MoveIt and others send it, where control_msgs is installed."""

from typing import Any

import numpy as np

from ..model import CutjointError
from .loop import Loop
from .orders import Orders
from .services import PATIENCE, rest

try:  # in every installation of ros2_control, but not among the wheels
    from control_msgs.action import FollowJointTrajectory
except ImportError:
    FollowJointTrajectory = None

OFTEN = 0.05  # seconds between two words of feedback


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
        loop, result = self.loop, FollowJointTrajectory.Result()
        message = goal.request.trajectory
        try:
            self.orders.follow(message).result(PATIENCE)
        except CutjointError as problem:
            goal.abort()
            result.error_code, result.error_string = result.INVALID_GOAL, str(problem)
            return result
        mine, joints = loop.follower, list(message.joint_names)
        places = [loop.commands.index[name] for name in joints]
        feedback = FollowJointTrajectory.Feedback(joint_names=joints)
        while loop.follower is mine and mine is not None and loop.time < mine.begin + mine.end:
            if goal.is_cancel_requested:
                loop.ask(lambda: loop.commands.take_over(loop.commands.latest.still())).result(PATIENCE)
                loop.follower = None
                goal.canceled()
                return result
            feedback.actual.positions = loop.drives.position[places].tolist()
            feedback.actual.velocities = loop.drives.velocity[places].tolist()
            goal.publish_feedback(feedback)
            await rest(self.node, OFTEN)
        if mine is None or loop.follower is not mine or loop.fault:
            goal.abort()
            result.error_string = loop.fault or "another command took over"
            result.error_code = result.PATH_TOLERANCE_VIOLATED
            return result
        off = np.abs(mine.wanted(mine.end)[0] - loop.drives.position[places]).max(initial=0.0)
        result.error_string = f"{off:.3g} rad or m from the goal"
        goal.succeed()
        return result

    def destroy(self) -> None:
        self._server.destroy()
