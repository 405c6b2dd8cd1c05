"""All that is wrong with a description, not only the first thing.

A description that is refused is mended, just so far that its next flaw shows: the value at the flaw's place
is left out, or replaced by the first of a few plain ones with which the complaint about this place ends.
"""

from __future__ import annotations

import copy
import difflib
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from ..base.errors import DescriptionError
from .mechanism import GROUND, Mechanism
from .reader import build
from .validation import Flaw, Place
from .yaml_text import parse

MOST = 50  # problems that are told
# What stands in for a value that is refused, tried in this order.
_PLAIN: tuple[Any, ...] = (1.0, [1.0, 0.0, 0.0], "x", {}, [1.0, 1.0], [-1.0, 1.0], "revolute", GROUND)
_STAND_IN = "stands_in_"  # begins names of joints that are added to go on


class Finding(NamedTuple):
    """A sentence, and the line it is about if there is one."""

    line: int | None
    sentence: str


class Findings(NamedTuple):
    """Problems in the order of their lines; the mechanism, if there are none; whether these are all."""

    problems: tuple[Finding, ...]
    mechanism: Mechanism | None
    complete: bool


def find_problems(text: str, file: str, check: Callable[[Mechanism], Mechanism]) -> Findings:
    """Every problem of a description that can be told apart from the others."""
    try:
        values, spots = parse(text)
    except DescriptionError as error:  # no YAML: nothing behind it can be read
        return Findings((Finding(None, str(error)),), None, False)

    def line(place: Place) -> int | None:
        while place and place not in spots:
            place = place[:-1]
        return spots[place].line if place else None

    def first(candidate: Any) -> tuple[Flaw | DescriptionError | None, Mechanism | None]:
        try:
            return None, check(build(candidate, file)[0])
        except DescriptionError as error:
            return error, None

    found: list[Finding] = []
    touched: set[Place] = set()  # places where something stands in: what is said of it is our own fault
    flaw, mechanism = first(values)
    for _ in range(2 * MOST):
        if flaw is None or len(found) == MOST:
            break
        place = flaw.place if isinstance(flaw, Flaw) else ()
        if place not in touched and not any(word.startswith(_STAND_IN) for word in place):
            found.append(Finding(line(place), str(flaw)))
        touched.add(place)
        mended = next(_mended(values, flaw, first), None)
        if mended is None:
            break
        values, flaw = mended
    ordered = tuple(sorted(found, key=lambda p: p.line or 0))
    return Findings(ordered, mechanism, flaw is None)


def _mended(
    values: Any, flaw: DescriptionError, first: Callable[[Any], tuple[Any, Any]]
) -> Iterator[tuple[Any, DescriptionError | None]]:
    """Values without this flaw, and the flaw they have then."""
    place = flaw.place if isinstance(flaw, Flaw) else ()
    for candidate in _candidates(values, place):
        later, _ = first(candidate)
        if later is None or (str(later) != str(flaw) and not _same(later, place)):
            yield candidate, later


def _same(flaw: DescriptionError, place: Place) -> bool:
    return isinstance(flaw, Flaw) and flaw.place[: len(place)] == place


def _candidates(values: Any, place: Place) -> Iterator[Any]:
    """The values with something else, or nothing, at a place."""
    if not place or not isinstance(values, dict):
        return
    names = [
        key for group in ("bodies", "joints") for key in (values.get(group) or {}) if isinstance(key, str)
    ]
    for stand_in in (_LEFT_OUT, *_near(_at(values, place), names), *_PLAIN, *names):
        changed = copy.deepcopy(values)
        inside = _at(changed, place[:-1])
        if not isinstance(inside, dict):
            break
        if stand_in is _LEFT_OUT:
            if place[-1] not in inside or (len(place) < 3 and place[0] in ("bodies", "joints")):
                continue
            del inside[place[-1]]
        else:
            inside[place[-1]] = stand_in
        yield changed
    if len(place) == 2 and place[0] == "bodies":  # nothing holds it
        changed = copy.deepcopy(values)
        joints = changed.setdefault("joints", {})
        if isinstance(joints, dict):
            free = {"type": "free", "parent": GROUND, "child": place[1], "at": [0.0, 0.0, 0.0]}
            joints[f"{_STAND_IN}{place[1]}"] = free
            yield changed
    if len(place) >= 2 and place[0] not in ("bodies",):  # without the whole item
        changed = copy.deepcopy(values)
        group = changed.get(place[0])
        if isinstance(group, dict) and group.pop(place[1], None) is not None:
            yield changed


_LEFT_OUT = object()


def _near(value: Any, names: list[str]) -> list[str]:
    return difflib.get_close_matches(value, names, n=2) if isinstance(value, str) else []


def _at(values: Any, place: Place) -> Any:
    for key in place:
        if isinstance(values, list):
            values = values[int(key) - 1] if key.isdigit() and 0 < int(key) <= len(values) else None
        elif isinstance(values, dict):
            values = values.get(key)
        else:
            return None
    return values
