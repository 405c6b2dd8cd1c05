"""Other programs that are run, and scratch folders: taken along when this process has to stop.

A compiler is a family of processes, and a thread may wait for it. Each family has a group of its own, so
that all of it ends with what wanted it: when the caller is interrupted, when it takes too long, and when
the command line is told to stop (`signals.end_on_signal`), whichever thread waits.
"""

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

_lock = threading.Lock()
_running: set["subprocess.Popen[bytes]"] = set()
_scratch: set[Path] = set()
_stopped = threading.Event()


def run_program(
    words: Sequence[str | Path],
    timeout: float,
    folder: str | Path | None = None,
    env: Mapping[str, str] | None = None,
) -> "subprocess.CompletedProcess[bytes]":
    """Run a program to its end and keep what it prints; none of it outlives this call."""
    with _lock:
        if _stopped.is_set():
            raise KeyboardInterrupt
        process = subprocess.Popen(
            [str(word) for word in words],
            cwd=folder,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        _running.add(process)
    try:
        with process:
            try:
                out, err = process.communicate(timeout=timeout)
            except BaseException:
                _kill(process)
                raise
    finally:
        with _lock:
            _running.discard(process)
    if _stopped.is_set():
        raise KeyboardInterrupt
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)


def _kill(process: "subprocess.Popen[bytes]") -> None:
    """End a program and all that it started."""
    with contextlib.suppress(OSError):
        if os.name == "posix":
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()


@contextmanager
def scratch_folder(what_for: str = "") -> Iterator[Path]:
    """A folder for files that nobody wants afterwards."""
    with tempfile.TemporaryDirectory(prefix=f"cutjoint-{what_for}") as name:
        folder = Path(name)
        _scratch.add(folder)
        try:
            yield folder
        finally:
            _scratch.discard(folder)


@contextmanager
def remove_if_stopped(path: Path) -> Iterator[None]:
    """While this lasts, a file is removed if the process has to stop."""
    _scratch.add(path)
    try:
        yield
    finally:
        _scratch.discard(path)


def remove_at_stop(path: Path) -> None:
    """From now on a file or folder is removed if the process has to stop."""
    _scratch.add(path)


def stop_programs() -> None:
    """End all programs that run, and let no other begin: whoever waits for one is interrupted."""
    with _lock:
        _stopped.set()
        running = list(_running)
    for process in running:
        _kill(process)


def allow_programs() -> None:
    """Let programs begin again."""
    _stopped.clear()


def clear_scratch() -> None:
    """Remove what a process that ends at once would leave behind."""
    for path in list(_scratch):
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            with contextlib.suppress(OSError):
                path.unlink()
