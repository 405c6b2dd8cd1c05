"""Flags of UDP packets in the node: stops, releases, resets, motions, in the middle of whatever is done."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from itertools import count
from math import nan
from typing import Any

import numpy as np
import pytest
from cutjoint import Simulation
from cutjoint.model.control.packets import (
    BRAKE,
    BRAKED,
    COMMAND,
    FAULT,
    MOTION,
    RESET,
    RESUME,
    SILENT,
    STATE,
    STOP,
    STOPPED,
    Packet,
    pack,
    unpack,
)
from cutjoint.ros.loop import Loop
from cutjoint.ros.settings import Settings
from cutjoint.ros.trajectory_interpolation import Point
from silent_outlet import Silent

MOTORS = ["motor1", "motor2", "motor3"]


class Device:
    """Speaks to a loop that stands in the test's own thread."""

    def __init__(self, **settings: Any):
        given = {"mechanism": "stewart", "mode": "fast", "command_timeout": 0.0, "udp": "127.0.0.1:0"}
        self.loop = Loop(Simulation("stewart", compile=False), Settings.read({**given, **settings}), Silent())
        self.numbers, self.line = count(1), socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.line.settimeout(10)

    def say(self, flags: int = 0, *rows: list[float]) -> None:
        """One command; the loopback keeps the order."""
        link = self.loop.link
        assert link is not None
        values = tuple(x for row in rows or [[0.0] * 3] for x in row)
        if flags & MOTION and len(rows) == 1:
            values = (nan,) * 3 + values + (nan,) * 6  # positions alone
        self.line.sendto(
            pack(Packet(COMMAND, next(self.numbers), 0, 0.0, 0.0, values, flags=flags)), link.address
        )

    def hear(self, periods: int = 1) -> Packet:
        """The state after some periods; each tells one, and so does standing still."""
        for _ in range(periods):
            self.loop.advance()
            state = unpack(self.line.recv(2048), STATE)
        if not periods:
            self.loop._stand()
            state = unpack(self.line.recv(2048), STATE)
        assert state is not None
        return state


@pytest.fixture
def device() -> Iterator[Device]:
    device = Device()
    yield device
    device.line.close()
    assert device.loop.link is not None
    device.loop.link.close()
    device.loop.close()


@pytest.mark.parametrize(("flag", "answer"), [(STOP, STOPPED), (BRAKE, BRAKED)])
def test_a_stop_ends_a_trajectory_and_lasts_until_it_is_resumed(
    device: Device, flag: int, answer: int
) -> None:
    """Flagged packets were refused as malformed, and the mechanism went on."""
    loop = device.loop
    loop.trajectories.take(MOTORS, [Point(0.2, [0.3, 0.2, 0.1])])
    for _ in range(50):
        loop.advance()
    assert loop.trajectories.follower is not None
    device.say(flag, [nan] * 3)  # a device in trouble may have no values
    device.say(0, [5.0, 5.0, 5.0])  # in the same period: it does not undo the stop
    state = device.hear()
    assert state.flags == answer and loop.trajectories.follower is None
    assert not loop.commands.refused
    device.say(0, [5.0, 5.0, 5.0])
    assert device.hear().flags == answer  # values release nothing
    if flag == STOP:
        assert not loop.simulation.u.any()
    else:
        assert np.abs(np.array(device.hear(1000).parts[1])).max() < 1e-3
    device.say(RESUME, [1.0, 2.0, 3.0])
    assert device.hear().flags == 0
    assert loop.simulation.u.tolist() == [1.0, 2.0, 3.0]


def test_motions_are_followed_and_joined(device: Device) -> None:
    """Two of one period that tell different motors are both obeyed; what is not told stays."""
    device.say(MOTION, [0.1, 0.2, 0.3])
    device.say(MOTION, [nan, nan, 0.05])
    device.say(MOTION, [0.15, nan, nan])
    state = device.hear(1500)
    assert state.parts[0] == pytest.approx([0.15, 0.2, 0.05], abs=2e-3)
    device.say(MOTION, [nan] * 3)
    assert device.hear(10).parts[0] == pytest.approx([0.15, 0.2, 0.05], abs=2e-3)
    device.say(MOTION, [nan] * 3, [1e7, 0.0, 0.0], [nan] * 3, [nan] * 3)
    device.hear()
    assert device.loop.commands.refused == 1  # nothing goes there


def test_a_reset_in_the_middle_of_an_interpolated_stream_begins_anew() -> None:
    device = Device(interpolation_period=0.05)
    loop = device.loop
    for k in range(5):
        device.say(MOTION, [0.02 * k] * 3)
        device.hear(50)
    device.say(MOTION | RESET, [0.01, 0.0, 0.0])
    state = device.hear()
    assert (state.time, state.flags, loop.time) == (0.0, 0, 0.0)
    start = np.array(state.parts[0])
    state = device.hear(1000)  # from the start, not from where the stream was
    assert state.time == pytest.approx(1.0) and state.parts[0] == pytest.approx([0.01, 0.0, 0.0], abs=2e-3)
    assert np.abs(start).max() < 1e-9
    device.line.close()


def test_a_fault_is_told_and_left_by_a_reset_though_time_stands_still(device: Device) -> None:
    device.say()
    device.hear()
    device.loop._stop_for("it broke")
    assert device.loop.settings.mode == "paused"
    assert device.hear(0).flags & FAULT
    device.say(RESET)
    state = device.hear(0)
    assert (state.flags, state.time) == (0, 0.0) and device.loop.settings.mode == "fast"


def test_the_watchdog_is_told() -> None:
    device = Device(command_timeout=0.001)
    device.say(0, [1.0, 1.0, 1.0])
    device.hear()
    device.loop.commands.seen -= 1.0
    assert device.hear().flags == SILENT and not device.loop.simulation.u.any()
    device.say(0, [1.0, 1.0, 1.0])
    assert device.hear().flags == 0
    device.line.close()
