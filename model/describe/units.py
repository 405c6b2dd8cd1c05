"""Numbers with units: "30 deg", "20 mm", "5 N.m/rad" become SI numbers, or a sentence why not.

A unit is written as factors such as `kg`, `mm^2`, `m2` or `s²`, joined by a space, `*`, `.`
or `·`; `/` divides by the factor behind it. Conversion uses exact fractions and one rounding,
so "35 mm" is the same number as 0.035 and "90 deg" the same as math.pi / 2.
"""

from __future__ import annotations

import re
from fractions import Fraction
from math import isinf, isnan, pi
from typing import Any, NamedTuple

from ..errors import DescriptionError


class Unit(NamedTuple):
    """`factor`·π^`turns` in SI, with the exponents of length, mass, time and angle."""

    factor: Fraction
    turns: int
    length: int = 0
    mass: int = 0
    time: int = 0
    angle: int = 0

    def fits(self, other: Unit) -> bool:
        """Whether a value in this unit can fill a field in the other.

        "N.m" is common for N·m/rad, so the angle may be left out where there is mass. Not
        elsewhere: a screw's pitch of "5 mm" would be read as millimetres per turn by most.
        """
        same = self[2:5] == other[2:5]
        return same and (self.angle == other.angle or (self.angle == 0 and other.mass != 0))


def _unit(factor: str, length: int = 0, mass: int = 0, time: int = 0, angle: int = 0, turns: int = 0) -> Unit:
    return Unit(Fraction(factor), turns, length, mass, time, angle)


_FOOT, _POUND_FORCE = Fraction("0.3048"), Fraction("4.4482216152605")
UNITS = {
    "m": _unit("1", length=1),
    "mm": _unit("1/1000", length=1),
    "cm": _unit("1/100", length=1),
    "km": _unit("1000", length=1),
    "um": _unit("1/1000000", length=1),
    "in": _unit("0.0254", length=1),
    "ft": Unit(_FOOT, 0, 1),
    "rad": _unit("1", angle=1),
    "mrad": _unit("1/1000", angle=1),
    "deg": _unit("1/180", angle=1, turns=1),
    "°": _unit("1/180", angle=1, turns=1),
    "turn": _unit("2", angle=1, turns=1),
    "rev": _unit("2", angle=1, turns=1),
    "kg": _unit("1", mass=1),
    "g": _unit("1/1000", mass=1),
    "t": _unit("1000", mass=1),
    "lb": _unit("0.45359237", mass=1),
    "slug": Unit(_POUND_FORCE / _FOOT, 0, 0, 1),
    "s": _unit("1", time=1),
    "ms": _unit("1/1000", time=1),
    "min": _unit("60", time=1),
    "h": _unit("3600", time=1),
    "rpm": _unit("1/30", time=-1, angle=1, turns=1),
    "N": _unit("1", 1, 1, -2),
    "kN": _unit("1000", 1, 1, -2),
    "MN": _unit("1000000", 1, 1, -2),
    "lbf": Unit(_POUND_FORCE, 0, 1, 1, -2),
    "Nm": _unit("1", 2, 1, -2),
    "kNm": _unit("1000", 2, 1, -2),
}
# At most four digits of exponent: fractions are exact, and 10**999999999 fills the memory.
_NUMBER = re.compile(r"\s*([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d{1,4})?)\s*(.*?)\s*", re.DOTALL)
_FACTOR = re.compile(r"\s*([*·⋅./ ]?)\s*([A-Za-z°]+)\s*(?:\^?\s*(-?[1-9])|([²³]))?")
_LONGEST = 60


def parse(text: str) -> Unit | None:
    """The unit written in `text`, None if it is not one; "1" is no unit at all."""
    unit = Unit(Fraction(1), 0)
    place = 0
    while place < len(text) and text != "1":
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


def _converted(text: str, unit: str) -> float:
    found = _NUMBER.fullmatch(text) if len(text) <= _LONGEST else None
    if found is None:
        raise DescriptionError(f"must be a number, not {kind(text)}")
    given, wanted = parse(found[2]), parse(unit)
    assert wanted is not None, unit
    if given is None or (found[2] and not given.fits(wanted)):
        wrong = f"has the unknown unit '{found[2]}'" if given is None else f"can't be in '{found[2]}'"
        advice = "" if unit == "1" else f" in {unit}, or another unit of that kind"
        raise DescriptionError(f"{wrong}; write a plain number{advice}")
    try:
        return float(Fraction(found[1]) * given.factor) * pi**given.turns
    except OverflowError:
        raise DescriptionError(f"is too large: {text}") from None


def like(x: float, present: Any) -> str:
    """The number as text, in the unit of the one that is there now, such as "30 deg"."""
    found = _NUMBER.fullmatch(present) if isinstance(present, str) else None
    unit = parse(found[2]) if found else None
    if found is None or unit is None or not found[2]:
        return number(x)
    return f"{number(x / pi**unit.turns / float(unit.factor))} {found[2]}"


def number(x: float) -> str:
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
