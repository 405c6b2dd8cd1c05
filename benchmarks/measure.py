"""Time calls side by side: short turns one after another, so that a busy machine disturbs all alike.

What is counted is the processor's time for this thread, so that turns in which another
program had the processor do not count as slow. (All contenders work in the thread that calls
them.) Where the system counts that too coarsely, it is the time on the wall.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import repeat
from typing import Any, TypeAlias

import numpy as np

Rows: TypeAlias = list[dict[str, Any]]  # of the report
CLOCK = time.thread_time if time.get_clock_info("thread_time").resolution <= 1e-6 else time.perf_counter


@dataclass(frozen=True)
class Effort:
    """How long to measure: rounds, and seconds that a contender's turn takes in each."""

    rounds: int
    turn: float


FULL = Effort(rounds=200, turn=2e-3)
QUICK = Effort(rounds=25, turn=5e-4)


@dataclass(frozen=True)
class Timing:
    """Seconds a call: the best turn, the median, and by how much turns vary."""

    best: float
    median: float
    noise: float  # half the distance between the quartiles, over the median

    @classmethod
    def of(cls, seconds: np.ndarray) -> Timing:
        low, median, high = np.percentile(seconds, (25, 50, 75))
        return cls(float(seconds.min()), float(median), float((high - low) / 2 / median))


def side_by_side(
    contenders: Mapping[str, Callable[[], Any]],
    effort: Effort = FULL,
    progress: Callable[[float], None] = lambda fraction: None,
) -> dict[str, Timing]:
    """Time each contender in every round. What else the machine does can only add to the best
    turn, so ratios of best turns repeat well where ratios of means do not. A contender that can
    only do many steps at once says how many in its attribute `calls`."""
    calls = {name: _calls_a_turn(call, effort.turn) for name, call in contenders.items()}
    seconds: dict[str, list[float]] = {name: [] for name in contenders}
    names = list(contenders)
    collecting = gc.isenabled()
    gc.disable()
    try:
        for k in range(effort.rounds):
            for name in names[k % len(names) :] + names[: k % len(names)]:
                seconds[name].append(_turn(contenders[name], calls[name]))
            progress((k + 1) / effort.rounds)
    finally:
        if collecting:
            gc.enable()
    return {
        name: Timing.of(np.array(values) / getattr(contenders[name], "calls", 1))
        for name, values in seconds.items()
    }


def rows(task: str, mechanism: str, timings: Mapping[str, Timing], base: Timing) -> Rows:
    """One row a contender; `ratio` is its best time over the base's, `median_ratio` the same of medians."""
    return [
        {
            "task": task,
            "mechanism": mechanism,
            "contender": name,
            **vars(timing),
            "ratio": timing.best / base.best,
            "median_ratio": timing.median / base.median,
        }
        for name, timing in timings.items()
    ]


def _calls_a_turn(call: Callable[[], Any], turn: float) -> int:
    """How many calls fill a turn; warms the contender up on the way."""
    n = 1
    while True:
        taken = _turn(call, n) * n
        if taken > turn / 2 or n >= 1 << 20:
            return max(1, round(n * turn / max(taken, 1e-9)))
        n *= 2


def _turn(call: Callable[[], Any], n: int) -> float:
    """Mean seconds of n calls."""
    start = CLOCK()
    for _ in repeat(None, n):
        call()
    return (CLOCK() - start) / n
