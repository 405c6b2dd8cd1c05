"""Outputs over time beside the picture, while it plays."""

from typing import Any

import numpy as np

from ..base.units import typeset
from .station import Station
from .timeline import FRAME

SHOWN = 10.0  # seconds behind the present that are plotted
EVERY = 5  # frames between two pictures of a plot while it plays
MOST = 4  # plots that have room
WIDE = 330  # pixels, of the panel
COLOURS = ("#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#8c564b", "#e377c2")


class Plots:
    """A panel beside the picture that is there while something is plotted."""

    def __init__(self, gui: Any, several: bool):
        self.gui, self.several, self.beside = gui, several, True
        self.panel = gui.add_panel(visible=False)
        self.tab = self.panel.add_tab("plots")
        self.panel.dock_left()
        self.panel.set_width(WIDE)
        self.shown: dict[tuple[str, str], tuple[Station, str, Any]] = {}

    def place(self, window: float) -> None:
        """At the left of the picture; in a window that is less than three panels wide below the controls."""
        if self.beside != (window >= 3 * WIDE):
            self.beside = not self.beside
            if self.beside:
                self.panel.dock_left()
                self.panel.set_width(WIDE)
            else:
                self.panel.dock_below(self.gui.main_panel)

    def add(self, station: Station, name: str) -> None:
        """Plot an output of a mechanism; beyond the most that have room, the oldest goes."""
        if (station.scene.root, name) in self.shown:
            return
        if len(self.shown) >= MOST:
            self.shown.pop(next(iter(self.shown)))[2].remove()
        variable = station.simulation.variables().outputs.find(name)
        parts = [c.name.removeprefix(name) or name for c in variable.components()]
        unit = "" if variable.unit == "1" else f" ({typeset(variable.unit)})"
        series: list[dict[str, Any]] = [{"label": "s"}]
        series += [
            {"label": part, "stroke": COLOURS[i % len(COLOURS)], "width": 2} for i, part in enumerate(parts)
        ]
        with self.tab:
            handle = self.gui.add_uplot(
                self._data(station, name),
                tuple(series),
                title=f"{f'{station.name}: ' if self.several else ''}{name}{unit}",
                scales={"x": {"time": False}},
                axes=({"size": 30}, {"size": 60}),
                legend={"show": len(parts) > 1},
                height=170,
            )
        self.shown[station.scene.root, name] = (station, name, handle)
        self.panel.visible = True

    def clear(self) -> None:
        for _, _, handle in self.shown.values():
            handle.remove()
        self.shown.clear()
        self.panel.visible = False

    def refresh(self) -> None:
        for station, name, handle in self.shown.values():
            handle.data = self._data(station, name)

    def _data(self, station: Station, name: str) -> tuple[np.ndarray, ...]:
        line = station.line
        frames = slice(max(0, line.now - round(SHOWN / FRAME)), line.now + 1)
        values = line.values(name, frames)
        times = np.array([state.time for state in line.frames[frames]])
        return (times, *values.T)
