"""`.ci/run` tries what failed once more, alone: it passes what was unsteady, and never what fails twice."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CONFTEST = 'pytest_plugins = ["report"]\n'
STEADY = "def test_steady(): pass\n"
BROKEN = "def test_broken(): assert 1 == 2\n"
UNSTEADY = """
import pathlib
import pytest
@pytest.mark.parametrize("case", ["a b", "[x::y]"])
def test_unsteady(case):
    seen = pathlib.Path(f"{__file__}{len(case)}")
    if not seen.exists():
        seen.touch()
        print("what it printed")
        assert False, "only the first time"
"""
SET_UP = """
import pytest
@pytest.fixture
def broken(): raise OSError("in a fixture")
def test_set_up(broken): pass
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A clone that has nothing but what tries again."""
    for name in (".ci/again.py", "tests/support/report.py"):
        target = tmp_path / name
        target.parent.mkdir(parents=True)
        shutil.copy(ROOT / name, target)
    (tmp_path / "tests/conftest.py").write_text(CONFTEST)
    (tmp_path / "pyproject.toml").write_text("[tool.pytest.ini_options]\npythonpath = ['tests/support']\n")
    (tmp_path / "tests/house").mkdir()
    return tmp_path


def run(project: Path, *words: str) -> tuple[int, str]:
    done = subprocess.run([sys.executable, *words], cwd=project, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def tried(project: Path, workers: int = 0, **files: str) -> tuple[int, str, int, str]:
    for name, text in files.items():
        (project / f"tests/house/test_{name}.py").write_text(text)
    first = run(project, "-m", "pytest", "-q", "-n", str(workers), "--remember-failures", "tests")
    return *first, *run(project, ".ci/again.py")


def test_what_passes_alone_is_listed_with_its_first_failure(project: Path) -> None:
    first, said, again, told = tried(project, workers=2, steady=STEADY, unsteady=UNSTEADY)
    assert first == 1 and said.rstrip().endswith("1 passed, 2 failed, 0 skipped")
    assert again == 0 and told.rstrip().endswith("2 passed, 0 failed")
    _, _, unsteady = told.partition("== unsteady: 2")
    assert "[a b] failed at first" in unsteady and "[[x::y]] failed at first" in unsteady
    assert unsteady.count("only the first time") >= 2 and unsteady.count("what it printed") >= 2


@pytest.mark.parametrize("text", [BROKEN, SET_UP], ids=["call", "set-up"])
def test_what_fails_twice_fails_the_run(project: Path, text: str) -> None:
    first, _, again, told = tried(project, steady=STEADY, unsteady=UNSTEADY, twice=text)
    assert first == 1 and again == 1
    assert "== failed twice: 1\ntests/house/test_twice.py::test_" in told


def test_what_is_skipped_the_second_time_has_not_passed(project: Path) -> None:
    """Else a test that needs a browser passes where the browser broke at the first try."""
    absent = UNSTEADY.replace(
        "    if not", "    if seen.exists(): pytest.skip('no browser any more')\n    if not"
    )
    first, _, again, told = tried(project, steady=STEADY, absent=absent)
    assert first == 1 and again == 1 and told.rstrip().endswith("0 passed, 2 failed"), told


def test_a_run_that_did_not_end_is_not_made_up_for(project: Path) -> None:
    """Files that can't be collected hide tests, which nobody would try."""
    tried(project, unsteady=UNSTEADY)
    first, _, again, told = tried(project, steady=STEADY, unreadable="import nothing_of_that_name\n")
    assert first and again == 1 and "no list of failed tests" in told


def test_many_failures_are_no_unsteadiness(project: Path) -> None:
    many = "import pytest\n@pytest.mark.parametrize('k', range(99))\ndef test_many(k): assert False\n"
    first, _, again, told = tried(project, many=many)
    assert first == 1 and again == 1 and "99 tests failed" in told


def test_a_worker_that_dies_takes_one_test_along(project: Path) -> None:
    dying = UNSTEADY.replace('assert False, "only the first time"', "import os; os._exit(9)")
    first, _, again, told = tried(project, workers=2, steady=STEADY, dying=dying)
    assert first == 1 and again == 0, told
