"""Commands that come while trajectories are followed or tried out: none is lost, and time goes on."""

from __future__ import annotations

import threading
import time
from array import array
from typing import Any

import pytest

pytest.importorskip("rclpy", reason="rclpy can't be imported: no ROS 2, and no wheels for this platform")

from builtin_interfaces.msg import Duration
from inside_node import inside
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

WAIT = 120.0


def path(joint: str, goal: float, seconds: float) -> JointTrajectory:
    after = Duration(sec=int(seconds), nanosec=round(1e9 * (seconds % 1)))
    point = JointTrajectoryPoint(positions=array("d", [goal]), time_from_start=after)
    return JointTrajectory(joint_names=[joint], points=[point])


def hammer(node: Any, joint: str, count: int, lost: list[str]) -> None:
    """Start a trajectory and break it off with a command: the joint must then be told what that says."""
    loop = node.loop
    place = loop.commands.index[joint]
    for k in range(count):
        node.orders.follow(path(joint, 0.1, 60.0)).result(WAIT)
        wanted = 1e-4 * (k + 1)
        node.orders._on_joint_commands(JointState(name=[joint], position=array("d", [wanted])))
        for _ in range(3):  # and it stays so
            order = loop.ask(lambda: loop.commands.latest).result(WAIT)
            if order.value[place] != wanted:
                lost.append(f"{joint} {wanted}: {order.value[place]}")


def test_no_command_in_the_middle_of_a_trajectory_is_lost() -> None:
    with inside("stewart", mode="fast", rehearse=False, command_timeout=0.0) as node:
        lost: list[str] = []
        joints = ("motor1", "motor2", "motor3")
        threads = [threading.Thread(target=hammer, args=(node, joint, 334, lost)) for joint in joints]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(WAIT)
        assert not any(thread.is_alive() for thread in threads)
        assert not lost, lost[:5]
        assert node.loop.ask(lambda: node.loop.commands.received).result(WAIT) == 3 * 334


@pytest.mark.parametrize("mode", ["fast", "real_time"])
def test_time_goes_on_while_trajectories_are_streamed(mode: str) -> None:
    """They come faster than they can be tried out: the newest wins, and time never waits for all of them."""
    with inside("stewart", mode=mode, rate=500.0) as node:
        loop, stop = node.loop, threading.Event()
        sent: list[Any] = []

        def stream() -> None:
            while not stop.is_set():
                for joint in ("motor1", "motor2", "motor3"):
                    sent.append(node.orders.follow(path(joint, 0.05, 1.0)))
                time.sleep(0.005)

        thread = threading.Thread(target=stream)
        before = loop.periods
        thread.start()
        try:
            end = time.monotonic() + WAIT
            while loop.periods < before + 500 and time.monotonic() < end:
                time.sleep(0.01)
        finally:
            stop.set()
            thread.join(WAIT)
        assert loop.periods >= before + 500, f"{loop.periods - before} periods, {len(sent)} trajectories"
