"""`cutjoint realtime`: a mechanism as a native loop for hardware in the loop."""

import argparse
import json
import sys
from pathlib import Path

from .. import native
from ..model.base.errors import CutjointError
from ..model.base.subprocesses import run_program, scratch_folder
from ..model.cli.common import Options, load_mechanism, positive, progress_lines, to_json
from ..native import c_compile
from .build import OUTPUTS, build_realtime

HELP = "Make a program that runs a mechanism in real time in the loop with a device."
EXAMPLE = """
cutjoint realtime stewart -o bench
bench/stewart --udp 127.0.0.1:47000 --start motor1=0.2
cutjoint realtime stewart --measure
cutjoint realtime hexapod -o bench --platform aarch64-linux --substeps 20
"""


def add_arguments(option: Options) -> None:
    option("mechanism")
    option("-o --to", "FOLDER", "where to write the program and what goes with it", writes=True)
    option("--rate", "HZ", "periods a second, unless the program is given another (1000)", default="1000")
    text = "how a step is taken: runge_kutta, or implicit for stiff mechanisms"
    option("--stepper", "NAME", text, default="runge_kutta")
    option("--substeps")
    text = f"what can go out, by name or pattern; repeat it (default {', '.join(OUTPUTS)})"
    option("--output", "NAME", text, action="append", nargs=None, default=[])
    text = "can be set at the start, by name or by path such as gravity; repeat it"
    option("--parameter", "NAME", text, action="append", nargs=None, default=[])
    text = (
        "the wrench on the child of a joint goes out too, in the child's axes, by name or pattern; repeat it"
    )
    option("--wrench", "JOINT", text, action="append", nargs=None, default=[])
    option(
        "--platform", "NAME", f"of {', '.join(c_compile.STATIC)}; this machine's own if not given", default=""
    )
    option("--no-library", text="leave out the shared library, which ros2_control and other hosts load")
    option("--measure", text="how long steps take here, how late this machine wakes, and which rate is safe")
    option("--seconds", "S", "of --measure: how long to listen to the machine (5)", default="5")
    option("--progress")
    option("--json")


def run(args: argparse.Namespace) -> int:
    with progress_lines(args, native.__name__, __package__):
        return _write(args)


def _write(args: argparse.Namespace) -> int:
    rate = positive(args.rate, "--rate", "Hz")
    if not args.to and not args.measure:
        raise CutjointError("say where to write it, -o FOLDER, or measure only, --measure")
    if args.measure and args.platform not in ("", c_compile.here()):
        raise CutjointError(f"--measure runs the loop here, not on {args.platform}; leave --platform out")
    with scratch_folder("realtime-") as scratch:
        program = build_realtime(
            load_mechanism(args),
            args.to or scratch,
            rate=rate,
            stepper=args.stepper,
            substeps=args.substeps,
            outputs=args.output,
            parameters=args.parameter,
            wrenches=args.wrench,
            platform=args.platform,
            force=args.force,
            library=bool(args.to) and not args.no_library,
        )
        measured = _measured(program, args, rate) if args.measure else ""
    written = {"program": str(program), "folder": str(program.parent)} if args.to else {}
    if args.json:
        print(to_json(written | (json.loads(measured) if measured else {})))
        return 0
    if args.to:
        print(f"wrote {program}; '{_typed(program)} --help' explains it, docs/hil.md has the rest")
    print(measured, end="")
    return 0


def _typed(program: Path) -> str:
    """As one types it."""
    return str(program) if len(program.parts) > 1 else f"./{program}"


def _measured(program: Path, args: argparse.Namespace, rate: float) -> str:
    seconds = positive(args.seconds, "--seconds", "s")
    command = [str(program.resolve()), "--measure", "--rate", f"{rate:g}", "--seconds", f"{seconds:g}"]
    done = run_program([*command, *(["--json"] if args.json else [])], seconds + 600)
    print(done.stderr.decode(errors="replace"), end="", file=sys.stderr)
    if done.returncode:
        raise CutjointError(f"the measurement ended with code {done.returncode}")
    return done.stdout.decode(errors="replace")
