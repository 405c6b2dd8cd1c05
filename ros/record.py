"""Record what the node publishes as MCAP, which Foxglove, rosbags and ros2 bag read, and what replay needs.

Beside the node's own topics a file holds the inputs of every period, and the state wherever something
other than time changed it: so `cutjoint replay` can make the same motion again. Messages are written by a
thread of its own, every second at least. A node that is killed leaves what it wrote; a full disk is said at
once and ends the recording, not the node.
"""

import json
import queue
import re
import threading
import time
from array import array
from collections.abc import Callable
from typing import Any, cast

from rclpy.serialization import serialize_message
from std_msgs.msg import Float64MultiArray, String

from ..model.base.errors import CutjointError, how_to_install
from ..model.base.files import check_writable
from ..model.base.marks import MARK
from .loop import Loop
from .recording_file import RecordingFile

EVERY = 1.0  # seconds after which what was recorded is on disk
INPUTS, STATES = "cutjoint/inputs", "cutjoint/state"
PLAIN = {"double": "float64", "float": "float32", "boolean": "bool", "octet": "byte"}


class McapRecorder:
    """One file; `channel` gives a function that writes messages of a topic.

    `now` tells nanoseconds by the clock of the messages' own stamps. With another one a file would show
    transforms that never move: who reads it looks them up by its time.
    """

    def __init__(self, path: str, loop: Loop, now: Callable[[], int], say: Callable[[str], Any]):
        try:
            from mcap.writer import CompressionType, Writer
        except ImportError as problem:
            raise CutjointError(f"recording needs the package mcap; {how_to_install('ros')}") from problem
        self._path, self._say = path, say
        try:
            self._file = RecordingFile(check_writable(path))
        except OSError as problem:
            raise CutjointError(f"can't write '{path}': {problem.strerror}") from problem
        self._writer = Writer(cast(Any, self._file), compression=CompressionType.ZSTD)
        self._writer.start(profile="ros2", library=MARK)
        self._schemas: dict[str, int] = {}
        self._waiting: queue.SimpleQueue[tuple[int, int, int, bytes] | None] = queue.SimpleQueue()
        settings = loop.settings
        about = {"mechanism": settings.mechanism, "rate": settings.rate, "steps": settings.steps}
        about |= {"gravity": list(loop.simulation.mechanism.gravity), "substeps": settings.substeps}
        about |= {"live_gravity": settings.live_gravity, "wrench_on": settings.wrench_on}
        self._writer.add_metadata("cutjoint", {key: json.dumps(value) for key, value in about.items()})
        self._now, self.written, self._ended = now, 0, False
        self._before = self._ahead = 0  # time of the last message, and what resets took back
        self._inputs = self.channel(Float64MultiArray, f"/{INPUTS}")
        self._states = self.channel(String, f"/{STATES}")
        self._thread = threading.Thread(target=self._work, name="recorder", daemon=True)
        self._thread.start()

    def channel(self, kind: Any, topic: str) -> Callable[[bytes], None]:
        """A function that records a serialized message of a topic."""
        name, text = definition(kind)
        if name not in self._schemas:
            self._schemas[name] = self._writer.register_schema(name, "ros2msg", text.encode())
        channel, count = self._writer.register_channel(topic, "cdr", self._schemas[name]), 0

        def write(data: bytes) -> None:
            nonlocal count
            count += 1
            if not self._ended:
                self._waiting.put((channel, self._now(), count, data))

        return write

    def inputs(self, loop: Loop) -> None:
        """Of the period that has just passed."""
        self._inputs(serialize_message(Float64MultiArray(data=array("d", loop.simulation.u.tobytes()))))

    def state(self, loop: Loop) -> None:
        """Where it is, because something other than time put it there."""
        s = loop.simulation.state
        names = ("q", "v", "z", "p")
        values = {name: getattr(s, name).tolist() for name in names}
        text = json.dumps({"time": s.time, "work": s.work, **values})
        self._states(serialize_message(String(data=text)))

    def _work(self) -> None:
        """Write what comes until `close`, or until the disk is full."""
        try:
            flushed = time.monotonic()
            while self._file.problem is None and (item := self._next()) is not None:
                if item:
                    self._add(*item)
                if time.monotonic() > flushed + EVERY:
                    self._writer.flush()
                    flushed = time.monotonic()
            self._ended = True
            self._say_problem("it can be read as it is")  # at once: to finish takes its time
            self._writer.finish()
        except OSError as problem:
            self._file.problem = self._file.problem or problem
            self._say_problem("'cutjoint replay' can read what was written before")
        finally:
            self._ended = True
            self._file.close()

    def _next(self) -> tuple[int, int, int, bytes] | tuple[()] | None:
        """What waits longest; nothing after some time; None at the end."""
        try:
            return self._waiting.get(timeout=EVERY)
        except queue.Empty:
            return ()

    def _add(self, channel: int, at: int, sequence: int, data: bytes) -> None:
        if at < self._before:  # a reset: a file's time never goes back
            self._ahead += self._before - at
        self._before = at
        self._writer.add_message(channel, at + self._ahead, data, at, sequence)
        self.written += 1

    def _say_problem(self, and_so: str) -> None:
        if self._file.problem is not None:
            why = self._file.problem.strerror
            self._say(f"'{self._path}': {why}; {self.written} messages are recorded, no more: {and_so}")

    def close(self) -> None:
        """Write what waits, and give the file its end."""
        self._waiting.put(None)
        self._thread.join()


def definition(kind: Any) -> tuple[str, str]:
    """Name and text of a message's type, and of all that it consists of, as MCAP wants them."""
    texts: dict[str, str] = {}

    def add(made: Any) -> str:
        package = made.__module__.partition(".")[0]
        full = f"{package}/msg/{made.__name__}"
        if full not in texts:
            texts[full] = ""
            lines = [f"{_field(t, made)} {n}" for n, t in made.get_fields_and_field_types().items()]
            texts[full] = "\n".join(lines)
        return full

    def _field(text: str, made: Any) -> str:
        """A type as .msg files write it; types of messages are added on the way."""
        if found := re.fullmatch(r"sequence<(.+?)(?:, (\d+))?>", text):
            most = f"<={found[2]}" if found[2] else ""
            return f"{_field(found[1], made)}[{most}]"
        if found := re.fullmatch(r"(.+)\[(\d+)\]", text):
            return f"{_field(found[1], made)}[{found[2]}]"
        if "/" in text:
            package, name = text.split("/")
            add(getattr(__import__(f"{package}.msg", fromlist=[name]), name))
            return f"{package}/{name}"
        return PLAIN.get(text, text)

    name = add(kind)
    rest = [f"{'=' * 80}\nMSG: {n.replace('/msg/', '/')}\n{t}" for n, t in texts.items() if n != name]
    return name, "\n".join([texts[name], *rest])
