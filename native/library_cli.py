"""`cutjoint library`: a mechanism's kinematics as a C library."""

import argparse

from .. import native
from ..model.cli.common import MANY, Options, load_mechanism, progress_lines, to_json
from . import c_compile
from .chain_library import build_library

HELP = "Write a C library with forward and inverse kinematics, Jacobian and forces of a mechanism."
EXAMPLE = """
cutjoint library hexapod --frame platform -o kinematics
cutjoint library delta --frame platform --platform aarch64-linux -o kinematics
"""


def add_arguments(option: Options) -> None:
    option("mechanism")
    option(
        "-o --to", "FOLDER", "where to write the library and what goes with it", required=True, writes=True
    )
    text = "a body, frame or target that is put somewhere (default: the description's targets)"
    option("--frame", "NAME", text, **MANY)
    text = "joints or cylinders that are measured (default: the actuators)"
    option("--measured", "NAME", text, **MANY)
    text = "joints or cylinders that move it (default: motors and cylinders)"
    option("--actuator", "NAME", text, **MANY)
    option(
        "--platform",
        "NAME",
        f"of {', '.join(c_compile.PLATFORMS)}; this machine's own if not given",
        default="",
    )
    option("--progress")
    option("--json")


def run(args: argparse.Namespace) -> int:
    with progress_lines(args, native.__name__, __package__):
        header = build_library(
            load_mechanism(args),
            args.to,
            frames=args.frame,
            measured=args.measured or None,
            actuators=args.actuator or None,
            platform=args.platform,
            force=args.force,
        )
    written = sorted(path.name for path in header.parent.iterdir())
    print(
        to_json({"folder": str(header.parent), "files": written})
        if args.json
        else f"wrote {header} and what goes with it"
    )
    return 0
