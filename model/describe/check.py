"""Whether a mechanism makes sense, before any equation is written for it.

`check` returns the same mechanism with every number a plain float, or raises a `Flaw` with
one sentence. It serves descriptions from files and those built in Python alike.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from ..joints.types import TYPES
from . import parameters
from .check_joint import check_joint
from .flaws import Flaw, known_body, nearest, not_negative, plain_number, plain_vector
from .mechanism import GROUND, Body, Joint, Load, Mechanism, Motor, Strut
from .units import kind
from .yaml_text import Place

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_OUTPUT = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*){0,3}(\[[1-9]\d*(,[1-9]\d*)?\])?", re.ASCII)
_INERTIA_ROUND_OFF = 1e-6  # printed inertias are rounded, and flat bodies sit on the limit


def check(mechanism: Mechanism) -> Mechanism:
    """The mechanism with plain numbers; raises a `Flaw` that names the first thing wrong."""
    name(mechanism.name, ("name",))
    if not isinstance(mechanism.description, str):
        raise Flaw(("description",), f"description must be a text, not {kind(mechanism.description)}")
    if not mechanism.bodies:
        raise Flaw(("bodies",), "there are no bodies; a mechanism needs at least one")
    groups: dict[str, Iterable[Any]] = {
        "bodies": mechanism.bodies,
        "joints": mechanism.joints,
        "motors": mechanism.motors,
        "springs": mechanism.struts,
        "loads": mechanism.loads,
    }
    for group, items in groups.items():
        _names_differ(group, items)
    bodies = tuple(_body(b) for b in mechanism.bodies)
    known = {GROUND, *(b.name for b in bodies)}
    joints = tuple(check_joint(j, known) for j in mechanism.joints)
    _connected(bodies, joints)
    checked = replace(
        mechanism,
        bodies=bodies,
        joints=joints,
        motors=_motors(mechanism.motors, {j.name: j for j in joints}),
        struts=tuple(_strut(s, known) for s in mechanism.struts),
        loads=tuple(_load(x, known) for x in mechanism.loads),
        gravity=plain_vector(mechanism.gravity, ("gravity",), 3),
        outputs=_texts(mechanism.outputs, "outputs"),
        parameters=_texts(mechanism.parameters, "parameters"),
    )
    _inputs_differ(checked)
    for key, path in checked.outputs.items():
        if not _OUTPUT.fullmatch(path):
            raise Flaw(("outputs", key), f"'{path}' is no output; write it like body.arm.position[3]")
    _parameters(checked)
    return checked


def name(text: Any, place: Place) -> str:
    """A name that can be used in Python, in an FMU and in ROS."""
    if not isinstance(text, str) or not _NAME.fullmatch(text):
        example = re.sub(r"\W", "_", str(text), flags=re.ASCII)
        example = example if _NAME.fullmatch(example) else f"_{example}"
        sentence = f"the name {kind(text)} must be made of letters, digits and _, such as '{example}'"
        raise Flaw(place, sentence, whole=True)
    if text == GROUND and place[0] == "bodies":
        sentence = "'ground' is the fixed frame every mechanism has; rename that body"
        raise Flaw(place, sentence, whole=True)
    return text


def _names_differ(group: str, items: Iterable[Any]) -> None:
    seen: set[str] = set()
    for item in items:
        place = (_group(item, group), str(item.name))
        name(item.name, place)
        if item.name in seen:
            what = "springs or cylinders" if group == "springs" else group
            raise Flaw(place, f"two {what} are named '{item.name}'; rename one", whole=True)
        seen.add(item.name)


def _group(item: Any, group: str) -> str:
    return "cylinders" if isinstance(item, Strut) and item.actuated else group


def _body(body: Body) -> Body:
    place = ("bodies", body.name)
    mass = plain_number(body.mass, (*place, "mass"))
    if mass <= 0:
        raise Flaw((*place, "mass"), f"mass must be positive, not {mass:g}")
    inertia = plain_vector(body.inertia, (*place, "inertia"), 6)
    _real_inertia(inertia, (*place, "inertia"))
    return replace(body, mass=mass, com=plain_vector(body.com, (*place, "com"), 3), inertia=inertia)


def _real_inertia(inertia: tuple[float, ...], place: Place) -> None:
    """Principal moments are a = ∫(y²+z²)dm and so on: none negative, none above the others' sum."""
    xx, yy, zz, xy, xz, yz = inertia
    small, middle, large = np.linalg.eigvalsh([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    slack = _INERTIA_ROUND_OFF * max(abs(small), abs(large))
    moments = f"{small:.4g}, {middle:.4g}, {large:.4g}"
    if small < -slack:
        raise Flaw(place, f"no body has a negative moment of inertia; the principal ones are {moments}")
    if small + middle < large - slack:
        raise Flaw(
            place,
            f"no body has the principal moments of inertia {moments}: "
            "the largest exceeds the sum of the others",
        )


def _connected(bodies: tuple[Body, ...], joints: tuple[Joint, ...]) -> None:
    """Every body must be reached from ground over joints that can be in the spanning tree."""
    neighbours: dict[str, list[str]] = {}
    for joint in joints:
        if TYPES[joint.type].moves is not None:
            neighbours.setdefault(joint.parent, []).append(joint.child)
            neighbours.setdefault(joint.child, []).append(joint.parent)
    reached, frontier = {GROUND}, [GROUND]
    while frontier:
        found = [n for n in neighbours.get(frontier.pop(), ()) if n not in reached]
        reached.update(found)
        frontier.extend(found)
    for body in bodies:
        if body.name not in reached:
            rods = any(body.name in (j.parent, j.child) for j in joints if TYPES[j.type].moves is None)
            raise Flaw(
                ("bodies", body.name),
                f"no joint {'but rods ' if rods else ''}connects it to ground; "
                "add one (type: free if it floats)",
            )


def _motors(motors: tuple[Motor, ...], joints: dict[str, Joint]) -> tuple[Motor, ...]:
    taken: dict[str, str] = {}
    for motor in motors:
        place = ("motors", motor.name, "joint")
        if motor.joint not in joints:
            raise Flaw(place, f"there is no joint {kind(motor.joint)}; {nearest(motor.joint, joints)}")
        nv = TYPES[joints[motor.joint].type].nv
        if nv != 1:
            raise Flaw(
                place, f"joint '{motor.joint}' has {nv} freedoms; a motor needs a joint with exactly one"
            )
        if motor.joint in taken:
            raise Flaw(place, f"joint '{motor.joint}' already has the motor '{taken[motor.joint]}'")
        taken[motor.joint] = motor.name
    return tuple(replace(m, limit=_effort_limit(m.limit, ("motors", m.name, "limit"))) for m in motors)


def _effort_limit(value: Any, place: Place) -> float:
    limit = plain_number(value, place, infinite=True)
    if limit <= 0:
        raise Flaw(place, f"limit must be positive, not {limit:g}")
    return limit


def _strut(strut: Strut, known: set[str]) -> Strut:
    place = (_group(strut, "springs"), strut.name)
    for end in ("body1", "body2"):
        known_body(getattr(strut, end), known, (*place, end))
    if strut.body1 == strut.body2:
        raise Flaw((*place, "body2"), f"it connects '{strut.body2}' with itself; name another body")
    return replace(
        strut,
        point1=plain_vector(strut.point1, (*place, "point1"), 3),
        point2=plain_vector(strut.point2, (*place, "point2"), 3),
        limit=_effort_limit(strut.limit, (*place, "limit")),
        stiffness=not_negative(strut.stiffness, (*place, "stiffness")),
        damping=not_negative(strut.damping, (*place, "damping")),
        length=not_negative(strut.length, (*place, "length")),
    )


def _load(load: Load, known: set[str]) -> Load:
    place = ("loads", load.name)
    known_body(load.body, known - {GROUND}, (*place, "body"))
    if load.axes not in ("world", "body"):
        raise Flaw((*place, "axes"), f"axes must be world or body, not {kind(load.axes)}")
    return replace(
        load,
        point=plain_vector(load.point, (*place, "point"), 3),
        force=plain_vector(load.force, (*place, "force"), 3),
        torque=plain_vector(load.torque, (*place, "torque"), 3),
    )


def _texts(mapping: Mapping[str, str], group: str) -> dict[str, str]:
    if not isinstance(mapping, Mapping):
        raise Flaw((group,), f"{group} must be a mapping of names, not {kind(mapping)}")
    for key, text in mapping.items():
        name(key, (group, str(key)))
        if not isinstance(text, str):
            raise Flaw((group, key), f"must be a text such as body.arm.mass, not {kind(text)}")
    return dict(mapping)


def _inputs_differ(mechanism: Mechanism) -> None:
    inputs = mechanism.inputs()
    for each in inputs:
        if inputs.count(each) > 1:
            sentence = f"a motor and a cylinder are both named '{each}'; rename one"
            raise Flaw(("cylinders", each), sentence, whole=True)


def _parameters(mechanism: Mechanism) -> None:
    """Every parameter leads to numbers, and no number belongs to two of them."""
    owner: dict[tuple[str, int], str] = {}
    for key, path in mechanism.parameters.items():
        found = parameters.locate(mechanism, path, ("parameters", key))
        for index in found.indices:
            other = owner.setdefault((found.whole, index), key)
            if other != key:
                raise Flaw(("parameters", key), f"it sets the same number as parameter '{other}'; remove one")
