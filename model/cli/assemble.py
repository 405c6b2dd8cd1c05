"""`cutjoint assemble`: close the loops of a mechanism, optionally with joints held.

An annex that extends it may define `instead(args)`: the exit code if the file is one of its own.
"""

import argparse

from ..base import annexes
from ..describe.writer import save
from ..show.table import table
from ..simulation import Simulation
from .common import Options, check_targets, form_to_keep, load_mechanism, read_joints, tell_written, to_json

HELP = "Close the loops, starting from the drawn pose, and print where every joint ends up."
EXAMPLE = """
cutjoint assemble stewart
cutjoint assemble stewart --set motor1=0.2 motor2=0.2 motor3=0.2 -o turned.yaml
"""


def add_arguments(option: Options) -> None:
    option("mechanism")
    option("--set", text="hold a joint at a coordinate (rad or m, or with a unit: 10deg)")
    option("-o --output", "FILE", "write the description with this pose to start from", writes=True)
    option("--json")


def run(args: argparse.Namespace) -> int:
    check_targets(args.output)
    for code in annexes.ask("assemble", "instead", args):
        return int(code)
    mechanism = load_mechanism(args)
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
            like=form_to_keep(args.mechanism),
        )
    tell_written(args, written=args.output)
    return 0
