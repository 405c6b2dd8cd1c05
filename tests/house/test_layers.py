"""Who may import whom: no circles, lower floors know nothing of higher ones, not even for types."""

from __future__ import annotations

import ast
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("model", "fmu", "ros", "benchmarks", "examples")
# From the ground up. A room is a folder or a file of `model/`, or another package; it imports from
# its own floor and from those below.
LAYERS: tuple[tuple[tuple[str, ...], str], ...] = (
    (
        ("display", "errors", "hil", "programs", "signals", "thresholds", "shipped descriptions"),
        "know nothing but Python",
    ),
    (("files",), "written whole or not at all, or an error says why"),
    (("joints",), "what a joint type is, before anything is described with it"),
    (("describe",), "a mechanism as data"),
    (("laws",), "functions of time, as data"),
    (("equations",), "the description as equations over symbols"),
    (("compile",), "traced functions as fast code"),
    (("manifold",), "rank, charts, closing, lift and step over the equations"),
    (("variables",), "names of all that can be read and set, without tracing"),
    (("robots",), "robots of other formats, in and out"),
    (("loading",), "a description read, and its names checked"),
    (("engine",), "kernels and names of one mechanism, without a state"),
    (("samples",), "what sensors that take samples remember"),
    (("state",), "the numbers that change"),
    (("run", "linear", "batch"), "functions of engine and state: motions, many at once, models beside them"),
    (("simulation",), "holds an engine and a state for the user"),
    (("cartesian", "design", "show", "verify"), "what is built on simulations"),
    (("papers",), "studies, with all of the above"),
    (("model", "cli"), "the doors: public names, and the command line"),
    (("fmu", "ros"), "thin ways out, apart from each other"),
    (("benchmarks", "examples"), "users of everything"),
)
FLOOR = {room: k for k, (rooms, _) in enumerate(LAYERS) for room in rooms}
APART = ({"fmu", "ros"},)  # on one floor, but strangers


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
    return rest[0] if first == "model" and rest else first


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
            f"{own} imports {other}, which is higher: {LAYERS[FLOOR[other]][1]}"
        )
        assert not any(other != own and {other, own} <= strangers for strangers in APART)


def test_only_command_modules_know_the_command_line() -> None:
    users = {module for module in modules() if any(room(i) == "cli" for i in imports(module))}
    assert {module for module in users if room(module) != "cli"} == {
        "fmu.cli",
        "fmu.realtime_cli",
        "ros.cli",
        "ros.replay_cli",
        "benchmarks.cli",
    }


def test_the_page_on_architecture_names_every_folder() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    folders = {path.parent.relative_to(ROOT).as_posix() for path in modules().values()}
    assert {f for f in folders if f"`{f}/`" not in page and f.count("/") < 2} == set()


@pytest.mark.parametrize("path", sorted((ROOT / "fmu" / "c").iterdir()), ids=lambda path: path.name)
def test_c_files_stay_readable(path: Path) -> None:
    lines = path.read_text(encoding="utf-8").splitlines()
    assert len(lines) <= 400 and lines[0].startswith("/*"), "split it, or begin by saying what it is for"
