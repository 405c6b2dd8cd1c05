"""Arithmetic on named numbers of a description: `=arm / 2 + 10 mm`; parsed here, never evaluated as code.

A value is a number with the exponents of length, mass, time, angle and current. A sum needs equal ones, a
function of an angle an angle or none, and what comes out must fit the field it is for. A number without a
unit is plain: it is read in the unit of its field, as everywhere in a description.
"""

import math
import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from ..base.errors import DescriptionError
from ..base.units import UNITS, parse_unit
from .validation import nearest

SIGN = "="  # begins an expression
_LONGEST, _DEEPEST = 200, 20  # characters, and brackets within brackets
_TOKEN = re.compile(r"\s*(?:(\d+\.?\d*(?:[eE][-+]?\d{1,3})?|\.\d+)|([A-Za-z_]\w*)|(\*\*|[-+*/^(),]))")
_UNIT = re.compile(r"\s*([A-Za-z°]+(?:\^?-?[1-9](?!\w))?(?:[./][A-Za-z]+(?:\^?-?[1-9](?!\w))?)*)")
_BASES = ("m", "kg", "s", "rad", "A")
Powers = tuple[int, ...]
_NONE: Powers = (0,) * 5
_ANGLE: Powers = (0, 0, 0, 1, 0)


class Measure(NamedTuple):
    """A number in SI and the exponents of its unit."""

    value: float
    powers: Powers = _NONE

    def text(self) -> float | str:
        """As a description has it: a plain number, or one with its unit."""
        unit = ".".join(f"{base}^{n}" for base, n in zip(_BASES, self.powers, strict=True) if n)
        return f"{self.value!r} {unit}" if unit else self.value


def evaluate(text: str, known: Mapping[str, Measure]) -> Measure:
    """What an expression is, or a sentence that says what is wrong with it."""
    if len(text) > _LONGEST:
        raise DescriptionError(f"is longer than {_LONGEST} characters")
    found = _Parser(text, known)
    value = found.sum(0)
    if found.rest().strip():
        raise DescriptionError(f"can't be read from '{found.rest().strip()[:20]}' on")
    if not math.isfinite(value.value):
        raise DescriptionError("is no finite number")
    return value


def measure(value: Any, known: Mapping[str, Measure]) -> Measure:
    """A number, a text with a unit, or an expression."""
    if isinstance(value, str):
        return evaluate(value.removeprefix(SIGN), known)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise DescriptionError("must be a number, such as 0.35, '350 mm' or '=arm / 2'")
    return Measure(float(value))


class _Parser:
    """Recursive descent: sum of products of powers of numbers, names, functions and brackets."""

    def __init__(self, text: str, known: Mapping[str, Measure]):
        self.text, self.at, self.known = text, 0, known

    def rest(self) -> str:
        return self.text[self.at :]

    def _peek(self, *marks: str) -> str:
        found = _TOKEN.match(self.text, self.at)
        return found[3] if found and found[3] in marks else ""

    def _take(self, *marks: str) -> str:
        mark = self._peek(*marks)
        if mark:
            self.at = _TOKEN.match(self.text, self.at).end()  # type: ignore[union-attr]
        return mark

    def sum(self, depth: int) -> Measure:
        value = self._product(depth)
        while mark := self._take("+", "-"):
            other = self._product(depth)
            if value.powers != other.powers:
                raise DescriptionError(f"adds {_named(value)} and {_named(other)}")
            value = Measure(value.value + (other.value if mark == "+" else -other.value), value.powers)
        return value

    def _product(self, depth: int) -> Measure:
        value = self._signed(depth)
        while mark := self._take("*", "/"):
            other, sign = self._signed(depth), 1 if mark == "*" else -1
            if mark == "/" and other.value == 0:
                raise DescriptionError("divides by zero")
            powers = tuple(a + sign * b for a, b in zip(value.powers, other.powers, strict=True))
            value = Measure(value.value * other.value if sign > 0 else value.value / other.value, powers)
        return value

    def _signed(self, depth: int) -> Measure:
        if depth > _DEEPEST:
            raise DescriptionError("is nested too deep")
        if mark := self._take("-", "+"):
            value = self._signed(depth + 1)
            return Measure(-value.value, value.powers) if mark == "-" else value
        value = self._atom(depth)
        if self._take("^", "**"):
            exponent = self._signed(depth + 1)
            if exponent.powers != _NONE or (value.powers != _NONE and not exponent.value.is_integer()):
                raise DescriptionError("takes a power that is no plain whole number")
            return _power(value, exponent.value)
        return value

    def _atom(self, depth: int) -> Measure:
        found = _TOKEN.match(self.text, self.at)
        if found is None:
            raise DescriptionError(
                "ends too early" if not self.rest().strip() else f"has '{self.rest()[:20]}'"
            )
        self.at = found.end()
        if found[1]:
            return self._with_unit(float(found[1]))
        if found[2]:
            return self._name(found[2], depth)
        if found[3] != "(":
            raise DescriptionError(f"has '{found[3]}' where a number or a name must be")
        value = self.sum(depth + 1)
        self._close()
        return value

    def _close(self) -> None:
        if not self._take(")"):
            raise DescriptionError("lacks a closing bracket")

    def _with_unit(self, number: float) -> Measure:
        """A number and the unit behind it; what is no unit is left to be read."""
        found = _UNIT.match(self.text, self.at)
        for text in _shorter(found[1]) if found else ():
            unit = parse_unit(text)
            if unit is not None and text.split("/")[0].split(".")[0].rstrip("^-0123456789") in UNITS:
                self.at = found.start(1) + len(text)  # type: ignore[union-attr]
                return Measure(number * float(unit.factor) * math.pi**unit.turns, tuple(unit[2:]))
        return Measure(number)

    def _name(self, name: str, depth: int) -> Measure:
        if name in _FUNCTIONS:
            if not self._take("("):
                raise DescriptionError(f"lacks a bracket behind '{name}'")
            given = [self.sum(depth + 1)]
            while self._take(","):
                given.append(self.sum(depth + 1))
            self._close()
            return _call(name, given)
        if name == "pi":
            return Measure(math.pi)
        if name not in self.known:
            raise DescriptionError(
                f"uses '{name}', which is not among the numbers; {nearest(name, self.known)}"
            )
        return self.known[name]


def _shorter(text: str) -> list[str]:
    """A unit and its beginnings, the longest first: of `mm/arm` only `mm` is one."""
    cuts = [k for k, c in enumerate(text) if c in "./"]
    return [text, *(text[:k] for k in reversed(cuts))]


def _power(value: Measure, exponent: float) -> Measure:
    try:
        result = value.value**exponent
    except (ZeroDivisionError, OverflowError):
        raise DescriptionError("takes a power that has no value") from None
    if isinstance(result, complex):
        raise DescriptionError("takes a root of a negative number")
    return Measure(result, tuple(round(n * exponent) for n in value.powers))


def _named(value: Measure) -> str:
    text = Measure(1.0, value.powers).text()
    return f"a quantity in {str(text).split(' ', 1)[1]}" if isinstance(text, str) else "a plain number"


_FUNCTIONS: dict[str, tuple[int, Callable[..., float]]] = {
    "sqrt": (1, math.sqrt),
    "abs": (1, abs),
    "min": (2, min),
    "max": (2, max),
    "hypot": (2, math.hypot),
    "sin": (1, math.sin),
    "cos": (1, math.cos),
    "tan": (1, math.tan),
    "asin": (1, math.asin),
    "acos": (1, math.acos),
    "atan": (1, math.atan),
    "atan2": (2, math.atan2),
}


def _call(name: str, given: list[Measure]) -> Measure:
    """A function of numbers, with the unit that it has."""
    count, function = _FUNCTIONS[name]
    if len(given) != count:
        raise DescriptionError(f"gives {name} {len(given)} numbers, not {count}")
    powers = given[0].powers
    if any(x.powers != powers for x in given):
        raise DescriptionError(f"gives {name} {' and '.join(map(_named, given))}")
    if name == "sqrt":
        if any(n % 2 for n in powers):
            raise DescriptionError(f"takes the root of {_named(given[0])}")
        powers = tuple(n // 2 for n in powers)
    elif name in ("sin", "cos", "tan"):
        if powers not in (_NONE, _ANGLE):
            raise DescriptionError(f"takes the {name} of {_named(given[0])}, which is no angle")
        powers = _NONE
    elif name in ("asin", "acos", "atan", "atan2"):
        if name != "atan2" and powers != _NONE:
            raise DescriptionError(f"takes the {name} of {_named(given[0])}")
        powers = _ANGLE
    try:
        return Measure(float(function(*(x.value for x in given))), powers)
    except ValueError:
        raise DescriptionError(f"takes the {name} of {given[0].value:g}, which has none") from None
