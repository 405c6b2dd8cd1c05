"""A recording on disk: whatever ends the writing, it can be read up to its last whole chunk.

An MCAP file is a row of records: chunks of messages, and at the end an index and a footer that readers look
for first. A process that is killed leaves the row without its end, perhaps with a part of a record;
`open_recording` gives readers what is whole. On a full disk the file gets its end all the same, from
room that was put aside.
"""

import io
import os
import struct
import tempfile
from pathlib import Path
from typing import BinaryIO

from ..model.base.errors import CutjointError

MAGIC = b"\x89MCAP0\r\n"
DATA_END, FOOTER = 0x0F, 0x02
HEAD = struct.Struct("<BQ")  # of a record: its kind and how many bytes follow
SPARE = 2 << 20  # bytes put aside: a chunk of 1 MB that does not compress, and the index of an hour
OF_A_CHUNK = 400  # bytes of the index for a chunk of as many topics as we have


class RecordingFile:
    """What the writer of MCAP writes to: records in a row, each whole or not there."""

    def __init__(self, path: Path):
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
        self._end, self._chunks = 0, 0
        self.problem: OSError | None = None  # why nothing but the end may be written any more
        self._spare: BinaryIO | None = None
        try:  # has no name: nobody sees it, and nothing remains of it
            self._spare = tempfile.TemporaryFile(dir=path.parent)  # noqa: SIM115
            self._put_aside()
        except OSError as problem:
            self._full(problem)

    def write(self, data: bytes) -> None:
        """Put records at the end. If the disk is full, use the room that was put aside, and say so."""
        try:
            self._put(data)
        except OSError as problem:
            if self.problem is not None:
                raise
            self._full(problem)
            self._put(data)

    def tell(self) -> int:
        return self._end

    def flush(self) -> None:
        """After a chunk: its place in the index needs room too."""
        self._chunks += 1
        if self.problem is None:
            try:
                self._put_aside()
            except OSError as problem:
                self._full(problem)

    def close(self) -> None:
        if self._spare is not None:
            self._spare.close()
        os.close(self._file)

    def _put(self, data: bytes) -> None:
        rest = memoryview(data)
        try:
            while rest:
                rest = rest[os.write(self._file, rest) :]
        except OSError:
            if len(rest) < len(data):  # part of a record is none
                os.ftruncate(self._file, self._end)
                os.lseek(self._file, self._end, os.SEEK_SET)
            raise
        self._end += len(data)

    def _put_aside(self) -> None:
        if self._spare is not None and hasattr(os, "posix_fallocate"):
            os.posix_fallocate(self._spare.fileno(), 0, SPARE + OF_A_CHUNK * self._chunks)

    def _full(self, problem: OSError) -> None:
        self.problem = problem
        if self._spare is not None:
            self._spare.close()


def open_recording(path: str) -> tuple[BinaryIO, bool]:
    """A recording for readers, and whether its end was missing: then it is all that is whole, with an end."""
    stream = open(path, "rb")  # noqa: SIM115
    if stream.read(len(MAGIC)) != MAGIC:
        stream.close()
        raise CutjointError(f"{path}: this is no MCAP file")
    size = stream.seek(0, os.SEEK_END)
    stream.seek(max(size - len(MAGIC), len(MAGIC)))
    if stream.read() == MAGIC:
        stream.seek(0)
        return stream, False
    with stream:
        end = _whole_records(stream, size)
        stream.seek(0)
        whole = stream.read(end)
    closing = HEAD.pack(DATA_END, 4) + bytes(4) + HEAD.pack(FOOTER, 20) + bytes(20)  # no index, no checksums
    return io.BytesIO(whole + closing + MAGIC), True


def _whole_records(stream: BinaryIO, size: int) -> int:
    """Where the last whole record of messages ends."""
    at = stream.seek(len(MAGIC))
    while at + HEAD.size <= size:
        kind, length = HEAD.unpack(stream.read(HEAD.size))
        if at + HEAD.size + length > size or kind in (0, DATA_END, FOOTER):
            break
        at = stream.seek(at + HEAD.size + length)
    return at
