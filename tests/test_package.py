"""What `pip install` gives a user."""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("model", "fmu", "ros", "examples", "benchmarks")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """Names of the files in a wheel built from a copy, so that no old build folder helps or harms."""
    source, target = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("wheel")
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    for folder in FOLDERS:
        shutil.copytree(ROOT / folder, source / folder, ignore=shutil.ignore_patterns("__pycache__"))
    build = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "-q",
        "--no-deps",
        "--no-build-isolation",
        "-w",
        target,
        source,
    ]
    done = subprocess.run(build, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (file,) = target.glob("*.whl")
    with zipfile.ZipFile(file) as archive:
        return set(archive.namelist())


def test_every_source_file_is_installed(wheel: set[str]) -> None:
    sources = {f"cutjoint/{p.relative_to(ROOT)}" for f in FOLDERS for p in (ROOT / f).rglob("*.py")}
    assert sources <= wheel, "name every folder with Python files under [tool.setuptools] packages"


def test_examples_and_type_markers_are_installed(wheel: set[str]) -> None:
    data = {f"cutjoint/{p.relative_to(ROOT)}" for p in (ROOT / "examples").glob("*.yaml")}
    assert "cutjoint/examples/stewart.yaml" in data
    assert data | {f"cutjoint/{f}/py.typed" for f in ("model", "fmu", "ros")} <= wheel


def test_cutjoint_is_a_namespace_of_nothing_but_its_packages(wheel: set[str]) -> None:
    installed = {name for name in wheel if ".dist-info/" not in name}
    assert {name.split("/")[1] for name in installed if name.startswith("cutjoint/")} == set(FOLDERS)
    assert all(name.startswith("cutjoint/") for name in installed)


def test_every_public_name_is_there() -> None:
    import cutjoint.model

    assert all(getattr(cutjoint.model, name).__name__ == name for name in cutjoint.model.__all__)
    with pytest.raises(AttributeError, match="has no attribute 'Simulator'"):
        _ = cutjoint.model.Simulator
