"""Processes that tests start: what they say is kept, a signal ends them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from typing import Any

CUTJOINT = [sys.executable, "-m", "cutjoint"]
PATIENCE = 60.0  # seconds; a busy machine is slow


def start(words: Sequence[Any], **options: Any) -> subprocess.Popen[Any]:
    """A process that Ctrl-C ends.

    A shell has what it starts in the background ignore Ctrl-C, and children inherit that: so would
    everything that tests start when they run there.
    """

    def interruptible() -> None:
        signal.signal(signal.SIGINT, signal.SIG_DFL)

    return subprocess.Popen(words, preexec_fn=interruptible if os.name == "posix" else None, **options)


class Process:
    """A process whose output is kept, stopped by a signal at the end."""

    def __init__(self, words: Sequence[Any], env: Mapping[str, str] | None = None):
        self._file = tempfile.TemporaryFile(mode="w+")  # noqa: SIM115
        self.popen = start(words, env=env, stdout=self._file, stderr=subprocess.STDOUT, text=True)

    @property
    def output(self) -> str:
        self._file.seek(0)
        return self._file.read()

    def says(self, text: str) -> None:
        """Wait until the output contains a text."""
        end = time.monotonic() + PATIENCE
        while text not in self.output:
            assert self.popen.poll() is None and time.monotonic() < end, self.output
            time.sleep(0.02)

    def stop(self, signum: int = signal.SIGINT) -> int:
        if self.popen.poll() is None:
            self.popen.send_signal(signum)
        try:
            return self.popen.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.popen.kill()
            self.popen.wait()
            raise AssertionError(f"it did not stop:\n{self.output}") from None

    def __enter__(self) -> Process:
        return self

    def __exit__(self, *_: Any) -> None:
        self.stop()
        self._file.close()
