"""The traced local state-space form on random mechanisms: lifts close loops, derivatives are exact."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from bulk import bulk
from cutjoint import Simulation
from cutjoint.model.equations.outputs import outputs
from cutjoint.model.equations.traced import dynamics, retraction
from cutjoint.model.linear import tangent
from cutjoint.model.linear.linearize import coordinate_map
from cutjoint.model.manifold import charts, lift
from random_mechanisms import random_loop, random_rolling, random_tree
from scipy.linalg import qr

MAKE = {f"loop{seed}": (random_loop, seed) for seed in range(5)} | {"tree": (random_tree, 3)}
MAKE |= {f"rolling{seed}": (random_rolling, seed) for seed in range(6)}


def flat(x: object) -> np.ndarray:
    return np.array(x).ravel()


class Chart:
    """A mechanism in motion with a chart at its pose, and a point of the chart beside the reference."""

    def __init__(self, key: str):
        make, seed = MAKE[key]
        self.sim = sim = Simulation(make(seed), compile=False)
        eq = sim.equations
        self.random = random = np.random.default_rng(seed)
        everything = outputs(eq)
        arguments = [eq.q, eq.v, eq.z, eq.u, eq.p]
        self.outputs = ca.Function("outputs", arguments, [everything(*arguments)[:8]])
        self.dynamics, self.place = dynamics(eq), retraction(eq)
        self.full = lift.lift(eq)
        self.rates, self.displacement = lift.displacement_rates(eq), lift.displacement(eq)
        sim.set_inputs(random.normal(size=len(sim.inputs)))
        chosen = charts.partition(eq, sim.engine.ranks(sim.q, sim.s, sim.p))(sim.q, sim.p)
        self.free = [flat(x) for x in chosen[:2]]  # of coordinates, of speeds
        self.independent, self.speeds = (np.flatnonzero(x == 0) for x in self.free)
        self.r = sim.q.copy()
        self.y, self.w = (
            size * random.normal(size=len(x)) for size, x in ((0.02, self.independent), (0.3, self.speeds))
        )
        self.u, self.p = sim.u.copy(), sim.p.copy()

    def spread(self, y: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        d, v = np.zeros((2, self.sim.tree.nv))
        d[self.independent], v[self.speeds] = y, w
        return d, v

    def lift(self, y: np.ndarray, w: np.ndarray, p: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        none = np.zeros(self.sim.tree.nv)
        d, q, v, _, closed = self.full(self.r, none, none, *self.spread(y, w), *self.free, [], p)
        assert float(closed) == 1.0
        return flat(d), flat(q), flat(v)

    def values(self, y: np.ndarray, w: np.ndarray, u: np.ndarray, p: np.ndarray) -> np.ndarray:
        d, q, v = self.lift(y, w, p)
        at = q, v, [], u, p
        parts = self.rates(d, v), self.dynamics(*at)[0], self.outputs(*at), q
        return np.concatenate([flat(x) for x in parts])


@pytest.fixture(scope="module", params=bulk([*MAKE], ["loop0", "loop3", "tree", "rolling1", "rolling4"]))
def chart(request: pytest.FixtureRequest) -> Chart:
    return Chart(request.param)


def test_a_lift_closes_the_loops_and_keeps_the_independent_ones(chart: Chart) -> None:
    d, q, v = chart.lift(chart.y, chart.w, chart.p)
    g, _ = chart.sim.engine.closure(q, chart.sim.s, chart.sim.p)
    assert np.abs(g).max(initial=0.0) < 1e-12
    assert np.abs(chart.sim.engine.slip(q, v, chart.sim.s, chart.sim.p)[0]).max(initial=0.0) < 1e-9
    assert np.array_equal(d[chart.independent], chart.y) and np.array_equal(v[chart.speeds], chart.w)
    assert flat(chart.displacement(chart.r, q)) == pytest.approx(d, abs=1e-12)


def test_directions_forward_and_rows_back(chart: Chart) -> None:
    eq, random = chart.sim.equations, chart.random
    d, q, v = chart.lift(chart.y, chart.w, chart.p)
    point = (q, d, v, [], *chart.free, chart.u, chart.p)
    dy, dw, du, dp = (random.normal(size=x.size) for x in (chart.y, chart.w, chart.u, chart.p))
    seeds = (*chart.spread(dy, dw), np.zeros(0), du, dp)
    derived = list(range(8)), len(chart.speeds)
    parts = [flat(x) for x in tangent.tangent(eq, *derived)(*point, *seeds)]
    exact, h = np.concatenate([*parts[:-1], coordinate_map(chart.sim.engine, q) @ parts[-1]]), 1e-6
    ends = [
        chart.values(chart.y + s * dy, chart.w + s * dw, chart.u + s * du, chart.p + s * dp) for s in (h, -h)
    ]
    slope = (ends[0] - ends[1]) / (2 * h)
    assert np.abs(slope - exact).max() < 1e-6 * max(1.0, np.abs(exact).max())
    rows = [random.normal(size=x.size) for x in parts]
    back = [flat(x) for x in tangent.adjoint(eq, *derived)(*point, *rows)]
    left = sum(a @ b for a, b in zip(rows, parts, strict=True))
    right = sum(a @ b for a, b in zip(back, seeds, strict=True))
    size = sum(np.abs(a) @ np.abs(b) for a, b in zip(rows, parts, strict=True))
    assert abs(left - right) < 1e-11 * size


@pytest.mark.parametrize(("m", "n", "rank"), [(6, 9, 6), (5, 3, 2), (15, 21, 15), (5, 8, 3), (1, 1, 1)])
def test_pivots_are_those_of_pivoted_qr(m: int, n: int, rank: int) -> None:
    random = np.random.default_rng(m)
    G = random.normal(size=(m, rank)) @ random.normal(size=(rank, n))
    chosen, smallest = charts.pivots((m, n), rank)(G, np.ones(n))
    R, order = qr(G, mode="r", pivoting=True)
    assert set(np.flatnonzero(flat(chosen))) == set(order[:rank])
    assert float(smallest) == pytest.approx(abs(R[rank - 1, rank - 1]), rel=1e-9)


def test_round_off_does_not_choose_coordinates() -> None:
    """Columns of equal length, one of them longer by what a compiler may round: the first is taken."""
    for longer in range(3):
        A = np.eye(3)[:2] @ np.array([[1, 0, 1], [0, 1, 0], [0, 0, 0]])
        A[:, longer] *= 1 + 1e-15
        assert flat(charts.pivots((2, 3), 2)(A, np.ones(3))[0]).tolist() == [1, 1, 0]


def test_a_lift_asks_no_clock(chart: Chart) -> None:
    """The search starts where the last rates lead, by as much as the new states say, and only then."""
    nv, none = chart.sim.tree.nv, np.zeros(chart.sim.tree.nv)
    still, rest = chart.spread(0 * chart.y, chart.w), (*chart.free, [], chart.p)
    d, _, v, rate, _ = (flat(x) for x in chart.full(chart.r, none, none, *still, *rest))
    assert d == pytest.approx(none, abs=1e-12) and rate == pytest.approx(v, abs=1e-12)
    ahead = 0.01 * v
    ends = chart.full(chart.r, d, rate, ahead, still[1], *rest)
    assert flat(ends[0])[chart.independent] == pytest.approx(ahead[chart.independent], abs=0)
    assert np.abs(flat(ends[0]) - ahead).max(initial=0.0) < 0.01 * max(1.0, np.abs(v).max()) * max(1, nv)
