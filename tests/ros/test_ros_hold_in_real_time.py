"""A platform in real time that holds its start, follows what it is told by name and refuses what is late."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

pytest.importorskip("rclpy", reason="rclpy can't be imported: no ROS 2, and no wheels for this platform")

from builtin_interfaces.msg import Time
from rclpy.qos import QoSProfile, ReliabilityPolicy
from ros_client import Client, JointState, new_domain, node, stamp
from rosgraph_msgs.msg import Clock
from std_msgs.msg import Float64MultiArray
from test_ros_hold import NAN, Pair, forces, trajectory, value
from trajectory_msgs.msg import JointTrajectory


@pytest.fixture(scope="module")
def platform() -> Iterator[Pair]:
    domain = new_domain()
    arguments = ["stewart", "--clock", "--start", *(f"motor{k}=0.2" for k in (1, 2, 3))]
    with (
        node(domain, *arguments, "--param", "joint_state_rate=200", "diagnostics_rate=10") as process,
        Client(domain) as client,
    ):
        client.ready(process)
        yield process, client
        assert process.stop() == 0, process.output


def test_it_holds_its_start_until_the_first_command(platform: Pair) -> None:
    process, client = platform
    client.until(lambda: client.states and stamp(client.states[-1]) > 1.0, "a second")
    for name in ("motor1", "motor2", "motor3"):
        assert value(client, name) == pytest.approx(0.2, abs=1e-9)
    assert abs(value(client, "motor1", "effort")) > 1.0  # gravity pulls
    assert client.diagnostics()["held at the start"] == "True"
    assert "held until the first command" in process.output


def test_a_controller_that_is_not_active_yet_says_nothing(platform: Pair) -> None:
    """ros2_control sends NaN for every joint until a controller is active."""
    client = platform[1]
    before = client.diagnostics()
    for _ in range(20):
        client.joint_commands.publish(JointState(name=["motor1", "motor2", "motor3"], effort=[NAN] * 3))
        client.spin(0.01)
    after = client.diagnostics()
    assert after["held at the start"] == "True" and after["commands refused"] == before["commands refused"]


def test_a_partial_trajectory_is_followed_and_the_rest_is_held(platform: Pair) -> None:
    client = platform[1]
    publisher = client.node.create_publisher(JointTrajectory, "joint_trajectory", 1)
    client.until(publisher.get_subscription_count, "the node")
    message = trajectory(["motor2"], [0.3], 0.5)
    begin = stamp(client.states[-1]) + 0.5  # by its header it begins later
    message.header.stamp.sec, message.header.stamp.nanosec = int(begin), int(1e9 * (begin % 1))
    publisher.publish(message)
    client.until(lambda: stamp(client.states[-1]) > begin + 1.5, "the end")
    early = [s.position[1] for s in client.states if stamp(s) < begin - 0.05]
    assert early == pytest.approx([0.2] * len(early), abs=1e-9)
    for name, goal in (("motor1", 0.2), ("motor2", 0.3), ("motor3", 0.2)):
        assert value(client, name) == pytest.approx(goal, abs=1e-6)


def test_positions_by_name_are_held_and_others_keep_theirs(platform: Pair) -> None:
    client = platform[1]
    command = JointState(name=["motor3"], position=[0.25])
    client.joint_commands.publish(command)
    client.until(lambda: abs(value(client, "motor3") - 0.25) < 1e-6, "the position")
    assert value(client, "motor2") == pytest.approx(0.3, abs=1e-6)


def test_commands_of_the_past_are_refused_and_counted(platform: Pair) -> None:
    """By their stamp, in simulated time here, since it publishes the clock; so are trajectories."""
    _, client = platform
    client.until(lambda: client.states and stamp(client.states[-1]) > 0.5, "a time to be late for")
    before = client.diagnostics()

    def say(position: float, at: Time) -> None:
        message = JointState(name=["motor1"], position=[position])
        message.header.stamp = at
        client.joint_commands.publish(message)

    def grown(what: str) -> int:
        return int(client.diagnostics()[f"commands {what}"]) - int(before[f"commands {what}"])

    latest = client.states[-1].header.stamp
    say(0.21, Time(sec=latest.sec + 1_000_000))  # of another clock
    client.until(lambda: grown("stale") == 1, "the first refusal")
    say(0.21, Time(sec=0, nanosec=1))
    client.until(lambda: grown("stale") == 2, "the second refusal")
    while not grown("received"):  # on a busy machine even this may come late
        say(0.22, client.states[-1].header.stamp)
        client.spin(0.1)
    stale, received = grown("stale"), grown("received")
    message = trajectory(["motor1"], [0.2], 1e6)
    message.header.stamp = Time(sec=0, nanosec=2)  # not over yet, but said before the command that is obeyed
    publisher = client.node.create_publisher(JointTrajectory, "joint_trajectory", 1)
    client.until(publisher.get_subscription_count, "the node")
    publisher.publish(message)
    client.until(lambda: grown("stale") == stale + 1, "the trajectory's refusal")
    say(0.21, Time(sec=0, nanosec=3))
    client.until(lambda: grown("stale") == stale + 2, "one that is older than the newest")
    assert grown("refused") >= stale + 2 and grown("received") == received
    client.until(lambda: abs(value(client, "motor1") - 0.22) < 1e-3, "the command that came in time")
    client.joint_commands.publish(JointState(name=["motor1"], position=[0.2]))  # without a stamp: now
    client.until(lambda: abs(value(client, "motor1") - 0.2) < 1e-3, "the start pose")


def test_the_clock_goes_on_telling_the_time_while_paused(platform: Pair) -> None:
    client = platform[1]
    assert client.call("pause", True).success
    clocks = client.collect(Clock, "/clock")
    client.until(lambda: len(clocks) > 3, "the clock")
    assert len({(c.clock.sec, c.clock.nanosec) for c in clocks[-3:]}) == 1
    assert client.call("pause", False).success


def test_a_best_effort_commander_is_heard(platform: Pair) -> None:
    client = platform[1]
    assert client.call("reset").success
    quality = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)
    publisher = client.node.create_publisher(Float64MultiArray, "commands", quality)

    def heard() -> bool:
        publisher.publish(forces(7.0, 0.0, -7.0))
        return list(client.states[-1].effort[:3]) == [7.0, 0.0, -7.0]

    client.until(heard, "the torque")
    other = client.node.create_publisher(JointTrajectory, "joint_trajectory", quality)
    assert client.call("reset").success

    def followed() -> bool:
        other.publish(trajectory(["motor1", "motor2", "motor3"], [0.21] * 3, 0.2))
        client.spin(0.3)
        return abs(value(client, "motor1") - 0.21) < 1e-3

    client.until(followed, "the trajectory")
