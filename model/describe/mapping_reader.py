"""A mapping of a description file, whose fields are read one by one; every complaint knows its place."""

from collections.abc import Iterable, Mapping
from typing import Any

from ..base.units import kind
from .fields import NEEDED, Around, Field
from .validation import Flaw, Place, field_flaw, nearest

ALONE = Around({}, in_file=True)  # of what depends on nothing else


class Entries:
    """A mapping of the file, with the fields it may have.

    `elsewhere` holds what to say of fields that belong to another form of the same mapping.
    """

    def __init__(
        self,
        values: Any,
        place: Place,
        known: Iterable[str],
        around: Around = ALONE,
        elsewhere: Mapping[str, str] | None = None,
    ) -> None:
        self.place, self.around = place, around
        self.values: dict[str, Any] = {} if values is None else values
        if not isinstance(self.values, dict):
            what = "it" if len(place) == 2 else place[-1] if place else "a description"
            raise Flaw(place, f"{what} must be a mapping of fields, not {kind(values)}")
        names = list(known)
        for key in self.values:
            if key not in names:
                raise self.unknown(key, (elsewhere or {}).get(key) or nearest(key, names))

    def __contains__(self, key: str) -> bool:
        return self.values.get(key) is not None

    def need(self, *keys: str) -> None:
        for key in keys:
            if key not in self:
                raise Flaw((*self.place, key), f"the field '{key}' is missing")

    def unknown(self, key: str, hint: str) -> Flaw:
        return Flaw((*self.place, key), f"there is no field '{key}'; {hint}")

    def flaw(self, key: str, sentence: object) -> Flaw:
        return field_flaw((*self.place, key), sentence)

    def read(self, key: str, field: Field, default: Any = NEEDED) -> Any:
        """The value of a field, the default if it is not there; fields behind it may depend on it."""
        value = default
        if key in self or default is NEEDED:
            self.need(key)
            value = field.check(self.values[key], (*self.place, key), self.around)
        self.around = field.settled(value, self.around)
        return value

    def names(self, key: str) -> dict[str, Any]:
        """A mapping of names, empty if it is not there."""
        value = self.values.get(key)
        if value is not None and not isinstance(value, dict):
            raise self.flaw(key, f"must be a mapping of names, not {kind(value)}")
        return value or {}
