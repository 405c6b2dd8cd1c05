"""What `make` runs keeps to the clone, and leaves nothing out."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "Makefile").read_text(encoding="utf-8")
XDG = ("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME")


@pytest.mark.compiler
@pytest.mark.skipif(shutil.which("make") is None, reason="needs make")
def test_caches_stay_in_the_clone(tmp_path: Path) -> None:
    """Compiled code and fonts were kept in the user's cache, 200 MB after all tests."""
    home = tmp_path / "home"
    home.mkdir()
    environment = {**os.environ, "HOME": str(home), **dict.fromkeys(XDG, str(home))}
    environment.pop("CUTJOINT_CACHE", None)
    target = tmp_path / "plot.png"
    rule = f"include Makefile\ntry:\n\t@$(RUN) -m cutjoint simulate fourbar --time 0.01 --plot {target}\n"
    words = ["make", "-s", "-f", "-", "try", f"BIN={Path(sys.executable).parent}"]
    done = subprocess.run(words, cwd=ROOT, env=environment, input=rule, capture_output=True, text=True)
    assert done.returncode == 0 and target.exists(), done.stdout + done.stderr
    assert list(home.iterdir()) == []
    assert any((ROOT / "build" / "home" / ".cache" / "cutjoint").iterdir())


@pytest.mark.skipif(shutil.which("make") is None, reason="needs make")
def test_programs_that_tests_start_find_bytecode() -> None:
    """Where the variable was set, each of them compiled all that it imports anew."""
    rule = "include Makefile\ntry:\n\t@$(RUN) -c 'import sys; print(sys.dont_write_bytecode)'\n"
    words = ["make", "-s", "-f", "-", "try", f"BIN={Path(sys.executable).parent}"]
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(words, cwd=ROOT, env=environment, input=rule, capture_output=True, text=True)
    assert done.stdout == "False\n", done.stdout + done.stderr


def test_only_pip_runs_outside() -> None:
    """Every recipe goes through `RUN`, but those that install."""
    recipes = [line for line in TEXT.splitlines() if line.startswith("\t")]
    plain = [line for line in recipes if "$(BIN)/" in line and "-m pip " not in line]
    assert plain == [] and sum("$(RUN)" in line for line in recipes) >= 9


@pytest.mark.skipif(shutil.which("make") is None, reason="needs make")
@pytest.mark.parametrize("target", re.findall(r"^\.PHONY: (.*)$", TEXT, re.M)[0].split())
def test_every_variable_of_a_recipe_is_defined(target: str) -> None:
    """`make casadi` ran on one processor: $(TWO) had become $(THREE)."""
    words = ["make", "-n", "-B", "--warn-undefined-variables", target]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True)
    said = [line for line in done.stderr.splitlines() if "MAKE" not in line]
    assert done.returncode == 0 and said == [], said


def test_quick_has_the_rooms_of_the_engine() -> None:
    (rooms,) = re.findall(r"^ENGINE := \$\(addprefix tests/,(.*)\)$", TEXT, re.M)
    assert {"joints", "equations", "manifold", "linear"} <= set(rooms.split())
    assert all((ROOT / "tests" / room).is_dir() for room in rooms.split())
