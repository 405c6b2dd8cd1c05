"""Design propagation (paper 003): change a dimension, and let what was left free follow.

The loops g(q, s', C, ℓ) = 0 are closed again by Newton steps that are the shortest in weighted
size, δx = −W⁻¹(J W⁻¹)⁺ g: the paper's generalized inverse for weights of one. Steps are damped
where a full one does not help, and stop at bounds. A rotation counts in radians, a length in
units of the mechanism's size, so that metres and radians compare.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..base.errors import CutjointError
from ..base.thresholds import SHORTEST_LENGTH, UNCHANGED
from ..describe.mechanism import Body, Mechanism
from ..loading import load
from .dimensions import Design, as_names
from .gaps import NotAbsorbed, gaps, not_absorbed, opening
from .least_step import close


@dataclass(frozen=True)
class Change:
    """One row of the table of what changed."""

    name: str
    unit: str
    before: np.ndarray
    after: np.ndarray
    wanted: bool  # set by the designer; otherwise it followed


@dataclass(frozen=True)
class Propagation:
    """A design change carried through: two mechanisms that start closed, and how it went."""

    before: Mechanism  # as it was, assembled
    mechanism: Mechanism  # as it is now
    changes: tuple[Change, ...]  # every dimension and coordinate that differs: name, unit, before, after
    iterations: int  # steps of Newton's method
    residual: float  # ‖g‖₂ at the end
    history: tuple[float, ...]  # ‖g‖₂ before each step and at the end
    loops: dict[str, tuple[float, str]]  # how far each is open, and the unit


def propagate(
    mechanism: Mechanism | str,
    change: Mapping[str, Any],
    free: str | Iterable[str] = "q",
    *,
    weights: Mapping[str, float] | None = None,
    scale: float | None = None,
    bounds: Mapping[str, tuple[float, float]] | None = None,
    locked: str | Iterable[str] = (),
    tolerance: float = 0.0,
    assemble_first: bool = True,
) -> Propagation:
    """Change dimensions and close the loops again by moving what is free.

    Parameters
    ----------
    mechanism : Mechanism, or the name of an example, or the path of a description; it stays as it is.
    change : dimension -> new value, by parameter name (`s21`) or path
        (`joint.ball.on_child.position`, `joint.rod.length`, a component with `[2]`).
    free : `q` coordinates, `s` joint positions, `C` orientations, `l` lengths, `all`, or names,
        paths and patterns (`joint.*.length`, `q.crank`); several with commas or as a list.
    weights : name -> how much harder than others it is to move; 2 moves half as readily.
    scale : metres that count as much as one radian; the mechanism's size if None, 1 in the paper.
    bounds : name -> (lowest, highest).
    locked : names that stay as they are although they are in a free group.
    tolerance : the ‖g‖₂ at which to stop early; 0 goes as far as numbers allow.
    assemble_first : close the loops of the given mechanism before the change.
    """
    design = Design(load(mechanism) if isinstance(mechanism, str) else mechanism)
    if not design.tree.row_count:
        raise CutjointError(f"mechanism '{design.mechanism.name}' has no loops; any change fits it")
    coordinates = np.zeros(design.width, bool)
    coordinates[: design.tree.nv] = True
    wide = np.full(design.width, np.inf)
    W = _weights(design, weights or {}, scale)
    q = design.q
    if assemble_first:
        first = close(design, q, design.p, coordinates, W, (-wide, wide))
        q = first.x[0]
        if not first.closed:
            raise NotAbsorbed(
                f"mechanism '{design.mechanism.name}' is not assembled before the change: "
                f"{opening(design, q, design.p)}; close it first",
                gaps(design, q, design.p),
                [],
            )
    p, settled = design.given(change)
    movable = _movable(design, as_names(free), as_names(locked), settled)
    low, high = _bounds(design, bounds or {})
    _require_inside(design, q, p, low, high, movable)
    (new_q, new_p), steps, history, closed = close(design, q, p, movable, W, (low, high), tolerance)
    if not closed and history[-1] > tolerance:
        raise not_absorbed(design, new_q, new_p, movable, settled, W, (low, high))
    return Propagation(
        design.described(q, design.p),
        design.described(new_q, new_p),
        tuple(_changes(design, (q, design.p), (new_q, new_p), settled)),
        steps,
        history[-1],
        tuple(history),
        gaps(design, new_q, new_p),
    )


def stretch(
    mechanism: Mechanism, body: str, by: float, joints: tuple[str, str] | None = None
) -> dict[str, Any]:
    """The change that makes a link longer by `by` metres: its second joint moves away from its first.

    Its mass, centre of mass and inertia stay as they are; `stretched_body` has others.

    Parameters
    ----------
    mechanism, body : the mechanism, and the name of the link.
    joints : the names of both joints; a link with two needs none.
    """
    place, start, end = _stretched(mechanism, body, by, joints)
    position = end + (end - start) * (by / float(np.linalg.norm(end - start)))
    return {place: tuple(float(x) for x in position)}


def stretched_body(
    mechanism: Mechanism,
    body: str,
    by: float,
    joints: tuple[str, str] | None = None,
    grows: bool = False,
) -> Body:
    """The link as `stretch` makes it with its material moved along: k times as far from its first joint.

    mechanism, body, joints : as of `stretch`.
    grows : whether its mass grows with it, as at the same density; otherwise the same mass is spread out.

    With D = 1 + (k − 1) a aᵀ along the unit vector a, second moments S become D S D; I = tr(S) − S.
    """
    _, start, end = _stretched(mechanism, body, by, joints)
    old, length = mechanism.body(body), float(np.linalg.norm(end - start))
    axis, k = (end - start) / length, 1 + by / length
    D = np.eye(3) + (k - 1) * np.outer(axis, axis)
    xx, yy, zz, xy, xz, yz = old.inertia
    inertia = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    S = D @ (np.trace(inertia) / 2 * np.eye(3) - inertia) @ D * (k if grows else 1.0)
    new = np.trace(S) * np.eye(3) - S
    six = (*np.diag(new), new[0, 1], new[0, 2], new[1, 2])
    com = start + D @ (np.asarray(old.com, float) - start)
    mass = old.mass * k if grows else old.mass
    return replace(old, mass=mass, com=tuple(map(float, com)), inertia=tuple(map(float, six)))


def _stretched(
    mechanism: Mechanism, body: str, by: float, joints: tuple[str, str] | None
) -> tuple[str, np.ndarray, np.ndarray]:
    """Where the second joint of a link stands among the dimensions, and the places of both joints on it."""
    places: dict[str, Any] = {}
    for joint in mechanism.joints:
        if body in (joint.parent, joint.child):
            side = "on_parent" if joint.parent == body else "on_child"
            places[joint.name] = (side, getattr(joint, side))
    mechanism.body(body)
    names = list(places) if joints is None else list(joints)
    if len(names) != 2 or any(n not in places for n in names):
        raise CutjointError(
            f"name two of the joints of body '{body}' to stretch it between: {', '.join(places)}"
        )
    start, end = (np.asarray(places[n][1].position, float) for n in names)
    length = float(np.linalg.norm(end - start))
    if length == 0 or length + by <= 0:
        raise CutjointError(
            f"body '{body}' is {length:g} m long from {names[0]} to {names[1]}; it can't be "
            f"stretched by {by:g} m"
        )
    return f"joint.{names[1]}.{places[names[1]][0]}.position", start, end


# -- the free variables ------------------------------------------------------------------


def _movable(design: Design, free: list[str], locked: list[str], settled: set[int]) -> np.ndarray:
    movable = np.zeros(design.width, bool)
    if not free:
        raise CutjointError("nothing is free to follow the change; name what is, such as free='q,s'")
    for name in free:
        columns = design.columns(name)
        if settled.issuperset(columns):
            raise CutjointError(f"'{name}' is set by the change and can't be free as well")
        movable[columns] = True
    for name in locked:
        movable[design.columns(name)] = False
    movable[list(settled)] = False
    if not movable.any():
        raise CutjointError(f"all of {', '.join(free)} is locked; nothing is left to follow the change")
    return movable


def _weights(design: Design, weights: Mapping[str, float], scale: float | None) -> np.ndarray:
    W = design.natural_weights(design.size if scale is None else scale)
    for name, weight in weights.items():
        if not (0 < weight < np.inf):
            raise CutjointError(
                f"the weight of '{name}' must be positive and finite, not {weight:g}; lock it instead"
            )
        W[design.columns(name)] *= weight
    return W


def _bounds(design: Design, bounds: Mapping[str, tuple[float, float]]) -> tuple[np.ndarray, np.ndarray]:
    low, high = np.full(design.width, -np.inf), np.full(design.width, np.inf)
    for block in design.blocks:
        if block.kind == "length":
            low[block.columns] = SHORTEST_LENGTH * design.size
    for name, (least, most) in bounds.items():
        if not least <= most:
            raise CutjointError(
                f"the bounds of '{name}' must be (lowest, highest), not ({least:g}, {most:g})"
            )
        columns = design.columns(name)
        for block in design.blocks:
            turns = {block.columns.start + k for k, place in enumerate(block.added) if place is None}
            if not turns.isdisjoint(columns):
                raise CutjointError(
                    f"'{block.name}' is a rotation and takes no bounds; lock it or weigh it instead"
                )
        low[columns] = np.maximum(low[columns], least)
        high[columns] = most
    return low, high


def _require_inside(
    design: Design, q: np.ndarray, p: np.ndarray, low: np.ndarray, high: np.ndarray, movable: np.ndarray
) -> None:
    x = design.state(q, p)
    for k in np.flatnonzero(movable & ((x < low - UNCHANGED) | (x > high + UNCHANGED))):
        raise CutjointError(
            f"'{design.label(int(k))}' starts at {x[k]:.6g}, "
            f"outside its bounds ({low[k]:.6g}, {high[k]:.6g}); widen them"
        )


def _changes(design: Design, old: Any, new: Any, settled: set[int]) -> Iterable[Change]:
    for block in design.blocks:
        before, after = design.value(block, *old), design.value(block, *new)
        if np.abs(after - before).max() > UNCHANGED:
            unit = "1" if None in block.added else ",".join(dict.fromkeys(block.units))
            wanted = not settled.isdisjoint(range(block.columns.start, block.columns.stop))
            yield Change(block.name, unit, before.copy(), after.copy(), wanted)
