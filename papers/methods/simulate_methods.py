"""The papers' ways to compute a motion, by name, as options of `cutjoint simulate`."""

import argparse
from typing import Any

from ...model.cli.common import Options, check_name
from ...model.run.steppers import STEPPERS
from ...model.simulation import Simulation

# For those who compare: docs/singularities.md lists their names.
SETTINGS = ("formulation", "stabilization", "chart")


def add_arguments(option: Options) -> None:
    for name in SETTINGS:
        option(f"--{name}", text=argparse.SUPPRESS, default=None)


def simulation(args: argparse.Namespace) -> tuple[type[Simulation], dict[str, Any]] | None:
    """What computes the motion that way, and its options; None if no paper's way is wanted."""
    ways = {option: value for option in SETTINGS if (value := getattr(args, option)) is not None}
    if not ways and args.stepper in STEPPERS:
        return None
    from . import NAMES, MethodSimulation

    ways["stepper"] = args.stepper
    checked = {o: check_name(v, NAMES[o], f"--{o}", o) for o, v in ways.items()}
    return MethodSimulation, checked | {"substeps": args.substeps}
