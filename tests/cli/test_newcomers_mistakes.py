"""What a newcomer gets wrong, and what gets in the way: one helpful sentence, nothing left behind."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from cutjoint.model.cli import main as command
from cutjoint.native import c_compile
from cutjoint.papers import cli as command_reproduce
from processes import CUTJOINT, PATIENCE, start

Capture = pytest.CaptureFixture[str]
Patch = pytest.MonkeyPatch


def fails(capsys: Capture, *words: str, code: int = command.USAGE) -> str:
    """The one sentence on standard error; nothing on standard output."""
    assert command.main(list(words)) == code
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("cutjoint: ") and captured.err.count("\n") == 1, captured.err
    return captured.err


# Beyond those of test_command_line.py, which has twenty of list, show, assemble and simulate.
MISTAKES = [
    (["linearize", "stewart", "--at", "none.json"], "can't read 'none.json': No such file or directory"),
    (["linearize", "stewart", "--states", "moter1"], "there is no joint 'moter1'; did you mean 'motor1'?"),
    (
        ["linearize", "stewart", "--output", "hight"],
        "--output: there is no output 'hight'; did you mean 'height'?",
    ),
    (  # motors and cylinders that are called like their joints stood there twice
        ["statics", "stewart", "--over", "nonsense=0:1"],
        "no motor, cylinder or joint 'nonsense'; known: motor1, motor2, motor3, hinge1,",
    ),
    (
        ["sweep", "fourbar", "--vary", "body.crank.mass+=normal(0, 0.1)", "-o", "rows"],
        "--vary body.crank.mass: a law follows '~', not '='; write body.crank.mass~+normal(0, 0.1)",
    ),
    (["linearize", "stewart", "--save", "a.txt"], "give it the ending .json or .npz"),
    (["linearize", "stewart", "--plot", "no/a.png"], "there is no folder 'no'; create it first"),
    (["propagate", "stewart"], "say what to change: --set NAME=VALUE or --stretch BODY=METRES"),
    (["propagate", "stewart", "--stretch", "leg9=1"], "there is no body named 'leg9'"),
    (["export", "stuart"], "there is no example or file 'stuart'; did you mean 'stewart'?"),
    (["export", "stewart", "-o", "no/a.fmu"], "there is no folder 'no'; create it first"),
    (["export", "stewart", "-o", "."], "it is a folder; give the name of a file in it"),
    (["export", "stewart", "--fmi", "4"], "--fmi 4: the native runtime offers FMI 2 and 3"),
    (["export", "stewart", "--runtime", "java"], "--runtime: 'java' is not known; known: native, python"),
    (["export", "stewart", "--platform", "linux"], "--platform: 'linux' is not known; known: linux64"),
    (["export", "stewart", "--step", "0"], "--step: the inner step must be positive"),
    (["export", "stewart", "--output", "body.x"], "--output: there is no output 'body.x'"),
    (["view", "stewart", "--time", "long"], "--time: 'long' is not a number"),
    (["view", "stewart", "--torque", "moter1=1"], "did you mean 'motor1'?"),
    (["view", "stuart"], "did you mean 'stewart'?"),
    (["node", "stewart"], "source a ROS 2 installation, or on Linux x86_64 \"pip install '.[ros]'\""),
    (["node", "stewart", "--rate", "fast"], "--rate: 'fast' is not a number"),
    (["node", "--urdf"], "say which mechanism"),
    (["bench", "--only", "dinamics"], "there is no task 'dinamics'; did you mean 'dynamics'?"),
    (["bench", "--mechanism", "arm"], "there is no mechanism to measure 'arm'"),
]


@pytest.mark.parametrize(("words", "sentence"), MISTAKES, ids=[" ".join(words) for words, _ in MISTAKES])
def test_mistakes_get_one_sentence(
    words: list[str], sentence: str, capsys: Capture, tmp_path: Path, monkeypatch: Patch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "rclpy", None)  # no ROS here
    assert sentence in fails(capsys, *words)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"\x89PNG\r\n\x1a\n\x00", "the file is not text in UTF-8"),
        (b"", "the file is empty; it needs at least 'bodies' and 'joints'"),
        (b"bodies: [1, 2\njoints:", "line 2: not YAML"),
        (b'{"a": 1}', "there is no field 'a'; known: name"),
        (b"- just\n- a list\n", "a mapping"),
    ],
)
def test_files_that_are_no_description(
    content: bytes, sentence: str, capsys: Capture, tmp_path: Path
) -> None:
    path = tmp_path / "a.yaml"
    path.write_bytes(content)
    found = fails(capsys, "show", str(path))
    assert sentence in found and "a.yaml" in found


def test_a_file_without_the_right_to_read(capsys: Capture, tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text("bodies: {}")
    path.chmod(0)
    if os.access(path, os.R_OK):  # root: no file is closed to it but a few of the kernel's
        path = Path("/proc/1/mem")
        if not path.exists():
            pytest.skip("root may read everything here")
    assert f"can't read '{path}'" in fails(capsys, "show", str(path))


def test_a_folder_without_the_right_to_write(capsys: Capture, tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    folder = tmp_path if not os.access(tmp_path, os.W_OK) else Path("/proc")  # which even root can't add to
    if not folder.exists():
        pytest.skip("root may write everywhere here")
    for words in (
        ["export", "fourbar", "--runtime", "python", "-o", str(folder / "a.fmu")],
        ["show", "fourbar", "--picture", str(folder / "a.png")],
    ):
        assert command.main(words) == command.USAGE
        err = capsys.readouterr().err
        assert f"can't write '{words[-1]}'" in err and err.count("\n") == 1
    tmp_path.chmod(0o700)


def test_no_room_on_the_disk_leaves_no_part_of_a_file(tmp_path: Path) -> None:
    """A limit on the size of files fails a write in its middle, as a full disk does."""
    jobs = [
        ["simulate", "fourbar", "--time", "0.5", "--no-compile", "--csv", "a.csv"],
        ["export", "fourbar", "-o", "a.fmu", "--runtime", "python"],
    ]
    for words in jobs:
        done = subprocess.run(
            [*CUTJOINT, *words],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (3000, 3000)),
        )
        assert done.returncode == command.USAGE, (words, done.stderr)
        assert done.stderr.count("\n") == 1 and "can't write '" in done.stderr, done.stderr
        assert os.listdir(tmp_path) == [], words


def test_no_compiler_for_an_fmu_says_what_to_do(capsys: Capture, tmp_path: Path, monkeypatch: Patch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(c_compile, "find_compiler", lambda: None)
    monkeypatch.setitem(sys.modules, "ziglang", None)
    found = fails(capsys, "export", "fourbar")
    assert "no C compiler found; install gcc or clang" in found and "--runtime python" in found
    assert os.listdir(tmp_path) == []


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_ctrl_c_while_an_fmu_is_made_leaves_nothing(tmp_path: Path) -> None:
    target, scratch = tmp_path / "out", tmp_path / "scratch"
    for folder in (target, scratch):
        folder.mkdir()
    environment = {**os.environ, "TMPDIR": str(scratch), "CUTJOINT_CACHE": str(tmp_path / "cache")}
    words = [*CUTJOINT, "export", "stewart", "-o", str(target / "a.fmu")]
    with start(
        words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment, start_new_session=True
    ) as process:
        end = time.monotonic() + PATIENCE
        while not list(scratch.glob("cutjoint-fmu-*/*.c")) and time.monotonic() < end:
            time.sleep(0.02)  # until it compiles
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does: the compiler gets it too
        _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130, err
    assert err.splitlines()[1:] == [b"cutjoint: stopped"], err  # the first says what was being made
    assert os.listdir(target) == [] and os.listdir(scratch) == []


def test_one_report_for_all_papers_counts_what_reproduces() -> None:
    text = command_reproduce.summary(
        {"a": [{"reproduces": True}, {"reproduces": False}], "b": [{"reproduces": True}]}
    )
    assert "1 of 2" in text and "2 of 3" in text


def test_a_moment_too_short_to_verify_anything_gets_a_sentence(capsys: Capture) -> None:
    """It ended in a division by zero."""
    assert "a motion to be verified must last, not" in fails(
        capsys, "verify", "fourbar", "--time", "1e-320", code=4
    )


def test_a_rate_that_no_node_keeps_gets_a_sentence(capsys: Capture) -> None:
    """rclpy looked at the range first, and raised an exception of its own."""
    pytest.importorskip("rclpy")
    assert "rate must be from 1 to 10000, not 0" in fails(capsys, "node", "fourbar", "--rate", "0")


@pytest.mark.parametrize(
    ("words", "where"),
    [
        (["reproduce", "zou-slider-crank", "--figures", "made"], "cutjoint.model.show.plot.as_png"),
        (["export", "fourbar", "-o", "made"], "cutjoint.fmu.cli.measure_step"),
    ],
)
def test_what_is_stopped_late_leaves_nothing(
    words: list[str], where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Folders without figures and files beside exit code 130 were left."""

    def stopped(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(where, stopped)
    assert command.main(words) == 130
    assert not list(tmp_path.iterdir())
