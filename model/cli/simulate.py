"""`cutjoint simulate`: run a mechanism and say how well it went."""

import argparse
import time
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from ..describe.mechanism import Mechanism
from ..errors import CutjointError
from ..files import write_atomically
from ..joints.types import TYPES
from ..run.controllers import controller
from ..run.inputs import Controller, as_laws
from ..run.results import check_result
from ..run.steppers import STEPPERS
from ..run.trajectory import Trajectory
from ..show.film import check_film
from ..show.player import frame_names
from ..show.table import table
from ..simulation import METHODS, Simulation
from .common import (
    MANY,
    Options,
    check_name,
    check_targets,
    check_units,
    output_columns,
    positive,
    prepared,
    progress_bar,
    read_view,
    tell_written,
    to_json,
)
from .linearize import take_pose
from .main import NOT_SIMULATED

HELP = "Run a mechanism from its assembled pose; write tables, plots, animations or a report."
EXAMPLE = """
cutjoint simulate stewart --time 2 --torque all=10 --plot stewart.png
cutjoint simulate stewart --input 'motor1=sine(amplitude=5, frequency=2)' --animate stewart.gif
cutjoint simulate arm --time 5 --method variable --tolerance 1e-10 --csv arm.csv
cutjoint simulate stewart --controller 'pd(kp=200, kd=20)' --unit deg mm --report run.html
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
    text = "constant torque or force (N·m, N, or with a unit) of a motor or cylinder; all=VALUE for every one"
    option("--torque", text=text)
    text = "an input over time, such as motor1=sine(amplitude=5, frequency=2) or motor1=table.csv:torque"
    option("--input", "NAME=LAW", text, **MANY)
    text = "a controller of all motors, or NAME=pd(…) of one: pd(kp=…, kd=…, target=LAW, feedforward=LAW)"
    option("--controller", "PD", text, **MANY)
    option("--set")
    option("--at", "FILE", "start in the state of a JSON file (see assemble --json)")
    option("--parameter")
    option("--gravity")
    text = "what to record, such as body.platform.position or 'joint.*.velocity'"
    option("--output", "NAME", text, **MANY)
    option("--unit")
    option("--csv", "FILE", "write the records as a table")
    option("--save", "FILE", "write the records by the file's ending: csv, parquet or h5")
    option("--plot", "FILE", "plot the records (png, svg or pdf)")
    option("--animate", "FILE", "write the motion to watch (gif, mp4 or html)")
    option("--report", "FILE", "write a page on the run with all there is (html)")
    option("--view")
    option("--no-compile")
    option("--progress")
    option("--json", text="print the summary as JSON")


def run(args: argparse.Namespace) -> int:
    duration, step = positive(args.time, "--time", "s"), positive(args.step, "--step", "s")
    tolerance = positive(args.tolerance, "--tolerance")
    angle = read_view(args.view)
    _check_files(args)
    begin = time.perf_counter()
    simulation, laws, loops = _prepared(args, step)
    mechanism = simulation.mechanism
    wanted = output_columns(simulation, args.output or default_outputs(mechanism))
    how: dict[str, Any] = {"step": step, "method": args.method, "tolerance": tolerance}
    how |= {"inputs": laws, "controller": loops}
    how["record"] = [*wanted, *CHECKS, *_further(args, simulation)]
    start = simulation.state
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # this run is none: it builds what the one below is not to wait for
        simulation.run(min(step, duration) / 1000, **how)  # a step to a tolerance may be that short
    simulation.state = start
    ready = time.perf_counter()
    with progress_bar(args) as progress, _heard() as said:
        motion = simulation.run(duration, **how, progress=progress)
    seconds = time.perf_counter() - ready
    summary = _summary(args, simulation, motion, duration, step) | {
        "seconds_to_prepare": ready - begin,
        "seconds_to_run": seconds,
        "real_time_factor": duration / seconds,
    }
    print(to_json(summary) if args.json else page(summary))
    shown = motion.part(wanted).in_units(*args.unit)
    for path in filter(None, (args.csv, args.save)):
        shown.write_csv(path) if path == args.csv else shown.write(path)
    if args.plot:
        from ..show.plot import draw_plot, save_figure

        columns = dict(zip(shown.names, shown.values.T, strict=True))
        units = dict(zip(shown.names, shown.units, strict=True))
        save_figure(args.plot, draw_plot(motion.time, columns, mechanism.name, units))
    if args.animate:
        from ..show.film import save_film

        with progress_bar(args) as progress:
            save_film(args.animate, simulation, motion, angle, progress)
    if args.report:
        from ..show.run_report import run_report

        text = run_report(simulation, motion, shown, _settings(args), summary_rows(summary), said, angle)
        with write_atomically(args.report) as temporary:
            temporary.write_text(text, encoding="utf-8")
    files = {"table": args.csv, "results": args.save, "plot": args.plot, "animation": args.animate}
    tell_written(args, **files, report=args.report)
    return 0 if motion.judgement.trusted else NOT_SIMULATED


def _check_files(args: argparse.Namespace) -> None:
    """Refuse what can't be written, and options that contradict each other, before the work starts."""
    check_targets(args.csv, args.save, args.animate, args.report, picture=args.plot)
    if args.save:
        check_result(args.save)
    if args.animate:
        check_film(args.animate)
    if args.report and not args.report.lower().endswith((".html", ".htm")):
        raise CutjointError(f"can't write a report to '{args.report}': the name must end in .html")
    check_units(args.unit)
    if args.at and args.set:
        raise CutjointError("--at and --set both say where to start; give one")


def _prepared(args: argparse.Namespace, step: float) -> tuple[Simulation, dict[str, Any], Controller | None]:
    """The simulation at its start, the laws of its inputs, and its controller."""
    kind, ways = _simulation(args)
    simulation = prepared(args, kind, compile=False if args.no_compile else None, **ways)
    if args.at:
        take_pose(simulation, args.at)
    texts: dict[str, str] = {}
    for word in args.input:
        name, equals, text = word.partition("=")
        if not equals:
            raise CutjointError(f"--input takes NAME=LAW, not '{word}'")
        if name in texts:
            raise CutjointError(f"--input: '{name}' is given twice; add laws by sum(…)")
        texts[check_name(name, simulation.inputs, "--input", "input")] = text
    loops = controller(simulation, args.controller) if args.controller else None
    both = sorted(texts.keys() & loops.loops.keys()) if loops else []
    if both:
        raise CutjointError(f"'{both[0]}' has a law and a controller; give the law as feedforward=…")
    return simulation, as_laws(simulation, texts, simulation.time, step), loops


def _further(args: argparse.Namespace, simulation: Simulation) -> list[str]:
    """What is recorded beside what is asked for."""
    if args.report:
        from ..show.run_report import report_names

        return report_names(simulation)
    return frame_names(simulation) if args.animate else []


@contextmanager
def _heard() -> Iterator[list[str]]:
    """What is warned of meanwhile, beside being shown."""
    said: list[str] = []
    show = warnings.showwarning
    with warnings.catch_warnings():

        def hear(message: Warning | str, *rest: Any) -> None:
            said.append(str(message))
            show(message, *rest)

        warnings.showwarning = hear  # type: ignore[assignment]
        yield said


def _summary(
    args: argparse.Namespace, simulation: Simulation, motion: Trajectory, duration: float, step: float
) -> dict[str, Any]:
    judgement = motion.judgement
    before = 0.0 if motion.energies is None else float(motion.energies[0, 2])  # by motions that jumped there
    begin, end, work = motion["energy"][0], simulation.energy(), simulation.work - before
    return {
        "mechanism": simulation.mechanism.name,
        "time": duration,
        "method": args.method,
        "step": step,
        "compiled": simulation.compiled,
        "energy_start": begin,
        "energy_end": end,
        "work": work,
        "imbalance": end - begin - work,
        "exchanged": judgement.scale,
        "steps_judged": judgement.judged,
        "steps_refined": judgement.refined,
        "steps_unsettled": judgement.unsettled,
        "steps_undecided": judgement.undecided,
        "substeps_tried": judgement.tries,
        "trusted": judgement.trusted,
        "loop_residual": float(np.max(np.abs(motion["loop.residual"]))),
        "singularity_distance": float(np.min(motion["singularity.distance"])),
    }


def _settings(args: argparse.Namespace) -> dict[str, str]:
    """What was asked for, as it was typed."""
    names = "mechanism time step method stepper substeps tolerance torque input controller set at parameter"
    given = {name: getattr(args, name) for name in (*names.split(), "gravity", "output", "unit", *PAPERS)}
    if args.method == "fixed":
        del given["tolerance"]
    return {
        name: ", ".join(map(str, value)) if isinstance(value, list) else str(value)
        for name, value in given.items()
        if value not in (None, [])
    }


def _simulation(args: argparse.Namespace) -> tuple[type[Simulation], dict[str, Any]]:
    """What knows the chosen ways to compute the motion: the papers' are asked for only if one is wanted."""
    ways = {option: value for option in PAPERS if (value := getattr(args, option)) is not None}
    if not ways and args.stepper in STEPPERS:
        return Simulation, {"stepper": args.stepper, "substeps": args.substeps}
    from ..papers.methods import NAMES, MethodSimulation

    ways["stepper"] = args.stepper
    checked = {o: check_name(v, NAMES[o], f"--{o}", o) for o, v in ways.items()}
    return MethodSimulation, checked | {"substeps": args.substeps}


def page(summary: Mapping[str, Any]) -> str:
    """The summary as a page for people."""
    s = summary
    how = f"steps of {s['step']:g} s" if s["method"] == "fixed" else "variable steps"
    where = "compiled C" if s["compiled"] else "the virtual machine (no C compiler used)"
    return f"{s['mechanism']}: {s['time']:g} s in {how}, in {where}\n{table(summary_rows(summary))}"


def summary_rows(summary: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What a run says of itself, line by line."""
    s = summary
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
    return rows


def default_outputs(mechanism: Mechanism) -> list[str]:
    """What the description names, or else the positions of its driven joints, or of all joints."""
    if mechanism.outputs:
        return [*mechanism.outputs, "energy"]
    joints = [motor.joint for motor in mechanism.motors]
    joints = joints or [j.name for j in mechanism.joints if TYPES[j.type].moves]
    return [*(f"joint.{name}.position" for name in joints), "energy"]
