"""Writing a mechanism to a description file that reads back as the same mechanism."""

from __future__ import annotations

import os
from dataclasses import fields
from typing import Any

from ..files import write_atomically
from .check import check
from .mechanism import Frame, Joint, Mechanism
from .yaml_text import dump

_FRAME_FIELDS = {"position": "at", "orientation": "orientation"}


def save(mechanism: Mechanism, path: str | os.PathLike[str]) -> None:
    """Write the mechanism to `path`, in body axes; a reader never finds half a file there."""
    text = write(mechanism)
    with write_atomically(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def write(mechanism: Mechanism) -> str:
    """The mechanism as text. Every number has the digits that give it back exactly."""
    mechanism = check(mechanism)
    values: dict[str, Any] = {"name": mechanism.name}
    if mechanism.description:
        values["description"] = mechanism.description
    values |= {"gravity": list(mechanism.gravity), "axes": "body"}
    groups: dict[str, Any] = {
        "bodies": mechanism.bodies,
        "joints": mechanism.joints,
        "motors": mechanism.motors,
        "springs": [s for s in mechanism.struts if not s.actuated],
        "cylinders": [s for s in mechanism.struts if s.actuated],
        "loads": mechanism.loads,
    }
    for group, items in groups.items():
        if items or group in ("bodies", "joints"):
            values[group] = {item.name: _entry(item) for item in items}
    for group in ("outputs", "parameters"):
        if getattr(mechanism, group):
            values[group] = dict(getattr(mechanism, group))
    return dump(values)


def _entry(item: Any) -> dict[str, Any]:
    """The fields of a body, joint, motor, strut or load that are not at their defaults."""
    entry: dict[str, Any] = {}
    for field in fields(item):
        value = getattr(item, field.name)
        if field.name in ("name", "actuated") or value == field.default:
            continue
        if isinstance(value, Frame):
            entry[field.name] = {
                key: list(getattr(value, name))
                for name, key in _FRAME_FIELDS.items()
                if getattr(value, name) != getattr(Frame, name)
            }
        else:
            entry[field.name] = list(value) if isinstance(value, tuple) else value
    if not isinstance(item, Joint) and hasattr(item, "stiffness"):
        entry["length"] = item.length  # a spring is read with its length or not at all
    return entry
