"""From a file, a text or an example's name to a checked mechanism, its own names included.

`describe/` knows what a description may hold, `variables.py` which names a mechanism has; a
description is read by the one and checked by both, and messages name file and line.
"""

from __future__ import annotations

import os
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

from .base import annexes
from .describe import reader
from .describe.check import check
from .describe.mechanism import Mechanism
from .equations.topology import span
from .variables import variables

OWN = ("", ".yaml", ".yml")  # endings of examples' names and of descriptions


def load(source: str | os.PathLike[str], trust: bool = False, accept_inertia: bool = False) -> Mechanism:
    """A mechanism, read and checked.

    Parameters
    ----------
    source : the name of a shipped example (`list_examples`), or the path of a description (YAML) or of a
        robot in URDF, xacro, MJCF or SDF.
    trust : whether a xacro file is handed to the xacro package, which runs whatever the file says.
    accept_inertia : whether inertias of a robot's file that no body can have are repaired, however far off.

    Examples
    --------
    >>> from cutjoint import load
    >>> load("stewart").inputs()
    ('motor1', 'motor2', 'motor3')
    """
    path = Path(source)
    if path.suffix.lower() not in OWN and path.is_file():
        other = annexes.reader(path)
        if other is not None:
            found: Mechanism = other.load(path, trust, accept_inertia)
            return found
    mechanism = reader.load_with(source, check_names)
    return replace(mechanism, folder=str(path.parent.resolve())) if path.is_file() else mechanism


def read(text: str, file: str = "description") -> Mechanism:
    """The mechanism described in `text`; messages name `file` and the line."""
    return reader.read_with(text, file, check_names)


def check_names(mechanism: Mechanism) -> Mechanism:
    """The mechanism with plain numbers, if it makes sense and its own outputs are there; else a `Flaw`."""
    result = check(mechanism)
    variables(result, span(result))
    return result


def __getattr__(name: str) -> Any:
    """`load_robot`, which was here."""
    return import_module("cutjoint").old_name(__name__, name)
