"""Inverse kinematics: joints, actuators, their speeds and accelerations for what frames shall do."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np

from ..base.errors import SimulationError
from ..base.thresholds import CARRIED, MISSED, SHORTEST_WAY, SLIP, STARTS_EACH
from ..run.assembly import beside
from ..state import State
from .core import ChainCore, ChainMotion, row_names, row_scales, seen_rank
from .reach import Watch, Way, by_actuators, follow, nearest_pose, overruns, watched
from .rows import CoordinateRow, Item, coordinate_row, row_units
from .target import Target, held_numbers, resolve, target_numbers, target_rates, target_rows

TWIST = ("velocity", "angular_velocity")
RATE = ("acceleration", "angular_acceleration")


def wanted(
    chain: ChainCore, targets: Sequence[Target], hold: Mapping[str, Any]
) -> tuple[tuple[Item, ...], np.ndarray, np.ndarray, np.ndarray]:
    """Rows, and what they shall be: place, rate and its rate."""
    for target in targets:
        if not isinstance(target, Target):
            raise SimulationError(f"a target is a Target of a frame, not {type(target).__name__}")
    targets = [resolve(chain.mechanism, target) for target in targets]
    frames = [target_rows(chain.mechanism, target) for target in targets]
    held = [coordinate_row(chain.mechanism, name) for name in hold]
    items: tuple[Item, ...] = (*frames, *held)
    if not items:
        raise SimulationError("nothing is asked for; give a target")
    if len(set(row_names(items))) < len(row_names(items)):
        twice = next(name for name in row_names(items) if row_names(items).count(name) > 1)
        raise SimulationError(f"'{twice}' is asked for twice; give it once")
    t = np.concatenate([*map(target_numbers, targets), held_numbers(hold, "coordinate")])
    pairs = list(zip(targets, frames, strict=True))
    w, a = (
        np.concatenate([*(target_rates(x, rows.rows, names) for x, rows in pairs), np.zeros(len(held))])
        for names in (TWIST, RATE)
    )
    return items, t, w, a


def inverse(
    chain: ChainCore,
    targets: Sequence[Target],
    start: State | None,
    hold: Mapping[str, Any],
    nearest: bool,
    margin: float | None,
    limits: bool = True,
) -> ChainMotion:
    """The motion of all joints at targets, reached from `start` without leaving its branch."""
    items, t, w, a = wanted(chain, targets, hold)
    given = chain.start if start is None else start
    state = chain.released(given)
    state = replace(state, v=np.zeros_like(state.v))
    if limits and (over := overruns(chain, state)):
        name = next(iter(over))
        raise SimulationError(
            f"the start of '{chain.mechanism.name}' is beyond a limit of joint '{name}' already"
        )
    watch = watched(chain, state, margin, limits)
    way = follow(chain, state, items, t, watch)
    if way.part < 1.0:
        way = by_actuators(chain, state, items, t, watch) or way
    if way.stop.startswith("limit") and not nearest:
        way = _around_limits(chain, state, items, t, way, margin)
    if way.part == 1.0:
        return with_rates(chain, way.state, given, items, w, a, way.residual)
    if not nearest:
        raise SimulationError(refusal(chain, way, items, t))
    found = nearest_pose(chain, way, items, t)
    still = np.zeros(len(row_names(items)))
    return with_rates(chain, found.state, given, items, still, still, found.residual, found.slack)


def with_rates(
    chain: ChainCore,
    state: State,
    given: State,
    items: Sequence[Item],
    w: np.ndarray,
    a: np.ndarray,
    residual: float,
    slack: Mapping[str, float] | None = None,
) -> ChainMotion:
    """The least speeds and accelerations that rows and loops ask for; refused if they contradict."""
    hard, nothing = np.zeros(len(w)), np.zeros(0)
    if not w.any() and not a.any():  # also where rows contradict each other
        items, w, a, hard = (), nothing, nothing, nothing
    v, _, miss = chain.kernel("speeds", items)(state.q, w, hard, nothing, state.p)
    _refuse_rates(chain, items, miss, w, "speed")
    state = replace(state, v=v)
    dv, _, miss = chain.kernel("accelerations", items)(state.q, v, a, hard, nothing, state.p)
    _refuse_rates(chain, items, miss, a, "acceleration")
    return chain.motion(state, given, dv, residual, slack)


def _refuse_rates(
    chain: ChainCore, items: Sequence[Item], miss: np.ndarray, asked: np.ndarray, what: str
) -> None:
    """One sentence if rows can't have the rates that they are asked for."""
    size = np.abs(asked).max(initial=0.0) + 1.0
    if np.abs(miss).max(initial=0.0) > SLIP * size:
        k = int(np.abs(miss).argmax())
        raise SimulationError(
            f"'{chain.mechanism.name}' can't have that {what} here: {row_names(items)[k]} would be off by "
            f"{abs(miss[k]):.3g}; its loops, or other rows, do not allow it"
        )


def _around_limits(
    chain: ChainCore, state: State, items: tuple[Item, ...], t: np.ndarray, way: Way, margin: float | None
) -> Way:
    """Where rows leave freedoms, joints are held at the limits that they meet, as many as are needed."""
    more, held, first = items, list(t), way
    for _ in range(len(chain.limits)):
        name = way.stop.partition(" ")[2]
        if not way.stop.startswith("limit") or CoordinateRow(name) in more:
            break
        A = chain.freedoms(more, way.state)
        if seen_rank(np.linalg.svd(A, compute_uv=False)) == A.shape[1]:
            break  # nothing is free
        more = (*more, CoordinateRow(name))
        low, high = chain.limits[name]
        at = chain.values((CoordinateRow(name),), way.state)[0][0]
        held.append(low if at - low < high - at else high)
        other = follow(chain, way.state, more, np.array(held), watched(chain, state, margin))
        if other.part < 1.0 and not other.stop.startswith("limit"):
            break
        way = other
    return way if way.part == 1.0 else first


# -- why not ----------------------------------------------------------------------------------------


def refusal(chain: ChainCore, way: Way, items: Sequence[Item], t: np.ndarray) -> str:
    """One sentence: what stops the way to t, and how far from it that is."""
    name = chain.mechanism.name
    lacks = _lacking(chain, way, items, t)
    far = f"{100 * way.part:.3g} % of the way, {_amounts(chain, items, lacks)} short of it"
    if way.stop.startswith("limit"):
        joint = way.stop.partition(" ")[2]
        low, high = chain.limits[joint]
        at = chain.values((CoordinateRow(joint),), way.state)[0][0]
        which = f"lower limit, {low:.6g}" if at - low < high - at else f"upper limit, {high:.6g}"
        return f"'{name}' can't reach that: joint '{joint}' meets its {which}, after {far}"
    if way.stop == "singular":
        lost = _lost_motion(chain, way)
        if not way.part:
            return (
                f"'{name}' does not go there from this start: it is, or is next to, a singular pose "
                f"(smallest singular value {way.distance:.3g}), where {lost} could move by itself; "
                "start away from it"
            )
        return (
            f"'{name}' does not go there: after {far}, its actuators lose hold at a singular pose "
            f"(smallest singular value {way.distance:.3g}), where {lost} could move by itself"
        )
    closed = unreachable(chain, way.state, items)
    # of what is missing, the part along directions in which the frame can't move at all
    missing = closed.T @ (lacks / row_scales(chain, items))
    if np.abs(missing).max(initial=0.0) > MISSED:
        n = closed @ missing
        return (
            f"'{name}' can't reach that: its loops do not let {_directions(items, n)} be chosen so; {far}. "
            "Ask for fewer rows"
        )
    n = _last_direction(chain, way, items)
    if forks(chain, way, items, t):
        return (
            f"'{name}' does not go there from this start: it is a singular pose, where "
            f"{_directions(items, n)} does not say which way joints go on; start beside it, "
            "on the side that is meant"
        )
    return (
        f"'{name}' can't reach that: its reach ends after {far}, at a singular pose beyond which "
        f"{_directions(items, n)} does not go"
    )


def forks(chain: ChainCore, way: Way, items: Sequence[Item], t: np.ndarray) -> bool:
    """Whether the way ended where it began, and leads on from a pose beside it."""
    if way.part > SHORTEST_WAY:
        return False
    free, state, nothing = np.ones(chain.free.tree.nv), way.state, np.zeros(0)
    for q in islice(beside(chain.free, state.q, free), STARTS_EACH[0]):
        found = chain.free.assembly(q, nothing, state.p)
        other = replace(state, q=found.q)
        if found.closed and follow(chain, other, items, t, Watch((), 0.0, False)).part == 1.0:
            return True
    return False


def _lacking(chain: ChainCore, way: Way, items: Sequence[Item], t: np.ndarray) -> np.ndarray:
    """What rows lack where the way ended: e(q, t)."""
    return np.asarray(chain.kernel("lacking", items)(way.state.q, t, way.state.p))


def _amounts(chain: ChainCore, items: Sequence[Item], lacks: np.ndarray) -> str:
    angles = np.array([unit == "rad" for unit in row_units(chain.mechanism, items)])
    parts = [(np.linalg.norm(lacks[~angles]), "m"), (np.linalg.norm(lacks[angles]), "rad")]
    return " and ".join(f"{x:.3g} {unit}" for x, unit in parts if x > MISSED) or "nothing"


def unreachable(chain: ChainCore, state: State, items: Sequence[Item]) -> np.ndarray:
    """Directions of rows that no motion of the loops moves, a column each: nᵀW K = 0."""
    U, s, _ = np.linalg.svd(chain.freedoms(items, state))
    return U[:, seen_rank(s) :]


def _last_direction(chain: ChainCore, way: Way, items: Sequence[Item]) -> np.ndarray:
    """The direction of rows that is hardest to move in where the way ended."""
    U, s, _ = np.linalg.svd(chain.freedoms(items, way.state))
    return U[:, max(seen_rank(s) - 1, 0)]


def _directions(items: Sequence[Item], n: np.ndarray) -> str:
    """Rows in words, those that take part: `platform.rx`, or several."""
    largest = np.abs(n).max(initial=0.0)
    parts = [row for row, x in zip(row_names(items), n, strict=True) if abs(x) > 0.1 * max(largest, CARRIED)]
    return ", ".join(parts) or "nothing"


def _lost_motion(chain: ChainCore, way: Way) -> str:
    """The joints that move most in the motion which actuators hold least."""
    state, tree = way.state, chain.free.tree
    J = np.vstack([chain.loop_rows(state.q, state.p), chain.rows_unitless(chain.drive_items(), state)])
    return joints_of(np.linalg.svd(J)[2][-1], tree)


def joints_of(n: np.ndarray, tree: Any) -> str:
    """Joints that take part in a motion n of the speeds, by name, the largest first."""
    size = {joint: float(np.abs(n[at]).max(initial=0.0)) for joint, at in tree.v.items()}
    largest = max(size.values(), default=0.0)
    names = [joint for joint, x in sorted(size.items(), key=lambda pair: -pair[1]) if x > 0.1 * largest]
    return ", ".join(names[:4]) + (", ..." if len(names) > 4 else "")
