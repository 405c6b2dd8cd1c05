"""Things that show themselves in notebooks.

How they look stands floors above, in `show/notebook.py`; the door `cutjoint.model` says so when it is opened.
"""

from collections.abc import Callable
from typing import Any

_painters: list[Callable[[Any], str]] = []


def painted_by(painter: Callable[[Any], str]) -> None:
    """Let a function make HTML of whatever is `Displayed`."""
    _painters[:] = [painter]


class Displayed:
    """Something that a notebook shows as more than its text."""

    def _repr_html_(self) -> str | None:
        return _painters[0](self) if _painters else None
