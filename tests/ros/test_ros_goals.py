"""FollowJointTrajectory, as MoveIt sends it, by a real client of the action.

Where control_msgs is not installed (it comes with ros2_control, not among the wheels) these are skipped.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("rclpy", reason="rclpy can't be imported: no ROS 2, and no wheels for this platform")
pytest.importorskip("control_msgs", reason="control_msgs is not installed")

from builtin_interfaces.msg import Duration, Time
from control_msgs.action import FollowJointTrajectory
from control_msgs.msg import JointTolerance
from lifecycle_msgs.srv import ChangeState
from rclpy.action import ActionClient
from ros_client import Client, JointState, RosProcess, new_domain, node, stamp
from test_ros_hold import trajectory, value
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint, MultiDOFJointTrajectoryPoint

Goal, Result = FollowJointTrajectory.Goal, FollowJointTrajectory.Result
SUCCEEDED, CANCELED, ABORTED = 4, 5, 6
ALL = ["motor1", "motor2", "motor3"]


class Sender:
    """Sends goals to one node, and keeps what it hears of them."""

    def __init__(self, process: RosProcess, client: Client):
        self.process, self.client = process, client
        self.action = ActionClient(client.node, FollowJointTrajectory, "follow_joint_trajectory")
        client.until(self.action.server_is_ready, "the action")
        self.heard: list[Any] = []

    def send(self, path: JointTrajectory, **more: Any) -> Any:
        self.heard.clear()
        sent = self.action.send_goal_async(
            Goal(trajectory=path, **more),
            feedback_callback=lambda message: self.heard.append(message.feedback),
        )
        self.client.until(sent.done, "acceptance")
        assert sent.result().accepted
        return sent.result()

    def end(self, goal: Any) -> tuple[int, int, str]:
        """Status, error code and sentence."""
        got = goal.get_result_async()
        self.client.until(got.done, "the result")
        result = got.result().result
        return got.result().status, result.error_code, result.error_string

    def follow(self, path: JointTrajectory, **more: Any) -> tuple[int, int, str]:
        return self.end(self.send(path, **more))

    def moves(self) -> None:
        self.client.until(lambda: any(abs(f.actual.velocities[0]) > 1e-3 for f in self.heard), "motion")


def sending(*parameters: str) -> Iterator[Sender]:
    domain = new_domain()
    arguments = ["stewart", "--clock", "--start", *(f"{motor}=0.2" for motor in ALL)]
    with (
        node(domain, *arguments, "--param", "joint_state_rate=200", *parameters) as process,
        Client(domain) as client,
    ):
        client.ready(process)
        client.until(lambda: client.states, "joint states")
        yield Sender(process, client)
        assert process.stop() == 0 and "Traceback" not in process.output, process.output


@pytest.fixture(scope="module")
def sender() -> Iterator[Sender]:
    yield from sending("diagnostics_rate=10")


def test_a_goal_is_reached_and_told_of_on_the_way(sender: Sender) -> None:
    status, code, said = sender.follow(trajectory(["motor2", "motor1"], [0.3, 0.25], 0.6))
    assert (status, code) == (SUCCEEDED, Result.SUCCESSFUL) and "from the goal" in said
    for name, goal in zip(ALL, (0.25, 0.3, 0.2), strict=True):
        assert value(sender.client, name) == pytest.approx(goal, abs=1e-3)
    assert len(sender.heard) > 3
    for told in sender.heard:
        assert list(told.joint_names) == ["motor2", "motor1"]
        assert stamp(told) > 0
        for what in ("positions", "velocities"):
            here, there, off = (getattr(x, what) for x in (told.actual, told.desired, told.error))
            assert [a - b for a, b in zip(there, here, strict=True)] == pytest.approx(off, abs=1e-12)
            assert off == pytest.approx([0.0, 0.0], abs=1e-2)  # of the same instant
    stamps = [stamp(told) for told in sender.heard]
    assert stamps == sorted(stamps)
    assert any(0.21 < told.desired.positions[0] < 0.29 for told in sender.heard)


@pytest.mark.parametrize(
    ("path", "code", "said"),
    [
        (trajectory(["elbow"], [0.3], 1.0), Result.INVALID_JOINTS, "there is no driven joint 'elbow'"),
        (trajectory(["motor1"], [2.0], 0.01), Result.INVALID_GOAL, "it can't be followed"),
        (JointTrajectory(joint_names=["motor1"]), Result.INVALID_GOAL, "a trajectory needs a point"),
        (JointTrajectory(), Result.INVALID_GOAL, "a trajectory needs a point"),
    ],
    ids=["joint", "impossible", "empty", "nothing"],
)
def test_what_cannot_be_followed_is_refused_and_what_was_done_goes_on(
    sender: Sender, path: JointTrajectory, code: int, said: str
) -> None:
    before = value(sender.client, "motor1")
    status, told, sentence = sender.follow(path)
    assert (status, told) == (ABORTED, code) and said in sentence
    sender.client.spin(0.3)
    assert value(sender.client, "motor1") == pytest.approx(before, abs=1e-3)


def test_more_than_single_joints_are_refused(sender: Sender) -> None:
    goal = Goal()
    goal.multi_dof_trajectory.points = [MultiDOFJointTrajectoryPoint()]
    path = trajectory(["motor1"], [0.25], 0.5)
    status, code, said = sender.follow(path, multi_dof_trajectory=goal.multi_dof_trajectory)
    assert (status, code) == (ABORTED, Result.INVALID_GOAL) and "multi_dof_trajectory" in said
    strange = [JointTolerance(name="motor3", position=0.1)]
    status, code, said = sender.follow(path, goal_tolerance=strange)
    assert (status, code) == (ABORTED, Result.INVALID_JOINTS) and "motor3" in said


def test_one_of_the_past_is_refused_as_such(sender: Sender) -> None:
    path = trajectory(["motor1"], [0.25], 1e-3)
    sender.client.until(lambda: stamp(sender.client.states[-1]) > 0.5, "a time to be late for")
    path.header.stamp = Time(nanosec=1)
    status, code, said = sender.follow(path)
    assert (status, code) == (ABORTED, Result.OLD_HEADER_TIMESTAMP) and "ago" in said


def test_one_that_begins_later_is_waited_for(sender: Sender) -> None:
    begin = stamp(sender.client.states[-1]) + 0.7
    path = trajectory(ALL, [0.22] * 3, 0.4)
    path.header.stamp = Time(sec=int(begin), nanosec=int(1e9 * (begin % 1)))
    assert sender.follow(path)[:2] == (SUCCEEDED, Result.SUCCESSFUL)
    assert stamp(sender.client.states[-1]) >= begin + 0.35
    assert value(sender.client, "motor1") == pytest.approx(0.22, abs=1e-3)


def test_a_goal_that_is_canceled_stops_where_it_is(sender: Sender) -> None:
    for wait in (0.0, 0.4):  # before it begins, and on the way
        goal = sender.send(later(sender, trajectory(ALL, [0.35] * 3, 2.0), 5.0 if wait == 0 else 0.0))
        if wait:
            sender.moves()
        canceled = goal.cancel_goal_async()
        sender.client.until(canceled.done, "cancellation")
        assert sender.end(goal)[0] == CANCELED
        sender.client.spin(0.5)
        first = value(sender.client, "motor1")
        sender.client.spin(0.5)
        assert value(sender.client, "motor1") == pytest.approx(first, abs=1e-4) and first < 0.34
        assert abs(value(sender.client, "motor1", "velocity")) < 1e-3


def later(sender: Sender, path: JointTrajectory, seconds: float) -> JointTrajectory:
    if seconds:
        begin = stamp(sender.client.states[-1]) + seconds
        path.header.stamp = Time(sec=int(begin), nanosec=int(1e9 * (begin % 1)))
    return path


def test_another_command_takes_over(sender: Sender) -> None:
    goal = sender.send(trajectory(ALL, [0.3] * 3, 3.0))
    sender.moves()
    other = sender.send(trajectory(ALL, [0.2] * 3, 0.5))
    assert sender.end(goal)[0] == ABORTED
    assert sender.end(other)[:2] == (SUCCEEDED, Result.SUCCESSFUL)
    goal = sender.send(trajectory(ALL, [0.3] * 3, 3.0))
    sender.moves()
    sender.client.joint_commands.publish(JointState(name=ALL, position=[0.2] * 3))
    status, _, said = sender.end(goal)
    assert status == ABORTED and "another command took over" in said


def test_torques_are_fed_to_their_end(sender: Sender) -> None:
    points = [
        JointTrajectoryPoint(effort=[1.0, 1.0, 1.0], time_from_start=Duration(nanosec=k * 100_000_000))
        for k in (1, 2)
    ]
    assert sender.follow(JointTrajectory(joint_names=ALL, points=points))[:2] == (
        SUCCEEDED,
        Result.SUCCESSFUL,
    )
    assert sender.client.call("reset").success


def test_a_node_that_is_not_active_refuses_and_one_that_is_cleaned_up_forgets() -> None:
    domain = new_domain()
    with node(domain, "fourbar", "--param", "autostart=false") as process, Client(domain) as client:
        change = client.node.create_client(ChangeState, "cutjoint/change_state")
        client.until(change.service_is_ready, "the manager's service")

        def go(*transitions: int) -> None:
            for number in transitions:
                request = ChangeState.Request()
                request.transition.id = number
                done = change.call_async(request)
                client.until(done.done, "a transition")
                assert done.result().success, process.output

        configure, cleanup, activate, deactivate = range(1, 5)
        go(configure)
        sender, path = Sender(process, client), trajectory(["crank_pin"], [0.1], 0.5)
        status, code, said = sender.follow(path)
        assert (status, code) == (ABORTED, Result.INVALID_GOAL) and "not active" in said
        go(activate)
        assert sender.follow(path)[:2] == (SUCCEEDED, Result.SUCCESSFUL)
        sender.send(trajectory(["crank_pin"], [1.0], 60.0))  # nobody will hear of its end
        client.spin(0.2)
        go(deactivate, cleanup, configure, activate)
        client.until(lambda: client.node.count_publishers("joint_states"), "the next life")
        assert Sender(process, client).follow(path)[:2] == (SUCCEEDED, Result.SUCCESSFUL)
        assert process.stop() == 0, process.output
        assert not any(word in process.output for word in ("Traceback", "executor:")), process.output


@pytest.fixture(scope="module")
def bold() -> Iterator[Sender]:
    """One that does not rehearse: what can't be followed is found out on the way."""
    yield from sending("rehearse=false")


def test_who_leaves_the_path_or_misses_the_goal_by_more_than_told_is_aborted(bold: Sender) -> None:
    tight = [JointTolerance(name="motor1", position=0.01)]
    status, code, said = bold.follow(trajectory(["motor1"], [1.0], 0.3), path_tolerance=tight)
    assert (status, code) == (ABORTED, Result.PATH_TOLERANCE_VIOLATED) and "motor1" in said and "rad" in said
    assert bold.client.call("reset").success
    status, code, said = bold.follow(trajectory(["motor1"], [1.0], 0.01), goal_tolerance=tight)
    assert (status, code) == (ABORTED, Result.GOAL_TOLERANCE_VIOLATED) and "motor1" in said
    assert bold.client.call("reset").success
    time = Duration(sec=20)  # it gets there some time after
    told = bold.follow(trajectory(["motor1"], [0.25], 0.01), goal_tolerance=tight, goal_time_tolerance=time)
    assert told[:2] == (SUCCEEDED, Result.SUCCESSFUL), told
    assert value(bold.client, "motor1") == pytest.approx(0.25, abs=0.02)
    erased = [JointTolerance(name="motor1", position=-1.0)]
    assert bold.follow(trajectory(["motor1"], [0.2], 0.3), path_tolerance=erased)[0] == SUCCEEDED


def test_it_can_be_ended_while_it_follows(bold: Sender) -> None:
    """The last test of this file: the fixture sees that the node ends well."""
    bold.send(trajectory(ALL, [0.3] * 3, 60.0))
    bold.client.spin(0.5)
