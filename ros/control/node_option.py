"""`cutjoint node stewart --urdf --ros2-control`: what ros2_control reads to load the plugin."""

import argparse
import shlex
import sys

from ...model.base.errors import CutjointError
from ...model.base.files import write_atomically
from ...model.cli.common import Options, check_targets, load_mechanism, number, read_gravity
from ..cli import held_at_start
from .files import built_with, control_urdf, controllers

EXAMPLE = "cutjoint node stewart --urdf --ros2-control --controllers controllers.yaml"


def add_arguments(option: Options) -> None:
    option("--ros2-control", text="with --urdf: add the block that ros2_control reads, for ros/control")
    option("--library", "FILE", "of --ros2-control: what 'cutjoint realtime' made (default NAME.so)")
    option("--controllers", "FILE", "of --ros2-control: write a file of controllers for it", writes=True)


def check(args: argparse.Namespace) -> None:
    """Refuse options that only a description has."""
    if args.ros2_control or args.library or args.controllers:
        raise CutjointError("ros2_control gets a description: 'cutjoint node NAME --urdf --ros2-control'")


def description(args: argparse.Namespace) -> str | None:
    """The description for ros2_control, if that is wanted; says how its library is made."""
    if not args.ros2_control:
        check(args)
        return None
    check_targets(args.controllers)
    mechanism = load_mechanism(args)
    gravity = read_gravity(args.gravity)
    numbers = gravity if isinstance(gravity, tuple) else () if gravity is None else (gravity,)
    hardware = {
        "step": args.step or "",
        "gravity": ",".join(repr(float(x)) for x in numbers),
        "start": held_at_start(args),
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
