"""`cutjoint linearize`: the exact linear model of a mechanism."""

import argparse
import json
from dataclasses import replace
from typing import Any

import numpy as np

from ..base.errors import CutjointError
from ..base.thresholds import AT_REST
from ..base.untrusted import read_text
from ..describe.yaml_text import LARGEST_FILE
from ..linear.model import LinearModel, model_format
from ..run.assembly import consistent_speeds
from ..run.equilibrium import Equilibrium, hold, settle
from ..show.table import table
from ..simulation import Simulation
from .common import MANY, Options, check_targets, output_columns, prepare_simulation, to_json

HELP = "Matrices A, B, C, D in independent coordinates, exact, with eigenvalues and modes."
EXAMPLE = """
cutjoint linearize stewart
cutjoint linearize stewart --hold --output body.platform.position --plot linear.png
cutjoint linearize loader --states boom,bucket --save loader.json
cutjoint assemble stewart --set motor1=0.1 --json > pose.json && cutjoint linearize stewart --at pose.json
"""


def add_arguments(option: Options) -> None:
    option("mechanism")
    option("--at", "FILE", "state as JSON: coordinates, speeds, inputs by name (see assemble --json)")
    text = "joints whose positions and speeds become the states (a,b,c), or auto, partition, tangent"
    option("--states", "JOINTS", text)
    text = "torque or force (N·m, N) of a motor or cylinder at that state; all=VALUE for every one"
    option("--input --torque", text=text)
    option("--output", "NAME", "rows of C and D", **MANY)
    at_rest = Options(option.parser.add_mutually_exclusive_group())
    at_rest("--hold", text="at rest, with the inputs that hold the pose")
    at_rest("--settle", text="at the equilibrium nearest to the pose")
    option("--set")
    option("--parameter")
    option("--gravity")
    option("--save", "FILE", "write the model (.json or .npz)", writes=True)
    option("--plot", "FILE", "eigenvalues and frequency response (png, svg or pdf)", writes=True)
    option("--json")


def run(args: argparse.Namespace) -> int:
    check_targets(args.save, picture=args.plot)
    if args.save:
        model_format(args.save)
    simulation = prepare_simulation(args, compile=False)
    mechanism = simulation.mechanism
    wanted = output_columns(simulation, args.output, traced=True) if args.output else None
    if args.at:
        take_pose(simulation, args.at)
    rest = hold(simulation) if args.hold else settle(simulation) if args.settle else None
    model = simulation.linearize(outputs=wanted, states=args.states)
    if args.json:
        extra: dict[str, Any] = {"at_rest": not movement(simulation)}
        if rest is not None:
            extra |= {"inputs_held": rest.inputs, "verdict": rest.verdict}
        print(to_json({"mechanism": mechanism.name, **model.as_dict(), **extra}))
    else:
        print(page(mechanism.name, model, rest, movement(simulation)))
    if args.save:
        model.save(args.save)
    if args.plot:
        from ..show.linear_plot import draw_linear
        from ..show.plot import save_figure

        save_figure(args.plot, draw_linear(model, mechanism.name))
    return 0


def take_pose(simulation: Simulation, path: str) -> None:
    """Put a simulation into the pose of a JSON file, close its loops there, and give it the file's speeds."""
    try:
        data = json.loads(read_text(path, LARGEST_FILE, "pose"))
        coordinates, speeds, inputs = (
            {str(name): np.atleast_1d(np.asarray(value, float)) for name, value in data.get(key, {}).items()}
            for key in ("coordinates", "speeds", "inputs")
        )
    except (ValueError, AttributeError, TypeError, RecursionError) as error:
        raise CutjointError(f"'{path}' is no pose: it wants JSON with a mapping 'coordinates'") from error
    tree, q = simulation.tree, simulation.state.q
    for name, value in coordinates.items():
        simulation.mechanism.joint(name)
        if name in tree.q:  # those of cut joints follow
            size = tree.q[name].stop - tree.q[name].start
            if value.size != size or not np.isfinite(value).all():
                raise CutjointError(f"'{path}': joint '{name}' takes {size} finite coordinates")
            q[tree.q[name]] = value
    simulation.put(replace(simulation.state, q=q))
    simulation.assemble()
    for name, value in inputs.items():
        if value.size != 1:
            raise CutjointError(f"'{path}': input '{name}' takes one number")
    try:
        if speeds:
            here = simulation.state
            simulation.state = replace(here, v=consistent_speeds(simulation.engine, here, speeds))
        simulation.set_inputs({name: value.item() for name, value in inputs.items()})
    except CutjointError as error:
        raise CutjointError(f"'{path}': {error}") from error


def movement(simulation: Simulation) -> str:
    """What moves most at the present state; empty at rest."""
    names = [speed.name for speed in simulation.variables().speeds.columns()]
    for values, word in ((simulation.state.v, "moves"), (simulation.accelerations()[0], "accelerates")):
        k = int(np.abs(values).argmax()) if values.size else 0
        if values.size and abs(values[k]) > AT_REST:
            return f"not at rest ({names[k]} {word}: {values[k]:.3g} in SI units)"
    return ""


def page(name: str, model: LinearModel, rest: Equilibrium | None, moving: str = "") -> str:
    """The model as a page for people."""
    lines = [f"{name}: linear model with {len(model.states)} states, {len(model.inputs)} inputs"]
    if rest is not None:
        lines.append(f"at rest, {rest.verdict}; inputs: {_pairs(rest.inputs)}")
    elif moving:
        lines.append(f"{moving}: deviations from that motion; --hold or --settle finds a rest")
    for symbol in "ABCD":
        matrix: Any = getattr(model, symbol)
        names = model.states if symbol in "AB" else model.outputs
        if matrix.size:
            rows = zip(names, np.round(matrix, 6).tolist(), strict=True)
            lines += [f"{symbol} =", table([(name, *row) for name, row in rows])]
    modes = []
    for m in model.modes():
        modes.append((m.eigenvalue.real, m.eigenvalue.imag, m.frequency, m.damping, _largest(m)))
    header = ("real (1/s)", "imaginary (rad/s)", "frequency (Hz)", "damping", "moves most")
    return "\n".join(
        [*lines, "modes:", table(modes, header)] if modes else [*lines, "no modes: nothing moves freely"]
    )


def _pairs(values: dict[str, float]) -> str:
    return ", ".join(f"{name} {value:.6g}" for name, value in values.items()) or "none"


def _largest(mode: Any) -> str:
    return max(mode.shape, key=lambda name: abs(mode.shape[name]), default="")
