"""Ctrl-C and SIGTERM as an event that long-running commands look at."""

import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

SIGNALS = (signal.SIGINT, signal.SIGTERM)


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
