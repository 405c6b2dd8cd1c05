"""A fixed rate on the steady clock, which no change of the wall clock can disturb.

Deadlines are start + k·period. A period whose start comes more than a whole period late is
an overrun: its steps are owed. They are paid back one extra step in every fourth period, never in
a burst, so a controller outside sees a mechanism that runs at most a quarter too fast for a while.
After a stall longer than `FORGIVEN` the debt is dropped: simulated time then stays behind for
good, and the report says by how much.
"""

import threading
import time

from ..model.control.command_policy import FORGIVEN, REPAY
from .histogram import Jitter

LONG = 0.05  # seconds: longer waits can be interrupted by the stop event


class Pace:
    """Tells when the next period starts and how many steps it may take."""

    def __init__(self, period: float):
        self.period = period
        self.jitter = Jitter(period)
        self.overruns = 0  # periods that started a whole period late or more
        self.start()

    def start(self) -> None:
        """Begin now; also after a pause, whose length is not owed."""
        self.began = time.monotonic()  # steady time
        self.last = 0.0  # steady time of the latest tick
        self.steps = 0  # allowed since the start
        self.owed = 0  # steps still to be paid back
        self.dropped = 0  # steps that never will be
        self._next = self.began + self.period
        self._since = 0  # periods without an extra step

    def wait(self, stop: threading.Event) -> int:
        """Sleep until the next deadline; returns the number of steps to take, one or two."""
        ahead = self._next - time.monotonic()
        if ahead > LONG:
            stop.wait(ahead)
        elif ahead > 0:
            time.sleep(ahead)
        return self.tick(time.monotonic())

    def tick(self, now: float) -> int:
        """A period starts at `now`: count what was missed, say how many steps to take."""
        if self.last:
            self.jitter.add(now - self.last)
        self.last = now
        missed = max(int((now - self._next) / self.period), 0)
        if missed:
            self.overruns += 1
            self.owed += missed
            if self.owed * self.period > FORGIVEN:
                self.dropped += self.owed
                self.owed = 0
        self._next += (missed + 1) * self.period
        self._since += 1
        if self.owed and self._since >= REPAY:
            self._since = 0
            self.owed -= 1
            self.steps += 2
            return 2
        self.steps += 1
        return 1

    @property
    def deadline(self) -> float:
        """Steady time at which the next period starts."""
        return self._next

    @property
    def lag(self) -> float:
        """How far simulated time is behind, by the count of missed periods, seconds."""
        return (self.owed + self.dropped) * self.period

    def drift(self, now: float) -> float:
        """The same as measured: steady time minus simulated time since the start, with this period's part."""
        return now - self.began - self.steps * self.period
