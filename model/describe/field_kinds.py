"""Kinds of fields that are not plain numbers: names of other items, words, frames, groups, and numbers
that a file may give in several forms."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import hypot
from typing import Any

import casadi as ca
import numpy as np

from ..base.thresholds import INERTIA_ROUND_OFF, UNIT_ROUND_OFF
from ..base.units import kind
from ..joints.types import TYPES, JointType
from .drawing import Vector, matrix_inertia, matrix_orientation, symmetric_inertia
from .fields import COORDINATES, ONE_COORDINATE, Around, Condition, Field, Quantity
from .mapping_reader import Entries
from .validation import Flaw, Place, as_list, check_name, field_flaw, make_at, nearest, plain_vector

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
# What XML has no characters for: an FMU, an SSP and a URDF could not be written.
_NO_TEXT = re.compile(r"[^\t\n\r\x20-\uD7FF\uE000-\uFFFD\U00010000-\U0010FFFF]")
_DIRECTIONS = {
    f"{sign}{name}": tuple((-1.0 if sign == "-" else 1.0) * (k == n) + 0.0 for k in range(3))
    for n, name in enumerate("xyz")
    for sign in ("", "+", "-")
}


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
            raise field_flaw(place, f"must be {self.told}, not {kind(value)}")
        if found := _NO_TEXT.search(value):
            sentence = f"has the character U+{ord(found[0]):04X}, which no XML file can have; take it out"
            raise field_flaw(place, sentence)
        return value


@dataclass(frozen=True)
class Word(Text):
    """A word for the program."""

    told = "a word"


@dataclass(frozen=True)
class Reference(Word):
    """The name of an item described before, `word` being one of its group."""

    word: str
    but: str = ""  # a name that does not count
    optional: bool = False

    def check(self, value: Any, place: Place, around: Around) -> str:
        if self.optional and value == "":
            return ""
        known = [n for n in around.items[self.word] if n != self.but]
        return check_name(self.word, super().check(value, place, around), known, place)

    def settled(self, value: Any, around: Around) -> Around:
        if self.word == "joint" and value:
            return around._replace(kind=TYPES[around.items["joint"][value].type])
        return around

    def values(self) -> str:
        return f"a {self.word}"


@dataclass(frozen=True)
class References(Field):
    """The names of several items described before; a file may give one alone."""

    word: str

    def check(self, value: Any, place: Place, around: Around) -> tuple[str, ...]:
        names = [value] if isinstance(value, str) else as_list(value)
        if names is None:
            raise field_flaw(place, f"must be a list of {self.word}s, not {kind(value)}")
        one = Reference(self.help, self.word)
        return tuple(one.check(each, place, around) for each in names)

    def values(self) -> str:
        return f"a {self.word} or several"


@dataclass(frozen=True)
class TypeOfJoint(Word):
    """One of the joint types."""

    def check(self, value: Any, place: Place, around: Around) -> str:
        if super().check(value, place, around) not in TYPES:
            raise Flaw(place, f"there is no joint type {kind(value)}; {nearest(value, TYPES)}")
        return str(value)

    def settled(self, value: Any, around: Around) -> Around:
        return around._replace(kind=TYPES[value])


@dataclass(frozen=True)
class Choice(Word):
    """One of a few words."""

    words: tuple[str, ...]

    def check(self, value: Any, place: Place, around: Around) -> str:
        if super().check(value, place, around) not in self.words:
            *others, last = self.words
            raise field_flaw(place, f"must be {', '.join(others)} or {last}, not {kind(value)}")
        return str(value)

    def values(self) -> str:
        return " or ".join(f"`{word}`" for word in self.words)


@dataclass(frozen=True)
class Choices(Field):
    """Some of a few words; a file may give one alone."""

    words: tuple[str, ...]

    def check(self, value: Any, place: Place, around: Around) -> tuple[str, ...]:
        items = [value] if isinstance(value, str) else as_list(value)
        if items is None:
            raise field_flaw(place, f"must be a list of words, not {kind(value)}")
        for item in items:
            if item not in self.words:
                raise field_flaw(place, f"has no {kind(item)}; it may have {', '.join(self.words)}")
        return tuple(dict.fromkeys(items))

    def values(self) -> str:
        return ", ".join(f"`{word}`" for word in self.words)


@dataclass(frozen=True)
class Flag(Field):
    """True, false, or None for no opinion."""

    told = "`true` or `false`"

    def check(self, value: Any, place: Place, around: Around) -> bool | None:
        if value is not None and not isinstance(value, bool):
            raise field_flaw(place, f"must be true or false, not {kind(value)}")
        return value


@dataclass(frozen=True)
class Names(Field):
    """A mapping of names of one's own to paths."""

    told = "names"

    def check(self, value: Any, place: Place, around: Around) -> dict[str, str]:
        if not isinstance(value, Mapping):
            raise field_flaw(place, f"must be a mapping of names, not {kind(value)}")
        for key, text in value.items():
            name(key, (*place, str(key)))
            if not isinstance(text, str):
                raise Flaw((*place, key), f"must be a text such as body.arm.mass, not {kind(text)}")
        return dict(value)


# -- what has fields of its own -----------------------------------------------------------------


@dataclass(frozen=True)
class PartField(Field):
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


@dataclass(frozen=True)
class Inertia(Quantity):
    """Six numbers (xx, yy, zz, xy, xz, yz) of a tensor about the centre of mass."""

    told = "several forms"
    together = "moments of inertia that a body can have"
    unit: str = "kg.m2"
    size: int = 6

    def fit(self, numbers: Sequence[Any]) -> Any:
        """Whether no principal moment exceeds the others' sum: ½ tr(J) 1 − J has no negative eigenvalue."""
        xx, yy, zz, xy, xz, yz = numbers
        half = (xx + yy + zz) * (1 + INERTIA_ROUND_OFF) / 2
        a, b, c = half - xx, half - yy, half - zz
        two = a * b - xy * xy
        three = c * two - a * yz * yz - b * xz * xz - 2 * xy * xz * yz
        return ca.logic_or(sum(x * x for x in numbers) == 0, (a > 0) * (two > 0) * (three > 0))

    def check(self, value: Any, place: Place, around: Around) -> Any:
        """Principal moments are a = ∫(y²+z²)dm and so on: none negative, none above the others' sum."""
        six = super().check(self._six(value, place, around) if around.in_file else value, place, around)
        xx, yy, zz, xy, xz, yz = six
        small, middle, large = np.linalg.eigvalsh([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        moments = f"{small:.4g}, {middle:.4g}, {large:.4g}"
        if small < -INERTIA_ROUND_OFF * max(abs(small), abs(large)):
            raise Flaw(place, f"no body has a negative moment of inertia; the principal ones are {moments}")
        if not self.fit(six):
            sentence = f"no body has the principal moments of inertia {moments}: "
            raise Flaw(place, sentence + "the largest exceeds the sum of the others")
        return six

    def _six(self, value: Any, place: Place, around: Around) -> Any:
        """The six numbers of the form in a file."""
        if isinstance(value, dict):
            inner = Entries(value, place, ("axis", "along", "across"), around)
            axis, moment = inner.read("axis", Direction("")), Quantity("", self.unit)
            return symmetric_inertia(axis, inner.read("along", moment), inner.read("across", moment))
        if not isinstance(value, list) or len(value) not in (3, 6):
            forms = "3 or 6 numbers, a 3 by 3 matrix, or {axis, along, across}"
            raise field_flaw(place, f"must be {forms}, not {kind(value)}")
        if len(value) == 3 and any(isinstance(row, list) for row in value):
            return make_at(place, matrix_inertia, matrix(value, place, self.unit))
        return [*value, 0.0, 0.0, 0.0][:6]

    def bounds(self, component: int) -> tuple[float, float]:
        low, high = super().bounds(component)
        return (0.0, high) if component < 3 else (low, high)


def matrix(rows: list[Any], place: Place, unit: str) -> list[Vector]:
    """Three rows of three numbers in a file."""
    return [plain_vector(row, place, (unit,) * 3) for row in rows]


@dataclass(frozen=True)
class Orientation(Quantity):
    """Euler parameters (w, x, y, z); a file may give a matrix."""

    told = "4 numbers or a matrix"
    together = "Euler parameters of length 1"
    unit: str = "1"
    size: int = 4

    def check(self, value: Any, place: Place, around: Around) -> Any:
        if around.in_file and isinstance(value, list) and len(value) == 3:
            return make_at(place, matrix_orientation, matrix(value, place, self.unit))
        return unit_length(super().check(value, place, around), place)

    def bounds(self, component: int) -> tuple[float, float]:
        return -1.0, 1.0

    def fit(self, numbers: Sequence[Any]) -> Any:
        return of_length_one(sum(x * x for x in numbers))

    def changeable(self, item: Any, key: str, kind: JointType | None) -> bool:
        return super().changeable(item, key, kind) and not (kind and kind.directionless_ends)


def of_length_one(square: Any) -> Any:
    """Whether the square of a length is that of a unit, but for the digits that somebody left out."""
    return (square > 0.99**2) * (square < 1.01**2)


def unit_length(e: tuple[float, ...], place: Place) -> tuple[float, ...]:
    """Euler parameters as they are, or scaled to length one if they were rounded by hand."""
    size = hypot(*e)
    if not of_length_one(size**2):
        text = f"{place[-1]} must be Euler parameters (w, x, y, z) of length 1, not of length {size:.4g}"
        raise Flaw(place, text)
    return e if abs(size - 1) <= UNIT_ROUND_OFF else tuple(x / size for x in e)


@dataclass(frozen=True)
class Coordinates(Quantity):
    """The coordinates of a joint; Euler parameters among them have length one."""

    unit: str = "rad or m"
    size: str = COORDINATES
    parameter: bool = False

    def check(self, value: Any, place: Place, around: Around) -> Any:
        q = super().check(value, place, around)
        parts = around.kind.parts if q and around.kind is not None else ()
        return tuple(x for move, at, _ in parts for x in (q[at] if move.plain else unit_length(q[at], place)))


@dataclass(frozen=True)
class Range(Quantity):
    """[lowest, highest] of the coordinate, each infinite for none."""

    unit: str = "rad or m"
    size: int = 2
    joints: Condition = ONE_COORDINATE
    infinite: bool = True
    parameter: bool = False

    def check(self, value: Any, place: Place, around: Around) -> Any:
        low, high = super().check(value, place, around)
        if low >= high:
            sentence = f"{place[-1]} must be [lowest, highest], but {low:g} is not below {high:g}"
            raise Flaw(place, sentence)
        return low, high


@dataclass(frozen=True)
class Numbers(Quantity):
    """As many numbers as there happen to be; a file may give one alone."""

    told = "a number or several"
    unit: str = "1"
    single = False

    def check(self, value: Any, place: Place, around: Around) -> Any:
        numbers = as_list(value)
        numbers = [value] if numbers is None else numbers
        return plain_vector(numbers, place, [self.unit if around.in_file else None] * len(numbers))

    def units_of(self, value: Any, kind: JointType | None) -> tuple[str, ...]:
        return (self.unit,) * (value.numel() if isinstance(value, ca.SX) else len(value))


@dataclass(frozen=True)
class Gravity(Quantity):
    """A vector; in a file also a number g, which means (0, 0, −g)."""

    told = "a number or 3 numbers"
    unit: str = "m/s2"
    size: int = 3

    def check(self, value: Any, place: Place, around: Around) -> Any:
        if around.in_file and not isinstance(value, list):
            return (0.0, 0.0, 0.0 - Quantity("", self.unit).check(value, place, around))
        return super().check(value, place, around)


@dataclass(frozen=True)
class Direction(Quantity):
    """Three numbers of any length, or x, y, z, -x, -y, -z; only in files."""

    told = "a direction"
    unit: str = "1"
    size: int = 3

    def check(self, value: Any, place: Place, around: Around) -> Any:
        if isinstance(value, str) and value in _DIRECTIONS:
            return _DIRECTIONS[value]
        direction = super().check(value, place, around)
        if not any(direction):
            raise field_flaw(place, "must not be zero, since it is a direction")
        return direction
