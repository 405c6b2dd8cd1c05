"""From a file, a text or an example's name to a checked mechanism, its own names included.

`describe/` knows what a description may hold, `variables.py` which names a mechanism has; a
description is read by the one and checked by both, and messages name file and line.
"""

import os

from .describe import reader
from .describe.check import check
from .describe.mechanism import Mechanism
from .equations.topology import span
from .variables import variables


def load(source: str | os.PathLike[str]) -> Mechanism:
    """The mechanism of that name among the shipped examples, or in the file of that path."""
    return reader.load_with(source, checked)


def read(text: str, file: str = "description") -> Mechanism:
    """The mechanism described in `text`; messages name `file` and the line."""
    return reader.read_with(text, file, checked)


def checked(mechanism: Mechanism) -> Mechanism:
    """The mechanism with plain numbers, if it makes sense and its own outputs are there; else a `Flaw`."""
    result = check(mechanism)
    variables(result, span(result))
    return result
