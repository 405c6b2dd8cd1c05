"""Positions that come one every T seconds, joined to a motion, as computed torque needs it.

Between two points a cubic runs with the slopes (q₊ − q₋)/2T of their neighbours (Catmull and Rom), so that
velocity and acceleration go with every position. It needs the point after the next, and half a period for
messages that come late: the motion lags by `STREAM_LAG` periods, and ends at rest at the last point.
"""

from math import floor

import numpy as np

from .command_law import POSITION
from .command_policy import STREAM_LAG
from .computed_torque import Wanted

KEPT = 8  # points that are remembered: those of the lag, and lost ones


class StreamedPositions:
    """Orders of a stream, interpolated; `period` 0 gives them as they come."""

    def __init__(self, period: float):
        self.period = period
        self.clear()

    @property
    def lag(self) -> float:
        """Seconds that the motion is behind the stream."""
        return STREAM_LAG * self.period

    def clear(self) -> None:
        """The stream has ended."""
        self._points: list[np.ndarray] = []
        self._last = 0.0  # nominal time of the last point

    def add(self, time: float, wanted: Wanted, before: np.ndarray) -> None:
        """Orders that came at a simulated time; `before` is where a stream that begins comes from.

        What comes early takes the place of the last point; what was lost in between lies on a line.
        """
        if not self.period:
            return
        periods = round((time - self._last) / self.period)
        if not self._points or not 0 <= periods < KEPT:
            self._points, self._last, periods = [before], time - self.period, 1
        if periods == 0:
            self._points[-1] = wanted.value
            return
        last = self._points[-1]
        self._points += [last + (wanted.value - last) * (k + 1) / periods for k in range(periods)]
        self._points = self._points[-KEPT:]
        self._last += periods * self.period

    def at(self, time: float, wanted: Wanted) -> Wanted:
        """The latest orders, their positions as they are wanted at a simulated time."""
        held = wanted.kind == POSITION
        if not self._points or not held.any():
            return wanted
        newest = len(self._points) - 1
        place = newest + (time - self.lag - self._last) / self.period
        k = floor(place)
        a, b, c, d = (self._points[min(max(k + i, 0), newest)] for i in (-1, 0, 1, 2))
        x, left, right, chord = place - k, (c - a) / 2, (d - b) / 2, c - b
        bend, twist = 3 * chord - 2 * left - right, left + right - 2 * chord
        q = b + x * (left + x * (bend + x * twist))
        rate = (left + x * (2 * bend + 3 * x * twist)) / self.period
        acceleration = (2 * bend + 6 * x * twist) / self.period**2
        return wanted.changed(held, POSITION, q[held], rate[held], acceleration[held])
