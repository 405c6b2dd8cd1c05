"""Reading the items of a description file, in either kind of axes.

As drawn, points are in the world's axes at one pose, where a body's axes are the world's too: there
a point of a body is what is drawn less where the body's origin is drawn.
"""

from dataclasses import dataclass
from math import hypot, pi
from typing import Any

from ..joints.types import TYPES, JointType
from .drawing import Vector, axes, minus, orientation
from .field_kinds import Choice, Direction, Group, PartField, Word
from .fields import Around, Field, Quantity, defaults_of, fields_of
from .mapping_reader import Entries
from .mechanism import ORIGIN, UPRIGHT, Body, Frame, Joint, Mechanism, Strut
from .validation import make_at
from .visuals import NamedFrame, Visual

# What a file may say beside the fields of `mechanism.py`, or instead of them; DRAWN only as drawn.
FORMS: dict[type, dict[str, Field]] = {
    Mechanism: {
        "name": Word("a word", otherwise="the file's name"),
        "axes": Choice(
            "those of all positions and directions, see below", ("world", "body"), otherwise="`world`"
        ),
    },
    Frame: {
        "axis": Direction("its z axis", otherwise="drawn: needed where the type has one"),
        "across": Direction(
            "its x axis, made perpendicular to `axis`", otherwise="chosen; needed for `universal`"
        ),
    },
}
FORMS[Joint] = {
    **FORMS[Frame],
    "orientation": fields_of(Frame)["orientation"],
    "lead": Quantity("travel of a screw per turn, instead of `pitch`", "m"),
}
FORMS[Visual] = FORMS[NamedFrame] = {
    "axis": Direction("its z axis", otherwise="as its body's"),
    "across": Direction("its x axis, made perpendicular to `axis`", otherwise="chosen"),
}
DRAWN: dict[type, dict[str, Field]] = {
    Body: {"origin": Quantity("drawn: where its own origin is", "m", 3, otherwise="the centre of mass")},
    Joint: {
        "at": Quantity("drawn: its place", "m", 3, otherwise="needed"),
        "point1": Quantity("drawn, types with two ends: where on the parent", "m", 3, otherwise="needed"),
        "point2": Quantity("drawn, types with two ends: where on the child", "m", 3, otherwise="needed"),
    },
}
_NOT_DRAWN = dict.fromkeys(
    ("at", "point1", "point2"), "it is for 'axes: world'; write on_parent: {at: ...}, on_child: {at: ...}"
) | {"origin": "it is for 'axes: world'; in body axes the origin is [0, 0, 0]"}


@dataclass
class Reading:
    """What is known while a file is read: its axes, the items so far, where bodies are drawn."""

    drawn: bool
    around: Around
    origins: dict[str, Vector]

    def item(self, group: Group, file: str, name: str, entry: Any) -> Any:
        """The item of that name; `file` is the group's name in the file."""
        described = group.described
        group.admit(name, (file, name), self.around)
        forms = FORMS.get(described, {}) | (DRAWN.get(described, {}) if self.drawn else {})
        hints = {} if self.drawn else _NOT_DRAWN
        entries = Entries(entry, (file, name), (*fields_of(described), *forms), self.around, hints)
        values: dict[str, Any] = {group.split: file == group.files[-1]} if group.split else {}
        for key, field in fields_of(described).items():
            if isinstance(field, PartField):
                continue
            values[key] = entries.read(key, field, defaults_of(described)[key])
            if self.drawn and isinstance(field, Quantity) and field.on and key in entries:
                values[key] = minus(values[key], self.origins[values[field.on]])
        if described is Body:
            self._body(name, entries, values)
        elif described is Joint:
            self._joint(entries, values)
        elif described is Strut:
            self._strut(entries, values)
        elif described in (Visual, NamedFrame):
            values["orientation"] = _turned(entries, UPRIGHT)
        return described(name, **values)

    def _body(self, name: str, entries: Entries, values: dict[str, Any]) -> None:
        self.origins[name] = ORIGIN
        if self.drawn:
            entries.need("com" if "origin" not in entries else "origin")
            origin = entries.read("origin", _POINT, values["com"])
            values["com"] = minus(entries.read("com", _POINT, origin), origin)
            self.origins[name] = origin

    def _joint(self, entries: Entries, values: dict[str, Any]) -> None:
        kind = TYPES[values["type"]]
        points = ("point1", "point2") if kind.two_ends else ("at", "at")
        sides = [
            Entries(entries.values.get(side), (*entries.place, side), _SIDE, entries.around)
            for side in ("on_parent", "on_child")
        ]
        if self.drawn:
            _fitting(entries, sides, kind)
        both = _turned(entries, UPRIGHT)
        ends = []
        for side, body, point in zip(sides, ("parent", "child"), points, strict=True):
            at = side.read("at", _POINT, entries.read(point, _POINT, None) if self.drawn else ORIGIN)
            ends.append(at)
            position = minus(at, self.origins[values[body]]) if self.drawn else at
            values[side.place[-1]] = Frame(position, _turned(side, both))
        if "lead" in entries:
            if "pitch" in entries:
                raise entries.flaw("lead", "and pitch say the same; remove one")
            values["pitch"] = entries.read("lead", FORMS[Joint]["lead"]) / (2 * pi)
        if self.drawn and "length" in kind.fields and "length" not in entries:
            slide = tuple(values["travel"] * z for z in axes(values["on_parent"].orientation)[2])
            values["length"] = hypot(*minus(minus(ends[1], ends[0]), slide))

    def _strut(self, entries: Entries, values: dict[str, Any]) -> None:
        if self.drawn:
            entries.need("point1", "point2")
            if "length" not in entries:  # relaxed as drawn
                ends = (entries.read(key, _POINT) for key in ("point2", "point1"))
                values["length"] = hypot(*minus(*ends))
        elif values["stiffness"]:
            entries.need("length")


def _turned(entries: Entries, otherwise: Vector) -> Vector:
    """Euler parameters from `orientation`, or from `axis` and `across`."""
    axis, across = (entries.read(key, field, None) for key, field in FORMS[Frame].items())
    if "orientation" in entries and (axis or across):
        raise entries.flaw("orientation", "and axis say the same; remove one")
    if across and not axis:
        raise entries.flaw("across", "needs an axis to be across of; add the field 'axis'")
    if axis:
        return make_at((*entries.place, "across"), orientation, axis, across)
    turned: Vector = entries.read("orientation", fields_of(Frame)["orientation"], otherwise)
    return turned


_POINT = Quantity("a point", "m", 3)
_SIDE = ("at", "orientation", *FORMS[Frame])


def _fitting(entries: Entries, sides: list[Entries], kind: JointType) -> None:
    """Refuse what a joint of this type is not drawn with, and ask for what it is."""
    if kind.two_ends:
        wrong = {"at": f"a {kind.name} joint has two ends, 'point1' and 'point2'"}
    else:
        wrong = dict.fromkeys(("point1", "point2"), f"a {kind.name} joint has one place, 'at'")
    if kind.directionless_ends:
        directions = ("axis", "across", "orientation")
        wrong |= dict.fromkeys(directions, f"the ends of a {kind.name} joint have no direction")
    for key, sentence in wrong.items():
        if key in entries:
            raise entries.unknown(key, sentence)
    for side, point in zip(sides, ("point1", "point2"), strict=True):
        if "at" not in side:
            entries.need(point if kind.two_ends else "at")
    both_turned = all("axis" in x or "orientation" in x for x in sides)
    if kind.directed and "orientation" not in entries and not both_turned:
        entries.need("axis", *(["across"] if kind.needs_across else []))
