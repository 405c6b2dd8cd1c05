"""`cutjoint node`: run a mechanism as a ROS 2 node.

An annex that extends it may define, besides `add_arguments`: `check(args)`, before a node starts, and
`description(args)`, another robot description to print.
"""

import argparse
import sys
from pathlib import Path
from typing import Any

from ..model.base import annexes
from ..model.base.errors import CutjointError, how_to_install
from ..model.base.marks import check_replaceable
from ..model.cli.common import (
    MANY,
    Options,
    check_name,
    load_mechanism,
    number,
    read_gravity,
    read_joints,
)
from .settings import MODES, SETTINGS

HELP = "Run a mechanism as a ROS 2 node until Ctrl-C: joint states out, torques in."
EXAMPLE = """
cutjoint node stewart
cutjoint node stewart --mode lock_step --rate 500 --ros-args -r __ns:=/left
cutjoint node arm --param joint_state_rate=0 udp=127.0.0.1:47000
"""


def add_arguments(option: Options) -> None:
    option("mechanism", nargs="?")
    option("--mode", text="how time passes (default real_time)", choices=MODES)
    option("--rate", "HZ", "periods a simulated second (default 1000)")
    option("--step", "S", "integration step (default one a period)")
    option("--gravity")
    option("--start", "JOINT=VALUE", "coordinates held at the start (rad, m, or 10deg)", **MANY)
    option("--clock", text="publish /clock with simulated time")
    option("--record", "FILE", "record all that is published, and what replay needs, as MCAP", writes=True)
    option("--param", "NAME=VALUE", "any parameter of the node", **MANY)
    option("--urdf", text="print the robot description and stop; needs no ROS")
    option("--no-compile")
    text = "remappings, namespace, parameter files"
    option("--ros-args", text=text, nargs=argparse.REMAINDER, default=[])


def run(args: argparse.Namespace) -> int:
    if args.urdf:
        from ..model.urdf.write_urdf import urdf

        if not args.mechanism:
            raise CutjointError("say which mechanism: 'cutjoint node NAME --urdf'")
        others = annexes.ask("node", "description", args)
        print(others[0] if others else urdf(load_mechanism(args)), end="")
        return 0
    annexes.ask("node", "check", args)
    values = _values(args)
    if "record" in values:
        check_replaceable(Path(str(values["record"])), force=args.force)
    try:
        import rclpy  # noqa: F401
    except ImportError as problem:
        raise CutjointError(
            f"rclpy can't be imported ({problem}); source a ROS 2 installation, or on Linux x86_64 "
            + how_to_install("ros")
        ) from problem
    from ..model.cli.main import USAGE
    from .start_node import run as run_node

    return run_node(values, ["--ros-args", *args.ros_args] if args.ros_args else [], USAGE)


UNITS = {"rate": "Hz", "step": "s"}


def _values(args: argparse.Namespace) -> dict[str, Any]:
    """Parameters of the node that the command line sets."""
    values: dict[str, Any] = {}
    for pair in args.param:
        name, equals, text = pair.partition("=")
        if not equals:
            raise CutjointError(f"--param takes NAME=VALUE, not '{pair}'")
        values[check_name(name, [*SETTINGS, "use_sim_time"], "--param", "parameter")] = _value(text)
    gravity = read_gravity(args.gravity)
    told = {
        **{name: getattr(args, name) or None for name in ("mechanism", "mode")},
        **{n: number(getattr(args, n), f"--{n}", unit) for n, unit in UNITS.items() if getattr(args, n)},
        "gravity": list(gravity) if isinstance(gravity, tuple) else gravity,
        "start": held_at_start(args) or None,
        "publish_clock": True if args.clock else None,
        "record": args.record or None,
        "trust": True if args.trust else None,
        "accept_inertia": True if args.accept_inertia else None,
        "compile": False if args.no_compile else None,
    }
    return values | {name: value for name, value in told.items() if value is not None}


def held_at_start(args: argparse.Namespace) -> str:
    """Joints and coordinates as the node's parameter has them: in SI units."""
    if not args.start:
        return ""
    if not args.mechanism:
        raise CutjointError("--start needs MECHANISM; beside a file of parameters, 'start' is one of them")
    held = read_joints(args.start, load_mechanism(args), "--start").items()
    whole = ((name, values if isinstance(values, list) else [values]) for name, values in held)
    return " ".join(f"{name}={','.join(map(repr, values))}" for name, values in whole)


def _value(text: str) -> Any:
    """A parameter as YAML reads plain words: true, false, a number, or text."""
    if text in ("true", "false"):
        return text == "true"
    try:
        return float(text)
    except ValueError:
        return text


def main() -> int:
    """Entry of `ros2 run cutjoint node`, which takes the same arguments."""
    from ..model.cli.main import main as command

    return command(["node", *sys.argv[1:]], alone=True)


if __name__ == "__main__":
    sys.exit(main())
