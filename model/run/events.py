"""Events: named functions of the state that cross zero during a run, located to round-off."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import brentq

from ..errors import SimulationError
from ..state import LiveState
from ..thresholds import LOCATED


@dataclass(frozen=True)
class Event:
    """Something to watch for.

    `function` is called with the simulation, or is the name of an output. `direction` +1 waits for
    a rise through zero, −1 for a fall, 0 for either. `stop` ends the run there.
    """

    name: str
    function: Callable[[Any], float] | str
    direction: int = 0
    stop: bool = False

    def watched(self, simulation: LiveState) -> Callable[[Any], float]:
        """The function, or one that reads the output of that name."""
        if not isinstance(self.function, str):
            return self.function
        output = simulation.engine.variables.outputs.find(self.function)
        if output.size > 1:
            raise SimulationError(
                f"event '{self.name}': name one of the {output.size} components of '{output.name}'"
            )
        row = np.array([output.where.start])
        return lambda s: float(s.read(row)[0])


class Watch:
    """Looks for zero crossings between one time and the next."""

    def __init__(self, simulation: Any, events: Iterable[Event]):
        self.simulation = simulation
        self.events = tuple(events)
        for event in self.events:
            if event.direction not in (-1, 0, 1):
                raise SimulationError(
                    f"event '{event.name}' has the direction {event.direction}; it must be -1, 0 or 1"
                )
        self.functions = [event.watched(simulation) for event in self.events]
        self.before = [float(f(simulation)) for f in self.functions]
        self.found: list[tuple[str, float]] = []

    def look(self, begin: float, end: float, go: Callable[[float], None]) -> float | None:
        """Crossings in (begin, end]; the time of the first that stops the run, or None.

        `go(t)` puts the simulation at a time in between; it must be at `end` now and is there
        afterwards, or at the event that stops.
        """
        crossed: list[tuple[float, Event]] = []
        after = [float(f(self.simulation)) for f in self.functions]
        for event, f, a, b in zip(self.events, self.functions, self.before, after, strict=True):
            rises, falls = a < 0 <= b, a > 0 >= b
            if (rises and event.direction >= 0) or (falls and event.direction <= 0):
                crossed.append((self._locate(f, {begin: a, end: b}, go), event))
        self.before = after
        for t, event in sorted(crossed, key=lambda pair: pair[0]):
            self.found.append((event.name, t))
            if event.stop:
                go(t)
                return t
        if crossed:
            go(end)
        return None

    def _locate(
        self, function: Callable[[Any], float], known: dict[float, float], go: Callable[[float], None]
    ) -> float:
        """Where a function crosses zero between the two times at which it is known."""
        begin, end = known

        def at(t: float) -> float:
            if t not in known:
                go(t)
            return known[t] if t in known else float(function(self.simulation))

        return float(brentq(at, begin, end, xtol=LOCATED * (end - begin)))
