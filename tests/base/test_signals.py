"""Signals as an event: many at once, at any moment, end a process once and with the code it chose."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest
from processes import PATIENCE, start

WAITS = """
from cutjoint.model.base.posix_signals import stop_on_signal
with stop_on_signal() as stop:
    print("ready", flush=True)
    while not stop.is_set():
        stop.wait(1e-4)
    for _ in range(2000):
        stop.set()
print("left")
"""
WORKS = """
from cutjoint.model.base.posix_signals import stop_on_signal
with stop_on_signal() as stop:
    pass
import threading
print(threading.active_count())
"""
UNDOES = """
import sys
from cutjoint.model.base import posix_signals as signals
signals.PATIENCE = 60.0
told = signals.Told()
with signals.end_on_signal(told):
    try:
        try:
            print("ready", flush=True)
            sys.stdin.readline()
        finally:
            print("undoing", flush=True)
            sys.stdin.readline()
            print("undone", flush=True)
    except KeyboardInterrupt:
        print(told.signal)
"""

ON_THE_WAY = """
import os, signal, sys, threading
class Finder:
    def find_spec(name, path=None, target=None):
        if name == "cutjoint.model.cli.common":
            os.kill(os.getpid(), signal.SIGINT)
def begin(thread, start=threading.Thread.start):
    start(thread)
    os.kill(os.getpid(), signal.SIGINT)
def lower(number, handler, set_handler=signal.signal):
    set_handler(number, handler)
    if getattr(handler, "__name__", "") == "interrupt":
        os.kill(os.getpid(), signal.SIGINT)
if sys.argv[1] == "import":
    sys.meta_path.insert(0, Finder)
elif sys.argv[1] == "thread":
    threading.Thread.start = begin
else:
    signal.signal = lower
sys.argv[1:] = ["list"]
from cutjoint.__main__ import main
sys.exit(main())
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no signals to send")
@pytest.mark.parametrize("moment", ["import", "thread", "handler"])
def test_ctrl_c_before_the_command_has_begun(moment: str) -> None:
    """While modules are imported, and while the handlers of signals are set: no traceback, no other code."""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with start([sys.executable, "-c", ON_THE_WAY, moment], **pipes) as process:
        out, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, out, err) == (130, "", "cutjoint: stopped\n")


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no signals to send")
def test_further_signals_do_not_spoil_what_the_first_one_undoes() -> None:
    """Ctrl-C in a terminal reaches a launch system as well, which sends its own to all that it started."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with start([sys.executable, "-c", UNDOES], **pipes) as process:
        assert process.stdin is not None and process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGINT)
        assert process.stdout.readline() == "undoing\n"
        for k in range(20):
            process.send_signal((signal.SIGINT, signal.SIGTERM)[k % 2])
        try:
            assert process.communicate("\n", timeout=PATIENCE)[0] == f"undone\n{int(signal.SIGINT)}\n"
        finally:
            process.kill()


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
