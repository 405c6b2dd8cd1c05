"""Who may import whom: no circles, lower floors know nothing of higher ones, not even for types."""

from __future__ import annotations

import ast
import re
from functools import cache
from graphlib import CycleError, TopologicalSorter
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest
from cutjoint.model.base import annexes

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("model", "native", "fmu", "realtime", "ros", "papers", "benchmarks", "examples")
# From the ground up. A room is a folder or a file of `model/`, or another package; it imports from
# its own floor and from those below. On a floor, rooms stand in the order in which they may know each other.
FLOORS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("base: nothing of mechanisms", ("base", "shipped descriptions")),
    ("description: a mechanism as data", ("joints", "describe", "laws")),
    ("equations: over symbols", ("equations", "manifold")),
    (
        "engine: kernels, states, motions, linear models",
        (
            *("compile", "variables", "urdf", "robots", "loading", "kernels", "engine"),
            *("sensor_samples", "state"),
            *("run", "linear", "control", "chain", "batch", "simulation", "design"),
        ),
    ),
    ("applications", ("show", "cartesian", "verify", "view", "cli", "papers", "model")),
    ("ways out: thin, apart from each other", ("native", "fmu", "realtime", "ros", "benchmarks", "examples")),
)
FLOOR = {room: k for k, (_, rooms) in enumerate(FLOORS) for room in rooms}
APART = ({"fmu", "ros"}, {"fmu", "realtime"})  # on one floor, but strangers


@cache
def modules() -> dict[str, Path]:
    """Dotted name -> file; a package's own file has the package's name."""
    found = {}
    for path in (p for package in PACKAGES for p in (ROOT / package).rglob("*.py")):
        words = path.relative_to(ROOT).with_suffix("").parts
        found[".".join(words[:-1] if words[-1] == "__init__" else words)] = path
    return found


@cache
def imports(module: str) -> frozenset[str]:
    """Our modules that a module imports anywhere: at its top, for types only, or inside a function."""
    path = modules()[module]
    package = module.split(".") if path.name == "__init__.py" else module.split(".")[:-1]
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {name.name.removeprefix("cutjoint.") for name in node.names}
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            stem = ".".join([*above, *(node.module or "").split(".")]).strip(".").removeprefix("cutjoint.")
            whole = [".".join(filter(None, (stem, name.name))) for name in node.names]
            found |= {name if name in modules() else stem for name in whole}
    return frozenset(found & set(modules()) - {module})


def room(module: str) -> str:
    first, *rest = module.split(".")
    if module == "examples":  # the folder of descriptions; its modules are something else
        return "shipped descriptions"
    if rest and (rest[-1] == "cli" or rest[-1].endswith("_cli")) and first in ("model", "papers"):
        return "cli"  # a command stands with what it commands
    return rest[0] if first == "model" and rest else first


@pytest.mark.whole
def test_every_room_has_a_floor() -> None:
    assert {room(module) for module in modules()} == set(FLOOR)


def test_modules_import_in_no_circle() -> None:
    try:
        TopologicalSorter({module: imports(module) for module in modules()}).prepare()
    except CycleError as problem:
        raise AssertionError("a circle: " + " imports ".join(reversed(problem.args[1]))) from None


@pytest.mark.parametrize("module", sorted(modules()))
def test_imports_lead_down(module: str) -> None:
    own = room(module)
    for other in map(room, imports(module)):
        assert FLOOR[other] <= FLOOR[own], (
            f"{own} imports {other}, which is higher: {FLOORS[FLOOR[other]][0]}"
        )
        assert not any(other != own and {other, own} <= strangers for strangers in APART)


def extending() -> set[str]:
    """Modules that add options to a command of the core."""
    return {module.removeprefix("cutjoint.") for _, module in annexes.entries("EXTENDS")}


def test_only_command_modules_know_the_command_line() -> None:
    users = {module for module in modules() if any(room(i) == "cli" for i in imports(module))}
    known = {
        "fmu.cli",
        "realtime.cli",
        "ros.cli",
        "ros.complete_cli",
        "ros.replay_cli",
        "benchmarks.cli",
        "native.library_cli",
    } | extending()
    assert {module for module in users if room(module) != "cli"} <= known


def annex_of(module: str) -> str:
    """The folder of the annex that a module belongs to; empty for the core."""
    homes = [annex.folder for annex in annexes.find_annexes()]
    return next((home for home in homes if f"{module}.".startswith(f"{home}.")), "")


@pytest.mark.parametrize("module", sorted(modules()))
def test_the_core_imports_no_annex(module: str) -> None:
    if not annex_of(module) and room(module) != "examples":  # which use everything
        assert {i for i in imports(module) if annex_of(i)} == set()


def test_the_page_on_architecture_names_every_folder() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    folders = {path.parent.relative_to(ROOT).as_posix() for path in modules().values()}
    assert {f for f in folders if f"`{f}/`" not in page and f.count("/") < 2} == set()


@pytest.mark.parametrize(
    "path",
    [p for room in ("native", "fmu", "realtime") for p in sorted((ROOT / room).glob("c/*"))],
    ids=lambda path: path.name,
)
def test_c_files_stay_readable(path: Path) -> None:
    lines = path.read_text(encoding="utf-8").splitlines()
    assert len(lines) <= 400 and lines[0].startswith("/*"), "split it, or begin by saying what it is for"


def test_the_page_on_architecture_counts_lines() -> None:
    """To a twentieth, so that a day's work does not make it wrong."""
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    spec = spec_from_file_location("rooms", ROOT / "docs" / "site" / "rooms.py")
    assert spec is not None and spec.loader is not None
    rooms = module_from_spec(spec)
    spec.loader.exec_module(rooms)
    said, counted = (
        {
            row[0]: int(row[1].replace(",", ""))
            for row in re.findall(r"^\| (.*?) \|.* ([\d,]+) \|$", text, flags=re.M)
        }
        for text in (page, rooms.updated(page))
    )
    assert said.keys() == counted.keys() and len(said) > 20
    off = {room: (said[room], n) for room, n in counted.items() if abs(said[room] - n) > max(100, n / 20)}
    assert not off, f"lines said and counted: {off}; 'make rooms' counts them"
