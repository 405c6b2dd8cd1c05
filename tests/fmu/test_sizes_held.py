"""Sizes that cross into C are held by the compiler: what does not fit is not compiled."""

from __future__ import annotations

import ctypes
import subprocess
from functools import cache
from pathlib import Path

import pytest
from cutjoint import load
from cutjoint.fmu.c_sources import sources
from cutjoint.model.compile import rollout_library
from cutjoint.model.compile.kernel import find_compiler
from cutjoint.native.variable_layout import plan

pytestmark = pytest.mark.skipif(find_compiler() is None, reason="needs a C compiler")


@cache
def texts() -> dict[str, str]:
    """A mechanism with internal states."""
    return sources(plan(load("servo_stewart"), linear=True), 2)


def compiles(folder: Path, unit: str) -> bool:
    command = [*(find_compiler() or ()), "-std=c99", "-fsyntax-only", unit]
    return subprocess.run(command, cwd=folder, capture_output=True).returncode == 0


@pytest.mark.parametrize(
    ("file", "before", "after", "unit"),
    [
        ("sizes.h", "#define NI 3", "#define NI 4", "core.c"),  # a vector, and the table of its start
        ("sizes.h", "#define NSAMPLED 0", "#define NSAMPLED 2", "core.c"),
        ("chart.c", "x->at.v, x->z, x->u, x->p", "x->at.v, x->u, x->p", "chart.c"),  # an argument left out
        ("core.c", "to->z, &to->work", "&to->work", "core.c"),  # a result
    ],
)
def test_what_does_not_fit_is_not_compiled(
    tmp_path: Path, file: str, before: str, after: str, unit: str
) -> None:
    for name, text in texts().items():
        (tmp_path / name).write_text(text)
    assert compiles(tmp_path, unit)
    assert before in texts()[file]
    (tmp_path / file).write_text(texts()[file].replace(before, after))
    assert not compiles(tmp_path, unit)


def test_structs_of_the_rollout_are_what_python_says(tmp_path: Path) -> None:
    text = Path(rollout_library.__file__).with_name("rollout.c").read_text()
    nq, nv, *rest = rollout_library.Job._fields_[3:]

    class Swapped(ctypes.Structure):
        _fields_ = [*rollout_library.Job._fields_[:3], nv, nq, *rest]

    for like, fits in ((rollout_library.Job, True), (Swapped, False)):
        (tmp_path / "rollout.c").write_text("\n".join([text, rollout_library.held("job", like)]))
        assert compiles(tmp_path, "rollout.c") == fits
