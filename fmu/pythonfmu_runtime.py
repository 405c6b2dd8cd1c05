"""What a pythonfmu FMU runs on its target: the engine in Python behind the same variables.

The FMU's own module, of a name no other FMU has, subclasses `MechanismSlave` and sits in
`resources/` beside `mechanism.yaml` and `options.json`.
"""

import ctypes
import json
import math
import sys
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from pythonfmu import Fmi2Slave
from pythonfmu.enums import Fmi2Status

from ..model.base.errors import CutjointError, SimulationError
from ..model.base.thresholds import SAME_TIME
from ..model.loading import load
from ..model.manifold.closing import described_speeds
from ..model.manifold.step import STEP_INFO, TRIES
from ..model.run.assembly import assemble, consistent_speeds
from ..model.run.integrate import step_plan
from ..model.simulation import Simulation
from ..model.state import State
from ..native.plan import Plan
from ..native.variable_layout import plan

UNSETTLED, UNDECIDED = (STEP_INFO.index(name) for name in ("unsettled", "undecided"))


class MechanismSlave(Fmi2Slave):
    """Co-simulation of a mechanism; value references are the plan's slots."""

    def __init__(self, **kwargs: Any):
        super().__init__(**kwargs)
        # pythonfmu's library borrows references to the class and to its module's names and gives them
        # back when it frees the instance, as if it owned them. Without one more count on each of them
        # the interpreter crashes sooner or later.
        for borrowed in (type(self), vars(sys.modules[type(self).__module__])):
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(borrowed))
        folder = Path(self.resources or Path(__file__).parent)
        options = json.loads((folder / "options.json").read_text("utf-8"))
        self.plan: Plan = plan(load(str(folder / "mechanism.yaml")), **options)
        made = self.plan.simulation
        self._how: dict[str, Any] = {"stepper": made.stepper, "substeps": made.substeps}
        self.simulation = Simulation(self.plan.mechanism, **self._how)
        count = self.plan.slots
        self.values = np.zeros(count)
        self.settable = np.zeros(count, bool)
        self.shaping = np.zeros(count, bool)
        for v in self.plan.of("input", "parameter", "start"):
            self.values[v.where], self.settable[v.where] = v.start, True
            self.shaping[v.where] = v.kind == "start" or (v.kind == "parameter" and v.fixed)
        self.defaults = self.values.copy()
        self.running = False
        self.begin, self.end = 0.0, math.inf
        self._known = False
        first = self.plan.first
        self._u = slice(first["input"], first["parameter"])
        self._p = slice(first["parameter"], first["start_q"])
        self._y = slice(first["output"], first["state"])
        self._tries = first["effort"]
        self._rows = np.array(self.plan.rows, int)
        shown = set(self.plan.linear_rows)
        self._linear = [v.name for v in self.plan.of("output") if v.slot - first["output"] in shown]

    def setup_experiment(self, start_time: float, stop_time: float | None, tolerance: float | None) -> None:
        self.begin, self.end = start_time, math.inf if stop_time is None else stop_time

    def _refuse(self, message: str) -> None:
        """Say what was wrong; an exception would be fatal, and pythonfmu's library crashes after it."""
        self.log(message, Fmi2Status.error)

    def exit_initialization_mode(self) -> None:
        try:
            self._assemble()
        except CutjointError as problem:
            self._refuse(str(problem))  # no status can be returned here: steps are refused from now on
        else:
            self.running = True

    def _assemble(self) -> None:
        """The mechanism at its start, with the parameters and start values set so far."""
        engine, first, changed = self.simulation.engine, self.plan.first, self.values != self.defaults
        if changed[self._p.start : self._y.start].any():
            (q, new_q), (v, new_v) = (
                (self.values[first[x] :], changed[first[x] :]) for x in ("start_q", "start_v")
            )
            held = {n: q[at] for n, at in engine.tree.q.items() if new_q[at].any()}
            self.simulation = Simulation(engine, parameters=self._parameters(), start=held, **self._how)
            wanted = described_speeds(engine.equations)
            wanted |= {n: v[at] for n, at in engine.tree.v.items() if new_v[at].any() or n in wanted}
            state = self.simulation.state
            self.simulation.state = replace(state, v=consistent_speeds(engine, state, wanted))
        if self.simulation.motions:  # it starts in motion: nothing pushes it into it
            state = replace(self.simulation.state, u=self.values[self._u].copy())
            self.simulation.put(assemble(engine, state, {})[0])
        self.simulation.set_inputs(self.values[self._u])
        self.simulation.state = replace(self.simulation.state, time=self.begin)

    def _parameters(self) -> dict[str, Any]:
        """All parameters by name, as set so far."""
        result = {}
        for p in self.simulation.equations.parameters:
            numbers = self.values[self._p][p.slice]
            result[p.name] = float(numbers[0]) if numbers.size == 1 else numbers.tolist()
        return result

    def do_step(self, current_time: float, step_size: float) -> bool:
        if not (step_size >= 0 and math.isfinite(step_size)):
            self._refuse(f"a step must be finite and not negative, not {step_size} s")
            return False
        if current_time + step_size > self.end + SAME_TIME * (1 + abs(self.end)):
            self._refuse(f"the step ends after the stop time {self.end} s that was set before")
            return False
        if not self.running:
            self._refuse("a step was asked for, but initialization did not end well")
            return False
        before, counters = self.simulation.state, self.simulation.counters.copy()
        try:
            for h, end in step_plan(current_time, step_size, self.plan.step):
                self.simulation.step(h, end)
        except SimulationError as problem:
            self.simulation.put(before)
            self._refuse(str(problem))
            return False
        said = self.simulation.counters - counters
        if said[UNSETTLED : UNDECIDED + 1].any():
            self.log(
                f"a step after {current_time:.9g} s is too coarse even in sub-steps, or had two ways to go on"
            )
        self.values[self._tries] = said[TRIES]
        self.values[self._u] = self.simulation.u  # driven motions go on
        self._known = False
        return True

    def set_real(self, vrs: Iterable[int], values: Iterable[float]) -> None:
        pairs = list(zip(vrs, values, strict=True))
        for vr, value in pairs:  # all or nothing
            if not (0 <= vr < self.values.size and self.settable[vr]):
                return self._refuse(
                    f"there is no input or parameter with value reference {vr}; nothing was set"
                )
            if not math.isfinite(value):
                return self._refuse(f"value reference {vr} was given {value}; nothing was set")
            if self.running and self.shaping[vr]:
                return self._refuse(f"value reference {vr} can be set before the end of initialization only")
        before = self.values.copy()
        for vr, value in pairs:
            self.values[vr] = value
        if self.running:
            try:
                if (self.values[self._p] != before[self._p]).any():
                    self.simulation.set_parameters(self._parameters())
            except CutjointError as problem:
                self.values[:] = before
                return self._refuse(f"{problem}; nothing was set")
            self.simulation.set_inputs(self.values[self._u])
        self._known = False
        return None

    def get_real(self, vrs: Iterable[int]) -> list[float]:
        wanted = list(vrs)
        for vr in wanted:
            if not 0 <= vr < self.values.size:
                self._refuse(f"there is no variable with value reference {vr}")
                return [math.nan] * len(wanted)
        if not self._known and any(not self.settable[vr] for vr in wanted):
            self._evaluate(wanted)
        return [float(self.values[vr]) for vr in wanted]

    def _evaluate(self, wanted: list[int]) -> None:
        if not self.running:
            try:
                self._assemble()
            except CutjointError as problem:
                return self._refuse(str(problem))
        sim, linear = self.simulation, self.plan.of("linear")
        self.values[0] = sim.time
        self.values[self._y] = sim.read(self._rows)
        self._known = not linear
        if any(linear[0].slot <= vr < linear[-1].where.stop for vr in wanted if linear):
            try:  # in the chart of the best-conditioned independent coordinates, as the native FMU has it
                model = sim.linearize(outputs=self._linear, states="partition")
            except CutjointError as problem:
                return self._refuse(str(problem))
            for v in linear:
                self.values[v.where] = getattr(model, v.name.removeprefix("linear.")).ravel()
        return None

    def _get_fmu_state(self) -> dict[str, Any]:
        state = self.simulation.state
        numbers = {"time": state.time, "work": state.work, "begin": self.begin, "running": self.running}
        arrays = {name: getattr(state, name) for name in ("q", "v", "u", "p", "sensed", "z")}
        arrays["values"] = self.values
        return numbers | {name: array.tolist() for name, array in arrays.items()}

    def _set_fmu_state(self, state: dict[str, Any]) -> None:
        if state.keys() != self._get_fmu_state().keys():
            return self._refuse("this state was saved by another version; nothing was set: save it anew")
        q, v, u, p, sensed, z = (np.array(state[name]) for name in ("q", "v", "u", "p", "sensed", "z"))
        self.simulation.state = State(float(state["time"]), q, v, u, p, float(state["work"]), sensed, z)
        self.running, self.begin = bool(state["running"]), float(state["begin"])
        self.values[:] = state["values"]
        self._known = False
        return None
