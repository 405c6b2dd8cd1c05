"""Packets between a simulation and a device that speaks nothing but UDP.

Every period the simulation sends a state packet, and obeys the newest command packet that has arrived. All
numbers are little-endian:

| bytes | state packet (kind 1) | command packet (kind 2) |
|---|---|---|
| 0-1 | `CJ` | `CJ` |
| 2 | version, that of the device's commands | version, 1 to 3 |
| 3 | kind, 1 | kind, 2 |
| 4-7 | n, number of inputs (uint32) | n (uint32) |
| 8-11 | sequence number (uint32, wraps) | sequence number (uint32, wraps) |
| 12-15 | latest command's number | number of the state it answers, 0 for none |
| 16-23 | time of sending, s (float64) | time stamp of the state it answers |
| 24-31 | simulated time, s | any |
| 32-39 | flags (uint64); not before version 3 | flags (uint64); not before version 3 |
| then | n positions, n velocities; from version 2 on also n forces | n values; with `MOTION` 4 n |
| last 16 | with a key: the first half of HMAC-SHA-256 of all before | the same |

Positions, velocities and forces are those of what the inputs drive: the joint of a motor, with the torque or
force that the motor gives; the length of a cylinder, its rate, and the force with which it pushes. The
device chooses the version: it hears states of the one it speaks, so that a device of version 1 goes on as it
did.

A command has a value for each input in the input's own unit: the torque of a motor, the position of a servo.
Flags say more (`STOP` and those below it):

| flag of a command | |
|---|---|
| 1 `STOP` | emergency stop: forces vanish and the mechanism coasts, until `RESUME` or `RESET` |
| 2 `BRAKE` | drives hold the mechanism where it is, until `RESUME` or `RESET` |
| 4 `RESUME` | commands are obeyed again, this one first |
| 8 `RESET` | back to the start, at simulated time 0, out of faults and stops |
| 16 `MOTION` | n efforts, n positions, n velocities, n accelerations; NaN: what was told stays |

Beside `STOP` or `BRAKE` the values of a command are not looked at. Flags of a state: 1 `FAULT`, time stands
still because the mechanism can't go on; 2 `STOPPED`; 4 `BRAKED`; 8 `SILENT`, the watchdog has acted.

Packets that are lost, late, out of order, malformed or somebody else's are counted and survived (`Gate`).
This file needs nothing but Python: it is copied beside a native loop, for the device's side.
"""

import hashlib
import hmac
import struct
from dataclasses import dataclass, field
from math import isfinite, isinf
from typing import NamedTuple

MAGIC, VERSION, STATE, COMMAND = b"CJ", 3, 1, 2
PARTS = {1: 2, 2: 3, 3: 3}  # numbers for each input in a state, by version: position, velocity, force
FLAGGED = 3  # the first version with flags
STOP, BRAKE, RESUME, RESET, MOTION = (1 << k for k in range(5))  # flags of a command
FAULT, STOPPED, BRAKED, SILENT = (1 << k for k in range(4))  # flags of a state
ORDERS = STOP | BRAKE | RESUME | RESET | MOTION  # a command with another flag asks for something unknown
FIELDS_TOLD = 4  # numbers for each input of a motion: effort, position, velocity, acceleration
# Name, format as `struct` has it, type in C.
FIELDS = (
    ("magic", "2s", "char magic[2]"),
    ("version", "B", "uint8_t version"),
    ("kind", "B", "uint8_t kind"),
    ("count", "I", "uint32_t count"),
    ("sequence", "I", "uint32_t sequence"),
    ("answer", "I", "uint32_t answer"),
    ("stamp", "d", "double stamp"),
    ("time", "d", "double time"),
)
HEAD = struct.Struct("<" + "".join(form for _, form, _ in FIELDS))
FLAGS = struct.Struct("<Q")  # behind the head
WRAP = 1 << 32
WINDOW = 1000  # numbers that a packet may be ahead or behind and still be believed: a second at 1 kHz
SILENCE = 1.0  # seconds after which a device counts as gone where there is no watchdog
TAG = 16  # bytes of a keyed checksum: half of SHA-256, as RFC 2104 allows, and still nobody guesses it


class Packet(NamedTuple):
    """One packet of either kind; `values` are positions, velocities and forces, or what inputs are told."""

    kind: int
    sequence: int
    answer: int
    stamp: float
    time: float
    values: tuple[float, ...]
    version: int = VERSION
    flags: int = 0

    @property
    def parts(self) -> list[tuple[float, ...]]:
        """Positions, velocities and, from version 2 on, forces of a state; what a command tells."""
        count = _parts(self.kind, self.version, self.flags)
        n = len(self.values) // count
        return [self.values[k * n : (k + 1) * n] for k in range(count)]

    @property
    def halts(self) -> bool:
        """Whether a command stops or brakes, whatever stands beside that."""
        return bool(self.flags & (STOP | BRAKE))


def _parts(kind: int, version: int, flags: int) -> int:
    return PARTS[version] if kind == STATE else FIELDS_TOLD if flags & MOTION else 1


def pack(packet: Packet, key: bytes = b"") -> bytes:
    """Bytes of a packet."""
    kind, sequence, answer, stamp, at, values, version, flags = packet
    n = len(values) // _parts(kind, version, flags)
    head = HEAD.pack(MAGIC, version, kind, n, sequence % WRAP, answer % WRAP, stamp, at)
    head += FLAGS.pack(flags) if version >= FLAGGED else b""
    data = head + struct.pack(f"<{len(values)}d", *values)
    return data + checksum(data, key) if key else data


def checksum(data: bytes, key: bytes) -> bytes:
    """The tag that shows that the sender knows the key."""
    return hmac.new(key, data, hashlib.sha256).digest()[:TAG]


def unpack(data: bytes, kind: int, key: bytes = b"") -> Packet | None:
    """The packet, or None if the bytes are no packet of that kind with finite numbers and the right tag."""
    packet = _shaped(data, kind, TAG if key else 0)
    if packet is None or (key and not _genuine(data, key)):
        return None
    return packet if _finite(packet) else None


def _shaped(data: bytes, kind: int, tag: int) -> Packet | None:
    if len(data) < HEAD.size:
        return None
    magic, version, given, n, sequence, answer, stamp, at = HEAD.unpack_from(data)
    if (magic, given) != (MAGIC, kind) or version not in PARTS:
        return None
    size, flags = HEAD.size, 0
    if version >= FLAGGED:
        size += FLAGS.size
        (flags,) = FLAGS.unpack_from(data, HEAD.size) if len(data) >= size else (0,)
    count = n * _parts(kind, version, flags)
    if len(data) != size + 8 * count + tag:
        return None
    values = struct.unpack_from(f"<{count}d", data, size)
    return Packet(kind, sequence, answer, stamp, at, values, version, flags)


def _genuine(data: bytes, key: bytes) -> bool:
    return hmac.compare_digest(data[-TAG:], checksum(data[:-TAG], key))


def _finite(packet: Packet) -> bool:
    if not (isfinite(packet.stamp) and isfinite(packet.time)):
        return False
    if packet.kind == COMMAND and packet.flags & MOTION:  # NaN says nothing
        return packet.halts or not any(map(isinf, packet.values))
    return (packet.kind == COMMAND and packet.halts) or all(map(isfinite, packet.values))


def newer(a: int, b: int) -> int:
    """How many numbers a is after b, negative if before, across the wrap."""
    return (a - b + WRAP // 2) % WRAP - WRAP // 2


@dataclass
class Counts:
    """What happened to the packets of the other side."""

    received: int = 0  # packets of the device, well formed
    lost: int = 0  # numbers that never came
    reordered: int = 0  # came after a newer one, or twice: not used
    late: int = 0  # answers to a state older than the last one, still used
    malformed: int = 0  # of another form, or with numbers that are not finite
    outside: int = 0  # numbers far from the last one: not used, and no loss is counted
    stranger: int = 0  # from somebody else while the device is there, or not from the configured one
    forged: int = 0  # with a wrong checksum, or answering nothing that was sent
    beyond: int = 0  # with a torque or force that no drive gives: refused as a whole
    missing: int = 0  # periods without a new command while the device was there


@dataclass
class Sequence32:
    """Follows the other side's sequence numbers; says whether a packet is news."""

    counts: Counts
    last: int | None = None
    gaps: set[int] = field(default_factory=set)  # numbers within the window that have not come yet

    def news(self, sequence: int) -> bool:
        self.counts.received += 1
        step = 1 if self.last is None else newer(sequence, self.last)
        if abs(step) > WINDOW:
            self.counts.outside += 1
            return False
        if step <= 0:
            self.counts.reordered += 1
            if sequence in self.gaps:  # not lost after all
                self.gaps.discard(sequence)
                self.counts.lost -= 1
            return False
        if self.last is not None:
            self.counts.lost += step - 1
            self.gaps.update((self.last + k) % WRAP for k in range(1, step))
        if self.gaps:
            self.gaps = {n for n in self.gaps if newer(sequence, n) <= WINDOW}
        self.last = sequence
        return True

    def follows(self, sequence: int) -> bool:
        """Whether it is the last one, said again, or one after it."""
        return self.last is not None and 0 <= newer(sequence, self.last) <= WINDOW

    def forget(self) -> None:
        """Whatever comes next is the first."""
        self.last = None
        self.gaps.clear()


class Gate:
    """Decides which packets of a device are obeyed; `realtime/c/loop_gate.c` is its twin.

    The device is the configured `peer` (its port may be open: None), or whoever spoke first, until it has
    been silent for `silence` seconds; then numbers may start again. In `lock_step` a device may take its
    time: a command that it says again is the same one, however late, and is not done twice. With a key,
    packets must carry its tag, and obeyed ones answer a state that was sent, none older than the last one
    answered: a recorded command is of no use later. A packet that answers nothing (0) then only says hello.
    A packet with a flag that is not among `ORDERS` is malformed.
    """

    def __init__(
        self,
        inputs: int,
        ranges: tuple[float, ...],
        silence: float,
        peer: tuple[str, int | None] | None = None,
        key: bytes = b"",
        lock_step: bool = False,
    ):
        self.inputs, self.ranges, self.silence, self.key = inputs, ranges, silence or SILENCE, key
        self.lock_step = lock_step
        self.counts = Counts()
        self.sequence = Sequence32(self.counts)
        self.peer: tuple[str, int] | None = None  # where states are sent to
        self.version = VERSION  # that it speaks
        self.heard = 0.0
        self._configured = peer
        self._answered: int | None = None

    def present(self, now: float) -> bool:
        """Whether the device has spoken of late."""
        return self.peer is not None and now - self.heard <= self.silence

    def accept(self, data: bytes, sender: tuple[str, int], now: float, sent: int) -> Packet | None:
        """The command, if it is to be obeyed; `sent` is the number of the latest state."""
        counts = self.counts
        packet = _shaped(data, COMMAND, TAG if self.key else 0)
        if packet is None or len(packet.parts[0]) != self.inputs or packet.flags & ~ORDERS:
            counts.malformed += 1
            return None
        here = self.present(now)
        if not self._known(sender) or (here and sender != self.peer):
            counts.stranger += 1
            return None
        if self.key and not _genuine(data, self.key):
            counts.forged += 1
            return None
        if not _finite(packet):
            counts.malformed += 1
            return None
        told = zip(packet.parts[0], self.ranges, strict=True)
        if not packet.halts and any(abs(x) > most for x, most in told):
            counts.beyond += 1
            return None
        if self.key and not self._fresh(packet, here, sent) and not self._again(packet, sender):
            if packet.answer == 0 and not here:
                self.peer, self.version = sender, packet.version  # it hears states, and answers them
            else:
                counts.forged += 1
            return None
        waited = self.lock_step and self.sequence.follows(packet.sequence)
        if sender != self.peer or not (here or waited):
            self.sequence.forget()
        if not self.sequence.news(packet.sequence):
            return None
        self.peer, self.heard, self.version = sender, now, packet.version
        if packet.answer:
            counts.late += packet.answer != sent % WRAP
            self._answered = packet.answer
        return packet

    def _known(self, sender: tuple[str, int]) -> bool:
        if self._configured is None:
            return True
        host, port = self._configured
        return sender[0] == host and port in (None, sender[1])

    def _again(self, packet: Packet, sender: tuple[str, int]) -> bool:
        """In lock-step: whether it is the last command once more, after whatever time."""
        same = (packet.sequence, packet.answer) == (self.sequence.last, self._answered)
        return self.lock_step and sender == self.peer and same

    def _fresh(self, packet: Packet, here: bool, sent: int) -> bool:
        """Whether it answers one of the latest states, none older than what was answered before."""
        if packet.answer == 0 or not 0 <= newer(sent % WRAP, packet.answer) <= WINDOW:
            return False
        return self._answered is None or newer(packet.answer, self._answered) >= (0 if here else 1)
