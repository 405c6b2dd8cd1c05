"""Killed in the middle, out of descriptors, memory or disk, after clocks jumped: a sentence, or it works."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from bulk import bulk
from cutjoint.model.compile.kernel import find_compiler
from processes import CUTJOINT, PATIENCE, start

pytestmark = [
    pytest.mark.compiler,
    pytest.mark.skipif(sys.platform != "linux", reason="limits and processes of Linux"),
    pytest.mark.skipif(find_compiler() is None, reason="needs a C compiler"),
]
RUN = ["simulate", "fourbar", "--time", "0.01", "--json"]
Done = subprocess.CompletedProcess[str]


def run(folder: Path, *words: str, limit: tuple[int, int] | None = None) -> Done:
    """A command in a folder with a cache of its own, under a limit of the system."""

    def before() -> None:
        if limit:
            resource.setrlimit(limit[0], (limit[1], limit[1]))

    environment = {**os.environ, "CUTJOINT_CACHE": str(folder / "cache"), "TMPDIR": str(folder)}
    environment.pop("OPENBLAS_NUM_THREADS", None)  # as on a user's machine, where memory counts
    how = {"capture_output": True, "text": True, "cwd": folder, "env": environment}
    return subprocess.run([*CUTJOINT, *words], preexec_fn=before, **how)  # type: ignore[call-overload, no-any-return]


def one_sentence(done: Done) -> bool:
    lines = done.stderr.splitlines()
    return len(lines) <= 1 and all(x.startswith("cutjoint: ") and "unexpected" not in x for x in lines)


def kill_while_compiling(folder: Path, *words: str) -> None:
    """SIGKILL, compilers and all, once the C is there."""
    environment = {**os.environ, "CUTJOINT_CACHE": str(folder / "cache"), "TMPDIR": str(folder)}
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "start_new_session": True}
    with start([*CUTJOINT, *words], cwd=folder, env=environment, **quiet) as process:
        end = time.monotonic() + PATIENCE
        while not list(folder.glob("cutjoint-*/*.c")):
            assert process.poll() is None and time.monotonic() < end
            time.sleep(0.005)
        os.kill(process.pid, signal.SIGKILL)


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, bytes]:
    """What a simulation and an export give that nothing happens to."""
    folder = tmp_path_factory.mktemp("plain")
    assert run(folder, "export", "fourbar", "-o", "f.fmu").returncode == 0
    done = run(folder, *RUN[:-1], "--csv", "a.csv")
    assert done.returncode == 0, done.stderr
    return (folder / "a.csv").read_text(), (folder / "f.fmu").read_bytes()


def test_killed_while_a_kernel_is_compiled(plain: tuple[str, bytes], tmp_path: Path) -> None:
    kill_while_compiling(tmp_path, *RUN)
    done = run(tmp_path, *RUN[:-1], "--csv", "a.csv")
    assert (done.returncode, done.stderr) == (0, "") and (tmp_path / "a.csv").read_text() == plain[0]
    assert not list((tmp_path / "cache").rglob(".*"))


def test_killed_while_an_fmu_is_made(plain: tuple[str, bytes], tmp_path: Path) -> None:
    kill_while_compiling(tmp_path, "export", "fourbar", "-o", "f.fmu")
    assert not (tmp_path / "f.fmu").exists()
    assert run(tmp_path, "export", "fourbar", "-o", "f.fmu").returncode == 0
    assert (tmp_path / "f.fmu").read_bytes() == plain[1]


@pytest.mark.parametrize("count", bulk([6, 9, 12, 16, 24], [6, 12, 24]))
def test_few_file_descriptors(count: int, tmp_path: Path) -> None:
    done = run(tmp_path, *RUN, limit=(resource.RLIMIT_NOFILE, count))
    assert done.returncode in (0, 2) and one_sentence(done), done.stderr
    assert done.returncode == 0 or "Too many open files" in done.stderr


@pytest.mark.parametrize("megabytes", [150, 450])
def test_little_memory(megabytes: int, tmp_path: Path) -> None:
    done = run(tmp_path, *RUN, limit=(resource.RLIMIT_AS, megabytes << 20))
    assert done.returncode in (0, 1) and one_sentence(done), done.stderr
    assert done.returncode == 0 or "not enough memory" in done.stderr


@pytest.mark.parametrize("kilobytes", bulk([1, 8, 40], [8]))
def test_a_full_disk_in_every_command_that_writes(kilobytes: int, tmp_path: Path) -> None:
    """Files may not grow beyond this: the cache, a compiler's objects, tables, a sweep's parts."""
    limit = (resource.RLIMIT_FSIZE, kilobytes << 10)
    sweep = ["sweep", "fourbar", "--vary", "body.coupler.mass=1:3:0.5", "--time", "0.01", "-o", "sweep"]
    for words in (RUN, ["export", "fourbar", "-o", "f.fmu"], sweep):
        done = run(tmp_path, *words, limit=limit)
        assert done.returncode in (0, 2), (words, done.stderr)
        assert "Traceback" not in done.stderr and "unexpected" not in done.stderr, (words, done.stderr)
    left = [path.name for path in tmp_path.iterdir() if path.name not in ("cache", "sweep", "f.fmu")]
    assert left == []


@pytest.mark.parametrize("moment", bulk([0, 4_000_000_000], 1), ids=["1970", "2096"])
def test_a_clock_that_jumped(moment: int, tmp_path: Path) -> None:
    """Files of the cache are of another time, as after a battery died: found, and not compiled again."""
    assert run(tmp_path, *RUN).returncode == 0
    libraries = {path: path.stat().st_ino for path in (tmp_path / "cache").rglob("*.so")}
    for path in (tmp_path / "cache").rglob("*"):
        os.utime(path, (moment, moment))
    done = run(tmp_path, *RUN)
    assert (done.returncode, done.stderr) == (0, "") and json.loads(done.stdout)["compiled"]
    assert {path: path.stat().st_ino for path in (tmp_path / "cache").rglob("*.so")} == libraries
