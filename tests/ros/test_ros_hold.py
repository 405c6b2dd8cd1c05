"""The node as somebody first meets it: it holds its pose, follows what it can and refuses the rest."""

from __future__ import annotations

import socket
import subprocess
import time
from array import array
from collections.abc import Iterator, Sequence
from math import pi
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy can't be imported: no ROS 2, and no wheels for this platform")

from builtin_interfaces.msg import Duration
from cutjoint import CutjointError, Simulation, list_examples
from cutjoint.model.control.computed_torque import Drives, Wanted
from cutjoint.model.control.joint_values import JointValues
from cutjoint.model.control.packets import COMMAND, STATE, Packet, pack, unpack
from cutjoint.model.equations.topology import span
from cutjoint.model.loading import read
from cutjoint.ros.loop import Loop
from cutjoint.ros.settings import Settings
from cutjoint.ros.trajectory_interpolation import Point
from processes import CUTJOINT, PATIENCE
from ros_client import Client, JointState, RosProcess, environment, new_domain, node
from silent_outlet import Silent
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

Pair = tuple[RosProcess, Client]
NAN = float("nan")

# A bar on a hinge that is cut, and a lid that a cylinder lifts.
CUT = """
name: cut
bodies:
  crank: {mass: 1, com: [0.1, 0, 0]}
  coupler: {mass: 2, com: [0.4, 0, 0.2]}
  rocker: {mass: 1.5, com: [0.8, 0, 0.2]}
joints:
  motor: {type: revolute, parent: ground, child: crank, at: [0, 0, 0], axis: y, cut: true}
  pin1: {type: revolute, parent: crank, child: coupler, at: [0.2, 0, 0], axis: y}
  pin2: {type: revolute, parent: coupler, child: rocker, at: [0.8, 0, 0.4], axis: y}
  foot: {type: revolute, parent: ground, child: rocker, at: [0.8, 0, 0], axis: y}
motors:
  drive: {joint: motor, limit: 100}
"""
LID = """
name: lid
bodies:
  lid: {mass: 5, com: [0.4, 0, 0], inertia: [0.1, 0.1, 0.1]}
joints:
  hinge: {type: revolute, parent: ground, child: lid, at: [0, 0, 0], axis: -y}
cylinders:
  lift: {body1: ground, point1: [0.4, 0, -0.5], body2: lid, point2: [0.4, 0, 0], damping: 3, limit: 500}
"""


def trajectory(joints: Sequence[str], goal: Sequence[float], seconds: float) -> JointTrajectory:
    after = Duration(sec=int(seconds), nanosec=round(1e9 * (seconds % 1)))
    point = JointTrajectoryPoint(positions=array("d", goal), time_from_start=after)
    return JointTrajectory(joint_names=list(joints), points=[point])


def value(client: Client, name: str, what: str = "position") -> float:
    state = client.states[-1]
    return float(getattr(state, what)[state.name.index(name)])


def forces(*values: float) -> Float64MultiArray:
    return Float64MultiArray(data=array("d", values))


# -- as fast as possible: a fault and its end, a motor on a cut joint --------------------------------


@pytest.fixture
def cut(tmp_path: Path) -> Iterator[Pair]:
    path = tmp_path / "cut.yaml"
    path.write_text(CUT)
    domain = new_domain()
    arguments = [str(path), "--mode", "fast", "--param", "diagnostics_rate=10", "joint_state_rate=50"]
    with node(domain, *arguments) as process, Client(domain) as client:
        client.ready(process)
        yield process, client
        assert process.stop() == 0, process.output


def test_a_motor_on_a_cut_joint_holds_and_turns_without_jumps(cut: Pair) -> None:
    client = cut[1]
    client.until(lambda: client.states, "joint states")
    assert [joint.name for joint in span(read(CUT, "cut.yaml")).cuts] == ["motor"]
    assert value(client, "motor") == pytest.approx(0.0, abs=1e-9)
    publisher = client.node.create_publisher(JointTrajectory, "joint_trajectory", 1)
    client.until(publisher.get_subscription_count, "the node")
    client.states.clear()
    publisher.publish(trajectory(["motor"], [-6 * pi - 0.5], 12.0))
    client.until(lambda: client.states and abs(value(client, "motor") + 6 * pi + 0.5) < 1e-3, "three turns")
    steps = np.diff([s.position[s.name.index("motor")] for s in client.states])
    assert np.abs(steps).max() < 1.0  # some states may be lost on the way, at most 0.05 rad apart each


def test_reset_ends_a_fault_and_parameters_show_what_is() -> None:
    domain = new_domain()
    arguments = ["fourbar", "--mode", "fast", "--rate", "10", "--param", "diagnostics_rate=10"]
    arguments += ["command_timeout=0", "substeps=1"]  # rough steps that strong torques break
    with node(domain, *arguments) as process, Client(domain) as client:
        client.ready(process)
        assert mode(client) == "fast"
        client.until(lambda: client.commands.publish(forces(1e4)) or mode(client) == "paused", "a fault")
        assert client.diagnostics()["level"] == "2"
        refused = client.set_parameter("mode", "fast")
        assert not refused.successful and "call 'reset' first" in refused.reason
        assert not client.call("pause", False).success
        assert client.call("reset").success
        assert mode(client) == "fast" and client.diagnostics()["level"] == "0"
        before = client.simulated_time()
        client.until(lambda: client.simulated_time() > before, "time")
        # A pause that the user wanted is no fault, and stays.
        assert client.call("pause", True).success and mode(client) == "paused"
        assert client.call("reset").success and mode(client) == "paused"
        assert client.call("pause", False).success and mode(client) == "fast"
        assert process.stop() == 0, process.output


def mode(client: Client) -> str:
    from rcl_interfaces.srv import GetParameters

    asking = client.node.create_client(GetParameters, "cutjoint/get_parameters")
    client.until(asking.service_is_ready, "parameter service")
    future = asking.call_async(GetParameters.Request(names=["mode"]))
    client.until(future.done, "the mode")
    client.node.destroy_client(asking)
    return str(future.result().values[0].string_value)


# -- lock-step: a cylinder, and commands that come too fast -------------------------------------------


def test_a_cylinder_tells_length_speed_and_force_and_follows(tmp_path: Path) -> None:
    path = tmp_path / "lid.yaml"
    path.write_text(LID)
    domain = new_domain()
    with (
        node(domain, str(path), "--mode", "lock_step", "--param", "diagnostics_rate=10") as process,
        Client(domain) as client,
    ):
        client.ready(process)
        twin = Simulation(str(path))
        for k in range(20):
            client.commands.publish(forces(100.0))
            twin.set_inputs([100.0])
            twin.step(1e-3)
            client.until(lambda n=k + 1: len(client.states) >= n, "a state")
        angle = twin.outputs()["joint.hinge.position"]
        tip = np.array([0.4 * np.cos(angle), 0.4 * np.sin(angle)]) - [0.4, -0.5]
        length = float(np.hypot(*tip))
        speed = (
            twin.outputs()["joint.hinge.velocity"] * (tip[1] * np.cos(angle) - tip[0] * np.sin(angle)) * 0.4
        )
        speed /= length
        assert list(client.states[-1].name) == ["hinge", "lift"]
        assert value(client, "lift") == pytest.approx(length, abs=1e-12)
        assert value(client, "lift", "velocity") == pytest.approx(speed, abs=1e-12)
        assert value(client, "lift", "effort") == pytest.approx(100.0 - 3 * speed, abs=1e-10)
        # A length can be commanded, too.
        for k in range(600):
            client.joint_commands.publish(JointState(name=["lift"], position=[0.6]))
            client.until(lambda n=k + 21: len(client.states) >= n, "a state")
        assert value(client, "lift") == pytest.approx(0.6, abs=1e-3)
        burst = 3000
        for _ in range(burst):
            client.commands.publish(forces(0.0))

        def counted() -> dict[str, str] | None:
            health = client.diagnostics()
            whole = int(health["commands received"]) + int(health["commands lost"]) == 620 + burst
            return health if whole else None

        health = client.until(counted, "every command of the burst to be obeyed or counted as lost")
        if int(health["commands lost"]):
            assert "commands came faster than they could be obeyed" in process.output
        assert process.stop() == 0, process.output


# -- without a process --------------------------------------------------------------------------------


def looped(name: str, **settings: Any) -> Loop:
    given = {"mechanism": name, "mode": "fast", "command_timeout": 0.0, **settings}
    read = Settings.read(given)
    return Loop(Simulation(name, compile=None if read.compile else False), read, Silent())


def test_a_cylinder_tells_a_device_length_rate_and_force(tmp_path: Path) -> None:
    path = tmp_path / "lid.yaml"
    path.write_text(LID)
    loop = looped(str(path), udp="127.0.0.1:0", compile=False)
    assert loop.link is not None
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as device:
        device.settimeout(10)
        device.sendto(pack(Packet(COMMAND, 1, 0, 0.0, 0.0, (100.0,))), loop.link.address)
        heard = 0
        while heard < 20:  # the loopback needs a moment
            loop.advance()
            heard += loop.link.counts.received
        states = [unpack(device.recv(2048), STATE) for _ in range(heard)]
    loop.link.close()
    out, state = loop.simulation.outputs(), states[-1]
    assert state is not None
    (length,), (rate,), (force,) = state.parts
    angle, tip = out["joint.hinge.position"], np.array([0.4, -0.5])
    arm = np.array([0.4 * np.cos(angle), 0.4 * np.sin(angle)]) - tip
    assert length == pytest.approx(float(np.hypot(*arm)), abs=1e-12)
    across = arm[1] * np.cos(angle) - arm[0] * np.sin(angle)
    assert rate == pytest.approx(0.4 * out["joint.hinge.velocity"] * across / length, abs=1e-12)
    assert force == pytest.approx(100.0 - 3 * rate, abs=1e-10)


def test_slow_periods_hold_as_well() -> None:
    """Torques that are held for a tenth of a second must not push more stiffly than that allows."""
    loop = looped("fourbar", rate=10)
    for _ in range(100):
        loop.advance()
    loop.values.read()
    assert not loop.fault and loop.drives.position == pytest.approx([0.0], abs=1e-9)


def test_time_is_counted_and_not_summed() -> None:
    loop = looped("double_pendulum", rate=3000)
    for _ in range(3000 * 2):
        loop.advance()
    assert loop.nanoseconds == 2 * 10**9 and loop.time == 2.0


QUICK = ("arm", "fourbar", "mcpherson", "bicycle", "stewart", "double_pendulum")
EVERY = [name if name in QUICK else pytest.param(name, marks=pytest.mark.study) for name in list_examples()]


# Between two periods what swings pulls (a wheel on its spring, a platform in its cables); servos are springs.
GIVES_WAY = {"mcpherson": 1e-4, "cable_platform": 1e-6, "servo_stewart": 1e-3}


@pytest.mark.parametrize("name", EVERY)
def test_every_example_with_inputs_is_held_at_rest(name: str) -> None:
    simulation = Simulation(name)
    values = JointValues(simulation)
    values.read()
    drives = Drives(simulation, values, 20.0)
    try:
        wanted = drives.held()
    except CutjointError as problem:
        assert name in {"double_pendulum", "fivebar", "rolling_disc", "bicycle"} and name in str(problem)
        return
    start = drives.position.copy()
    for _ in range(300):
        simulation.set_inputs(drives.forces(wanted, 20.0))
        simulation.step(1e-3)
    values.read()
    off = np.abs(drives.position - start) / drives.sizes
    assert off.max() < GIVES_WAY.get(name, 1e-12)


def test_winches_pull_what_they_are_told_and_never_push() -> None:
    """Their range is from minus the limit to zero."""
    simulation = Simulation("cable_platform", compile=False)
    values = JointValues(simulation)
    values.read()
    drives = Drives(simulation, values, 20.0)
    told = Wanted.forces(np.array([-120.0, 30.0]))
    assert drives.forces(told, 20.0).tolist() == [-120.0, 0.0]
    assert drives.forces(Wanted.forces(np.array([-1e3, -1e3])), 20.0).tolist() == [-200.0, -200.0]
    held = drives.forces(drives.held(), 20.0)  # the platform hangs off to their side
    assert (held < -1.0).all() and (held > -200.0).all()


def test_forces_agree_with_inverse_dynamics_and_stay_below_their_bounds() -> None:
    simulation = Simulation("stewart")
    values = JointValues(simulation)
    drives = Drives(simulation, values, 20.0)
    random = np.random.default_rng(4)
    simulation.set_inputs(50 * random.random(3))
    simulation.run(0.05)
    a = random.normal(size=3)
    values.read()
    wanted = Wanted.positions(drives.position)._replace(rate=drives.velocity, acceleration=a)
    expected = simulation.inverse_dynamics({f"motor{k + 1}": x for k, x in enumerate(a)})
    assert drives.forces(wanted, 20.0) == pytest.approx(expected, rel=1e-9)
    far = wanted._replace(acceleration=1e9 * a)
    assert (np.abs(drives.forces(far, 20.0)) == 200.0).all()


def fallen(name: str, fall: float, rate: float) -> tuple[str, Loop]:
    """The natural first experiment: let it fall, publish one point; what became of it."""
    loop = looped(name, rate=rate, hold=False)
    goal = loop.drives.position + 0.1 * loop.drives.sizes
    for _ in range(round(fall * rate)):
        loop.advance()
    verdict = "reached"
    try:
        loop.trajectories.take(loop.drives.names, [Point(1.0, goal.tolist())])
    except CutjointError as problem:
        assert "it can't be followed: " in str(problem)
        verdict = "refused"
    for _ in range(round(1.5 * rate)):
        loop.advance()
    assert not loop.fault, (name, fall, rate, verdict, loop.fault)
    loop.values.read()
    off = np.abs(loop.drives.position - goal) / loop.drives.sizes
    assert verdict == "refused" or off.max() < 1e-3
    return verdict, loop


@pytest.mark.parametrize("fall", [0.5, 2.0])
def test_after_a_fall_a_goal_is_reached_or_refused(fall: float) -> None:
    verdict, loop = fallen("stewart", fall, 500.0)
    assert verdict == ("reached" if fall < 1 else "refused")
    assert np.abs(loop.simulation.u).max() <= 200.0


@pytest.mark.study
@pytest.mark.parametrize("rate", [500.0, 1000.0])
@pytest.mark.parametrize("name", list_examples())
def test_after_any_fall_a_goal_is_reached_or_refused(name: str, rate: float) -> None:
    if not Simulation(name).inputs:
        pytest.skip("nothing drives it")
    for fall in (0.0, 0.3, 1.0, 2.0, 5.0, 12.0, 30.0):
        begin = time.monotonic()
        verdict, _ = fallen(name, fall, rate)
        print(f"{name} {rate:g} Hz, {fall:g} s: {verdict} ({time.monotonic() - begin:.1f} s)")


def test_a_trajectory_that_can_not_be_followed_is_refused_with_a_sentence() -> None:
    loop = looped("stewart")
    with pytest.raises(
        CutjointError, match=r"'motor1' would be .* rad off its path after .* s with the 200 N·m"
    ):
        loop.trajectories.take(["motor1"], [Point(0.1, [2.0])])
    assert loop.trajectories.follower is None and loop.commands.holding  # it goes on holding
    with pytest.raises(CutjointError, match="there is no driven joint 'hinge1'"):
        loop.trajectories.take(["hinge1"], [Point(0.1, [2.0])])
    with pytest.raises(CutjointError, match="it was over 1 s ago"):
        for _ in range(2000):
            loop.advance()
        loop.trajectories.take(["motor1"], [Point(0.5, [0.1])], at=0.5)


# -- from the command line -----------------------------------------------------------------------------


def test_the_first_experiment_somebody_makes_ends_well() -> None:
    """It falls for two seconds, then gets a trajectory of one point: reached or refused, and no fault."""
    domain = new_domain()
    parameters = ["hold=false", "diagnostics_rate=10"]
    with node(domain, "stewart", "--param", *parameters) as process, Client(domain) as client:
        client.ready(process)
        publisher = client.node.create_publisher(JointTrajectory, "joint_trajectory", 1)
        client.until(publisher.get_subscription_count, "the node")
        client.until(lambda: client.simulated_time() > 2.0, "a fall")
        publisher.publish(trajectory(["motor1", "motor2", "motor3"], [0.1] * 3, 1.0))

        def over() -> bool:
            near = all(abs(value(client, f"motor{k}") - 0.1) < 1e-3 for k in (1, 2, 3))
            return near or "trajectory refused: it can't be followed" in process.output

        client.until(over, "the goal, or a refusal")
        assert client.diagnostics()["level"] != "2" and "time stands still" not in process.output
        assert max(abs(x) for x in client.states[-1].effort) <= 200.0
        assert process.stop() == 0, process.output


def test_a_parameter_that_there_is_not_is_refused_with_the_nearest() -> None:
    words = [*CUTJOINT, "node", "double_pendulum", "--no-compile", "--ros-args", "-p", "rates:=3"]
    done = subprocess.run(
        words, env=environment(new_domain()), capture_output=True, text=True, timeout=PATIENCE
    )
    assert done.returncode == 2 and "Traceback" not in done.stderr
    assert "rates" in done.stderr and "'rate'" in done.stderr
