"""Inputs that change during a run: laws, functions and tables over time, and controllers that are asked.

A step of fixed length takes, for each law u(t), the straight line that is nearest to it in the mean: the one
through its values at the two points of Gauss, t + h(1/2 ∓ √3/6). For a motion ẋ = f(x) + g(x) u what is left
out is orthogonal to 1 and t on the step, so it moves x by O(h⁵): the step keeps the fourth order of
Runge-Kutta, at the price of a step. Where laws jump, or bend, steps end; laws made of straight
lines are therefore followed exactly. Solvers of variable step ask for laws at the times of their stages.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np

from ..base.errors import CutjointError, SimulationError
from ..base.thresholds import SAME_TIME
from ..describe.motors import signal_names
from ..laws import Law, constant, function, table
from ..laws.features import features
from ..laws.tables import HELD, KEPT, LINEAR
from ..laws.texts import law as law_of_text
from ..state import Stepper

GAUSS = math.sqrt(3) / 6
Controller = Callable[[float, Any], Mapping[str, float] | Iterable[float]]


class Inputs:
    """The laws of some inputs of a simulation, and a controller of others, during one run.

    `controller(t, simulation)` is asked once a step and gives inputs by name, or all of them, held until it
    is asked again.
    """

    def __init__(
        self,
        simulation: Stepper,
        laws: Mapping[str, Law],
        controller: Controller | None,
        begin: float,
        end: float,
        step: float,
    ):
        self.simulation, self.controller, self.begin, self.end = simulation, controller, begin, end
        known = simulation.engine.variables.inputs
        self.laws = {known.find(name).name: law for name, law in laws.items()}
        derived = _derivatives(simulation, self.laws)
        self._names = [*self.laws, *derived]  # inputs that are set, and by which derivative of which law
        self._where = np.array([known.find(name).where.start for name in self._names], int)
        self._evaluate = [(law, 0) for law in self.laws.values()] + list(derived.values())
        top = {signal_names(motor)[-1] for motor in simulation.mechanism.driven}
        moving = set(simulation.mechanism.motions)
        self._moving = np.array([name in moving for name in self._names], bool)
        self._top = np.array([name in top for name in self._names], bool)
        self._stops = sorted({t for law in self.laws.values() for t in law.breaks if begin < t < end})
        self.step, self._asked = step, 0  # of records and of a controller, and how often that was asked
        for name, law in self.laws.items():
            first, last = law.span
            if begin < first or end > last * (1 + SAME_TIME):
                raise CutjointError(
                    f"input '{name}': the table '{law.name}' goes from {first:g} to {last:g} s, but the run "
                    f"from {begin:g} to {end:g} s; lengthen the table, or say outside={KEPT}"
                )

    @cached_property
    def _features(self) -> tuple[list[float], float]:
        """Where laws jump or bend, and the longest step that passes over nothing that one does in between."""
        stops, longest = set(self._stops), math.inf
        for law in self.laws.values():
            longest = min(longest, law.longest)
            if not law.smooth:  # of its formula nothing is known: it is looked at
                jumps, shortest = features(law, self.begin, self.end, self.step)
                stops.update(t for t in jumps if self.begin < t < self.end)
                longest = min(longest, self.step, shortest)
        return sorted(stops), longest

    @property
    def longest(self) -> float:
        """A step of variable length that passes over nothing that a law does."""
        return self._features[1]

    def values(self, t: float) -> np.ndarray:
        """What the laws say at a time."""
        found = np.array([_number(law.evaluate(t)[order]) for law, order in self._evaluate])
        if not np.isfinite(found).all():
            k = int(np.flatnonzero(~np.isfinite(found))[0])
            name, (law, order) = self._names[k], self._evaluate[k]
            if order and self._moving[k]:
                raise SimulationError(
                    f"input '{name}': the law '{law.name}' has no derivative at {t:.6g} s, which a driven "
                    "motion needs; give it a law of its own"
                )
            raise SimulationError(
                f"input '{name}': its law '{law.name}' is not a finite number at {t:.6g} s; change it"
            )
        return found

    def at(self, t: float, before: float = math.inf) -> np.ndarray:
        """Inputs for a stage at a time; the simulation stays."""
        s = self.simulation
        if not s.motions:
            self.set(t, before)
            return s.u
        u = s.inputs_at(t).copy()
        u[self._where] = self.values(t if t < before else math.nextafter(before, -math.inf))
        return u

    def set(self, t: float, before: float = math.inf) -> None:
        """Give the simulation its inputs at a time; as they are just before `before`, if that is reached."""
        if self.laws:
            u = self.simulation.u.copy()
            u[self._where] = self.values(t if t < before else math.nextafter(before, -math.inf))
            self.simulation.take_inputs(u)

    @property
    def _due(self) -> float:
        """When the controller is asked next."""
        return self.begin + self._asked * self.step if self.controller else math.inf

    def control(self) -> None:
        """Ask the controller at the present state, if it is time to."""
        s = self.simulation
        if self.controller is None or s.time < self._due - SAME_TIME * self.step:
            return
        self._asked += 1
        given = self.controller(s.time, s)
        both = self.laws.keys() & given.keys() if isinstance(given, Mapping) else None
        if both:
            raise SimulationError(
                f"input '{min(both)}' has a law, and the controller sets it too; choose one"
            )
        s.set_inputs(given)

    def line(self, t: float, h: float) -> np.ndarray | None:
        """Set the inputs that a step from t begins with; their rates during it, None if all are held."""
        if not self.laws:
            return None
        first, last = self.values(t + (0.5 - GAUSS) * h), self.values(t + (0.5 + GAUSS) * h)
        slope = (last - first) / (2 * GAUSS * h)
        begin = (first + last) / 2 - h / 2 * slope
        if (
            self._moving.any()
        ):  # motions go on by their derivatives; only how fast the highest changes is told
            now, then = self.values(t), self.values(math.nextafter(t + h, -math.inf))
            begin = np.where(self._moving, now, begin)
            slope = np.where(self._moving, np.where(self._top, (then - now) / h, 0.0), slope)
        self.simulation.u[self._where] = begin
        if not slope.any():
            return None
        rates = np.zeros(self.simulation.u.size)
        rates[self._where] = slope
        return rates

    def split(self, plan: list[tuple[float, float]]) -> list[tuple[float, float]]:
        """Length and end of each step, no step with a break inside."""
        if not self._stops:
            return plan
        done: list[tuple[float, float]] = []
        for length, end in plan:
            begin, same = end - length, SAME_TIME * length
            inside = self._stops[
                bisect_right(self._stops, begin + same) : bisect_right(self._stops, end - same)
            ]
            for t in inside:
                done.append((t - begin, t))
                begin = t
            done.append((end - begin, end) if inside else (length, end))
        return done

    def until(self, t: float) -> float:
        """When a solver that is at t must stop next: where a law breaks, or the controller is asked."""
        stops = self._features[0]
        k = bisect_right(stops, t)
        return min(stops[k] if k < len(stops) else self.end, self._due, self.end)


def _derivatives(simulation: Stepper, laws: Mapping[str, Law]) -> dict[str, tuple[Law, int]]:
    """The inputs beside a driven motion that its law tells too: law and order of the derivative."""
    found: dict[str, tuple[Law, int]] = {}
    for motor in simulation.mechanism.driven:
        told: tuple[Law, int] | None = None
        for name in signal_names(motor):
            told = (laws[name], 0) if name in laws else told and (told[0], told[1] + 1)
            if told and name not in laws:
                found[name] = told
    return found


def _number(x: Any) -> float:
    return x if isinstance(x, float) else float(np.asarray(x, float).item())


def as_laws(simulation: Stepper, given: Mapping[str, Any], begin: float, step: float) -> dict[str, Law]:
    """Laws by input from numbers, texts, laws, functions of time, (times, values), or one value a step.

    An input of several numbers takes a law of as many, or a list with something for each.
    """
    known, found = simulation.engine.variables.inputs, {}
    for name, value in given.items():
        parts = known.find(name).components()
        if len(parts) == 1:
            values = [value]
        elif isinstance(value, Law) and value.size == len(parts):
            values = [_component(value, k) for k in range(value.size)]
        elif isinstance(value, list | tuple) and len(value) == len(parts):
            values = list(value)
        else:
            raise SimulationError(
                f"input '{name}' has {len(parts)} numbers; give a list of {len(parts)}, or name one of them, "
                f"'{name}[1]'"
            )
        for part, law in zip(parts, values, strict=True):
            found[part.name] = _law(law, part.unit, part.name, begin, step)
    return found


def _component(law: Law, k: int) -> Law:
    """One number of a law of several."""

    def evaluate(t: float) -> tuple[Any, Any, Any]:
        x, dx, ddx = (np.ravel(part)[k] for part in law.evaluate(t))
        return float(x), float(dx), float(ddx)

    return replace(law, size=1, evaluate=evaluate)


def _law(value: Any, unit: str, name: str, begin: float, step: float) -> Law:
    try:
        law = _made(value, unit, name, begin, step)
    except CutjointError as error:
        raise type(error)(f"input '{name}': {error}") from None
    if law.size != 1:
        raise SimulationError(
            f"input '{name}': the law '{law.name}' gives {law.size} numbers; it must give one"
        )
    return law


def _made(value: Any, unit: str, name: str, begin: float, step: float) -> Law:
    if isinstance(value, Law):
        return value
    if isinstance(value, str):
        return law_of_text(value, unit)
    if isinstance(value, ca.Function):
        return function(value)
    if callable(value):
        nothing = math.nan  # derivatives of a Python function are not known
        return Law(
            getattr(value, "__name__", "function"), 1, lambda t: (value(t), nothing, nothing), smooth=False
        )
    try:
        if isinstance(value, tuple) and len(value) == 2 and np.ndim(value[0]) == 1:
            return table(*value, LINEAR)
        numbers = np.asarray([] if value is None else value, float)
    except (TypeError, ValueError):
        raise SimulationError(f"a law, a function of time, or numbers are wanted, not {value!r}") from None
    if numbers.ndim == 0:
        return constant(float(numbers))
    if numbers.ndim != 1 or not len(numbers):
        shape = f"an array of shape {numbers.shape}" if value is not None else "nothing"
        raise SimulationError(f"a law, or one value for each step is wanted, not {shape}")
    times = begin + step * np.arange(len(numbers) + 1)
    return table(times, np.append(numbers, numbers[-1]), HELD, name=f"array of {name}")
