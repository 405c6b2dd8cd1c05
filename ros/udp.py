"""The node's end of hardware in the loop over UDP; packets and rules are those of `model/control/packets.py`.

Every period the simulation sends a state packet to the device and obeys the command packets that have
arrived, so that no stop is overlooked for what came after it. While time stands still, it goes on hearing and
telling, slowly.
"""

import os
import socket
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..model.base.errors import CutjointError
from ..model.control.command_policy import DRAIN, DRAIN_SHARE, LEAST_KEY, MOST, QUEUE
from ..model.control.input_ranges import drive_ranges
from ..model.control.packets import BRAKE as BRAKE_FLAG
from ..model.control.packets import (
    BRAKED,
    FAULT,
    MOTION,
    PARTS,
    RESET,
    RESUME,
    SILENCE,
    SILENT,
    STATE,
    STOPPED,
    WRAP,
    Counts,
    Gate,
    Packet,
    pack,
)
from ..model.describe.mechanism import Mechanism
from .histogram import Jitter
from .motor_commands import Refused
from .settings import BRAKE, COAST, Settings


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
        configured = parse_peer(peer) if peer else None
        self.gate = Gate(len(ranges), tuple(ranges), timeout, configured, key)
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

    def set_silence(self, timeout: float) -> None:
        """Seconds after which another device may speak."""
        self.gate.silence = timeout or SILENCE

    @property
    def counts(self) -> Counts:
        return self.gate.counts

    @property
    def peer(self) -> tuple[str, int] | None:
        return self.gate.peer

    def receive(self, now: float) -> list[Packet]:
        """Commands that have come in, oldest first.

        No more than a share of the period is spent on it, whatever comes in: what does not fit into
        the socket's queue meanwhile is lost, so that nothing that is read is old.
        """
        heard: list[Packet] = []
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
                heard.append(packet)
            if time.monotonic() > until:
                break
        if not heard and self.gate.present(now):
            self.counts.missing += 1
        return heard

    def send(self, at: float, parts: Sequence[Sequence[float]], flags: int = 0) -> None:
        """Positions, velocities and forces at simulated time `at`, to the device in the version it speaks."""
        if self.peer is None:
            return
        self._sent = (self._sent + 1) % WRAP or 1  # 0 answers nothing
        last = self.gate.sequence.last or 0
        version = self.gate.version
        values = tuple(x for part in parts[: PARTS[version]] for x in part)
        packet = Packet(STATE, self._sent, last, time.monotonic(), at, values, version, flags)
        try:
            self._socket.sendto(pack(packet, self.gate.key), self.peer)
        except OSError:  # buffers full, or nobody there: the next packet is as good
            self.counts.missing += 1

    def close(self) -> None:
        self._socket.close()


def hear(link: UdpLink, loop: Any, now: float) -> bool:
    """Obey what has come in, one after the other; whether the mechanism is back at its start."""
    reset = False
    told: list[Packet] = []
    for packet in link.receive(now):
        back = _switch(loop, packet)
        reset |= back
        if packet.halts or back or not packet.flags & MOTION:
            told = []  # it says something else to all inputs
        if not loop.stopped:
            told = _joined(told, packet)
    for packet in told if loop.active else []:
        try:
            _obey(loop, packet, now)
        except Refused as problem:
            loop.commands.refused += 1
            loop.outlet.warn("udp", f"command refused: {problem}")
    return reset


def _joined(told: list[Packet], packet: Packet) -> list[Packet]:
    """Motions of one period become one: of each input the newest that was told."""
    if not (told and told[-1].flags & packet.flags & MOTION):
        return [*told, packet]
    before, news = np.array(told[-1].parts), np.array(packet.parts)
    fields = np.where(np.isnan(news).all(0), before, news)
    return [*told[:-1], packet._replace(values=tuple(fields.ravel()))]


def _switch(loop: Any, packet: Packet) -> bool:
    """Stops last until they are resumed; whether it was reset. `realtime/c/loop_drive.c` is its twin."""
    if packet.flags & (RESUME | RESET) and loop.stopped:
        loop.emergency_stop(False)
    way = BRAKE if packet.flags & BRAKE_FLAG else COAST
    if packet.halts and (loop.stopped, loop.stop_way) != (True, way):
        loop.emergency_stop(True, way)
    reset = bool(packet.flags & RESET)
    if reset:
        loop.put(loop.simulation.reset)
    return reset


def _obey(loop: Any, packet: Packet, now: float) -> None:
    commands = loop.commands
    if not packet.flags & MOTION:
        loop.obey(commands.path.order_of_values(packet.values), now)
        return
    told = commands.from_fields(np.array(packet.parts))
    if told is None:  # all stays, and somebody is there
        commands.seen = now
    else:
        loop.obey(told, now)


def tell(link: UdpLink, loop: Any) -> None:
    """The state as last read, to the device."""
    drives = loop.drives
    parts = (drives.position, drives.velocity, drives.effort)
    flags = (FAULT if loop.fault else 0) | (SILENT if loop.commands.expired else 0)
    if loop.stopped:
        flags |= BRAKED if loop.brakes else STOPPED
    link.send(loop.time, [(x * drives.moves).tolist() for x in parts], flags)  # wrenches move nothing


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
