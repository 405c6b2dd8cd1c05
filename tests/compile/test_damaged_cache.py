"""What lies damaged in the cache of compiled code is said and made again; it neither kills nor slows."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from collections.abc import Callable
from itertools import product
from pathlib import Path

import pytest
from bulk import bulk
from cutjoint import Simulation
from cutjoint.model.compile.kernel import find_compiler

RUN = """
from cutjoint import Simulation
s = Simulation("double_pendulum")
s.step(1e-3)
print(repr(s.q.tolist()), s.compiled)
"""


def cut_off(path: Path) -> None:
    with open(path, "r+b") as file:
        file.truncate(path.stat().st_size // 3)


def spoil(path: Path) -> None:
    data = bytearray(path.read_bytes())
    for k in range(0, len(data), 97):
        data[k] ^= 0x55
    path.write_bytes(data)


def empty(path: Path) -> None:
    path.write_bytes(b"")


@pytest.mark.skipif(find_compiler() is None, reason="needs a C compiler")
@pytest.mark.parametrize(
    ("damage", "ending"),
    bulk(
        [*product((cut_off, spoil, empty), ("so", "kernel"))],
        {(cut_off, "so"), (spoil, "kernel")},
    ),
)
def test_a_run_after_damage(damage: Callable[[Path], None], ending: str, tmp_path: Path) -> None:
    """A library that was cut off ended the process with SIGBUS, a spoilt one ran uncompiled for ever."""
    environment = {**os.environ, "CUTJOINT_CACHE": str(tmp_path)}
    words = [sys.executable, "-c", RUN]

    def run() -> subprocess.CompletedProcess[str]:
        return subprocess.run(words, capture_output=True, text=True, env=environment)

    first = run()
    assert first.returncode == 0 and first.stdout.endswith("True\n"), first.stderr
    files = list((tmp_path / "cutjoint").glob(f"*.{ending}"))
    assert files
    for path in files:
        damage(path)
    second, third = run(), run()
    assert second.returncode == 0 and second.stdout == first.stdout, second.stderr
    assert "was damaged; it is made again" in second.stderr
    assert third.stdout == first.stdout and third.stderr == ""


@pytest.mark.skipif(find_compiler() is None, reason="needs a C compiler")
def test_a_file_without_its_checksum_is_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As after a run that was killed between the two, or where others clear caches file by file."""
    monkeypatch.setenv("CUTJOINT_CACHE", str(tmp_path))
    Simulation("double_pendulum").run(0.01)
    for path in (tmp_path / "cutjoint").glob("*.sum"):
        path.unlink()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Simulation("double_pendulum").run(0.01)
    assert list((tmp_path / "cutjoint").glob("*.so.sum"))
