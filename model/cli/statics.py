"""`cutjoint statics`: what holds a mechanism at rest, in one pose or over a stroke."""

import argparse
from typing import Any

import numpy as np

from ..base.errors import CutjointError
from ..base.units import typeset
from ..run.results import write_table
from ..run.stroke import StaticPoint, Stroke
from ..show.table import table
from ..simulation import Simulation
from .common import Options, check_targets, number, prepare_simulation, tell_written, to_json

HELP = "Efforts that hold a mechanism at rest, reactions and natural frequencies, in a pose or over a stroke."
EXAMPLE = """
cutjoint statics loader --over lift=0:0.5
cutjoint statics hexapod --over leg1=-0.05:0.05:0.01 --plot force.png
cutjoint statics slider_crank --over crank=0:360deg --csv crank.csv
"""
POINTS = 21  # of a stroke whose step is not given


def add_arguments(option: Options) -> None:
    option("mechanism")
    text = (
        "lead a joint, a motor's joint or a cylinder's length from FIRST to LAST (m, rad, or with units); "
        f"{POINTS} points if no STEP is given; NAME+=… counts from where it is drawn"
    )
    option("--over", "NAME=FIRST:LAST:STEP", text)
    option("--input --torque", text="constant inputs of what is not found here; all=VALUE for every one")
    option("--set")
    option("--parameter")
    option("--gravity")
    option("--csv", "FILE", "write efforts, reactions and frequencies as a table", writes=True)
    option("--plot", "FILE", "plot efforts and frequencies over the stroke (png, svg or pdf)", writes=True)
    option("--json")


def run(args: argparse.Namespace) -> int:
    check_targets(args.csv, picture=args.plot)
    simulation = prepare_simulation(args, compile=False)
    name, unit, points = _points(args, simulation)
    found = [p for p in points if not p.problem]
    if not found:
        raise CutjointError(points[0].problem)
    columns = _columns(name, found)
    if args.json:
        print(to_json({"mechanism": simulation.mechanism.name, "over": name, "points": [*map(vars, points)]}))
    else:
        print(page(simulation, name, unit, points))
    if args.csv:
        write_table(args.csv, np.array([p.value for p in found]), columns, first=name or "pose")
    if args.plot:
        _plot(args.plot, simulation, name, unit, found)
    tell_written(args, table=args.csv, plot=args.plot)
    return 0


def _points(args: argparse.Namespace, simulation: Simulation) -> tuple[str, str, list[StaticPoint]]:
    """What is led, its unit, and the mechanism at rest at each of its values."""
    if not args.over:
        drives = [item.name for item in simulation.mechanism.drives]
        if not drives:
            raise CutjointError(f"'{simulation.mechanism.name}' has no motor or cylinder that could hold it")
        stroke = Stroke(simulation, drives[0])
        return drives[0], stroke.unit, [stroke.at(stroke.start)]
    name, equals, text = args.over.partition("=")
    added = name.endswith("+")
    if not equals:
        raise CutjointError(f"--over takes NAME=FIRST:LAST or NAME=FIRST:LAST:STEP, not '{args.over}'")
    stroke = Stroke(simulation, name.removesuffix("+"))
    ends = [number(part.strip(), "--over", stroke.unit) for part in text.split(":")]
    if len(ends) not in (2, 3) or (len(ends) == 3 and not (ends[1] - ends[0]) * ends[2] > 0):
        raise CutjointError(f"--over takes NAME=FIRST:LAST or NAME=FIRST:LAST:STEP, not '{args.over}'")
    count = POINTS if len(ends) == 2 else int((ends[1] - ends[0]) / ends[2] + 1 + 1e-9)
    last = ends[1] if len(ends) == 2 else ends[0] + (count - 1) * ends[2]
    values = np.linspace(ends[0], last, count) + (stroke.start if added else 0.0)
    return name.removesuffix("+"), stroke.unit, [stroke.at(float(x)) for x in values]


def _columns(name: str, points: list[StaticPoint]) -> dict[str, np.ndarray]:
    """All numbers of the points by name; frequencies that are not there are NaN."""
    most = max(len(p.frequencies) for p in points)
    columns: dict[str, Any] = {f"{n}.effort": [p.efforts[n] for p in points] for n in points[0].efforts}
    columns |= {f"reaction.{n}.force.norm": [p.reactions[n] for p in points] for n in points[0].reactions}
    for k in range(most):
        columns[f"frequency{k + 1}"] = [
            p.frequencies[k] if k < len(p.frequencies) else np.nan for p in points
        ]
    return {key: np.array(values) for key, values in columns.items()}


def page(simulation: Simulation, name: str, unit: str, points: list[StaticPoint]) -> str:
    """A row for each pose."""
    units = _effort_units(simulation)
    rows, drives = [], next(p.efforts for p in points if not p.problem)
    for p in points:
        if p.problem:
            rows.append((f"{p.value:.6g}", *([""] * len(drives)), "", "", p.problem))
            continue
        most = max(p.reactions, key=lambda joint: p.reactions[joint])
        waves = ", ".join(f"{f:.4g}" for f in p.frequencies[:3]) or "none"
        rows.append(
            (
                f"{p.value:.6g}",
                *(f"{p.efforts[n]:.6g}" for n in drives),
                f"{p.reactions[most]:.5g} N at {most}",
                waves,
                p.verdict,
            )
        )
    head = (f"{name} ({unit})", *(f"{n} ({typeset(units[n])})" for n in drives), "largest reaction")
    return f"{simulation.mechanism.name}: at rest\n" + table(rows, (*head, "frequencies (Hz)", ""))


def _plot(path: str, simulation: Simulation, name: str, unit: str, points: list[StaticPoint]) -> None:
    from ..show.plot import draw_plot, save_figure

    columns = _columns(name, points)
    efforts = _effort_units(simulation)
    shown = {name: np.array([p.value for p in points])}
    units = {name: unit}
    for key, values in columns.items():
        if key.endswith(".effort"):
            title = f"effort.{key.removesuffix('.effort')}.effort"
            shown[title], units[title] = values, efforts[key.removesuffix(".effort")]
        elif key.startswith("frequency"):
            title = f"natural.{key.removeprefix('frequency')}.frequency"
            shown[title], units[title] = values, "Hz"
    save_figure(path, draw_plot(shown[name], shown, simulation.mechanism.name, units, over=name))


def _effort_units(simulation: Simulation) -> dict[str, str]:
    """Of motors and cylinders by name."""
    outputs = simulation.variables().outputs
    return {v.name.split(".")[1]: v.unit for v in outputs if v.name.endswith(".effort")}
