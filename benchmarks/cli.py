"""`cutjoint bench`: speed beside other engines, as ratios of one run."""

from __future__ import annotations

import argparse
import os
import platform
import sys
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

from ..model.base.files import write_atomically
from ..model.cli.common import Options, check_name, check_targets, progress_bar, tell_written, to_json
from ..model.compile.kernel import find_compiler
from . import peers, tasks
from .batch import batch
from .chains import COUNTS, QUICK_COUNTS, scaling
from .fmu_step import fmu_step
from .kinematics import kinematics
from .measure import FULL, QUICK
from .message import message
from .report import describe, draw, required, targets, unmet
from .subjects import MECHANISMS, subject

HELP = "Measure cutjoint's speed beside other engines, in one run and as ratios."
EXAMPLE = """
cutjoint bench
cutjoint bench --quick --mechanism stewart
cutjoint bench --only dynamics linearization --plot bench.png
cutjoint bench --only batch
cutjoint bench --only kinematics --mechanism hexapod
cutjoint bench --json > bench.json
cutjoint bench --require
cutjoint bench --only dynamics --require dynamics:stewart:Pinocchio=5
"""
NOT_MET = 5  # exit code
TASKS = ("dynamics", "linearization", "step", "batch", "kinematics", "fmu", "message", "compile", "chain")
SECONDS = {"dynamics": 2, "linearization": 4, "step": 2, "batch": 30, "fmu": 6, "message": 2, "compile": 4}
SECONDS |= {"kinematics": 15, "chain": 8}
TOLERANCE = 1e-6  # by which exact engines may differ


def add_arguments(option: Options) -> None:
    several = {"nargs": "+", "action": "extend"}
    option("--only", "TASK", f"of {', '.join(TASKS)}; all if not given", **several)
    option("--mechanism", "NAME", f"of {', '.join(MECHANISMS)}; both if not given", **several)
    text = (
        f"exit with {NOT_MET} if the contender, as the tables name it, takes less than RATIO times our "
        "time; without a ratio, if a target is missed"
    )
    option("--require", "TASK:MECHANISM:CONTENDER=RATIO", text, nargs="*", action="extend")
    option("--quick", text="fewer rounds: seconds, and noisier")
    option("--plot", "FILE", "draw the results (png, svg or pdf)", writes=True)
    option("--save", "FILE", "write the results as JSON beside the tables", writes=True)
    option("--progress")
    option("--json")


def run(args: argparse.Namespace) -> int:
    chosen = [check_name(t, TASKS, "--only", "task") for t in args.only or TASKS]
    names = [
        check_name(n, MECHANISMS, "--mechanism", "mechanism to measure") for n in args.mechanism or MECHANISMS
    ]
    wanted = [required(text) for text in args.require or ()]
    check_targets(args.save, picture=args.plot)
    with progress_bar(args) as progress:
        results = bench(names, chosen, args.quick, progress)
    print(to_json(results) if args.json else describe(results))
    if args.save:
        with write_atomically(args.save) as temporary:
            Path(temporary).write_text(to_json(results) + "\n", encoding="utf-8")
    if args.plot:
        draw(args.plot, results)
    tell_written(args, results=args.save, plot=args.plot)
    missed = unmet(results, wanted) if args.require is not None else []
    for sentence in missed:
        print(f"cutjoint: not met: {sentence}", file=sys.stderr)
    return NOT_MET if missed else 0


BESIDE_PEERS = {
    "dynamics": tasks.dynamics,
    "linearization": tasks.linearization,
    "step": tasks.one_step,
    "batch": batch,
}
OPTIONAL = {"fmu": fmu_step, "message": message, "kinematics": kinematics}


def bench(
    names: list[str],
    chosen: list[str],
    quick: bool = False,
    progress: Callable[[float], None] = lambda x: None,
) -> dict[str, Any]:
    """Measure; returns versions, agreement, speed, compile, chain, targets and notes."""
    effort = QUICK if quick else FULL
    modules, notes = peers.installed()
    results: dict[str, Any] = {
        "versions": {"cutjoint": version("cutjoint"), **{m.NAME: str(m.VERSION) for m in modules}},
        "machine": {
            "processor": _processor(),
            "cores": os.cpu_count(),
            "load": _load(),
            "rounds": effort.rounds,
        },
        "agreement": [],
        "speed": [],
        "compile": [],
        "chain": [],
    }
    if find_compiler() is None:
        notes.append("no C compiler found (install gcc or clang): only the virtual machine is measured")
    plan = [(name, task) for name in names for task in chosen if task != "chain"]
    total = sum(SECONDS[task] for _, task in plan) + (SECONDS["chain"] if "chain" in chosen else 0)
    done = 0.0

    def showing(task: str) -> Callable[[float], None]:
        return lambda fraction: progress(min((done + SECONDS[task] * fraction) / total, 1.0))

    progress(0.0)
    for name in names:
        measured = subject(name)
        models, problems = peers.build(modules, measured.parts)
        notes += problems
        results["agreement"] += tasks.agreement(measured, models)
        for task in (task for owner, task in plan if owner == name):
            if task == "compile":
                results["compile"] += tasks.before_the_first_call(measured)
            elif task in BESIDE_PEERS:
                results["speed"] += BESIDE_PEERS[task](measured, models, effort, showing(task))
            else:
                try:
                    results["speed"] += OPTIONAL[task](measured, effort, showing(task))
                except Exception as problem:  # what is not installed or fails is told, not fatal
                    notes.append(f"{name}, {task} left out: {' '.join(str(problem).split())[:120]}")
            done += SECONDS[task]
            progress(min(done / total, 1.0))
    if "chain" in chosen:
        counts = QUICK_COUNTS if quick else COUNTS
        results["chain"] = scaling(effort, showing("chain"), counts, modules)
    results["targets"] = targets(results)
    results["notes"] = notes + _doubts(results)
    progress(1.0)
    return results


def _doubts(results: dict[str, Any]) -> list[str]:
    """Where contenders do not compute the same, so that their times do not compare fully."""
    worst: dict[tuple[str, str], float] = {}
    for row in results["agreement"]:
        key = row["contender"], row["quantity"]
        worst[key] = max(worst.get(key, 0.0), row["difference"])
    reasons = {
        "MuJoCo": "its loops are springs",
        "Drake": "its only method for closed loops is of first order",
        "Pinocchio, analytic": "differences of its own accelerations agree with cutjoint, not with it",
    }
    return [
        f"{name} differs in {what} by {value:.1e}" + (f": {reasons[name]}" if name in reasons else "")
        for (name, what), value in worst.items()
        if not value <= TOLERANCE
    ]


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def _load() -> float:
    return os.getloadavg()[0] if hasattr(os, "getloadavg") else float("nan")
