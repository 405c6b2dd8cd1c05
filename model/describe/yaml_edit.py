"""Changing numbers within a YAML text: everything else stays as it was typed, comments and all."""

from collections.abc import Sequence
from math import isclose
from typing import Any

from ..base.thresholds import REWRITTEN
from ..base.units import like, quantity
from .validation import Place
from .yaml_text import parse, write_value


def near(x: float, y: float, reach: float) -> bool:
    """Whether two numbers differ by rounding only, of what is measured as far as `reach`."""
    return isclose(x, y, rel_tol=REWRITTEN, abs_tol=REWRITTEN * reach)


class NotInPlace(Exception):
    """A change that is more than other numbers at the same places."""


class Edits:
    """Changes to one text, collected by `put` and `add`, and made all at once by `text`."""

    def __init__(self, text: str) -> None:
        self._text = text
        self.values, self._spots = parse(text)
        self.reach = 0.0  # how far from the origin numbers of the text are measured
        self._changes: list[tuple[int, int, str]] = []
        self._added: dict[Place, dict[str, Any]] = {}

    def __contains__(self, place: Place) -> bool:
        return self.get(place) is not None

    def get(self, place: Place) -> Any:
        """The value at a place, None if there is none."""
        value = self.values
        for key in place:
            value = value[int(key) - 1] if isinstance(value, list) else (value or {}).get(key)
        return value

    def put(self, place: Place, value: Any, units: Sequence[str]) -> None:
        """Set a number, or several with a unit for each, in the unit they have now; if new, add it."""
        present = self.get(place)
        several = isinstance(value, tuple)
        if present is None:
            self.add(place, value)
        elif several and isinstance(present, list) and len(present) == len(value):
            for k, x in enumerate(value):
                self.put((*place, str(k + 1)), x, units[k : k + 1])
        elif several or isinstance(present, dict | list):
            self._change(place, write_value(value))
        elif not near(quantity(present, units[0]), value, self.reach):
            self._change(place, like(value, present))

    def add(self, place: Place, value: Any) -> None:
        """A field behind the others of its mapping, which is added too if it is not there."""
        *within, key = place
        if tuple(within) in self:
            self._added.setdefault(tuple(within), {})[key] = value
        else:
            self._added.setdefault(tuple(within[:-1]), {}).setdefault(within[-1], {})[key] = value

    def text(self) -> str:
        text = self._text
        insertions = [self._insertion(place, fields) for place, fields in self._added.items()]
        for start, end, new in sorted([*self._changes, *insertions], reverse=True):
            text = text[:start] + new + text[end:]
        return text

    def _change(self, place: Place, new: str) -> None:
        spot = self._spots.get(place)
        if spot is None or self._text[spot.start] == "&":
            raise NotInPlace  # it stands elsewhere, or others repeat it
        self._changes.append((spot.start, spot.end, new))

    def _insertion(self, place: Place, fields: dict[str, Any]) -> tuple[int, int, str]:
        spot = self._spots.get(place)
        if spot is None or spot.last is None or self._text[spot.start] in "*&":
            raise NotInPlace
        pairs = [f"{key}: {write_value(value)}" for key, value in fields.items()]
        if spot.column is None:
            return spot.last, spot.last, "".join(f", {pair}" for pair in pairs)
        line_end = self._text.find("\n", spot.last)
        at = len(self._text) if line_end < 0 else line_end
        indent = "\n" + " " * spot.column
        return at, at, "".join(indent + pair for pair in pairs)
