"""Moments of inertia of homogeneous solids about their centre, from mass and size."""

from collections.abc import Callable
from typing import Any

from .drawing import Vector, axes, orientation
from .field_kinds import Direction
from .fields import POSITIVE, Around, Quantity
from .mapping_reader import Entries
from .validation import Flaw, Place, nearest

# Solid -> what it needs, and the moments about x, y, z of its own axes over its mass; z is `axis`.
SOLIDS: dict[str, tuple[tuple[str, ...], Callable[..., tuple[float, float, float]]]] = {
    "rod": (("length",), lambda h: (h * h / 12, h * h / 12, 0.0)),
    "cylinder": (("length", "radius"), lambda h, r: (*2 * ((3 * r * r + h * h) / 12,), r * r / 2)),
    "tube": (
        ("length", "radius", "inner_radius"),
        lambda h, r, i: (*2 * ((3 * (r * r + i * i) + h * h) / 12,), (r * r + i * i) / 2),
    ),
    "sphere": (("radius",), lambda r: (0.4 * r * r,) * 3),
    "box": (
        ("size",),
        lambda s: ((s[1] ** 2 + s[2] ** 2) / 12, (s[0] ** 2 + s[2] ** 2) / 12, (s[0] ** 2 + s[1] ** 2) / 12),
    ),
}
_DIRECTIONS = ("axis", "across")


def solid_inertia(given: dict[str, Any], mass: Any, place: Place) -> Vector:
    """(xx, yy, zz, xy, xz, yz) of a solid that is described by `given`.

    I = Σ mₖ aₖ aₖᵀ with the moments m about its own axes a: z along `axis`, x along `across`.
    """
    around, name = Around({}, in_file=True), given.get("solid")
    if name not in SOLIDS:
        raise Flaw((*place, "solid"), f"there is no solid '{name}'; {nearest(name, SOLIDS)}")
    needed, moments = SOLIDS[name]
    entries = Entries(given, place, ("solid", *needed, *_DIRECTIONS), around)
    entries.need(*needed)
    sizes = [entries.read(key, Quantity("", "m", 3 if key == "size" else "", POSITIVE)) for key in needed]
    if name == "tube" and sizes[2] >= sizes[1]:
        raise Flaw((*place, "inner_radius"), "inner_radius must be less than radius")
    total = Quantity("", "kg", "", POSITIVE).check(mass, (*place[:-1], "mass"), around)
    axis = entries.read("axis", Direction(""), (0.0, 0.0, 1.0))
    across = entries.read("across", Direction(""), None)
    if name == "rod" and "axis" not in given:
        entries.need("axis")
    own = axes(orientation(axis, across))
    found = [total * m for m in moments(*sizes)]
    pairs = ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))
    return tuple(sum(m * a[i] * a[j] for m, a in zip(found, own, strict=True)) + 0.0 for i, j in pairs)
