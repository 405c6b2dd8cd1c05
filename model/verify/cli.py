"""`cutjoint verify`: put a mechanism through what an expert would check, and say whether to trust it."""

import argparse

from ..show.table import table
from .common import Options, positive, progress_bar, read_gravity, read_torques, to_json
from .main import NOT_SIMULATED

HELP = "Put a mechanism through what an expert would check, with numbers, and say whether to trust it."
EXAMPLE = """
cutjoint verify stewart
cutjoint verify crank.yaml --time 5 --step 2e-3 --torque motor=1.5
cutjoint verify fourbar --json
"""


def add_arguments(option: Options) -> None:
    option("mechanism")
    option("--time", "S", "how long to watch it, s (default 1)", default="1")
    option("--step", "S", "the step that is to be trusted, s (default 1e-3)", default="1e-3")
    text = "how a step is taken: runge_kutta, single, or implicit for stiff mechanisms"
    option("--stepper", "NAME", text, default="runge_kutta")
    text = "constant torque or force (N·m, N) of a motor or cylinder; all=VALUE for every one"
    option("--torque", text=text)
    option("--gravity")
    option("--no-compile")
    option("--progress")
    option("--json")


def run(args: argparse.Namespace) -> int:
    from ..loading import load
    from ..verify import verify

    time, step = positive(args.time, "--time", "s"), positive(args.step, "--step", "s")
    mechanism = load(args.mechanism)
    inputs = read_torques(args.torque, mechanism)
    with progress_bar(args) as progress:
        report = verify(
            mechanism,
            time=time,
            step=step,
            inputs=inputs,
            gravity=read_gravity(args.gravity),
            stepper=args.stepper,
            compile=False if args.no_compile else None,
            progress=progress,
        )
    if args.json:
        print(to_json(report.data()))
    else:
        rows = [
            (c.verdict, c.name, "" if c.passed is None else f"{c.value:.1e} ≤ {c.limit:.0e}", c.says)
            for c in report.checks
        ]
        failed = [c.name for c in report.checks if c.passed is False]
        verdict = f"NOT to be trusted: {', '.join(failed)}" if failed else "to be trusted"
        print(f"{report.mechanism}: {report.time:g} s in steps of {report.step:g} s ({report.stepper})")
        print(f"{table(rows)}\n{report.mechanism} is {verdict}")
    return 0 if report.passed else NOT_SIMULATED
