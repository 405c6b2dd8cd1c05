"""What an FMU of a mechanism holds: its variables, and which slots they have.

Every number an FMU shows lives in a slot. FMI 2.0 uses slots as value references; FMI 3.0 numbers
the arrays, and a table leads from them to slots. Both runtimes and both versions share this list.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from math import inf
from typing import Any, NamedTuple

import casadi as ca
import numpy as np

from ..model.describe import parameters
from ..model.describe.internal import internal_states
from ..model.describe.mechanism import Mechanism
from ..model.errors import CutjointError, SimulationError, UnknownName
from ..model.manifold.charts import Ranks
from ..model.run.steppers import STEPPERS
from ..model.run.steppers import stepper as chosen_stepper
from ..model.simulation import Simulation
from ..model.thresholds import FMU_SUBSTEPS
from ..model.variables import Table, Variable

EFFORT = "step.tries"  # which only an FMU has among its outputs


@dataclass(frozen=True)
class FmuVariable(Variable):
    """One variable of the FMU, a scalar or an array; `where` are its slots.

    Kinds are input, hidden (an input that was not chosen), parameter, start, output, state, derivative,
    margin, linear, effort (an output that counts; counted if it was not chosen), coordinate, time.
    """

    shape: tuple[int, ...] = ()
    start: tuple[float, ...] = ()
    fixed: bool = True
    depends: tuple[str, ...] = ()  # derivatives: on "position", "speed", inputs and parameters by name
    rows: tuple[int, ...] = ()  # outputs: of the engine's outputs

    @property
    def slot(self) -> int:
        return self.where.start

    def elements(self) -> list[str]:
        return elements(self.name, self.shape)


def elements(name: str, shape: Sequence[int]) -> list[str]:
    """Names of the elements of an array, with indices from 1."""
    if not shape:
        return [name]
    stem, end = (name[:-1], ")") if name.startswith("der(") else (name, "")
    return [f"{stem}[{','.join(str(i + 1) for i in at)}]{end}" for at in np.ndindex(*shape)]


class Shown(NamedTuple):
    """What FMI 3.0 gives one value reference: a variable, or an element of one."""

    name: str
    variable: FmuVariable
    which: slice  # of its elements
    shape: tuple[int, ...]

    @property
    def slot(self) -> int:
        return self.variable.slot + self.which.start

    @property
    def size(self) -> int:
        return int(self.which.stop - self.which.start)


@dataclass
class Plan:
    """A mechanism ready to be written as an FMU."""

    mechanism: Mechanism
    simulation: Simulation
    step: float
    ranks: Ranks
    variables: list[FmuVariable] = field(default_factory=list)
    first: dict[str, int] = field(default_factory=dict)  # kind of slot -> its first slot
    linear_rows: list[int] = field(default_factory=list)  # rows of C and D, as indices into `rows`
    slots: int = 0
    choices: dict[str, Any] = field(default_factory=dict)  # what `plan` was asked for, to plan it again
    scalar: bool = False  # FMI 3.0 shows every element as a variable of its own, as 2.0 does

    def begin(self, kind: str) -> None:
        """Slots of this kind follow."""
        self.first[kind] = self.slots

    @property
    def freedoms(self) -> int:
        """Independent speeds."""
        return self.simulation.tree.nv - self.ranks.speeds

    @property
    def coordinates(self) -> int:
        """Independent coordinates: as many, or more where there are velocity constraints."""
        return self.simulation.tree.nv - self.ranks.poses

    @property
    def states(self) -> int:
        """Independent coordinates and speeds, and internal states."""
        return self.coordinates + self.freedoms + self.simulation.tree.nz

    def shown(self) -> list[Shown]:
        """In the order of the value references of FMI 3.0."""
        result = []
        for v in self.variables:
            if self.scalar:
                result += [Shown(name, v, slice(k, k + 1), ()) for k, name in enumerate(v.elements())]
            else:
                result.append(Shown(v.name, v, slice(0, v.size), v.shape))
        return result

    def of(self, *kinds: str) -> list[FmuVariable]:
        return [v for v in self.variables if v.kind in kinds]

    @property
    def rows(self) -> list[int]:
        """Outputs shown, as rows of the engine's outputs: those traced first, then the singular values."""
        return [row for v in self.of("output") for row in v.rows]

    @property
    def traced_rows(self) -> list[int]:
        return [row for v in self.of("output") if v.differentiable for row in v.rows]

    def _parameters_in(self, row: np.ndarray) -> list[str]:
        """Names of the parameters that a row of a pattern is not zero at."""
        entries = zip(self.of("parameter"), self.simulation.equations.parameters, strict=True)
        return [v.name for v, entry in entries if row[entry.slice].any()]

    @cached_property
    def in_loops(self) -> list[str]:
        """Parameters that the loops depend on: with them everything that positions and speeds follow from."""
        function = self.simulation.engine.traced("closure")
        patterns = [np.array(ca.DM(function.jac_sparsity(k, 1), 1)) for k in range(2)]
        return self._parameters_in(np.atleast_1d(np.concatenate(patterns).any(axis=0)))

    @cached_property
    def moving(self) -> list[str]:
        """Driven motions among the inputs: poses and speeds follow from them."""
        first = self.first["input"]
        return [v.name for v in self.of("input") if v.slot - first in self.simulation.motions]

    @cached_property
    def dependence(self) -> list[tuple[str, ...]]:
        """For every row of the engine's outputs: "position", "speed" (then both), inputs and parameters."""
        function = self.simulation.engine.traced("outputs")
        patterns = [np.array(ca.DM(function.jac_sparsity(0, k), 1)) for k in range(4)]
        inputs, first = self.of("input"), self.first["input"]
        nq, nz = self.simulation.tree.nq, self.simulation.tree.nz
        result = []
        for on_q, on_v, on_u, on_p in zip(*patterns, strict=True):
            words = ["position"] if on_q[: nq - nz].any() or on_v.any() else []
            words += ["speed"] if on_v.any() else []
            words += ["internal"] if on_q[nq - nz :].any() else []
            words += [v.name for v in inputs if on_u[v.slot - first : v.where.stop - first].any()]
            result.append((*words, *self._parameters_in(on_p)))
        return result + [("position",) if self.ranks.speeds else ()] * 2

    def depends(self, variable: FmuVariable) -> tuple[str, ...]:
        """What an output, derivative or margin depends on: "position", "speed", and others by name."""
        words = [*variable.depends, *(word for row in variable.rows for word in self.dependence[row])]
        if "position" in words:
            words += self.in_loops + self.moving
        return tuple(dict.fromkeys(words))

    def depends_at_start(self, variable: FmuVariable) -> tuple[str, ...]:
        """What it depends on while it is initialized: start values in place of states."""
        words = list(self.depends(variable))
        starts = {
            kind: [v.name for v in self.of("start") if v.name.endswith(f".{kind}")]
            for kind in ("position", "speed")
        }
        found = [word for word in words if word not in (*starts, "internal")]
        if "position" in words:
            found += starts["position"]
        if "speed" in words:  # made consistent in the mass metric
            found += [*starts["speed"], *(v.name for v in self.of("parameter"))]
        return tuple(dict.fromkeys(found))


def plan(
    mechanism: Mechanism,
    *,
    step: float = 1e-3,
    stepper: str = "runge_kutta",
    substeps: int | None = None,
    inputs: Sequence[str] = (),
    outputs: Sequence[str] = (),
    marked: Sequence[str] = (),
    linear: bool = False,
    scalar: bool = False,
) -> Plan:
    """Lay out the variables; empty choices mean all. Outputs may be patterns such as `body.*.position`."""
    if not (0 < step < inf):
        raise CutjointError(f"--step: the inner step must be positive and finite, not {step}")
    if stepper not in STEPPERS:
        raise CutjointError(f"--stepper: '{stepper}' is not known; known: {', '.join(STEPPERS)}")
    try:
        chosen_stepper(stepper, substeps)
    except SimulationError as problem:
        raise CutjointError(f"--substeps: {problem}") from None
    if marked:
        mechanism = replace(mechanism, parameters=dict(_marked(mechanism, name) for name in marked))
    simulation = Simulation(mechanism, compile=False, stepper=stepper, substeps=substeps)
    ranks = simulation.engine.ranks(simulation.q, simulation.p)
    result = Plan(simulation.mechanism, simulation, step, ranks)
    result.scalar = scalar
    result.choices = {"step": step, "stepper": stepper, "substeps": substeps, "linear": linear}
    result.choices |= {"inputs": list(inputs), "outputs": list(outputs)}
    result.begin("time")
    _new(result, "time", "time", about="simulation time", units=("s",))
    _inputs(result, inputs)
    _parameters(result)
    _starts(result)
    _outputs(result, [name for name in outputs if name != EFFORT])
    _states(result)
    _linear(result, linear)
    result.begin("effort")
    about = "shorter steps that were tried in the last communication step, where plain ones were too coarse"
    _new(result, EFFORT, "effort" if not outputs or EFFORT in outputs else "counted", about=about)
    result.begin("coordinate")
    if result.coordinates:
        about = "number of the speed, in the order of the start speeds, that this state stands for"
        _new(result, "state.coordinate", "coordinate", (result.coordinates,), about)
    return result


def budget(stepper: str, substeps: int | None) -> int | None:
    """How many sub-steps what is exported may try: as told, or few enough to wait for."""
    if substeps is None and stepper in STEPPERS:
        return min(STEPPERS[stepper].substeps, FMU_SUBSTEPS)
    return substeps


def _marked(mechanism: Mechanism, name: str) -> tuple[str, str]:
    """Name and path of a parameter that the description marks, or of a path given directly."""
    if name in mechanism.parameters:
        return name, mechanism.parameters[name]
    try:
        parameters.locate(mechanism, name)
    except CutjointError as problem:
        known = ", ".join(mechanism.parameters) or "none"
        raise CutjointError(f"--parameter: {problem}; marked in the description: {known}") from None
    return parameters.name_of(name), name


def _add(plan: Plan, variable: Variable, **more: Any) -> None:
    """Give a variable, or one that differs from it in some fields, the next slots."""
    known = {f.name: getattr(variable, f.name) for f in fields(variable)} | more
    shape = known.setdefault("shape", () if variable.size == 1 else (variable.size,))
    known["where"] = slice(plan.slots, plan.slots + int(np.prod(shape, dtype=int)))
    plan.variables.append(FmuVariable(**known))
    plan.slots = known["where"].stop


def _new(plan: Plan, name: str, kind: str, shape: tuple[int, ...] = (), about: str = "", **more: Any) -> None:
    """A variable that only an FMU has."""
    _add(plan, FmuVariable(name, kind, slice(0, 1), about=about, shape=shape, **more))


def _chosen(table: Table, names: Iterable[str], option: str) -> tuple[Variable, ...]:
    """The variables of these names, or all."""
    try:
        return table.choose(names) or tuple(table)
    except UnknownName as problem:
        raise CutjointError(f"{option}: {problem}") from None


def _inputs(plan: Plan, names: Sequence[str]) -> None:
    plan.begin("input")
    table = plan.simulation.variables().inputs
    shown = _chosen(table, names, "--input")
    for v in table:
        start = tuple(plan.simulation.state.u[v.where].tolist())
        _add(plan, v, name=v.port, kind="input" if v in shown else "hidden", start=start)


def _parameters(plan: Plan) -> None:
    plan.begin("parameter")
    values, table = parameters.default_vector(plan.mechanism), plan.simulation.variables().parameters
    for entry in parameters.layout(plan.mechanism):
        start = tuple(float(x) for x in values[entry.slice])
        fixed = entry.at.field.changes_geometry  # to be set before initialization ends
        _add(plan, table.find(entry.name), name=f"parameter.{entry.name}", start=start, fixed=fixed)


def _starts(plan: Plan) -> None:
    """Start pose and speeds of the tree's joints."""
    table = plan.simulation.variables()
    for first, values, joints, about in (
        ("start_q", plan.simulation.state.q, table.positions, "held while loops are closed if changed"),
        ("start_v", wanted_speeds(plan), table.speeds, "wanted, and made consistent with the loops"),
    ):
        plan.begin(first)
        for v in joints:
            if not v.size:
                continue
            start = tuple(float(x) for x in values[v.where])
            name, about_it = f"start.{v.name}.{v.kind}", f"start {v.kind} of joint {v.name}; {about}"
            _add(plan, v, name=name, kind="start", about=about_it, start=start)


def wanted_speeds(plan: Plan) -> np.ndarray:
    """The description's start speeds as the user counts them."""
    v = np.zeros(plan.simulation.tree.nv)
    for name, where in plan.simulation.tree.v.items():
        v[where] = plan.mechanism.joint(name).speed or 0.0
    return v


def _outputs(plan: Plan, names: Sequence[str]) -> None:
    """The outputs that were asked for: those that are traced, then those that need singular values."""
    chosen = _chosen(plan.simulation.variables().outputs, names, "--output")
    if not (names or plan.ranks.speeds):  # without loops the distance from a singularity is infinite
        chosen = tuple(v for v in chosen if v.differentiable or v.own)
    for kind in ("output", "sigma"):
        plan.begin(kind)
        for v in chosen:
            if v.differentiable == (kind == "output"):
                _add(plan, v, rows=tuple(range(v.where.start, v.where.stop)))
    shown = [v for v in plan.of("output") if v.differentiable]
    linear = [v for v in shown if v.own] or [v for v in shown if re.fullmatch(r"joint\..*\.position", v.name)]
    plan.linear_rows = [slot - plan.first["output"] for v in linear for slot in range(v.slot, v.where.stop)]


def _states(plan: Plan) -> None:
    n, speeds = plan.coordinates, plan.freedoms
    state = ("position", "speed", "internal") if plan.simulation.tree.nz else ("position", "speed")
    everything = (*state, *(v.name for v in plan.of("input", "parameter")))
    turns = {v.unit for v in plan.simulation.variables().speeds if v.size} == {"rad/s"}

    def units(unit: str, count: int) -> tuple[str, ...]:
        """States change places when the chart does: they have a unit if all speeds have the same."""
        return (unit,) * count if turns else ()

    plan.begin("state")
    if n:
        about = (
            "independent coordinate: a joint's own, or its displacement from the chart's reference for a ball"
        )
        _new(plan, "state.position", "state", (n,), about, units=units("rad", n), depends=state[:1])
    if speeds:
        about = "speed of the independent coordinate of that number"
        _new(plan, "state.speed", "state", (speeds,), about, units=units("rad/s", speeds), depends=state)
    inner = internal_states(plan.mechanism)
    of_inner = tuple(unit for item in inner for unit in item.units)
    if inner:
        names = [
            name
            for item in inner
            for name in elements(item.name, (len(item.units),) if item.units[1:] else ())
        ]
        about = f"internal states: {', '.join(names)}"
        _new(plan, "state.internal", "state", (len(of_inner),), about, units=of_inner, depends=("internal",))
    plan.begin("derivative")
    if n:
        about, of = "rate of the independent coordinate", units("rad/s", n)
        _new(plan, "der(state.position)", "derivative", (n,), about, units=of, depends=state)
    if speeds:
        about, of = "acceleration of the independent coordinate", units("rad/s2", speeds)
        _new(plan, "der(state.speed)", "derivative", (speeds,), about, units=of, depends=everything)
    if inner:
        about, of = "rates of the internal states", tuple(_rate(unit) for unit in of_inner)
        _new(plan, "der(state.internal)", "derivative", (len(of),), about, units=of, depends=everything)
    plan.begin("margin")
    if n and (plan.ranks.speeds or any(not move.plain for move, _ in plan.simulation.tree.moves)):
        about = "how far the choice of states is from being changed; an event at zero"
        _new(plan, "state.margin", "margin", about=about, depends=("position",))


def _rate(unit: str) -> str:
    """The unit of a rate: N.m becomes N.m/s, rad/s becomes rad/s2."""
    return f"{unit}2" if unit.endswith("/s") else f"{unit}/s"


def _linear(plan: Plan, shown: bool) -> None:
    plan.begin("linear")
    nx, nu, rows = plan.states, len(plan.mechanism.inputs()), len(plan.linear_rows)
    for name, shape in (("A", (nx, nx)), ("B", (nx, nu)), ("C", (rows, nx)), ("D", (rows, nu))):
        if shown and shape[0] * shape[1]:
            about = f"matrix {name} of the linear model at the present state"
            _new(plan, f"linear.{name}", "linear", shape, about)
