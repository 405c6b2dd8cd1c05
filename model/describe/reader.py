"""Reading a mechanism from a description file; docs/describing.md lists every field.

With `axes: world`, positions, axes and centres of mass are as drawn at one pose. There every
body's frame has the world's axes, its origin is the centre of mass unless `origin` says
otherwise, and every joint coordinate is zero. With `axes: body`, they are in the bodies' axes.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from importlib import resources
from math import hypot, inf, pi
from pathlib import Path
from typing import Any

from ... import examples
from ..errors import DescriptionError
from ..joints.types import TYPES
from .check import check
from .check import name as check_name
from .check_joint import known_type
from .drawing import Vector, matrix_inertia, matrix_orientation, minus, orientation, symmetric_inertia
from .entries import Entries
from .fields import BODY, GRAVITY, LOAD, PER_SPEED, STRUT, joint_units
from .flaws import Flaw, known_body, nearest
from .located import built, text_of
from .mechanism import GROUND, Body, Frame, Joint, Load, Mechanism, Motor, Strut
from .units import kind
from .yaml_text import parse

_GROUPS = ("bodies", "joints", "motors", "springs", "cylinders", "loads", "outputs", "parameters")
_JOINT = ("type", "parent", "child", "pitch", "lead", "length", "travel", *PER_SPEED, "limits")
_JOINT += ("friction_speed", "limit_stiffness", "limit_damping", "start", "speed", "cut")
_DIRECTIONS = ("axis", "across", "orientation")
_ORIGIN = (0.0, 0.0, 0.0)
# What to say of a field of the one form of description in the other.
_IF_DRAWN = dict.fromkeys(
    ("on_parent", "on_child", "orientation"), "it is for 'axes: body'; as drawn, a joint has 'at' and 'axis'"
)
_IF_BODY = dict.fromkeys(
    ("at", "point1", "point2"), "it is for 'axes: world'; write on_parent: {at: ...}, on_child: {at: ...}"
) | {"origin": "it is for 'axes: world'; in body axes the origin is [0, 0, 0]"}


def list_examples() -> dict[str, str]:
    """The mechanisms that ship: name, which `load` takes, and a line on what each is."""
    return {name: str(parse(_example(name))[0]["description"]) for name in _example_names()}


def _example_names() -> list[str]:
    files = resources.files(examples).iterdir()
    return sorted(f.name.removesuffix(".yaml") for f in files if f.name.endswith(".yaml"))


def _example(name: str) -> str:
    return resources.files(examples).joinpath(f"{name}.yaml").read_text(encoding="utf-8")


def load(source: str | os.PathLike[str]) -> Mechanism:
    """The mechanism of that name among the shipped examples, or in the file of that path."""
    text = os.fspath(source)
    if not isinstance(source, Path) and text in _example_names():
        return read(_example(text), f"{text}.yaml")
    path = Path(text)
    if not path.exists():
        hint = nearest(path.stem, _example_names()).replace("known:", "the examples are")
        raise DescriptionError(f"there is no example or file '{text}'; {hint}")
    if path.is_dir():
        raise DescriptionError(f"'{text}' is a folder; give the path of a description file in it")
    return read(text_of(path), text)


def read(text: str, file: str = "description") -> Mechanism:
    """The mechanism described in `text`; messages name `file` and the line."""
    return built(text, file, lambda values: check(_mechanism(values, file)))


def _mechanism(values: Any, file: str) -> Mechanism:
    top = Entries(values, (), ("name", "description", "gravity", "axes", *_GROUPS))
    top.need("bodies", "joints")
    axes = top.text("axes", "world")
    if axes not in ("world", "body"):
        raise top.flaw("axes", f"must be world or body, not {kind(axes)}")
    drawn = axes == "world"
    for group in _GROUPS:
        top.names(group)  # refuse what is no mapping before anything is built
    bodies: list[Body] = []
    origins: dict[str, Vector] = {GROUND: _ORIGIN}
    for name, entry in top.names("bodies").items():
        check_name(name, ("bodies", name))
        body, origins[name] = _body(name, entry, drawn)
        bodies.append(body)
    joint = _drawn_joint if drawn else _body_joint
    joints = {name: joint(name, entry, origins) for name, entry in top.names("joints").items()}
    place: _Points = (lambda p, body: minus(p, origins[body])) if drawn else (lambda p, body: p)
    struts = [
        _strut(name, entry, group, origins, place, drawn)
        for group in ("springs", "cylinders")
        for name, entry in top.names(group).items()
    ]
    stem = re.sub(r"\W", "_", Path(file).stem, flags=re.ASCII)
    return Mechanism(
        name=top.text("name", stem if not stem[:1].isdigit() else f"_{stem}"),
        description=top.text("description", ""),
        bodies=tuple(bodies),
        joints=tuple(joints.values()),
        motors=tuple(_motor(n, e, joints) for n, e in top.names("motors").items()),
        struts=tuple(struts),
        loads=tuple(_load(n, e, origins, place, drawn) for n, e in top.names("loads").items()),
        gravity=_gravity(top),
        outputs=top.names("outputs"),
        parameters=top.names("parameters"),
    )


_Points = Callable[[Vector, str], Vector]


def _gravity(top: Entries) -> Vector:
    if isinstance(top.values.get("gravity"), list):
        gravity: Vector = top.vector("gravity", GRAVITY)
        return gravity
    return (0.0, 0.0, 0.0 - top.number("gravity", GRAVITY, 9.81))


def _body(name: str, entry: Any, drawn: bool) -> tuple[Body, Vector]:
    """The body, and where its origin is drawn."""
    known = ("mass", "com", "inertia", *(["origin"] if drawn else []))
    fields = Entries(entry, ("bodies", name), known, _IF_BODY)
    if drawn and "origin" not in fields:
        fields.need("com")
    com = fields.vector("com", BODY["com"], fields.vector("origin", "m", _ORIGIN))
    origin = fields.vector("origin", "m", com) if drawn else _ORIGIN
    body = Body(name, fields.number("mass", BODY["mass"]), minus(com, origin), _inertia(fields))
    return body, origin


def _inertia(fields: Entries) -> Vector:
    value, unit = fields.values.get("inertia"), BODY["inertia"]
    if value is None:
        return (0.0,) * 6
    if isinstance(value, dict):
        inner = Entries(value, (*fields.place, "inertia"), ("axis", "along", "across"))
        inner.need("axis")
        axis = inner.direction("axis")
        assert axis is not None
        return symmetric_inertia(axis, inner.number("along", unit), inner.number("across", unit))
    if isinstance(value, list) and len(value) == 3:
        if any(isinstance(row, list) for row in value):
            return _complaining(fields, "inertia", matrix_inertia, fields.rows("inertia", unit))
        return (*fields.vector("inertia", unit), 0.0, 0.0, 0.0)
    if isinstance(value, list) and len(value) == 6:
        six: Vector = fields.each("inertia", (unit,) * 6, ())
        return six
    raise fields.flaw(
        "inertia", f"must be 3 or 6 numbers, a 3 by 3 matrix, or {{axis, along, across}}, not {kind(value)}"
    )


def _complaining(fields: Entries, key: str, function: Callable[..., Vector], *arguments: Any) -> Vector:
    try:
        return function(*arguments)
    except DescriptionError as error:
        raise fields.flaw(key, error) from None


def _type(entry: Any, place: tuple[str, ...]) -> str:
    if isinstance(entry, dict) and entry.get("type") is not None:
        return known_type(entry["type"], (*place, "type"))
    raise Flaw((*place, "type"), "the field 'type' is missing")


def _drawn_joint(name: str, entry: Any, origins: dict[str, Vector]) -> Joint:
    place = ("joints", name)
    joint_type = _type(entry, place)
    known = TYPES[joint_type]
    rod = known.two_ends  # it has an end on each body, not one place
    points = ("point1", "point2") if rod else ("at",)
    directions = () if known.directionless_ends else ("axis", "across")
    ends = {"at": f"a {joint_type} joint has two ends, 'point1' and 'point2'"} if rod else {}
    fields = Entries(entry, place, (*points, *directions, *_JOINT), {**_IF_DRAWN, **ends})
    parent, child = _ends(fields, origins, "parent", "child")
    fields.need(*points, *(["axis"] if known.directed else []), *(["across"] if known.needs_across else []))
    point1 = fields.vector("point1" if rod else "at", "m")
    point2 = fields.vector("point2" if rod else "at", "m")
    turned = _orientation(fields, Frame.orientation)
    numbers = _joint_numbers(fields, joint_type)
    if rod and "length" not in fields:
        slid = minus(point2, point1)
        if numbers["travel"]:
            axis = fields.direction("axis") or _ORIGIN
            slid = minus(slid, tuple(numbers["travel"] * x / hypot(*axis) for x in axis))
        numbers["length"] = hypot(*slid)
    on_parent = Frame(minus(point1, origins[parent]), turned)
    on_child = Frame(minus(point2, origins[child]), turned)
    return Joint(name, joint_type, parent, child, on_parent, on_child, **numbers)


def _body_joint(name: str, entry: Any, origins: dict[str, Vector]) -> Joint:
    place = ("joints", name)
    joint_type = _type(entry, place)
    fields = Entries(entry, place, ("on_parent", "on_child", *_DIRECTIONS, *_JOINT), _IF_BODY)
    parent, child = _ends(fields, origins, "parent", "child")
    both = _orientation(fields, Frame.orientation)
    frames: list[Frame] = []
    for side in ("on_parent", "on_child"):
        inner = Entries(fields.values.get(side), (*place, side), ("at", *_DIRECTIONS))
        frames.append(Frame(inner.vector("at", "m", _ORIGIN), _orientation(inner, both)))
    on_parent, on_child = frames
    return Joint(name, joint_type, parent, child, on_parent, on_child, **_joint_numbers(fields, joint_type))


def _orientation(fields: Entries, default: Vector) -> Vector:
    """Euler parameters from `orientation` (four numbers or a matrix), or from `axis` and `across`."""
    value = fields.values.get("orientation")
    if value is not None and ("axis" in fields or "across" in fields):
        raise fields.flaw("orientation", "and axis say the same; remove one")
    if isinstance(value, list) and len(value) == 3:
        return _complaining(fields, "orientation", matrix_orientation, fields.rows("orientation", "1"))
    if value is not None:
        e: Vector = fields.each("orientation", ("1",) * 4, ())
        return e
    axis, across = fields.direction("axis"), fields.direction("across")
    if across is not None and axis is None:
        raise fields.flaw("across", "needs an axis to be across of; add the field 'axis'")
    if axis is None:
        return default
    return _complaining(fields, "across", orientation, axis, across)


def _joint_numbers(fields: Entries, joint_type: str) -> dict[str, Any]:
    units = joint_units(joint_type)
    numbers = {key: fields.each(key, units[key], ()) for key in (*PER_SPEED, "speed", "start")}
    for key in ("pitch", "length", "travel", "friction_speed", "limit_stiffness", "limit_damping"):
        numbers[key] = fields.number(key, (*units[key], "1")[0], getattr(Joint, key))
    if "lead" in fields:
        if "pitch" in fields:
            raise fields.flaw("lead", "and pitch say the same; remove one")
        numbers["pitch"] = fields.number("lead", "m") / (2 * pi)
    numbers["limits"] = fields.each("limits", units["limits"], Joint.limits, infinite=True)
    numbers["cut"] = fields.flag("cut", None)
    return numbers


def _ends(fields: Entries, origins: dict[str, Vector], *keys: str) -> list[str]:
    """The bodies named by these fields, known to exist."""
    for key in keys:
        known_body(fields.text(key), set(origins), (*fields.place, key))
    return [fields.text(key) for key in keys]


def _motor(name: str, entry: Any, joints: dict[str, Joint]) -> Motor:
    fields = Entries(entry, ("motors", name), ("joint", "limit"))
    joint = fields.text("joint")
    if joint not in joints:
        return Motor(name, joint)  # `check` has the sentence for it
    unit = joint_units(joints[joint].type)["effort"][0]
    return Motor(name, joint, fields.number("limit", unit, inf, infinite=True))


def _strut(
    name: str, entry: Any, group: str, origins: dict[str, Vector], place: _Points, drawn: bool
) -> Strut:
    fields = Entries(entry, (group, name), ("body1", "body2", *STRUT, "limit"))
    body1, body2 = _ends(fields, origins, "body1", "body2")
    if drawn:
        fields.need("point1", "point2")
    point1, point2 = (fields.vector(key, STRUT[key], _ORIGIN) for key in ("point1", "point2"))
    numbers = {key: fields.number(key, STRUT[key], 0.0) for key in ("stiffness", "damping", "length")}
    if "length" not in fields and drawn:
        numbers["length"] = hypot(*minus(point2, point1))  # relaxed as drawn
    elif numbers["stiffness"]:
        fields.need("length")
    limit = fields.number("limit", "N", inf, infinite=True)
    ends = (place(point1, body1), place(point2, body2))
    return Strut(name, body1, body2, *ends, **numbers, actuated=group == "cylinders", limit=limit)


def _load(name: str, entry: Any, origins: dict[str, Vector], place: _Points, drawn: bool) -> Load:
    fields = Entries(entry, ("loads", name), ("body", *LOAD, "axes"))
    (body,) = _ends(fields, origins, "body")
    point = fields.vector("point", LOAD["point"], origins[body] if drawn else _ORIGIN)
    force, torque = (fields.vector(key, LOAD[key], _ORIGIN) for key in ("force", "torque"))
    return Load(name, body, place(point, body), force, torque, fields.text("axes", "world"))
