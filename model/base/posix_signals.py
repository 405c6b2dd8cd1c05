"""Ctrl-C and SIGTERM: the end of a command, or an event that long-running ones look at."""

import os
import signal
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from .subprocesses import allow_programs, clear_scratch, stop_programs

SIGNALS = (signal.SIGINT, signal.SIGTERM)
PATIENCE = 1.0  # seconds that a command has to end by itself


class Told:
    """Which signal asked the command to end, if one did."""

    signal: int | None = None


@contextmanager
def end_on_signal(told: Told) -> Iterator[None]:
    """Let SIGINT and SIGTERM end a command: in good order if it can, at once if it can't.

    The main thread is interrupted as by Ctrl-C, so that what is half done is undone. But code that is not
    Python's may hold it, or swallow the interruption: CasADi does both while it traces. So a thread is
    woken as well: it ends the programs that run and, after some patience, the process, with nothing left
    behind. On the way in and out of this the interruption may come as well.
    """
    over = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    inner, outer = socket.socketpair()
    outer.setblocking(False)
    interrupted = False

    def interrupt(signum: int, frame: FrameType | None) -> None:
        nonlocal interrupted
        told.signal = told.signal or signum
        if not interrupted:  # a launch system sends its own as well: that must not spoil what is being undone
            interrupted = True
            raise KeyboardInterrupt

    def watch() -> None:
        woken = inner.recv(1)
        if not woken:
            return
        told.signal = told.signal or woken[0]
        stop_programs()
        if not over.wait(PATIENCE):
            clear_scratch()
            print("cutjoint: stopped", file=sys.stderr, flush=True)
            os._exit(128 + woken[0])

    before = {signum: signal.getsignal(signum) for signum in SIGNALS}
    heard = [signum for signum in SIGNALS if before[signum] is not signal.SIG_IGN]
    watcher = threading.Thread(target=watch, name="end on signal", daemon=True)
    watcher.start()
    descriptor = signal.set_wakeup_fd(outer.fileno(), warn_on_full_buffer=False)
    try:
        for signum in heard:
            signal.signal(signum, interrupt)
        yield
    finally:
        over.set()
        for signum in heard:  # a command that ended by a signal of its own ignores further ones
            if signal.getsignal(signum) is not signal.SIG_IGN:
                signal.signal(signum, before[signum])
        signal.set_wakeup_fd(descriptor)
        outer.close()
        watcher.join()
        inner.close()
        allow_programs()


@contextmanager
def stop_on_signal() -> Iterator[threading.Event]:
    """An event that SIGINT or SIGTERM sets; call it in the main thread of a process that then ends.

    The handlers do nothing, and a thread of its own sets the event: Python runs handlers between any two
    instructions of the main thread, also while that holds the event's lock, for which a handler
    that set the event would then wait for ever. The thread is woken through the wake-up
    descriptor. Afterwards both signals are ignored, so that a second Ctrl-C on the way out (a
    launch system sends its own) does not spoil the exit code.
    """
    stop = threading.Event()
    inner, outer = socket.socketpair()
    outer.setblocking(False)

    def watch() -> None:
        inner.recv(1)
        stop.set()

    for signum in SIGNALS:
        signal.signal(signum, lambda *_: None)
    signal.set_wakeup_fd(outer.fileno(), warn_on_full_buffer=False)
    watcher = threading.Thread(target=watch, name="signals", daemon=True)
    watcher.start()
    try:
        yield stop
    finally:
        for signum in SIGNALS:
            signal.signal(signum, signal.SIG_IGN)
        signal.set_wakeup_fd(-1)
        outer.close()  # ends the watcher if no signal did
        watcher.join()
        inner.close()
