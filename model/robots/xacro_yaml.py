"""YAML files that xacro files load: plain values by YAML 1.1, as xacro reads them; tags for units."""

import re
from collections.abc import Callable
from math import pi
from pathlib import Path
from typing import Any

from ..base.errors import DescriptionError
from ..describe.validation import Place
from ..describe.yaml_text import Values, parse, text_of

UNITS = {
    **{"!radians": 1.0, "!degrees": pi / 180},
    **{"!meters": 1.0, "!millimeters": 0.001, "!foot": 0.3048, "!inches": 0.0254},
}
_INTEGER = re.compile(r"([-+]?)(?:0b([01_]+)|0x([\da-fA-F_]+)|0([0-7_]+)|(0|[1-9][\d_]*))", re.ASCII)
_FLOAT = re.compile(
    r"[-+]?(?:\d[\d_]*\.[\d_]*|\.\d[\d_]*)(?:[eE][-+]\d+)?|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)", re.ASCII
)
_WORDS = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **{form: True for word in ("yes", "on", "true") for form in (word, word.title(), word.upper())},
    **{form: False for word in ("no", "off", "false") for form in (word, word.title(), word.upper())},
}


def read_yaml(path: Path, number: Callable[[str], float]) -> Any:
    """The values of a file; `number` evaluates what a unit stands before."""

    class XacroValues(Values):
        def scalar(self, event: Any) -> Any:
            if event.tag in UNITS:
                return number(event.value) * UNITS[event.tag]
            if event.tag is None and event.implicit[0]:
                return plain(event.value)
            return super().scalar(event)

        def new_name(self, event: Any, place: Place) -> str:
            return str(event.value)  # the last of two counts

    try:
        return parse(text_of(path), XacroValues).values
    except DescriptionError as error:
        raise DescriptionError(f"{path}: {error}") from None


def plain(text: str) -> Any:
    """A scalar without quotes: YAML 1.1 knows octal numbers and `yes`, and no exponent without a sign."""
    if text in _WORDS:
        return _WORDS[text]
    if found := _INTEGER.fullmatch(text):
        sign, *digits = found.groups()
        base, word = next((b, d) for b, d in zip((2, 16, 8, 10), digits, strict=True) if d is not None)
        return int(f"{sign}{word.replace('_', '') or 0}", base)
    if _FLOAT.fullmatch(text):
        return float(re.sub(r"\.(?=[inIN])", "", text.replace("_", "")))
    return text
