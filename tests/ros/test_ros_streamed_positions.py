"""Positions that are streamed: joined smoothly, behind by what is said, whatever comes late or is lost."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy can't be imported: no ROS 2, and no wheels for this platform")

from cutjoint import Simulation
from cutjoint.model.control.computed_torque import Wanted
from cutjoint.model.control.streamed_positions import StreamedPositions
from cutjoint.ros.diagnostics import Health
from cutjoint.ros.loop import Loop
from cutjoint.ros.settings import Settings
from silent_outlet import Silent

T = 0.01


def streamed(
    loop: Loop, path: Any, seconds: float, lost: frozenset[int] = frozenset(), late: float = 0.0
) -> Any:
    """Stream a path to all joints by name; positions after every period."""
    random, seen, due = np.random.default_rng(1), [], 0.0
    for _ in range(round(seconds * loop.settings.rate)):
        if loop.time >= due - 1e-9:
            number = round(due / T)
            due = (number + 1) * T + late * T * random.random()
            wanted = loop.commands.from_names(loop.drives.names, [], loop.values.names, path(number * T))
            if number not in lost and wanted is not None:
                loop.obey(wanted, 1.0)
            due = min(due, (number + 1.49) * T)
        loop.advance()
        loop.values.read()
        seen.append([loop.time, *loop.drives.position])
    assert not loop.fault
    return np.array(seen)


def error(period: float, lost: frozenset[int] = frozenset(), late: float = 0.0) -> float:
    """How far delta is from a path of 2.5 Hz, less the lag that is said, in parts of its stroke."""
    given = {"mechanism": "delta", "mode": "fast", "command_timeout": 0.0, "interpolation_period": period}
    loop = Loop(Simulation("delta"), Settings.read(given), Silent())
    start, stroke = loop.drives.position.copy(), 0.1
    lag = float(Health(loop).look(loop)[2]["interpolation lag"])
    assert lag == pytest.approx(2.5 * period)

    def path(t: Any) -> Any:
        return start + stroke * np.sin(2 * np.pi * 2.5 * np.asarray(t))[..., None]

    seen = streamed(loop, path, 1.2, lost, late)
    after = seen[seen[:, 0] > 0.4]
    off = after[:, 1:] - path(after[:, 0] - lag)
    return float(np.abs(off).max() / stroke)


def test_streamed_positions_are_followed_with_the_lag_that_is_said() -> None:
    """They erred by more than half of the stroke."""
    assert error(0.0) > 0.5
    assert error(T) < 0.02


def test_a_message_that_is_late_or_lost_does_little() -> None:
    assert error(T, late=0.4) < 0.05
    assert error(T, frozenset({60, 85})) < 0.15


def test_a_stream_that_ends_comes_to_rest_at_its_last_point() -> None:
    stream = StreamedPositions(T)
    start, ends = np.array([0.5]), []
    for k in range(20):
        stream.add(k * T, Wanted.positions(start + 0.01 * k), start)
    last = Wanted.positions(start + 0.19)
    for t in 19 * T + np.linspace(0.0, 5 * T, 200):
        ends.append(np.concatenate(stream.at(t, last)[1:]))
    end = np.array(ends)
    assert np.abs(np.diff(end[:, 0])).max() < 1.01 * 0.01 / T * 5 * T / 199 * 1.3  # without jumps
    assert end[-1] == pytest.approx([0.69, 0.0, 0.0])
    again = StreamedPositions(T)
    again.add(7.0, Wanted.positions(np.array([0.6])), start)  # from where it is, at rest
    assert np.concatenate(again.at(7.0, Wanted.positions(np.array([0.6])))[1:3]) == pytest.approx([0.5, 0.0])


def test_velocity_and_acceleration_are_the_derivatives_of_the_position() -> None:
    stream, start = StreamedPositions(T), np.zeros(2)
    for k in range(12):
        stream.add(k * T, Wanted.positions(np.array([np.sin(k), k**2])), start)
    h = 1e-7
    for t in 11 * T + T * np.array([0.1, 0.37, 0.8]):
        (_, *before), (_, _, rate, acceleration), (_, *after) = (
            stream.at(t + x, Wanted.positions(start)) for x in (-h, 0.0, h)
        )
        assert (after[0] - before[0]) / (2 * h) == pytest.approx(rate, rel=1e-5)
        assert (after[1] - before[1]) / (2 * h) == pytest.approx(acceleration, rel=1e-4)
