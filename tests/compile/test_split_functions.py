"""Long functions compiled in pieces give what the whole function gives."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import casadi as ca
import numpy as np
import pytest
from cutjoint.model.compile.c_pieces import split_functions
from cutjoint.model.compile.kernel import find_compiler, kernel

needs_compiler = pytest.mark.skipif(find_compiler() is None, reason="no C compiler")


def long_function(operations: int) -> ca.Function:
    """Random straight-line code: near and far references, constants, arguments read late, shared results."""
    rng = np.random.default_rng(7)
    x, y = ca.SX.sym("x", 4), ca.SX.sym("y", 3)
    values = [*ca.vertsplit(x), ca.SX(1.25), ca.SX(-0.75)]
    for k in range(operations):
        a = values[-1 - int(rng.integers(min(len(values), 6)))]
        b = values[int(rng.integers(len(values)))]
        values.append([a * b + 0.3, a - 0.5 * b, ca.sin(a + b), a / (2 + b * b)][int(rng.integers(4))])
        if k % 100 == 0:
            values.append(y[int(rng.integers(3))] + values[-1])
        values[-1] = ca.tanh(values[-1])  # keeps numbers of order one
    A = ca.reshape(ca.vertcat(*values[-12:]), 3, 4)
    return ca.Function("lengthy", [x, y], [values[-1], A], ["x", "y"], ["z", "A"])


def source(function: ca.Function) -> str:
    generator = ca.CodeGenerator("lengthy.c", {"with_header": False})
    generator.add(function)
    return generator.dump()


@needs_compiler
def test_pieces_compute_what_the_virtual_machine_computes(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("CUTJOINT_CACHE", str(tmp_path))
    monkeypatch.setattr(
        "cutjoint.model.compile.kernel.split_functions", lambda code: split_functions(code, 40)
    )
    function = long_function(1500)
    whole, pieces = kernel(function, False), kernel(function, True)
    assert pieces.compiled
    rng = np.random.default_rng(8)
    for _ in range(5):
        x, y = rng.standard_normal(4), rng.standard_normal(3)
        for a, b in zip(whole(x, y), pieces(x, y), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-10)


@needs_compiler
@pytest.mark.parametrize("size", [23, 40, 61])
def test_no_piece_sets_what_nobody_reads(size: int, tmp_path: Path) -> None:
    """Constants are written out where they are used, wherever a piece begins; FMUs carry this code."""
    function = long_function(1500)
    (tmp_path / "lengthy.c").write_text(split_functions(source(function), size))
    words = [*(find_compiler() or ()), "-Wall", "-Werror", "-Wno-unused-function", "-c", "lengthy.c"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@needs_compiler
def test_arguments_left_out_are_zero_and_results_left_out_are_not_written(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("CUTJOINT_CACHE", str(tmp_path))
    monkeypatch.setattr(
        "cutjoint.model.compile.kernel.split_functions", lambda code: split_functions(code, 40)
    )
    function = long_function(500)
    x, A = np.array([0.3, -0.7, 1.1, 0.2]), np.zeros((3, 4), order="F")
    buffer, evaluate = kernel(function, True).function.buffer()
    buffer.set_arg(0, memoryview(x))
    buffer.set_res(1, memoryview(A.reshape(-1, order="F")))
    evaluate()
    np.testing.assert_allclose(A, np.array(function(x, 0)[1]), rtol=1e-10, atol=1e-10)


def test_long_functions_are_cut_and_short_ones_are_not() -> None:
    code = source(long_function(1500))
    bodies = re.findall(r"noinline\)\) void \w+\(.*?\n\}\n", split_functions(code, 100), re.S)
    assert len(bodies) > 10
    # Loads, stores and declarations come on top of the piece's own lines.
    assert max(body.count("\n") for body in bodies) < 600
    assert split_functions(source(long_function(30)), 100) == source(long_function(30))


def test_code_of_another_form_is_left_alone() -> None:
    code = source(long_function(1500))
    other = code.replace("  return 0;\n", "  if (mem) return 1;\n  return 0;\n")
    assert other != code
    assert split_functions(other, 100) == other
