"""What `pip install` gives a user."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("model", "native", "fmu", "realtime", "ros", "papers", "examples", "benchmarks")


@pytest.fixture(scope="module")
def wheel_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel built from a copy, so that no old build folder helps or harms."""
    source, target = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("wheel")
    for name in (
        "pyproject.toml",
        "README.md",
        "LICENSE",
        "__init__.py",
        "__init__.pyi",
        "__main__.py",
        "py.typed",
    ):
        shutil.copy(ROOT / name, source)
    for folder in FOLDERS:
        shutil.copytree(ROOT / folder, source / folder, ignore=shutil.ignore_patterns("__pycache__"))
    pip(["wheel", "-q", "--no-deps", "--no-build-isolation", "-w", target, source])
    (file,) = target.glob("*.whl")
    return file


def pip(words: list[Any]) -> None:
    done = subprocess.run([sys.executable, "-m", "pip", *words], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def wheel(wheel_file: Path) -> set[str]:
    """Names of the files in it."""
    with zipfile.ZipFile(wheel_file) as archive:
        return set(archive.namelist())


@pytest.fixture(scope="module")
def elsewhere(wheel_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder outside the clone into which the wheel is installed."""
    folder = tmp_path_factory.mktemp("elsewhere")
    pip(["install", "-q", "--no-deps", "--no-compile", "--target", folder, wheel_file])
    return folder


def outside(elsewhere: Path, code: str) -> str:
    """What a program prints that finds the installed wheel before the clone."""
    environment = {**os.environ, "PYTHONPATH": str(elsewhere)}
    words = [sys.executable, "-c", code]
    done = subprocess.run(words, capture_output=True, text=True, cwd=elsewhere, env=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_wheel_runs_outside_the_clone(elsewhere: Path) -> None:
    code = """
import cutjoint
s = cutjoint.Simulation("fourbar", compile=False)
s.run(0.01)
print(cutjoint.__file__, cutjoint.__version__, len(cutjoint.linearize(s.engine, s.state).A), s.time)
"""
    file, version, states, time = outside(elsewhere, code).split()
    assert Path(file).is_relative_to(elsewhere) and version[0].isdigit()
    assert (states, time) == ("2", "0.01")


def test_names_are_offered_without_importing_what_is_not_needed(elsewhere: Path) -> None:
    code = """
import sys, cutjoint
assert "numpy" not in sys.modules
cutjoint.Simulation, cutjoint.load
print(sorted({"scipy", "matplotlib", "mujoco", "viser", "rclpy", "fmpy"} & set(sys.modules)))
print("Simulation" in dir(cutjoint), hasattr(cutjoint, "Simulator"))
"""
    assert outside(elsewhere, code).splitlines() == ["[]", "True False"]


def test_types_are_seen_from_outside(elsewhere: Path) -> None:
    """mypy knows what our names are, and finds a mistake in a user's program."""
    (elsewhere / "program.py").write_text(
        "import cutjoint\n"
        "simulation = cutjoint.Simulation('fourbar')\n"
        "energy: float = simulation.energy()\n"
        "reveal_type(simulation.run(1.0))\n"
        "simulation.run(None)\n"
    )
    options = ["--ignore-missing-imports", "--follow-imports=silent", "--cache-dir=/dev/null"]
    options.append("--no-site-packages")  # NumPy's and others' types take seven times as long
    words = [sys.executable, "-m", "mypy", *options, "program.py"]
    environment = {**os.environ, "MYPYPATH": str(elsewhere)}
    done = subprocess.run(words, capture_output=True, text=True, cwd=elsewhere, env=environment)
    assert "Trajectory" in done.stdout and done.stdout.count("program.py") == done.stdout.count("\n") - 1
    assert 'program.py:5: error: Argument 1 to "run"' in done.stdout, done.stdout


def test_every_source_file_is_installed(wheel: set[str]) -> None:
    sources = {f"cutjoint/{p.relative_to(ROOT)}" for f in FOLDERS for p in (ROOT / f).rglob("*.py")}
    assert sources <= wheel, "name every folder with Python files under [tool.setuptools] packages"


def test_examples_and_type_markers_are_installed(wheel: set[str]) -> None:
    data = {f"cutjoint/{p.relative_to(ROOT)}" for p in (ROOT / "examples").glob("*.yaml")}
    assert "cutjoint/examples/stewart.yaml" in data
    assert (
        data | {f"cutjoint/{f}/py.typed" for f in ("model", "native", "fmu", "realtime", "ros", "papers")}
        <= wheel
    )


def test_nothing_but_our_packages_is_installed(wheel: set[str]) -> None:
    installed = {name for name in wheel if ".dist-info/" not in name}
    own = {*FOLDERS, "__init__.py", "__init__.pyi", "__main__.py", "py.typed"}
    assert {name.split("/")[1] for name in installed if name.startswith("cutjoint/")} == own
    assert all(name.startswith("cutjoint/") for name in installed)


def test_a_source_distribution_has_all_that_a_clone_has(tmp_path: Path) -> None:
    """It lacked conftest.py, the manual and the Makefile: no test could be run from it."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
    if listed.returncode:
        pytest.skip("no clone")
    files = [name for name in listed.stdout.splitlines() if (ROOT / name).is_file()]
    for name in files:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    script = "from setuptools.build_meta import build_sdist; build_sdist('out')"
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (archive,) = (tmp_path / "out").iterdir()
    with tarfile.open(archive) as opened:
        there = {name.partition("/")[2] for name in opened.getnames()}
    assert {name for name in files if name not in there and not name.startswith(".")} == set()
    assert {"Makefile", "tests/conftest.py", "docs/getting_started.md", ".ci/run"} <= there


def test_tests_run_in_a_folder_of_any_name(tmp_path: Path) -> None:
    """pytest reads the clone's own `__init__.py` as a plain file if the folder is called `cutjoint-main`."""
    file = tmp_path / "__init__.py"
    file.write_text((ROOT / "__init__.py").read_text())
    spec = importlib.util.spec_from_file_location("__init__", file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert getattr(module, "pytest_plugins", None) is None
    with pytest.raises(AttributeError):
        _ = module.__path__
