"""`cutjoint complete`: encoders in, all joints out, or a sentence and nothing."""

from __future__ import annotations

from array import array

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy can't be imported: no ROS 2, and no wheels for this platform")

from cutjoint import Simulation, load
from cutjoint.model.base.errors import CutjointError
from cutjoint.model.control.joint_values import JointValues
from cutjoint.ros.complete_node import Completion
from processes import CUTJOINT
from ros_client import Client, RosProcess, new_domain
from sensor_msgs.msg import JointState

MOTORS = ("motor1", "motor2", "motor3")


def moving(name: str = "stewart") -> tuple[JointValues, Simulation]:
    simulation = Simulation(name, compile=False)
    values = JointValues(simulation)
    simulation.set_inputs({motor: 20.0 + k for k, motor in enumerate(MOTORS)})
    return values, simulation


def measured(values: JointValues) -> tuple[list[float], list[float]]:
    places = [values.names.index(name) for name in MOTORS]
    return values.position[places].tolist(), values.velocity[places].tolist()


def test_encoders_tell_all_joints_along_a_motion() -> None:
    values, simulation = moving()
    completion = Completion(load("stewart"))
    for _ in range(20):
        simulation.run(0.02, 5e-3)
        values.read()
        found = completion.complete(MOTORS, *measured(values))
        assert found.names == values.names
        assert np.abs(found.position - values.position).max() < 1e-9
        assert np.abs(found.velocity - values.velocity).max() < 1e-8


def test_speeds_are_told_only_if_all_were_measured() -> None:
    completion = Completion(load("stewart"))
    for speeds, told in (([0.1, 0.2, 0.3], True), ([0.1, np.nan, 0.3], False), ([], False)):
        completion.complete(MOTORS, [0.0] * 3, speeds)
        assert completion.tells_speeds is told


def test_what_says_too_little_or_too_much_is_refused_and_the_pose_stays() -> None:
    completion = Completion(load("stewart"))
    before = completion.simulation.q.copy()
    for names, positions, said in (
        (MOTORS[:2], [0.0, 0.0], "determine"),
        (("motor1", "motr2", "motor3"), [0.0] * 3, "did you mean 'motor2'"),
        (MOTORS, [0.0, np.nan, 0.0], "determine"),
        (MOTORS, [0.0, 0.0], "2 positions for 3 names"),
        ((*MOTORS, "hinge1"), [0.0, 0.0, 0.0, 1.0], "hinge1"),
        (MOTORS, [0.0, np.inf, 0.0], "finite"),
    ):
        with pytest.raises(CutjointError, match=said):
            completion.complete(names, positions)
        assert np.array_equal(completion.simulation.q, before)


def test_a_node_completes_what_it_hears() -> None:
    domain = new_domain()
    words = [*CUTJOINT, "complete", "stewart"]
    with RosProcess(words, domain) as process, Client(domain) as client:
        encoders = client.node.create_publisher(JointState, "measured_joint_states", 1)
        process.says("may be measured: motor1")
        values, simulation = moving()
        simulation.run(0.2, 5e-3)
        values.read()
        position, velocity = measured(values)
        message = JointState(name=list(MOTORS), position=array("d", position), velocity=array("d", velocity))
        message.header.stamp.sec = 7

        def heard() -> bool:
            encoders.publish(message)
            return bool(client.states)

        client.until(heard, "all joints")
        state = client.states[-1]
        assert state.header.stamp.sec == 7 and tuple(state.name) == values.names
        assert np.abs(np.array(state.position) - values.position).max() < 1e-9
        assert np.abs(np.array(state.velocity) - values.velocity).max() < 1e-8
        message.name = ["motor1", "motor2", "elbow"]

        def refused() -> bool:
            encoders.publish(message)
            return "nothing published: there is no joint 'elbow'" in process.output

        client.until(refused, "a refusal")
        assert process.stop() == 0, process.output
