"""Numbers with units: "30 deg", "20 mm", "5 N.m/rad" become SI numbers, or a sentence why not.

A unit is written as factors such as `kg`, `mm^2`, `m2` or `s²`, joined by a space, `*`, `.`
or `·`; `/` divides by the factor behind it. Conversion uses exact fractions and one rounding,
so "35 mm" is the same number as 0.035 and "90 deg" the same as math.pi / 2.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from fractions import Fraction
from math import isinf, isnan, pi
from typing import Any, NamedTuple, TypeAlias

from .errors import DescriptionError, SimulationError


class Unit(NamedTuple):
    """`factor`·π^`turns` in SI, with the exponents of length, mass, time, angle and current."""

    factor: Fraction
    turns: int
    length: int = 0
    mass: int = 0
    time: int = 0
    angle: int = 0
    current: int = 0

    def fits(self, other: Unit) -> bool:
        """Whether a value in this unit can fill a field in the other.

        "N.m" is common for N·m/rad, so the angle may be left out where there is mass. Not
        elsewhere: a screw's pitch of "5 mm" would be read as millimetres per turn by most.
        """
        same = self[2:5] == other[2:5] and self.current == other.current
        return same and (self.angle == other.angle or (self.angle == 0 and other.mass != 0))


_FOOT, _POUND_FORCE = Fraction("0.3048"), Fraction("4.4482216152605")
Factors: TypeAlias = Mapping[str, str | int | Fraction]
_LENGTHS: Factors = {
    "m": 1,
    "mm": "1/1000",
    "cm": "1/100",
    "km": 1000,
    "um": "1/1000000",
    "in": "0.0254",
    "ft": _FOOT,
}
_MASSES: Factors = {"kg": 1, "g": "1/1000", "t": 1000, "lb": "0.45359237", "slug": _POUND_FORCE / _FOOT}
_KINDS: dict[tuple[int, ...], Factors] = {  # by the powers of π, length, mass, time, angle and current
    (0, 1, 0, 0, 0): _LENGTHS,
    (0, 0, 1, 0, 0): _MASSES,
    (0, 0, 0, 1, 0): {"s": 1, "ms": "1/1000", "min": 60, "h": 3600},
    (0, 0, 0, -1, 0): {"Hz": 1, "kHz": 1000},
    (0, 0, 0, 0, 1): {"rad": 1, "mrad": "1/1000"},
    (1, 0, 0, 0, 1): {"deg": "1/180", "°": "1/180", "turn": 2, "rev": 2},
    (1, 0, 0, -1, 1): {"rpm": "1/30"},
    (0, 1, 1, -2, 0): {"N": 1, "kN": 1000, "MN": 1000000, "lbf": _POUND_FORCE},
    (0, 2, 1, -2, 0): {"Nm": 1, "kNm": 1000},
    (0, 0, 0, 0, 0, 1): {"A": 1, "mA": "1/1000"},
    (0, 2, 1, -3, 0, -1): {"V": 1, "mV": "1/1000", "kV": 1000},
    (0, 2, 1, -3, 0, -2): {"ohm": 1, "mohm": "1/1000", "kohm": 1000},
    (0, 2, 1, -2, 0, -2): {"H": 1, "mH": "1/1000", "uH": "1/1000000"},
}
UNITS = {
    name: Unit(Fraction(factor), *powers) for powers, unit in _KINDS.items() for name, factor in unit.items()
}
# At most four digits of exponent: fractions are exact, and 10**999999999 fills the memory.
_NUMBER = re.compile(r"\s*([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d{1,4})?)\s*(.*?)\s*", re.DOTALL)
_FACTOR = re.compile(r"\s*([*·⋅./ ]?)\s*([A-Za-z°]+)\s*(?:\^?\s*(-?[1-9])|([²³]))?")
_LONGEST = 60
_POWERS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


def parse_unit(text: str) -> Unit | None:
    """The unit written in `text`, None if it is not one; "1" is no unit at all, "1/s" one over seconds."""
    if len(text) > _LONGEST:
        return None
    unit = Unit(Fraction(1), 0)
    place = 1 if text == "1" or text.startswith("1/") else 0
    while place < len(text):
        found = _FACTOR.match(text, place)
        if found is None or found[2] not in UNITS or (place == 0 and found[1]):
            return None
        power = int(found[3] or {"²": 2, "³": 3}.get(found[4], 1)) * (-1 if found[1] == "/" else 1)
        base = UNITS[found[2]]
        exponents = (a + power * b for a, b in zip(unit[1:], base[1:], strict=True))
        unit = Unit(unit.factor * base.factor**power, *exponents)
        place = found.end()
    return unit


def quantity(value: Any, unit: str | None = None) -> float:
    """The value in SI, from a number or, for a field measured in `unit`, a text such as "20 mm"."""
    if isinstance(value, str) and unit is not None:
        return _converted(value, unit)
    try:
        return float(value if not isinstance(value, bool | str) else "no number")
    except (TypeError, ValueError, RuntimeError, OverflowError):
        raise DescriptionError(f"must be a number, not {kind(value)}") from None


def seconds(value: Any, what: str) -> float:
    """A time in seconds, from a number or a text such as "1 ms"; `what` it is begins the sentence if not."""
    try:
        return quantity(value, "s")
    except DescriptionError as problem:
        raise SimulationError(f"{what} {problem}") from None


def _converted(text: str, unit: str) -> float:
    found = _NUMBER.fullmatch(text) if len(text) <= _LONGEST else None
    if found is None:
        raise DescriptionError(f"must be a number, not {kind(text)}")
    given, wanted = parse_unit(found[2]), parse_unit(unit)
    assert wanted is not None, unit
    if given is None or (found[2] and not given.fits(wanted)):
        wrong = f"has the unknown unit '{found[2]}'" if given is None else f"can't be in '{found[2]}'"
        advice = "" if unit == "1" else f" in {unit}, or another unit of that kind"
        raise DescriptionError(f"{wrong}; write a plain number{advice}")
    try:
        return float(Fraction(found[1]) * given.factor) * pi**given.turns
    except OverflowError:
        raise DescriptionError(f"is too large: {text}") from None


def in_unit(unit: str, wanted: Iterable[str]) -> tuple[str, float]:
    """The unit in which a quantity is to be shown, and how large it is in SI.

    That is the one of the `wanted` units of its kind, or one of them per second, so that "deg" serves speeds
    too; the quantity's own where there is none.
    """
    own, best = parse_unit(unit), (unit, 1.0, 99)
    for text in wanted:
        other = parse_unit(text)
        if other is None or not text.strip():
            raise DescriptionError(f"there is no unit '{text}'; units are such as deg, mm, rpm or N.mm")
        if own is None:
            continue
        rate = other.time - own.time
        if other._replace(factor=own.factor, turns=own.turns, time=own.time) == own and 0 <= rate < best[2]:
            size = float(other.factor) * pi**other.turns / (float(own.factor) * pi**own.turns)
            best = text + ("" if not rate else f"/s{rate if rate > 1 else ''}"), size, rate
    return best[:2]


def in_si(unit: str) -> bool:
    """Whether a unit is what numbers are in unless something is said."""
    known = parse_unit(unit)
    return known is None or (known.factor == 1 and not known.turns)


def typeset(unit: str) -> str:
    """A unit as people write it, N·m/s²; empty for none."""
    return "" if unit == "1" else unit.replace(".", "·").translate(_POWERS)


def like(x: float, present: Any) -> str:
    """The number as text, in the unit of the one that is there now, such as "30 deg"."""
    found = _NUMBER.fullmatch(present) if isinstance(present, str) else None
    unit = parse_unit(found[2]) if found else None
    if found is None or unit is None or not found[2]:
        return shortest_text(x)
    return f"{shortest_text(x / pi**unit.turns / float(unit.factor))} {found[2]}"


def shortest_text(x: float) -> str:
    """The shortest text that is read as this number."""
    return ".nan" if isnan(x) else ("-.inf" if x < 0 else ".inf") if isinf(x) else repr(x).removesuffix(".0")


def kind(value: Any) -> str:
    """What a wrong value is, in words short enough for a message."""
    if value is None:
        return "nothing"
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list | tuple):
        return f"a list of {len(value)}"
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return f"'{text}'" if len(text) <= 40 else f"'{text[:37]}...'"
