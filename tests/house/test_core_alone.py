"""The core stands alone: with every annex's folder taken off it imports, computes and passes its tests."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from core_tree import core_tree
from cutjoint.model.base import annexes

# What holds the whole house, the manual, and annexes has its tests elsewhere.
NOT_CORE = ("tests/docs", "tests/house", "tests/studies")
IMPORT_ALL = """
import importlib, pkgutil, sys, cutjoint
wanted = [m.name for m in pkgutil.walk_packages(cutjoint.__path__, "cutjoint.") if not m.name.startswith(
    ("cutjoint.tests", "cutjoint.docs", "cutjoint.examples", "cutjoint.ros", "cutjoint.launch"))]
for name in wanted:
    importlib.import_module(name)
print(len(wanted))
"""


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return core_tree(tmp_path_factory.mktemp("core"))


def python(tree: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run Python where `cutjoint` is the tree."""
    environment = {**os.environ, "PYTHONPATH": str(tree.parent)}
    done = subprocess.run([sys.executable, *words], cwd=tree, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, f"{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    return done


def test_no_annex_is_there(tree: Path) -> None:
    assert len(annexes.find_annexes()) >= 10
    assert not list(tree.rglob("annex.py"))
    assert not any(tree.joinpath(*annex.folder.split(".")).exists() for annex in annexes.find_annexes())


def test_every_module_of_the_core_imports(tree: Path) -> None:
    assert int(python(tree, "-c", IMPORT_ALL).stdout) > 100


def test_the_core_offers_its_commands_and_no_others(tree: Path) -> None:
    help_ = python(tree, "-m", "cutjoint", "--help").stdout
    assert "  simulate " in help_ and "  export " in help_ and "  node " in help_
    assert not any(f"  {name} " in help_ for name in annexes.commands())
    assert "--animate" not in python(tree, "-m", "cutjoint", "simulate", "--help").stdout


def test_the_core_simulates_linearizes_and_exports(tree: Path, tmp_path: Path) -> None:
    for words in (
        ("simulate", "fourbar", "--time", "0.05", "--csv", str(tmp_path / "motion.csv")),
        ("linearize", "fourbar"),
        ("show", "fourbar"),
        ("export", "fourbar", "-o", str(tmp_path / "fourbar.fmu")),
        ("node", "fourbar", "--urdf"),
    ):
        python(tree, "-m", "cutjoint", *words)
    assert (tmp_path / "fourbar.fmu").stat().st_size > 10_000


@pytest.mark.study
def test_the_tests_of_the_core_pass(tree: Path) -> None:
    ignored = [f"--ignore={folder}" for folder in NOT_CORE]
    words = ["-m", "pytest", "-q", "-n", "2", "-m", "not study and not whole", *ignored]
    done = python(tree, *words)
    print(done.stdout.splitlines()[-1])
