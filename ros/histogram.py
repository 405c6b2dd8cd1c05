"""How regular events are: mean, 99th percentile, longest interval and missed deadlines.

Intervals go into a histogram, so that a run of any length takes the same memory and the report
costs nothing until it is asked for.
"""

from dataclasses import dataclass

PARTS = 200  # bins a period: the 99th percentile is exact to 1/200 of a period
PERIODS = 50  # intervals longer than this many periods share the last bin


@dataclass(frozen=True)
class Spread:
    """Intervals in seconds; all zero if nothing happened."""

    count: int
    mean: float
    p99: float
    longest: float
    missed: int

    def text(self, what: str) -> str:
        """One line for people, in milliseconds."""
        return (
            f"{what}: {self.count} intervals, mean {1e3 * self.mean:.3f} ms, p99 {1e3 * self.p99:.3f} ms, "
            f"max {1e3 * self.longest:.3f} ms, {self.missed} missed deadlines"
        )


class Jitter:
    """Collects intervals that should be one `period` long; one is missed if longer than `deadline`."""

    def __init__(self, period: float, deadline: float | None = None):
        self.period = period
        self.deadline = 1.5 * period if deadline is None else deadline
        self._bins = [0] * (PARTS * PERIODS + 1)
        self._count = self._missed = 0
        self._sum = self._longest = 0.0

    def add(self, interval: float) -> None:
        """Count one interval, seconds."""
        self._bins[min(int(interval / self.period * PARTS), PARTS * PERIODS)] += 1
        self._count += 1
        self._sum += interval
        if interval > self._longest:
            self._longest = interval
        if interval > self.deadline:
            self._missed += 1

    def report(self) -> Spread:
        """The numbers so far."""
        if not self._count:
            return Spread(0, 0.0, 0.0, 0.0, 0)
        seen, p99 = 0, self._longest
        for k, count in enumerate(self._bins[:-1]):
            seen += count
            if seen >= 0.99 * self._count:
                p99 = min((k + 1) * self.period / PARTS, self._longest)
                break
        return Spread(self._count, self._sum / self._count, p99, self._longest, self._missed)
