"""Things that show themselves in notebooks; an annex paints them while it is there."""

from importlib import import_module

from .annexes import entries


class Displayed:
    """Something that a notebook shows as more than its text."""

    def _repr_html_(self) -> str | None:
        painter = dict(entries("PAINTERS")).get("notebook")
        return str(import_module(painter).cell_html(self)) if painter else None
