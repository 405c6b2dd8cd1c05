"""`cutjoint simulate`: run a mechanism with constant inputs and say how well it went."""

import argparse
import time
import warnings
from typing import Any

import numpy as np

from ..describe.mechanism import Mechanism
from ..joints.types import TYPES
from ..run.steppers import STEPPERS
from ..run.trajectory import Trajectory
from ..show.table import table
from ..simulation import METHODS, Simulation
from .common import (
    MANY,
    Options,
    check_name,
    check_targets,
    output_columns,
    positive,
    prepared,
    progress_bar,
    tell_written,
    to_json,
)
from .main import NOT_SIMULATED

HELP = "Run a mechanism from its assembled pose with constant inputs; write a table or a plot."
EXAMPLE = """
cutjoint simulate stewart --time 2 --torque all=10 --plot stewart.png
cutjoint simulate arm --time 5 --method variable --tolerance 1e-10 --csv arm.csv
"""
# Other ways to compute the same motion, for those who compare: docs/singularities.md lists their names.
PAPERS = ("formulation", "stabilization", "chart")
CHECKS = ("energy", "loop.residual", "singularity.distance")


def add_arguments(option: Options) -> None:
    option("mechanism")
    option("--time", "S", "how long to simulate, s (default 1)", default="1")
    option("--step", "S", "step and spacing of records, s (default 1e-3)", default="1e-3")
    text = "fixed step, or as long as the tolerance lets it be"
    option("--method", "{fixed,variable}", text, choices=METHODS, default="fixed")
    text = "how a fixed step is taken: runge_kutta, or implicit for stiff mechanisms"
    option("--stepper", "NAME", text, default="runge_kutta")
    option("--substeps")
    for name in PAPERS:
        option(f"--{name}", text=argparse.SUPPRESS, default=None)
    option("--tolerance", "X", "of the variable step (default 1e-10)", default="1e-10")
    text = "constant torque or force (N·m, N) of a motor or cylinder; all=VALUE for every one"
    option("--torque", text=text)
    option("--gravity")
    text = "what to record, such as body.platform.position or 'joint.*.velocity'"
    option("--output", "NAME", text, **MANY)
    option("--csv", "FILE", "write the records as a table")
    option("--plot", "FILE", "plot the records (png, svg or pdf)")
    option("--no-compile")
    option("--progress")
    option("--json", text="print the summary as JSON")


def run(args: argparse.Namespace) -> int:
    duration, step = positive(args.time, "--time"), positive(args.step, "--step")
    tolerance = positive(args.tolerance, "--tolerance")
    check_targets(args.csv, picture=args.plot)
    begin = time.perf_counter()
    kind, ways = _simulation(args)
    simulation = prepared(args, kind, compile=False if args.no_compile else None, **ways)
    mechanism = simulation.mechanism
    units = output_columns(simulation, args.output or default_outputs(mechanism))
    how: dict[str, Any] = {"step": step, "method": args.method, "tolerance": tolerance}
    how["record"] = [*units, *CHECKS]
    start = simulation.state
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # this run is none: it builds what the one below is not to wait for
        simulation.run(step, **how)
    simulation.state = start
    energy = simulation.energy()
    ready = time.perf_counter()
    with progress_bar(args) as progress:
        trajectory = simulation.run(duration, **how, progress=progress)
    taken, judgement = time.perf_counter() - ready, trajectory.judgement
    summary = {
        "mechanism": mechanism.name,
        "time": duration,
        "method": args.method,
        "step": step,
        "compiled": simulation.compiled,
        "seconds_to_prepare": ready - begin,
        "seconds_to_run": taken,
        "real_time_factor": duration / taken,
        "energy_start": energy,
        "energy_end": simulation.energy(),
        "work": simulation.work,
        "imbalance": simulation.energy() - energy - simulation.work,
        "exchanged": judgement.scale,
        "steps_judged": judgement.judged,
        "steps_refined": judgement.refined,
        "steps_unsettled": judgement.unsettled,
        "steps_undecided": judgement.undecided,
        "substeps_tried": judgement.tries,
        "trusted": judgement.trusted,
        "loop_residual": float(np.max(np.abs(trajectory["loop.residual"]))),
        "singularity_distance": float(np.min(trajectory["singularity.distance"])),
    }
    print(to_json(summary) if args.json else page(summary))
    columns = {name: trajectory[name] for name in units}
    if args.csv:
        values = np.column_stack(list(columns.values()))
        Trajectory(trajectory.time, tuple(columns), values).write_csv(args.csv)
    if args.plot:
        from ..show.plot import draw_plot, save_figure

        save_figure(args.plot, draw_plot(trajectory.time, columns, mechanism.name, units))
    tell_written(args, table=args.csv, plot=args.plot)
    return 0 if judgement.trusted else NOT_SIMULATED


def _simulation(args: argparse.Namespace) -> tuple[type[Simulation], dict[str, Any]]:
    """What knows the chosen ways to compute the motion: the papers' are asked for only if one is wanted."""
    ways = {option: value for option in PAPERS if (value := getattr(args, option)) is not None}
    if not ways and args.stepper in STEPPERS:
        return Simulation, {"stepper": args.stepper, "substeps": args.substeps}
    from ..papers.methods import NAMES, MethodSimulation

    ways["stepper"] = args.stepper
    checked = {o: check_name(v, NAMES[o], f"--{o}", o) for o, v in ways.items()}
    return MethodSimulation, checked | {"substeps": args.substeps}


def page(summary: dict[str, Any]) -> str:
    """The summary as a page for people."""
    s = summary
    how = f"steps of {s['step']:g} s" if s["method"] == "fixed" else "variable steps"
    where = "compiled C" if s["compiled"] else "the virtual machine (no C compiler used)"
    part = f", {abs(s['imbalance']) / s['exchanged']:.1e} of what was exchanged" if s["exchanged"] > 0 else ""
    rows = [
        ("prepared in", f"{s['seconds_to_prepare']:.2f} s"),
        (
            "simulated in",
            f"{s['seconds_to_run']:.3f} s, {s['real_time_factor']:.3g} times as fast as real time",
        ),
        ("energy", f"{s['energy_start']:.6g} J at the start, {s['energy_end']:.6g} J at the end"),
        ("work", f"{s['work']:.6g} J put in by motors and loads, less what dampers took"),
        ("imbalance", f"{s['imbalance']:.2e} J{part}" + ("" if s["trusted"] else ": not to be trusted")),
    ]
    if s["steps_judged"]:
        counts = f"{s['steps_judged']} judged, {s['steps_refined']} refined"
        counts += f" in {s['substeps_tried']} sub-steps" if s["steps_refined"] else ""
        counts += f", {s['steps_unsettled']} unsettled"
        counts += f", {s['steps_undecided']} undecided" if s["steps_undecided"] else ""
        rows.append(("steps", counts))
    if np.isfinite(s["singularity_distance"]):
        rows += [
            ("loop residual", f"{s['loop_residual']:.1e} m or rad at most"),
            ("singularity", f"smallest singular value {s['singularity_distance']:.3g} at the nearest"),
        ]
    return f"{s['mechanism']}: {s['time']:g} s in {how}, in {where}\n{table(rows)}"


def default_outputs(mechanism: Mechanism) -> list[str]:
    """What the description names, or else the positions of its driven joints, or of all joints."""
    if mechanism.outputs:
        return [*mechanism.outputs, "energy"]
    joints = [motor.joint for motor in mechanism.motors]
    joints = joints or [j.name for j in mechanism.joints if TYPES[j.type].moves]
    return [*(f"joint.{name}.position" for name in joints), "energy"]
