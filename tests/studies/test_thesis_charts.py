"""Charts: their matrices, Theorem 2.3.1, the local parametrization, changes of chart."""

from __future__ import annotations

from math import pi

import mechanisms
import numpy as np
import pytest
from bulk import bulk
from cutjoint import Simulation, SimulationError
from cutjoint.model.linear.linearize import linear_kernel
from cutjoint.model.run.independent import Independent
from cutjoint.model.run.local_form import ChartLost
from cutjoint.papers.methods import MethodSimulation, thesis_charts, traced
from cutjoint.papers.methods.chart_form import ChartForm, ChartSolver
from cutjoint.papers.methods.method import Method
from random_mechanisms import random_loop

AUTOMATIC = [kind for kind in thesis_charts.KINDS if kind != "chosen"]


def moving(seed: int) -> Simulation:
    """A random mechanism with loops, moving; states are regular but for a set of measure zero."""
    s = Simulation(random_loop(seed), compile=False)
    random = np.random.default_rng(seed)
    s.u[:] = random.normal(size=len(s.u))
    s.v[:] = s.engine.kernels.project_velocity(s.q, random.normal(size=s.tree.nv), s.s, s.p)
    return s


@pytest.mark.parametrize("kind", AUTOMATIC)
@pytest.mark.parametrize("seed", bulk(range(12), 3))
def test_matrices_of_every_chart(seed: int, kind: str) -> None:
    """G K = 0, G·K̇y_v = γ, K y_v = v, at the reference and away from it."""
    s = moving(seed)
    method = Method(s, chart=kind)
    assert method.rank < s.tree.nv, "a mechanism that can move is wanted here"
    form = ChartForm(method, s.q.copy())
    y = form.to_local(*s.at[:3])
    y[: form.chart.size] += 0.02 / max(1.0, np.linalg.norm(y))
    q, v, z = form.to_full(y)
    _, G, _, gamma, _ = s.engine.kernels.coefficients(q, v, z, s.u, s.p)
    rate = method.kernel(traced.jacobian_rate)(q, v, s.p)
    K = thesis_charts.motions(form.chart, G)
    size = max(1.0, np.abs(G).max(), np.abs(gamma).max(initial=0.0))
    assert np.abs(method.closure(q)[0]).max() < 1e-11
    assert np.abs(G @ K).max() < 1e-10 * size
    assert np.abs(G @ thesis_charts.bias(form.chart, G, rate, v, gamma) - gamma).max() < 1e-9 * size
    assert np.abs(K @ thesis_charts.speeds(form.chart, G, v) - v).max() < 1e-10 * max(1.0, np.abs(v).max())
    assert np.abs(form.to_local(q, v, z) - y).max() < 1e-10 * max(1.0, np.abs(y).max())


@pytest.mark.parametrize("kind", AUTOMATIC)
def test_rates_are_those_of_the_full_motion(kind: str) -> None:
    """f(y) against the change of Ψ⁻¹ along a tightly integrated motion, balls included."""
    s = Simulation("stewart", gravity=9.81)
    s.set_inputs([5.0, -3.0, 8.0])
    s.run(0.4, 1e-3)
    form = ChartForm(Method(s, chart=kind), s.q.copy())
    s.run(0.1, 1e-3)  # away from the reference
    slope, _ = form.rates(form.to_local(*s.at[:3]))
    saved, h = s.state, 1e-4
    samples = []
    for k in (1, 2):
        s.state = saved
        s.run(k * h, h)
        samples.append(form.to_local(*s.at[:3]))
    here = form.to_local(*saved.at[:3])
    forward = (4 * samples[0] - samples[1] - 3 * here) / (2 * h)
    assert np.abs(forward - slope).max() < 1e-4 * np.abs(slope).max()


def test_jacobian_against_differences() -> None:
    s = Simulation("stewart")
    s.set_inputs([5.0, -3.0, 8.0])
    s.run(0.4, 1e-3)
    for kind in ("partition", "tangent_qr", "tangent_svd", "chosen"):
        form = ChartForm(Method(s, chart=kind), s.q.copy())
        y = form.to_local(*s.at[:3])
        exact = linear_kernel(s.engine, Independent(form.R, len(form.R)))(*s.at)[0]
        for k, e in enumerate(1e-6 * np.eye(len(y))):
            column = (form.rates(y + e)[0] - form.rates(y - e)[0]) / 2e-6
            assert np.abs(exact[:, k] - column).max() < 1e-7 * np.abs(exact).max()


def test_parallel_robot_has_a_constant_basis() -> None:
    """Paper 004, 2.4.1: with q1, q2 chosen the relation is linear, so K does not change."""
    s = Simulation("parallel_robot")
    method = Method(s, chart="chosen", coordinates=[m.joint for m in s.mechanism.motors])
    found = []
    for _ in range(3):
        s.run(0.2, 1e-3)
        G = s.closure()[1]
        found.append(
            thesis_charts.motions(thesis_charts.choose("chosen", s.q, G, method.rank, method.chosen), G)
        )
    assert np.ptp(found, axis=0).max() < 1e-12
    assert set(np.round(found[0].ravel(), 9)) == {-1.0, 0.0, 1.0}


def test_pendulum_charts_as_in_the_thesis() -> None:
    """x determines the pose unless the rod points along x (Fig. 2.3); it is refused just there."""
    high, side = (Simulation(mechanisms.cartesian_pendulum(a)) for a in (pi / 2, 0.0))
    x_and_turn = np.array([0, 2])
    assert thesis_charts.choose("chosen", high.q, high.closure()[1], 1, x_and_turn).size == 2
    with pytest.raises(ChartLost, match="do not determine"):
        thesis_charts.choose("chosen", side.q, side.closure()[1], 1, x_and_turn)
    with pytest.raises(SimulationError, match="2 independent coordinates are needed and 1 are chosen"):
        thesis_charts.choose("chosen", high.q, high.closure()[1], 1, np.array([0]))


def test_a_point_off_the_chart_is_noticed() -> None:
    s = Simulation(mechanisms.cartesian_pendulum(pi / 2))
    form = ChartForm(Method(s, chart="tangent_svd"), s.q.copy())
    along_x = form.chart.R @ [0.5, 0.0, 0.0]  # within the circle
    q, *_ = form.to_full(np.concatenate([along_x, [0, 0]]))
    assert np.abs(s.engine.closure(q, s.s, s.p)[0]).max() < 1e-12
    with pytest.raises(ChartLost, match="does not converge"):
        form.to_full(np.concatenate([3 * along_x, [0, 0]]))


@pytest.mark.parametrize("kind", AUTOMATIC)
def test_charts_change_before_they_degrade(kind: str) -> None:
    """The pendulum goes round more than once: no single chart covers the circle."""
    s = MethodSimulation(mechanisms.cartesian_pendulum(pi / 2), chart=kind, compile=False)
    s.v[:] = (7.0, 0.0, 0.0)
    start = s.energy()
    solver = ChartSolver(s.method(), 2.0, 1e-9)
    turned, last = 0.0, pi / 2
    while solver.time < 2.0:
        solver.advance()
        q, v, *_ = solver.at(solver.time)
        angle = float(np.arctan2(q[1], q[0]))
        turned += (angle - last + pi) % (2 * pi) - pi
        last = angle
    s.q[:], s.v[:] = q, v
    assert abs(turned) > 2 * pi
    assert solver.changes >= 4
    assert abs(s.energy() - start) < 1e-6
    assert np.abs(s.closure()[0]).max() < 1e-12
