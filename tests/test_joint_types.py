"""Joint types and the moves they are made of: what each says of itself, and what others make of it."""

from __future__ import annotations

import pytest
from cutjoint.model.joints.types import TYPES

UNDIRECTED = ("spherical", "free", "fixed", "distance")
FIELDS = {
    "helical": ("pitch",),
    "distance": ("length",),
    "revolute-spherical": ("length",),
    "translational-distance": ("length", "travel"),
}


@pytest.mark.parametrize("name", TYPES)
def test_a_type_says_what_its_description_needs(name: str) -> None:
    kind = TYPES[name]
    assert kind.directed == (name not in UNDIRECTED)
    assert kind.needs_across == (name == "universal")
    assert kind.two_ends == (name in ("distance", "revolute-spherical", "translational-distance"))
    assert kind.directionless_ends == (name == "distance")
    assert kind.fields == FIELDS.get(name, ())
