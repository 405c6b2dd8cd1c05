"""Style and types, checked like everything else."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ["model", "native", "fmu", "realtime", "ros", "papers", "examples", "benchmarks"]


def run(*command: str, cwd: Path = ROOT) -> None:
    done = subprocess.run([sys.executable, "-m", *command], cwd=cwd, capture_output=True, text=True)
    assert done.returncode == 0, f"\n{done.stdout}{done.stderr}"


def test_ruff_finds_nothing() -> None:
    run("ruff", "check", ".")


def test_files_are_formatted() -> None:
    run("ruff", "format", "--check", ".")


def test_types(tmp_path: Path) -> None:
    # The folders are packages of `cutjoint` only once installed; a link of that name shows
    # mypy the same tree, whatever the clone is called.
    (tmp_path / "cutjoint").symlink_to(ROOT, target_is_directory=True)
    packages = [word for folder in FOLDERS for word in ("-p", f"cutjoint.{folder}")]
    options = ["--config-file", str(ROOT / "pyproject.toml"), "--cache-dir", str(ROOT / ".mypy_cache")]
    run("mypy", *options, *packages, cwd=tmp_path)


SOURCES = sorted(p.relative_to(ROOT) for folder in FOLDERS for p in (ROOT / folder).rglob("*.py"))


@pytest.mark.parametrize("path", SOURCES, ids=str)
def test_files_stay_readable(path: Path) -> None:
    lines = (ROOT / path).read_text(encoding="utf-8").splitlines()
    assert len(lines) <= 400, "split this file: one concern each"
    assert lines and lines[0].startswith('"""'), "a file starts by saying what it is for"
