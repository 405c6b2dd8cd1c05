"""Style and types, checked like everything else."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ["model", "fmu", "ros", "examples", "benchmarks"]


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


# Names that several files define on purpose, because they are asked for under that name.
SHARED = {
    "add_arguments": "every command's options",
    "run": "every command, and the node",
    "main": "every program",
    "page": "every command's report",
    "study": "every paper's study",
    "description": "an FMU's description, in FMI 2 and in FMI 3",
    "conjugate": "of Euler parameters, as symbols and as numbers",
    "rotation": "of Euler parameters, as symbols and as numbers",
    "table": "of text, and as a user's motion law",
}


def test_no_name_means_two_things() -> None:
    """No function or class of one file has the name of one in another."""
    homes: dict[str, list[str]] = {}
    for path in SOURCES:
        if path.parts[0] in ("model", "fmu", "ros"):
            for node in ast.parse((ROOT / path).read_text(encoding="utf-8")).body:
                if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_"):
                    homes.setdefault(node.name, []).append(path.as_posix())
    twice = {name: where for name, where in homes.items() if len(where) > 1}
    assert {name: where for name, where in twice.items() if name not in SHARED} == {}
    assert set(SHARED) <= set(twice), "these are defined once now: take them off the list"
