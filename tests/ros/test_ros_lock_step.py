"""The node in lock-step, in a process of its own: the same commands give the same bits as the engine here."""

from __future__ import annotations

import json
from array import array
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from cutjoint import Simulation
from cutjoint.model.control.computed_torque import Drives
from cutjoint.model.control.joint_values import JointValues
from cutjoint.model.urdf.write_urdf import urdf
from ros_client import Client, JointState, RosProcess, eventually, new_domain, node, stamp
from std_msgs.msg import Float64MultiArray, String

STEP = 1.0 / 500
Pair = tuple[RosProcess, Client]


@pytest.fixture(scope="module")
def pair() -> Iterator[Pair]:
    domain = new_domain()
    arguments = ["--mode", "lock_step", "--rate", "500", "--ros-args", "-r", "__ns:=/left"]
    with node(domain, "stewart", *arguments) as process, Client(domain, "/left") as client:
        client.ready(process)
        yield process, client
        assert process.stop() == 0, process.output


class Twin:
    """The same simulation in this process."""

    def __init__(self, mechanism: str = "stewart") -> None:
        self.simulation = Simulation(mechanism)
        self.values = JointValues(self.simulation)
        self.values.read()

    def step(self, torques: list[float]) -> None:
        self.simulation.set_inputs(torques)
        self.simulation.step(STEP)
        self.values.read()

    def same(self, state: JointState) -> bool:
        return (
            round(stamp(state) / STEP) == round(self.simulation.time / STEP)
            and list(state.name) == list(self.values.names)
            and np.array_equal(np.array(state.position), self.values.position)
            and np.array_equal(np.array(state.velocity), self.values.velocity)
        )


def answer(client: Client, number: int) -> JointState:
    client.until(lambda: len(client.states) >= number, f"joint state {number}")
    return client.states[number - 1]


def reset(client: Client) -> Twin:
    """Back to the start here and there; the joint state that says so comes after all earlier ones."""
    client.states.clear()
    assert client.call("reset").success
    client.until(lambda: client.states and stamp(client.states[-1]) == 0, "the start")
    client.states.clear()
    return Twin()


def test_torques_move_it_exactly_as_the_engine_predicts(pair: Pair) -> None:
    client = pair[1]
    twin = reset(client)
    random = np.random.default_rng(8)
    for k in range(60):
        torques = random.uniform(-40, 40, 3).tolist()
        if k % 3 == 0:
            client.joint_commands.publish(
                JointState(name=["motor3", "motor1", "motor2"], effort=[torques[i] for i in (2, 0, 1)])
            )
        elif k % 3 == 1:  # ros2_control's topic hardware: all joints named, effort for driven ones only
            names = list(twin.values.names)
            client.joint_commands.publish(JointState(name=names, effort=torques))
        else:
            client.commands.publish(Float64MultiArray(data=array("d", torques)))
        twin.step(torques)
        state = answer(client, k + 1)
        assert twin.same(state), f"step {k}"
        assert list(state.effort[:3]) == torques
    assert len(client.states[0].name) == 6 + 9  # six hinges and three balls, cut ones too
    assert np.abs(np.array(client.states[-1].velocity)).max() > 0.01


def test_commands_sent_all_at_once_are_all_obeyed_in_order(pair: Pair) -> None:
    client = pair[1]
    twin = reset(client)
    for k in range(200):
        client.commands.publish(Float64MultiArray(data=array("d", [float(k % 7), -1.0, 2.0])))
        twin.step([float(k % 7), -1.0, 2.0])
    client.until(lambda: client.states and stamp(client.states[-1]) == pytest.approx(200 * STEP), "step 200")
    assert twin.same(client.states[-1])


def test_wrong_commands_are_refused_and_time_stands_still(pair: Pair) -> None:
    client = pair[1]
    reset(client)
    before = int(client.diagnostics()["commands refused"])
    nan = float("nan")
    for data in ([1.0], [1.0] * 4, [1.0, nan, 0.0], [float("inf"), 0.0, 0.0], []):
        client.commands.publish(Float64MultiArray(data=array("d", data)))
    for name, effort in (
        (["nobody"], [1.0]),
        (["motor1"], [float("inf")]),
        (["motor1", "motor2"], [1.0]),
        (["motor1"], []),
        (["hinge1"], [3.0]),
    ):
        client.joint_commands.publish(JointState(name=name, effort=effort))
    client.until(lambda: int(client.diagnostics()["commands refused"]) == before + 10, "ten refusals", 20)
    assert not client.states
    client.commands.publish(Float64MultiArray(data=array("d", [0.0, 0.0, 0.0])))
    assert np.isfinite(answer(client, 1).position).all()


def test_save_restore_step_and_reset(pair: Pair) -> None:
    client = pair[1]
    twin = reset(client)
    send = Float64MultiArray(data=array("d", [5.0, 0.0, -5.0]))
    for k in range(5):
        client.commands.publish(send)
        answer(client, k + 1)
    assert client.call("save_state").success
    for k in range(5, 10):
        client.commands.publish(send)
        answer(client, k + 1)
    first = client.states[9]
    assert client.call("restore_state").success
    back = answer(client, 11)
    assert back.position == client.states[4].position
    for k in range(11, 16):
        client.commands.publish(send)
        answer(client, k + 1)
    assert client.states[15].position == first.position
    assert client.states[15].velocity == first.velocity
    assert client.call("reset").success
    assert np.array_equal(np.array(answer(client, 17).position), twin.values.position)
    assert client.call("step").success  # one period, in which the start is held
    drives = Drives(twin.simulation, twin.values, 20.0)
    twin.step(drives.forces(drives.held(), 20.0).tolist())
    assert twin.same(answer(client, 18))
    assert not client.call("pause", True).success


def test_robot_description_is_latched_and_names_every_tree_joint(pair: Pair) -> None:
    text = pair[1].latched(String, "robot_description").data
    assert text == urdf(Twin().simulation.mechanism)


def test_linearize_publishes_a_latched_model(pair: Pair) -> None:
    client = pair[1]
    reset(client)
    done = client.call("linearize")
    assert done.success, done.message
    model = json.loads(client.latched(String, "linear_model").data)
    expected = Simulation("stewart").linearize()
    for name in ("A", "B", "C", "D"):
        assert np.allclose(model[name], getattr(expected, name), rtol=1e-9, atol=1e-9)


def test_a_bicycle_rolls_and_is_steered_over_ros() -> None:
    """Velocity constraints in the node: the engine's own bits, wheels that do not slip, a linear model."""
    domain = new_domain()
    arguments = ["--mode", "lock_step", "--rate", "500"]
    with node(domain, "bicycle", *arguments) as process, Client(domain) as client:
        client.ready(process)
        twin = Twin("bicycle")
        for k in range(100):
            torques = [0.5 if k < 50 else -0.5, 10.0]  # steer, drive
            client.commands.publish(Float64MultiArray(data=array("d", torques)))
            twin.step(torques)
            assert twin.same(answer(client, k + 1)), f"step {k}"
        last = dict(zip(client.states[-1].name, client.states[-1].velocity, strict=True))
        slip, size = twin.simulation.engine.slip(*(getattr(twin.simulation, x) for x in "qvsp"))
        assert np.abs(slip).max() < 1e-12 * size and last["rear_axle"] > 4.6 / 0.3
        assert client.call("linearize").success
        model = json.loads(client.latched(String, "linear_model").data)
        assert np.shape(model["A"]) == (7 + 3, 7 + 3)
        assert np.allclose(model["A"], twin.simulation.linearize().A, rtol=1e-9, atol=1e-9)
        assert process.stop() == 0, process.output


DRIVEN = """
name: driven
bodies:
  crank: {mass: 1, com: [0.1, 0, 0], inertia: [0.01, 0.01, 0.01]}
  bob: {mass: 0.5, com: [0.2, 0, -0.3], inertia: [0.01, 0.01, 0.01]}
joints:
  shaft: {type: revolute, parent: ground, child: crank, at: [0, 0, 0], axis: y}
  pin: {type: revolute, parent: crank, child: bob, at: [0.2, 0, 0], axis: y}
motors:
  shaft: {joint: shaft, drive: velocity}
"""


def test_a_driven_speed_is_followed_over_ros(tmp_path: Path) -> None:
    """The command is the motion that the description says: a shaft at constant speed, exactly."""
    (tmp_path / "driven.yaml").write_text(DRIVEN)
    domain = new_domain()
    arguments = ["--mode", "lock_step", "--rate", "500"]
    with node(domain, str(tmp_path / "driven.yaml"), *arguments) as process, Client(domain) as client:
        client.ready(process)
        twin = Twin(str(tmp_path / "driven.yaml"))
        for k in range(50):
            client.commands.publish(Float64MultiArray(data=array("d", [3.0, 0.0])))  # speed, acceleration
            twin.step([3.0, 0.0])
            assert twin.same(answer(client, k + 1)), f"step {k}"
        last = client.states[-1]
        speed = dict(zip(last.name, last.velocity, strict=True))["shaft"]
        effort = dict(zip(last.name, last.effort, strict=True))["shaft"]
        assert speed == pytest.approx(3.0, abs=1e-12)
        assert effort == pytest.approx(twin.simulation.outputs()["motor.shaft.effort"], rel=1e-9)
        assert process.stop() == 0, process.output


GRIPPER = """<robot name="gripper">
<link name="palm"/>
<link name="left-finger"><inertial><origin xyz="0.05 0 0"/><mass value="0.2"/>
  <inertia ixx="1e-4" iyy="4e-4" izz="4e-4" ixy="0" ixz="0" iyz="0"/></inertial>
  <visual><origin xyz="0.05 0 0"/><geometry><box size="0.1 0.02 0.02"/></geometry></visual></link>
<link name="right-finger"><inertial><origin xyz="0.05 0 0"/><mass value="0.2"/>
  <inertia ixx="1e-4" iyy="4e-4" izz="4e-4" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="left/knuckle" type="revolute"><parent link="palm"/><child link="left-finger"/>
  <axis xyz="0 1 0"/><limit lower="-2" upper="2" effort="5" velocity="1"/></joint>
<joint name="right/knuckle" type="revolute"><parent link="palm"/><child link="right-finger"/>
  <axis xyz="0 1 0"/><limit lower="-2" upper="2" effort="5" velocity="1"/>
  <mimic joint="left/knuckle" multiplier="-1"/></joint>
<transmission name="t"><joint name="left/knuckle"/></transmission></robot>"""


def test_the_first_answer_waits_for_whoever_asked() -> None:
    """Subscriptions are matched after a while only: an answer before that would be heard by nobody."""

    def check() -> None:
        domain = new_domain()
        with node(domain, "fourbar", "--mode", "lock_step") as process, Client(domain) as client:
            client.node.destroy_subscription(client.hears_states)
            client.until(client.commands.get_subscription_count, "the node")
            client.spin(1.0)  # until the node knows of us too; what is said before that is lost
            client.commands.publish(Float64MultiArray(data=[0.0]))
            client.spin(0.3)
            states = client.collect(JointState, "joint_states")
            client.until(lambda: states, "the answer", 10.0)
            assert process.stop() == 0, process.output

    eventually(check)


def test_nobody_need_listen_for_time_to_pass() -> None:
    domain = new_domain()
    with node(domain, "fourbar", "--mode", "lock_step") as process, Client(domain) as client:
        client.node.destroy_subscription(client.hears_states)
        client.until(client.commands.get_subscription_count, "the node")

        def passes() -> bool:
            """What is said before the node knows of us is lost, so it is said again."""
            client.commands.publish(Float64MultiArray(data=[0.0]))
            return client.simulated_time() > 2.5e-3

        client.until(passes, "three periods")
        assert process.stop() == 0, process.output


def test_a_robot_keeps_its_own_names_over_ros(tmp_path: Path) -> None:
    """A URDF with names that are no identifiers, a mimic joint and a shape: commands, states, description."""
    (tmp_path / "gripper.urdf").write_text(GRIPPER)
    domain = new_domain()
    path = str(tmp_path / "gripper.urdf")
    with node(domain, path, "--mode", "lock_step", "--rate", "500") as process, Client(domain) as client:
        client.ready(process)
        twin = Twin(path)
        for k in range(10):
            command = JointState(name=["left/knuckle"], effort=array("d", [0.3]))
            client.joint_commands.publish(command)
            twin.step([0.3])
            assert twin.same(answer(client, k + 1)), f"step {k}"
        state = client.states[-1]
        assert list(state.name) == ["left/knuckle", "right/knuckle"]
        assert state.position[0] == pytest.approx(-state.position[1], abs=1e-14) and state.position[0] != 0
        text = client.latched(String, "robot_description").data
        assert '<mimic joint="left/knuckle" multiplier="-1.0" offset="0.0" />' in text
        assert '<link name="left-finger">' in text and '<box size="0.1 0.02 0.02" />' in text
        assert process.stop() == 0, process.output
