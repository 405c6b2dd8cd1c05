"""What an FMU of a mechanism holds: its variables, and which slots they have.

Every number an FMU shows lives in a slot. FMI 2.0 uses slots as value references; FMI 3.0 numbers
the arrays, and a table leads from them to slots. Both runtimes and both versions share this list.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from math import inf
from typing import Any

import casadi as ca
import numpy as np

from ..model.cli.common import check_name
from ..model.describe import parameters
from ..model.describe.mechanism import Mechanism
from ..model.equations.outputs import outputs
from ..model.errors import CutjointError
from ..model.joints.types import TYPES
from ..model.simulation import Simulation


@dataclass(frozen=True)
class Variable:
    """One variable of the FMU, a scalar or an array."""

    name: str
    kind: str  # input, parameter, start, output, state, derivative, margin, linear, coordinate, time
    slot: int
    shape: tuple[int, ...] = ()
    units: tuple[str, ...] = ()  # one per element
    about: str = ""
    start: tuple[float, ...] = ()
    fixed: bool = True
    low: float = -inf
    high: float = inf
    nominal: float = 1.0
    depends: tuple[str, ...] = ()  # outputs and derivatives: on "position", "speed" and inputs by name

    @property
    def size(self) -> int:
        return int(np.prod(self.shape, dtype=int)) if self.shape else 1

    @property
    def unit(self) -> str:
        """The unit all elements share, "1" if there is none."""
        return self.units[0] if len(set(self.units)) == 1 else "1"

    def elements(self) -> list[str]:
        """Names of the elements, with indices from 1."""
        if not self.shape:
            return [self.name]
        stem, end = (self.name[:-1], ")") if self.name.startswith("der(") else (self.name, "")
        return [f"{stem}[{','.join(str(i + 1) for i in at)}]{end}" for at in np.ndindex(self.shape)]


@dataclass
class Plan:
    """A mechanism ready to be written as an FMU."""

    mechanism: Mechanism
    simulation: Simulation
    step: float
    rank: int
    variables: list[Variable] = field(default_factory=list)
    first: dict[str, int] = field(default_factory=dict)  # kind of slot -> its first slot
    rows: list[int] = field(default_factory=list)  # outputs shown, as rows of the engine's output vector
    linear_rows: list[int] = field(default_factory=list)  # rows of C and D, as indices into `rows`
    slots: int = 0
    chosen_inputs: tuple[str, ...] = ()
    chosen_outputs: tuple[str, ...] = ()
    traced: dict[str, dict[str, ca.Function]] = field(default_factory=dict)  # file -> functions, once made

    @property
    def freedoms(self) -> int:
        return self.simulation.tree.nv - self.rank

    def of(self, *kinds: str) -> list[Variable]:
        return [v for v in self.variables if v.kind in kinds]


def plan(
    mechanism: Mechanism,
    *,
    step: float = 1e-3,
    inputs: Sequence[str] = (),
    outputs: Sequence[str] = (),
    marked: Sequence[str] = (),
    linear: bool = False,
) -> Plan:
    """Lay out the variables; empty choices mean all. Outputs may be patterns such as `body.*.position`."""
    if not (0 < step < inf):
        raise CutjointError(f"--step: the inner step must be positive and finite, not {step}")
    if marked:
        mechanism = replace(mechanism, parameters=dict(_marked(mechanism, name) for name in marked))
    simulation = Simulation(mechanism, compile=False)
    result = Plan(mechanism, simulation, step, simulation.engine.generic_rank(simulation.q, simulation.p)[0])
    result.chosen_inputs, result.chosen_outputs = tuple(inputs), tuple(outputs)
    _time(result)
    _inputs(result, inputs)
    _parameters(result)
    _starts(result)
    _outputs(result, outputs)
    _states(result)
    if linear:
        _linear(result)
    result.first["coordinate"] = result.slots
    if result.freedoms:
        about = "number of the speed, in the order of the start speeds, that this state stands for"
        _add(result, Variable("state.coordinate", "coordinate", 0, (result.freedoms,), about=about))
    return result


def _marked(mechanism: Mechanism, name: str) -> tuple[str, str]:
    """Name and path of a parameter that the description marks, or of a path given directly."""
    if name in mechanism.parameters:
        return name, mechanism.parameters[name]
    try:
        parameters.locate(mechanism, name)
    except CutjointError as problem:
        known = ", ".join(mechanism.parameters) or "none"
        raise CutjointError(f"--parameter: {problem}; marked in the description: {known}") from None
    return re.sub(r"\W+", "_", name).strip("_"), name


def _add(plan: Plan, variable: Variable) -> None:
    plan.variables.append(replace(variable, slot=plan.slots))
    plan.slots += variable.size


def _time(plan: Plan) -> None:
    plan.first["time"] = 0
    _add(plan, Variable("time", "time", 0, units=("s",), about="simulation time"))


def _inputs(plan: Plan, chosen: Sequence[str]) -> None:
    plan.first["input"] = plan.slots
    names = plan.mechanism.inputs()
    for name in chosen:
        check_name(name, names, "--input", "input")
    limits = {m.name: m.limit for m in plan.mechanism.motors} | {
        s.name: s.limit for s in plan.mechanism.struts
    }
    units = {v.name: v.unit for v in plan.simulation.variables()}
    for name in names:
        unit, limit = units[f"input.{name}"], limits[name]
        variable = Variable(
            input_name(plan.mechanism, name, unit),
            "input" if not chosen or name in chosen else "hidden",
            0,
            units=(unit,),
            about=f"{'torque' if unit == 'N.m' else 'force'} of {name}",
            start=(0.0,),
            low=-limit,
            high=limit,
            nominal=limit if limit < inf else 1.0,
        )
        _add(plan, variable)


def input_name(mechanism: Mechanism, name: str, unit: str) -> str:
    """`motor.<name>.torque`, or `.force` where it pushes; cylinders are `strut.<name>.force`."""
    group = "motor" if any(m.name == name for m in mechanism.motors) else "strut"
    return f"{group}.{name}.{'torque' if unit == 'N.m' else 'force'}"


def _parameters(plan: Plan) -> None:
    plan.first["parameter"] = plan.slots
    values = parameters.default_vector(plan.mechanism)
    for entry in parameters.layout(plan.mechanism):
        size = len(entry.at.units)
        variable = Variable(
            f"parameter.{entry.name}",
            "parameter",
            0,
            () if size == 1 else (size,),
            entry.at.units,
            f"{entry.path} of the description",
            tuple(float(x) for x in values[entry.slice]),
            fixed=entry.at.field.changes_geometry,  # to be set before initialization ends
            low=min(low for low, _ in entry.at.bounds),
            high=max(high for _, high in entry.at.bounds),
        )
        _add(plan, variable)


def _starts(plan: Plan) -> None:
    """Start pose and speeds of the tree's joints."""
    tree, q = plan.simulation.tree, plan.simulation.state.q
    speeds = wanted_speeds(plan)
    plan.first["start_q"] = plan.slots
    for name, where in sorted(tree.q.items(), key=lambda pair: pair[1].start):
        kind = TYPES[plan.mechanism.joint(name).type]
        if kind.nq:
            about = f"start coordinates of joint {name}; held while loops are closed if changed"
            values = tuple(float(x) for x in q[where])
            shape = () if kind.nq == 1 else (kind.nq,)
            _add(
                plan,
                Variable(f"start.{name}.position", "start", 0, shape, kind.position_units, about, values),
            )
    plan.first["start_v"] = plan.slots
    for name, where in sorted(tree.v.items(), key=lambda pair: pair[1].start):
        kind = TYPES[plan.mechanism.joint(name).type]
        if kind.nv:
            about = f"wanted start speeds of joint {name}; made consistent with the loops"
            values = tuple(float(x) for x in speeds[where])
            shape = () if kind.nv == 1 else (kind.nv,)
            _add(plan, Variable(f"start.{name}.speed", "start", 0, shape, kind.speed_units, about, values))


def wanted_speeds(plan: Plan) -> np.ndarray:
    """The description's start speeds as the user counts them."""
    v = np.zeros(plan.simulation.tree.nv)
    for name, where in plan.simulation.tree.v.items():
        v[where] = plan.mechanism.joint(name).speed or 0.0
    return v


def _outputs(plan: Plan, patterns: Sequence[str]) -> None:
    """The engine's outputs that were asked for, then the user's own names, then the singular value."""
    plan.first["output"] = plan.slots
    engine = [v for v in plan.simulation.variables() if not v.name.startswith("input.")]
    own = plan.mechanism.outputs
    for pattern in patterns:
        names = [v.name for v in engine] + list(own) + ["singularity.distance"]
        if not any(fnmatchcase(n, pattern) for n in names):
            check_name(pattern, names, "--output", "output")

    def wanted(name: str) -> bool:
        return not patterns or any(fnmatchcase(name, p) for p in patterns)

    on = dependence(plan)
    for v in engine:
        if wanted(v.name):
            rows = list(range(v.where.start, v.where.stop))
            _output(plan, v.name, rows, () if v.size == 1 else (v.size,), v.unit, v.about, on)
    places = {v.name: v for v in engine}
    for name, source in own.items():
        stem, _, index = source.rstrip("]").partition("[")
        if wanted(name) and stem in places:
            v = places[stem]
            rows = list(range(v.where.start, v.where.stop))
            rows = [rows[int(index) - 1]] if index else rows
            shape = () if len(rows) == 1 else (len(rows),)
            plan.linear_rows += range(len(plan.rows), len(plan.rows) + len(rows))
            _output(plan, name, rows, shape, v.unit, f"{source}: {v.about}", on)
    plan.first["sigma"] = plan.slots
    if plan.rank and wanted("singularity.distance"):
        about = "smallest singular value of the loop Jacobian that a regular pose has; 0 at a singularity"
        variable = Variable(
            "singularity.distance", "output", 0, (), ("1",), about, low=0.0, depends=("position",)
        )
        _add(plan, variable)
    if not plan.linear_rows:
        joints = [
            v for v in plan.of("output") if v.name.startswith("joint.") and v.name.endswith(".position")
        ]
        first = plan.first["output"]
        plan.linear_rows = [v.slot - first + k for v in joints for k in range(v.size)]


def _output(
    plan: Plan, name: str, rows: list[int], shape: tuple[int, ...], unit: str, about: str, on: Any
) -> None:
    depends = tuple(dict.fromkeys(word for row in rows for word in on[row]))
    weight = 9.81 * sum(float(b.mass) for b in plan.mechanism.bodies)
    nominal = weight if unit in ("N", "N.m", "J", "W") and weight > 0 else 1.0
    low = 0.0 if name in ("loop.residual", "energy_kinetic") else -inf
    units = (unit,) * len(rows)
    _add(plan, Variable(name, "output", 0, shape, units, about, low=low, nominal=nominal, depends=depends))
    plan.rows += rows


def dependence(plan: Plan) -> list[tuple[str, ...]]:
    """For every engine output: "position", "speed" (then both) and the inputs that it depends on."""
    function = outputs(plan.simulation.equations)[0]
    names = [v.name for v in plan.of("input", "hidden")]
    patterns = [np.array(ca.DM(function.jac_sparsity(0, k), 1)) for k in range(3)]
    shown = {v.name for v in plan.of("input")}
    result = []
    for row in range(function.numel_out(0)):
        on_q, on_v, on_u = (p[row] for p in patterns)
        words = ["position"] if on_q.any() or on_v.any() else []
        words += ["speed"] if on_v.any() else []
        result.append(tuple(words + [n for n, x in zip(names, on_u, strict=True) if x and n in shown]))
    return result


def _states(plan: Plan) -> None:
    plan.first["state"] = plan.slots
    n = plan.freedoms
    everything = ("position", "speed", *(v.name for v in plan.of("input")))
    if n:
        about = (
            "independent coordinate: a joint's own, or its displacement from the chart's reference for a ball"
        )
        _add(plan, Variable("state.position", "state", 0, (n,), about=about))
        _add(plan, Variable("state.speed", "state", 0, (n,), about="speed of the independent coordinate"))
    plan.first["derivative"] = plan.slots
    if n:
        rate = Variable("der(state.position)", "derivative", 0, (n,), depends=("position", "speed"))
        _add(plan, replace(rate, about="rate of the independent coordinate"))
        about = "acceleration of the independent coordinate"
        _add(plan, Variable("der(state.speed)", "derivative", 0, (n,), about=about, depends=everything))
    plan.first["margin"] = plan.slots
    if n and (plan.rank or any(link.move == "Q" for link in plan.simulation.tree.links)):
        about = "how far the choice of states is from being changed; an event at zero"
        _add(plan, Variable("state.margin", "margin", 0, about=about, depends=("position",)))


def _linear(plan: Plan) -> None:
    plan.first["linear"] = plan.slots
    nx, nu, rows = 2 * plan.freedoms, len(plan.mechanism.inputs()), len(plan.linear_rows)
    for name, shape in (("A", (nx, nx)), ("B", (nx, nu)), ("C", (rows, nx)), ("D", (rows, nu))):
        if shape[0] * shape[1]:
            about = f"matrix {name} of the linear model at the present state"
            _add(plan, Variable(f"linear.{name}", "linear", 0, shape, about=about))
