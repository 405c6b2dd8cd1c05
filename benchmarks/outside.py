"""Steps through the FMU and messages to ROS: what the ways out of Python cost, where they can be had."""

from __future__ import annotations

import shutil
import tempfile
from array import array
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ..model.run.joint_values import JointValues
from .measure import Effort, rows, side_by_side
from .subjects import Subject

STEP = 1e-3
STEPPED = "cutjoint, step"


def fmu_step(subject: Subject, effort: Effort, show: Callable[[float], None]) -> list[dict[str, Any]]:
    """doStep of 1 ms of the native co-simulation FMU, called by FMPy; beside it the same step here.

    Every 100 steps the FMU goes back to its start, so that both stay where the mechanism is regular.
    """
    from fmpy import extract, read_model_description
    from fmpy.fmi2 import FMU2Slave

    from ..fmu.export import export

    simulation = subject.simulation
    simulation.reset()
    simulation.set_inputs(subject.u)
    with tempfile.TemporaryDirectory(prefix="cutjoint-") as folder:
        path = Path(folder) / "bench.fmu"
        export(simulation.mechanism, path, step=STEP, picture=False)
        described = read_model_description(path)
        unpacked = extract(path, Path(folder) / "unpacked")
        slave = FMU2Slave(
            guid=described.guid,
            unzipDirectory=unpacked,
            modelIdentifier=described.coSimulation.modelIdentifier,
            instanceName="bench",
        )
        slave.instantiate()
        try:
            slave.setupExperiment(startTime=0.0)
            slave.enterInitializationMode()
            inputs = [v.valueReference for v in described.modelVariables if v.causality == "input"]
            slave.setReal(inputs, list(subject.u))
            slave.exitInitializationMode()
            contenders = {
                STEPPED: _wrapped(simulation.step, lambda: simulation.state, simulation.put),
                "native FMU in FMPy": _fmu(slave),
            }
            timings = side_by_side(contenders, effort, show)
        finally:
            slave.terminate()
            slave.freeInstance()
            shutil.rmtree(unpacked, ignore_errors=True)
    return rows("FMU step", subject.name, timings, timings[STEPPED])


def _wrapped(
    step: Callable[[float], None], save: Callable[[], Any], restore: Callable[[Any], None]
) -> Callable[[], None]:
    start, count = save(), 0

    def advance() -> None:
        nonlocal count
        count += 1
        if count % 100 == 0:
            restore(start)
        step(STEP)

    return advance


def _fmu(slave: Any) -> Callable[[], None]:
    start, count = slave.getFMUState(), 0

    def advance() -> None:
        nonlocal count
        if count == 100:
            slave.setFMUState(start)
            count = 0
        slave.doStep(count * STEP, STEP)
        count += 1

    return advance


def message(subject: Subject, effort: Effort, show: Callable[[float], None]) -> list[dict[str, Any]]:
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
            STEPPED: _wrapped(simulation.step, lambda: simulation.state, simulation.put),
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
