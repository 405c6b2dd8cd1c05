"""What a sweep found, in a few numbers and pictures: read column by column, however many runs there are."""

from __future__ import annotations

import json
import re
from collections import Counter
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from ..base.files import write_atomically
from .store import SUMMARY, read_columns, read_results, read_summary

Folder = str | PathLike[str]
QUANTILES = {"5 %": 0.05, "median": 0.5, "95 %": 0.95}
DOTS = 5000  # of a scatter plot at most
SHOWN = 4  # outputs in a picture at most
NAMED = 5  # runs named for every way to end


def sweep_summary(folder: Folder) -> dict[str, Any]:
    """Counts of how runs ended, which ones did not go well and why, statistics, and sensitivities.

    A sensitivity is the change of an output with one standard deviation of a varied number, by least squares
    over all runs that got done; `explained` is the part of the output's variance that the sum of them has.
    """
    told = read_summary(folder)
    varied, outputs = told["names"], result_names(folder)
    ends: Counter[str] = Counter()
    odd: dict[str, list[dict[str, Any]]] = {}
    passed = Counter[str]()
    for part in read_columns(folder, ["run", "end", "why", "refined", "unsettled", "undecided"]):
        ends.update(part["end"])
        for name in ("refined", "unsettled", "undecided"):
            passed[name] += int((part[name] > 0).sum())
        for k in np.flatnonzero(part["end"] != "done"):
            some = odd.setdefault(str(part["end"][k]), [])
            if len(some) < NAMED:
                some.append({"run": int(part["run"][k]), "why": str(part["why"][k])})
    return {
        "name": told["name"],
        "runs": told["runs"],
        "rows": sum(ends.values()),
        "ends": dict(sorted(ends.items())),
        "runs_with_steps": dict(passed),
        "not_done": odd,
        "outputs": {name: _statistics(folder, name) for name in outputs},
        "sensitivities": effects_of(folder, varied, outputs),
    }


def result_names(folder: Folder) -> list[str]:
    """Columns of results that are numbers."""
    first = next(iter(read_columns(folder, None)), {})
    return [name for name in first if name.startswith(("final.", "min.", "max."))]


def _statistics(folder: Folder, name: str) -> dict[str, float]:
    found = read_results(folder, [name, "end"])
    x = found[name][found["end"] == "done"].astype(float)
    if not len(x):
        return {}
    values = {"mean": x.mean(), "deviation": x.std(), "least": x.min(), "greatest": x.max()}
    values |= {word: np.quantile(x, q) for word, q in QUANTILES.items()}
    return {word: float(value) for word, value in values.items()}


def effects_of(folder: Folder, varied: list[str], outputs: list[str]) -> dict[str, dict[str, float]]:
    """Output -> varied number -> effect of one standard deviation of it; and what is `explained`."""
    size = 1 + len(varied) + len(outputs)
    moments, shift = np.zeros((size, size)), None
    for part in read_columns(folder, [*varied, *outputs, "end"]):
        done = part["end"] == "done"
        columns = np.array(
            [np.ones(done.sum()), *(part[name][done].astype(float) for name in (*varied, *outputs))]
        )
        if shift is None and done.any():  # near the means, so that squares do not round away what matters
            shift = np.concatenate([[0.0], columns[1:].mean(axis=1)])
        if shift is not None:
            columns -= shift[:, None]
            moments += columns @ columns.T
    count = moments[0, 0]
    if count <= len(varied) + 1:
        return {}
    means = moments[0] / count
    spread = moments[1:, 1:] / count - np.outer(means[1:], means[1:])
    n = len(varied)
    scale = np.sqrt(np.maximum(np.diag(spread)[:n], 0.0))
    unit = np.where(scale > 0, scale, 1.0)
    effects = np.linalg.pinv(spread[:n, :n] / np.outer(unit, unit)) @ (spread[:n, n:] / unit[:, None])
    result = {}
    for k, name in enumerate(outputs):
        total = spread[n + k, n + k]
        explained = float(effects[:, k] @ (spread[:n, n + k] / unit) / total) if total > 0 else 0.0
        result[name] = dict(zip(varied, map(float, effects[:, k]), strict=True)) | {"explained": explained}
    return result


def write_summary(folder: Folder) -> dict[str, Any]:
    found = sweep_summary(folder)
    with write_atomically(Path(folder) / SUMMARY) as temporary:
        temporary.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return found


def draw_sweep(folder: Folder, path: Folder, outputs: list[str] | None = None) -> None:
    """A row an output: histogram, scatter over what it depends on most, and a tornado of sensitivities."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    told = read_summary(folder)
    varied, chosen = told["names"], (outputs or result_names(folder))[:SHOWN]
    effects = effects_of(folder, varied, chosen)
    figure = Figure(figsize=(13, 3.4 * max(len(chosen), 1)), layout="constrained")
    axes = figure.subplots(max(len(chosen), 1), 3, squeeze=False)
    for row, name in zip(axes, chosen, strict=False):
        slopes = {k: v for k, v in effects.get(name, {}).items() if k != "explained"}
        most = max(slopes, key=lambda k: abs(slopes[k]), default=varied[0])
        found = read_results(folder, [name, most, "end"])
        done = found["end"] == "done"
        x, y = found[most][done].astype(float), found[name][done].astype(float)
        row[0].hist(y, bins=min(60, max(10, int(np.sqrt(len(y))))) if len(y) else 10, color="#1f77b4")
        row[0].set(xlabel=in_lines(name), ylabel="runs")
        few = slice(None, None, max(1, len(x) // DOTS))
        row[1].plot(x[few], y[few], ".", markersize=2, alpha=0.5)
        row[1].set(xlabel=in_lines(most), ylabel=in_lines(name))
        order = sorted(slopes, key=lambda k: abs(slopes[k]))
        row[2].barh([in_lines(k) for k in order], [slopes[k] for k in order], color="#d62728")
        row[2].axvline(0, color="black", linewidth=0.8)
        row[2].set(xlabel=in_lines(f"change of {name} with one standard deviation"))
        for panel in row:
            panel.xaxis.set_major_locator(MaxNLocator(nbins=4))
            panel.tick_params(labelsize=8)
    with write_atomically(path) as temporary:
        figure.savefig(temporary, dpi=120)


def in_lines(name: str, width: int = 30) -> str:
    """A long name in several lines, broken behind points and spaces, so that it fits beside an axis."""
    lines = [""]
    for part in re.split(r"(?<=[. ])", name):
        if lines[-1] and len(lines[-1]) + len(part) > width:
            lines.append("")
        lines[-1] += part
    return "\n".join(lines)
