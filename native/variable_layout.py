"""What an FMU of a mechanism holds: its variables, and which slots they have.

Every number an FMU shows lives in a slot. FMI 2.0 uses slots as value references; FMI 3.0 numbers
the arrays, and a table leads from them to slots. Both runtimes and both versions share this list.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import fields, replace
from fnmatch import fnmatchcase
from math import inf
from typing import Any

import numpy as np

from ..model.base.errors import CutjointError, SimulationError, UnknownName
from ..model.base.thresholds import FMU_SUBSTEPS, MANY_OUTPUTS
from ..model.describe import parameters
from ..model.describe.mechanism import Mechanism
from ..model.equations.elements.contract import Indicator, element_indicators, internal_states
from ..model.equations.indicators import indicators
from ..model.equations.sampled_sensors import ticks
from ..model.run.steppers import STEPPERS
from ..model.run.steppers import stepper as chosen_stepper
from ..model.simulation import Simulation
from ..model.variables import Table, Variable
from .plan import FmuVariable, Plan, elements

EFFORT = "step.tries"  # which only an FMU has among its outputs
# What hundreds of joints make thousands of is left out unless it is asked for; this stays.
KEPT = (
    "joint.*.position",
    "joint.*.velocity",
    "body.*.position",
    "body.*.orientation",
    "sensor.*",
    "motor.*",
    "strut.*",
)


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
    exchange: bool = True,
    clocks: bool = False,
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
    ranks = simulation.engine.ranks(simulation.q, simulation.s, simulation.p)
    result = Plan(simulation.mechanism, simulation, step, ranks)
    result.scalar, result.exchange = scalar, exchange
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
    _clocks(result, clocks)
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


def _fits(name: str) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in KEPT)


def _outputs(plan: Plan, names: Sequence[str]) -> None:
    """The outputs that were asked for: those that are traced, then those that need singular values."""
    table = plan.simulation.variables().outputs
    chosen = _chosen(table, names, "--output")
    if not names and sum(v.size for v in chosen) > MANY_OUTPUTS:
        kept = [v for v in chosen if v.own or (v.size == 1 and v.name.count(".") < 2) or _fits(v.name)]
        plan.left_out = sum(v.size for v in chosen) - sum(v.size for v in kept)
        chosen = tuple(kept)
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
    plan.begin("kink")
    words = plan.words_of(indicators(plan.simulation.equations))
    for item, depends in zip(kinks(plan), words, strict=True):
        _new(plan, f"event.{item.name}", "kink", about=item.about, units=(item.unit,), depends=depends)


def kinks(plan: Plan) -> list[Indicator]:
    """Where what acts has kinks; solvers of model exchange land there."""
    return element_indicators(plan.simulation.equations.mechanism)


def _rate(unit: str) -> str:
    """The unit of a rate: N.m becomes N.m/s, rad/s becomes rad/s2."""
    return f"{unit}2" if unit.endswith("/s") else f"{unit}/s"


def _clocks(plan: Plan, shown: bool) -> None:
    """One for all shown sensors that tell something new at the same times."""
    plan.begin("clock")
    names = {v.name for v in plan.of("output")}
    plan.ticks = [tick for tick in ticks(plan.mechanism) if shown and names.intersection(tick.names)]
    if shown and not plan.ticks:
        raise CutjointError("--clocks: no sensor that is shown has a period")
    for k, tick in enumerate(plan.ticks):
        about = f"sensors tell something new every {tick.period:g} s"
        _new(plan, f"clock.tick{k + 1}", "clock", about=about)


def _linear(plan: Plan, shown: bool) -> None:
    plan.begin("linear")
    nx, nu, rows = plan.states, len(plan.mechanism.inputs()), len(plan.linear_rows)
    for name, shape in (("A", (nx, nx)), ("B", (nx, nu)), ("C", (rows, nx)), ("D", (rows, nu))):
        if shown and shape[0] * shape[1]:
            about = f"matrix {name} of the linear model at the present state"
            _new(plan, f"linear.{name}", "linear", shape, about)
