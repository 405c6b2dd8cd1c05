"""From a file, a text or an example's name to a checked mechanism, its own names included.

`describe/` knows what a description may hold, `variables.py` which names a mechanism has; a
description is read by the one and checked by both, and messages name file and line.
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from .describe import reader
from .describe.check import check
from .describe.mechanism import Mechanism
from .equations.topology import span
from .errors import DescriptionError
from .variables import variables

if TYPE_CHECKING:  # readers of robots take a while to import, and most start without
    from .robots.translate import Imported, Wishes

OWN = ("", ".yaml", ".yml")  # endings of examples' names and of descriptions


def load(source: str | os.PathLike[str]) -> Mechanism:
    """The mechanism of that name among the shipped examples, or in the file of that path; a robot's too."""
    path = Path(source)
    if path.suffix.lower() not in OWN and path.is_file():
        from .robots.read_robot import is_robot

        if is_robot(path):
            return load_robot(path).mechanism
    mechanism = reader.load_with(source, checked)
    return replace(mechanism, folder=str(path.parent.resolve())) if path.is_file() else mechanism


def load_robot(path: Path, wishes: Wishes | None = None) -> Imported:
    """The mechanism in a URDF, xacro, MJCF or SDF file, and what was read, repaired, merged and left out."""
    from .robots.read_robot import read_robot

    imported = read_robot(path, wishes)
    try:
        mechanism = replace(checked(imported.mechanism), folder=str(path.parent.resolve()))
        return imported._replace(mechanism=mechanism)
    except DescriptionError as error:
        raise DescriptionError(f"{path}: {error}") from None


def read(text: str, file: str = "description") -> Mechanism:
    """The mechanism described in `text`; messages name `file` and the line."""
    return reader.read_with(text, file, checked)


def checked(mechanism: Mechanism) -> Mechanism:
    """The mechanism with plain numbers, if it makes sense and its own outputs are there; else a `Flaw`."""
    result = check(mechanism)
    variables(result, span(result))
    return result
