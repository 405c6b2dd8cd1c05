"""`cutjoint linearize`: the exact linear model of a mechanism."""

from __future__ import annotations

import argparse
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ..describe.reader import load
from ..errors import CutjointError
from ..files import check_writable, picture_format
from ..linear.equilibrium import Equilibrium, hold, settle
from ..linear.model import LinearModel, model_format
from ..simulation import Simulation
from .common import (
    add_gravity,
    add_mechanism,
    add_torque,
    check_name,
    read_gravity,
    read_pairs,
    table,
    to_json,
)
from .simulate import output_units

HELP = "Matrices A, B, C, D in independent coordinates, exact, with eigenvalues and modes."
EXAMPLE = """
cutjoint linearize stewart
cutjoint linearize stewart --hold --output body.platform.position --plot linear.png
cutjoint linearize loader --states boom,bucket --save loader.json
cutjoint assemble stewart --set motor1=0.1 --json > pose.json && cutjoint linearize stewart --at pose.json
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_mechanism(parser)
    parser.add_argument(
        "--at", metavar="FILE", help="pose as JSON: coordinates, speeds, inputs (see assemble --json)"
    )
    parser.add_argument(
        "--states",
        metavar="JOINTS",
        help="joints whose positions and speeds become the states (a,b,c), or auto, partition, tangent",
    )
    add_torque(parser, "torque or force (N·m, N) of a motor or cylinder at that state")
    parser.add_argument("--output", nargs="+", action="extend", metavar="NAME", help="rows of C and D")
    at_rest = parser.add_mutually_exclusive_group()
    at_rest.add_argument("--hold", action="store_true", help="at rest, with the inputs that hold the pose")
    at_rest.add_argument("--settle", action="store_true", help="at the equilibrium nearest to the pose")
    add_gravity(parser)
    parser.add_argument("--save", metavar="FILE", help="write the model (.json or .npz)")
    parser.add_argument("--plot", metavar="FILE", help="eigenvalues and frequency response (png, svg or pdf)")
    parser.add_argument("--json", action="store_true", help="print JSON for another program")


def run(args: argparse.Namespace) -> int:
    for path in (args.save, args.plot):
        if path:
            check_writable(path)
    if args.plot:
        picture_format(args.plot)
    if args.save:
        model_format(args.save)
    mechanism = load(args.mechanism)
    simulation = Simulation(mechanism, gravity=read_gravity(args.gravity), compile=False)
    simulation.set_inputs(read_pairs(args.torque, mechanism.inputs(), "--torque", "motor or cylinder"))
    known = list(output_units(simulation)) if args.output else []
    for name in args.output or ():
        check_name(name, known, "--output", "output")
    if args.at:
        take_pose(simulation, args.at)
    rest = hold(simulation) if args.hold else settle(simulation) if args.settle else None
    model = simulation.linearize(outputs=args.output, states=args.states)
    if args.json:
        extra = {} if rest is None else {"inputs_held": rest.inputs, "verdict": rest.verdict}
        print(to_json({"mechanism": mechanism.name, **model.as_dict(), **extra}))
    else:
        print(describe(mechanism.name, model, rest))
    if args.save:
        model.save(args.save)
    if args.plot:
        from ..draw.plot import save_figure
        from ..linear.plot import draw_linear

        save_figure(args.plot, draw_linear(model, mechanism.name))
    return 0


def take_pose(simulation: Simulation, path: str) -> None:
    """Put a simulation into the pose of a JSON file and close its loops there."""
    try:
        data = json.loads(Path(path).read_text())
        coordinates, inputs = data.get("coordinates", {}), data.get("inputs", {})
        held = {str(name): np.asarray(value, float) for name, value in coordinates.items()}
    except OSError as error:
        raise CutjointError(f"can't read '{path}': {error.strerror}") from error
    except (ValueError, AttributeError, TypeError) as error:
        raise CutjointError(f"'{path}' is no pose: it wants JSON with a mapping 'coordinates'") from error
    for name in held:
        simulation.mechanism.joint(name)
    tree = simulation.tree
    q = simulation.state.q
    for name, value in held.items():
        if name in tree.q:
            if value.size != tree.q[name].stop - tree.q[name].start:
                raise CutjointError(
                    f"'{path}': joint '{name}' takes {tree.q[name].stop - tree.q[name].start} numbers"
                )
            q[tree.q[name]] = value
    simulation.state = replace(simulation.state, q=q)
    simulation.assemble()
    simulation.set_inputs({str(name): float(value) for name, value in inputs.items()})


def describe(name: str, model: LinearModel, rest: Equilibrium | None) -> str:
    """The model as a page for people."""
    lines = [f"{name}: linear model with {len(model.states)} states, {len(model.inputs)} inputs"]
    if rest is not None:
        lines.append(f"at rest, {rest.verdict}; inputs: {_pairs(rest.inputs)}")
    for symbol, names in (
        ("A", model.states),
        ("B", model.states),
        ("C", model.outputs),
        ("D", model.outputs),
    ):
        matrix: Any = getattr(model, symbol)
        if matrix.size:
            lines.append(f"{symbol} =")
            lines.append(
                table([(n, *row) for n, row in zip(names, np.round(matrix, 6).tolist(), strict=True)])
            )
    modes = [
        (m.eigenvalue.real, m.eigenvalue.imag, m.frequency, m.damping, _largest(m)) for m in model.modes()
    ]
    header = ("real (1/s)", "imaginary (rad/s)", "frequency (Hz)", "damping", "moves most")
    return "\n".join([*lines, "modes:", table(modes, header)])


def _pairs(values: dict[str, float]) -> str:
    return ", ".join(f"{name} {value:.6g}" for name, value in values.items()) or "none"


def _largest(mode: Any) -> str:
    return max(mode.shape, key=lambda name: abs(mode.shape[name]), default="")
