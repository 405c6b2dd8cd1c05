"""Whether a mechanism makes sense, before any equation is written for it.

`check` returns the same mechanism with every number a plain float, or raises a `Flaw` with
one sentence. It serves descriptions from files and those built in Python alike.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ..base.thresholds import LARGEST_ANGLE
from ..joints.types import TYPES
from . import parameters
from .elements import Strut, check_cylinder
from .field_kinds import Group, PartField, Reference, name
from .fields import Around, fields_of
from .friction import check_friction
from .mechanism import GROUND, Bushing, Coupling, Joint, Mechanism, Motor
from .motors import check_motor
from .moving_base import on_moving_base
from .sensors import Sensor, check_sensor
from .validation import Flaw, Place, field_flaw, nearest
from .visuals import SHAPES, Visual


def check(mechanism: Mechanism) -> Mechanism:
    """The mechanism with plain numbers; raises a `Flaw` that names the first thing wrong."""
    name(mechanism.name, ("name",))
    if not mechanism.bodies:
        raise Flaw(("bodies",), "there are no bodies; a mechanism needs at least one")
    around = Around({"body": {GROUND: None}})
    values: dict[str, Any] = {}
    for key, field in fields_of(type(mechanism)).items():
        value = getattr(mechanism, key)
        if isinstance(field, Group):
            values[key] = _items(field, value, around)
            around = around.with_items(field.word, {item.name: item for item in values[key]})
        else:
            values[key] = field.check(value, (key,), around)
    checked = mechanism.changed(**values)
    _connected(checked)
    _one_motor_each(checked)
    _couplings_differ(checked)
    _inputs_differ(checked)
    _parameters(checked)
    _ports(checked)
    _targets(checked)
    return on_moving_base(checked)


def _items(group: Group, items: Any, around: Around) -> tuple[Any, ...]:
    """The items of a group, each checked, all of different names."""
    seen: set[str] = set()
    for item in items:
        place = (group.file(item), str(item.name))
        group.admit(item.name, place, around)
        if item.name in seen:
            what = " or ".join(group.files)
            raise Flaw(place, f"two {what} are named '{item.name}'; rename one", whole=True)
        seen.add(item.name)
    return tuple(_item(item, (group.file(item), item.name), around) for item in items)


def _item(item: Any, place: Place, around: Around) -> Any:
    """The item with plain numbers, among the items `around` it: each field, and what they say together."""
    values: dict[str, Any] = {}
    bodies: set[str] = set()
    for key, field in fields_of(type(item)).items():
        value, here = getattr(item, key), (*place, key)
        values[key] = (_item if isinstance(field, PartField) else field.check)(value, here, around)
        around = field.settled(values[key], around)
        if isinstance(field, Reference) and field.word == "body":
            if value in bodies:
                raise Flaw(here, f"it connects '{value}' with itself; name another body")
            bodies.add(value)
    kind = around.kind
    if isinstance(item, Joint) and item.cut is False and kind is not None and kind.always_cut:
        raise Flaw((*place, "cut"), f"a {item.type} joint is always cut; remove 'cut: false'")
    if isinstance(item, Joint):
        _starts_within(values, place, around)
    if isinstance(item, Motor) and kind is not None and kind.nv != 1:
        sentence = (
            f"joint '{item.joint}' has {kind.nv} degrees of freedom; a motor needs a joint with exactly one"
        )
        raise Flaw((*place, "joint"), sentence)
    if isinstance(item, Motor):
        check_motor(values, place)
    if isinstance(item, Strut):
        check_cylinder(item.actuated, values, place)
    if isinstance(item, Sensor):
        check_sensor(values, place)
    if isinstance(item, Joint):
        check_friction(values, place)
    if isinstance(item, Bushing):
        _apart(values, place, around)
    if isinstance(item, Coupling):
        values = _coupled(values, place, around)
    if isinstance(item, Visual):
        values = _seen(values, place)
    return replace(item, **values)


def _starts_within(values: dict[str, Any], place: Place, around: Around) -> None:
    """A start has digits left, and is not beyond a stop."""
    units = around.kind.position_units if around.kind else ()
    for value, unit in zip(values["start"], units, strict=False):
        if unit == "rad" and abs(value) > LARGEST_ANGLE:
            sentence = f"of {value:g} rad has no digits left to distinguish poses; leave whole turns out"
            raise field_flaw((*place, "start"), sentence)
    if problem := beyond_limits(values["start"], values["limits"]):
        raise field_flaw((*place, "start"), f"{problem}; move one of them")


def beyond_limits(coordinates: Sequence[float], limits: tuple[float, float]) -> str:
    """What is wrong with where a joint is put: beyond a stop, whose spring would hurl it off. Else ""."""
    low, high = limits
    if len(coordinates) != 1 or low <= coordinates[0] <= high:
        return ""
    return f"{coordinates[0]:g} is beyond the limits, {low:g} to {high:g}"


def _apart(values: dict[str, Any], place: Place, around: Around) -> None:
    """A bushing's frames are on different bodies."""
    bodies = {around.items["frame"][values[key]].body for key in ("frame1", "frame2")}
    if len(bodies) == 1:
        raise Flaw((*place, "frame2"), f"both frames are on '{bodies.pop()}'; name one on another body")


def _coupled(values: dict[str, Any], place: Place, around: Around) -> dict[str, Any]:
    """A coupling's joints have one freedom each and are different; there is a ratio for each."""
    tied = (values["joint"], *values["follows"])
    for key, joint in zip(("joint", *["follows"] * len(values["follows"])), tied, strict=True):
        if TYPES[around.items["joint"][joint].type].nv != 1:
            raise Flaw(
                (*place, key), f"joint '{joint}' has not one degree of freedom, which a coupling needs"
            )
    if len(set(tied)) < len(tied):
        raise Flaw((*place, "follows"), "it names a joint twice; name each joint once")
    count = len(values["follows"])
    ratios = values["ratio"] or (1.0,) * count
    if len(ratios) == 1 < count:
        ratios *= count
    if len(ratios) != count:
        raise Flaw((*place, "ratio"), f"it follows {count} joints; give as many ratios, not {len(ratios)}")
    if values["curve"] and not count:
        raise Flaw((*place, "curve"), "it follows no joint; remove the curve, or name a joint")
    return values | {"ratio": ratios}


def _seen(values: dict[str, Any], place: Place) -> dict[str, Any]:
    """A visual has the sizes of its shape, none of them zero; a colour may leave out its opacity."""
    shape, size, colour = values["shape"], values["size"], values["colour"]
    mesh = shape == "mesh"
    wanted = SHAPES[shape]
    if len(size) != len(wanted) and not (mesh and not size):
        raise field_flaw((*place, "size"), f"of a {shape} is [{', '.join(wanted)}], not {len(size)} numbers")
    if any(x == 0 or (x < 0 and not mesh) for x in size):
        raise field_flaw(
            (*place, "size"), f"of a {shape} must be {'other than zero' if mesh else 'positive'}"
        )
    if mesh != bool(values["file"]):
        told = "a mesh needs its 'file'" if mesh else f"a {shape} has no file; use shape mesh"
        raise Flaw((*place, "file"), told)
    if len(colour) not in (0, 3, 4) or not all(0 <= x <= 1 for x in colour):
        raise field_flaw((*place, "colour"), "must be red, green, blue and opacity, each from 0 to 1")
    return values | {"size": size or (1.0,) * len(wanted), "colour": colour + (1.0,) * (len(colour) == 3)}


def _connected(mechanism: Mechanism) -> None:
    """Every body must be reached from ground over joints that can be in the spanning tree."""
    neighbours: dict[str, list[str]] = {}
    rods: set[str] = set()
    for joint in mechanism.joints:
        if TYPES[joint.type].always_cut:
            rods |= {joint.parent, joint.child}
        else:
            neighbours.setdefault(joint.parent, []).append(joint.child)
            neighbours.setdefault(joint.child, []).append(joint.parent)
    reached, frontier = {GROUND}, [GROUND]
    while frontier:
        found = [n for n in neighbours.get(frontier.pop(), ()) if n not in reached]
        reached.update(found)
        frontier.extend(found)
    for body in mechanism.bodies:
        if body.name not in reached:
            sentence = f"no joint {'but rods ' if body.name in rods else ''}connects it to ground; "
            raise Flaw(("bodies", body.name), sentence + "add one (type: free if it floats)")


def _one_motor_each(mechanism: Mechanism) -> None:
    taken: dict[str, str] = {}
    for motor in mechanism.motors:
        other = taken.setdefault(motor.joint, motor.name)
        if other != motor.name:
            place = ("motors", motor.name, "joint")
            raise Flaw(place, f"joint '{motor.joint}' already has the motor '{other}'")


def _couplings_differ(mechanism: Mechanism) -> None:
    joints = {joint.name for joint in mechanism.joints}
    for coupling in mechanism.couplings:
        if coupling.name in joints:
            sentence = f"a joint and a coupling are both named '{coupling.name}'; rename one"
            raise Flaw(("couplings", coupling.name), sentence, whole=True)


def _inputs_differ(mechanism: Mechanism) -> None:
    words = {field.word: field for field in fields_of(Mechanism).values() if isinstance(field, Group)}
    seen: dict[str, str] = {}
    for row in mechanism.input_table:
        first, second = (of.partition(".")[0] for of in (seen.setdefault(row.name, row.element), row.element))
        if seen[row.name] != row.element:
            both = f"inputs of two {words[first].files[-1]} are"
            if first != second:
                both = f"a {words[first].files[-1][:-1]} and a {words[second].files[-1][:-1]} are"
            place = (words[second].files[-1], row.element.partition(".")[2])
            raise Flaw(place, f"{both} both named '{row.name}'; rename one", whole=True)


def _ports(mechanism: Mechanism) -> None:
    """Wrenches act on bodies that move, in axes that there are; sensors are at joints that say something."""
    frames = [frame.name for frame in mechanism.frames]
    for frame in mechanism.frames:
        if frame.port == "force" and frame.body == GROUND and not mechanism.base:
            raise Flaw(
                ("frames", frame.name, "port"), "a force on ground does nothing; use 'motion', or a body"
            )
        if frame.axes not in ("world", "body", *frames):
            sentence = f"must be world, body or a frame: {nearest(frame.axes, frames)}"
            raise field_flaw(("frames", frame.name, "axes"), sentence)
        if frame.axes != "world" and frame.port != "force":
            sentence = "are those of a wrench on the frame; give it 'port: force', or remove them"
            raise field_flaw(("frames", frame.name, "axes"), sentence)
    for sensor in mechanism.sensors:
        kind = TYPES[mechanism.joint(sensor.joint).type] if sensor.joint else None
        if sensor.type == "encoder" and kind is not None and not kind.moves:
            sentence = f"a {kind.name} joint has no coordinates to measure; name another"
            raise Flaw(("sensors", sensor.name, "joint"), sentence)


def _targets(mechanism: Mechanism) -> None:
    """What is asked for moves, and is seen from something else."""
    known = [*(body.name for body in mechanism.bodies), *(frame.name for frame in mechanism.frames)]
    for target in mechanism.targets:
        place = ("targets", target.name)
        for key, more in (("frame", ()), ("base", (GROUND,))):
            if (name := getattr(target, key)) not in (*known, *more):
                raise field_flaw((*place, key), f"must be a body or a frame: {nearest(name, known)}")
        if target.frame == target.base:
            raise field_flaw((*place, "base"), "must be another than what is put somewhere")
        if not target.rows:
            raise field_flaw((*place, "rows"), "must have one at least")


def _parameters(mechanism: Mechanism) -> None:
    """Every parameter leads to numbers, and no number belongs to two of them."""
    owner: dict[tuple[str, int], str] = {}
    for key, path in mechanism.parameters.items():
        found = parameters.locate(mechanism, path, ("parameters", key))
        for index in found.indices:
            other = owner.setdefault((found.whole, index), key)
            if other != key:
                raise Flaw(("parameters", key), f"it sets the same number as parameter '{other}'; remove one")
