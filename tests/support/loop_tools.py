"""What the tests of the native loop share: programs made once, a run, and a device at its end of the line."""

from __future__ import annotations

import functools
import json
import re
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from cutjoint.model.control.packets import COMMAND, STATE, VERSION, Packet, pack, unpack
from cutjoint.realtime.build import build_realtime
from made_once import made_once, text_of

PATIENCE = 60  # seconds that a loaded machine may take for an answer


@functools.cache
def built(name: str, **options: Any) -> Path:
    """The loop of an example, made once for all tests."""
    options = {"optimize": 1, "library": False} | options
    where = made_once(
        lambda where: build_realtime(name, where, **options), ".loop", text_of(name), sorted(options.items())
    )
    (program,) = (path for path in where.iterdir() if not path.suffix)
    return program


class Running:
    """A loop in a process of its own; `report` is what it printed at its end."""

    def __init__(self, program: Path, *arguments: str, prefix: Sequence[str] = ()):
        plain = ["--priority", "0", "--lock", "0", "--json"]  # a test must not starve others
        self.popen = subprocess.Popen(
            [*prefix, str(program), *plain, *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.said = ""
        self.report: dict[str, Any] = {}

    def port(self) -> int:
        """Where it listens."""
        assert self.popen.stderr is not None
        for line in self.popen.stderr:
            self.said += line
            if found := re.search(r"listening on [\d.]+:(\d+)", line):
                return int(found[1])
        raise AssertionError(self.said)

    def end(self, code: int = 0) -> dict[str, Any]:
        """Wait for it, or stop it if it has none of its own."""
        out, said = self.popen.communicate(timeout=PATIENCE)
        self.said += said
        assert self.popen.returncode == code, (self.popen.returncode, self.said)
        self.report = json.loads(out) if out else {}
        return self.report

    def stop(self, code: int = 0) -> dict[str, Any]:
        self.popen.terminate()
        return self.end(code)


@contextmanager
def running(program: Path, *arguments: str, prefix: Sequence[str] = ()) -> Iterator[Running]:
    loop = Running(program, *arguments, prefix=prefix)
    try:
        yield loop
    finally:
        if loop.popen.poll() is None:
            loop.popen.kill()
            loop.popen.wait()
        for stream in (loop.popen.stdout, loop.popen.stderr):
            if stream is not None:
                stream.close()


class Device:
    """The device's end of a UDP line in lock-step."""

    def __init__(self, port: int, motors: int, key: bytes = b"", start: int = 0):
        self.to, self.motors, self.key, self.number = ("127.0.0.1", port), motors, key, start
        self.state: Packet | None = None
        self.version = VERSION
        self.line = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.line.settimeout(0.5)

    def __enter__(self) -> Device:
        return self

    def __exit__(self, *_: object) -> None:
        self.line.close()

    def packet(self, torques: Sequence[float], **changed: Any) -> bytes:
        answer = self.state.sequence if self.state else 0
        stamp = self.state.stamp if self.state else 0.0
        given = Packet(COMMAND, self.number, answer, stamp, 0.0, tuple(torques), self.version)
        return pack(given._replace(**changed), self.key)

    def send(self, data: bytes) -> None:
        self.line.sendto(data, self.to)

    def step(self, torques: Sequence[float], flags: int = 0) -> Packet:
        """One command, and the state that answers it; said again while there is none."""
        self.number += 1
        data = self.packet(torques, flags=flags)
        end = time.monotonic() + PATIENCE
        self.send(data)
        while time.monotonic() < end:
            try:
                state = unpack(self.line.recv(4096), STATE, self.key)
            except TimeoutError:
                self.send(data)
                continue
            if state is not None and state.answer == self.number % (1 << 32):
                self.state = state
                return state
        raise AssertionError("no answer")

    def hello(self) -> Packet:
        """With a key: the first state, which commands have to answer."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            self.send(self.packet([0.0] * self.motors, answer=0))
            try:
                self.state = unpack(self.line.recv(4096), STATE, self.key)
            except TimeoutError:
                continue
            if self.state is not None:
                return self.state
        raise AssertionError("no answer")


def said_by(program: Path, *arguments: str) -> tuple[int, str]:
    """Exit code and what it wrote to standard error."""
    done = subprocess.run([program, *arguments], capture_output=True, text=True, timeout=PATIENCE)
    return done.returncode, done.stderr
