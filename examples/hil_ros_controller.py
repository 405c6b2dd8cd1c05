"""A controller in a process of its own that holds a simulated mechanism over ROS 2.

It stands in for the device under test: for every joint state it answers with torques of a PD
law, as a motor drive would. Run the mechanism in one terminal and this in another:

    cutjoint node stewart --start motor1=0.2 --param joint_state_rate=0
    python -m cutjoint.examples.hil_ros_controller --joints motor1 motor2 motor3

`--loss 0.1` throws away a tenth of the messages each way, to see how the loop stands it. Ctrl-C or
`--time` ends it with a report of how regular the joint states came.
"""

from __future__ import annotations

import argparse
import json
import random
import signal
import sys
import time
from array import array
from typing import Any

import rclpy
from cutjoint.ros.histogram import Jitter
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.qos import QoSProfile
from rclpy.signals import SignalHandlerOptions
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray


class Controller(Node):
    """τ = kp (q_wanted − q) − kd q̇ for each driven joint; without --target it holds the first pose."""

    def __init__(self, args: argparse.Namespace):
        super().__init__("controller")
        self.args = args
        self.target: list[float] | None = args.target
        self.jitter = Jitter(1.0 / args.rate)
        self.dropped = self.answered = 0
        self.error = 0.0
        self._random = random.Random(args.seed)
        self._index: list[int] = []
        self._last = 0.0
        self._torques = self.create_publisher(Float64MultiArray, "commands", QoSProfile(depth=1))
        self.create_subscription(JointState, "joint_states", self._answer, QoSProfile(depth=1))

    def _answer(self, state: JointState) -> None:
        now = time.monotonic()
        if self._last:
            self.jitter.add(now - self._last)
        self._last = now
        if not self._index:
            self._index = [state.name.index(name) for name in self.args.joints]
        q = [state.position[k] for k in self._index]
        v = [state.velocity[k] for k in self._index]
        if self.target is None:
            self.target = q
        self.error = max(abs(a - b) for a, b in zip(self.target, q, strict=True))
        if self._random.random() < 1 - (1 - self.args.loss) ** 2:  # lost on the way here or back
            self.dropped += 1
            return
        wanted = zip(self.target, q, v, strict=True)
        torques = [self.args.kp * (a - b) - self.args.kd * c for a, b, c in wanted]
        self._torques.publish(Float64MultiArray(data=array("d", torques)))
        self.answered += 1


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--joints", nargs="+", required=True, help="driven joints, in the order of the motors"
    )
    parser.add_argument("--target", nargs="+", type=float, help="positions to hold (default: the first seen)")
    parser.add_argument("--kp", type=float, default=2000.0, help="N·m/rad")
    parser.add_argument("--kd", type=float, default=150.0, help="N·m·s/rad")
    parser.add_argument("--rate", type=float, default=1000.0, help="joint states expected a second")
    parser.add_argument("--loss", type=float, default=0.0, help="part of the messages to lose each way")
    parser.add_argument("--seed", type=int, default=0, help="of the losses")
    parser.add_argument("--time", type=float, default=0.0, help="seconds to run, 0 until Ctrl-C")
    args, ros = parser.parse_known_args(argv)
    rclpy.init(args=[sys.argv[0], *ros], signal_handler_options=SignalHandlerOptions.NO)
    stop = False

    def ask_to_stop(*_: Any) -> None:
        nonlocal stop
        stop = True

    signal.signal(signal.SIGINT, ask_to_stop)
    signal.signal(signal.SIGTERM, ask_to_stop)
    node = Controller(args)
    executor = SingleThreadedExecutor()
    executor.add_node(node)
    end = time.monotonic() + args.time if args.time else float("inf")
    while not stop and time.monotonic() < end:
        executor.spin_once(timeout_sec=0.1)
    report = node.jitter.report()
    print(report.text("joint states"), flush=True)
    print(
        json.dumps(
            {"answered": node.answered, "dropped": node.dropped, "error": node.error, "p99": report.p99}
        ),
        flush=True,
    )
    executor.shutdown()
    node.destroy_node()
    rclpy.try_shutdown()
    return 0


if __name__ == "__main__":
    sys.exit(main())
