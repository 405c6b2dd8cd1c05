"""Every name of a mechanism, once: inputs, outputs, parameters, coordinates, speeds; their units and places.

The table follows from a checked description and its spanning tree; nothing is traced for it.
`equations/outputs.py` computes the outputs in this order, everybody else looks names up here:

- a whole variable, `body.platform.position`, or a name under `outputs` of the description;
- one component of it, counted from 1, `body.platform.position[3]`;
- a pattern, `body.*.position`, where several names may be given.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from math import inf, isfinite
from typing import Any

import numpy as np

from .base.errors import DescriptionError, SimulationError, UnknownName
from .base.units import kind, quantity
from .describe import parameters
from .describe.mechanism import Mechanism
from .describe.parameters import split_component
from .describe.validation import Flaw, nearest
from .equations.elements.contract import Output
from .equations.outputs import declared_outputs
from .equations.spatial import lump_point_masses
from .equations.topology import Tree
from .joints.types import TYPES

# First words of names that an FMU has besides those in this table; `time` is FMI's own.
_OF_FMUS = {"time", "der", "motor", "strut", "parameter", "start", "state", "linear", "step", "event"}


@dataclass(frozen=True)
class Variable:
    """A number or vector with a name."""

    name: str
    kind: str  # input, output, parameter, position or speed; an FMU has more
    where: slice  # its place in the vector of its kind: u, y, p, q or v
    units: tuple[str, ...] = ()  # one per component, or none if nobody asks
    about: str = ""  # what it is, for people
    differentiable: bool = True  # whether it is traced, so that its derivatives are
    own: bool = False  # whether the description gave it this name
    low: float = -inf  # the least it can be
    high: float = inf  # the most it can be
    nominal: float = 1.0  # a usual size, by which solvers scale
    port: str = ""  # of an input: what it is of, `motor.<name>.torque`
    sampled: bool = False  # whether it is held between samples; what is traced is exact at every time

    @property
    def size(self) -> int:
        """How many numbers it is."""
        return self.where.stop - self.where.start

    @property
    def unit(self) -> str:
        """The unit that all components share, "1" if they share none."""
        return self.units[0] if len(set(self.units)) == 1 else "1"

    def numbers(self, value: Any) -> np.ndarray:
        """A value for it as numbers in SI: texts may bring units, as in "30 deg"; one number serves all."""
        what = f"{'joint' if self.kind in ('position', 'speed') else self.kind} '{self.name}'"
        items = [value] if isinstance(value, str) else value
        try:
            if isinstance(items, list | tuple) and any(isinstance(x, str) for x in items):
                items = [quantity(x, unit) for x, unit in zip(items, self.units, strict=True)]
            found = np.atleast_1d(np.asarray(items, float))
            if found.shape in ((1,), (self.size,)):
                return found
        except DescriptionError as problem:
            raise SimulationError(f"{what} {problem}") from None
        except (TypeError, ValueError):
            pass
        raise SimulationError(f"{what} takes {self.size} number{'s' * (self.size > 1)}, not {kind(value)}")

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
    aliases: Mapping[str, str] = field(default_factory=dict)  # other names: of an input that of its port

    def __iter__(self) -> Iterator[Variable]:
        return iter(self.named.values())

    def __len__(self) -> int:
        return len(self.named)

    def whole(self, name: str) -> Variable:
        """A variable by its exact name."""
        own = self.aliases.get(name, name)
        if own not in self.named:
            raise UnknownName(self.unknown(name))
        return self.named[own]

    def find(self, name: str) -> Variable:
        """A variable, or a component of one, by its exact name."""
        whole, k = split_component(name)
        found = self.named.get(self.aliases.get(whole, whole))
        if found is None or not (k is None or 1 <= k <= found.size > 1):
            raise UnknownName(self.unknown(name))
        return found if k is None else found.component(k)

    def _fitting(self, name: str) -> list[Variable]:
        """What a name, or a pattern, stands for."""
        whole, k = split_component(name)
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
        return tuple(
            v for name, v in found.items() if name in self.named or split_component(name)[0] not in found
        )

    def columns(self, names: Iterable[str] | None = None, traced: bool = False) -> tuple[Variable, ...]:
        """The numbers that make up the chosen variables, or all of them, each once."""
        chosen = tuple(self) if names is None else self.choose(names, traced)
        return tuple({c.name: c for v in chosen for c in v.components()}.values())

    def rows(self, names: Iterable[str] | None = None) -> np.ndarray:
        """Places of the chosen numbers in the vector of their kind."""
        return np.array([column.where.start for column in self.columns(names)], int)

    def unknown(self, name: str) -> str:
        """One sentence on a name that is not there, with the nearest that is."""
        whole, k = split_component(name)
        if whole in self.absent:
            return self.absent[whole]
        if whole in self.named:
            size = self.named[whole].size
            has = "is one number" if size == 1 else f"has the components 1 to {size}"
            return f"there is no {self.what} '{name}'; '{whole}' {has}"
        known = self.named if k is None else [f"{v.name}[{k}]" for v in self if 1 <= k <= v.size > 1]
        where = "'cutjoint show MECHANISM --outputs' lists all" if self.what == "output" else ""
        hint = nearest(name, self.aliases if "." in name and self.aliases else known or self.named, where)
        return f"there is no {self.what} '{name}'; {hint}"


@dataclass(frozen=True)
class Variables:
    """All names of a mechanism. `outputs` lists what the traced code computes, then what needs
    singular values, then the description's own names for any of these."""

    inputs: Table  # by name of motor or cylinder
    outputs: Table
    parameters: Table  # by name, or by path
    positions: Table  # by name of the tree's joint
    speeds: Table  # the same

    def __iter__(self) -> Iterator[Variable]:
        return iter(self.outputs)

    def __repr__(self) -> str:
        tables = (self.inputs, self.outputs, self.parameters)
        return f"Variables({', '.join(f'{len(t)} {t.what}s' for t in tables)})"

    @property
    def own(self) -> tuple[str, ...]:
        """The outputs that the description names."""
        return tuple(v.name for v in self.outputs if v.own)


class Readings(dict[str, Any]):
    """Values by name; one that is not there is met with the nearest.

    `name[k]` is a component, `name.norm` the magnitude of a vector.
    """

    def __missing__(self, name: str) -> Any:
        whole, k = split_component(name)
        vector = self.get(name.removesuffix(".norm"))
        if vector is not None and np.size(vector) > 1:
            return float(np.linalg.norm(vector))
        if k is not None and whole in self and 1 <= k <= np.size(self[whole]) > 1:
            return float(self[whole][k - 1])
        raise UnknownName(f"there is no output '{name}'; {nearest(name, self)}")


def column_places(names: Sequence[str], wanted: str, what: str) -> list[int]:
    """Where a number, or all components of a vector, stand in a list of columns' names."""
    found = [k for k, name in enumerate(names) if wanted in (name, split_component(name)[0])]
    if not found:
        raise UnknownName(f"there is no {what} '{wanted}'; {nearest(wanted, names)}")
    return found


def variables(mechanism: Mechanism, tree: Tree) -> Variables:
    """The names of a checked mechanism; a `Flaw` tells what is wrong with those that it gives itself."""
    outputs = _outputs(mechanism, tree)
    inputs = _inputs(mechanism, outputs)
    return Variables(
        Table("input", inputs, aliases={v.port: v.name for v in inputs.values()}),
        Table("output", outputs | _own(mechanism, outputs, inputs)),
        Table("parameter", _parameters(mechanism)),
        _of_joints(mechanism, tree.q, "position"),
        _of_joints(mechanism, tree.v, "speed"),
    )


def _inputs(mechanism: Mechanism, taken: Collection[str]) -> dict[str, Variable]:
    """The table of inputs as variables; where an output says what of an input is there, that is `wanted`."""
    result = {}
    for row in mechanism.input_table:
        nominal = max(map(abs, (row.low, row.high)))
        port = f"{row.element}.{row.role}"
        result[row.name] = Variable(
            row.name,
            "input",
            row.where,
            row.units,
            row.about,
            low=row.low,
            high=row.high,
            nominal=nominal if isfinite(nominal) else 1.0,
            port=f"{row.element}.wanted_{row.role}" if port in taken else port,
        )
    return result


def _outputs(mechanism: Mechanism, tree: Tree) -> dict[str, Variable]:
    """Everything that can be read: what the traced code computes, then what needs singular values."""
    result: dict[str, Variable] = {}
    weight = 9.81 * sum(b.mass for b in lump_point_masses(mechanism).bodies)
    at = 0
    for output in (*declared_outputs(mechanism, tree), *_SINGULAR):
        nominal = weight if output.units[0] in ("N", "N.m", "J", "W") else 1.0
        where = slice(at, at + len(output.units))
        result[output.name] = Variable(
            output.name,
            "output",
            where,
            output.units,
            output.about,
            output not in _SINGULAR,
            low=output.low,
            nominal=nominal,
            sampled=output.sampled,
        )
        at = where.stop
    return result


_DISTANCE = "smallest singular value of the loop Jacobian that a regular pose has; 0 at a singularity"
_SINGULAR = (  # found by iteration, not traced
    Output("singularity.distance", ("1",), _DISTANCE, low=0.0),
    Output("singularity.rank", ("1",), "rank of the loop Jacobian at the present pose", low=0.0),
)


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


def listed_inputs(values: Any, inputs: Table) -> np.ndarray:
    """All inputs in their order, texts with units converted."""
    try:
        given = values if isinstance(values, np.ndarray) else list(values)
    except TypeError:
        sentence = f"inputs are given by name, or all of them in a list, not {kind(values)}"
        raise SimulationError(sentence) from None
    try:
        return np.asarray(given, float)
    except (TypeError, ValueError):
        return np.array([c.numbers(x).item() for c, x in zip(inputs.columns(), given, strict=False)])
