"""Hardware in the loop over UDP, for devices that do not speak ROS.

Every period the simulation sends a state packet to the device, and takes the torques of the
newest command packet that has arrived. All numbers are little-endian:

| bytes | state packet (kind 1) | command packet (kind 2) |
|---|---|---|
| 0-1 | `CJ` | `CJ` |
| 2 | version, 1 | version, 1 |
| 3 | kind, 1 | kind, 2 |
| 4-7 | n, number of motors (uint32) | n (uint32) |
| 8-11 | sequence number (uint32, wraps) | sequence number (uint32, wraps) |
| 12-15 | latest command's number | number of the state it answers |
| 16-23 | time of sending, s (float64) | time stamp of the state it answers |
| 24-31 | simulated time, s | any |
| 32- | n positions, n velocities | n torques |

Packets that are lost, late, out of order or malformed are counted and survived. There is no
authentication: bind to the local machine or to a network of its own.
"""

import socket
import struct
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from ..model import CutjointError
from .jitter import Jitter

MAGIC, VERSION, STATE, COMMAND = b"CJ", 1, 1, 2
HEAD = struct.Struct("<2sBBIIIdd")
WRAP = 1 << 32
MOST = 65507  # bytes of a UDP packet
DRAIN = 200  # packets read in one period; a flood beyond that waits


class Packet(NamedTuple):
    """One packet of either kind; `values` are positions and velocities, or torques."""

    kind: int
    sequence: int
    answer: int
    stamp: float
    time: float
    values: tuple[float, ...]


def pack(packet: Packet) -> bytes:
    """Bytes of a packet."""
    kind, sequence, answer, stamp, at, values = packet
    n = len(values) // (2 if kind == STATE else 1)
    head = HEAD.pack(MAGIC, VERSION, kind, n, sequence % WRAP, answer % WRAP, stamp, at)
    return head + struct.pack(f"<{len(values)}d", *values)


def unpack(data: bytes, kind: int) -> Packet | None:
    """The packet, or None if the bytes are no packet of that kind with finite numbers."""
    if len(data) < HEAD.size:
        return None
    magic, version, given, n, sequence, answer, stamp, at = HEAD.unpack_from(data)
    count = n * (2 if kind == STATE else 1)
    if (magic, version, given) != (MAGIC, VERSION, kind) or len(data) != HEAD.size + 8 * count:
        return None
    values = struct.unpack_from(f"<{count}d", data, HEAD.size)
    if not np.isfinite([stamp, at, *values]).all():
        return None
    return Packet(kind, sequence, answer, stamp, at, values)


def newer(a: int, b: int) -> int:
    """How many numbers a is after b, negative if before, across the wrap."""
    return (a - b + WRAP // 2) % WRAP - WRAP // 2


@dataclass
class Counts:
    """What happened to the packets of the device."""

    received: int = 0
    lost: int = 0  # numbers that never came
    reordered: int = 0  # came after a newer one, or twice: not used
    late: int = 0  # answers to a state older than the last one, still used
    malformed: int = 0
    missing: int = 0  # periods without a new command while the device was there


@dataclass
class Sequence32:
    """Follows the other side's sequence numbers; says whether a packet is news."""

    counts: Counts
    last: int | None = None
    gaps: set[int] = field(default_factory=set)

    def news(self, sequence: int) -> bool:
        self.counts.received += 1
        step = 1 if self.last is None else newer(sequence, self.last)
        if step <= 0:
            self.counts.reordered += 1
            if sequence in self.gaps:  # not lost after all
                self.gaps.discard(sequence)
                self.counts.lost -= 1
            return False
        if self.last is not None and step > 1:
            self.counts.lost += step - 1
            if step < 1000:
                self.gaps.update((self.last + k) % WRAP for k in range(1, step))
        if len(self.gaps) > 2000:
            self.gaps.clear()
        self.last = sequence
        return True


class UdpLink:
    """The simulation's end: call `receive` at the start of a period and `send` at its end."""

    def __init__(self, address: str, inputs: int, period: float, timeout: float):
        self.inputs = inputs
        self.period = period
        self.timeout = timeout  # silence after which a device may start its numbers again
        self.counts = Counts()
        self.response = Jitter(period)  # from sending a state to using the answer
        self.peer: tuple[str, int] | None = None
        self._sequence = Sequence32(self.counts)
        self._heard = 0.0
        self._sent = 0
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.setblocking(False)
        host, port = parse_address(address)
        try:
            self._socket.bind((host, port))
        except OSError as problem:
            self._socket.close()
            raise CutjointError(f"udp: can't listen on {address}: {problem.strerror or problem}") from problem
        self.address: tuple[str, int] = self._socket.getsockname()

    def receive(self, now: float) -> np.ndarray | None:
        """Torques of the newest command that has come in, None if there is none."""
        newest: np.ndarray | None = None
        for _ in range(DRAIN):
            try:
                data, sender = self._socket.recvfrom(MOST)
            except BlockingIOError:
                break
            except OSError:  # the device's port is closed: it was killed; go on sending
                continue
            packet = unpack(data, COMMAND)
            if packet is None or len(packet.values) != self.inputs:
                self.counts.malformed += 1
                continue
            if sender != self.peer or (self.timeout > 0 and now - self._heard > self.timeout):
                self._sequence.last = None  # another device, or the same one started again
                self._sequence.gaps.clear()
            if not self._sequence.news(packet.sequence):
                continue
            self.peer, self._heard = sender, now
            if packet.answer and packet.answer != self._sent % WRAP:
                self.counts.late += 1
            if 0 < packet.stamp <= now:
                self.response.add(now - packet.stamp)
            newest = np.array(packet.values)
        if newest is None and self.peer is not None and now - self._heard < (self.timeout or 1.0):
            self.counts.missing += 1
        return newest

    def send(self, at: float, positions: Sequence[float], velocities: Sequence[float]) -> None:
        """The state at simulated time `at`, to the last device that was heard."""
        if self.peer is None:
            return
        self._sent += 1
        last = self._sequence.last or 0
        packet = Packet(STATE, self._sent, last, time.monotonic(), at, (*positions, *velocities))
        try:
            self._socket.sendto(pack(packet), self.peer)
        except OSError:  # buffers full, or nobody there: the next packet is as good
            self.counts.missing += 1

    def close(self) -> None:
        self._socket.close()


def parse_address(text: str) -> tuple[str, int]:
    """`host:port` as a pair."""
    host, colon, port = text.rpartition(":")
    if not colon or not port.isdigit() or int(port) > 65535:
        raise CutjointError(f"udp: '{text}' is not HOST:PORT, such as 127.0.0.1:47000")
    return host or "127.0.0.1", int(port)
