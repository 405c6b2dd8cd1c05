"""Where a frame is wanted: its pose, twist and acceleration, all six components or a chosen few."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from ..base.errors import SimulationError
from ..base.thresholds import TINY
from ..base.units import kind
from ..describe.mechanism import GROUND, Mechanism
from ..describe.targets import NamedTarget
from ..describe.validation import nearest
from .rows import AXES, SIX, FrameRows, frame_name

ALONG, ABOUT = SIX[:3], SIX[3:]
Numbers: TypeAlias = Sequence[float] | np.ndarray


@dataclass(frozen=True)
class Target:
    """A pose that a body or frame shall have, and how it shall move there.

    Parameters
    ----------
    frame : a body, or one of the description's `frames`; or of its `targets`, which say rows and base.
    position : where its origin shall be, metres, seen from `base`.
    orientation : Euler parameters (w, x, y, z) of its axes, seen from `base`, of any length but zero.
    rows : which of x, y, z, rx, ry, rz are asked for; those of what is given if None. A turn about an axis
        that is not asked for is free.
    velocity, angular_velocity : m/s, rad/s, as the base sees them, along `axes`; zero if None.
    acceleration, angular_acceleration : the rates of these numbers; zero if None.
    base : the body, frame or `ground` that the pose is seen from.
    axes : "base" or "own", along and about which the rows are counted.

    Examples
    --------
    >>> from cutjoint import Target
    >>> Target("platform", position=(0, 0, 0.8), rows=("z",)).rows
    ('z',)
    """

    frame: str
    position: Numbers | None = None
    orientation: Numbers | None = None
    rows: tuple[str, ...] | None = None
    velocity: Numbers | None = None
    angular_velocity: Numbers | None = None
    acceleration: Numbers | None = None
    angular_acceleration: Numbers | None = None
    base: str = GROUND
    axes: str = AXES[0]


def described_target(described: NamedTarget, position: Numbers, orientation: Numbers) -> Target:
    """A described target at a pose; what its rows do not ask for is left out."""
    placed, turned = (any(row in described.rows for row in rows) for rows in (ALONG, ABOUT))
    return Target(described.name, position if placed else None, orientation if turned else None)


def resolve(mechanism: Mechanism, target: Target) -> Target:
    """The target with frame, rows and base of a described one, if it is called so."""
    described = next((x for x in mechanism.targets if x.name == target.frame), None)
    if described is None:
        return target
    rows = target.rows
    if rows is None:
        given = [*ALONG * (target.position is not None), *ABOUT * (target.orientation is not None)]
        rows = tuple(row for row in described.rows if row in given)
    other = [row for row in rows if row not in described.rows]
    if other:
        own = ", ".join(described.rows)
        raise SimulationError(f"target '{target.frame}' has the rows {own}; {other[0]} is none of them")
    base = described.base if target.base == GROUND else target.base
    return replace(target, frame=described.frame, rows=rows, base=base)


def target_rows(mechanism: Mechanism, target: Target) -> FrameRows:
    """The rows that a target asks for, checked."""
    frame = frame_name(mechanism, target.frame)
    base = frame_name(mechanism, target.base, base=True)
    if frame == base:
        raise SimulationError(f"the target of '{frame}' is seen from '{base}' itself; name another base")
    if target.axes not in AXES:
        raise SimulationError(f"axes of a target are {' or '.join(AXES)}, not '{target.axes}'")
    given = [*ALONG * (target.position is not None), *ABOUT * (target.orientation is not None)]
    rows = given if target.rows is None else list(target.rows)
    for row in rows:
        if row not in SIX:
            raise SimulationError(f"a target has no row '{row}'; {nearest(row, SIX)}")
        if row not in given:
            what = "position" if row in ALONG else "orientation"
            raise SimulationError(f"the target of '{frame}' asks for {row} but gives no {what}")
    if len(set(rows)) < len(rows) or not rows:
        sentence = "names a row twice" if rows else "gives neither position nor orientation"
        raise SimulationError(f"the target of '{frame}' {sentence}")
    return FrameRows(frame, tuple(rows), base, target.axes)


def target_numbers(target: Target) -> np.ndarray:
    """Position and Euler parameters, seven numbers; what is not given is zero, and not turned."""
    position = three(target.position, target.frame, "position")
    if target.orientation is None:
        return np.array([*position, 1.0, 0.0, 0.0, 0.0])
    orientation = numbers(target.orientation, 4, target.frame, "orientation")
    if not np.linalg.norm(orientation) > TINY**0.5:
        raise SimulationError(
            f"the orientation of '{target.frame}' is zero, which turns nothing; (1, 0, 0, 0) is unturned"
        )
    return np.array([*position, *orientation / np.linalg.norm(orientation)])


def target_rates(target: Target, rows: Iterable[str], names: tuple[str, str]) -> np.ndarray:
    """The twist, or its rate, along the rows."""
    six = [x for name in names for x in three(getattr(target, name), target.frame, name)]
    return np.array([six[SIX.index(row)] for row in rows])


def three(value: Any, frame: str, what: str) -> np.ndarray:
    return np.zeros(3) if value is None else numbers(value, 3, frame, what)


def numbers(value: Any, size: int, frame: str, what: str) -> np.ndarray:
    """So many finite numbers, or one sentence."""
    try:
        found = np.asarray(value, float)
    except (TypeError, ValueError):
        found = np.full(1, np.nan)
    if found.shape != (size,) or not np.isfinite(found).all():
        given = "not all finite" if found.shape == (size,) else f"not {kind(value)}"
        raise SimulationError(f"the {what} of '{frame}' is {size} finite numbers, {given}")
    return found


def held_numbers(values: Mapping[str, Any], what: str) -> list[float]:
    """One finite number each, by name."""
    return [
        float(numbers(np.atleast_1d(x) if not isinstance(x, str) else x, 1, name, what)[0])
        for name, x in values.items()
    ]
