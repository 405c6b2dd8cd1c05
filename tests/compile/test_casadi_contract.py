"""What we take for granted of the C that CasADi writes (`model/compile/casadi_c.py`), in the release we have.

One that writes otherwise would still work, in the slower virtual machine or compiled for longer, and nobody
would notice: here it fails, with the number of what it broke.
"""

from __future__ import annotations

import re
import subprocess
import sys

import casadi as ca
import pytest
from cutjoint import Engine, load
from cutjoint.model.compile import casadi_c, lanes
from cutjoint.model.compile.c_pieces import files_of, split_functions
from cutjoint.model.compile.casadi_c import generate, without_calls, without_loader
from cutjoint.model.manifold.step import single

LONG = 2000


def scalars(name: str = "cj_scalars") -> ca.Function:
    """All operations that our equations use, again and again."""
    x, y = ca.SX.sym("x", 3), ca.SX.sym("y", 2)
    a = x[0]
    for k in range(LONG // 20):
        b = ca.sin(a) * ca.cos(y[0]) + ca.fmax(a, x[1]) - ca.fmin(a, y[1]) / (1.5 + a * a)
        b = ca.if_else(b < x[2], b, -b) + ca.if_else(ca.logic_and(b <= 1, ca.logic_not(b == k)), 1e-3, a)
        b += ca.sqrt(1 + b * b) + ca.fabs(b) + ca.sign(b) + ca.atan2(b, 2) + ca.tanh(b) + ca.floor(b)
        a = b + ca.exp(-b * b) + ca.copysign(a, b) + ca.fmod(b, 3) + ca.logic_or(b > 1, b != 2)
    return ca.Function(name, [x, y], [a, ca.vertcat(a, x[0])], ["x", "y"], ["a", "b"])


def matrices(name: str = "cj_matrices") -> ca.Function:
    """As the whole step is: calls, sums, products and choices of vectors."""
    x, y = ca.MX.sym("x", 3), ca.MX.sym("y", 2)
    a, b = scalars("inner")(x, y)
    c, d = scalars("inner")(x * a + 2, b)
    h = ca.if_else(c > 0, a, 2 * c)
    return ca.Function(name, [x, y], [ca.vertcat(h, b + d), x - h], ["x", "y"], ["a", "b"])


@pytest.fixture(scope="module")
def code() -> str:
    return generate([scalars()])


def test_1_functions_and_the_way_into_them(code: str) -> None:
    for text, least in ((code, 1), (generate([matrices()]), 2)):
        assert len(casadi_c.FUNCTION.findall(text)) == text.count("static int casadi_f") >= least
        main = casadi_c.MAIN.findall(text)
        assert main and set(main) == {"casadi_f0"}


def test_2_straight_lines_of_scalars(code: str) -> None:
    ((_, name, body),) = casadi_c.STRAIGHT.findall(code)
    lines = body.splitlines()
    assert name == "casadi_f0" and len(lines) > LONG
    assert [line for line in lines if not casadi_c.LINE.fullmatch(line)] == []
    assert len(casadi_c.ARGUMENT.findall(body)) == body.count("arg[0]?") + body.count("arg[1]?") > 0
    assert len(casadi_c.RESULT.findall(body)) == body.count("res[0]!=0") + body.count("res[1]!=0") == 3


def test_2_long_functions_are_cut_into_pieces(code: str) -> None:
    cut = split_functions(code, 100)
    assert cut.count("__attribute__((noinline)) void casadi_f0_") > LONG // 100


def test_4_every_operation_can_be_computed_over_lanes() -> None:
    text = lanes.in_lanes(scalars())
    assert "lanes_turned(" in text and "lanes_fmax(" in text and "lanes_where(" in text


@pytest.mark.parametrize("name", ["stewart", "hexapod", "belt_picker"])
def test_3_every_line_of_a_step_can_be_computed_over_lanes(name: str) -> None:
    """CasADi 3.7 writes every zero of what stands for an argument that is left out, 3.8 one for all."""
    engine = Engine(load(name), compile=False)
    text = lanes.in_lanes(engine.traced("plain step", single))
    assert text.count("casadi_zeros[") == ("casadi_zeros;" in text) == (name != "belt_picker")


def test_5_largest_and_smallest_are_written_out(code: str) -> None:
    text = without_calls(code)
    for name in ("fmax", "fmin"):
        assert f"casadi_real casadi_{name}(" in code
        assert f"static inline casadi_real casadi_{name}(" in text
        assert not re.search(rf"\b{name}\(x, y\)", text)


def test_6_its_own_functions_come_first(code: str) -> None:
    first, *others = files_of(split_functions(code, 100), 400, "own")
    assert len(others) > 3 and "CASADI_SYMBOL_EXPORT" in first
    for text in others:
        assert "CASADI_SYMBOL_EXPORT int" not in text
        assert not re.search(r"^(?:casadi_real|casadi_int|void) casadi_\w+\(", text, re.M)


def test_7_nothing_for_its_loader_is_left() -> None:
    for function in (scalars(), matrices()):
        raw = generate([function], "step.c", with_export=False)
        text = without_loader(raw)
        assert f"{function.name()}_sparsity_in" in raw
        outward = re.findall(r"^(?!static |#|extern |typedef )\w[\w* ]*?\b(\w+)\(", text, re.M)
        assert outward == [function.name()]


def test_its_future_warning_about_numpy_reaches_no_user() -> None:
    """CasADi 3.8 warns of NumPy's functions on its values: none of ours may."""
    script = (
        "import warnings; warnings.simplefilter('error', FutureWarning);"
        "from cutjoint import Simulation;"
        "s = Simulation('stewart', compile=False); s.run(0.002); s.linearize(); s.outputs();"
        "s = Simulation('belt_picker', compile=False); s.run(0.002); s.linearize()"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
