"""A base that moves: what is fixed to ground rides on a ship, a vehicle or a shaker, and that is an input.

`base` lists how it moves. Each way becomes a joint between ground and a body `base`, driven in position, with
its velocity and acceleration as inputs beside it; all that was fixed to ground is then fixed to `base`. The
slides come first, along world axes, then yaw, pitch and roll, each about an axis that those before it have
turned: the angles of ships and aircraft.
"""

from collections.abc import Iterable
from dataclasses import fields, replace
from typing import Any

from .mechanism import BASE_WAYS, GROUND, Body, Frame, Joint, Mechanism
from .motors import POSITION, Motor
from .validation import Flaw

BASE = "base"
_HALF = 0.5**0.5
_ALONG = {"x": (_HALF, 0.0, _HALF, 0.0), "y": (_HALF, -_HALF, 0.0, 0.0), "z": (1.0, 0.0, 0.0, 0.0)}
_JOINTS = [("prismatic", axis) for axis in "xyz"] + [("revolute", axis) for axis in "zyx"]
WAYS = dict(zip(BASE_WAYS, _JOINTS, strict=True))


def on_moving_base(mechanism: Mechanism) -> Mechanism:
    """The mechanism with joints that carry its base; itself if that does not move."""
    ways = [way for way in WAYS if way in mechanism.base]
    if not ways:
        return mechanism
    names = [f"{BASE}_{way}" for way in ways]
    bodies = [*names[:-1], BASE]
    for group, new in (("bodies", bodies), ("joints", names), ("motors", names)):
        taken = {item.name for item in getattr(mechanism, group)} & set(new)
        if taken:
            raise Flaw((group, min(taken)), "that name is needed for the moving base; choose another")
    joints = tuple(
        Joint(name, kind, parent, child, Frame(orientation=_ALONG[axis]), Frame(orientation=_ALONG[axis]))
        for name, (kind, axis), parent, child in zip(
            names, (WAYS[way] for way in ways), [GROUND, *bodies], bodies, strict=False
        )
    )
    return replace(
        mechanism,
        base=(),
        bodies=(*mechanism.bodies, *(Body(name, 0.0) for name in bodies)),
        joints=(*joints, *_riding(mechanism.joints)),
        motors=(*mechanism.motors, *(Motor(name, name, drive=POSITION) for name in names)),
        struts=_riding(mechanism.struts),
        visuals=_riding(mechanism.visuals),
        frames=_riding(mechanism.frames),
        more={key: _riding(items) for key, items in mechanism.more.items()},
    )


def _riding(items: Iterable[Any]) -> tuple[Any, ...]:
    """The same items on the base where they were on ground."""
    result = []
    for item in items:
        on_ground = {
            f.name: BASE for f in fields(item) if f.name in _ENDS and getattr(item, f.name) == GROUND
        }
        result.append(replace(item, **on_ground))
    return tuple(result)


_ENDS = ("body", "body1", "body2", "parent", "child")
