"""`cutjoint node`: run a mechanism as a ROS 2 node."""

import argparse
import shlex
import sys
from typing import Any

from ..model import CutjointError, load
from ..model.cli.common import (
    MANY,
    Options,
    check_name,
    check_targets,
    number,
    read_gravity,
    read_joints,
)
from ..model.errors import brought_by
from ..model.files import write_atomically
from .settings import MODES, SETTINGS

HELP = "Run a mechanism as a ROS 2 node until Ctrl-C: joint states out, torques in."
EXAMPLE = """
cutjoint node stewart
cutjoint node stewart --mode lock_step --rate 500 --ros-args -r __ns:=/left
cutjoint node arm --param joint_state_rate=0 udp=127.0.0.1:47000
cutjoint node stewart --urdf --ros2-control --controllers controllers.yaml
"""


def add_arguments(option: Options) -> None:
    option("mechanism", nargs="?")
    option("--mode", text="how time passes (default real_time)", choices=MODES)
    option("--rate", "HZ", "periods a simulated second (default 1000)")
    option("--step", "S", "integration step (default one a period)")
    option("--gravity")
    option("--start", "JOINT=VALUE", "coordinates held at the start (rad, m, or 10deg)", **MANY)
    option("--clock", text="publish /clock with simulated time")
    option("--record", "FILE", "record all that is published, and what replay needs, as MCAP")
    option("--param", "NAME=VALUE", "any parameter of the node", **MANY)
    option("--urdf", text="print the robot description and stop; needs no ROS")
    option("--ros2-control", text="with --urdf: add the block that ros2_control reads, for ros/control")
    option("--library", "FILE", "of --ros2-control: what 'cutjoint realtime' made (default NAME.so)")
    option("--controllers", "FILE", "of --ros2-control: write a file of controllers for it")
    option("--no-compile")
    text = "remappings, namespace, parameter files"
    option("--ros-args", text=text, nargs=argparse.REMAINDER, default=[])


def run(args: argparse.Namespace) -> int:
    if args.urdf:
        from ..model.robots.write_urdf import urdf

        if not args.mechanism:
            raise CutjointError("say which mechanism: 'cutjoint node NAME --urdf'")
        print(_control(args) if args.ros2_control else urdf(load(args.mechanism)), end="")
        return 0
    if args.ros2_control or args.library or args.controllers:
        raise CutjointError("ros2_control gets a description: 'cutjoint node NAME --urdf --ros2-control'")
    values = _values(args)
    try:
        import rclpy  # noqa: F401
    except ImportError as problem:
        raise CutjointError(
            f"rclpy can't be imported ({problem}); source a ROS 2 installation, or on Linux x86_64 "
            + brought_by("ros")
        ) from problem
    from ..model.cli.main import USAGE
    from .start_node import run as run_node

    return run_node(values, ["--ros-args", *args.ros_args] if args.ros_args else [], USAGE)


def _control(args: argparse.Namespace) -> str:
    """The description for ros2_control; says how its library is made."""
    from .control_files import built_with, control_urdf, controllers

    check_targets(args.controllers)
    mechanism = load(args.mechanism)
    gravity = read_gravity(args.gravity)
    numbers = gravity if isinstance(gravity, tuple) else () if gravity is None else (gravity,)
    hardware = {
        "step": args.step or "",
        "gravity": ",".join(repr(float(x)) for x in numbers),
        "start": _start(args),
        "mode": "real_time" if args.mode == "real_time" else "lock_step",
    }
    library = args.library or f"{mechanism.name}.so"
    text = control_urdf(mechanism, library, **{name: value for name, value in hardware.items() if value})
    if args.controllers:
        with write_atomically(args.controllers) as temporary:
            rate = number(args.rate, "--rate", "Hz") if args.rate else 500.0
            temporary.write_text(controllers(mechanism, rate), encoding="utf-8")
    made = shlex.join(["cutjoint", *built_with(mechanism, args.mechanism), "-o", "FOLDER"])
    print(f"cutjoint: the library is made by {made}", file=sys.stderr)
    return text


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
        "start": _start(args) or None,
        "publish_clock": True if args.clock else None,
        "record": args.record or None,
        "compile": False if args.no_compile else None,
    }
    return values | {name: value for name, value in told.items() if value is not None}


def _start(args: argparse.Namespace) -> str:
    """Joints and coordinates as the node's parameter has them: in SI units."""
    if not args.start:
        return ""
    if not args.mechanism:
        raise CutjointError("--start needs MECHANISM; beside a file of parameters, 'start' is one of them")
    held = read_joints(args.start, load(args.mechanism), "--start").items()
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
