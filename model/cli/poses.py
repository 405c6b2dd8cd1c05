"""Poses on the command line: `platform=z:0.8,roll:5deg`."""

from collections.abc import Sequence

import numpy as np

from ..base.errors import CutjointError
from ..chain.chain import Chain
from ..chain.target import Target
from .common import check_name, number

# What may be given of a pose: the row it asks for, and its unit.
PARTS = {
    "x": ("x", "m"),
    "y": ("y", "m"),
    "z": ("z", "m"),
    "roll": ("rx", "rad"),
    "pitch": ("ry", "rad"),
    "yaw": ("rz", "rad"),
}
TEXT = "where a body, frame or target shall be: x, y, z (m), roll, pitch, yaw (rad), or with units"


def read_poses(words: Sequence[str], chain: Chain, option: str) -> list[Target]:
    """Targets of words; parts that are not given are free."""
    found = []
    for word in words:
        name, equals, text = word.partition("=")
        if not equals or not text:
            raise CutjointError(
                f"{option} takes NAME=PART:VALUE, such as platform=z:0.8,roll:5deg, not '{word}'"
            )
        given: dict[str, float] = {}
        for part in text.split(","):
            key, colon, value = part.strip().partition(":")
            if not colon:
                raise CutjointError(f"{option} {name} takes PART:VALUE, such as z:0.8, not '{part.strip()}'")
            check_name(key, PARTS, f"{option} {name}", "part")
            if key in given:
                raise CutjointError(f"{option} {name} gives {key} twice")
            given[key] = number(value.strip(), f"{option} {name}", PARTS[key][1])
        found.append(_target(name, given))
    return found


def _target(name: str, given: dict[str, float]) -> Target:
    """Angles are those of roll about x, then pitch about y, then yaw about z of the base."""
    all_six = np.array([given.get(key, 0.0) for key in PARTS])
    places, angles = all_six[:3], all_six[3:]
    rows = tuple(row for key, (row, _) in PARTS.items() if key in given)
    turned = set(given) & set(list(PARTS)[3:])
    from ..urdf.placement import roll_pitch_yaw  # few need it, and SciPy takes a while to import

    orientation = roll_pitch_yaw(places, angles).frame().orientation if turned else None
    return Target(name, places if set(given) - turned else None, orientation, rows)
