"""Writing a mechanism to a description file that reads back as the same mechanism."""

import os
from typing import Any

from ..base.files import write_atomically
from .check import check
from .field_kinds import Group, PartField
from .fields import defaults_of, fields_of
from .mechanism import Mechanism, Strut
from .reader import source_of
from .rewrite import rewritten
from .yaml_text import dump


def save(
    mechanism: Mechanism, path: str | os.PathLike[str], like: str | os.PathLike[str] | None = None
) -> None:
    """Write the mechanism to `path`; a reader never finds half a file there.

    If only numbers differ from the description it is `like`, an example's name or a file, that one is
    written with the new numbers in it, comments, order and axes kept; otherwise all in body axes.
    """
    kept = None if like is None else rewritten(*source_of(like), mechanism)
    text = write(mechanism) if kept is None else kept
    with write_atomically(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def write(mechanism: Mechanism) -> str:
    """The mechanism as text. Every number has the digits that give it back exactly."""
    mechanism = check(mechanism)
    plain = entry(mechanism)
    values: dict[str, Any] = {"name": mechanism.name, "description": plain.pop("description", None)}
    values |= {"gravity": mechanism.gravity, "axes": "body"}
    for key, field in fields_of(Mechanism).items():
        if isinstance(field, Group):
            for item in getattr(mechanism, key):
                values.setdefault(field.file(item), {})[item.name] = entry(item)
    return dump({key: value for key, value in (values | plain).items() if value is not None})


def entry(item: Any) -> dict[str, Any]:
    """The fields of an item that are not at their defaults, as a file has them in body axes."""
    result: dict[str, Any] = {}
    for key, field in fields_of(type(item)).items():
        value = getattr(item, key)
        if not isinstance(field, Group) and value != defaults_of(type(item))[key]:
            result[field.name_in_file or key] = entry(value) if isinstance(field, PartField) else value
    if isinstance(item, Strut):
        result["length"] = item.length  # a spring is read with its length or not at all
    return result
