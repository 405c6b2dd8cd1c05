"""Containers, full disks, no home, no compiler: commands work, or say one sentence."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
import warnings
from pathlib import Path

import pytest
from bulk import bulk
from cutjoint import CutjointError, Simulation
from cutjoint.examples import demo
from cutjoint.model.compile import kernel, storage
from cutjoint.native import c_compile
from poor_machines import ROOT, USER, needs_a_place, needs_mounts, needs_users
from processes import CUTJOINT, PATIENCE, start

RUN = ["simulate", "fourbar", "--time", "0.01", "--json"]
ONLY = "compiled code is kept for this run only: "
# A read-only root with a small /tmp, as containers have it: $1 its size, $2 a folder to put it together in.
READ_ONLY = """
set -e
mount --rbind / "$2"; mount -o remount,ro,bind "$2"
mount -t tmpfs -o "size=$1,mode=1777" tmpfs "$2/tmp"
root=$2; shift 2
exec chroot "$root" sh -c 'cd /tmp && exec "$@"' sh "$@"
"""
TINY = 'mount -t tmpfs -o size=40k tmpfs "$1" && shift && exec "$@"'
needs_compiler = pytest.mark.skipif(kernel.find_compiler() is None, reason="needs a C compiler")
Done = subprocess.CompletedProcess[str]


def run(*words: object, **env: str | None) -> Done:
    """A command to its end, in this environment but for what is given; None takes a variable away."""
    environment = {k: v for k, v in {**os.environ, **env}.items() if v is not None}
    return subprocess.run([str(w) for w in words], capture_output=True, text=True, env=environment)


def works(done: Done, *said: str, compiled: bool = True) -> None:
    """It did what it should, and said these sentences, one a line, and nothing else."""
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["compiled"] is compiled
    lines = done.stderr.splitlines()
    assert len(lines) == len(said) and all(s in line for s, line in zip(said, lines, strict=True)), lines


# -- folders that are not safe -------------------------------------------------------------


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="owners and modes of POSIX")
@pytest.mark.parametrize(
    ("mode", "safe"), [(0o777, False), (0o1777, True), (0o775, False), (0o755, True), (0o700, True)], ids=oct
)
def test_what_others_can_replace_is_not_trusted(mode: int, safe: bool, tmp_path: Path) -> None:
    """Whoever can write to a folder can put another one in the place of what lies in it."""
    above = tmp_path / "above"
    folder = above / "between" / "cutjoint"
    folder.mkdir(parents=True, mode=0o700)
    above.chmod(mode)
    os.chown(above, -1, os.getuid() + 1 if os.getuid() == 0 else -1)  # no group of the user's own
    if safe:
        storage.check_trust(folder)
    else:
        with pytest.raises(CutjointError, match=f"others can write to '{above}'"):
            storage.check_trust(folder)


@pytest.mark.compiler
@needs_compiler
def test_code_from_a_folder_that_others_can_replace_is_never_loaded(tmp_path: Path) -> None:
    tmp_path.chmod(0o777)
    (tmp_path / "mine").mkdir(mode=0o700)
    works(
        run(*CUTJOINT, *RUN, CUTJOINT_CACHE=str(tmp_path / "mine")), f"{ONLY}others can write to '{tmp_path}'"
    )
    assert list((tmp_path / "mine").rglob("*.so")) == []


# -- no home -------------------------------------------------------------------------------


@needs_users
@pytest.mark.compiler
@needs_compiler
@pytest.mark.parametrize("home", bulk([None, "locked", "locked/missing", "a file"], [None, "locked/missing"]))
def test_no_home_is_no_obstacle(home: str | None, tmp_path: Path) -> None:
    """Of a user whom nobody knows; all of it ended in an unexpected error, or named no way out."""
    (tmp_path / "locked").mkdir(mode=0o500)
    (tmp_path / "a file").touch()
    given = {"HOME": home and str(tmp_path / home), "XDG_CACHE_HOME": None, "CUTJOINT_CACHE": None}
    done = run(*USER, *CUTJOINT, *RUN, **given, TMPDIR=str(tmp_path))
    works(done, ONLY)
    assert "set CUTJOINT_CACHE" in done.stderr
    assert sorted(os.listdir(tmp_path)) == ["a file", "locked"]  # the temporary cache went with the run
    if home:
        return
    target = tmp_path / "f.fmu"
    done = run(*USER, *CUTJOINT, "export", "fourbar", "-o", target, **given, TMPDIR=str(tmp_path))
    assert done.returncode == 0 and target.exists() and done.stderr.count(ONLY) == 1, done.stderr


@pytest.mark.cross
@needs_users
@pytest.mark.skipif(importlib.util.find_spec("ziglang") is None, reason="needs zig")
def test_zig_needs_no_home(tmp_path: Path) -> None:
    (tmp_path / "a.c").write_text("int a;")
    script = "from cutjoint.native import c_compile as c; c._run([*c._zig(c.here()), '-c', 'a.c'], '.')"
    given = {"HOME": None, "XDG_CACHE_HOME": None, "ZIG_GLOBAL_CACHE_DIR": None, "CUTJOINT_CACHE": None}
    done = run(*USER, "env", "-C", tmp_path, sys.executable, "-c", script, **given)
    assert done.returncode == 0 and (tmp_path / "a.o").exists(), done.stderr


@needs_a_place
@needs_mounts
@pytest.mark.compiler
@needs_compiler
def test_a_read_only_root_with_a_small_tmp(tmp_path: Path) -> None:
    def inside(size: str, *words: str) -> Done:
        return run(
            *ROOT, READ_ONLY, "sh", size, tmp_path, *words, CUTJOINT_CACHE=None, XDG_CACHE_HOME="/none"
        )

    works(inside("30m", *CUTJOINT, *RUN), ONLY)
    words = f"{sys.executable} -m cutjoint export fourbar -o f.fmu && test -s f.fmu"
    assert inside("30m", "sh", "-c", words).returncode == 0
    # too small for a compiler's files: said in a sentence, and slower
    works(inside("16k", *CUTJOINT, *RUN), ONLY, "running in the slower virtual machine", compiled=False)
    done = inside("16k", *CUTJOINT, "export", "fourbar", "-o", "f.fmu")
    assert done.returncode == 2 and "No space left" in done.stderr.splitlines()[-1], done.stderr


@pytest.mark.ros
@needs_a_place
@needs_mounts
def test_a_node_where_ros_can_write_no_logs(tmp_path: Path) -> None:
    """rclpy refused to start: a read-only home, as in containers."""
    pytest.importorskip("rclpy", reason="needs ROS 2")
    words = [*ROOT, READ_ONLY, "sh", "30m", str(tmp_path), *CUTJOINT, "node", "fourbar", "--no-compile"]
    environment = {**os.environ, "HOME": "/none", "ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST"}
    environment |= {"ROS_DOMAIN_ID": "83"}
    environment.pop("ROS_LOG_DIR", None)
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stderr is not None
        said = ""
        for line in process.stderr:
            said += line
            if "fourbar: real_time at" in line:
                break
        process.send_signal(signal.SIGINT)
        said += process.communicate(timeout=PATIENCE)[1]
    assert process.returncode == 0, said
    assert "ROS's log files are kept for this run only: " in said


def test_ros_is_told_where_home_is_without_a_variable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With HOME unset rclpy refused to start, although the user has a home."""
    start_node = pytest.importorskip("cutjoint.ros.start_node", reason="needs ROS 2", exc_type=ImportError)
    for name in ("HOME", "ROS_HOME", "ROS_LOG_DIR"):
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    with start_node.log_folder():
        assert os.environ["ROS_LOG_DIR"] == str(tmp_path / ".ros/log")
    assert (tmp_path / ".ros/log").is_dir()


# -- caches that fail ----------------------------------------------------------------------


@needs_mounts
@pytest.mark.compiler
@needs_compiler
def test_a_full_cache_is_no_reason_to_fail(tmp_path: Path) -> None:
    done = run(*ROOT, TINY, "sh", tmp_path, *CUTJOINT, *RUN, CUTJOINT_CACHE=str(tmp_path))
    works(done, f"{ONLY}can't write '{tmp_path}")


@pytest.mark.compiler
@needs_compiler
def test_a_cache_that_vanishes_is_no_reason_to_fail(tmp_path: Path) -> None:
    over = threading.Event()

    def clear() -> None:
        while not over.wait(0.002):
            shutil.rmtree(tmp_path / "cache", ignore_errors=True)

    thread = threading.Thread(target=clear)
    thread.start()
    try:
        for _ in range(3):
            done = run(*CUTJOINT, *RUN, CUTJOINT_CACHE=str(tmp_path / "cache"))
            assert done.returncode == 0, done.stderr
            assert all(line.startswith("cutjoint: ") for line in done.stderr.splitlines()), done.stderr
    finally:
        over.set()
        thread.join()


@needs_users
@pytest.mark.compiler
@needs_compiler
def test_nowhere_to_write_at_all(tmp_path: Path) -> None:
    (tmp_path / "locked").mkdir(mode=0o500)
    nowhere = (
        "import tempfile, sys; only = sys.argv.pop(1); tempfile._candidate_tempdir_list = lambda: [only]; "
    )
    nowhere += "from cutjoint.__main__ import main; sys.exit(main())"
    locked = str(tmp_path / "locked")
    done = run(*USER, sys.executable, "-c", nowhere, locked, *RUN, CUTJOINT_CACHE=locked)
    works(done, "there is no folder for compiled code", compiled=False)


def test_a_process_and_those_it_starts_share_the_temporary_cache_and_say_it_once(tmp_path: Path) -> None:
    script = (
        "import subprocess, sys; from cutjoint import Simulation; Simulation('fourbar').run(0.01);"
        f"sys.exit(subprocess.call([sys.executable, '-m', 'cutjoint', *{RUN!r}], stdout=subprocess.DEVNULL))"
    )
    (tmp_path / "no folder").touch()
    done = run(sys.executable, "-c", script, CUTJOINT_CACHE=str(tmp_path / "no folder"), TMPDIR=str(tmp_path))
    assert done.returncode == 0 and done.stderr.count(ONLY) == 1, done.stderr
    assert os.listdir(tmp_path) == ["no folder"]


# -- compilers -----------------------------------------------------------------------------


@pytest.mark.compiler
@needs_compiler
def test_a_compiler_with_options_is_that_compiler(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """CC="gcc -O3" was passed over in silence."""
    command = kernel.find_compiler()
    assert command is not None
    used = tmp_path / "used"
    wrapper = tmp_path / "my compiler"
    wrapper.write_text(f'#!/bin/sh\necho "$@" >>"{used}"\nexec {command[0]} "$@"\n')
    wrapper.chmod(0o700)
    monkeypatch.setenv("CUTJOINT_CACHE", str(tmp_path))
    monkeypatch.setenv("CC", f"'{wrapper}' -DTHIS=1")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        simulation = Simulation("fourbar")
        simulation.run(0.01)
        assert simulation.compiled
        assert c_compile.compilers(c_compile.here()) == [str(wrapper), "-DTHIS=1"]
        monkeypatch.setenv("CC", str(wrapper))  # a name with a space is a name
        assert kernel.find_compiler() == (str(wrapper),)
    assert "-DTHIS=1 -O1" in used.read_text()


@pytest.mark.compiler
@needs_compiler
@pytest.mark.parametrize("name", ["no-such-compiler", "no-such-compiler -O3", "'unfinished"])
def test_a_compiler_that_is_not_there_is_said(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", name)
    with pytest.warns(UserWarning, match=f"CC: the compiler '{name}' is not there; '.*' is taken instead"):
        assert kernel.find_compiler() is not None
    monkeypatch.setenv("PATH", "")
    with pytest.warns(UserWarning, match="is not there; nor is cc, gcc or clang"):
        assert kernel.find_compiler() is None


@pytest.mark.cross
@pytest.mark.study  # zig builds a C library first
def test_without_a_compiler_the_demo_exports_native_code_by_zig(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("ziglang", reason="ziglang, of the extra 'cross', is not installed")
    for module in (kernel, demo, c_compile):
        monkeypatch.setattr(module, "find_compiler", lambda: None)
    monkeypatch.setattr(demo, "SECONDS", 0.01)
    made = demo.Demo(tmp_path)
    made.simulate()
    chapter = made.fmu()
    assert "--runtime" not in chapter.command and "slower" not in chapter.note
    assert float(dict(chapter.rows)["differs from Python by"].split()[0]) < 1e-9


# -- closed streams ------------------------------------------------------------------------


CLOSED = ["2>&-", "<&- >&- 2>&-", ">&-", ">&- 2>&-"]


@pytest.mark.skipif(os.name == "nt", reason="a shell of POSIX")
@pytest.mark.parametrize("closed", bulk(CLOSED, 2))
def test_closed_streams(closed: str, tmp_path: Path) -> None:
    """Their numbers went to the next files that were opened; what was printed to them, elsewhere."""
    table = tmp_path / "a.csv"
    words = f'"{sys.executable}" -m cutjoint simulate fourbar --time 0.01 --progress --csv "{table}" {closed}'
    done = run("sh", "-c", words)
    assert done.returncode == 0
    assert "cutjoint" not in done.stdout and table.read_text().startswith('"time"')
    done = run("sh", "-c", f'"{sys.executable}" -m cutjoint simulate nothing {closed}')
    assert (done.returncode, done.stdout) == (2, "")


@pytest.mark.skipif(os.name == "nt", reason="a shell of POSIX")
def test_interrupted_with_closed_streams(tmp_path: Path) -> None:
    words = f'exec "{sys.executable}" -m cutjoint simulate stewart --time 9000 --csv "{tmp_path}/a.csv" 2>&-'
    with start(["sh", "-c", words], stdout=subprocess.DEVNULL) as process:
        time.sleep(2.0)
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) == 130
    assert os.listdir(tmp_path) == []
