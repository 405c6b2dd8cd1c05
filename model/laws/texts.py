"""Laws written as texts, such as `sine(amplitude=5, frequency=2 Hz)`, as a command line has them.

A text is a number with a unit, a column of a table, `motion.csv:torque`, or a name with arguments, which
may be laws again:

    law      = number | FILE.csv ':' COLUMN | NAME '(' [argument {',' argument}] ')'
    argument = [KEY '='] (law | number | word | '[' number {',' number} ']')

Only these are understood, and nothing is evaluated: names and arguments are those of the tables below, and
numbers are read as a description's are.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from ..base.errors import DescriptionError
from ..base.units import quantity
from ..describe.validation import nearest
from . import basic, tables
from .law import Law

LONGEST, DEEPEST = 4000, 20  # characters of a text, laws within laws
_NAME = re.compile(r"\s*([A-Za-z_]\w*)\s*\(")
_KEY = re.compile(r"\s*([A-Za-z_]\w*)\s*=(?!=)")
_QUOTED = re.compile(r"""\s*(?:'([^']*)'|"([^"]*)")\s*""")
_PLAIN = re.compile(r"[^,()\[\]]*")
_COLUMN = re.compile(r"(.+\.(?:csv|CSV)):(.+)", re.DOTALL)


@dataclass(frozen=True)
class Call:
    """A name with arguments, each with its key if it has one; values are texts, lists of texts, or calls."""

    name: str
    arguments: tuple[tuple[str, Any], ...]


# -- what arguments are --------------------------------------------------------------------------
VALUE, RATE, TIME, FREQUENCY, ANGLE = "value", "rate", "time", "frequency", "angle"
POWERS, WORD, LAW = "powers", "word", "law"


class Form(NamedTuple):
    """A law by name: what makes it, and what its arguments are."""

    make: Callable[..., Law]
    arguments: Mapping[str, str]

    def usage(self, name: str) -> str:
        """How it is written."""
        if self.arguments.get("laws"):
            return f"{name}(LAW, LAW, …)"
        shown = (f"{key}=…" if key in self.needed() else f"[{key}=…]" for key in self.arguments)
        return f"{name}({', '.join(shown)})"

    def needed(self) -> list[str]:
        known = inspect.signature(self.make).parameters
        return [key for key in self.arguments if known[key].default is inspect.Parameter.empty]


FORMS: dict[str, Form] = {
    "constant": Form(basic.constant, {"value": VALUE}),
    "sine": Form(basic.sine, {"amplitude": VALUE, "frequency": FREQUENCY, "phase": ANGLE, "offset": VALUE}),
    "step": Form(basic.step, {"to": VALUE, "at": TIME, "start": VALUE, "rise": TIME}),
    "ramp": Form(basic.ramp, {"rate": RATE, "start": VALUE, "at": TIME, "until": TIME}),
    "polynomial": Form(basic.polynomial, {"coefficients": POWERS}),
    "chirp": Form(
        basic.chirp,
        {
            "amplitude": VALUE,
            "begin": FREQUENCY,
            "end": FREQUENCY,
            "over": TIME,
            "phase": ANGLE,
            "offset": VALUE,
        },
    ),
    "trapezoid": Form(
        basic.trapezoid, {"to": VALUE, "at": TIME, "rise": TIME, "hold": TIME, "fall": TIME, "start": VALUE}
    ),
    "table": Form(
        tables.read_table,
        {"path": WORD, "column": WORD, "time": WORD, "interpolation": WORD, "outside": WORD},
    ),
    "sum": Form(basic.added, {"laws": LAW}),
}


def law(text: str, unit: str = "1") -> Law:
    """The law that a text describes, of a quantity measured in `unit`; or one sentence on what is wrong."""
    return make_law(parse_law(text), unit).named(" ".join(text.split()))


def make_law(found: Any, unit: str) -> Law:
    """The law of a parsed text."""
    if isinstance(found, str):
        column = _COLUMN.fullmatch(found.strip())
        if column:
            return tables.read_table(column[1], column[2].strip(), unit)
        if found.lower().endswith(".csv"):
            raise DescriptionError(f"name the column of the table as well, such as '{found}:torque'")
        return basic.constant(number_of(found, unit, "a law"))
    if not isinstance(found, Call):
        raise DescriptionError("a law is a number or a name with arguments, not a list")
    if found.name not in FORMS:
        raise DescriptionError(f"there is no law '{found.name}'; {nearest(found.name, FORMS)}")
    form = FORMS[found.name]
    if "laws" in form.arguments:
        return form.make(*(make_law(value, unit) for _, value in unnamed(found)))
    given = {
        key: argument(value, form.arguments[key], unit, f"{found.name}: {key}")
        for key, value in named(found, form.arguments, form.needed(), form.usage(found.name)).items()
    }
    return form.make(**given, **({"unit": unit} if found.name == "table" else {}))


def unnamed(call: Call) -> tuple[tuple[str, Any], ...]:
    for key, _ in call.arguments:
        if key:
            raise DescriptionError(f"{call.name}: there is no argument '{key}'; give laws, without names")
    return call.arguments


def named(call: Call, known: Mapping[str, str], needed: list[str], usage: str) -> dict[str, Any]:
    """The arguments by name: those without one are the first ones in order."""
    given: dict[str, Any] = {}
    for place, (key, value) in enumerate(call.arguments):
        if not key and place >= len(known):
            raise DescriptionError(f"{call.name} takes {len(known)} argument(s) at most: {usage}")
        if not key and given and list(given) != list(known)[:place]:
            raise DescriptionError(f"{call.name}: name every argument after a named one: {usage}")
        key = key or list(known)[place]
        if key not in known:
            raise DescriptionError(f"{call.name}: there is no argument '{key}'; {nearest(key, known)}")
        if key in given:
            raise DescriptionError(f"{call.name}: the argument '{key}' is given twice")
        given[key] = value
    for key in needed:
        if key not in given:
            raise DescriptionError(f"{call.name}: the argument '{key}' is missing: {usage}")
    return given


def argument(value: Any, what: str, unit: str, where: str) -> Any:
    """A value as its argument has it: a number in SI, a word, or a law."""
    if what == LAW:
        return make_law(value, unit)
    if what == POWERS:
        items = value if isinstance(value, list) else [value]
        return [number_of(item, per_time(unit, k), where) for k, item in enumerate(items)]
    if not isinstance(value, str):
        raise DescriptionError(f"{where} must be {'a word' if what == WORD else 'a number'}")
    if what == WORD:
        return value.strip()
    units = {VALUE: unit, RATE: per_time(unit, 1), TIME: "s", FREQUENCY: "s-1", ANGLE: "rad"}
    return number_of(value, units[what], where)


def per_time(unit: str, power: int) -> str:
    """A unit per second, or per s^power."""
    return unit if not power else f"s-{power}" if unit == "1" else unit + "/s" * power


def number_of(text: Any, unit: str, where: str) -> float:
    """A number in SI from a text with or without unit, or a sentence that begins with `where`."""
    try:
        return quantity(text if isinstance(text, str) else None, unit)
    except DescriptionError as error:
        raise DescriptionError(f"{where} {error}") from None


# -- texts ---------------------------------------------------------------------------------------


def parse_law(text: str) -> Any:
    """A text as a call, or as itself where it is none."""
    if len(text) > LONGEST:
        raise DescriptionError(f"a law of {len(text)} characters is too long; put it into a table")
    value, at = _value(text, 0, 0)
    if text[at:].strip():
        raise DescriptionError(
            f"'{text[:at].strip()}' is followed by '{text[at:].strip()[:40]}'; remove that"
        )
    return value


def _value(text: str, at: int, depth: int) -> tuple[Any, int]:
    """What begins there, and where it ends."""
    if depth > DEEPEST:
        raise DescriptionError(f"laws are within laws more than {DEEPEST} times; write them apart")
    begins = _NAME.match(text, at)
    if begins:
        arguments, at = _list(text, begins.end(), ")", depth)
        return Call(begins[1], tuple(arguments)), at
    if text[at:].lstrip().startswith("["):
        items, at = _list(text, text.index("[", at) + 1, "]", depth)
        return [value for _, value in items], at
    quoted = _QUOTED.match(text, at)
    if quoted:
        return quoted[1] if quoted[1] is not None else quoted[2], quoted.end()
    plain = _PLAIN.match(text, at)
    assert plain is not None
    if not plain[0].strip():
        raise DescriptionError(f"something is missing after '{text[:at].strip()[-40:]}'")
    return plain[0].strip(), plain.end()


def _list(text: str, at: int, end: str, depth: int) -> tuple[list[tuple[str, Any]], int]:
    """Values with or without keys up to the closing bracket."""
    found: list[tuple[str, Any]] = []
    while True:
        rest = text[at:].lstrip()
        if rest.startswith(end) and (not found or text[:at].rstrip()[-1:] != ","):
            return found, len(text) - len(rest) + 1
        if found and text[:at].rstrip()[-1:] != ",":
            raise DescriptionError(f"a '{end}' or a comma is missing after '{text[:at].strip()[-40:]}'")
        key = _KEY.match(text, at) if end == ")" else None
        value, at = _value(text, key.end() if key else at, depth + 1)
        found.append((key[1] if key else "", value))
        comma = re.match(r"\s*,", text[at:])
        at += comma.end() if comma else 0
