"""Writing a changed mechanism into the description it was read from.

Only numbers change, each where the user typed it, in the user's axes and units; comments, order and
layout stay. A number that was left out is added. What changed more than that is not written so.
"""

from math import pi
from typing import Any

from ..base.errors import DescriptionError
from ..joints.types import TYPES, JointType
from .check import check
from .drawing import Vector, axes, vector_sum
from .field_kinds import Coordinates, Gravity, Group, Inertia, Numbers, Orientation, PartField
from .fields import Field, Quantity, fields_of
from .mechanism import Body, Frame, Joint, Mechanism, Strut
from .reader import build
from .validation import Place
from .yaml_edit import Edits, NotInPlace, near
from .yaml_text import parse

_SIDES = ("on_parent", "on_child")
_TURNS = ["orientation", "axis", "across"]


def rewritten(text: str, file: str, mechanism: Mechanism) -> str | None:
    """The description in `text` with the numbers of `mechanism`; None where more than numbers changed."""
    new = _started(mechanism)
    try:
        rewriting = _Rewriting(text, file)
        changed = rewriting.numbers_of(new)
        again = _started(build(parse(changed).values, file)[0])
        return changed if _same(again, new, rewriting.edits.reach) else None
    except (NotInPlace, DescriptionError):
        return None


def _started(mechanism: Mechanism) -> Mechanism:
    """The mechanism, checked, with every start said, so that one left out is the same as zero."""
    mechanism = check(mechanism)
    return mechanism.with_start({j.name: j.start or TYPES[j.type].zero for j in mechanism.joints})


def _same(a: Any, b: Any, reach: float) -> bool:
    """Whether two parts of descriptions say the same but for rounding; a name may be the file's."""
    pairs = ((f, getattr(a, key), getattr(b, key)) for key, f in fields_of(type(b)).items())
    return all(_same_value(field, x, y, reach) for field, x, y in pairs)


def _same_value(field: Field, x: Any, y: Any, reach: float) -> bool:
    if isinstance(field, Group):
        return len(x) == len(y) and all(_same(*pair, reach) for pair in zip(x, y, strict=True))
    if isinstance(field, PartField):
        return _same(x, y, reach)
    if not isinstance(field, Quantity):
        return bool(x == y)
    if field.single:
        return near(x, y, 0.0)
    size = reach if field.unit == "m" else 1.0 if isinstance(field, Orientation | Coordinates) else 0.0
    return len(x) == len(y) and all(near(*pair, size) for pair in zip(x, y, strict=True))


class _Rewriting:
    """One description, and the edits that turn its numbers into those of another mechanism."""

    def __init__(self, text: str, file: str) -> None:
        self.edits = Edits(text)
        described, reading = build(self.edits.values, file)
        self.old, self.drawn, self.origins = _started(described), reading.drawn, reading.origins
        self.edits.reach = max(abs(x) for origin in self.origins.values() for x in origin)

    def numbers_of(self, new: Mechanism) -> str:
        """The text with the numbers of `new`."""
        for key, field in fields_of(Mechanism).items():
            if not isinstance(field, Group):
                self._field(self.old, new, key, (), None)
                continue
            before, after = getattr(self.old, key), getattr(new, key)
            if [item.name for item in before] != [item.name for item in after]:
                raise NotInPlace
            for item, changed in zip(before, after, strict=True):
                if not _same(item, changed, self.edits.reach):
                    self._item(item, changed, (field.file(item), item.name))
        return self.edits.text()

    def _item(self, old: Any, new: Any, place: Place) -> None:
        """An item that differs."""
        kind = self.old.joint_type(old)
        for key in fields_of(type(old)):
            self._field(old, new, key, place, kind)
        ends = isinstance(old, Strut)  # two points that a length may follow from
        if isinstance(old, Joint) and kind is not None:
            self._frames(old, new, place)
            ends = "length" in kind.fields
        if self.drawn and ends and (*place, "length") not in self.edits:
            self.edits.add((*place, "length"), new.length)

    def _field(self, old: Any, new: Any, key: str, place: Place, kind: JointType | None) -> None:
        """A field, if it differs; frames follow their joint."""
        field, value = fields_of(type(old))[key], getattr(new, key)
        if isinstance(field, PartField) or _same_value(field, getattr(old, key), value, self.edits.reach):
            return
        if not isinstance(field, Quantity):
            raise NotInPlace
        here, units = (*place, key), field.units_of(value, kind)
        present = self.edits.get(here)
        if key == "pitch" and (*place, "lead") in self.edits:
            here, value, units = (*place, "lead"), 2 * pi * value, ("m",)
        elif field.on:
            value = self._drawn(getattr(old, field.on), value)
        elif isinstance(old, Body) and key == "com":
            value = self._drawn(old.name, value)
            if self.drawn and (*place, "origin") not in self.edits:
                self.edits.add((*place, "origin"), self.origins[old.name])
        elif isinstance(field, Inertia) and not any(value[3:]) and isinstance(present, list):
            value = value[: len(present)] if not isinstance(present[0], list) else value
        elif isinstance(field, Gravity) and not any(value[:2]) and not isinstance(present, list):
            value = 0.0 - value[2]
        elif (field.follows_joint or isinstance(field, Numbers)) and not isinstance(present, list):
            value = value[0] if len(set(value)) == 1 else value
        self.edits.put(here, value, units)

    def _drawn(self, body: str, point: Vector) -> Vector:
        """A point of a body in the axes of the file."""
        return vector_sum(point, self.origins[body]) if self.drawn else point

    def _frames(self, old: Joint, new: Joint, place: Place) -> None:
        """Where and how the joint sits on its bodies, said once for both of them or on each."""
        reach, bodies = self.edits.reach, (old.parent, old.child)
        for key, field in fields_of(Frame).items():
            before, after = ([getattr(getattr(joint, side), key) for side in _SIDES] for joint in (old, new))
            changed = [not _same_value(field, *pair, reach) for pair in zip(before, after, strict=True)]
            words, once = _TURNS, True
            if key == "position":
                words, once = ["at"], self.drawn and (*place, "at") in self.edits
                after = [self._drawn(*pair) for pair in zip(bodies, after, strict=True)]
            own = any((*place, side, word) in self.edits for side in _SIDES for word in words)
            if once and not own and all(changed) and _same_value(field, after[0], after[1], reach):
                self._frame(key, place, after[0])
                continue
            for k, side in enumerate(_SIDES):
                end = (*place, f"point{k + 1}")
                if changed[k] and key == "position" and end in self.edits:
                    self.edits.put(end, after[k], ("m",) * 3)
                elif changed[k]:
                    self._frame(key, (*place, side), after[k])

    def _frame(self, key: str, place: Place, value: Vector) -> None:
        if key == "position":
            self.edits.put((*place, "at"), value, ("m",) * 3)
        elif (*place, "axis") in self.edits:
            across, _, axis = axes(value)
            self.edits.put((*place, "axis"), axis, ("1",) * 3)
            self.edits.put((*place, "across"), across, ("1",) * 3)
        else:
            self.edits.put((*place, "orientation"), value, ("1",) * 4)
