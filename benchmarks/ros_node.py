"""What the ROS 2 node costs: python -m cutjoint.benchmarks.ros_node [--time 60]

Runs `cutjoint node` in a process of its own in real time, with this process as a listener, at
two rates of joint states, and with everything on. The difference of the first two gives the cost of one
message. Processor time a period (`us_per_period`) says something on a busy machine as well, the other numbers
only on one that does nothing else.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from typing import Any

from ..model.loading import load


def measure(
    mechanism: str,
    rate: float,
    joint_state_rate: float,
    seconds: float,
    priority: int,
    more: Sequence[str] = (),
    stream: float = 0.0,
) -> dict[str, Any]:
    """One run of the node with a listener that streams so many trajectories a second; what it reported."""
    import rclpy
    from builtin_interfaces.msg import Duration
    from rclpy.executors import SingleThreadedExecutor
    from sensor_msgs.msg import JointState
    from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

    command = [sys.executable, "-m", "cutjoint", "node", mechanism, "--rate", str(rate)]
    command += ["--param", f"joint_state_rate={joint_state_rate}", f"realtime_priority={priority}", *more]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    context = rclpy.Context()
    rclpy.init(context=context)
    node = rclpy.create_node("listener", context=context)
    executor = SingleThreadedExecutor(context=context)
    executor.add_node(node)
    heard = sizes = 0

    def hear(message: JointState) -> None:
        nonlocal heard, sizes
        heard, sizes = heard + 1, len(message.name)

    node.create_subscription(JointState, "joint_states", hear, 10)
    while not heard and process.poll() is None:
        executor.spin_once(timeout_sec=0.1)
    joint = load(mechanism).motors[0].name if stream else ""
    publisher = node.create_publisher(JointTrajectory, "joint_trajectory", 1)
    begin = due = time.monotonic()
    while time.monotonic() < begin + seconds and process.poll() is None:
        executor.spin_once(timeout_sec=0.1 if not stream else 0.01)
        if stream and time.monotonic() >= due:
            due += 1.0 / stream
            goal = [0.02 * math.sin(due - begin)]
            point = JointTrajectoryPoint(positions=goal, time_from_start=Duration(sec=1))
            publisher.publish(JointTrajectory(joint_names=[joint], points=[point]))
    process.send_signal(signal.SIGINT)
    output = process.communicate(timeout=60)[0]
    executor.shutdown()
    node.destroy_node()
    rclpy.try_shutdown(context=context)
    what = {
        "mechanism": mechanism,
        "joint_state_rate": joint_state_rate,
        "more": list(more),
        "heard": heard,
        "joints": sizes,
    }
    return {**what, **reported(output)}


def reported(output: str) -> dict[str, float]:
    """What the node said when it ended."""
    numbers = {
        "cpu": r"([\d.]+) % of a core",
        "mean_ms": r"mean ([\d.]+) ms",
        "p99_ms": r"p99 ([\d.]+) ms",
        "max_ms": r"max ([\d.]+) ms",
        "missed_deadlines": r"(\d+) missed",
        "overruns": r"(\d+) overruns",
        "drift_ms": r"time (-?[\d.]+) ms behind",
    }
    found = {name: re.search(pattern, output) for name, pattern in numbers.items()}
    values = {name: float(match.group(1)) if match else float("nan") for name, match in found.items()}
    took = re.search(r"(\d+) periods of .* in ([\d.]+) s", output)
    period = 1e4 * values["cpu"] * float(took[2]) / int(took[1]) if took else float("nan")
    return {**values, "us_per_period": period}


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("mechanism", nargs="?", default="stewart")
    parser.add_argument("--rate", type=float, default=1000.0, help="periods a second")
    parser.add_argument("--time", type=float, default=60.0, help="seconds of each run")
    parser.add_argument("--priority", type=int, default=0, help="SCHED_FIFO priority of the node, 0 for none")
    text = "only stream so many trajectories a second, and say how far simulated time is behind"
    parser.add_argument("--stream", type=float, default=0.0, help=text)
    args = parser.parse_args()
    os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"
    os.environ["ROS_DOMAIN_ID"] = str(1 + os.getpid() % 100)
    if args.stream:
        told = args.mechanism, args.rate, args.rate / 10, args.time, args.priority, (), args.stream
        print(json.dumps({"run": measure(*told), "load_average": os.getloadavg()[0]}, indent=2))
        return 0
    runs = [
        measure(args.mechanism, args.rate, states, args.time, args.priority)
        for states in (args.rate, args.rate / 10)
    ]
    folder = tempfile.mkdtemp()
    everything = ["publish_clock=true", f"record={folder}/run.mcap", "poses=*", "imus=*", "outputs=energy"]
    everything += ["reactions=*", f"clock_rate={args.rate}"]
    runs.append(measure(args.mechanism, args.rate, args.rate, args.time, args.priority, everything))
    shutil.rmtree(folder)
    message = (
        (runs[0]["cpu"] - runs[1]["cpu"]) / 100 / (runs[0]["joint_state_rate"] - runs[1]["joint_state_rate"])
    )
    load = os.getloadavg()[0]
    print(json.dumps({"runs": runs, "us_per_message": 1e6 * message, "load_average": load}, indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
