"""`cutjoint assemble`: close the loops of a mechanism, optionally with joints held."""

import argparse
import re
from pathlib import Path

from ..describe.writer import save
from ..describe.yaml_text import LARGEST_FILE
from ..errors import CutjointError
from ..loading import load
from ..show.table import table
from ..simulation import Simulation
from .common import Options, check_targets, kept_form, read_joints, tell_written, to_json

HELP = "Close the loops, starting from the drawn pose, and print where every joint ends up."
EXAMPLE = """
cutjoint assemble stewart
cutjoint assemble stewart --set motor1=0.2 motor2=0.2 motor3=0.2 -o turned.yaml
cutjoint assemble parts.yaml   # an assembly problem: bodies and constraints, docs/cartesian.md
"""


def add_arguments(option: Options) -> None:
    option("mechanism")
    option("--set", text="hold a joint at a coordinate (rad or m, or with a unit: 10deg)")
    option("-o --output", "FILE", "write the description with this pose to start from")
    option("--json")


def run(args: argparse.Namespace) -> int:
    check_targets(args.output)
    if _holds_parts(args.mechanism):
        return _assemble_parts(args)
    mechanism = load(args.mechanism)
    held = read_joints(args.set, mechanism)
    simulation = Simulation(mechanism, compile=False)
    report = simulation.assemble(held)
    if args.json:
        print(to_json({"mechanism": mechanism.name, **vars(report)}))
    else:
        print(f"{mechanism.name}: closed in {report.iterations} iterations, residual {report.residual:.2g}")
        print(table(report.coordinates.items(), ("joint", "coordinates (rad, m)")))
        if report.loops:
            print(table(report.loops.items(), ("loop", "residual")))
    if args.output:
        save(
            mechanism.with_start(report.coordinates),
            args.output,
            like=kept_form(args.mechanism),
        )
    tell_written(args, written=args.output)
    return 0


def _holds_parts(source: str) -> bool:
    """Whether this is the file of an assembly problem: it has `constraints` at its top level."""
    path = Path(source)
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return re.search(rb"^constraints\s*:", file.read(LARGEST_FILE), re.M) is not None


def _assemble_parts(args: argparse.Namespace) -> int:
    """An assembly problem: parts under geometric constraints instead of joints."""
    from ..cartesian.problem_file import load_problem

    if args.set or args.output:
        raise CutjointError("--set and --output are for mechanisms; this file holds an assembly problem")
    problem = load_problem(args.mechanism)
    report = problem.solve()
    found = {"problem": problem.name, **vars(report)}
    print(to_json(found) if args.json else f"{problem.name}: {report.text()}")
    return 0
