"""A flaw in a description: one sentence, and the place it belongs to.

The place is the tuple of keys that leads to it in a description file, so that a mechanism
built in Python gets the same sentence as one read from a file, which adds file and line.
"""

import difflib
from collections.abc import Callable, Iterable, Sequence
from math import inf, isfinite, isnan
from typing import Any, TypeVar

from ..base.errors import DescriptionError
from ..base.thresholds import LARGEST
from ..base.units import kind, quantity

Place = tuple[str, ...]
Made = TypeVar("Made")
MOST_NAMES = 20  # listed in a message


class Flaw(DescriptionError):
    """Something wrong at a place of a description, such as ("bodies", "leg1", "mass").

    The sentence starts with the item (body 'leg1': ...) unless it already says which (`whole`).
    """

    def __init__(self, place: Place, sentence: str, whole: bool = False) -> None:
        self.place, self.sentence = place, sentence
        if len(place) > 1 and not whole:
            sentence = f"{singular(place[0])} '{place[1]}': {sentence}"
        super().__init__(sentence)


def singular(group: str) -> str:
    """One of a group: a body of the bodies, a point mass of the point_masses."""
    word = group.replace("_", " ").removesuffix("es" if group.endswith("sses") else "")
    return (
        word[:-3] + "y" if word.endswith("ies") else word if word.endswith("ss") else word.removesuffix("s")
    )


def nearest(name: Any, known: Iterable[str], where: str = "") -> str:
    """A hint for a name that is not known: the nearest one, or all there are, or `where` to find so many."""
    names = list(dict.fromkeys(known))  # a motor may be called like its joint
    near = difflib.get_close_matches(str(name), names, n=1)
    if near:
        return f"did you mean '{near[0]}'?"
    if not names:
        return "there is none"
    if where and len(names) > MOST_NAMES:
        return where
    return f"known: {', '.join(names[:MOST_NAMES])}{', ...' if len(names) > MOST_NAMES else ''}"


def field_flaw(place: Place, sentence: object) -> Flaw:
    """A flaw whose sentence starts with the field's name, such as `on_parent.position`."""
    return Flaw(place, f"{'.'.join(place[2:] or place[-1:])} {sentence}")


def make_at(place: Place, function: Callable[..., Made], *arguments: Any) -> Made:
    """What the function returns; its complaint becomes one about the field at `place`."""
    try:
        return function(*arguments)
    except DescriptionError as error:
        raise field_flaw(place, error) from None


def plain_number(value: Any, place: Place, infinite: bool = False, unit: str | None = None) -> float:
    """The value as a float, from a text too if it may have a `unit`; no NaN, infinity only if meant."""
    number = make_at(place, quantity, value, unit)
    if isnan(number) or not (infinite or isfinite(number)):
        raise field_flaw(place, f"must be a finite number, not {number}")
    if LARGEST < abs(number) < inf:
        raise field_flaw(
            place, f"must be smaller than {LARGEST:g}, not {number:g}: nothing can be computed with it"
        )
    return number


def as_list(value: Any) -> list[Any] | None:
    """The items of a list, tuple or array; None if it is nothing of the kind."""
    if isinstance(value, str | dict):
        return None
    try:
        return list(value)
    except TypeError:
        return None


def plain_vector(
    value: Any, place: Place, units: Sequence[str | None], infinite: bool = False
) -> tuple[float, ...]:
    """The value as a tuple of floats, one for each of the units (see `plain_number`)."""
    items = as_list(value)
    if items is None or len(items) != len(units):
        wrong = kind(value if items is None else items)
        raise field_flaw(place, f"must be a list of {len(units)} numbers, not {wrong}")
    return tuple(plain_number(item, place, infinite, u) for item, u in zip(items, units, strict=True))


def check_name(what: str, name: Any, known: Iterable[str], place: Place) -> str:
    """The name, if there is a body (or whatever it is to be) of that name."""
    names = sorted(known)
    if not isinstance(name, str) or name not in names:
        raise Flaw(place, f"there is no {what} {kind(name)}; {nearest(name, names)}")
    return name
