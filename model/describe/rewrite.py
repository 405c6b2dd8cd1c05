"""Writing a changed mechanism into the description it was read from.

Only numbers change, each where the user typed it, in the user's axes and units; comments, order and
layout stay. A number that was left out is added. What changed more than that is not written so.
"""

from __future__ import annotations

from math import isclose, pi
from typing import Any

from ..errors import DescriptionError
from ..joints.types import TYPES, JointType
from .check import check
from .drawing import Vector, minus, plus, x_axis, z_axis
from .field_kinds import Coordinates, Gravity, Group, Inertia, Orientation, Part
from .fields import COORDINATES, ONE, PER_FREEDOM, SPEEDS, Field, Quantity, fields_of
from .flaws import Place
from .mechanism import Body, Frame, Joint, Mechanism, Strut
from .reader import build
from .units import quantity
from .yaml_edit import Edits, NotInPlace
from .yaml_text import parse

_ROUND_OFF = 1e-14  # what changing axes and units may cost, of the largest number near
_SIDES = ("on_parent", "on_child")
_TURNS = ("orientation", "axis", "across")


def rewritten(text: str, file: str, mechanism: Mechanism) -> str | None:
    """The description in `text` with the numbers of `mechanism`; None where more than numbers changed."""
    new = _started(mechanism)
    try:
        rewriting = _Rewriting(text, file)
        changed = rewriting.numbers_of(new)
        again = _started(build(parse(changed).values, file)[0])
        return changed if _near(again, new, rewriting.reach) else None
    except (NotInPlace, DescriptionError):
        return None


def _started(mechanism: Mechanism) -> Mechanism:
    """The mechanism, checked, with every start said, so that one left out is the same as zero."""
    mechanism = check(mechanism)
    return mechanism.with_start({j.name: j.start or TYPES[j.type].zero for j in mechanism.joints})


def _near(a: Any, b: Any, reach: float) -> bool:
    """Whether two parts of descriptions say the same but for rounding; a name may be the file's."""
    for key, field in fields_of(type(b)).items():
        x, y = getattr(a, key), getattr(b, key)
        if isinstance(field, Group):
            if len(x) != len(y) or not all(_near(*pair, reach) for pair in zip(x, y, strict=True)):
                return False
        elif not _same(field, x, y, reach):
            return False
    return True


def _same(field: Field, x: Any, y: Any, reach: float) -> bool:
    """Whether two values of a field differ by rounding only, of points as far as `reach`."""
    if isinstance(field, Part):
        return _near(x, y, reach)
    if not isinstance(field, Quantity) or field.size == ONE:
        return isclose(x, y, rel_tol=_ROUND_OFF) if isinstance(field, Quantity) else bool(x == y)
    near = reach if field.unit == "m" else 1.0 if isinstance(field, Orientation | Coordinates) else 0.0
    close = (isclose(p, q, rel_tol=_ROUND_OFF, abs_tol=_ROUND_OFF * near) for p, q in zip(x, y, strict=False))
    return len(x) == len(y) and all(close)


class _Rewriting:
    """One description, and the edits that turn its numbers into those of another mechanism."""

    def __init__(self, text: str, file: str) -> None:
        self.edits = Edits(text)
        described, reading = build(self.edits.values, file)
        self.old, self.drawn, self.origins = _started(described), reading.drawn, reading.origins
        self.reach = max(abs(x) for origin in self.origins.values() for x in origin)

    def numbers_of(self, new: Mechanism) -> str:
        """The text with the numbers of `new`."""
        for key, field in fields_of(Mechanism).items():
            old_value, new_value = getattr(self.old, key), getattr(new, key)
            if isinstance(field, Group):
                if [item.name for item in old_value] != [item.name for item in new_value]:
                    raise NotInPlace
                for item, changed in zip(old_value, new_value, strict=True):
                    self._item(item, changed, (field.file(item), item.name))
            elif not _same(field, old_value, new_value, self.reach):
                self._field(self.old, new, key, (), None)
        return self.edits.text()

    def _item(self, old: Any, new: Any, place: Place) -> None:
        kind = self.old.joint_type(old)
        for key, field in fields_of(type(old)).items():
            same = _same(field, getattr(old, key), getattr(new, key), self.reach)
            if not same and not isinstance(field, Part):
                self._field(old, new, key, place, kind)
        ends = isinstance(old, Strut)  # two points that a length may follow from
        if isinstance(old, Joint) and kind is not None:
            self._places(old, new, place, kind)
            self._turns(old, new, place)
            ends = kind.two_ends
        if self.drawn and ends and not _near(old, new, self.reach) and (*place, "length") not in self.edits:
            self.edits.add((*place, "length"), new.length)

    def _field(self, old: Any, new: Any, key: str, place: Place, kind: JointType | None) -> None:
        """A field that differs."""
        field, value = fields_of(type(old))[key], getattr(new, key)
        if not isinstance(field, Quantity):
            raise NotInPlace
        here, units = (*place, key), field.units(kind)
        present = self.edits.get(here)
        if key == "pitch" and (*place, "lead") in self.edits:
            here, value, units = (*place, "lead"), 2 * pi * value, ("m",)
        elif self.drawn and field.on:
            value = self._drawn(here, here, getattr(old, field.on), minus(value, getattr(old, key)))
        elif self.drawn and isinstance(old, Body) and key == "com":
            value = self._drawn(here, here, old.name, minus(value, old.com))
            if (*place, "origin") not in self.edits:
                self.edits.add((*place, "origin"), self.origins[old.name])
        elif isinstance(field, Inertia) and not any(value[3:]) and _numbers(present) == 3:
            value = value[:3]
        elif isinstance(field, Gravity) and not any(value[:2]) and not isinstance(present, list):
            value = 0.0 - value[2]
        elif field.size in (PER_FREEDOM, SPEEDS, COORDINATES) and not isinstance(present, list):
            value = value[0] if len(set(value)) == 1 else value
        self.edits.put(here, value, units)

    def _drawn(self, place: Place, otherwise: Place, body: str, shift: Vector) -> Vector:
        """Where a point of a body is drawn after a shift; it was at the one place or the other."""
        present = self.edits.get(place) or self.edits.get(otherwise)
        drawn = tuple(quantity(x, "m") for x in present) if present else self.origins[body]
        return plus(drawn, shift)

    def _places(self, old: Joint, new: Joint, place: Place, kind: JointType) -> None:
        """Where the joint sits on its bodies."""
        field = fields_of(Frame)["position"]
        frames = [(getattr(old, side).position, getattr(new, side).position) for side in _SIDES]
        moved = [not _same(field, *pair, self.reach) for pair in frames]
        shifts = [minus(after, before) for before, after in frames]
        own = [(*place, side, "at") for side in _SIDES]
        both = (*place, "at")
        shared = self.drawn and both in self.edits and not any(at in self.edits for at in own)
        if all(moved) and shared and _same(field, shifts[0], shifts[1], self.reach):
            self.edits.put(both, self._drawn(both, both, old.parent, shifts[0]), ("m",) * 3)
            return
        for k in (0, 1):
            if moved[k]:
                end = (*place, ("point1", "point2")[k]) if kind.two_ends else both
                value = self._drawn(own[k], end, "", shifts[k]) if self.drawn else frames[k][1]
                self.edits.put(end if end in self.edits and kind.two_ends else own[k], value, ("m",) * 3)

    def _turns(self, old: Joint, new: Joint, place: Place) -> None:
        """How the joint is turned on its bodies."""
        field = fields_of(Frame)["orientation"]
        frames = [(getattr(old, side).orientation, getattr(new, side).orientation) for side in _SIDES]
        turned = [not _same(field, *pair, self.reach) for pair in frames]
        own = any((*place, side, key) in self.edits for side in _SIDES for key in _TURNS)
        if all(turned) and not own and frames[0][1] == frames[1][1]:
            self._turn(place, frames[0][1])
            return
        for k, side in enumerate(_SIDES):
            if turned[k]:
                self._turn((*place, side), frames[k][1])

    def _turn(self, place: Place, e: Vector) -> None:
        if (*place, "axis") in self.edits:
            self.edits.put((*place, "axis"), z_axis(e), ("1",) * 3)
            self.edits.put((*place, "across"), x_axis(e), ("1",) * 3)
        else:
            self.edits.put((*place, "orientation"), e, ("1",) * 4)


def _numbers(value: Any) -> int:
    """How many plain numbers a list has."""
    return sum(not isinstance(x, list) for x in value) if isinstance(value, list) else 0
