"""What a field of a description is: its unit, sign, size and help, said once where it is defined.

`mechanism.py` writes one of these kinds beside the type of every field. A kind knows how its value is
read from a file, checked, changed as a parameter and told in docs/describing.md; the reader, the checks,
the paths of parameters, the writer and the manual's tables are loops over `fields_of`. So a new field is
one line of `mechanism.py`, and a new kind of field is one class here or in `field_kinds.py`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass
from functools import cache
from math import inf, isfinite
from typing import Any, ClassVar, NamedTuple, get_type_hints

import casadi as ca

from ..joints.types import TYPES, JointType
from .entries import NEEDED, Entries
from .flaws import Flaw, Place, as_list, field_name, plain_number, plain_vector

# Sizes, beside a plain number of components, in the manual's words.
ONE = ""
PER_FREEDOM = "one per freedom, or one for all"
SPEEDS = "one per speed"
COORDINATES = "one per coordinate"


class Sign(NamedTuple):
    """What a number may be, and the end of the sentence for one that is not."""

    words: str
    low: float
    fits: Callable[[float], bool]
    refused: str


ANY = Sign("", -inf, lambda x: True, "")
POSITIVE = Sign("positive", 0.0, lambda x: x > 0, "must be positive, not {:g}")
NOT_NEGATIVE = Sign("not negative", 0.0, lambda x: x >= 0, "must not be negative, but is {:g}")
NOT_ZERO = Sign("not zero", -inf, lambda x: x != 0, "must not be {:g}")


class Condition(NamedTuple):
    """Which types of joints have a field, and the sentence for the others."""

    holds: Callable[[JointType, str], bool]
    refused: str


EVERY = Condition(lambda kind, key: True, "")
# What only types have that name it in their `fields`, such as the pitch of a screw.
OWN = Condition(lambda kind, key: key in kind.fields, "a {type} joint has no {key}; use type {other}")
WITHOUT_BALL = Condition(
    lambda kind, key: kind.plain, "a {type} joint takes no {key}; use springs between points"
)
ONE_COORDINATE = Condition(
    lambda kind, key: kind.nq == kind.nv == 1,
    "a {type} joint has not one coordinate, so it takes no {key}",
)


class Around(NamedTuple):
    """What a field may depend on: the items read or checked before it, and the type of its joint."""

    items: Mapping[str, Mapping[str, Any]]  # word, such as "body" -> name -> item
    kind: JointType | None = None

    def with_items(self, word: str, items: Mapping[str, Any]) -> Around:
        return self._replace(items={**self.items, word: {**self.items.get(word, {}), **items}})


@dataclass(frozen=True)
class Field:
    """A field of any kind."""

    told: ClassVar[str] = ""

    help: str
    _: KW_ONLY
    otherwise: str = ""  # what leaving it out means, where the default does not say it
    name_in_file: str = ""  # where it differs from the field's own

    def read(self, entries: Entries, key: str, around: Around, default: Any) -> Any:
        """The value in a file, a word unless a kind says otherwise; `default` if it is not there."""
        return self.check(entries.text(key, default), (*entries.place, key), around)

    def check(self, value: Any, place: Place, around: Around) -> Any:
        """The value as plain Python, or a `Flaw` at `place`."""
        return value

    def settled(self, value: Any, around: Around) -> Around:
        """What the fields behind this one may depend on, once its value is known."""
        return around

    def written(self, value: Any) -> Any:
        """The value as it is written to a file."""
        return value

    def values(self) -> str:
        """What it may be, in the manual's words."""
        return self.told


@dataclass(frozen=True)
class Quantity(Field):
    """A number or several.

    `unit` is spelt as FMI does (`.` multiplies, a digit is a power, `1` is none). "N.m or N" is the first
    where the joint turns, the second where it slides.
    """

    unit: str
    size: int | str = ONE
    sign: Sign = ANY
    _: KW_ONLY
    joints: Condition = EVERY
    infinite: bool = False  # whether infinity is a value, meaning no limit
    parameter: bool = True  # whether its path can be a parameter
    needs: str = ""  # the field without which this one has no effect
    on: str = ""  # the field that names the body this is a point of: drawn, it is read in world axes
    changes_geometry: bool = False  # whether loops must be closed again after it has changed
    advice: str = ""  # ends the sentence that refuses a number of the wrong sign

    # -- size and units ---------------------------------------------------------------------

    def count(self, kind: JointType | None) -> int:
        """How many numbers it has."""
        if isinstance(self.size, int) or kind is None or self.size == ONE:
            return self.size if isinstance(self.size, int) else 1
        return kind.nq if self.size == COORDINATES else kind.nv

    def units(self, kind: JointType | None = None) -> tuple[str, ...]:
        """The unit of each component."""
        turn, _, slide = self.unit.partition(" or ")
        if not slide:
            return (turn,) * self.count(kind)
        assert kind is not None
        by_motion = {"rad": turn, "m": slide}
        if self.size == COORDINATES:
            return tuple(by_motion.get(unit, unit) for unit in kind.position_units)
        motions = [by_motion[unit.removesuffix("/s")] for unit in kind.speed_units]
        if self.size in (PER_FREEDOM, SPEEDS):
            return tuple(motions)
        # A joint that both turns and slides has no common unit for these.
        return (motions[0] if len(set(motions)) == 1 else "1",) * self.count(kind)

    def bounds(self, component: int) -> tuple[float, float]:
        """The lowest and highest value of a component."""
        return self.sign.low, inf

    # -- values -----------------------------------------------------------------------------

    def read(self, entries: Entries, key: str, around: Around, default: Any) -> Any:
        if key not in entries and default is not NEEDED:
            return default
        entries.need(key)
        if around.kind is not None and not self.joints.holds(around.kind, key):
            raise self._foreign((*entries.place, key), around.kind)
        units = self.units(around.kind)
        if self.size == ONE:
            return entries.number(key, units[0], infinite=self.infinite)
        if isinstance(self.size, int):
            return entries.listed(key, units, self.infinite)
        return entries.each(key, units, infinite=self.infinite)

    def check(self, value: Any, place: Place, around: Around) -> Any:
        kind, size = around.kind, self.count(around.kind)
        if self.size == ONE:
            numbers: tuple[float, ...] = (plain_number(value, place, self.infinite),)
        elif isinstance(self.size, int):
            numbers = plain_vector(value, place, size, self.infinite)
        else:
            numbers = self._listed(value, size, place, around)
        if kind is not None and not self.joints.holds(kind, place[-1]):
            if any(isfinite(x) and x != 0 for x in numbers):
                raise self._foreign(place, kind)
            return 0.0 if self.size == ONE else numbers if isinstance(self.size, int) else ()
        for number in numbers:
            if not self.sign.fits(number):
                sentence = f"{field_name(place)} {self.sign.refused.format(number)}"
                raise Flaw(place, sentence + f"; {self.advice}" * bool(self.advice))
        return numbers[0] if self.size == ONE else numbers

    def _listed(self, value: Any, size: int, place: Place, around: Around) -> tuple[float, ...]:
        """As many numbers as the joint has freedoms, or none; one number is enough where there is one."""
        items = as_list(value)
        if items is None and (size == 1 or (size and self.size == PER_FREEDOM)):
            return (plain_number(value, place, self.infinite),) * size
        if items == []:
            return ()
        if size == 0:
            assert around.kind is not None
            raise Flaw(place, f"a {around.kind.name} joint takes no {place[-1]}; remove it")
        return plain_vector(value, place, size, self.infinite)

    def _foreign(self, place: Place, kind: JointType) -> Flaw:
        """For the field of a joint whose type has none."""
        key = place[-1]
        other = next((t.name for t in TYPES.values() if key in t.fields), "")
        return Flaw(place, self.joints.refused.format(type=kind.name, key=key, other=other))

    # -- parameters -------------------------------------------------------------------------

    def changeable(self, item: Any, key: str, kind: JointType | None) -> bool:
        """Whether the field of this item can be a parameter: it counts, and there are numbers in it."""
        if not self.parameter or (kind is not None and not self.joints.holds(kind, key)):
            return False
        return how_many(getattr(item, key)) > 0 and (not self.needs or given(item, self.needs))

    def written(self, value: Any) -> Any:
        return list(value) if isinstance(value, tuple) else value

    def values(self) -> str:
        size = f"{self.size} numbers" if isinstance(self.size, int) else self.size
        return self.told or ", ".join(words for words in (size, self.sign.words) if words) or "any"


def given(item: Any, key: str) -> bool:
    """Whether a field of an item says anything."""
    value = getattr(item, key)
    return how_many(value) > 0 and (isinstance(value, ca.SX) or value != defaults_of(type(item))[key])


def how_many(value: Any) -> int:
    """How many numbers there are, also if they are symbols."""
    if isinstance(value, ca.SX):
        return int(value.numel())
    items = as_list(value)
    return 1 if items is None else len(items)


def fields_of(described: Any) -> dict[str, Field]:
    """The fields of a part of the description, by name and in order, each with its kind."""
    return _known(described)[0]


def defaults_of(described: Any) -> dict[str, Any]:
    """The default of each field, `NEEDED` (which is `dataclasses.MISSING`) where there is none."""
    return _known(described)[1]


@cache
def _known(described: Any) -> tuple[dict[str, Field], dict[str, Any]]:
    hints = get_type_hints(described, include_extras=True)
    kinds = {key: hint.__metadata__[0] for key, hint in hints.items() if hasattr(hint, "__metadata__")}
    kinds = {f.name: kinds[f.name] for f in dataclasses.fields(described) if f.name in kinds}
    defaults = {}
    for f in dataclasses.fields(described):
        factory = f.default_factory
        defaults[f.name] = f.default if factory is dataclasses.MISSING else factory()
    return kinds, defaults
