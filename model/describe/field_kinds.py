"""Kinds of fields that are not plain numbers: names of other items, words, frames, groups, and numbers
that a file may give in several forms."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import hypot
from typing import Any

import numpy as np

from ..errors import DescriptionError
from ..joints.types import TYPES, JointType
from .drawing import Vector, matrix_inertia, matrix_orientation, orientation, symmetric_inertia
from .entries import Entries
from .fields import COORDINATES, Around, Field, Quantity
from .flaws import Flaw, Place, field_name, known_name, nearest
from .units import kind

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_INERTIA_ROUND_OFF = 1e-6  # printed inertias are rounded, and flat bodies sit on the limit
_UNIT_ROUND_OFF = 1e-12


def name(text: Any, place: Place) -> str:
    """A name that can be used in Python, in an FMU and in ROS."""
    if not isinstance(text, str) or not _NAME.fullmatch(text):
        example = re.sub(r"\W", "_", str(text), flags=re.ASCII)
        example = example if _NAME.fullmatch(example) else f"_{example}"
        sentence = f"the name {kind(text)} must be made of letters, digits and _, such as '{example}'"
        raise Flaw(place, sentence, whole=True)
    return text


# -- words ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Text(Field):
    """A line for people."""

    told = "a text"

    def check(self, value: Any, place: Place, around: Around) -> str:
        if not isinstance(value, str):
            raise Flaw(place, f"{field_name(place)} must be a text, not {kind(value)}")
        return value


@dataclass(frozen=True)
class Reference(Field):
    """The name of an item described before, `word` being one of its group."""

    word: str
    but: str = ""  # a name that does not count

    def check(self, value: Any, place: Place, around: Around) -> str:
        return known_name(self.word, value, [n for n in around.items[self.word] if n != self.but], place)

    def settled(self, value: Any, around: Around) -> Around:
        if self.word == "joint":
            return around._replace(kind=TYPES[around.items["joint"][value].type])
        return around

    def values(self) -> str:
        return f"a {self.word}"


@dataclass(frozen=True)
class TypeOfJoint(Field):
    """One of the joint types."""

    told = "a word"

    def check(self, value: Any, place: Place, around: Around) -> str:
        if value not in [*TYPES]:  # a list takes what can't be hashed, too
            raise Flaw(place, f"there is no joint type {kind(value)}; {nearest(value, TYPES)}")
        return str(value)

    def settled(self, value: Any, around: Around) -> Around:
        return around._replace(kind=TYPES[value])


@dataclass(frozen=True)
class Choice(Field):
    """One of a few words."""

    words: tuple[str, ...]

    def check(self, value: Any, place: Place, around: Around) -> str:
        if value not in self.words:
            raise Flaw(place, f"{field_name(place)} must be {' or '.join(self.words)}, not {kind(value)}")
        return str(value)

    def values(self) -> str:
        return " or ".join(f"`{word}`" for word in self.words)


@dataclass(frozen=True)
class Flag(Field):
    """True, false, or None for no opinion."""

    told = "`true` or `false`"

    def read(self, entries: Entries, key: str, around: Around, default: Any) -> Any:
        return entries.flag(key, default)

    def check(self, value: Any, place: Place, around: Around) -> bool | None:
        if value not in (None, True, False):
            raise Flaw(place, f"{field_name(place)} must be true or false, not {kind(value)}")
        return None if value is None else bool(value)


@dataclass(frozen=True)
class Names(Field):
    """A mapping of names of one's own to paths."""

    told = "names"

    def read(self, entries: Entries, key: str, around: Around, default: Any) -> Any:
        return entries.names(key)

    def check(self, value: Any, place: Place, around: Around) -> dict[str, str]:
        if not isinstance(value, Mapping):
            raise Flaw(place, f"{place[-1]} must be a mapping of names, not {kind(value)}")
        for key, text in value.items():
            name(key, (*place, str(key)))
            if not isinstance(text, str):
                raise Flaw((*place, key), f"must be a text such as body.arm.mass, not {kind(text)}")
        return dict(value)


# -- what has fields of its own -----------------------------------------------------------------


@dataclass(frozen=True)
class Part(Field):
    """Fields within a field."""

    told = "fields"
    described: type


@dataclass(frozen=True)
class Group(Field):
    """Named items; paths to their numbers start with `word`.

    A file may tell them apart by the group's name: `files` are the names for a false and a true `split`.
    """

    told = "names with fields"
    described: type
    word: str
    files: tuple[str, ...]
    split: str = ""

    def admit(self, item_name: Any, place: Place, around: Around) -> None:
        """Refuse a name that is none, or that stands for something else."""
        name(item_name, place)
        if item_name in around.items.get(self.word, ()):
            sentence = f"'{item_name}' is the fixed frame every mechanism has; rename that {self.word}"
            raise Flaw(place, sentence, whole=True)

    def file(self, item: Any) -> str:
        """The name of the group in a file."""
        return self.files[bool(self.split) and getattr(item, self.split)]


# -- numbers in several forms -------------------------------------------------------------------


def complaining(entries: Entries, key: str, function: Callable[..., Vector], *arguments: Any) -> Vector:
    """What the function returns; its complaint becomes one about the field."""
    try:
        return function(*arguments)
    except DescriptionError as error:
        raise entries.flaw(key, error) from None


@dataclass(frozen=True)
class Inertia(Quantity):
    """Six numbers (xx, yy, zz, xy, xz, yz) of a tensor about the centre of mass."""

    told = "several forms"
    unit: str = "kg.m2"
    size: int = 6

    def read(self, entries: Entries, key: str, around: Around, default: Any) -> Any:
        value = entries.values.get(key)
        if isinstance(value, dict):
            inner = Entries(value, (*entries.place, key), ("axis", "along", "across"))
            inner.need("axis")
            moments = (inner.number(k, self.unit) for k in ("along", "across"))
            return symmetric_inertia(inner.direction("axis") or (), *moments)
        if isinstance(value, list) and len(value) == 3:
            if any(isinstance(row, list) for row in value):
                return complaining(entries, key, matrix_inertia, entries.rows(key, self.unit))
            return (*entries.vector(key, self.unit), 0.0, 0.0, 0.0)
        if value is None or (isinstance(value, list) and len(value) == 6):
            return super().read(entries, key, around, default)
        forms = "3 or 6 numbers, a 3 by 3 matrix, or {axis, along, across}"
        raise entries.flaw(key, f"must be {forms}, not {kind(value)}")

    def check(self, value: Any, place: Place, around: Around) -> Any:
        """Principal moments are a = ∫(y²+z²)dm and so on: none negative, none above the others' sum."""
        six = super().check(value, place, around)
        xx, yy, zz, xy, xz, yz = six
        small, middle, large = np.linalg.eigvalsh([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        slack = _INERTIA_ROUND_OFF * max(abs(small), abs(large))
        moments = f"{small:.4g}, {middle:.4g}, {large:.4g}"
        if small < -slack:
            raise Flaw(place, f"no body has a negative moment of inertia; the principal ones are {moments}")
        if small + middle < large - slack:
            sentence = f"no body has the principal moments of inertia {moments}: "
            raise Flaw(place, sentence + "the largest exceeds the sum of the others")
        return six

    def bounds(self, component: int) -> tuple[float, float]:
        low, high = super().bounds(component)
        return (0.0, high) if component < 3 else (low, high)


@dataclass(frozen=True)
class Orientation(Quantity):
    """Euler parameters (w, x, y, z); a file may give a matrix, or an axis and what is across."""

    told = "4 numbers or a matrix"
    unit: str = "1"
    size: int = 4

    def read(self, entries: Entries, key: str, around: Around, default: Any) -> Any:
        value = entries.values.get(key)
        if value is not None and ("axis" in entries or "across" in entries):
            raise entries.flaw(key, "and axis say the same; remove one")
        if isinstance(value, list) and len(value) == 3:
            return complaining(entries, key, matrix_orientation, entries.rows(key, self.unit))
        axis, across = entries.direction("axis"), entries.direction("across")
        if across is not None and axis is None:
            raise entries.flaw("across", "needs an axis to be across of; add the field 'axis'")
        if axis is not None:
            return complaining(entries, "across", orientation, axis, across)
        return super().read(entries, key, around, default)

    def check(self, value: Any, place: Place, around: Around) -> Any:
        return unit_length(super().check(value, place, around), place)

    def bounds(self, component: int) -> tuple[float, float]:
        return -1.0, 1.0

    def changeable(self, item: Any, key: str, kind: JointType | None) -> bool:
        return super().changeable(item, key, kind) and not (kind and kind.directionless_ends)


def unit_length(e: tuple[float, ...], place: Place) -> tuple[float, ...]:
    """Euler parameters as they are, or scaled to length one if they were rounded by hand."""
    size = hypot(*e)
    if not 0.99 < size < 1.01:
        text = f"{place[-1]} must be Euler parameters (w, x, y, z) of length 1, not of length {size:.4g}"
        raise Flaw(place, text)
    return e if abs(size - 1) <= _UNIT_ROUND_OFF else tuple(x / size for x in e)


@dataclass(frozen=True)
class Coordinates(Quantity):
    """The coordinates of a joint; Euler parameters among them have length one."""

    unit: str = "rad or m"
    size: str = COORDINATES

    def check(self, value: Any, place: Place, around: Around) -> Any:
        q = super().check(value, place, around)
        parts = around.kind.parts if q and around.kind is not None else ()
        return tuple(x for move, at, _ in parts for x in (q[at] if move.plain else unit_length(q[at], place)))


@dataclass(frozen=True)
class Range(Quantity):
    """[lowest, highest], each infinite for none."""

    unit: str = "rad or m"
    size: int = 2

    def check(self, value: Any, place: Place, around: Around) -> Any:
        low, high = super().check(value, place, around)
        if low >= high:
            sentence = f"{place[-1]} must be [lowest, highest], but {low:g} is not below {high:g}"
            raise Flaw(place, sentence)
        return low, high


@dataclass(frozen=True)
class Gravity(Quantity):
    """A vector; in a file also a number g, which means (0, 0, −g)."""

    told = "a number or 3 numbers"
    unit: str = "m/s2"
    size: int = 3

    def read(self, entries: Entries, key: str, around: Around, default: Any) -> Any:
        if key in entries and not isinstance(entries.values[key], list):
            return (0.0, 0.0, 0.0 - entries.number(key, self.unit))
        return super().read(entries, key, around, default)


@dataclass(frozen=True)
class Direction(Field):
    """Three numbers of any length, or x, y, z, -x, -y, -z; only in files."""

    told = "a direction"
