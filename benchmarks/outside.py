"""Steps through the FMU and messages to ROS: what the ways out of Python cost, where they can be had."""

from __future__ import annotations

import shutil
import tempfile
from array import array
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from .measure import Effort, side_by_side
from .subjects import Subject

STEP = 1e-3


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
                "cutjoint, compiled": _wrapped(simulation.step, simulation.save, simulation.restore),
                "native FMU in FMPy": _fmu(slave),
            }
            timings = side_by_side(contenders, effort, show)
        finally:
            slave.terminate()
            slave.freeInstance()
            shutil.rmtree(unpacked, ignore_errors=True)
    base = timings["cutjoint, compiled"]
    return [
        {
            "task": "FMU step",
            "mechanism": subject.name,
            "contender": name,
            **vars(timing),
            "ratio": timing.best / base.best,
            "median_ratio": timing.median / base.median,
        }
        for name, timing in timings.items()
    ]


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
    """Filling a JointState with every joint, turning it into bytes, and publishing it."""
    from rclpy.serialization import serialize_message
    from sensor_msgs.msg import JointState

    simulation = subject.simulation
    names = list(simulation.tree.v)
    values = np.zeros(len(names))
    state = JointState(name=names)

    def fill() -> None:
        state.position = array("d", values)
        state.velocity = array("d", values)
        state.effort = array("d", values)

    simulation.reset()
    simulation.set_inputs(subject.u)
    with _publisher(JointState) as publisher:
        contenders = {
            "cutjoint, compiled step": _wrapped(simulation.step, simulation.save, simulation.restore),
            "fill the message": fill,
            "turn it into bytes": lambda: serialize_message(state),
            "publish it": lambda: publisher.publish(state),
        }
        timings = side_by_side(contenders, effort, show)
    base = timings["cutjoint, compiled step"].best
    return [
        {
            "task": f"message of {len(names)} joints",
            "mechanism": subject.name,
            "contender": name,
            **vars(timing),
            "ratio": timing.best / base,
            "median_ratio": timing.median / timings["cutjoint, compiled step"].median,
        }
        for name, timing in timings.items()
    ]


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
