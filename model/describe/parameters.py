"""Numbers of a description that can be changed: their paths, their values, their symbols.

A path names one number or vector, such as `body.leg1.mass`, `joint.hinge1.on_parent.position`,
`strut.shock.stiffness` or `gravity`; `[2]` behind it takes the second component alone. What
a mechanism marks as a parameter stays a symbol in its equations; everything else folds.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import casadi as ca
import numpy as np

from ..joints.types import TYPES
from .fields import BODY, FRAME, GRAVITY, LOAD, PER_SPEED, STRUT, joint_units
from .flaws import Flaw, nearest, plain_number, plain_vector
from .mechanism import Frame, Joint, Mechanism
from .units import kind
from .yaml_text import Place

_PATH = re.compile(r"(?P<whole>[\w.]+?)(?:\[(?P<index>\d+)\])?", re.ASCII)
_GROUPS = {"body": "bodies", "joint": "joints", "strut": "struts", "load": "loads"}

# Where a description holds a number and not a vector.
_SCALARS = {
    "body.mass",
    *(f"joint.{f}" for f in ("pitch", "length", "travel", "friction_speed")),
    *(f"joint.{f}" for f in ("limit_stiffness", "limit_damping")),
    *(f"strut.{f}" for f in ("stiffness", "damping", "length")),
}


class Location(NamedTuple):
    """Where a path leads: the vector (or number) it names, and which components of it."""

    whole: str  # the path without its index
    indices: tuple[int, ...]  # counted from 0
    units: tuple[str, ...]  # one per index
    scalar: bool  # whether the description holds a number here, not a vector


class Listed(NamedTuple):
    """A path that can be a parameter."""

    path: str
    size: int
    unit: str


class Parameter(NamedTuple):
    """A parameter's place in the vector of all parameters.

    `unit` is common to its components, or lists one for each, separated by commas.
    """

    name: str
    path: str
    slice: slice
    unit: str


def paths(mechanism: Mechanism) -> list[Listed]:
    """Every path that can be a parameter of this mechanism, with its size and unit."""
    return [Listed(path, len(units), _common(units)) for path, _, units in _all(mechanism)]


def lookup(mechanism: Mechanism, path: str) -> Any:
    """The number, or the tuple of numbers, a path names."""
    location = locate(mechanism, path)
    value = _get(mechanism, location.whole)
    if location.scalar:
        return value
    return value[location.indices[0]] if "[" in path else value


def replace_value(mechanism: Mechanism, path: str, value: Any) -> Mechanism:
    """The same mechanism with another value at a path; `check.check` tells whether it makes sense."""
    location = locate(mechanism, path)
    if location.scalar or "[" in path:
        values: tuple[float, ...] = (plain_number(value, (path,)),)
    else:
        values = plain_vector(value, (path,), len(location.indices))
    if location.scalar:
        return _set(mechanism, location.whole, values[0])
    vector = list(_get(mechanism, location.whole))
    for index, number in zip(location.indices, values, strict=True):
        vector[index] = number
    return _set(mechanism, location.whole, tuple(vector))


def symbolic(
    mechanism: Mechanism, names: Iterable[str] | None = None
) -> tuple[Mechanism, Any, tuple[Parameter, ...]]:
    """The mechanism with CasADi symbols for its parameters (`names`, or all of them).

    Returns the mechanism, in which a vector with a symbol is an SX column, the column p of all
    symbols, and where each parameter is in p. `default_vector` gives their values.
    """
    symbols, layout, size = [], [], 0
    for name in _chosen(mechanism, names):
        path = mechanism.parameters[name]
        location = locate(mechanism, path, ("parameters", name))
        symbol = ca.SX.sym(name, len(location.indices))
        value = _get(mechanism, location.whole)
        if location.scalar:
            mechanism = _set(mechanism, location.whole, symbol)
        else:
            vector = ca.SX(value) if isinstance(value, ca.SX) else ca.SX(ca.DM(list(value)))
            for k, index in enumerate(location.indices):
                vector[index] = symbol[k]
            mechanism = _set(mechanism, location.whole, vector)
        part = slice(size, size + len(location.indices))
        layout.append(Parameter(name, path, part, _common(location.units)))
        symbols.append(symbol)
        size = part.stop
    return mechanism, ca.vertcat(*symbols) if symbols else ca.SX(0, 1), tuple(layout)


def default_vector(mechanism: Mechanism, names: Iterable[str] | None = None) -> np.ndarray:
    """The values of the parameters as described, in the order of `symbolic`."""
    values = [np.ravel(lookup(mechanism, mechanism.parameters[n])) for n in _chosen(mechanism, names)]
    return np.concatenate([np.zeros(0), *values])


def locate(mechanism: Mechanism, path: str, place: Place = ()) -> Location:
    """Where a path leads, or a `Flaw` at `place` that says where it stops."""
    found = _PATH.fullmatch(path)
    known = {name: units for name, _, units in _all(mechanism)}
    if found is None or found["whole"] not in known:
        raise Flaw(place, f"the path '{path}' leads to no number; {_hint(mechanism, path, list(known))}")
    whole = found["whole"]
    units = known[whole]
    scalar = f"{whole.split('.')[0]}.{whole.split('.')[-1]}" in _SCALARS
    if found["index"] is None:
        return Location(whole, tuple(range(len(units))), units, scalar)
    index = int(found["index"])
    if scalar or not 1 <= index <= len(units):
        has = "is one number" if scalar else f"has the components 1 to {len(units)}"
        raise Flaw(place, f"the path '{path}' leads to no number; '{whole}' {has}")
    return Location(whole, (index - 1,), units[index - 1 : index], scalar)


def _hint(mechanism: Mechanism, path: str, known: list[str]) -> str:
    """The nearest path, or why a path that could be there is not."""
    words = path.split(".")
    if words[0] == "joint" and len(words) == 3 and words[2].split("[")[0] in PER_SPEED:
        joint = next((j for j in mechanism.joints if j.name == words[1]), None)
        if joint is not None and TYPES[joint.type].nv:
            field = words[2].split("[")[0]
            return f"give joint '{joint.name}' a {field} first, such as {field}: 0"
    if words[0] in _GROUPS and len(words) > 1:
        names = [item.name for item in getattr(mechanism, _GROUPS[words[0]])]
        if words[1] not in names:
            return f"there is no {words[0]} {kind(words[1])}; {nearest(words[1], names)}"
        return nearest(path, [p for p in known if p.startswith(f"{words[0]}.{words[1]}.")])
    return f"paths start with {', '.join(_GROUPS)} or are gravity"


def _all(mechanism: Mechanism) -> Iterator[tuple[str, Any, tuple[str, ...]]]:
    """Every path with its value and the unit of each number."""
    for body in mechanism.bodies:
        yield f"body.{body.name}.mass", body.mass, (BODY["mass"],)
        yield f"body.{body.name}.com", body.com, (BODY["com"],) * 3
        yield f"body.{body.name}.inertia", body.inertia, (BODY["inertia"],) * 6
    for joint in mechanism.joints:
        for field, value, units in _joint_fields(joint):
            yield f"joint.{joint.name}.{field}", value, units
    for strut in mechanism.struts:
        for field, unit in STRUT.items():
            size = 3 if field.startswith("point") else 1
            yield f"strut.{strut.name}.{field}", getattr(strut, field), (unit,) * size
    for load in mechanism.loads:
        for field, unit in LOAD.items():
            yield f"load.{load.name}.{field}", getattr(load, field), (unit,) * 3
    yield "gravity", mechanism.gravity, (GRAVITY,) * 3


def _joint_fields(joint: Joint) -> Iterator[tuple[str, Any, tuple[str, ...]]]:
    units = joint_units(joint.type)
    for side in ("on_parent", "on_child"):
        frame: Frame = getattr(joint, side)
        yield f"{side}.position", frame.position, (FRAME["position"],) * 3
        if not TYPES[joint.type].directionless_ends:  # a rod's ends have no direction
            yield f"{side}.orientation", frame.orientation, (FRAME["orientation"],) * 4
    fields = ["pitch", "length", "travel", *(f for f in PER_SPEED if _given(getattr(joint, f)))]
    fields += ["friction_speed"] if _given(joint.friction) else []
    fields += ["limit_stiffness", "limit_damping"] if joint.limits != Joint.limits else []
    for field in fields:
        if units[field]:
            yield field, getattr(joint, field), units[field]


def _given(values: Any) -> bool:
    return isinstance(values, ca.SX) or len(values) > 0


def _get(mechanism: Mechanism, whole: str) -> Any:
    return next(value for path, value, _ in _all(mechanism) if path == whole)


def _set(mechanism: Mechanism, whole: str, value: Any) -> Mechanism:
    words = whole.split(".")
    if words == ["gravity"]:
        return replace(mechanism, gravity=value)
    group = _GROUPS[words[0]]
    items = tuple(
        _put(item, words[2:], value) if item.name == words[1] else item for item in getattr(mechanism, group)
    )
    changed: dict[str, Any] = {group: items}
    return replace(mechanism, **changed)


def _put(item: Any, words: list[str], value: Any) -> Any:
    """A copy of a frozen item with the attribute that `words` lead to replaced."""
    inner = value if len(words) == 1 else _put(getattr(item, words[0]), words[1:], value)
    return replace(item, **{words[0]: inner})


def _chosen(mechanism: Mechanism, names: Iterable[str] | None) -> list[str]:
    chosen = list(mechanism.parameters if names is None else names)
    for name in chosen:
        if name not in mechanism.parameters:
            hint = nearest(name, mechanism.parameters)
            raise Flaw(("parameters",), f"the mechanism has no parameter '{name}'; {hint}")
    return chosen


def _common(units: tuple[str, ...]) -> str:
    return units[0] if len(set(units)) == 1 else ",".join(units)
