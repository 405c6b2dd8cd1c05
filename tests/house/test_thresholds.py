"""Numbers by which a mechanism is judged stand in one file; C, FMU and ROS have none of their own."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from pathlib import Path

import pytest
from cutjoint.fmu.c_sources import sources
from cutjoint.model.base import thresholds
from fmu_tools import planned

ROOT = Path(__file__).resolve().parents[2]
HOME = ROOT / "model" / "base" / "thresholds.py"
FLOORS = (
    "describe",
    "joints",
    "equations",
    "compile",
    "manifold",
    "run",
    "control",
    "linear",
    "design",
    "chain",
)
STRICT = [
    *(path for room in ("native", "fmu", "realtime") for path in sorted((ROOT / room).glob("c/*"))),
    *sorted((ROOT / "ros" / "control").rglob("*pp")),  # C++
    *(
        path
        for room in ("native", "fmu", "realtime", "ros", *(f"model/{room}" for room in FLOORS))
        for path in sorted((ROOT / room).glob("*.py"))
    ),
]
# Small numbers that judge nothing about a mechanism: (file, literal) -> what it is.
ALLOWED = {
    ("svd.c", "1e-15"): "round-off of a scalar product, where Jacobi's rotations end",
    ("svd.c", "1e-290"): "smallest square that a double can hold with all digits",
    ("export.py", "1e-3"): "inner step by default, s",
    ("linear.py", "1e-3"): "communication step by default, s",
    ("variable_layout.py", "1e-3"): "inner step by default, s",
    ("sensitivity.py", "1e-3"): "step by default, s",
    ("settings.py", "1e-6"): "shortest step that can be asked for, s",
    ("settings.py", "1e-3"): "slowest rate of diagnostics and the like that can be asked for, Hz",
    ("start_node.py", "1e-4"): "seconds a thread may keep Python to itself",
}
SMALL = re.compile(r"(?<![\w.])(?:\d+\.?\d*|\.\d+)[eE]-\d+(?![\w.])")


def small_numbers(path: Path) -> list[str]:
    """Literals such as 1e-7 in the code of a file, not in its comments and texts."""
    text = path.read_text(encoding="utf-8")
    if path.suffix != ".py":
        return SMALL.findall(re.sub(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\])*"', " ", text, flags=re.S))
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    return [token.string for token in tokens if token.type == tokenize.NUMBER and SMALL.match(token.string)]


@pytest.mark.parametrize("path", STRICT, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_no_tolerance_of_its_own(path: Path) -> None:
    assert {number for number in small_numbers(path) if (path.name, number) not in ALLOWED} == set()


def test_what_is_allowed_is_there() -> None:
    found = {(path.name, number) for path in STRICT for number in small_numbers(path)}
    assert set(ALLOWED) <= found


def named() -> dict[str, float]:
    values = {name: value for name, value in vars(thresholds).items() if name.isupper()}
    assert len(values) > 15
    return values


def test_every_threshold_says_why() -> None:
    lines = HOME.read_text(encoding="utf-8").splitlines()
    for name in named():
        (line,) = [line for line in lines if line.startswith(f"{name} = ")]
        assert re.search(r"  # \w.{15,}", line), f"{name} needs a reason"


# Where closed poses are judged; LONGEST of a picture's arrows is another matter.
ROOMS = (*FLOORS, "cartesian", "design", "engine.py", "state.py", "simulation.py")


@pytest.mark.parametrize("room", ROOMS)
def test_no_other_module_has_a_threshold_of_that_name(room: str) -> None:
    files = [ROOT / "model" / room] if room.endswith(".py") else sorted((ROOT / "model" / room).glob("*.py"))
    assert files
    for path in files:
        if path == HOME:
            continue
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.Assign):
                given = {target.id for target in node.targets if isinstance(target, ast.Name)}
                assert not given & set(named()), path.name


def test_c_gets_its_thresholds_from_the_same_file() -> None:
    """What the core names in capitals is defined by the header that is generated, with Python's values."""
    header = sources(planned("fourbar"), 2)["tables.h"]
    defined = dict(re.findall(r"^#define (\w+) (\S+)$", header, re.M))
    core = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "native" / "c").iterdir())
    shared = {name for name in named() if re.search(rf"\b{name}\b", core)}
    assert {"RANK", "ROUGHLY", "SAME_TIME"} <= shared
    assert {name: float(defined[name]) for name in shared} == {name: named()[name] for name in shared}
