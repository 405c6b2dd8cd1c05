"""The demo's ROS part: start a node in lock-step, drive it over topics, compare with the engine here.

In a process of its own, since a process that has once loaded ROS keeps its settings. Prints one line
of JSON: steps, seconds, and the largest difference of a joint position from the same steps in Python.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from array import array
from collections.abc import Callable
from typing import Any

os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"  # before rclpy: nobody else is asked
os.environ.setdefault("ROS_DOMAIN_ID", str(101 + os.getpid() % 100))

import numpy as np
import rclpy
from cutjoint import Simulation
from cutjoint.model.control.joint_values import JointValues
from rclpy.executors import SingleThreadedExecutor
from rclpy.qos import QoSProfile
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

RATE = 1000.0
PATIENCE = 40.0  # seconds


def main(mechanism: str, steps: int) -> int:
    command = ["node", mechanism, "--mode", "lock_step", "--rate", str(RATE)]
    command += ["--param", "joint_state_rate=0"]
    process = subprocess.Popen([sys.executable, "-m", "cutjoint", *command], stderr=sys.stderr)
    try:
        rclpy.init()
        node = rclpy.create_node("demo")
        executor = SingleThreadedExecutor()
        executor.add_node(node)
        states: list[JointState] = []
        node.create_subscription(JointState, "joint_states", states.append, QoSProfile(depth=10))
        commands = node.create_publisher(Float64MultiArray, "commands", QoSProfile(depth=10))

        def wait(done: Callable[[], Any], what: str) -> None:
            end = time.monotonic() + PATIENCE
            while not done():
                if time.monotonic() > end or process.poll() is not None:
                    raise RuntimeError(f"waited for {what} in vain")
                executor.spin_once(timeout_sec=0.02)

        wait(lambda: commands.get_subscription_count() and node.count_publishers("joint_states"), "the node")
        wait(lambda: states or commands.get_subscription_count(), "a first joint state")
        print(json.dumps(_drive(mechanism, steps, states, commands, wait)), flush=True)
        executor.shutdown()
        node.destroy_node()
        rclpy.try_shutdown()
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(PATIENCE)
    return process.returncode


def _drive(mechanism: str, steps: int, states: list[Any], commands: Any, wait: Any) -> dict[str, float]:
    """One command, one step, one answer; the same torques to a simulation of our own."""
    simulation = Simulation(mechanism)
    values = JointValues(simulation)
    values.read()
    difference, begin = 0.0, time.monotonic()
    for k in range(steps):
        torques = [10.0 * np.cos(2 * np.pi * (k / steps + i / 3)) for i in range(len(simulation.inputs))]
        simulation.set_inputs(torques)
        simulation.step(1 / RATE)
        values.read()
        stamp = round((k + 1) * 1e9 / RATE)
        commands.publish(Float64MultiArray(data=array("d", torques)))
        wait(lambda at=stamp: states and _nanoseconds(states[-1]) >= at - 1000, f"the answer to step {k + 1}")
        difference = max(difference, float(np.abs(np.array(states[-1].position) - values.position).max()))
        states.clear()
    return {"steps": steps, "seconds": time.monotonic() - begin, "difference": difference}


def _nanoseconds(state: JointState) -> int:
    return int(state.header.stamp.sec) * 10**9 + int(state.header.stamp.nanosec)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], int(sys.argv[2])))
