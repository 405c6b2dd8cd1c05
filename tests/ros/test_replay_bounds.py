"""Recordings are files like any other: what is altered, cut or made up in them ends in one sentence."""

import json
import random
import struct
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcap_ros2")

from cutjoint.model.base.errors import CutjointError
from cutjoint.model.cli.main import main
from cutjoint.model.describe.reader import source_of
from cutjoint.ros import recording_reader
from cutjoint.ros.replay_cli import _kind, again
from recordings import ABOUT, write_recording


def refused(path: Path, sentence: str) -> str:
    with pytest.raises(CutjointError, match=sentence) as caught:
        again(str(path))
    assert path.name in str(caught.value) and "\n" not in str(caught.value)
    return str(caught.value)


def test_a_recording_is_made_again(tmp_path: Path, capsys: Any) -> None:
    for packed in (True, False):
        done = again(str(write_recording(tmp_path / "run.mcap", packed=packed)))
        assert (done.periods, done.states) == (5, 5)
        assert done.position < 1e-15 and done.velocity < 1e-14
    assert main(["replay", str(tmp_path / "run.mcap"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["periods"] == 5


ALTERED: dict[str, list[Any]] = {
    "mechanism": ["", "no_such", 5, None, ["delta"], "../delta.yaml", "!{", "!"],
    "rate": [0, -1, 1e9, "fast", "!NaN", "!1e999", None, [1000]],
    "steps": [10**12, 0, -3, 2.5, "two", True, None, "!" + "9" * 5000],
    "gravity": [[0, 0], ["a"] * 3, "!NaN", {"z": 1}, [1e300] * 3, "!" + "[" * 100_000],
    "substeps": [-1, 10**9, "many", [1]],
    "live_gravity": [1, "yes", None],
    "wrench_on": [5, "no_such_body", None],
}


def test_names_without_end_are_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """65,536 types with names of a chunk's size each were kept: a few megabytes took all memory."""
    path = write_recording(tmp_path / "run.mcap")
    monkeypatch.setattr(recording_reader, "LONGEST_NAME", 20)
    refused(path, "a name in it is longer than 20 characters")


@pytest.mark.parametrize("key", ALTERED)
def test_what_a_recording_says_of_its_node_is_checked(tmp_path: Path, key: str) -> None:
    """`steps` of 10**12 ran for ever, and most others were unexpected errors."""
    for value in (*ALTERED[key], ()):  # the last leaves it out
        said = write_recording(tmp_path / "run.mcap", **{key: value})
        with pytest.raises(CutjointError) as caught:
            again(str(said))
        assert "\n" not in str(caught.value) and len(str(caught.value)) < 500


def test_a_recording_names_an_example_or_a_file_of_its_own_folder(tmp_path: Path) -> None:
    inside, outside = tmp_path / "in", tmp_path / "own.yaml"
    inside.mkdir()
    outside.write_text(source_of("double_pendulum")[0])
    for name in (str(outside), "../own.yaml"):
        path = write_recording(inside / "run.mcap", mechanism=name)
        refused(path, "not in the folder of the recording; say which it is with --mechanism")
    assert again(str(path), str(outside)).periods == 5
    assert main(["replay", str(path), "--mechanism", str(outside)]) == 0
    (inside / "own.yaml").write_text(outside.read_text())
    assert again(str(write_recording(path, mechanism="own.yaml"))).periods == 5
    (inside / "own.yaml").unlink()
    (inside / "own.yaml").symlink_to(outside)
    refused(path, "not in the folder")


def test_a_recording_runs_no_robot_file_that_is_not_trusted(tmp_path: Path) -> None:
    """A path in a recording led to a xacro file, and that to any command."""
    done = tmp_path / "done"
    xacro = '<robot xmlns:xacro="x" name="r"><link name="a" b="${(lambda: open)()}"/></robot>'
    (tmp_path / "evil.xacro").write_text(xacro)
    with pytest.raises(CutjointError, match=r"lambda.*--trust"):
        again(str(write_recording(tmp_path / "run.mcap", mechanism="evil.xacro")))
    assert not done.exists()


def test_chunks_are_not_unpacked_into_more_than_a_recorder_writes(tmp_path: Path) -> None:
    import zstandard

    def chunk(size: int, data: bytes, compression: bytes = b"zstd") -> bytes:
        packed = struct.pack("<I", len(compression)) + compression + struct.pack("<Q", len(data)) + data
        body = struct.pack("<QQQI", 0, 0, size, 0) + packed
        return b"\x06" + struct.pack("<Q", len(body)) + body

    whole = write_recording(tmp_path / "run.mcap").read_bytes()
    at = 8
    while whole[at] != 6:  # the first chunk
        at += 9 + struct.unpack_from("<Q", whole, at + 1)[0]
    bomb = zstandard.compress(bytes(300_000_000))
    assert len(bomb) < 100_000
    path = tmp_path / "bomb.mcap"
    for size, data, name in ((300_000_000, bomb, b"zstd"), (10, bomb, b"zstd"), (10, b"", b"lz4")):
        path.write_bytes(whole[:at] + chunk(size, data, name) + whole[at:])
        refused(path, "would be unpacked into|are packed by")
    path.write_bytes(whole[:at] + b"\x06" + struct.pack("<Q", 2**62) + whole[at:])
    refused(path, "exceeds limit")


def test_states_and_inputs_must_fit_the_mechanism(tmp_path: Path) -> None:
    refused(write_recording(tmp_path / "run.mcap", mechanism="stewart"), "a recording of this mechanism")


def test_types_of_messages_come_from_packages_of_messages_alone() -> None:
    for name in ("os/msg/path", "antigravity/msg/X", "std_msgs/msg/__doc__", "std_msgs/msg/a b", "../msg/X"):
        with pytest.raises(CutjointError, match="are not published"):
            _kind(name)


def mutated(whole: bytes, random_: random.Random) -> bytes:
    """One of the ways in which files are damaged."""
    data = bytearray(whole)
    at, other = random_.randrange(len(data)), random_.randrange(len(data))
    way = random_.randrange(6)
    if way == 0:
        data[at] ^= 1 << random_.randrange(8)
    elif way == 1:
        del data[at:]
    elif way == 2:
        data[at : at + random_.randrange(1, 40)] = random_.randbytes(random_.randrange(40))
    elif way == 3:
        data[at:at] = data[other : other + 60]
    elif way == 4:
        data[at : at + 8] = random_.choice((b"\xff" * 8, bytes(8), b"\x00\x00\x00\x00\x00\x00\x00\x80"))
    else:
        for _ in range(random_.randrange(2, 30)):
            data[random_.randrange(len(data))] = random_.randrange(256)
    return bytes(data)


@pytest.mark.filterwarnings("ignore:.*has no end")
@pytest.mark.parametrize("packed", [True, False])
def test_damaged_recordings_end_in_a_sentence(tmp_path: Path, packed: bool) -> None:
    """Of unpacked ones without checksums any byte of any message may be another."""
    whole = write_recording(tmp_path / "run.mcap", periods=2, packed=packed).read_bytes()
    random_, path = random.Random(packed), tmp_path / "damaged.mcap"
    counts = {"whole": 0, "refused": 0}
    for _ in range(150):
        path.write_bytes(mutated(whole, random_))
        try:
            done = again(str(path))
            assert done.position >= 0  # never NaN
            counts["whole"] += 1
        except CutjointError as error:
            assert "\n" not in str(error) and len(str(error)) < 600, error
            counts["refused"] += 1
    assert counts["refused"] > 30, counts


def test_a_replay_has_an_end(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr("cutjoint.ros.replay_cli.MOST_STEPS", 7)
    refused(write_recording(tmp_path / "run.mcap"), "too many to be made again")
    assert ABOUT["steps"] == 2 and recording_reader.LARGEST_RECORD <= 100_000_000
