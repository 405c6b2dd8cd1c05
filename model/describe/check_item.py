"""Whether one item of a description makes sense: each of its fields, and what they say together."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from .field_kinds import Part, Reference
from .fields import Around, fields_of
from .flaws import Flaw, Place
from .mechanism import Joint, Motor


def check_item(item: Any, place: Place, around: Around) -> Any:
    """The item with plain numbers, among the items `around` it."""
    values: dict[str, Any] = {}
    bodies: set[str] = set()
    for key, field in fields_of(type(item)).items():
        value, here = getattr(item, key), (*place, key)
        values[key] = (check_item if isinstance(field, Part) else field.check)(value, here, around)
        around = field.settled(values[key], around)
        if isinstance(field, Reference) and field.word == "body":
            if value in bodies:
                raise Flaw(here, f"it connects '{value}' with itself; name another body")
            bodies.add(value)
    kind = around.kind
    if isinstance(item, Joint) and item.cut is False and kind is not None and kind.two_ends:
        raise Flaw((*place, "cut"), f"a {item.type} joint is always cut; remove 'cut: false'")
    if isinstance(item, Motor) and kind is not None and kind.nv != 1:
        sentence = f"joint '{item.joint}' has {kind.nv} freedoms; a motor needs a joint with exactly one"
        raise Flaw((*place, "joint"), sentence)
    return replace(item, **values)
