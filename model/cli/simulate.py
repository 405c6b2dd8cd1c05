"""`cutjoint simulate`: run a mechanism and say how well it went.

An annex that extends it may define, besides `add_arguments`: `check(args)`, before the work starts;
`simulation(args)`, another kind of `Simulation` and its options; `record(args, simulation)`, outputs that it
needs; `write(run)`, the files that it wrote of a `FinishedRun`; and SETTINGS, names of its arguments that say
how the motion is computed.
"""

import argparse
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from ..base import annexes
from ..base.errors import CutjointError
from ..chain.chain import Chain
from ..chain.follow import PlanFollower
from ..control.controllers import controller
from ..describe.mechanism import Mechanism
from ..joints.types import TYPES
from ..run.inputs import Controller, as_laws
from ..run.loads import DriveLoad, JointLoad, drive_loads, joint_loads, load_outputs, loads_as_dict
from ..run.results import check_result
from ..run.steppers import STEPPERS
from ..run.trajectory import Trajectory
from ..show.table import table
from ..simulation import METHODS, Simulation
from ..variables import column_places
from .common import (
    MANY,
    Options,
    check_name,
    check_targets,
    check_units,
    output_columns,
    positive,
    prepare_simulation,
    progress_bar,
    read_laws,
    tell_written,
    to_json,
)
from .drive import TEXT as DRIVE
from .linearize import take_pose
from .loads import loads_page
from .main import NOT_SIMULATED
from .plot_file import PlotFile
from .poses import TEXT, read_poses

HELP = "Run a mechanism from its assembled pose; write tables, plots, animations or a report."
EXAMPLE = """
cutjoint simulate stewart --time 2 --torque all=10 --plot stewart.png
cutjoint simulate stewart --input 'motor1=sine(amplitude=5, frequency=2)' --csv stewart.csv
cutjoint simulate arm --time 5 --method variable --tolerance 1e-10 --csv arm.csv
cutjoint simulate stewart --controller 'pd(kp=200, kd=20)' --unit deg mm
cutjoint simulate fourbar --drive crank=60rpm --loads --plot joint.crank_pin.position:motor.crank.effort
cutjoint simulate delta --target platform=x:0.1,y:0.05,z:-0.7 --output body.platform.position
"""
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
    option("--tolerance", "X", "of the variable step (default 1e-10)", default="1e-10")
    text = "constant torque or force (N·m, N, or with a unit) of a motor or cylinder; all=VALUE for every one"
    option("--torque", text=text)
    text = "an input over time, such as motor1=sine(amplitude=5, frequency=2) or motor1=table.csv:torque"
    option("--input", "NAME=LAW", text, **MANY)
    option("--drive", "NAME=VALUE", DRIVE, **MANY)
    text = "a controller of all motors, or NAME=pd(…) of one: pd(kp=…, kd=…, target=LAW, feedforward=LAW)"
    option("--controller", "PD", text, **MANY)
    option("--target", "NAME=PART:VALUE,…", f"{TEXT}; it goes there smoothly", **MANY)
    option("--set")
    option("--at", "FILE", "start in the state of a JSON file (see assemble --json)")
    option("--parameter")
    option("--gravity")
    text = "what to record, such as body.platform.position or 'joint.*.velocity'"
    option("--output", "NAME", text, **MANY)
    option("--unit")
    option("--csv", "FILE", "write the records as a table", writes=True)
    option("--save", "FILE", "write the records by the file's ending: csv, parquet or h5", writes=True)
    text = "plot the records (png, svg or pdf); X:Y or FILE=X:Y plots an output over another"
    option("--plot", "FILE", text, type=PlotFile, writes=True)
    option("--loads", text="rank joints by peak force and moment, drives by peak effort, with the times")
    option("--no-compile")
    option("--progress")
    option("--json", text="print the summary as JSON")


class FinishedRun(NamedTuple):
    """A run and what it was asked for; `chosen` holds the outputs that the user wants, in his units."""

    args: argparse.Namespace
    simulation: Simulation
    motion: Trajectory
    chosen: Trajectory
    settings: Mapping[str, str]
    summary: Sequence[tuple[str, str]]
    warnings: Sequence[str]


def run(args: argparse.Namespace) -> int:
    duration, step = positive(args.time, "--time", "s"), positive(args.step, "--step", "s")
    tolerance = positive(args.tolerance, "--tolerance")
    _check_files(args)
    begin = time.perf_counter()
    simulation, laws, loops = _prepared(args, step)
    mechanism = simulation.mechanism
    wanted = output_columns(simulation, [*(args.output or default_outputs(mechanism)), *_plotted(args)])
    how: dict[str, Any] = {"step": step, "method": args.method, "tolerance": tolerance}
    how |= {"inputs": laws, "controller": loops}
    further = annexes.ask("simulate", "record", args, simulation)
    how["record"] = [*wanted, *CHECKS, *(name for names in further for name in names)]
    if args.loads:
        how["record"] += [*load_outputs(simulation.variables()), *_driven_positions(mechanism)]
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
    ranked = _ranked(simulation, motion) if args.loads else None
    if args.json:
        print(to_json(summary | ({"loads": loads_as_dict(motion, *ranked)} if ranked else {})))
    else:
        print(page(summary))
        if ranked:
            print("\n" + loads_page(motion, *ranked, simulation.topology().as_dict()["not_unique"]))
    shown = motion.part(wanted).in_units(*args.unit)
    for path in filter(None, (args.csv, args.save)):
        shown.write_csv(path) if path == args.csv else shown.write(path)
    if args.plot:
        _save_plot(args.plot, shown, mechanism.name)
    files = {"table": args.csv, "results": args.save, "plot": args.plot}
    finished = FinishedRun(args, simulation, motion, shown, _settings(args), summary_rows(summary), said)
    for more in annexes.ask("simulate", "write", finished):
        files |= more
    tell_written(args, **files)
    return 0 if motion.judgement.trusted else NOT_SIMULATED


def _plotted(args: argparse.Namespace) -> list[str]:
    """Outputs that a plot of one over another names."""
    named = (args.plot.over, *args.plot.shown) if args.plot and args.plot.over else ()
    return [name for name in named if name != "time"]


def _save_plot(path: PlotFile, shown: Trajectory, title: str) -> None:
    """All columns over time, or those that are asked for over another."""
    from ..show.plot import draw_plot, save_figure

    over = "" if path.over == "time" else path.over
    if path.over:
        wanted = (over, *path.shown) if over else path.shown
        places = [k for name in wanted for k in column_places(shown.names, name, "column")]
        shown = shown.part(dict.fromkeys(shown.names[k] for k in places))
    if over and over not in shown.names:
        raise CutjointError(f"--plot: '{over}' is a vector; plot over a component, '{over}[1]'")
    columns = dict(zip(shown.names, shown.values.T, strict=True))
    units = dict(zip(shown.names, shown.units, strict=True))
    save_figure(path, draw_plot(shown.time, columns, title, units, over))


def _ranked(simulation: Simulation, motion: Trajectory) -> tuple[list[JointLoad], list[DriveLoad]]:
    drives = drive_loads(simulation.mechanism, simulation.variables(), motion)
    return joint_loads(motion), drives


def _check_files(args: argparse.Namespace) -> None:
    """Refuse what can't be written, and options that contradict each other, before the work starts."""
    check_targets(args.csv, args.save, picture=args.plot)
    if args.save:
        check_result(args.save)
    annexes.ask("simulate", "check", args)
    check_units(args.unit)
    if args.at and args.set:
        raise CutjointError("--at and --set both say where to start; give one")


def _prepared(args: argparse.Namespace, step: float) -> tuple[Simulation, dict[str, Any], Controller | None]:
    """The simulation at its start, the laws of its inputs, and its controller."""
    kind, ways = _simulation(args)
    simulation = prepare_simulation(args, kind, compile=False if args.no_compile else None, **ways)
    if args.at:
        take_pose(simulation, args.at)
    texts = read_laws(args.input, simulation.variables())
    if args.target:
        return simulation, as_laws(simulation, texts, simulation.time, step), _to_targets(args, simulation)
    loops = controller(simulation, args.controller) if args.controller else None
    both = sorted(texts.keys() & loops.loops.keys()) if loops else []
    if both:
        raise CutjointError(f"'{both[0]}' has a law and a controller; give the law as feedforward=…")
    return simulation, as_laws(simulation, texts, simulation.time, step), loops


def _to_targets(args: argparse.Namespace, simulation: Simulation) -> Controller:
    """What leads the drives along a way to targets, which is planned and checked before."""
    if args.controller or args.input or args.torque:
        raise CutjointError("--target leads all drives; leave out --torque, --input and --controller")
    chain = Chain(simulation)
    return PlanFollower(simulation, chain.plan(*read_poses(args.target, chain, "--target")))


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
        "motion_error": judgement.motion,
        "trusted": judgement.trusted,
        "loop_residual": float(np.max(np.abs(motion["loop.residual"]))),
        "singularity_distance": float(np.min(motion["singularity.distance"])),
    }


def _settings(args: argparse.Namespace) -> dict[str, str]:
    """What was asked for, as it was typed."""
    more = [name for module in annexes.extensions("simulate") for name in getattr(module, "SETTINGS", ())]
    names = (
        "mechanism time step method stepper substeps tolerance torque input drive controller target set at"
    )
    own = [*names.split(), "parameter", "gravity", "output", "unit", *more]
    given = {name: getattr(args, name) for name in own}
    if args.method == "fixed":
        del given["tolerance"]
    return {
        name: ", ".join(map(str, value)) if isinstance(value, list) else str(value)
        for name, value in given.items()
        if value not in (None, [])
    }


def _simulation(args: argparse.Namespace) -> tuple[type[Simulation], dict[str, Any]]:
    """What knows the chosen ways to compute the motion: ours, or those of an annex if one is wanted."""
    for kind, ways in annexes.ask("simulate", "simulation", args):
        return kind, ways
    stepper = check_name(args.stepper, STEPPERS, "--stepper", "stepper")
    return Simulation, {"stepper": stepper, "substeps": args.substeps}


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
        (
            "imbalance",
            f"{s['imbalance']:.2e} J{part}" + ("" if s["trusted"] else ": too large, take smaller steps"),
        ),
    ]
    if s["steps_judged"]:
        rows.append(
            ("motion", f"error at most {s['motion_error']:.1e} of its size, by comparison with longer steps")
        )
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
    return [*(mechanism.outputs or _driven_positions(mechanism)), "energy"]


def _driven_positions(mechanism: Mechanism) -> list[str]:
    """Positions of the driven joints, or of all."""
    joints = [motor.joint for motor in mechanism.motors]
    joints = joints or [j.name for j in mechanism.joints if TYPES[j.type].moves]
    return [f"joint.{name}.position" for name in joints]
