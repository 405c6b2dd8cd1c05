"""Signals as an event: many at once, at any moment, end a process once and with the code it chose."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest
from processes import PATIENCE, start

WAITS = """
from cutjoint.model.signals import stop_on_signal
with stop_on_signal() as stop:
    print("ready", flush=True)
    while not stop.is_set():
        stop.wait(1e-4)
    for _ in range(2000):
        stop.set()
print("left")
"""
WORKS = """
from cutjoint.model.signals import stop_on_signal
with stop_on_signal() as stop:
    pass
import threading
print(threading.active_count())
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no signals to send")
@pytest.mark.parametrize("attempt", range(3))
def test_a_storm_of_signals(attempt: int) -> None:
    with start([sys.executable, "-c", WAITS], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        for k in range(500):
            process.send_signal((signal.SIGINT, signal.SIGTERM)[k % 2])
        try:
            assert process.communicate(timeout=PATIENCE)[0] == "left\n"
        finally:
            process.kill()
        assert process.returncode == 0


def test_without_a_signal_nothing_stays() -> None:
    done = subprocess.run([sys.executable, "-c", WORKS], capture_output=True, text=True, timeout=PATIENCE)
    assert done.stdout == "1\n" and done.returncode == 0, done.stderr
