"""Events: named functions of the state that cross zero during a run, located to round-off."""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from ..base.errors import SimulationError
from ..base.thresholds import BESIDE, LOCATED
from ..state import Stepper

Go = Callable[[float], None]


@dataclass(frozen=True)
class Event:
    """Something to watch for.

    `function` is called with the simulation, or is the name of an output. `direction` +1 waits for
    a rise through zero, −1 for a fall, 0 for either. `stop` ends the run there, just beyond zero, so that
    the next run goes on from it.
    """

    name: str
    function: Callable[[Any], float] | str
    direction: int = 0
    stop: bool = False

    def watched(self, simulation: Stepper) -> Callable[[Any], float]:
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


class Watched:
    """An event in a run: its value at the present state, and how fast that changes."""

    def __init__(self, event: Event, simulation: Any):
        self.event, self.simulation = event, simulation
        self._function = event.watched(simulation)

    def value(self) -> float:
        """An error unless it is one finite number."""
        given = self._function(self.simulation)
        if np.size(given) != 1:
            raise SimulationError(
                f"event '{self.event.name}' must give one number, not {np.size(given)}; choose a component"
            )
        found = float(np.asarray(given, float).item())
        if not math.isfinite(found):
            raise SimulationError(
                f"event '{self.event.name}' is {found} at {self.simulation.time:.6g} s, where no crossing "
                "can be found; let it give finite numbers"
            )
        return found

    def slope(self, value: float, ahead: float) -> float:
        """Its rate of change, by a small step along the present motion; 0 where it can't be told."""
        s = self.simulation
        state, (dq, dv, dz, _) = s.state, s.engine.kernels.rates(*s.at)
        q, v, z = (x + ahead * rate for x, rate in zip(state.at, (dq, dv, dz), strict=False))
        s.put(replace(state, time=state.time + ahead, q=q, v=v, z=z))
        try:
            return self.value() - value
        except SimulationError:
            return 0.0
        finally:
            s.put(state)

    def wanted(self, a: float, b: float) -> bool:
        """Whether a change from a to b is a crossing that is waited for."""
        return (a < 0 <= b and self.event.direction >= 0) or (a > 0 >= b and self.event.direction <= 0)


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
        self._watched = [Watched(event, simulation) for event in self.events]
        self._before = [(value := w.value(), w.slope(value, BESIDE)) for w in self._watched]
        self.found: list[tuple[str, float]] = []

    def look(self, begin: float, end: float, go: Go) -> float | None:
        """Crossings in (begin, end]; the time of the first that stops the run, or None.

        `go(t)` puts the simulation at a time in between; it must be at `end` now and is there
        afterwards, or at the event that stops. Up to two crossings of one event are found.
        """
        crossed: list[tuple[float, Event]] = []
        ahead = BESIDE * (end - begin)
        after = [(value := w.value(), w.slope(value, ahead)) for w in self._watched]
        for watched, before, now in zip(self._watched, self._before, after, strict=True):
            values = OverTime(watched, {begin: before[0], end: now[0]}, go)
            turn = values.beyond(begin, end) if _may_turn(before, now) else None
            times = (begin, end) if turn is None else (begin, turn, end)
            for t0, t1 in pairwise(times):
                if watched.wanted(values(t0), values(t1)):
                    crossed.append((values.crossing(t0, t1), watched.event))
        self._before = after
        for t, event in sorted(crossed, key=lambda pair: pair[0]):
            self.found.append((event.name, t))
            if event.stop:
                go(t)
                return t
        go(end)
        return None


def _may_turn(before: tuple[float, float], now: tuple[float, float]) -> bool:
    """Whether a function on one side of zero heads for the other at first and comes back at last."""
    (a, slope_a), (b, slope_b) = before, now
    return a * b > 0 and a * slope_a < 0 < b * slope_b


class OverTime:
    """An event's function over a time that can be gone back to; nothing is asked for twice."""

    def __init__(self, watched: Watched, known: dict[float, float], go: Go):
        self._watched, self._known, self._go = watched, known, go

    def __call__(self, t: float) -> float:
        if t not in self._known:
            self._go(t)
            self._known[t] = self._watched.value()
        return self._known[t]

    def beyond(self, begin: float, end: float) -> float | None:
        """A time in between when the function is on the other side of zero, if its extremum is."""
        from scipy.optimize import minimize_scalar  # few need it, and SciPy takes a while to import

        sign = math.copysign(1.0, self(begin))
        minimize_scalar(lambda t: sign * self(t), bounds=(begin, end), method="bounded")
        lowest = min(self._known, key=lambda t: sign * self._known[t])
        return lowest if sign * self._known[lowest] <= 0 else None

    def crossing(self, begin: float, end: float) -> float:
        """The first time on the other side of zero, to round-off: whoever goes on from there has crossed."""
        from scipy.optimize import brentq  # few need it, and SciPy takes a while to import

        brentq(self, begin, end, xtol=LOCATED * (end - begin), rtol=4 * np.finfo(float).eps)
        before = math.copysign(1.0, self(begin))
        return min(t for t, value in self._known.items() if begin < t <= end and before * value <= 0)
