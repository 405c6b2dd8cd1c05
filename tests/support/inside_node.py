"""A real node inside the test's own process: its loop in the thread that asks, its callbacks in any."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import rclpy
from cutjoint.ros.node import MechanismNode
from cutjoint.ros.start_node import loop_of
from rclpy.parameter import Parameter
from rclpy.signals import SignalHandlerOptions
from ros_client import new_domain


@contextmanager
def inside(mechanism: str, **settings: Any) -> Iterator[MechanismNode]:
    """A node, active, whose loop runs in a thread of its own until the end."""
    stop = threading.Event()
    rclpy.init(domain_id=new_domain(), signal_handler_options=SignalHandlerOptions.NO)
    made: list[MechanismNode] = []
    up = threading.Event()

    def run() -> None:
        """The thread that makes a node is the one that its loop runs in."""
        try:
            values = {"mechanism": mechanism, **settings}
            made.append(MechanismNode([Parameter(k, value=v) for k, v in values.items()], None, loop_of))
            made[0].trigger_configure()
            made[0].trigger_activate()
        finally:
            up.set()
        assert made[0].loop is not None
        made[0].loop.run(stop)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        assert up.wait(120) and made and made[0].loop is not None
        yield made[0]
    finally:
        stop.set()
        thread.join(60)
        if made and made[0].loop is not None and made[0].telling is not None:
            made[0].loop.close()
            made[0].telling.close()
            made[0].destroy_node()
        rclpy.try_shutdown()
    assert not thread.is_alive()
