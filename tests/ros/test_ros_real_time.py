"""The node in real time, in a process of its own, with well- and ill-behaved company."""

from __future__ import annotations

import os
import re
import signal
import sys
import time
from array import array
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from bulk import bulk

pytest.importorskip("rclpy", reason="rclpy can't be imported: no ROS 2, and no wheels for this platform")

from builtin_interfaces.msg import Duration
from processes import PATIENCE
from ros_client import Client, RosProcess, eventually, new_domain, node, stamp
from rosgraph_msgs.msg import Clock
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint
from visualization_msgs.msg import MarkerArray

MOTORS = ["motor1", "motor2", "motor3"]
START = [f"{name}=0.2" for name in MOTORS]
Pair = tuple[RosProcess, Client]


@pytest.fixture(scope="module")
def pair() -> Iterator[Pair]:
    domain = new_domain()
    arguments = ["--clock", "--start", *START, "--param", "joint_state_rate=200", "diagnostics_rate=10"]
    arguments += ["diagnostics=height body.platform.position singularity.*"]
    with node(domain, "stewart", *arguments) as process, Client(domain) as client:
        client.ready(process)
        yield process, client


@pytest.fixture
def client(pair: Pair) -> Client:
    """The client, with the mechanism back at its start and time running."""
    client = pair[1]
    client.call("pause", False)
    assert client.call("reset").success
    client.states.clear()
    client.until(lambda: client.states, "joint states")
    return client


def torques(*values: float) -> Float64MultiArray:
    return Float64MultiArray(data=array("d", values))


def effort(client: Client) -> list[float]:
    return list(client.states[-1].effort[:3])


def test_joint_states_come_at_the_asked_rate_with_all_joints(client: Client) -> None:
    clocks = client.collect(Clock, "/clock")

    def at_the_rate() -> None:
        client.states.clear()
        client.spin(2.0)
        times = np.array([stamp(s) for s in client.states])
        steps = np.diff(times)
        assert (steps > 0).all()
        assert np.median(steps) == pytest.approx(0.005, abs=1e-9)
        assert len(times) >= 0.9 * 200 * (times[-1] - times[0])

    eventually(at_the_rate)
    # On a busy machine it may lag, but then it says so: what the clock shows is what it counts.
    health = client.diagnostics()
    assert float(health["drift"]) == pytest.approx(float(health["lag"]), abs=0.05)
    assert health["height"] == health["body.platform.position[3]"] and health["singularity.rank"] == "6"
    assert float(health["singularity.distance"]) == pytest.approx(
        float(health["singularity distance"]), rel=1e-5
    )
    assert all(
        len(s.name) == len(s.position) == len(s.velocity) == len(s.effort) == 15 for s in client.states
    )
    assert client.node.count_publishers("/clock") == 1
    client.until(lambda: len(clocks) > 50, "the clock")
    assert np.diff([c.clock.sec + 1e-9 * c.clock.nanosec for c in clocks]).min() > 0


def test_silence_takes_torque_to_zero(client: Client) -> None:
    def commanded() -> bool:
        client.commands.publish(torques(7.0, 0.0, -7.0))
        return effort(client) == [7.0, 0.0, -7.0]

    client.until(commanded, "the commanded torque")
    client.until(lambda: effort(client) == [0.0, 0.0, 0.0], "zero torque", 20)
    client.until(lambda: "commands have stopped" in client.diagnostics()["message"], "a warning", 20)


def test_wrong_commands_are_refused_and_warned_of_once(pair: Pair, client: Client) -> None:
    before = pair[0].output.count("command refused")
    for _ in range(20):
        client.commands.publish(torques(1.0))
        client.spin(0.01)
        client.commands.publish(torques(float("nan"), 0.0, 0.0))
        client.spin(0.01)
    client.until(lambda: int(client.diagnostics()["commands refused"]) > 10, "refusals", 20)
    assert client.diagnostics()["held at the start"] == "True"
    assert pair[0].output.count("command refused") - before <= 2


def test_a_flood_of_commands_is_survived(client: Client) -> None:
    """10 kHz for two seconds from this process, as fast as Python can if it can't."""
    begin = time.monotonic()
    message = torques(1.0, 2.0, 3.0)
    for sent in range(1, 20_001):
        client.commands.publish(message)
        ahead = begin + sent * 1e-4 - time.monotonic()
        if ahead > 0:
            time.sleep(ahead)
        if sent % 500 == 0:
            client.executor.spin_once(timeout_sec=0)
    client.states.clear()
    client.until(lambda: client.states, "joint states")
    assert client.simulated_time() > 0.5  # seconds since the reset: time passed during the flood
    assert np.isfinite(client.states[-1].position).all()
    client.until(lambda: effort(client) == [0.0, 0.0, 0.0], "the watchdog", 20)


def test_pause_step_and_go_on(client: Client) -> None:
    assert not client.call("step").success
    assert client.call("pause", True).success
    before = client.simulated_time()
    client.spin(0.3)
    assert client.simulated_time() == before
    assert client.call("step").success
    after = pytest.approx(before + 0.001, abs=1e-6)
    client.until(lambda: stamp(client.states[-1]) == after, "a step")
    assert client.simulated_time() == after
    assert client.call("pause", False).success
    client.until(lambda: stamp(client.states[-1]) > before + 0.1, "time")


@pytest.mark.parametrize(
    "name, value, reason",
    [
        ("command_timeout", -1.0, "command_timeout out of range"),
        ("command_timeout", float("nan"), "command_timeout out of range"),
        ("joint_state_rate", "often", "joint_state_rate must be a number"),
        ("mode", "sideways", "mode must be one of"),
        ("mode", "lock_step", "start it again"),
        ("tracking_frequency", 0.0, "tracking_frequency out of range"),
        ("rate", 500.0, "read-only"),
        ("mechanism", "arm", "read-only"),
    ],
)
def test_parameters_refuse_bad_values(client: Client, name: str, value: object, reason: str) -> None:
    result = client.set_parameter(name, value)
    assert not result.successful
    assert reason in result.reason.replace("read only", "read-only")


def test_parameters_change_while_it_runs(client: Client) -> None:
    assert client.set_parameter("joint_state_rate", 50).successful

    def slower() -> bool:
        times = [stamp(s) for s in client.states[-11:]]
        return len(times) > 10 and np.median(np.diff(times)) == pytest.approx(0.02, abs=1e-9)

    client.until(slower, "joint states at 50 Hz")
    assert client.set_parameter("joint_state_rate", 200.0).successful


def test_a_trajectory_is_followed_and_held(client: Client) -> None:
    publisher = client.node.create_publisher(JointTrajectory, "joint_trajectory", 1)
    client.until(publisher.get_subscription_count, "the node")
    goal = {"motor2": 0.35, "motor3": 0.3, "motor1": 0.25}
    point = JointTrajectoryPoint(
        positions=list(goal.values()), time_from_start=Duration(sec=0, nanosec=600_000_000)
    )
    begin = stamp(client.states[-1])
    publisher.publish(JointTrajectory(joint_names=list(goal), points=[point]))
    client.until(lambda: stamp(client.states[-1]) > begin + 2.0, "two seconds")
    state = client.states[-1]
    for name, wanted in goal.items():
        k = state.name.index(name)
        assert state.position[k] == pytest.approx(wanted, abs=1e-4)
        assert abs(state.velocity[k]) < 1e-3
    assert max(map(abs, effort(client))) > 1.0  # gravity wants torque
    refused = int(client.diagnostics()["commands refused"])
    publisher.publish(JointTrajectory(joint_names=["hinge1"], points=[point]))
    client.until(lambda: int(client.diagnostics()["commands refused"]) > refused, "a refusal", 20)


def test_markers_show_every_body(client: Client) -> None:
    got = client.collect(MarkerArray, "markers")
    message = client.until(lambda: got and got[-1], "markers")
    assert {m.ns for m in message.markers} == {"bodies", "joints"}
    assert len({(m.ns, m.id) for m in message.markers}) == len(message.markers) == 14
    assert all(m.header.frame_id == "ground" and m.points for m in message.markers)


def test_it_stops_on_sigint_with_a_report(pair: Pair) -> None:
    process = pair[0]
    assert process.stop(signal.SIGINT) == 0, process.output
    assert "Traceback" not in process.output
    for word in ("overruns", "p99", "missed deadlines", "of a core", "behind"):
        assert word in process.output


def test_a_jump_of_the_clock_does_not_disturb_it() -> None:
    """Under use_sim_time with somebody else's /clock that jumps, the steady clock still paces."""
    domain = new_domain()
    ros = ["--ros-args", "-p", "use_sim_time:=true", "-p", "diagnostics_rate:=20"]
    with node(domain, "double_pendulum", "--no-compile", *ros) as process, Client(domain) as client:
        client.ready(process)
        clock = client.node.create_publisher(Clock, "/clock", 1)
        client.until(clock.get_subscription_count, "the node's clock")
        begin, times = time.monotonic(), [client.simulated_time()]
        for seconds in (1000, 10**9, 5):
            message = Clock()
            message.clock.sec = seconds
            clock.publish(message)
            client.spin(0.3)
            client.until(lambda: client.simulated_time() > times[-1] + 0.05, "time")
            times.append(client.simulated_time())
        assert times[-1] - times[0] < 0.5 + time.monotonic() - begin
        client.states.clear()
        client.until(lambda: client.states, "joint states")
        assert client.states[-1].header.stamp.sec == 5
        assert np.isfinite(client.states[-1].position).all()
        assert process.stop(signal.SIGTERM) == 0, process.output


@pytest.mark.parametrize("batches", bulk([1, 5], 1))
def test_starts_and_stops_leave_nothing_behind(batches: int) -> None:
    """Each of four is told to stop by a storm of signals, as an impatient user sends them."""
    domain = new_domain()
    before = shared_ports(domain)
    for batch in range(batches):
        processes = [node(domain, "double_pendulum", "--no-compile") for _ in range(4)]
        try:
            for process in processes:
                process.says("real_time at 1000 Hz")
            used = set.union(*(process.shared_memory() for process in processes))
            assert used, "the middleware uses shared memory, or this test sees nothing"
            for k, process in enumerate(processes):
                for again in range(100):
                    process.popen.send_signal((signal.SIGINT, signal.SIGTERM)[(batch + k + again) % 2])
            for process in processes:
                assert process.stop() == 0, process.output
                assert "Traceback" not in process.output
                assert not os.path.exists(f"/proc/{process.popen.pid}")
        finally:
            for process in processes:
                process.__exit__()
        assert not [path for path in used if path.exists()]
    assert shared_ports(domain) <= before


WAITS_FOR_EVER = """
import sys, time
from cutjoint.model.cli.main import main
from cutjoint.ros import start_node
start_node.LET_GO = 0.5
start_node.MechanismNode.destroy_node = lambda node: time.sleep({seconds})
{more}
sys.exit(main(["node", "double_pendulum", "--no-compile"]))
"""


def test_a_middleware_that_does_not_let_go_is_left() -> None:
    """Once in hundreds of ends a node had said its last words and stayed."""
    program = WAITS_FOR_EVER.format(seconds=1000, more="")
    with RosProcess([sys.executable, "-c", program], new_domain()) as process:
        process.says("real_time at 1000 Hz")
        assert process.stop() == 0, process.output
        assert "ROS did not let go within 0.5 s" in process.output


FAILS = """
def fails(node, stop):
    raise start_node.CutjointError("no such thing")
start_node._work = fails
"""
LATER = "import atexit; atexit.register(time.sleep, 2)"  # longer than ROS may take


@pytest.mark.parametrize(("seconds", "more"), [(1000, FAILS), (0, f"{FAILS}{LATER}")])
def test_a_node_that_failed_says_so_however_ros_ends(seconds: int, more: str) -> None:
    """It would have ended with 0 where ROS waits, and some seconds later where it does not."""
    program = WAITS_FOR_EVER.format(seconds=seconds, more=more)
    with RosProcess([sys.executable, "-c", program], new_domain()) as process:
        assert process.popen.wait(PATIENCE) == 2, process.output
        eventually(lambda: process.says("no such thing"))
        assert ("did not let go" in process.output) == (seconds > 0)


def shared_ports(domain: int) -> set[str]:
    """Names in shared memory of the ports of a ROS domain, by the numbers that DDS gives them."""
    first = 7400 + 250 * domain
    found = {path.name: re.search(r"fastrtps_port(\d+)", path.name) for path in Path("/dev/shm").iterdir()}
    return {name for name, port in found.items() if port and first <= int(port[1]) < first + 250}
