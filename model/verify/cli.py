"""`cutjoint verify`: put a mechanism through what an expert would check, and say whether to trust it."""

import argparse

from ..cli.common import (
    MANY,
    Options,
    load_mechanism,
    positive,
    progress_bar,
    read_gravity,
    read_laws,
    read_torques,
    to_json,
    variable_names,
)
from ..cli.main import NOT_SIMULATED
from ..show.table import table

HELP = "Put a mechanism through what an expert would check, with numbers, and say whether to trust it."
EXAMPLE = """
cutjoint verify stewart
cutjoint verify crank.yaml --time 5 --step 2e-3 --torque motor=1.5
cutjoint verify fourbar --json
"""


def add_arguments(option: Options) -> None:
    option("mechanism")
    option("--time", "S", "how long to watch it, s (default 1)", default="1")
    option("--step", "S", "the step whose accuracy is checked, s (default 1e-3)", default="1e-3")
    text = "how a step is taken: runge_kutta, single, or implicit for stiff mechanisms"
    option("--stepper", "NAME", text, default="runge_kutta")
    text = "constant torque or force (N·m, N) of a motor or cylinder; all=VALUE for every one"
    option("--torque", text=text)
    text = "an input over time, such as motor1=sine(amplitude=5, frequency=2), or a number"
    option("--input", "NAME=LAW", text, **MANY)
    option("--gravity")
    option("--no-compile")
    option("--progress")
    option("--json")


def run(args: argparse.Namespace) -> int:
    from . import verify

    time, step = positive(args.time, "--time", "s"), positive(args.step, "--step", "s")
    mechanism = load_mechanism(args)
    inputs = read_torques(args.torque, mechanism) | read_laws(args.input, variable_names(mechanism))
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
        verdict = "all checks passed" if report.moved else "at rest, so no motion was checked"
        verdict = f"FAILED: {', '.join(failed)}" if failed else verdict
        print(
            f"{report.mechanism}: mobility {report.mobility}; "
            f"{report.time:g} s in steps of {report.step:g} s ({report.stepper})"
        )
        print(f"{table(rows)}\n{report.mechanism}: {verdict}")
    return 0 if report.passed else NOT_SIMULATED
