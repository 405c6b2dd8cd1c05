"""`cutjoint assemble`: close the loops of a mechanism, optionally with joints held."""

from __future__ import annotations

import argparse
from dataclasses import replace

from .command_common import add_mechanism, read_pairs, table, to_json
from .files import check_writable
from .reader import load
from .simulation import Simulation
from .writer import save

HELP = "Close the loops, starting from the drawn pose, and print where every joint ends up."
EXAMPLE = """
cutjoint assemble stewart
cutjoint assemble stewart --set motor1=0.2 motor2=0.2 motor3=0.2 -o turned.yaml
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_mechanism(parser)
    parser.add_argument(
        "--set",
        nargs="+",
        action="extend",
        default=[],
        metavar="JOINT=VALUE",
        help="hold a joint at a coordinate (rad or m)",
    )
    parser.add_argument(
        "-o", "--output", metavar="FILE", help="write the description with this pose to start from"
    )
    parser.add_argument("--json", action="store_true", help="print JSON for another program")


def run(args: argparse.Namespace) -> int:
    if args.output:
        check_writable(args.output)
    mechanism = load(args.mechanism)
    held = read_pairs(args.set, [j.name for j in mechanism.joints], "--set", "joint")
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
        joints = tuple(
            replace(j, start=tuple(float(x) for x in report.coordinates.get(j.name, j.start)))
            for j in mechanism.joints
        )
        save(replace(mechanism, joints=joints), args.output)
        if not args.json:
            print(f"written: {args.output}")
    return 0
