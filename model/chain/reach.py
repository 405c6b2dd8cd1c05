"""The way to a target: followed step by step on one branch, and ended before a limit or singular pose.

From where the chain is to where it is wanted, targets go straight (`rows.between`), and Newton's method
follows them as far at a time as it provably stays on the branch (`traced.place`). Between two poses actuators
keep their hold if what they and the loops see, J, has changed by less than its smallest singular value: no
pose between is singular then. So a branch is never changed in silence; where no step leads on, the way ends.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ..base.thresholds import (
    MISSED,
    NEAR_SINGULAR,
    NEAREST_SOFT,
    NEAREST_STEPS,
    ROUGHLY,
    SAME_POSE,
    SHORTEST_WAY,
)
from ..state import State
from .core import ChainCore, row_names, row_scales
from .rows import CoordinateRow, Item, between


class Way(NamedTuple):
    """How far a target was followed: a part of the way, the pose there, and what stopped it, if anything."""

    part: float
    state: State
    stop: str  # "", "singular", "limit NAME", "lost": no pose beyond on this branch
    distance: float  # the smallest hold of actuators met on the way
    residual: float
    slack: np.ndarray  # of rows that are soft


class Watch(NamedTuple):
    """What is watched on a way: hold of actuators, if they have it, and limits."""

    items: tuple[Item, ...]
    margin: float
    limits: bool


def follow(
    chain: ChainCore,
    state: State,
    items: Sequence[Item],
    t: np.ndarray,
    watch: Watch,
    soft: np.ndarray | None = None,
) -> Way:
    """From a closed state towards t, until it is there or something stops it."""
    solve, slack = chain.kernel("place", items), np.zeros(len(row_names(items)))
    soft = slack if soft is None else soft
    begin = chain.values(items, state)[0]
    part, step, nothing = 0.0, 1.0, np.zeros(0)
    J, hold = _hold(chain, watch, state)
    least = min(watch.margin, hold * (1 - ROUGHLY))  # who starts near a singular pose may leave it
    lowest, residual, stop = hold, 0.0, "lost"
    while part < 1.0 and step >= SHORTEST_WAY:
        ahead = min(part + step, 1.0)
        q, off, g, miss, closed, followed = solve(
            state.q, between(items, begin, t, ahead), soft, nothing, state.p
        )
        trial = replace(state, q=q)
        ok = bool(closed[0] and followed[0]) and _small(chain, items, g, miss)
        if ok:
            J_new, hold_new = _hold(chain, watch, trial)
            passes = np.linalg.norm(J_new - J) < max(hold, hold_new) if len(J) else True
            beyond = _beyond(chain, trial) if watch.limits else ""
            stop = "singular" if hold_new < least or not passes else f"limit {beyond}" if beyond else ""
            ok = not stop
        else:
            stop = "lost"
        if ok:
            part, state, J, hold, slack = ahead, trial, J_new, hold_new, off
            lowest, residual = (
                min(lowest, hold),
                max(np.abs(g).max(initial=0.0), np.abs(miss).max(initial=0.0)),
            )
            step *= 2
        else:
            step /= 2
    return Way(part, state, "" if part == 1.0 else stop, lowest, float(residual), slack)


def by_actuators(
    chain: ChainCore, state: State, items: Sequence[Item], t: np.ndarray, watch: Watch
) -> Way | None:
    """Another way to t where the straight one is barred: straight for the actuators, if it ends there.

    Where it leads is asked of Newton's method at once; that the pose is on this branch, the way there shows.
    """
    if not watch.items:
        return None
    found = chain.kernel("place", items)(state.q, t, np.zeros(len(row_names(items))), np.zeros(0), state.p)
    q, _, g, miss, closed, _ = found
    there = replace(state, q=q)
    if not closed[0] or not _small(chain, items, g, miss) or (watch.limits and overruns(chain, there)):
        return None
    way = follow(chain, state, watch.items, chain.values(watch.items, there)[0], watch)
    apart = np.abs(chain.free.kernels.displacement(way.state.q, q)).max(initial=0.0)
    residual = float(max(np.abs(g).max(initial=0.0), np.abs(miss).max(initial=0.0)))
    return way._replace(state=there, residual=residual) if way.part == 1.0 and apart < SAME_POSE else None


def _small(chain: ChainCore, items: Sequence[Item], g: np.ndarray, miss: np.ndarray) -> bool:
    """Whether loops and rows are met as far as numbers allow."""
    scales = chain.free.equations.scales
    rows = np.concatenate([g / scales.rows, miss / row_scales(chain, items)])
    return bool(np.abs(rows).max(initial=0.0) <= MISSED)


def watched(chain: ChainCore, state: State, margin: float | None, limits: bool = True) -> Watch:
    """Actuators that determine the motion are watched; those that do not have no hold to lose."""
    items = chain.drive_items()
    holds = bool(items) and chain.determined(items, state)
    return Watch(items if holds else (), NEAR_SINGULAR if margin is None else margin, limits)


def _hold(chain: ChainCore, watch: Watch, state: State) -> tuple[np.ndarray, float]:
    """J of loops and actuators, and its smallest singular value; nothing and ∞ where none is watched."""
    if not watch.items:
        return np.zeros(0), np.inf
    J = np.vstack([chain.loop_rows(state.q, state.p), chain.rows_unitless(watch.items, state)])
    return J, float(np.linalg.svd(J, compute_uv=False)[-1])


def _beyond(chain: ChainCore, state: State) -> str:
    """The joint that is farthest beyond its limits; empty if none is."""
    over = overruns(chain, state)
    return max(over, key=lambda name: abs(over[name])) if over else ""


def overruns(chain: ChainCore, state: State) -> dict[str, float]:
    """Joints beyond their limits, and by how much, negative below the lower one."""
    if not chain.limit_rows:
        return {}
    found = {}
    at = chain.values(chain.limit_rows, state)[0]
    for x, (name, (low, high)) in zip(at, chain.limits.items(), strict=True):
        room = MISSED * max(1.0, abs(x))  # round-off at a limit is not beyond it
        if x < low - room or x > high + room:
            found[name] = float(x - (low if x < low else high))
    return found


class Nearest(NamedTuple):
    """The pose that comes nearest to a target, what its rows are off by, and the joints at limits there."""

    state: State
    slack: dict[str, float]
    at_limits: tuple[str, ...]
    residual: float


def nearest_pose(chain: ChainCore, way: Way, items: Sequence[Item], t: np.ndarray) -> Nearest:
    """From where a way ended: least squares of the rows, loops closed, joints held at limits they meet."""
    state, held = way.state, dict[str, float]()
    slack, residual = np.zeros(len(row_names(items))), way.residual
    for _ in range(NEAREST_STEPS):
        rows = (*items, *(CoordinateRow(name) for name in held))
        soft = np.array([NEAREST_SOFT] * len(slack) + [0.0] * len(held))
        q, off, g, miss, *_ = chain.kernel("place", rows)(
            state.q, np.concatenate([t, list(held.values())]), soft, np.zeros(0), state.p
        )
        moved = np.abs(chain.free.kernels.displacement(state.q, q)).max(initial=0.0)
        state, slack = replace(state, q=q), off[: len(slack)]
        residual = float(max(np.abs(g).max(initial=0.0), np.abs(miss[len(slack) :]).max(initial=0.0)))
        over = {name: x for name, x in overruns(chain, state).items() if name not in held}
        if not over and moved < MISSED:
            break
        for name, x in over.items():
            held[name] = chain.limits[name][0 if x < 0 else 1]
    return Nearest(state, dict(zip(row_names(items), slack.tolist(), strict=True)), tuple(held), residual)
