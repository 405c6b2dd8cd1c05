"""Reading recordings: records one after the other, unpacked within limits, messages of known types.

A recording is a file like any other: it may be cut, altered or made up. Nothing in it chooses how it is
decoded: the types that replay needs are written here, whatever definitions the file brings.
"""

import json
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from ..model.base.errors import CutjointError, how_to_install
from .recording_file import open_recording

INPUTS, STATES = "/cutjoint/inputs", "/cutjoint/state"  # topics of a file that are for replay
LARGEST_RECORD = 16_000_000  # bytes, unpacked; the recorder's chunks have one million
LONGEST_NAME = 1_000  # characters of a topic or type: all of them are kept
NUMBERS, TEXT, JOINTS = "std_msgs/msg/Float64MultiArray", "std_msgs/msg/String", "sensor_msgs/msg/JointState"
_TYPES = {
    NUMBERS: (
        "MultiArrayLayout layout\nfloat64[] data\n"
        "================================================================================\n"
        "MSG: std_msgs/MultiArrayLayout\nMultiArrayDimension[] dim\nuint32 data_offset\n"
        "================================================================================\n"
        "MSG: std_msgs/MultiArrayDimension\nstring label\nuint32 size\nuint32 stride\n"
    ),
    TEXT: "string data\n",
    JOINTS: (
        "std_msgs/Header header\nstring[] name\nfloat64[] position\nfloat64[] velocity\nfloat64[] effort\n"
        "================================================================================\n"
        "MSG: std_msgs/Header\nbuiltin_interfaces/Time stamp\nstring frame_id\n"
        "================================================================================\n"
        "MSG: builtin_interfaces/Time\nint32 sec\nuint32 nanosec\n"
    ),
}


class Recorded(NamedTuple):
    """A message as it stands in a file."""

    type: str
    topic: str
    time: int  # ns
    data: bytes

    def decoded(self, kind: str) -> Any:
        """The message, if it is of the type that replay needs."""
        if self.type != kind:
            raise CutjointError(f"messages of '{self.topic}' must be of the type '{kind}', not '{self.type}'")
        return _decoders()[kind](self.data)


def _decoders() -> dict[str, Any]:
    from mcap_ros2._dynamic import generate_dynamic

    if not _known:
        _known.update({name: generate_dynamic(name, text)[name] for name, text in _TYPES.items()})
    return _known


_known: dict[str, Any] = {}


@contextmanager
def naming(file: str) -> Iterator[None]:
    """Around what reads a file, and nothing else: all that it raises becomes a sentence with its name."""
    try:
        yield
    except CutjointError as error:
        raise CutjointError(f"{file}: {error}") from None
    except OSError as error:
        raise CutjointError(f"can't read '{file}': {error.strerror or error}") from None
    except Exception as error:  # of MCAP, Zstandard, CDR and JSON, which share no class
        said = " ".join(str(error).split())[:200] or "it is cut off"
        raise CutjointError(f"{file}: no recording, or a damaged one: {said}") from None


def records(file: str) -> Iterator[Any]:
    """The records of a file in their order, those in chunks unpacked."""
    try:
        from mcap.records import Chunk
        from mcap.stream_reader import StreamReader, breakup_chunk
    except ImportError as problem:
        raise CutjointError(f"replay needs mcap-ros2-support; {how_to_install('ros')}") from problem
    if not Path(file).is_file():
        raise CutjointError(f"there is no file '{file}'")
    stream, cut = open_recording(file)
    if cut:
        sentence = f"'{file}' has no end, as if its node was killed: all that is whole is read"
        warnings.warn(sentence, stacklevel=2)
    with naming(file), stream:
        reader = StreamReader(stream, emit_chunks=True, record_size_limit=LARGEST_RECORD)
        for record in reader.records:
            if isinstance(record, Chunk):
                _check_chunk(record)
                yield from breakup_chunk(record, validate_crc=True)
            else:
                yield record


def _check_chunk(chunk: Any) -> None:
    """Refuse what would be unpacked into more than a recorder writes."""
    if chunk.compression not in ("", "zstd"):
        raise CutjointError(f"its chunks are packed by '{chunk.compression[:20]}'; the recorder uses zstd")
    size = chunk.uncompressed_size
    if chunk.compression:
        import zstandard

        told = zstandard.get_frame_parameters(chunk.data).content_size
        size = max(size, told if told != zstandard.CONTENTSIZE_UNKNOWN else 0)
    if size > LARGEST_RECORD:
        raise CutjointError(f"a chunk would be unpacked into {size} bytes, which no recorder writes")


def messages(file: str) -> Iterator[Recorded]:
    """The messages of a file in their order."""
    schemas: dict[int, str] = {}
    channels: dict[int, tuple[str, str]] = {}
    for record in records(file):
        kind = type(record).__name__
        name = {"Schema": "name", "Channel": "topic"}.get(kind)
        if name and len(getattr(record, name)) > LONGEST_NAME:
            raise CutjointError(f"{file}: a name in it is longer than {LONGEST_NAME} characters")
        if kind == "Schema":
            schemas[record.id] = record.name
        elif kind == "Channel":
            channels[record.id] = schemas.get(record.schema_id, ""), record.topic
        elif kind == "Message":
            if record.channel_id not in channels:
                raise CutjointError(f"{file}: a message belongs to no topic: the recording is damaged")
            yield Recorded(*channels[record.channel_id], record.log_time, record.data)


def read_about(file: str) -> dict[str, Any]:
    """What the recorder says of the node."""
    for record in records(file):
        if type(record).__name__ == "Metadata" and record.name == "cutjoint":
            with naming(file):
                return {key: json.loads(value) for key, value in record.metadata.items()}
    raise CutjointError(f"{file}: no inputs are recorded; 'cutjoint node --record' does that")
