"""The node's end of hardware in the loop over UDP; packets and rules are those of `model/hil/packets.py`.

Every period the simulation sends a state packet to the device, and takes the torques of the
newest command packet that has arrived.
"""

import os
import socket
import time
from collections.abc import Sequence

import numpy as np

from ..model import CutjointError, Mechanism
from ..model.hil.packets import PARTS, STATE, WRAP, Counts, Gate, Packet, pack
from ..model.hil.policy import DRAIN, DRAIN_SHARE, LEAST_KEY, MOST, QUEUE
from ..model.run.drive_ranges import drive_ranges
from .jitter import Jitter
from .settings import Settings


class UdpLink:
    """The simulation's end: call `receive` at the start of a period and `send` at its end."""

    def __init__(
        self,
        address: str,
        ranges: Sequence[float],
        period: float,
        timeout: float,
        peer: str = "",
        key: bytes = b"",
    ):
        self.period = period
        self.response = Jitter(period)  # from sending a state to using the answer
        self.gate = Gate(len(ranges), tuple(ranges), timeout, parse_peer(peer) if peer else None, key)
        # With a key numbers start anywhere: a recorded answer of another run answers nothing.
        self._sent = int.from_bytes(os.urandom(4), "little") if key else 0
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.setblocking(False)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, QUEUE)
        host, port = parse_address(address)
        try:
            self._socket.bind((host, port))
        except OSError as problem:
            self._socket.close()
            raise CutjointError(f"udp: can't listen on {address}: {problem.strerror or problem}") from problem
        self.address: tuple[str, int] = self._socket.getsockname()

    @property
    def counts(self) -> Counts:
        return self.gate.counts

    @property
    def peer(self) -> tuple[str, int] | None:
        return self.gate.peer

    def receive(self, now: float) -> np.ndarray | None:
        """Torques of the newest command that has come in, None if there is none.

        No more than a share of the period is spent on it, whatever comes in: what does not fit into
        the socket's queue meanwhile is lost, so that nothing that is read is old.
        """
        newest: np.ndarray | None = None
        until = time.monotonic() + DRAIN_SHARE * self.period
        for _ in range(DRAIN):
            try:
                data, sender = self._socket.recvfrom(MOST)
            except BlockingIOError:
                break
            except OSError:  # the device's port is closed: it was killed; go on sending
                continue
            packet = self.gate.accept(data, sender, now, self._sent)
            if packet is not None:
                if 0 < packet.stamp <= now:
                    self.response.add(now - packet.stamp)
                newest = np.array(packet.values)
            if time.monotonic() > until:
                break
        if newest is None and self.gate.present(now):
            self.counts.missing += 1
        return newest

    def send(
        self, at: float, positions: Sequence[float], velocities: Sequence[float], forces: Sequence[float]
    ) -> None:
        """The state at simulated time `at`, to the device that was heard, in the version that it speaks."""
        if self.peer is None:
            return
        self._sent = (self._sent + 1) % WRAP or 1  # 0 answers nothing
        last = self.gate.sequence.last or 0
        version = self.gate.version
        parts = (positions, velocities, forces)[: PARTS[version]]
        values = tuple(x for part in parts for x in part)
        packet = Packet(STATE, self._sent, last, time.monotonic(), at, values, version)
        try:
            self._socket.sendto(pack(packet, self.gate.key), self.peer)
        except OSError:  # buffers full, or nobody there: the next packet is as good
            self.counts.missing += 1

    def close(self) -> None:
        self._socket.close()


def link_of(settings: Settings, mechanism: Mechanism) -> UdpLink:
    """The link that a node's settings ask for."""
    key = read_key(settings.udp_key) if settings.udp_key else b""
    ranges = drive_ranges(mechanism)
    return UdpLink(settings.udp, ranges, settings.period, settings.command_timeout, settings.udp_peer, key)


def parse_address(text: str) -> tuple[str, int]:
    """`host:port` as a pair."""
    host, colon, port = text.rpartition(":")
    if not colon or not port.isdigit() or int(port) > 65535:
        raise CutjointError(f"udp: '{text}' is not HOST:PORT, such as 127.0.0.1:47000")
    return host or "127.0.0.1", int(port)


def parse_peer(text: str) -> tuple[str, int | None]:
    """`host` or `host:port`, of the only device that is heard."""
    host, port = parse_address(text) if ":" in text else (text, None)
    try:
        return socket.gethostbyname(host), port
    except OSError as problem:
        raise CutjointError(f"udp_peer: '{text}' is no address ({problem})") from None


def read_key(path: str) -> bytes:
    """The key in a file that nobody else can read."""
    try:
        with open(path, "rb") as file:
            open_to_others = os.fstat(file.fileno()).st_mode & 0o077
            key = file.read(4096)
    except OSError as problem:
        raise CutjointError(f"udp_key: can't read '{path}': {problem.strerror or problem}") from None
    if open_to_others:
        raise CutjointError(f"udp_key: others may read '{path}'; run 'chmod 600 {path}'")
    if len(key) < LEAST_KEY:
        raise CutjointError(f"udp_key: '{path}' holds {len(key)} bytes; give at least {LEAST_KEY}")
    return key
