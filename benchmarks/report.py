"""The results as tables for people and as a picture."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from math import inf
from typing import Any, NamedTuple

from ..model.base.errors import CutjointError
from ..model.show.table import table
from .batch import ONE_BY_ONE, ROLLOUT, SCHEMES, TWO_CORES
from .batch import TASK as BATCH
from .chains import PEER
from .fmu_step import IN_C, NATIVE, TASK
from .kinematics import IN_C as REACHED_IN_C
from .kinematics import PEER as MINK
from .kinematics import TASK as INVERSE
from .tasks import COMPILED, VIRTUAL

Results = dict[str, Any]
Rows = list[dict[str, Any]]
# Task, mechanism, peer, and how many times faster we are at least; steps are Runge-Kutta's, from Python.
FASTER = (
    ("dynamics", "stewart", "Pinocchio", 9.0),
    ("dynamics", "stewart", "MuJoCo", 10.0),
    ("dynamics", "hexapod", "Pinocchio", 7.0),
    ("dynamics", "hexapod", "MuJoCo", 6.0),
    ("step", "stewart", "MuJoCo", 4.5),
    ("step", "hexapod", "MuJoCo", 3.0),
)


Promise = tuple[str, float | None, float, bool]  # text, measured, limit, whether that is the least


def targets(results: Results) -> list[dict[str, Any]]:
    """What cutjoint promises of its speed, as ratios measured in this run; only what was measured."""
    promises = (*_of_tasks(results), *_of_linear_models(results), *_of_batches(results), *_of_chains(results))
    return [
        {
            "target": text,
            "limit": limit,
            "measured": value,
            "met": bool(value >= limit if at_least else value <= limit),
        }
        for text, value, limit, at_least in promises
        if value is not None
    ]


def _of_tasks(results: Results) -> Iterator[Promise]:
    for task, name, peer, least in FASTER:
        text = f"{name}, {task}: at least {least:g} times faster than {peer}"
        yield text, ratio(results, task, name, peer, COMPILED), least, True
    for peer in ("Pinocchio", "MuJoCo"):
        text = f"stewart, dynamics in the virtual machine: at most 5 times {peer}'s time"
        yield text, ratio(results, "dynamics", "stewart", VIRTUAL, peer), 5, False
    text = f"hexapod, {INVERSE}: at least 15 times faster than mink on MuJoCo"
    yield text, ratio(results, INVERSE, "hexapod", MINK, REACHED_IN_C), 15, True
    text = "stewart, step in C: of the native FMU at most 1.1 times the engine's"
    yield text, ratio(results, TASK, "stewart", NATIVE, IN_C), 1.1, False


def _of_linear_models(results: Results) -> Iterator[Promise]:
    task = "linearization"
    for name in ("stewart", "hexapod"):
        dynamics = ratio(results, task, name, COMPILED, "cutjoint, dynamics alone")
        yield f"{name}, {task}: at most 4 times our dynamics", dynamics, 4, False
        for peer, least, way in (
            ("Pinocchio", 3, "Pinocchio"),
            ("MuJoCo", 50, "MuJoCo's forward differences"),
            ("MuJoCo, centered", 50, "MuJoCo's centered differences"),
        ):
            text = f"{name}, {task}: at least {least} times faster than {way}"
            yield text, ratio(results, task, name, peer, COMPILED), least, True


def _of_batches(results: Results) -> Iterator[Promise]:
    for other, least in ((ONE_BY_ONE, 4), (SCHEMES["Euler"], 8), (SCHEMES["RK4"], 20)):
        text = f"stewart, rollout on one core: at least {least} times faster than {other}"
        yield text, ratio(results, BATCH, "stewart", other, ROLLOUT), least, True
    for row in results.get("speed", []):
        if row["contender"] == TWO_CORES:
            text = f"{row['mechanism']}, rollout: two cores at least 1.8 times one"
            yield text, 1 / row["ratio"], 1.8, True


def _of_chains(results: Results) -> Iterator[Promise]:
    for kind in dict.fromkeys(row["chain"] for row in results.get("chain", [])):
        long = [row for row in results["chain"] if row["chain"] == kind]
        ten = min(long, key=lambda row: abs(row["bodies"] - 10))
        grown = long[-1]["per_body"] / ten["per_body"]
        text = f"chain of {long[-1]['count']} {kind}"
        yield f"{text}: a body costs at most twice what it does in one of ten", grown, 2, False
        yield f"{text}: at least 2 times faster than {PEER}", long[-1].get("peer"), 2, True


def ratio(results: Results, task: str, mechanism: str, one: str, other: str) -> float | None:
    """Best time of one contender over that of another; None if either was not measured."""
    best = {
        row["contender"]: row["best"]
        for row in results.get("speed", [])
        if row["task"] == task and row["mechanism"] == mechanism
    }
    return best[one] / best[other] if one in best and other in best else None


class Required(NamedTuple):
    """A speed that was asked for on the command line."""

    text: str
    row: tuple[str, str, str]  # task, mechanism, contender
    ratio: float


def required(text: str) -> Required:
    """TASK:MECHANISM:CONTENDER=RATIO."""
    row, _, number = text.rpartition("=")
    names = row.split(":")
    try:
        least = float(number)
    except ValueError:
        least = -1.0
    if len(names) != 3 or not 0 < least < inf:
        raise CutjointError(f"--require takes TASK:MECHANISM:CONTENDER=RATIO, not '{text}'")
    return Required(text, (names[0], names[1], names[2]), least)


def unmet(results: Results, wanted: list[Required]) -> list[str]:
    """What is missed of the wanted speeds, or of the targets if none is given, a sentence each."""
    if not wanted:
        if not results["targets"]:
            return ["nothing was measured that has a target"]
        missed = [t for t in results["targets"] if not t["met"]]
        return [f"{t['target']}; measured {t['measured']:.2f}" for t in missed]
    found = {(r["task"], r["mechanism"], r["contender"]): r["ratio"] for r in results["speed"]}
    sentences = []
    for one in wanted:
        if one.row not in found:
            sentences.append(f"{one.text}; it was not measured")
        elif found[one.row] < one.ratio:
            sentences.append(f"{one.text}; measured {found[one.row]:.2f}")
    return sentences


def describe(results: Results) -> str:
    """All tables, those of what was measured."""
    parts = [_heading(results), _agreement(results["agreement"])]
    for task, mechanism in dict.fromkeys((r["task"], r["mechanism"]) for r in results["speed"]):
        rows = [r for r in results["speed"] if (r["task"], r["mechanism"]) == (task, mechanism)]
        parts.append(f"{mechanism}, {task}\n" + _speed(rows))
    if results["compile"]:
        parts.append("Before the first call\n" + _compile(results["compile"]))
    if results["chain"]:
        parts.append("Chains, dynamics\n" + _chain(results["chain"]))
    if results["targets"]:
        words = [
            (r["target"], f"{r['measured']:.2f}", "yes" if r["met"] else "NO") for r in results["targets"]
        ]
        parts.append("Targets\n" + table(words, ("", "measured", "met")))
    parts += ["\n".join(f"note: {note}" for note in results["notes"])]
    return "\n\n".join(part for part in parts if part)


def _agreement(rows: Rows) -> str:
    header = ("mechanism", "quantity", "state", "contender", "difference")
    words = [(*(r[column] for column in header[:4]), f"{r['difference']:.1e}") for r in rows]
    return "Do all compute the same? Largest difference from cutjoint, over the largest value\n" + table(
        words, header
    )


def _speed(rows: Rows) -> str:
    header = ["contender", "best, us", "median, us", "noise, %", "times ours"]
    errors = {"energy_error": "energy error, J", "loop_gap": "loop gap, m"}
    shown = [key for key in errors if key in rows[0]]
    words = [
        (
            r["contender"],
            f"{r['best'] * 1e6:.2f}",
            f"{r['median'] * 1e6:.2f}",
            f"{r['noise'] * 100:.0f}",
            f"{r['ratio']:.2f}",
            *(f"{r[key]:.1e}" for key in shown),
        )
        for r in sorted(rows, key=lambda r: r["best"])
    ]
    return table(words, (*header, *(errors[key] for key in shown)))


def _compile(rows: Rows) -> str:
    words = [
        (r["mechanism"], r["function"], r.get("operations", ""), _seconds(r, "trace"), _seconds(r, "compile"))
        for r in rows
    ]
    return table(words, ("mechanism", "function", "operations", "trace, s", "compile, s"))


def _chain(rows: Rows) -> str:
    words = [
        (
            f"{r['count']} {r['chain']}",
            r["bodies"],
            r["operations"],
            f"{r['best'] * 1e6:.2f}",
            f"{r['per_body'] * 1e9:.0f}",
            f"{r['peer']:.1f}" if "peer" in r else "",
        )
        for r in rows
    ]
    return table(words, ("chain", "bodies", "operations", "best, us", "ns a body", f"{PEER}, times ours"))


def _heading(results: Results) -> str:
    versions = ", ".join(f"{name} {version}" for name, version in results["versions"].items())
    return (
        f"{versions}\n{results['machine']['processor']}, {results['machine']['cores']} cores, "
        f"load {results['machine']['load']:.1f}. 'best' is the fastest of\n"
        f"{results['machine']['rounds']} turns "
        "taken by all in rotation, 'noise' how much turns vary; 'times ours' compares best turns."
    )


def _seconds(row: dict[str, Any], name: str) -> str:
    return f"{row[name]:.2f}" if name in row else ""


def draw(path: str | os.PathLike[str], results: Results) -> None:
    """Bars of every comparison and the chain's cost per body, in one picture."""
    from matplotlib.figure import Figure

    from ..model.base.files import write_atomically

    groups = list(dict.fromkeys((r["task"], r["mechanism"]) for r in results["speed"]))
    count = len(groups) + bool(results["chain"])
    columns = min(2, max(count, 1))
    lines = max(1, -(-count // columns))
    figure = Figure(figsize=(6.2 * columns, 2.7 * lines), layout="constrained")
    axes = figure.subplots(lines, columns, squeeze=False).ravel()
    for axis, (task, mechanism) in zip(axes, groups, strict=False):
        rows = [r for r in results["speed"] if (r["task"], r["mechanism"]) == (task, mechanism)]
        rows.sort(key=lambda r: -r["best"])
        _bars(axis, rows, results["versions"].keys() - {"cutjoint"})
        axis.set_title(f"{mechanism}: {task}")
    if results["chain"]:
        axis = axes[len(groups)]
        for kind in dict.fromkeys(r["chain"] for r in results["chain"]):
            long = [r for r in results["chain"] if r["chain"] == kind]
            axis.plot([r["bodies"] for r in long], [r["per_body"] * 1e9 for r in long], "o-", label=kind)
        axis.legend()
        axis.set(title="chains: dynamics", xlabel="bodies", ylabel="ns a body")
        axis.set_ylim(0, 1.3e9 * max(r["per_body"] for r in results["chain"]))
    for axis in axes[count:]:
        axis.set_visible(False)
    with write_atomically(path) as temporary:
        figure.savefig(temporary, dpi=130)


def _bars(axis: Any, rows: Rows, peers: Iterable[str]) -> None:
    """Best times on a logarithmic scale, peers in grey."""
    names = [r["contender"] for r in rows]
    times = [r["best"] * 1e6 for r in rows]
    colours = ["#bbbbbb" if name.partition(",")[0] in peers else "#1f77b4" for name in names]
    bars = axis.barh(names, times, color=colours)
    axis.bar_label(bars, [f"{t:.3g} us" for t in times], padding=3, fontsize=8)
    axis.set_xscale("log")
    axis.xaxis.set_minor_formatter("")  # the bars carry their numbers
    axis.set_xlim(min(times) / 4, max(times) * 4)
    axis.tick_params(axis="y", labelsize=8)
