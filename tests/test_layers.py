"""Who may import whom: layers in one order and no cycles, imports for type checking and in functions too."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

# From the ground up: a layer imports itself and those before it, never one behind it.
ORDER = [
    ("model.errors", "model.files", "model.signals"),
    ("model.joints",),
    ("model.describe",),
    ("model.equations",),
    ("model.compile",),
    ("model.manifold",),
    ("model.variables",),
    ("model.loading",),
    ("model.engine",),
    ("model.state",),
    ("model.run", "model.linear"),
    ("model.simulation",),
    ("model.design", "model.show", "model.robots", "model.cartesian"),
    ("model.papers",),
    ("model.cli",),
    ("model",),
    ("fmu", "ros"),
    ("benchmarks", "examples"),
]


def layer(module: str) -> int:
    """The place of the longest name in `ORDER` that a module belongs to."""
    places = {name: place for place, names in enumerate(ORDER) for name in names}
    while module not in places:
        module = module.rpartition(".")[0]
    return places[module]


@cache
def imports() -> dict[str, set[str]]:
    """Module -> modules of ours that it imports, anywhere in its text."""
    files = {
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
        for folder in ("model", "fmu", "ros", "benchmarks", "examples")
        for path in (ROOT / folder).rglob("*.py")
    }
    del files["examples"]  # as a package it is but the folder of the shipped descriptions
    result = {}
    for module, path in files.items():
        package = module.split(".") if path.name == "__init__.py" else module.split(".")[:-1]
        found = set()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.level:
                base = package[: len(package) - node.level + 1] + (node.module or "").split(".")
                for name in node.names:
                    whole = ".".join([*filter(None, base), name.name])
                    found |= {whole if whole in files else whole.rpartition(".")[0]}
        result[module] = found & files.keys() - {module}
    return result


def test_the_graph_is_seen() -> None:
    graph = imports()
    assert {"model.engine", "model.state"} <= graph["model.simulation"]
    assert "model.simulation" in graph["fmu.plan"]
    assert len(graph) > 150


@pytest.mark.parametrize("module", sorted(imports()))
def test_nothing_imports_upward(module: str) -> None:
    assert not {other for other in imports()[module] if layer(other) > layer(module)}


def test_no_import_goes_in_a_circle() -> None:
    graph = {module: set(others) for module, others in imports().items()}
    while free := [module for module, others in graph.items() if not others & graph.keys()]:
        for module in free:
            del graph[module]
    assert not graph, f"these import one another: {sorted(graph)}"


def test_nothing_of_ours_is_imported_by_its_installed_name() -> None:
    """`from cutjoint.…` inside the package would escape the graph above."""
    for module in (m for m in imports() if m.split(".")[0] in ("model", "fmu", "ros")):
        path = ROOT / Path(*module.split("."))
        path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) and not node.level else []
            names += [x.name for x in node.names] if isinstance(node, ast.Import) else []
            assert not any(name.split(".")[0] == "cutjoint" for name in names), module
