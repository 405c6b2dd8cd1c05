"""Joints of the engine as lock constraints, and joints driven by motion laws (paper 001, section 6)."""

from __future__ import annotations

from collections.abc import Sequence

from ..describe.mechanism import Joint
from ..equations.kinematics import ROTATIONS, SLIDES
from ..errors import DescriptionError
from ..joints.types import TYPES
from . import euler
from .laws import IDENTITY, ORIGIN, Jet, Law, plus, times, turn, turned, unit
from .lock import ALL, Lock, Marker, Moved, marker

# Joint types that are the lock with some rows left out; the other types keep the engine's rows.
LOCKED = {
    "revolute": "xyzij",
    "prismatic": "xyijk",
    "cylindrical": "xyij",
    "spherical": "xyz",
    "planar": "zij",
    "fixed": "xyzijk",
}
# The row that each coordinate of such a joint turns or slides along.
_ROW = {"Rz": "k", "Px": "x", "Py": "y", "Pz": "z"}
# Their coordinates are read off one turned frame: no move but a turn about x stands behind a turn.
DRIVEN = ("revolute", "prismatic", "cylindrical", "universal", "spherical", "planar", "helical")

Laws = Law | Sequence[Law | None]


def joint_lock(joint: Joint) -> Lock:
    """The lock that a joint is: P its frame on the child, S its frame on the parent."""
    return _lock(joint, Marker(), LOCKED[joint.type])


def driven_lock(joint: Joint, laws: Laws) -> Lock:
    """The lock that moves a joint as its laws say, one law per elementary move.

    None leaves a coordinate of a cylindrical or planar joint free. A ball takes one law of four
    Euler parameters, of any length.
    """
    if joint.type not in DRIVEN:
        raise DescriptionError(
            f"joint '{joint.name}' ({joint.type}) can't follow a motion law; driven joints are "
            f"{', '.join(DRIVEN)}, and a lock constraint moves any body"
        )
    moves = TYPES[joint.type].moves or ()
    given: list[Law | None] = [laws] if isinstance(laws, Law) else list(laws)
    if len(given) != len(moves):
        raise DescriptionError(
            f"joint '{joint.name}' ({joint.type}) takes {len(moves)} motion laws, not {len(given)}"
        )
    for law, move in zip(given, moves, strict=True):
        size = 4 if move == "Q" else 1
        if law is None and (joint.type not in LOCKED or move not in _ROW):
            raise DescriptionError(
                f"joint '{joint.name}' ({joint.type}) needs a motion law for every coordinate"
            )
        if law is not None and law.size != size:
            raise DescriptionError(
                f"motion law '{law.name}' of joint '{joint.name}' must give {size} numbers, not {law.size}"
            )
    mask = LOCKED.get(joint.type, ALL)
    for law, move in zip(given, moves, strict=True):
        if law is not None:
            mask += _ROW.get(move, ALL)
    pairs = list(zip(given, moves, strict=True))

    def jets(t: float) -> tuple[Jet, Jet]:
        position, orientation = ORIGIN, IDENTITY
        for law, move in pairs:
            if law is None:
                continue
            x = law(t)
            if move in SLIDES or move == "Hz":
                scale = joint.pitch if move == "Hz" else 1.0
                slide = _along(SLIDES.get(move, 2), x, scale)
                position = plus(position, turned(orientation, slide))
            if move in ROTATIONS:
                orientation = times(euler.multiply, orientation, turn(ROTATIONS[move], x))
            elif move == "Q":
                orientation = times(euler.multiply, orientation, unit(x))
        return position, orientation

    return _lock(joint, Moved(jets), "".join(c for c in ALL if c in mask))


def _lock(joint: Joint, wanted: Marker | Moved, mask: str) -> Lock:
    ends = (joint.child, joint.parent, marker(joint.on_child), marker(joint.on_parent))
    return Lock(joint.name, *ends, wanted, mask)


def _along(axis: int, x: Jet, scale: float) -> Jet:
    parts = [ORIGIN.x.copy() for _ in range(3)]
    for part, value in zip(parts, x, strict=True):
        part[axis] = scale * value[0]
    return Jet(*parts)
