"""Start the node, let it run, and leave cleanly whatever ends it."""

import contextlib
import gc
import os
import sys
import threading
import time
from collections.abc import Sequence
from typing import Any

import rclpy
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.parameter import Parameter
from rclpy.signals import SignalHandlerOptions

from ..model import CutjointError
from ..model.signals import stop_on_signal
from .node import MechanismNode
from .settings import REAL_TIME

SWITCH = 1e-4  # seconds a thread may keep Python to itself while another waits; 5e-3 by default


def run(values: dict[str, Any], ros_arguments: Sequence[str]) -> int:
    """Run until SIGINT or SIGTERM and return 0; `values` are parameters that the command line sets."""
    with stop_on_signal() as stop:
        # rclpy's own handlers would shut the context down under our feet.
        try:
            rclpy.init(args=["cutjoint", *ros_arguments], signal_handler_options=SignalHandlerOptions.NO)
        except Exception as problem:  # rclpy's own error types are private
            raise CutjointError(f"--ros-args: {str(problem).partition(', at ')[0]}") from problem
        node: MechanismNode | None = None
        try:
            node = MechanismNode(overrides=[Parameter(name, value=value) for name, value in values.items()])
            if not stop.is_set():
                _work(node, stop)
        finally:
            if node is not None:
                node.destroy_node()
            rclpy.try_shutdown()
    return 0


def _work(node: MechanismNode, stop: threading.Event) -> None:
    """The loop in this thread, the executor in another."""
    say = node.get_logger()
    _prefer(node)
    executor = SingleThreadedExecutor()
    executor.add_node(node)
    listener = threading.Thread(target=_listen, args=(executor, node, stop), name="executor", daemon=True)
    listener.start()
    switch = sys.getswitchinterval()
    sys.setswitchinterval(SWITCH)
    gc.collect()
    gc.freeze()  # what is there now stays; collections look at new objects only
    settings = node.settings
    where = f", device on udp {':'.join(map(str, node.loop.link.address))}" if node.loop.link else ""
    say.info(
        f"{settings.mechanism}: {settings.mode} at {settings.rate:g} Hz, "
        f"inputs {', '.join(node.simulation.inputs) or 'none'}{where}"
    )
    try:
        node.loop.run(stop)
    finally:
        stop.set()
        sys.setswitchinterval(switch)
        listener.join(timeout=5.0)
        executor.shutdown(timeout_sec=1.0)
        for line in node.health.last_words(node.loop):
            say.info(line)


def _listen(executor: SingleThreadedExecutor, node: MechanismNode, stop: threading.Event) -> None:
    """Take messages in. In real time at most two a period, so that a flood can't starve the loop.

    Topics keep only their latest message, so what waits here is never old.
    """
    rest = node.settings.period / 2
    while not stop.is_set():
        begin = time.monotonic()
        try:
            executor.spin_once(timeout_sec=0.1)
        except ExternalShutdownException:
            return
        except Exception as problem:  # one bad message must not silence all others
            if stop.is_set():
                return
            node.warn("executor", f"{type(problem).__name__}: {problem}")
        if node.settings.mode == REAL_TIME:
            ahead = begin + rest - time.monotonic()
            if ahead > 0:
                time.sleep(min(ahead, 0.005))


def _prefer(node: MechanismNode) -> None:
    """Real-time scheduling where asked and allowed."""
    priority = int(node.settings.realtime_priority)
    if not priority:
        return
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(priority))
    except (AttributeError, OSError) as problem:
        with contextlib.suppress(Exception):
            node.get_logger().warning(
                f"realtime_priority {priority} can't be had ({problem}); allow it with 'ulimit -r' or as root"
            )
