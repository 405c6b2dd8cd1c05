"""Every name of a mechanism, once: inputs, outputs, parameters, coordinates, speeds; their units and places.

The table follows from a checked description and its spanning tree; nothing is traced for it.
`equations/outputs.py` computes the outputs in this order, everybody else looks names up here:

- a whole variable, `body.platform.position`, or a name under `outputs` of the description;
- one component of it, counted from 1, `body.platform.position[3]`;
- a pattern, `body.*.position`, where several names may be given.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from math import inf, isfinite

import numpy as np

from .describe import parameters
from .describe.elements import effort_name
from .describe.fields import Quantity
from .describe.flaws import Flaw, nearest
from .describe.internal import internal_states
from .describe.mechanism import Mechanism
from .describe.motors import Motor, has, signals
from .describe.parameters import split
from .describe.sensors import KINDS, reading_units
from .equations.forces import STRESS
from .equations.sensing import MOTION
from .equations.spatial import lumped
from .equations.topology import Tree
from .errors import UnknownName
from .joints.types import TYPES

# First words of names that an FMU has besides those in this table; `time` is FMI's own.
_OF_FMUS = {"time", "der", "motor", "strut", "parameter", "start", "state", "linear", "step"}

_PORTS = {"voltage": "wanted_voltage"}  # of inputs: an output says what of it is there
SIDES = {"both": (-1, 1), "pulls": (-1, 0), "pushes": (0, 1)}  # where forces of struts may be


@dataclass(frozen=True)
class Variable:
    """A number or vector with a name."""

    name: str
    kind: str  # input, output, parameter, position or speed; an FMU has more
    where: slice  # its place in the vector of its kind: u, y, p, q or v
    units: tuple[str, ...] = ()  # one per component, or none if nobody asks
    about: str = ""
    differentiable: bool = True  # whether it is traced, so that its derivatives are
    own: bool = False  # whether the description gave it this name
    low: float = -inf
    high: float = inf
    nominal: float = 1.0
    port: str = ""  # of an input: what it is of, `motor.<name>.torque`
    sampled: bool = False  # whether it is held between samples; what is traced is exact at every time

    @property
    def size(self) -> int:
        return self.where.stop - self.where.start

    @property
    def unit(self) -> str:
        """The unit that all components share, "1" if they share none."""
        return self.units[0] if len(set(self.units)) == 1 else "1"

    def component(self, k: int) -> Variable:
        """The k-th component, from 1, as a variable of its own."""
        at = self.where.start + k - 1
        return replace(self, name=f"{self.name}[{k}]", where=slice(at, at + 1), units=self.units[k - 1 : k])

    def components(self) -> tuple[Variable, ...]:
        """All components as variables; one that is a number is its own."""
        return (self,) if self.size == 1 else tuple(self.component(k + 1) for k in range(self.size))


@dataclass(frozen=True)
class Table:
    """All variables of one kind in order, and the one place where their names are looked up."""

    what: str  # as messages call one of them
    named: Mapping[str, Variable]
    absent: Mapping[str, str] = field(default_factory=dict)  # expected names -> why they are not there

    def __iter__(self) -> Iterator[Variable]:
        return iter(self.named.values())

    def __len__(self) -> int:
        return len(self.named)

    def whole(self, name: str) -> Variable:
        """A variable by its exact name."""
        if name not in self.named:
            raise UnknownName(self.unknown(name))
        return self.named[name]

    def find(self, name: str) -> Variable:
        """A variable, or a component of one, by its exact name."""
        whole, k = split(name)
        found = self.named.get(whole)
        if found is None or not (k is None or 1 <= k <= found.size > 1):
            raise UnknownName(self.unknown(name))
        return found if k is None else found.component(k)

    def _fitting(self, name: str) -> list[Variable]:
        """What a name, or a pattern, stands for."""
        whole, k = split(name)
        if not re.search(r"[*?\[]", whole):
            return [self.find(name)]
        fit = [v for v in self if fnmatchcase(v.name, whole) and (k is None or 1 <= k <= v.size > 1)]
        if not fit:
            raise UnknownName(self.unknown(name))
        return fit if k is None else [v.component(k) for v in fit]

    def choose(self, names: Iterable[str], traced: bool = False) -> tuple[Variable, ...]:
        """Variables and components by names and patterns, each once, in the order given.

        With `traced`, only such that have derivatives: patterns pass over others, names are refused.
        """
        found: dict[str, Variable] = {}
        for name in [names] if isinstance(names, str) else names:
            fit = [v for v in self._fitting(name) if v.differentiable or not traced]
            if not fit:
                raise UnknownName(
                    f"{self.what} '{name}' is found by iteration and has no derivatives; leave it out"
                )
            found |= {v.name: v for v in fit}
        return tuple(v for name, v in found.items() if name in self.named or split(name)[0] not in found)

    def columns(self, names: Iterable[str] | None = None, traced: bool = False) -> tuple[Variable, ...]:
        """The numbers that make up the chosen variables, or all of them, each once."""
        chosen = tuple(self) if names is None else self.choose(names, traced)
        return tuple({c.name: c for v in chosen for c in v.components()}.values())

    def rows(self, names: Iterable[str] | None = None) -> np.ndarray:
        """Places of the chosen numbers in the vector of their kind."""
        return np.array([column.where.start for column in self.columns(names)], int)

    def unknown(self, name: str) -> str:
        """One sentence on a name that is not there, with the nearest that is."""
        whole, k = split(name)
        if whole in self.absent:
            return self.absent[whole]
        if whole in self.named:
            size = self.named[whole].size
            has = "is one number" if size == 1 else f"has the components 1 to {size}"
            return f"there is no {self.what} '{name}'; '{whole}' {has}"
        known = self.named if k is None else [f"{v.name}[{k}]" for v in self if 1 <= k <= v.size > 1]
        where = "'cutjoint show MECHANISM --outputs' lists all" if self.what == "output" else ""
        hint = nearest(name, known or self.named, where)
        return f"there is no {self.what} '{name}'; {hint}"


@dataclass(frozen=True)
class Variables:
    """All names of a mechanism. `outputs` lists what the traced code computes, then what needs
    singular values, then the description's own names for any of these."""

    inputs: Table  # by name of motor or cylinder
    outputs: Table
    parameters: Table
    positions: Table  # by name of the tree's joint
    speeds: Table

    def __iter__(self) -> Iterator[Variable]:
        return iter(self.outputs)

    @property
    def own(self) -> tuple[str, ...]:
        """The outputs that the description names."""
        return tuple(v.name for v in self.outputs if v.own)

    @property
    def layout(self) -> dict[str, int]:
        """Names and sizes of what `equations/outputs.py` computes, in order."""
        return {v.name: v.size for v in self.outputs if v.differentiable and not v.own}


def column_places(names: Sequence[str], wanted: str, what: str) -> list[int]:
    """Where a number, or all components of a vector, stand in a list of columns' names."""
    found = [k for k, name in enumerate(names) if wanted in (name, split(name)[0])]
    if not found:
        raise UnknownName(f"there is no {what} '{wanted}'; {nearest(wanted, names)}")
    return found


def variables(mechanism: Mechanism, tree: Tree) -> Variables:
    """The names of a checked mechanism; a `Flaw` tells what is wrong with those that it gives itself."""
    inputs = _inputs(mechanism)
    outputs = _outputs(mechanism, tree, inputs)
    return Variables(
        Table("input", inputs),
        Table("output", outputs | _own(mechanism, outputs, inputs)),
        Table("parameter", _parameters(mechanism)),
        _of_joints(mechanism, tree.q, "position"),
        _of_joints(mechanism, tree.v, "speed"),
    )


def _inputs(mechanism: Mechanism) -> dict[str, Variable]:
    result: dict[str, Variable] = {}
    found = [(item, signal) for item in mechanism.drives for signal in signals(item)]
    for at, (item, signal) in enumerate(found):
        units = Quantity("", signal.unit).units(mechanism.joint_type(item))
        what = "force" if signal.what == "torque" and units != ("N.m",) else signal.what
        name = f"{item.name}{signal.ending}"
        sides = SIDES[getattr(item, "acts", "both")]
        low, high = (side * signal.most if side else 0.0 for side in sides)
        nominal = signal.most if isfinite(signal.most) else 1.0
        result[name] = Variable(
            name,
            "input",
            slice(at, at + 1),
            units,
            f"{'wanted ' if signal.what in ('position', 'speed') else ''}{what} of {item.name}",
            low=low,
            high=high,
            nominal=nominal,
            port=f"{effort_name(item).rpartition('.')[0]}.{_PORTS.get(what, what)}",
        )
    for frame in (frame for frame in mechanism.frames if frame.port == "force"):
        for what, unit in (("force", "N"), ("torque", "N.m")):
            at, name = max((v.where.stop for v in result.values()), default=0), f"{frame.name}.{what}"
            about = f"{what} on frame {frame.name}, axes of {frame.axes}"
            where = slice(at, at + 3)
            result[name] = Variable(name, "input", where, (unit,) * 3, about, port=f"frame.{name}")
    return result


def _outputs(mechanism: Mechanism, tree: Tree, inputs: Mapping[str, Variable]) -> dict[str, Variable]:
    """Everything that can be read: what the traced code computes, then what needs singular values."""
    result: dict[str, Variable] = {}
    at = 0
    weight = 9.81 * sum(b.mass for b in lumped(mechanism).bodies)

    def add(name: str, units: tuple[str, ...], about: str, low: float = -inf, traced: bool = True) -> None:
        nonlocal at
        nominal = weight if units[0] in ("N", "N.m", "J", "W") else 1.0
        where = slice(at, at + len(units))
        result[name] = Variable(name, "output", where, units, about, traced, low=low, nominal=nominal)
        at = where.stop

    present = {*tree.q, *(cut.name for cut in tree.cuts)}  # a free joint in a loop says nothing
    for joint in mechanism.joints:
        kind, about = TYPES[joint.type], f"{joint.type} joint {joint.name}"
        if kind.moves and joint.name in present:
            add(f"joint.{joint.name}.position", kind.position_units, f"coordinates of {about}")
            add(f"joint.{joint.name}.velocity", kind.speed_units, f"speeds of {about}")
            rates = tuple(f"{unit}2" for unit in kind.speed_units)  # m/s to m/s2
            add(f"joint.{joint.name}.acceleration", rates, f"accelerations of {about}")
    for body in mechanism.bodies:
        name, about = f"body.{body.name}", f"of body {body.name}"
        add(f"{name}.position", ("m",) * 3, f"origin {about}")
        add(f"{name}.orientation", ("1",) * 4, f"Euler parameters (w, x, y, z) {about}")
        add(f"{name}.velocity", ("m/s",) * 3, f"velocity of the origin {about}")
        add(f"{name}.angular_velocity", ("rad/s",) * 3, f"angular velocity {about}")
        add(f"{name}.acceleration", ("m/s2",) * 3, f"acceleration of the origin {about}")
        add(f"{name}.angular_acceleration", ("rad/s2",) * 3, f"angular acceleration {about}")
    for joint in mechanism.joints:
        if joint.name in present:
            about = f"from {joint.parent} on {joint.child} through {joint.name}"
            add(f"reaction.{joint.name}.force", ("N",) * 3, f"force {about}")
            add(f"reaction.{joint.name}.moment", ("N.m",) * 3, f"moment {about}")
    for tie in mechanism.couplings:
        tied = [TYPES[mechanism.joint(name).type] for name in (tie.joint, *tie.follows)]
        units = tuple("N.m" if kind.speed_units[0] == "rad/s" else "N" for kind in tied)
        add(
            f"coupling.{tie.name}.torque",
            units,
            f"of coupling {tie.name} on {', '.join((tie.joint, *tie.follows))}",
        )
    for drive in mechanism.drives:
        either = "N.m or N" if isinstance(drive, Motor) else "N"
        unit = Quantity("", either).units(mechanism.joint_type(drive))
        what = (
            f"to joint {drive.joint}" if isinstance(drive, Motor) else "to its ends, positive when it pushes"
        )
        add(effort_name(drive), unit, f"what {drive.name} does {what}, within its limit")
    for state in internal_states(mechanism):
        add(state.name, state.units, state.about)
    for motor in mechanism.motors:
        if has(motor.resistance):
            if not has(motor.inductance):
                add(f"motor.{motor.name}.current", ("A",), f"current of {motor.name}")
            add(f"motor.{motor.name}.voltage", ("V",), f"voltage of {motor.name}")
    for strut in mechanism.struts:
        if strut.acts != "both" or strut.actuated:
            add(f"strut.{strut.name}.length", ("m",), f"length of {strut.name}", low=0.0)
        if strut.acts != "both":
            stress = STRESS[strut.acts]
            add(f"strut.{strut.name}.{stress}", ("N",), f"{stress} of {strut.name}", low=0.0)
        if strut.actuated:
            add(f"strut.{strut.name}.speed", ("m/s",), f"rate of the length of {strut.name}")
    for frame in mechanism.frames:
        if frame.port != "none":
            for what, units in MOTION.items():
                add(f"frame.{frame.name}.{what}", units, f"{what.replace('_', ' ')} of frame {frame.name}")
    for sensor in mechanism.sensors:
        own = mechanism.joint_type(sensor) if sensor.joint else None
        told = f", by {sensor.name}" + (f", a sample every {sensor.period:g} s" if sensor.period else "")
        readings = KINDS[sensor.type].readings
        for reading, units in zip(readings, reading_units(sensor.type, own), strict=True):
            name = f"sensor.{sensor.name}.{reading.name}"
            add(name, units, f"{reading.about}{told}")
            result[name] = replace(result[name], sampled=bool(sensor.period))
    for item in inputs.values():
        add(f"input.{item.name}", item.units, f"input of {item.name}")
    add("loop.residual", ("1",), "largest entry of the loop residual g(q), metres or radians", low=0.0)
    add("energy", ("J",), "kinetic and potential energy")
    add("energy_kinetic", ("J",), "kinetic energy", low=0.0)
    add("energy_potential", ("J",), "energy of height, springs and stops")
    add("power_supplied", ("W",), "power of motors, cylinders and loads")
    add("power_dissipated", ("W",), "power lost in dampers and friction")
    about = "smallest singular value of the loop Jacobian that a regular pose has; 0 at a singularity"
    add("singularity.distance", ("1",), about, low=0.0, traced=False)
    add("singularity.rank", ("1",), "rank of the loop Jacobian at the present pose", low=0.0, traced=False)
    return result


def _own(
    mechanism: Mechanism, outputs: Mapping[str, Variable], inputs: Mapping[str, Variable]
) -> dict[str, Variable]:
    """The description's own names for outputs, checked against those there are."""
    known, result = Table("output", outputs), {}
    taken = _OF_FMUS | {name.split(".")[0] for name in outputs}
    for name, source in mechanism.outputs.items():
        place = ("outputs", name)
        if name in taken or name in inputs:
            whose = "an input has that name" if name in inputs else "that name is taken"
            raise Flaw(place, f"{whose}; choose another, such as 'my_{name}'")
        try:
            found = known.find(source)
        except UnknownName as problem:
            raise Flaw(place, str(problem)) from None
        result[name] = replace(found, name=name, about=f"{source}: {found.about}", own=True)
    return result


def _parameters(mechanism: Mechanism) -> dict[str, Variable]:
    """The numbers that the description marks, where `parameters.symbolic` puts them."""
    result = {}
    for entry in parameters.layout(mechanism):
        lows, highs = zip(*entry.at.bounds, strict=True)
        about = f"{entry.path} of the description"
        result[entry.name] = Variable(
            entry.name, "parameter", entry.slice, entry.at.units, about, low=min(lows), high=max(highs)
        )
    return result


def _of_joints(mechanism: Mechanism, places: Mapping[str, slice], kind: str) -> Table:
    """Positions or speeds of the tree's joints, by joint."""
    result = {}
    for name, where in places.items():
        moves = TYPES[mechanism.joint(name).type]
        units = moves.position_units if kind == "position" else moves.speed_units
        result[name] = Variable(name, kind, where, units, f"{kind} of joint {name}")
    cut = (joint.name for joint in mechanism.joints if joint.name not in places)
    absent = {name: f"joint '{name}' is cut and has no {kind} of its own; choose another" for name in cut}
    return Table("joint", result, absent)
