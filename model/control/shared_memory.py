"""State and command of a native loop in shared memory, for a device or controller on the same machine.

The memory (`/dev/shm/NAME`) begins with a head; offsets are in bytes from there, numbers are as the
processor has them, unsigned integers but for float64 where said:

| bytes | head |
|---|---|
| 0-7 | `CJSHARED`, written last |
| 8-11, 12-15 | version, 2; number of values of the state, ns |
| 16-19, 20-23 | number of inputs, nc; bytes of the names |
| 24-31, 32-39 | offsets of the state and of the command |
| 40-47, 48-55 | offset of the names (each ends in a zero byte: ns, then nc); size of all |

Both blocks have the same form. The state is written by the loop and read by all, the command is
written by one device:

| bytes | block |
|---|---|
| 0-7 | lock: odd while it is written, grows by two each time |
| 8-15 | number of this state or command |
| 16-23 | of a state: number of the latest command that was seen; of a command: of the state it answers |
| 24-31 | flags, as `cutjoint_packets.py` has them for UDP |
| 32-39 | steady time of writing, s (float64) |
| 40-47 | simulated time, s (float64) |
| 48- | values (float64): ns of a state; nc of a command, or 4 nc with `MOTION`, for which there is room |

A reader takes the lock, the block, and the lock again: if both are the same even number, the block is
whole (a seqlock). The loop obeys a command when its number changes. This file and `cutjoint_packets.py` need
nothing but Python: they are copied beside a native loop, for the device's side.
"""

import mmap
import os
import struct
import time
from collections.abc import Sequence
from typing import NamedTuple

from .packets import FAULT, FIELDS_TOLD, MOTION

HEAD = struct.Struct("=8sIIIIQQQQQ")
BLOCK = struct.Struct("=QQQQdd")
MAGIC, VERSION = b"CJSHARED", 2
TRIES = 1000  # looks at a block that is being written


class SharedBlock(NamedTuple):
    """A state or a command as it was written."""

    number: int
    answer: int
    flags: int
    stamp: float
    time: float
    values: tuple[float, ...]

    @property
    def fault(self) -> bool:
        """Whether time stands still because the mechanism can't go on."""
        return bool(self.flags & FAULT)


class SharedLoop:
    """The device's end: `state()` and `command(torques)`, with names for both."""

    def __init__(self, name: str, wait: float = 0.0):
        """Open `/NAME`; the loop may take `wait` seconds to make it."""
        end = time.monotonic() + wait
        path = os.path.join("/dev/shm", name.removeprefix("/"))
        while True:
            try:
                with open(path, "r+b") as file:
                    if os.fstat(file.fileno()).st_size >= HEAD.size:
                        self._memory = mmap.mmap(file.fileno(), 0)
                        if self._memory[:8] == MAGIC:
                            break
            except FileNotFoundError:
                pass
            if time.monotonic() > end:
                raise FileNotFoundError(f"there is no shared memory '{name}' of a running loop")
            time.sleep(0.01)
        _, version, ns, nc, length, self._state, self._command, names, _, _ = HEAD.unpack_from(self._memory)
        if version != VERSION:
            raise ValueError(f"'{name}' has version {version} of the layout; this reader knows {VERSION}")
        words = self._memory[names : names + length].split(b"\0")
        self.outputs = tuple(word.decode() for word in words[:ns])
        self.inputs = tuple(word.decode() for word in words[ns : ns + nc])
        self._ns, self._nc, self._sent = ns, nc, 0

    def state(self) -> SharedBlock:
        """The latest state, whole."""
        return self._read(self._state, self._ns)

    def values(self) -> dict[str, float]:
        """The latest outputs by name."""
        return dict(zip(self.outputs, self.state().values, strict=True))

    def command(self, values: Sequence[float], answer: int = 0, flags: int = 0) -> None:
        """A value for each input, a torque or a servo's position; with `MOTION` efforts, positions,
        velocities and accelerations, one after another, NaN where nothing is told."""
        count = self._nc * (FIELDS_TOLD if flags & MOTION else 1)
        if len(values) != count:
            raise ValueError(f"{len(values)} values, not {count}, for the inputs {', '.join(self.inputs)}")
        at = self._command
        lock, number = struct.unpack_from("=QQ", self._memory, at)
        lock += lock % 2  # of a writer that was killed
        struct.pack_into("=Q", self._memory, at, lock + 1)
        head = (number + 1, answer, flags, time.monotonic(), 0.0)
        struct.pack_into("=QQQdd", self._memory, at + 8, *head)
        struct.pack_into(f"={count}d", self._memory, at + BLOCK.size, *values)
        struct.pack_into("=Q", self._memory, at, lock + 2)

    def close(self) -> None:
        self._memory.close()

    def _read(self, at: int, count: int) -> SharedBlock:
        for _ in range(TRIES):
            (before,) = struct.unpack_from("=Q", self._memory, at)
            data = self._memory[at : at + BLOCK.size + 8 * count]
            (after,) = struct.unpack_from("=Q", self._memory, at)
            if before == after and before % 2 == 0:
                values = struct.unpack_from(f"={count}d", data, BLOCK.size)
                _, number, answer, flags, stamp, simulated = BLOCK.unpack_from(data)
                return SharedBlock(number, answer, flags, stamp, simulated, values)
        raise RuntimeError("the block is never whole: its writer was killed while writing")
