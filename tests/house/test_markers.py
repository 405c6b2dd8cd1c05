"""Marks say what a test needs: a browser, ROS, a compiler; `make quick` leaves such tests out."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]
FILES = sorted(path for path in TESTS.glob("*/test_*.py") if path != Path(__file__))


def names(tree: ast.AST) -> set[str]:
    """What code speaks of: names, and arguments, which are fixtures."""
    return {
        x.id if isinstance(x, ast.Name) else x.arg
        for x in ast.walk(tree)
        if isinstance(x, ast.Name | ast.arg)
    }


def users(module: ast.Module, helper: str) -> dict[str, ast.FunctionDef]:
    """Functions of a module that call a helper, themselves or by another one or a fixture of the module."""
    functions = {x.name: x for x in module.body if isinstance(x, ast.FunctionDef)}
    found = {name for name, function in functions.items() if helper in calls(function)}
    while more := {name for name, function in functions.items() if names(function) & found} - found:
        found |= more
    return {name: functions[name] for name in found}


def calls(tree: ast.AST) -> set[str]:
    return {x.func.id for x in ast.walk(tree) if isinstance(x, ast.Call) and isinstance(x.func, ast.Name)}


def marks(function: ast.FunctionDef) -> set[str]:
    return {x.attr for d in function.decorator_list for x in ast.walk(d) if isinstance(x, ast.Attribute)}


@pytest.mark.parametrize(
    ("helper", "mark", "rooms"),
    [
        ("Browser", "browser", ()),
        ("exported", "compiler", ("fmu", "compile", "realtime")),
        ("built", "compiler", ("fmu", "compile", "realtime", "linear")),  # there it means something else
    ],
)
def test_who_uses_a_helper_says_what_it_needs(helper: str, mark: str, rooms: tuple[str, ...]) -> None:
    """Rooms whose tests are all marked, by `conftest.py`, need not."""
    seen = 0
    for path in FILES:
        for name, function in users(ast.parse(path.read_text(encoding="utf-8")), helper).items():
            if name.startswith("test_") and path.parent.name not in rooms:
                assert mark in marks(function), f"{path.relative_to(TESTS)}: {name} needs @pytest.mark.{mark}"
                seen += 1
    assert seen


def test_who_compiles_for_other_processors_says_so() -> None:
    seen = 0
    for path in FILES:
        text = path.read_text(encoding="utf-8")
        lines = text.splitlines()
        for function in (x for x in ast.walk(ast.parse(text)) if isinstance(x, ast.FunctionDef)):
            code = "\n".join(lines[function.lineno - 1 : function.end_lineno])
            if function.name.startswith("test_") and re.search(r'importorskip\("ziglang|"qemu-', code):
                marked = "cross" in marks(function) or "\npytestmark = pytest.mark.cross\n" in text
                assert marked, f"{path.relative_to(TESTS)}: {function.name} needs @pytest.mark.cross"
                seen += 1
    assert seen


@pytest.mark.skipif(not (TESTS.parent / "papers").is_dir(), reason="annexes were taken off")
def test_where_all_annexes_are_there_no_file_is_left_out(request: pytest.FixtureRequest) -> None:
    """`from cutjoint.model.verify import verify` was once taken for an annex that is missing."""
    conftest = request.config.pluginmanager.get_plugin(str(TESTS / "conftest.py"))
    assert conftest is not None
    assert [path.name for path in FILES if conftest.misses_an_annex(path)] == []


def test_rooms_and_nodes_are_marked(request: pytest.FixtureRequest) -> None:
    """Of what was collected together with this test."""
    for item in request.session.items:
        marked = {mark.name for mark in item.iter_markers()}
        assert "compiler" in marked or item.path.parent.name not in ("fmu", "compile", "realtime")
        assert "ros" in marked or "\nfrom ros_client import" not in item.path.read_text(encoding="utf-8")
