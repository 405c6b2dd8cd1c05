"""How many operations the traced code takes: what makes it fast, and what no clock has to tell."""

from __future__ import annotations

import casadi as ca
import pytest
from cutjoint import Engine
from cutjoint.model.equations.solve import reciprocal
from cutjoint.model.equations.terms import at_rest
from cutjoint.model.equations.traced import dynamics, project_position

MOST = {"stewart": (2170, 1440), "hexapod": (6910, 4200)}  # of the dynamics, and of a projection


@pytest.fixture(scope="module", params=MOST)
def equations(request):
    return Engine(request.param, compile=False).equations


def test_no_more_operations_than_it_takes(equations):
    functions = dynamics(equations), project_position(equations)
    counts = [function.n_instructions() for function in functions]
    assert all(count <= most for count, most in zip(counts, MOST[equations.mechanism.name], strict=True)), (
        counts
    )


def test_a_division_for_each_pivot_and_each_ball_and_no_more(equations):
    """CasADi makes x/d of x·(1/d), and divisions take five times as long as products."""
    function, tree = dynamics(equations), equations.tree
    operations = [function.instruction_id(k) for k in range(function.n_instructions())]
    assert ca.OP_INV not in operations
    assert operations.count(ca.OP_DIV) <= tree.nv + tree.row_count + 1


def test_a_reciprocal_is_one_to_the_bit():
    x = ca.SX.sym("x")
    f = ca.Function("f", [x], [reciprocal(x) - 1 / x])
    assert all(float(f(value)) == 0 for value in (3.0, 0.1, 1e-300, 7e200, -49.0))


def test_frames_behind_slides_turn_nothing():
    eq = Engine("hexapod", compile=False).equations
    slides = [k for k, link in enumerate(eq.tree.links) if link.joint.startswith("leg")]
    assert len(slides) == 6
    for k in slides:
        turn = at_rest(eq).motion.f[k].R
        assert turn.is_constant() and (ca.DM(turn) - ca.DM.eye(3)).is_zero()
