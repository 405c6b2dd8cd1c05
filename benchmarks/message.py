"""Messages to ROS: what the way out of Python costs, where it can be had."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from ..model.control.joint_values import JointValues
from .fmu_step import STEP, STEPPED, again
from .measure import Effort, Rows, rows, side_by_side
from .subjects import Subject


def message(subject: Subject, effort: Effort, show: Callable[[float], None]) -> Rows:
    """What the ROS node does after a step: read all joints, fill a JointState, publish it."""
    from sensor_msgs.msg import JointState

    simulation = subject.simulation
    simulation.reset()
    simulation.set_inputs(subject.u)
    values = JointValues(simulation)
    state = JointState(name=list(values.names))

    def fill() -> None:
        state.position = array("d", values.position.tobytes())
        state.velocity = array("d", values.velocity.tobytes())
        state.effort = array("d", values.effort.tobytes())

    fill()
    with _publisher(JointState) as publisher:
        contenders = {
            STEPPED: again(lambda: simulation.step(STEP), lambda: simulation.state, simulation.put),
            "reading the joints": values.read,
            "filling the message": fill,
            "publishing it": lambda: publisher.publish(state),
        }
        timings = side_by_side(contenders, effort, show)
    joints, axes = len(simulation.mechanism.joints), len(values.names)
    return rows(f"message of {joints} joints with {axes} axes", subject.name, timings, timings[STEPPED])


@contextmanager
def _publisher(kind: type) -> Iterator[Any]:
    """A publisher without readers, in a ROS context of its own."""
    import rclpy
    from rclpy.context import Context

    context = Context()
    rclpy.init(args=[], context=context)
    try:
        node = rclpy.create_node("cutjoint_bench", context=context)
        try:
            yield node.create_publisher(kind, "joint_states", 1)
        finally:
            node.destroy_node()
    finally:
        rclpy.try_shutdown(context=context)
