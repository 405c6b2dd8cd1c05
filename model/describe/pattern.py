"""Patterns: bodies, joints and what is on them, repeated by turning them about an axis of the world.

A pattern of n `copies` is what it says, and the same turned by 360°/n, twice that, and so on, about a line
along `axis` through `centre`. Names that end in a number go on counting (leg1, leg2 → leg3, leg4), others
get one (leg → leg1, leg2). A name of the pattern means, in every copy, the one of that copy.
"""

import re
from math import cos, pi, sin
from typing import Any

import numpy as np

from ..base.units import kind
from .drawing import matrix_inertia, unit_vector
from .field_kinds import Direction, Inertia
from .fields import POSITIVE, Around, Quantity
from .validation import Flaw, Place

MOST = 100  # copies
_OWN = {
    "copies": Quantity("how many there are", "1", "", POSITIVE),
    "axis": Direction("about which they are turned"),
    "centre": Quantity("a point of that axis", "m", 3),
}
_POINTS, _VECTORS = (
    ("com", "origin", "at", "point", "point1", "point2"),
    ("axis", "across", "force", "torque"),
)
_UNITS = {"force": "N", "torque": "N.m"}
_AROUND = Around({}, in_file=True)
Values = dict[str, Any]


def repeated(values: Values, pattern: Any, place: Place) -> Values:
    """A description with the copies of a pattern in its groups, before what it has itself."""
    if not isinstance(pattern, dict):
        raise Flaw(place, f"a pattern must be a mapping of groups, not {kind(pattern)}")
    given = {key: pattern.get(key) for key in _OWN}
    if given["copies"] is None:
        raise Flaw((*place, "copies"), "the field 'copies' is missing")
    count = _OWN["copies"].check(given["copies"], (*place, "copies"), _AROUND)
    if count != int(count) or count > MOST:
        raise Flaw((*place, "copies"), f"copies must be a whole number up to {MOST}, not {count:g}")
    axis = _OWN["axis"].check(given["axis"] or "z", (*place, "axis"), _AROUND)
    centre = _OWN["centre"].check(given["centre"] or [0.0] * 3, (*place, "centre"), _AROUND)
    groups = {key: items for key, items in pattern.items() if key not in _OWN}
    for key, items in groups.items():
        if not isinstance(items, dict):
            hint = f"a group of items, or one of {', '.join(_OWN)}"
            raise Flaw((*place, key), f"'{key}' of a pattern must be {hint}, not {kind(items)}")
    names = [name for items in groups.values() for name in items]
    step = max((int(n) for name in names if (n := _number(name))), default=1)
    result = dict(values)
    for key, items in groups.items():
        copies: Values = {}
        for k in range(int(count)):
            turn = _Turn(unit_vector(axis), centre, 2 * pi * k / count)
            renamed = {name: _renamed(name, k, step) for name in names}
            for name, item in items.items():
                copies[renamed[name]] = _turned(item, turn, renamed, (*place, key, name))
        own = result.get(key) or {}
        if not isinstance(own, dict):
            raise Flaw((key,), f"{key} must be a mapping of names, not {kind(own)}")
        twice = next((name for name in copies if name in own), None)
        if twice:
            raise Flaw((*place, key), f"the pattern makes '{twice}', which is there already; rename one")
        result[key] = dict(sorted(copies.items(), key=lambda item: _order(item[0], items))) | own
    return result


def _number(name: str) -> str:
    found = re.search(r"\d{1,6}$", name)
    return found[0] if found else ""


def _stem(name: str) -> str:
    return name.removesuffix(_number(name))


def _renamed(name: str, k: int, step: int) -> str:
    number = _number(name)
    return f"{_stem(name)}{int(number) + k * step}" if number else f"{name}{k + 1}"


def _order(name: str, items: Values) -> tuple[int, int]:
    """All of a family together, by number: lower1, lower2, …, upper1, upper2, …"""
    stems = list(dict.fromkeys(map(_stem, items)))
    return stems.index(_stem(name)), int(_number(name) or 0)


class _Turn:
    """A rotation about a line; results are rounded to 15 digits behind the point, so that zeros are zeros."""

    def __init__(self, axis: tuple[float, ...], centre: tuple[float, ...], angle: float):
        n = np.array(axis)
        cross = np.array([[0, -n[2], n[1]], [n[2], 0, -n[0]], [-n[1], n[0], 0]])
        self.R = np.eye(3) + sin(angle) * cross + (1 - cos(angle)) * cross @ cross  # Rodrigues
        self.centre, self.none = np.array(centre), angle == 0.0

    def vector(self, x: Any) -> list[float]:
        return _clean(self.R @ x)

    def point(self, x: Any) -> list[float]:
        return _clean(self.centre + self.R @ (np.array(x) - self.centre))

    def tensor(self, six: tuple[float, ...]) -> list[float]:
        xx, yy, zz, xy, xz, yz = six
        turned = self.R @ [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]] @ self.R.T
        return _clean(matrix_inertia((turned + turned.T).tolist()), 0.5)


def _clean(x: Any, factor: float = 1.0) -> list[float]:
    return [float(round(factor * y, 15)) + 0.0 for y in x]


def _turned(item: Any, turn: _Turn, names: dict[str, str], place: Place) -> Any:
    """An item of a copy: points, directions and tensors turned, names of the pattern those of the copy."""
    if isinstance(item, str):
        return names.get(item, item)
    if isinstance(item, list):
        return [_turned(x, turn, names, place) for x in item]
    if not isinstance(item, dict):
        return item
    in_body = item.get("axes") == "body"
    result: Values = {}
    for key, value in item.items():
        here = (*place, key)
        if key == "orientation" and not turn.none:
            raise Flaw(here, "a pattern does not turn an orientation; write axis and across")
        if key in _POINTS and value is not None:
            value = turn.point(Quantity("", "m", 3).check(value, here, _AROUND))
        elif key in _VECTORS and isinstance(value, str | list) and not in_body:
            field = Quantity("", _UNITS[key], 3) if key in _UNITS else Direction("")
            value = turn.vector(field.check(value, here, _AROUND))
        elif key == "inertia" and isinstance(value, list):
            value = turn.tensor(Inertia("").check(value, here, _AROUND))
        else:
            value = _turned(value, turn, names, here)
        result[key] = value
    return result
