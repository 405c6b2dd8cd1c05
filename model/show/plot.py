"""Plots of quantities over time, drawn without a display."""

import os
from collections.abc import Mapping, Sequence
from io import BytesIO
from typing import Any

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from ..describe.parameters import split
from ..describe.units import typeset
from ..files import picture_format, write_atomically

MOST_LINES = 12  # of one panel that still get a legend
LOGARITHMIC = {"residual"}  # round-off is only seen on a logarithmic scale


def save_figure(path: str | os.PathLike[str], figure: Figure, tight: bool = False) -> None:
    """Write a figure in the format its file's ending names."""
    with write_atomically(path) as temporary:
        figure.savefig(temporary, format=picture_format(path), bbox_inches="tight" if tight else None)


def as_png(figure: Figure, tight: bool = False) -> bytes:
    """A figure as the bytes of a file."""
    memory = BytesIO()
    figure.savefig(memory, format="png", bbox_inches="tight" if tight else None)
    return memory.getvalue()


def draw_plot(
    time: np.ndarray,
    columns: Mapping[str, np.ndarray],
    title: str = "",
    units: Mapping[str, str] | None = None,
) -> Figure:
    """One panel for each kind of quantity and unit, with its columns as lines over time (s)."""
    units = units or {}
    panels = group(list(columns), units)
    figure = Figure(figsize=(9, 1.2 + 2.2 * len(panels)), dpi=120, layout="constrained")
    FigureCanvasAgg(figure)
    grid = figure.subplots(len(panels), 1, sharex=True, squeeze=False)[:, 0]
    for axes, ((kind, unit), names) in zip(grid, panels.items(), strict=True):
        _panel(axes, time, {name: columns[name] for name in names}, kind, unit)
    grid[-1].set_xlabel("time (s)")
    if title:
        figure.suptitle(title)
    return figure


def group(names: Sequence[str], units: Mapping[str, str]) -> dict[tuple[str, str], list[str]]:
    """Names by (kind, unit): `joint.hinge1.position` and `joint.hinge2.position` go together."""
    panels: dict[tuple[str, str], list[str]] = {}
    for name in names:
        parts = split(name)[0].split(".")
        kind = f"{parts[0]} {parts[-1]}" if len(parts) > 1 and parts[0] != "input" else parts[0]
        panels.setdefault((kind, units.get(name, "")), []).append(name)
    return panels


def _panel(axes: Any, time: np.ndarray, lines: Mapping[str, np.ndarray], kind: str, unit: str) -> None:
    logarithmic = any(kind.endswith(word) for word in LOGARITHMIC)
    for name, values in lines.items():
        shown = np.maximum(np.abs(values), 1e-18) if logarithmic else values
        axes.plot(time, shown, linewidth=1.3, label=_label(name))
    if logarithmic:
        axes.set_yscale("log")
    axes.set_ylabel(f"{kind}\n({typeset(unit)})" if unit and unit != "1" else kind)
    axes.grid(alpha=0.3)
    axes.margins(x=0)
    if 1 < len(lines) <= MOST_LINES:
        axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False, fontsize=8)


def _label(name: str) -> str:
    """What tells the lines of a panel apart: the middle of the name, and the component."""
    whole, k = split(name)
    parts = whole.split(".")
    in_space = parts[0] in ("body", "reaction") and parts[-1] != "orientation"
    component = "" if k is None else f" {'xyz'[k - 1] if in_space else k}"
    return (".".join(parts[1:] if parts[0] == "input" else parts[1:-1]) or whole) + component
