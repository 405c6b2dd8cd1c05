"""Recordings of the node and of the native loop: what was written can be read, however the writing ended."""

from __future__ import annotations

import json
import os
import random
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cutjoint.model.cli import main as command
from poor_machines import ROOT, needs_mounts
from processes import CUTJOINT, PATIENCE, Process

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="signals, limits and mounts of Linux")
NODE = ["node", "fourbar", "--mode", "fast", "--record"]
Capture = pytest.CaptureFixture[str]


def ros(**more: str) -> dict[str, str]:
    pytest.importorskip("rclpy", reason="needs ROS 2")
    from ros_client import environment, new_domain

    return {**environment(new_domain()), **more}


def until(good: Any, process: Process) -> None:
    end = time.monotonic() + PATIENCE
    while not good():
        assert process.popen.poll() is None and time.monotonic() < end, process.output
        time.sleep(0.02)


def replay(capsys: Capture, file: Path) -> tuple[dict[str, Any], str]:
    assert command.main(["replay", str(file), "--json"]) == 0
    out, err = capsys.readouterr()
    return json.loads(out), err


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The recording of a node that was killed while it recorded."""
    file = tmp_path_factory.mktemp("killed") / "run.mcap"
    with Process([*CUTJOINT, *NODE, str(file)], ros()) as process:
        until(lambda: file.exists() and file.stat().st_size > 400_000, process)
        process.popen.kill()
        process.popen.wait()
    return file


@pytest.mark.ros
def test_a_node_that_is_killed_leaves_what_it_recorded(killed: Path, capsys: Capture) -> None:
    """A hidden file was left, which replay refused."""
    assert os.listdir(killed.parent) == [killed.name]
    done, said = replay(capsys, killed)
    assert done["periods"] > 100 and done["states"] > 10
    assert max(done["position"], done["velocity"]) < 1e-9
    assert said.count("\n") == 1 and "has no end" in said and "all that is whole is read" in said


@pytest.mark.ros
def test_a_recording_cut_anywhere_is_read_to_its_last_whole_chunk(
    killed: Path, tmp_path: Path, capsys: Capture
) -> None:
    data, rng = killed.read_bytes(), random.Random(3)
    file, before = tmp_path / "cut.mcap", 0
    for size in sorted(rng.sample(range(20_000, len(data)), 6)):
        file.write_bytes(data[:size])
        periods = replay(capsys, file)[0]["periods"]
        assert periods >= before
        before = periods
    assert before > 0
    for size in range(8, 400, 23):  # in its very beginning: a sentence
        file.write_bytes(data[:size])
        assert command.main(["replay", str(file)]) in (0, command.USAGE)
        said = capsys.readouterr().err
        assert "unexpected" not in said and 1 <= said.count("\n") <= 2, said


def read_whole(file: Path) -> int:
    """How many messages a standard reader finds, by the index."""
    from mcap.reader import make_reader

    with file.open("rb") as stream:
        reader = make_reader(stream, validate_crcs=True)
        summary = reader.get_summary()
        assert summary is not None and summary.statistics is not None
        count = sum(1 for _ in reader.iter_messages())
        assert count == summary.statistics.message_count
    return count


@pytest.mark.ros
@needs_mounts
def test_a_full_disk_ends_the_recording_and_not_the_node(tmp_path: Path, capsys: Capture) -> None:
    """The writer died unheard, memory grew, and a hidden file stayed."""
    inside = 'mount -t tmpfs -o size=4m tmpfs "$1" && shift && exec "$@"'
    file = tmp_path / "run.mcap"
    words = [*ROOT, inside, "sh", str(tmp_path), *CUTJOINT, *NODE, str(file)]
    with Process(words, ros()) as process:
        process.says("No space left on device")
        assert "messages are recorded, no more: it can be read as it is" in process.output
        there = Path(f"/proc/{process.popen.pid}/root{file}")  # the disk is the process's own
        until(lambda: there.read_bytes()[-8:] == b"\x89MCAP0\r\n", process)
        assert os.listdir(there.parent) == [file.name]
        copy = tmp_path / "copy.mcap"
        copy.write_bytes(there.read_bytes())
        cpu = Path(f"/proc/{process.popen.pid}/stat")
        before = int(cpu.read_text().split()[13])
        until(lambda: int(cpu.read_text().split()[13]) > before + 20, process)  # it works on
        assert process.stop() == 0, process.output
    assert read_whole(copy) > 1000
    done, said = replay(capsys, copy)
    assert done["periods"] > 100 and max(done["position"], done["velocity"]) < 1e-9 and said == ""


@pytest.mark.ros
def test_a_file_that_may_not_grow(tmp_path: Path, capsys: Capture) -> None:
    """No room that was put aside helps here: what was whole is replayed."""
    file = tmp_path / "run.mcap"
    limit = "import os, resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (2600000, 2600000)); "
    limit += "os.execv(sys.argv[1], sys.argv[1:])"
    with Process([sys.executable, "-c", limit, *CUTJOINT, *NODE, str(file)], ros()) as process:
        process.says("File too large")
        assert process.stop() == 0, process.output
    assert file.stat().st_size <= 2_600_000
    assert replay(capsys, file)[0]["periods"] > 50


# -- the native loop -----------------------------------------------------------------------


@pytest.fixture(scope="module")
def loop() -> Iterator[Path]:
    from cutjoint.model.compile.kernel import find_compiler

    if find_compiler() is None:
        pytest.skip("needs a C compiler")
    from loop_tools import built

    yield built("double_pendulum")


@pytest.mark.compiler
def test_a_native_loop_says_that_its_disk_is_full_and_goes_on(loop: Path, tmp_path: Path) -> None:
    """It said "Success", and exited with 0."""
    file = tmp_path / "run.npy"
    words = [str(loop), "--mode", "fast", "--seconds", "6", "--record", str(file), "--json"]
    words += ["--priority", "0", "--lock", "0"]
    limit = 200_000
    done = subprocess.run(
        words,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
    )
    report, rows = json.loads(done.stdout), np.load(file)
    assert done.returncode == 5, done.stderr
    assert report["periods"] == 6000 and report["time"] == pytest.approx(6.0)
    assert f"record: File too large; {len(rows)} rows are recorded, no more" in done.stderr
    assert 0 < len(rows) < 6000 and len(rows) + report["record_lost"] == 6000
    assert np.diff(rows["time"]) == pytest.approx(1e-3)
    width = rows.dtype.itemsize
    assert limit - width < file.stat().st_size <= limit  # every row that had room


@pytest.mark.compiler
def test_a_native_loop_on_a_disk_without_room_for_its_head(loop: Path) -> None:
    words = [str(loop), "--seconds", "0.1", "--record", "/dev/full"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 2 and "can't write '/dev/full': No space left on device" in done.stderr
