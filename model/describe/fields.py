"""What a field of a description is: its unit, sign, size and help, said once where it is defined.

`mechanism.py` gives every field one of these kinds. A kind knows how its value is checked, in a file or in
Python, changed as a parameter and told in docs/describing.md; the reader, the checks, the paths of
parameters, the writer and the manual's tables are loops over `fields_of`. So a new field is one line of
`mechanism.py`, and a new kind of field is one class here or in `field_kinds.py`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from functools import cache
from math import inf, isfinite
from typing import Any, ClassVar, NamedTuple, get_type_hints

import casadi as ca

from ..joints.types import TYPES, JointType
from .validation import Flaw, Place, as_list, field_flaw, plain_vector

NEEDED: Any = dataclasses.MISSING  # the default of a field that must be given

# Sizes, beside a plain number of components, in the manual's words.
ONE = ""
PER_FREEDOM = "one per degree of freedom, or one for all"
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
ONE_COORDINATE = Condition(
    lambda kind, key: kind.nq == kind.nv == 1,
    "a {type} joint has not one coordinate, so it takes no {key}",
)


class Around(NamedTuple):
    """What a field may depend on: the items before it, the type of its joint, where it is written."""

    items: Mapping[str, Mapping[str, Any]]  # word, such as "body" -> name -> item
    kind: JointType | None = None
    in_file: bool = False  # where numbers may be texts with units
    sensor: str = ""  # the type of the sensor it is of

    def with_items(self, word: str, items: Mapping[str, Any]) -> Around:
        return self._replace(items={**self.items, word: {**self.items.get(word, {}), **items}})


@dataclass(frozen=True)
class Field:
    """A field of any kind."""

    told: ClassVar[str] = ""
    together: ClassVar[str] = ""  # what several numbers must be, beyond each of them

    help: str
    _: KW_ONLY
    otherwise: str = ""  # what leaving it out means, where the default does not say it
    name_in_file: str = ""  # where it differs from the field's own

    def check(self, value: Any, place: Place, around: Around) -> Any:
        """The value as plain Python, or a `Flaw` at `place`."""
        return value

    def settled(self, value: Any, around: Around) -> Around:
        """What the fields behind this one may depend on, once its value is known."""
        return around

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
    parameter_sign: Sign | None = None  # of a parameter, where it is stricter than of a description
    needs: str = ""  # the field without which this one has no effect
    on: str = ""  # the field that names the body this is a point of: drawn, it is read in world axes
    changes_geometry: bool = False  # whether loops must be closed again after it has changed
    advice: str = ""  # ends the sentence that refuses a number of the wrong sign

    @property
    def single(self) -> bool:
        """Whether it is one number and not a vector."""
        return self.size == ONE

    @property
    def follows_joint(self) -> bool:
        """Whether the joint says how many numbers it has."""
        return self.size in (PER_FREEDOM, SPEEDS, COORDINATES)

    def units(self, kind: JointType | None = None) -> tuple[str, ...]:
        """The unit of each component."""
        turn, _, slide = self.unit.partition(" or ")
        if not slide:
            motions = [turn]
        else:
            assert kind is not None
            if self.size == COORDINATES:
                return kind.position_units
            motions = [turn if unit == "rad/s" else slide for unit in kind.speed_units]
            if self.follows_joint:
                return tuple(motions)
        # A joint that both turns and slides has no common unit for these.
        common = motions[0] if len(set(motions)) == 1 else "1"
        return (common,) * (self.size if isinstance(self.size, int) else 1)

    def units_of(self, value: Any, kind: JointType | None) -> tuple[str, ...]:
        """The unit of each component of this value, where the value says how many there are."""
        return self.units(kind)

    def bounds(self, component: int) -> tuple[float, float]:
        """The lowest and highest value of a component, of a parameter too."""
        return self.changed.sign.low, inf

    @property
    def changed(self) -> Quantity:
        """The field as a parameter has it."""
        return replace(self, sign=self.parameter_sign, parameter_sign=None) if self.parameter_sign else self

    def alone(self, component: int, x: Any) -> Any:
        """Whether a component may be x, a number or a symbol, whatever the others are."""
        low, high = self.bounds(component)
        return (x >= low) * (x <= high) * self.changed.sign.fits(x)

    def rule(self, component: int) -> str:
        """What a component must be, in words."""
        low, high = self.bounds(component)
        bounds = NOT_NEGATIVE.words if (low, high) == (0.0, inf) else f"between {low:g} and {high:g}"
        return self.changed.sign.words or bounds

    def fit(self, numbers: Sequence[Any]) -> Any:
        """Whether numbers, or symbols, fit together."""
        return True

    def check(self, value: Any, place: Place, around: Around) -> Any:
        kind, key = around.kind, place[-1]
        foreign = kind is not None and not self.joints.holds(kind, key)
        numbers = () if foreign and around.in_file else self._numbers(value, place, around)
        if kind is not None and foreign:  # in Python it may still be zero
            if around.in_file or any(isfinite(x) and x != 0 for x in numbers):
                other = next((t.name for t in TYPES.values() if key in t.fields), "")
                raise Flaw(place, self.joints.refused.format(type=kind.name, key=key, other=other))
            return 0.0 if self.size == ONE else () if self.follows_joint else numbers
        for number in numbers:
            if not self.sign.fits(number):
                advice = f"; {self.advice}" if self.advice else ""
                raise field_flaw(place, self.sign.refused.format(number) + advice)
        return numbers[0] if self.size == ONE else numbers

    def _numbers(self, value: Any, place: Place, around: Around) -> tuple[float, ...]:
        """As many numbers as there are units; none is none given, where a joint says how many."""
        units = self.units(around.kind)
        if self.size == ONE:
            value = [value]
        elif self.follows_joint:
            items = as_list(value)
            if items == []:
                return ()
            if not units and around.kind is not None:
                raise Flaw(place, f"a {around.kind.name} joint takes no {place[-1]}; remove it")
            if items is None and (len(units) == 1 or self.size == PER_FREEDOM):
                value = [value] * len(units)  # one is enough for all
        return plain_vector(value, place, units if around.in_file else [None] * len(units), self.infinite)

    def changeable(self, item: Any, key: str, kind: JointType | None) -> bool:
        """Whether the field of this item can be a parameter: it counts, and there are numbers in it."""
        if not self.parameter or (kind is not None and not self.joints.holds(kind, key)):
            return False
        if self.needs:
            needed = getattr(item, self.needs)
            if not isinstance(needed, ca.SX) and needed == defaults_of(type(item))[self.needs]:
                return False
        return as_list(getattr(item, key)) != []

    def values(self) -> str:
        size = f"{self.size} numbers" if isinstance(self.size, int) else self.size
        return self.told or ", ".join(words for words in (size, self.sign.words) if words) or "any"


def fields_of(described: Any) -> dict[str, Field]:
    """The fields of a part of the description, by name and in order, each with its kind."""
    return _known(described)[0]


def defaults_of(described: Any) -> dict[str, Any]:
    """The default of each field, `NEEDED` where there is none."""
    return _known(described)[1]


_ADDED: dict[type, dict[str, tuple[Field, Any]]] = {}  # what was added while the program runs


def add_field(described: type, key: str, field: Field, default: Any) -> None:
    """Give a part of the description another field."""
    _ADDED.setdefault(described, {})[key] = (field, default)
    _known.cache_clear()


@cache
def _known(described: Any) -> tuple[dict[str, Field], dict[str, Any]]:
    hints = get_type_hints(described, include_extras=True)
    kinds, defaults = dict[str, Field](), dict[str, Any]()
    for f in dataclasses.fields(described):
        if hasattr(hints[f.name], "__metadata__"):
            kinds[f.name] = hints[f.name].__metadata__[0]
            factory = f.default_factory
            defaults[f.name] = f.default if factory is dataclasses.MISSING else factory()
    for key, (field, default) in _ADDED.get(described, {}).items():
        kinds[key], defaults[key] = field, default
    return kinds, defaults
