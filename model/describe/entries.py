"""Fields of a description file, read one by one; every complaint knows its place."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING
from math import isfinite, isnan
from typing import Any, TypeVar

from ..errors import DescriptionError
from .drawing import Vector
from .flaws import Flaw, Place, nearest
from .units import kind, quantity

Default = TypeVar("Default")
NEEDED: Any = MISSING  # the default of a field that must be given
_DIRECTIONS = {
    f"{sign}{name}": tuple((-1.0 if sign == "-" else 1.0) * (k == n) + 0.0 for k in range(3))
    for n, name in enumerate("xyz")
    for sign in ("", "+", "-")
}


class Entries:
    """A mapping of the file, with the fields it may have.

    `elsewhere` holds what to say of fields that belong to another form of the same mapping.
    """

    def __init__(
        self, values: Any, place: Place, known: Iterable[str], elsewhere: Mapping[str, str] | None = None
    ) -> None:
        self.place = place
        self.values: dict[str, Any] = {} if values is None else values
        what = "it" if len(place) == 2 else place[-1] if place else "a description"
        if not isinstance(self.values, dict):
            raise Flaw(place, f"{what} must be a mapping of fields, not {kind(values)}")
        names = list(known)
        for key in self.values:
            if key not in names:
                hint = (elsewhere or {}).get(key) or nearest(key, names)
                raise self.unknown(key, hint)

    def __contains__(self, key: str) -> bool:
        return self.values.get(key) is not None

    def need(self, *keys: str) -> None:
        for key in keys:
            if key not in self:
                raise Flaw((*self.place, key), f"the field '{key}' is missing")

    def unknown(self, key: str, hint: str) -> Flaw:
        return Flaw((*self.place, key), f"there is no field '{key}'; {hint}")

    def flaw(self, key: str, sentence: object) -> Flaw:
        return Flaw((*self.place, key), f"{key} {sentence}")

    def number(self, key: str, unit: str, default: Any = NEEDED, infinite: bool = False) -> Any:
        if key not in self and default is not NEEDED:
            return default
        self.need(key)
        return self._quantity(key, self.values[key], unit, infinite)

    def vector(self, key: str, unit: str, default: Any = NEEDED) -> Any:
        """Three numbers."""
        if key not in self and default is not NEEDED:
            return default
        self.need(key)
        return self.listed(key, (unit,) * 3)

    def listed(self, key: str, units: Sequence[str], infinite: bool = False) -> Vector:
        """A list of numbers, one for each unit."""
        return self._listed(key, self.values[key], units, infinite)

    def rows(self, key: str, unit: str) -> list[Vector]:
        """A list of three rows of three numbers."""
        return [self._listed(key, row, (unit,) * 3) for row in self.values[key]]

    def each(self, key: str, units: Sequence[str], default: Any = NEEDED, infinite: bool = False) -> Any:
        """A list with a unit for each number, or one number; `check` decides on its length."""
        if key not in self and default is not NEEDED:
            return default
        self.need(key)
        value = self.values[key]
        if not isinstance(value, list):
            return self._quantity(key, value, units[0] if len(set(units)) == 1 else "1", infinite)
        padded = (*units, *["1"] * (len(value) - len(units)))
        return tuple(
            self._quantity(key, x, u, infinite) for x, u in zip(value, padded[: len(value)], strict=True)
        )

    def direction(self, key: str) -> Vector | None:
        """Three numbers, or one of x, y, z, -x, -y, -z."""
        if key not in self:
            return None
        value = self.values[key]
        if isinstance(value, str) and value in _DIRECTIONS:
            return _DIRECTIONS[value]
        direction = self._listed(key, value, ("1",) * 3)
        if not any(direction):
            raise self.flaw(key, "must not be zero, since it is a direction")
        return direction

    def text(self, key: str, default: Any = NEEDED) -> Any:
        if key not in self and default is not NEEDED:
            return default
        self.need(key)
        if not isinstance(self.values[key], str):
            raise self.flaw(key, f"must be a word, not {kind(self.values[key])}")
        return self.values[key]

    def flag(self, key: str, default: Default) -> bool | Default:
        if key not in self:
            return default
        if not isinstance(self.values[key], bool):
            raise self.flaw(key, f"must be true or false, not {kind(self.values[key])}")
        return self.values[key]

    def names(self, key: str) -> dict[str, Any]:
        """A mapping of names, empty if it is not there."""
        value = self.values.get(key)
        if value is not None and not isinstance(value, dict):
            raise self.flaw(key, f"must be a mapping of names, not {kind(value)}")
        return value or {}

    def _listed(self, key: str, value: Any, units: Sequence[str], infinite: bool = False) -> Vector:
        if not isinstance(value, list) or len(value) != len(units):
            raise self.flaw(key, f"must be a list of {len(units)} numbers, not {kind(value)}")
        return tuple(self._quantity(key, x, u, infinite) for x, u in zip(value, units, strict=True))

    def _quantity(self, key: str, value: Any, unit: str, infinite: bool = False) -> float:
        try:
            number = quantity(value, unit)
        except DescriptionError as error:
            raise self.flaw(key, error) from None
        if isnan(number) or not (infinite or isfinite(number)):
            raise self.flaw(key, f"must be a finite number, not {number}")
        return number
