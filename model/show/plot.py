"""Plots of quantities over time, drawn without a display."""

import os
from collections.abc import Collection, Mapping, Sequence
from io import BytesIO
from typing import Any

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from ..base.files import picture_format, write_atomically
from ..base.units import typeset
from ..describe.parameters import split_component
from ..run.norms import NORM

MOST_LINES = 12  # of one panel that get a name and a colour
IN_SPACE = ("body", "reaction", "frame", "sensor", "load")  # whose vectors have components x, y, z
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
    over: str = "",
) -> Figure:
    """One panel for each kind of quantity and unit, with its columns as lines over time (s).

    `over` names the column that takes the place of time.
    """
    units = units or {}
    panels = group([name for name in columns if name != over], units)
    figure = Figure(figsize=(9, 1.2 + (3.6 if over else 2.2) * len(panels)), dpi=120, layout="constrained")
    FigureCanvasAgg(figure)
    grid = figure.subplots(len(panels), 1, sharex=True, squeeze=False)[:, 0]
    for axes, ((kind, unit), names) in zip(grid, panels.items(), strict=True):
        _panel(axes, columns[over] if over else time, {name: columns[name] for name in names}, kind, unit)
        if over and len(names) == 1:
            axes.set_ylabel(_with_unit(names[0], unit))
        if over and unit == units.get(over) == "m":  # a path
            axes.set_aspect("equal", adjustable="datalim")
    grid[-1].set_xlabel(_with_unit(over, units.get(over, "")) if over else "time (s)")
    if title:
        figure.suptitle(title)
    return figure


def group(names: Sequence[str], units: Mapping[str, str]) -> dict[tuple[str, str], list[str]]:
    """Names by (kind, unit): `joint.hinge1.position` and `joint.hinge2.position` go together."""
    panels: dict[tuple[str, str], list[str]] = {}
    for name in names:
        parts = split_component(name)[0].removesuffix(NORM).split(".")
        kind = f"{parts[0]} {parts[-1]}" if len(parts) > 1 and parts[0] != "input" else parts[0]
        panels.setdefault((kind, units.get(name, "")), []).append(name)
    return panels


def _panel(axes: Any, x: np.ndarray, lines: Mapping[str, np.ndarray], kind: str, unit: str) -> None:
    """Lines over x. Of many, those that reach furthest from zero have a name, the others are grey."""
    logarithmic = any(kind.endswith(word) for word in LOGARITHMIC)
    peaks = {name: float(np.nanmax(np.abs(y), initial=0.0)) for name, y in lines.items()}
    ranked = sorted(lines, key=lambda name: -peaks[name]) if len(lines) > MOST_LINES else list(lines)
    for name in ranked[MOST_LINES:]:
        axes.plot(x, lines[name], linewidth=0.7, color="0.8")
    for k, name in enumerate(ranked[:MOST_LINES]):
        shown = np.maximum(np.abs(lines[name]), 1e-18) if logarithmic else lines[name]
        style = "-" if k < 10 else "--"  # there are ten colours
        axes.plot(x, shown, style, linewidth=1.3, label=_label(name, lines))
    if logarithmic:
        axes.set_yscale("log")
    axes.set_ylabel(_with_unit(kind, unit, "\n"))
    axes.grid(alpha=0.3)
    axes.margins(x=0)
    if len(lines) > MOST_LINES:
        axes.plot([], [], color="0.8", label=f"{len(lines) - MOST_LINES} smaller ones")
    if len(lines) > 1:
        axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False, fontsize=8)


def _with_unit(name: str, unit: str, between: str = " ") -> str:
    return f"{name}{between}({typeset(unit)})" if unit and unit != "1" else name


def _label(name: str, beside: Collection[str] = ()) -> str:
    """What tells the lines of a panel apart: the middle of the name, and the component."""
    whole, k = split_component(name)
    size = whole.endswith(NORM)
    parts = whole.removesuffix(NORM).split(".")
    if k is None:
        component = " magnitude" if size and len(parts) == 1 else ""
    else:
        three = f"{whole}[3]" in beside and f"{whole}[4]" not in beside
        in_space = parts[0] in IN_SPACE if len(parts) > 1 else three
        component = f" {'xyz'[k - 1] if in_space and parts[-1] != 'orientation' else k}"
    return (".".join(parts[1:] if parts[0] == "input" else parts[1:-1]) or parts[0]) + component
