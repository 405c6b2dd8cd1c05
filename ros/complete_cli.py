"""`cutjoint complete`: all joints of a real robot from those that it measures."""

import argparse

from ..model.base.errors import CutjointError, how_to_install
from ..model.cli.common import Options, load_mechanism

HELP = "Run a ROS 2 node that completes measured joint states: encoders in, all joints out, until Ctrl-C."
EXAMPLE = """
cutjoint complete ankle --ros-args -r measured_joint_states:=/encoders
cutjoint complete my_robot.urdf --ros-args -r __ns:=/left
"""


def add_arguments(option: Options) -> None:
    option("mechanism")
    text = "remappings, namespace"
    option("--ros-args", text=text, nargs=argparse.REMAINDER, default=[])


def run(args: argparse.Namespace) -> int:
    mechanism = load_mechanism(args)
    try:
        import rclpy  # noqa: F401
    except ImportError as problem:
        raise CutjointError(
            f"rclpy can't be imported ({problem}); source a ROS 2 installation, or on Linux x86_64 "
            + how_to_install("ros")
        ) from problem
    from ..model.cli.main import USAGE
    from .complete_node import run as run_node

    return run_node(mechanism, ["--ros-args", *args.ros_args] if args.ros_args else [], USAGE)
