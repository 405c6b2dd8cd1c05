"""Numbers of a description that can be changed: their paths, their values, their symbols.

A path names one number or vector, such as `body.leg1.mass`, `joint.hinge1.on_parent.position`,
`strut.shock.stiffness` or `gravity`; `[2]` behind it takes the second component alone. What
a mechanism marks as a parameter stays a symbol in its equations; everything else folds.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any, NamedTuple

import casadi as ca
import numpy as np

from ..base.units import kind
from ..joints.types import JointType
from .field_kinds import Group, PartField
from .fields import PER_FREEDOM, Around, Field, Quantity, fields_of
from .mechanism import Mechanism
from .validation import Flaw, Place, nearest, plain_vector

_COMPONENT = re.compile(r"(.+)\[(\d{1,9})\]", re.ASCII | re.DOTALL)


def _groups() -> dict[str, str]:
    """The first word of a path -> where a mechanism holds such items; those without numbers have no paths."""
    return _with_numbers(tuple(fields_of(Mechanism)))


@cache
def _with_numbers(keys: tuple[str, ...]) -> dict[str, str]:
    return {
        field.word: key
        for key in keys
        if isinstance(field := fields_of(Mechanism)[key], Group)
        and any(isinstance(f, Quantity) and f.parameter for f in fields_of(field.described).values())
    }


class Location(NamedTuple):
    """Where a path leads: a field of the description, and which components of it."""

    whole: str  # the path without its index
    field: Quantity
    indices: tuple[int, ...]  # counted from 0
    units: tuple[str, ...]  # one per index
    alone: bool  # whether it is one number and not a vector

    @property
    def unit(self) -> str:
        """The common unit, or one for each component, separated by commas."""
        return self.units[0] if len(set(self.units)) == 1 else ",".join(self.units)

    @property
    def bounds(self) -> tuple[tuple[float, float], ...]:
        """The lowest and the highest value of each component."""
        return tuple(self.field.bounds(k) for k in self.indices)


class Parameter(NamedTuple):
    """A parameter's place in the vector of all parameters, and where its path leads."""

    name: str
    path: str
    slice: slice
    at: Location


def split_component(name: str) -> tuple[str, int | None]:
    """A name and the component it ends in, if it does: `body.arm.com[2]` is `body.arm.com` and 2."""
    found = _COMPONENT.fullmatch(name)
    return (found[1], int(found[2])) if found else (name, None)


# -- paths --------------------------------------------------------------------------------------


def paths(mechanism: Mechanism) -> list[Location]:
    """Every path that can be a parameter of this mechanism."""
    found: list[Location] = []
    for word, group in _groups().items():
        for item in getattr(mechanism, group):
            found += _paths(f"{word}.{item.name}.", item, mechanism.joint_type(item))
    return [*found, *_paths("", mechanism, None)]


def _paths(stem: str, item: Any, joint: JointType | None) -> Iterator[Location]:
    for key, field in fields_of(type(item)).items():
        if isinstance(field, PartField):
            yield from _paths(f"{stem}{key}.", getattr(item, key), joint)
        elif isinstance(field, Quantity) and field.changeable(item, key, joint):
            yield _location(stem + key, field, getattr(item, key), joint)


def _location(whole: str, field: Quantity, value: Any, joint: JointType | None) -> Location:
    units = field.units_of(value, joint)
    return Location(whole, field, tuple(range(len(units))), units, field.single)


def path_pattern() -> str:
    """A regular expression of the paths that mechanisms can have, by the fields' definitions."""
    groups = (f for f in fields_of(Mechanism).values() if isinstance(f, Group) and f.word in _groups())
    items = [rf"{group.word}\.\w+\.({'|'.join(_endings(group.described))})" for group in groups]
    return f"^({'|'.join([*items, *_endings(Mechanism)])})$"


def _endings(described: type) -> Iterator[str]:
    for key, field in fields_of(described).items():
        if isinstance(field, PartField):
            yield rf"{key}\.({'|'.join(_endings(field.described))})"
        elif isinstance(field, Quantity) and field.parameter:
            count = f"[1-{field.size}]" if isinstance(field.size, int) else r"[1-9]\d*"
            yield key if field.single else rf"{key}(\[{count}\])?"


def locate(mechanism: Mechanism, path: str, place: Place = ()) -> Location:
    """Where a path leads, or a `Flaw` at `place` that says where it stops."""
    whole, index = split_component(path)
    holder, joint = _holder(mechanism, whole)
    key = whole.rpartition(".")[2]
    field = fields_of(type(holder)).get(key) if holder else None
    if not isinstance(field, Quantity) or not field.changeable(holder, key, joint):
        raise Flaw(place, f"the path '{path}' leads to no number; {_hint(mechanism, whole, field, joint)}")
    at = _location(whole, field, getattr(holder, key), joint)
    if index is None:
        return at
    if at.alone or index - 1 not in at.indices:
        has = "is one number" if at.alone else f"has the components 1 to {len(at.units)}"
        raise Flaw(place, f"the path '{path}' leads to no number; '{whole}' {has}")
    return at._replace(indices=(index - 1,), units=at.units[index - 1 : index], alone=True)


def _holder(mechanism: Mechanism, whole: str) -> tuple[Any, JointType | None]:
    """What holds the field at the end of a path, None if nothing does, and the type of its joint."""
    words = whole.split(".")[:-1]
    if not words:
        return mechanism, None
    items = getattr(mechanism, _groups()[words[0]]) if words[0] in _groups() else ()
    holder = next((item for item in items if [item.name] == words[1:2]), None)
    joint = mechanism.joint_type(holder)
    for key in words[2:]:
        inner = holder is not None and isinstance(fields_of(type(holder)).get(key), PartField)
        holder = getattr(holder, key) if inner else None
    return holder, joint


def _hint(mechanism: Mechanism, whole: str, field: Field | None, joint: JointType | None) -> str:
    """The nearest path, or why a path that could be there is not."""
    words = whole.split(".")
    if words[0] not in _groups() or len(words) < 2:
        return f"paths start with {', '.join(_groups())} or are gravity"
    word, name, key = words[0], words[1], words[-1]
    names = [item.name for item in getattr(mechanism, _groups()[word])]
    if name not in names:
        return f"there is no {word} {kind(name)}; {nearest(name, names)}"
    if isinstance(field, Quantity) and field.parameter and (joint is None or field.joints.holds(joint, key)):
        if field.needs:
            return f"it counts only with '{field.needs}'; give {word} '{name}' that first"
        if field.size == PER_FREEDOM and field.units(joint):
            return f"give {word} '{name}' a {key} first, such as {key}: 0"
    return nearest(whole, [at.whole for at in paths(mechanism) if at.whole.startswith(f"{word}.{name}.")])


def mark_parameters(mechanism: Mechanism, names: Iterable[str]) -> Mechanism:
    """The mechanism with more parameters: the paths among these names, called as `name_of` says.

    Names that are no paths are left to whoever looks them up.
    """
    found, known = dict(mechanism.parameters), set(mechanism.parameters.values())
    for path in names:
        if path not in known and path not in found and ("." in path or path == "gravity"):
            locate(mechanism, path, ("parameters", path))
            found[name_of(path, found)] = path
    return replace(mechanism, parameters=found) if len(found) > len(mechanism.parameters) else mechanism


def name_of(path: str, taken: Collection[str] = ()) -> str:
    """What a parameter is called whose path the description gives no name: `body_leg1_mass`."""
    name = re.sub(r"\W+", "_", path).strip("_")
    while name in taken:
        name += "_"
    return name


# -- values -------------------------------------------------------------------------------------


def lookup(mechanism: Mechanism, path: str) -> Any:
    """The number, or the tuple of numbers, a path names."""
    at = locate(mechanism, path)
    value = _get(mechanism, at.whole)
    return value[at.indices[0]] if at.alone and not at.field.single else value


def replace_value(mechanism: Mechanism, path: str, value: Any) -> Mechanism:
    """The same mechanism with another value at a path; `check.check` tells whether it makes sense."""
    at = locate(mechanism, path)
    numbers = plain_vector([value] if at.alone else value, (path,), at.units)
    return _placed(mechanism, at, numbers)


def _placed(mechanism: Mechanism, at: Location, numbers: Sequence[Any]) -> Mechanism:
    """The same mechanism with these numbers or symbols where a path leads; a vector with a symbol is SX."""
    if at.field.single:
        return _set(mechanism, at.whole, numbers[0])
    present = _get(mechanism, at.whole)
    vector = ca.vertsplit(present) if isinstance(present, ca.SX) else list(present)
    for index, number in zip(at.indices, numbers, strict=True):
        vector[index] = number
    symbolic = any(isinstance(x, ca.SX) for x in vector)
    return _set(mechanism, at.whole, ca.vertcat(*vector) if symbolic else tuple(vector))


def _get(mechanism: Mechanism, whole: str) -> Any:
    return getattr(_holder(mechanism, whole)[0], whole.rpartition(".")[2])


def _set(mechanism: Mechanism, whole: str, value: Any) -> Mechanism:
    word, *inner = whole.split(".")
    if inner:
        name, *words = inner
        items = getattr(mechanism, _groups()[word])
        word, value = _groups()[word], tuple(_put(x, words, value) if x.name == name else x for x in items)
    return mechanism.changed(**{word: value})


def _put(item: Any, words: list[str], value: Any) -> Any:
    """A copy of a frozen item with the attribute that `words` lead to replaced."""
    inner = value if len(words) == 1 else _put(getattr(item, words[0]), words[1:], value)
    return replace(item, **{words[0]: inner})


# -- the vector of all parameters ---------------------------------------------------------------


def layout(mechanism: Mechanism, names: Iterable[str] | None = None) -> tuple[Parameter, ...]:
    """Where each parameter (`names`, or all of them) is in the vector p of them."""
    found: list[Parameter] = []
    size = 0
    for name in mechanism.parameters if names is None else names:
        if name not in mechanism.parameters:
            hint = nearest(name, mechanism.parameters)
            raise Flaw(("parameters",), f"'{mechanism.name}' has no parameter '{name}'; {hint}")
        path = mechanism.parameters[name]
        at = locate(mechanism, path, ("parameters", name))
        found.append(Parameter(name, path, slice(size, size + len(at.indices)), at))
        size += len(at.indices)
    return tuple(found)


def default_vector(mechanism: Mechanism, names: Iterable[str] | None = None) -> np.ndarray:
    """The values of the parameters as described, in the order of `layout`."""
    values = [np.ravel(lookup(mechanism, item.path)) for item in layout(mechanism, names)]
    return np.concatenate([np.zeros(0), *values])


def parameter_vector(mechanism: Mechanism, values: Mapping[str, Any]) -> np.ndarray:
    """p as described but for the named values, which are refused where a description's would be."""
    changed = mechanism
    names = {path: name for name, path in mechanism.parameters.items()}  # paths of parameters will do
    values = {names.get(name, name): value for name, value in values.items()}
    given = layout(mechanism, values)
    for item in given:
        try:
            changed = replace_value(changed, item.path, values[item.name])
        except Flaw as flaw:
            raise Flaw(("parameters", item.name), flaw.sentence) from None
    for item in given:
        holder, joint = _holder(changed, item.at.whole)
        key = item.at.whole.rpartition(".")[2]
        value = item.at.field.changed.check(
            getattr(holder, key), ("parameters", item.name, key), Around({}, joint)
        )
        changed = _set(changed, item.at.whole, value)
    return default_vector(changed)


def allowed_values(mechanism: Mechanism) -> ca.Function:
    """p → (alone, together): which numbers a description could have, each by itself and with others."""
    changed, p, placed = symbolic(mechanism)
    alone, together = [], []
    for item in placed:
        numbers, field = ca.vertsplit(ca.SX(_get(changed, item.at.whole))), item.at.field
        alone += [field.alone(k, numbers[k]) for k in item.at.indices]
        together += [field.fit(numbers)] * len(item.at.indices)
    results = [ca.densify(ca.vertcat(ca.SX(0, 1), *flags)) for flags in (alone, together)]
    return ca.Function("allowed", [p], results, ["p"], ["alone", "together"])


def symbolic(
    mechanism: Mechanism, names: Iterable[str] | None = None
) -> tuple[Mechanism, Any, tuple[Parameter, ...]]:
    """The mechanism with CasADi symbols for its parameters (`names`, or all of them).

    Returns the mechanism, in which a vector with a symbol is an SX column, the column p of all
    symbols, and where each parameter is in p. `default_vector` gives their values.
    """
    placed = layout(mechanism, names)
    symbols = [ca.SX.sym(item.name, len(item.at.indices)) for item in placed]
    for item, symbol in zip(placed, symbols, strict=True):
        mechanism = _placed(mechanism, item.at, ca.vertsplit(symbol))
    return mechanism, ca.vertcat(ca.SX(0, 1), *symbols), placed
