"""Settings all tests share, and what rooms of them need."""

from __future__ import annotations

import gc
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from cutjoint.model import engine
from made_once import SHARED

pytest_plugins = ["report"]
TESTS = Path(__file__).resolve().parent
ROOT = TESTS.parent
# Folders of annexes that are imported as names of a package.
TAKEN_OFF = ("robots", "batch", "design", "view", "verify", "cartesian", "web", "ssp", "control")
TAKEN_OFF += ("realtime", "papers", "benchmarks")
IMPORTED = re.compile(r"^\s*(?:from|import) ([\w.]+)(?: import (\w+))?", re.MULTILINE)

# Tests draw without a display and never ask for one.
os.environ["MPLBACKEND"] = "Agg"
# A whole number in a field of doubles becomes garbage, but where this is set, and always on Humble, an error.
os.environ["ROS_PYTHON_CHECK_FIELDS"] = "1"
# A traceback hidden from users is what we want to see when a test fails unexpectedly; tests
# of the command line's own messages must not inherit the switch.
os.environ.pop("CUTJOINT_DEBUG", None)

# What all tests of a room need, and those of a module that has a class of this helper; single ones say so.
ROOMS = {"compile": "compiler", "fmu": "compiler", "realtime": "compiler"}
HELPERS = {"ros_client": "ros"}


def pytest_configure(config: pytest.Config) -> None:
    """Workers inherit the name of the folder of what they share."""
    if not hasattr(config, "workerinput"):
        os.environ[SHARED] = tempfile.mkdtemp(prefix="cutjoint-tests-")


def pytest_unconfigure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):
        shutil.rmtree(os.environ.pop(SHARED), ignore_errors=True)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        needs = {ROOMS.get(item.path.parent.name)}
        classes = (x for x in vars(getattr(item, "module", None)).values() if isinstance(x, type))
        for need in needs | {HELPERS.get(x.__module__) for x in classes}:
            if need:
                item.add_marker(need)


def pytest_collection_finish() -> None:
    """Thousands of tests stay to the end: nobody need look through them for garbage."""
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def own_packages() -> None:
    """Neighbours of the clone are none of our packages: its root is one, so pytest makes them importable."""
    here = Path(__file__).resolve().parent  # its folders have names of packages: `control`
    none = {str(here), str(here.parents[1])}
    sys.path[:] = [path for path in sys.path if path not in none]


@pytest.fixture(autouse=True)
def equations_as_changed(request: pytest.FixtureRequest) -> Iterator[None]:
    """What a test changes in our code holds for what it traces, and for no test after it."""
    if "monkeypatch" not in request.fixturenames:
        yield
        return
    kept = dict(engine._SHARED)
    engine._SHARED.clear()
    yield
    engine._SHARED.clear()
    engine._SHARED.update(kept)


@cache
def misses_an_annex(path: Path) -> bool:
    """Whether a file of tests imports, itself or by a helper, one of our modules that is not there."""
    for module, name in IMPORTED.findall(path.read_text(encoding="utf-8")):
        first, *rest = module.split(".")
        if first == "cutjoint":
            place = ROOT.joinpath(*rest)
            if not place.is_dir() and not place.with_suffix(".py").is_file():
                return True
            annex = place / name if place.name not in TAKEN_OFF and name in TAKEN_OFF else place
            if place.is_dir() and not annex.is_dir():
                return True
        for helper in (path.parent / f"{first}.py", TESTS / "support" / f"{first}.py"):
            if helper.is_file() and helper != path and misses_an_annex(helper):
                return True
    return False


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Tests of an annex that has been taken off are left out."""
    ours = collection_path.suffix == ".py" and collection_path.is_relative_to(TESTS)
    return True if ours and misses_an_annex(collection_path) else None
