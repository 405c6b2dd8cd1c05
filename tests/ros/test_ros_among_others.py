"""The node among others: several robots, a lifecycle manager, listeners of all kinds, a recorder, Ctrl-C."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from array import array
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy can't be imported: no ROS 2, and no wheels for this platform")

from cutjoint import Simulation
from cutjoint.ros.replay_cli import again
from geometry_msgs.msg import PoseStamped, TwistStamped, WrenchStamped
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState, GetState
from processes import CUTJOINT, PATIENCE
from ros_client import Client, RosProcess, environment, new_domain, node, stamp
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import Imu
from std_msgs.msg import Float64MultiArray, String
from test_ros_real_time import shared_ports


def torques(*values: float) -> Float64MultiArray:
    return Float64MultiArray(data=array("d", values))


# -- what is told ----------------------------------------------------------------------------------

ARM = """
name: swing
bodies:
  link: {mass: 2, com: [0.3, 0, 0], inertia: [0.01, 0.02, 0.03]}
joints:
  hinge: {type: revolute, parent: ground, child: link, at: [0.1, 0, 0.2], axis: -y, damping: 0.2}
motors:
  drive: {joint: hinge, limit: 50}
frames:
  tool: {body: link, at: [0.6, 0, 0.1], axis: x}
  stand: {body: ground, at: [0, 0, 0.2], axis: y}
sensors:
  gyro: {type: imu, frame: tool}
  still: {type: imu, frame: stand}
  cell: {type: wrench, joint: hinge, frame: tool}
parameters:
  mass: body.link.mass
"""


@pytest.fixture(scope="module")
def swing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[RosProcess, Client, Path]]:
    folder = tmp_path_factory.mktemp("swing")
    path = folder / "swing.yaml"
    path.write_text(ARM)
    domain = new_domain()
    parameters = ["poses=link tool", "imus=tool", "reactions=*", "outputs=energy body.link.position"]
    parameters += ["frame_prefix=left/", "tf=*", "wrench_on=tool", "live_gravity=true", "diagnostics_rate=10"]
    arguments = [str(path), "--mode", "lock_step", "--record", str(folder / "run.mcap")]
    with (
        node(
            domain, *arguments, "--param", *parameters, "--ros-args", "-p", "parameter.mass:=3.0"
        ) as process,
        Client(domain) as client,
    ):
        client.ready(process)
        yield process, client, folder


def test_poses_twists_reactions_sensors_and_outputs_are_those_of_the_engine(swing: Any) -> None:
    process, client, folder = swing
    kinds = {
        "pose/tool": PoseStamped,
        "twist/tool": TwistStamped,
        "imu/tool": Imu,
        "reaction/hinge": WrenchStamped,
        "imu/gyro": Imu,
        "imu/still": Imu,
        "reaction/cell": WrenchStamped,
    }
    kinds |= {"outputs": Float64MultiArray, "pose/link": PoseStamped}
    heard = {topic: client.collect(kind, topic) for topic, kind in kinds.items()}
    client.until(lambda: all(client.node.count_publishers(t) for t in kinds), "the topics")
    client.spin(0.3)
    twin = Simulation(str(folder / "swing.yaml"), parameters={"mass": 3.0})
    for k in range(40):
        client.commands.publish(torques(5.0))
        twin.set_inputs([5.0])
        twin.step(1e-3)
        client.until(lambda n=k + 1: len(client.states) >= n, "a state")
    client.until(
        lambda: all(got and number(got[-1]) in (0.04, None) for got in heard.values()), "the last period"
    )
    out = twin.outputs()
    speed = out["joint.hinge.velocity"]
    pose, twist = heard["pose/tool"][-1], heard["twist/tool"][-1]
    assert pose.header.frame_id == "left/ground"
    link = out["body.link.position"]
    here = np.array([pose.pose.position.x, pose.pose.position.y, pose.pose.position.z])
    from_engine, turn = twin.body_poses()["link"][1], twin.body_poses()["link"][0]
    frame = twin.mechanism.frames[0]
    assert here == pytest.approx(from_engine + turn @ np.array(frame.at), abs=1e-12)
    velocity = np.array([twist.twist.linear.x, twist.twist.linear.y, twist.twist.linear.z])
    w = out["body.link.angular_velocity"]
    assert velocity == pytest.approx(out["body.link.velocity"] + np.cross(w, here - link), abs=1e-12)
    # An inertial sensor feels its acceleration less gravity, in its own axes.
    imu = heard["imu/tool"][-1]
    assert imu.header.frame_id == "left/tool"
    felt = np.array([imu.linear_acceleration.x, imu.linear_acceleration.y, imu.linear_acceleration.z])
    dw = out["body.link.angular_acceleration"]
    a = out["body.link.acceleration"] + np.cross(dw, here - link) + np.cross(w, np.cross(w, here - link))
    assert np.linalg.norm(felt) == pytest.approx(np.linalg.norm(a + np.array([0, 0, 9.81])), abs=1e-10)
    assert abs(imu.angular_velocity.x + imu.angular_velocity.y + imu.angular_velocity.z) == pytest.approx(
        abs(speed), abs=1e-10
    )
    # Sensors of the description need no parameter: they tell their outputs, in their frames.
    gyro, still, cell = (heard[topic][-1] for topic in ("imu/gyro", "imu/still", "reaction/cell"))
    assert (gyro.header.frame_id, still.header.frame_id) == ("left/tool", "left/stand")
    assert cell.header.frame_id == "left/tool"
    for message, told in (
        (gyro.linear_acceleration, "sensor.gyro.specific_force"),
        (gyro.angular_velocity, "sensor.gyro.angular_rate"),
        (still.linear_acceleration, "sensor.still.specific_force"),
        (still.angular_velocity, "sensor.still.angular_rate"),
        (cell.wrench.force, "sensor.cell.force"),
        (cell.wrench.torque, "sensor.cell.torque"),
    ):
        assert [message.x, message.y, message.z] == pytest.approx(list(out[told]), abs=1e-12), told
    for a, b in ((gyro, imu), (gyro, pose.pose)):  # the same place asked by a parameter
        assert [getattr(a.orientation, k) for k in "wxyz"] == pytest.approx(
            [getattr(b.orientation, k) for k in "wxyz"], abs=1e-12
        )
    assert [gyro.linear_acceleration.x, gyro.linear_acceleration.z] == pytest.approx(
        [imu.linear_acceleration.x, imu.linear_acceleration.z], abs=1e-10
    )
    here_too = [getattr(still.orientation, k) for k in "wxyz"]
    assert here_too == pytest.approx(list(twin.mechanism.frames[1].orientation), abs=1e-12)
    # The reaction is in the child's axes.
    wrench = heard["reaction/hinge"][-1]
    assert wrench.header.frame_id == "left/link"
    force = np.array([wrench.wrench.force.x, wrench.wrench.force.y, wrench.wrench.force.z])
    assert turn @ force == pytest.approx(out["reaction.hinge.force"], abs=1e-9)
    names = [item["name"] for item in json.loads(client.latched(String, "output_names").data)]
    assert names == ["energy", *(f"body.link.position[{k}]" for k in (1, 2, 3))]
    assert list(heard["outputs"][-1].data) == pytest.approx([out["energy"], *link], abs=1e-12)
    assert "tf2_msgs is not installed" in process.output or client.node.count_publishers("/tf")


def number(message: Any) -> float | None:
    return round(stamp(message), 9) if hasattr(message, "header") else None


def test_gravity_parameters_and_a_push_change_while_it_runs(swing: Any) -> None:
    _, client, folder = swing
    assert not client.set_parameter("parameter.mass", -1.0).successful
    assert client.set_parameter("parameter.mass", 2.5).successful
    assert client.set_parameter("parameter.gravity", [0.0, 0.0, -1.62]).successful
    assert client.call("reset").success  # as it was made: with the values it was started with
    assert client.set_parameter("parameter.gravity", [0.0, 0.0, 0.0]).successful
    push = client.node.create_publisher(WrenchStamped, "wrench", 1)
    client.until(push.get_subscription_count, "the node")
    message = WrenchStamped()
    message.header.frame_id = "left/tool"
    message.wrench.force.z = 4.0

    def pushed() -> float:
        """The speed after one more period: of nothing moved, zero until the push is heard."""
        push.publish(message)
        client.spin(0.05)
        client.states.clear()
        client.commands.publish(torques(0.0))
        client.until(lambda: client.states, "a state")
        return client.states[-1].velocity[0]

    acceleration = client.until(pushed, "the push") / 1e-3
    twin = Simulation(str(folder / "swing.yaml"), parameters={"mass": 3.0}, gravity=0.0)
    frame = twin.mechanism.frames[0]
    R, p = twin.body_poses()["link"]
    w, x, y, z = frame.orientation
    axis = np.array([2 * (x * z + w * y), 2 * (y * z - w * x), 1 - 2 * (x * x + y * y)])
    at = R @ np.array(frame.at) + p - np.array([0.1, 0, 0.2])
    torque = np.cross(at, R @ axis * 4.0) @ np.array([0, -1, 0])
    inertia = 0.02 + 3.0 * float(np.sum((np.array([0.3, 0, 0]) - [0.1, 0, 0.2]) ** 2))
    assert acceleration == pytest.approx(torque / inertia, rel=1e-3)
    message.header.frame_id = "elsewhere"
    before = int(client.diagnostics()["commands refused"])
    push.publish(message)
    client.until(lambda: int(client.diagnostics()["commands refused"]) > before, "a refusal")


def test_what_was_recorded_is_read_by_others_and_replayed_to_the_same_motion(swing: Any) -> None:
    from rosbags.highlevel import AnyReader

    if version("rosbags").startswith("0.10."):
        pytest.skip("rosbags reads a file without its folder from 0.11 on, which needs NumPy 2")
    process, client, folder = swing
    for _ in range(200):
        client.commands.publish(torques(3.0))
    client.until(lambda: client.states and stamp(client.states[-1]) > 0.2, "time")
    assert process.stop(signal.SIGINT) == 0, process.output
    with AnyReader([folder / "run.mcap"]) as reader:
        counts = {c.topic: c.msgcount for c in reader.connections}
        states = [
            reader.deserialize(data, c.msgtype)
            for c, _, data in reader.messages()
            if c.topic == "/joint_states"
        ]
    done = again(str(folder / "run.mcap"))
    assert done.periods == counts["/cutjoint/inputs"] > 240
    assert len(states) == counts["/joint_states"] == done.states >= done.periods
    assert counts["/outputs"] == counts["/pose/tool"] == len(states)
    assert (done.position, done.velocity) == (0.0, 0.0)
    assert states[-1].name == ["hinge"] and np.isfinite(states[-1].position).all()


@pytest.mark.parametrize("mode, paused", [("real_time", ()), ("fast", ()), ("paused", (False,))])
def test_a_files_time_is_that_of_the_stamps_in_it(
    mode: str, paused: tuple[bool, ...], tmp_path: Path
) -> None:
    """Foxglove looks transforms up by the file's time: they did not move, and plots were empty."""
    times = recorded_times(mode, paused, tmp_path / "run.mcap")
    assert max(abs(1e-9 * at - stamped) for at, stamped in times) < 1.0


def test_a_recording_keeps_its_clock_through_a_pause(tmp_path: Path) -> None:
    """Stamps of a node that stands still are of simulated time, but not in the middle of others."""
    times = recorded_times("real_time", (True, False), tmp_path / "run.mcap")
    assert max(abs(1e-9 * at - stamped) for at, stamped in times) < 1.0
    assert times[-1][1] - times[0][1] < 600.0


def recorded_times(mode: str, paused: tuple[bool, ...], file: Path) -> list[tuple[int, float]]:
    """The file's time and the stamp of each joint state, of a node that is paused and goes on so."""
    from mcap.reader import make_reader
    from mcap_ros2.decoder import DecoderFactory

    domain = new_domain()
    arguments = ["double_pendulum", "--no-compile", "--mode", mode, "--record", str(file)]
    with node(domain, *arguments) as process, Client(domain) as client:
        client.ready(process)
        for pause in (*paused, None):
            count = len(client.states)
            client.until(lambda count=count: len(client.states) > count + 5, "joint states")
            assert pause is None or client.call("pause", pause).success
        client.until(lambda: len(client.states) > 20, "joint states")
        assert process.stop() == 0, process.output
    with file.open("rb") as stream:
        reader = make_reader(stream, decoder_factories=[DecoderFactory()])
        states = reader.iter_decoded_messages(topics=["/joint_states"], log_time_order=False)
        times = [(message.log_time, stamp(state)) for _, _, message, state in states]
    assert len(times) > 20 and times == sorted(times)
    return times


# -- life ------------------------------------------------------------------------------------------


def test_a_lifecycle_manager_configures_activates_and_deactivates_it() -> None:
    domain = new_domain()
    arguments = ["double_pendulum", "--no-compile", "--param", "autostart=false", "diagnostics_rate=20"]
    with node(domain, *arguments) as process, Client(domain) as client:
        process.says("waits to be configured")
        change = client.node.create_client(ChangeState, "cutjoint/change_state")
        ask = client.node.create_client(GetState, "cutjoint/get_state")
        impossible = Transition(id=Transition.TRANSITION_ACTIVATE)
        assert client.first_answer(ask, GetState.Request()).current_state.label == "unconfigured"
        assert not client.first_answer(change, ChangeState.Request(transition=impossible)).success

        def call(service: Any, request: Any) -> Any:
            future = service.call_async(request)
            client.until(future.done, "an answer")
            return future.result()

        def to(transition: int) -> str:
            assert call(change, ChangeState.Request(transition=Transition(id=transition))).success
            return str(call(ask, GetState.Request()).current_state.label)

        def refused(transition: int) -> None:
            """Not possible in this state: it was never answered."""
            asked = Transition(id=transition)
            assert not call(change, ChangeState.Request(transition=asked)).success

        refused(Transition.TRANSITION_CLEANUP)
        process.says("is not possible while it is unconfigured")
        assert to(Transition.TRANSITION_CONFIGURE) == "inactive"
        refused(Transition.TRANSITION_DEACTIVATE)
        refused(200)
        before = client.simulated_time()
        client.spin(0.2)
        assert client.simulated_time() == before == 0
        assert to(Transition.TRANSITION_ACTIVATE) == "active"
        client.until(lambda: client.simulated_time() > 0, "time")
        assert to(Transition.TRANSITION_DEACTIVATE) == "inactive"
        before = client.simulated_time()
        client.spin(0.2)
        assert client.simulated_time() == before
        assert to(Transition.TRANSITION_CLEANUP) == "unconfigured"
        client.until(lambda: not client.node.count_publishers("joint_states"), "no joint states")
        assert to(Transition.TRANSITION_CONFIGURE) == "inactive"
        assert to(Transition.TRANSITION_ACTIVATE) == "active"
        client.until(lambda: client.simulated_time() > 0, "time from the start")
        assert client.call("reset").success
        named = dict(client.node.get_service_names_and_types())
        ours = [name for name in named if name.endswith("/reset")]
        assert len(ours) == 1 and ours[0].endswith("/cutjoint/reset"), "each service has one name"
        assert process.stop() == 0, process.output


# -- several robots -----------------------------------------------------------------------------------


def test_three_robots_share_a_graph_and_one_clock_with_poses_of_their_own() -> None:
    """Two platforms and an arm: one publishes /clock, the others follow it; a second clock is refused."""
    domain = new_domain()
    robots = {"left": "stewart", "right": "stewart", "arm": "arm"}
    places = {"left": "0 0 0", "right": "2 0 0", "arm": "1 1.5 0"}
    bodies = {"left": "platform", "right": "platform", "arm": "link6"}
    made: list[RosProcess] = []
    try:
        with Client(domain) as client:
            heard: dict[str, list[Any]] = {}
            for k, (name, mechanism) in enumerate(robots.items()):
                body = Simulation(mechanism, compile=False).mechanism.bodies[-1].name
                bodies[name] = body
                heard[name] = client.collect(PoseStamped, f"/{name}/pose/{body}")
                parameters = [f"poses={body}", f"frame_prefix={name}/", f"placed_at={places[name]}", "tf=*"]
                parameters += (
                    ["publish_clock=true", "hold=false"] if k == 0 else ["mode=follow_clock", "hold=false"]
                )
                words = [mechanism, "--param", *parameters, "--ros-args", "-r", f"__ns:=/{name}"]
                made.append(node(domain, *words))
                made[-1].says(" Hz, inputs")
            clocks = client.collect(Clock, "/clock")
            client.until(
                lambda: len(clocks) > 20 and all(len(x) > 20 for x in heard.values()), "poses of all"
            )
            assert client.node.count_publishers("/clock") == 1
            for name, mechanism in robots.items():
                pose = heard[name][-1]
                assert pose.header.frame_id == f"{name}/ground"
                assert_pose(mechanism, bodies[name], pose, first(heard[name]) if name != "left" else 0.0)
            second = subprocess.run(
                [*CUTJOINT, "node", "double_pendulum", "--no-compile", "--clock"],
                env=environment(domain),
                capture_output=True,
                text=True,
                timeout=PATIENCE,
            )
            assert second.returncode == 2
            assert re.search("(/left/cutjoint|another node) publishes /clock already", second.stderr)
    finally:
        for process in made:
            process.__exit__()
    assert all("Traceback" not in str(process) for process in made)


def first(poses: list[Any]) -> float:
    """Time of the earliest message that was heard."""
    return stamp(poses[0])


def assert_pose(mechanism: str, body: str, message: Any, begin: float) -> None:
    """The pose after a fall, against the engine, to 1e-9; followers begin when they first hear the clock."""
    at, p = stamp(message), message.pose.position
    here = np.array([p.x, p.y, p.z])
    simulation = Simulation(mechanism)
    best = np.inf
    for _ in range(round(at * 1000)):
        simulation.step(1e-3)
        best = min(best, float(np.abs(simulation.outputs()[f"body.{body}.position"] - here).max()))
    start = float(np.abs(Simulation(mechanism).outputs()[f"body.{body}.position"] - here).max())
    assert min(best, start) < 1e-9


# -- Ctrl-C while it starts ------------------------------------------------------------------------------


def interrupted(tmp_path: Path, delay: float, domain: int) -> tuple[float, float, str, int]:
    """Start with an empty cache, send SIGINT after a while.

    Returns seconds until it ended, those of them on a processor, its output and code.
    """
    cache = tmp_path / f"cache{delay:.3f}"
    env = {**environment(domain), "CUTJOINT_CACHE": str(cache), "TMPDIR": str(tmp_path)}
    log = tmp_path / "log"
    with log.open("w") as file:
        process = subprocess.Popen(
            [*CUTJOINT, "node", "stewart"],
            env=env,
            stdout=file,
            stderr=subprocess.STDOUT,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )
        time.sleep(delay)
        begin, before = time.monotonic(), worked(process.pid)
        process.send_signal(signal.SIGINT)
        worth = before
        while process.poll() is None and time.monotonic() < begin + PATIENCE:
            worth = max(worth, worked(process.pid))
            time.sleep(0.003)
        code = process.wait(0)
    took = time.monotonic() - begin
    children = subprocess.run(["pgrep", "-f", str(tmp_path)], capture_output=True, text=True).stdout
    assert not children.strip(), f"left running: {children}"
    return took, worth - before, log.read_text(), code


def worked(pid: int) -> float:
    """Seconds of processor time that a process has used, without the compilers it runs."""
    try:
        words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def test_ctrl_c_during_the_first_compilation_takes_the_compiler_along(tmp_path: Path) -> None:
    domain = new_domain()
    before = shared_ports(domain)
    env = {**environment(domain), "CUTJOINT_CACHE": str(tmp_path / "cache"), "TMPDIR": str(tmp_path)}
    process = subprocess.Popen(
        [*CUTJOINT, "node", "stewart"],
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    assert process.stdout is not None
    line = next(line for line in process.stdout if "building 'runge_kutta" in line)
    assert "stewart: building" in line
    process.send_signal(signal.SIGINT)
    process.wait(PATIENCE)
    assert process.returncode in (0, 130)
    left = subprocess.run(["pgrep", "-f", str(tmp_path)], capture_output=True, text=True).stdout
    assert not left.strip(), left
    assert not [p for p in tmp_path.iterdir() if p.name != "cache"]
    assert shared_ports(domain) <= before


def test_a_second_process_waits_for_the_same_build(tmp_path: Path) -> None:
    code = "import logging, sys; logging.basicConfig(level=20, stream=sys.stdout);"
    code += "from cutjoint import Simulation;"
    code += "s = Simulation('fourbar'); s.step(1e-3); s.output_vector()"
    env = {**os.environ, "CUTJOINT_CACHE": str(tmp_path)}
    words = [sys.executable, "-c", code]
    pair = [subprocess.Popen(words, env=env, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    said = [process.communicate(timeout=PATIENCE)[0] for process in pair]
    built = [line.split("'")[1] for text in said for line in text.splitlines() if ":built" in line]
    assert built and len(built) == len(set(built)), "nothing is built twice"


@pytest.mark.study
def test_sigint_at_random_moments_of_the_start(tmp_path: Path) -> None:
    domain, random_ = new_domain(), random.Random(20)
    worst = most = 0.0
    for _ in range(20):
        took, worth, output, code = interrupted(tmp_path, random_.uniform(0.0, 10.0), domain)
        worst, most = max(worst, took), max(most, worth)
        last = output.strip().splitlines()[-1] if output.strip() else ""
        print(f"{took:.2f} s, {worth:.2f} s of them busy, exit code {code}: {last}")
        early = "importlib" in output  # Python itself, before any line of ours
        assert early or "Traceback" not in output, output
        assert not [p for p in tmp_path.iterdir() if not p.name.startswith(("cache", "log"))]
    print(f"longest {worst:.2f} s, busiest {most:.2f} s")
    assert most < 1.0  # seconds of work: how long it takes depends on what else the machine does
    assert not shared_ports(domain)


@pytest.mark.study
@pytest.mark.parametrize("mode", ["fast", "real_time"])
def test_a_minute_at_1_khz_is_recorded_without_loss_and_replayed(mode: str, tmp_path: Path) -> None:
    """A minute under changing torques, as fast as it goes or by the clock: each period and state is there."""
    from rosbags.highlevel import AnyReader

    domain, file = new_domain(), tmp_path / "minute.mcap"
    arguments = ["stewart", "--mode", mode, "--clock", "--record", str(file)]
    with (
        node(domain, *arguments, "--param", "joint_state_rate=0", "diagnostics_rate=5") as process,
        Client(domain) as client,
    ):
        client.ready(process)
        generator = np.random.default_rng(6)
        while client.simulated_time() < 60.0:
            client.commands.publish(torques(*generator.uniform(-20, 20, 3)))
        assert process.stop() == 0, process.output
        periods = int(re.findall(r"(\d+) periods", process.output)[-1])
    with AnyReader([file]) as reader:
        counts = {c.topic: c.msgcount for c in reader.connections}
        stamps = [
            reader.deserialize(data, c.msgtype).header.stamp
            for c, _, data in reader.messages()
            if c.topic == "/joint_states"
        ]
    times = np.array([s.sec * 10**9 + s.nanosec for s in stamps])
    assert counts["/cutjoint/inputs"] == counts["/joint_states"] == periods >= 60_000
    assert (np.diff(times) == 10**6).all()
    done = again(str(file))
    print(f"{periods} periods; replayed with differences {done.position:.3g}, {done.velocity:.3g}")
    assert done.periods == periods and (done.position, done.velocity) == (0.0, 0.0)
