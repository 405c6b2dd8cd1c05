"""The linear model by three roads on random closed-loop mechanisms, moving and under load.

Automatic differentiation of the implicit form (what `linearize` uses), the recursions of paper 004
(`papers/spencer_recursions.py`, `papers/spencer_closed_recursions.py`), and finite differences along the
manifold: assembled poses, speeds that close the loops, Richardson extrapolation.
"""

from __future__ import annotations

from argparse import Namespace
from dataclasses import replace
from itertools import count, islice

import casadi as ca
import numpy as np
import pytest
import scipy.linalg
from bulk import bulk
from cutjoint import Simulation
from cutjoint.model.compile.kernel import kernel
from cutjoint.model.equations.kinematics import outward, position_rates
from cutjoint.model.equations.loops import cut_loops, loop_jacobian
from cutjoint.model.equations.terms import equations
from cutjoint.model.equations.topology import start_coordinates
from cutjoint.model.equations.traced import closure, dynamics, project_position, retraction
from cutjoint.model.linear.exact import linear, tangent_map
from cutjoint.model.linear.linearize import chart
from cutjoint.model.loading import load
from cutjoint.model.manifold.rank import rank
from cutjoint.papers import spencer_linear
from cutjoint.papers.spencer_closed_recursions import basis, loop_rows, recursive_linear, weighted_slope
from random_mechanisms import random_loop

BATCHES, SIZE = 20, 10  # random mechanisms in all: 200
STEPS = 0.002 / 2.0 ** np.arange(3)
POSITION_SWEEPS = 3
NONE = np.zeros(0)  # parameters


class Case:
    """A random closed-loop mechanism where it starts, with consistent speeds, inputs and a chart."""

    def __init__(self, seed: int):
        random = np.random.default_rng(seed)
        # odd seeds have two cut joints, and get three bodies so that some freedom is left
        mechanism = random_loop(seed, 2 + seed % 2, forces=seed % 4 < 2)
        self.eq = equations(mechanism, beside=False)  # the recursions know cut joints
        self.tree = self.eq.tree
        self.closure = kernel(closure(self.eq), False)
        self.q = start_coordinates(mechanism, self.tree)
        g, G, _ = self.closure(self.q, NONE, NONE)
        assert np.abs(g).max(initial=0.0) < 1e-13
        values, r = np.linalg.svd(G, compute_uv=False), rank(G)
        self.usable = 0 < r < self.tree.nv and values[r - 1] > 0.03
        null = np.linalg.svd(G)[2][r:].T
        self.freedom = null.shape[1]
        self.v = null @ random.normal(size=self.freedom)
        self.u = 5 * random.normal(size=self.eq.u.numel())
        if seed % 8 < 4 or not self.freedom:  # tangent space, or coordinate partitioning
            self.R = null.T
        else:
            picked = scipy.linalg.qr(null.T, mode="economic", pivoting=True)[2][: self.freedom]
            self.R = np.eye(self.tree.nv)[sorted(picked)]
        self.y = self.R @ self.v

    def symbolic_chart(self):
        return ca.sparsify(ca.SX(ca.DM(self.R)))

    def basis(self, q):
        """K(q) with R K = 1, G K = 0."""
        G = self.closure(q, NONE, NONE)[1]
        right = np.vstack([np.eye(self.freedom), np.zeros((len(G), self.freedom))])
        return np.linalg.lstsq(np.vstack([self.R, G]), right, rcond=1e-9)[0]

    def rates(self, q, v, u):
        """ẏ of a state near the given one: R times the rates of the displacement and of the speeds."""
        dv = self.dynamics(q, v, NONE, u, NONE)[0]
        return np.concatenate([self.R @ self.displacement_rates(q, v), self.R @ dv])

    def displacement_rates(self, q, v):
        """How the displacement of q from the given pose changes.

        For a ball d = 2 p_v/p_0 with p = ē0 ⊗ e the relative Euler parameters, and 2ṗ = p ⊗ ω.
        """
        rates = v.copy()
        for link in self.tree.links:
            if link.move and not link.move.plain:
                turn = -1.0 if link.reverse else 1.0
                e0, e = (x[link.q] * [1, turn, turn, turn] for x in (self.q, q))
                p = multiply(e0 * [1, -1, -1, -1], e)
                change = multiply(p, [0, *v[link.v]]) / 2
                rates[link.v] = 2 * (change[1:] * p[0] - p[1:] * change[0]) / p[0] ** 2
        return rates

    def near(self, direction, h):
        """ẏ at the assembled state that lies h along one of the directions (positions, speeds, inputs)."""
        f = self.freedom
        q, y, u = self.q, self.y.copy(), self.u.copy()
        if direction < f:
            q = self.retraction(q, h * self.K[:, direction])
            for _ in range(POSITION_SWEEPS):
                q = self.project(q, NONE, NONE)
        elif direction < 2 * f:
            y[direction - f] += h
        else:
            u[direction - 2 * f] += 100 * h
        return self.rates(q, self.basis(q) @ y, u)

    def differences(self):
        """(A, B) by central differences, extrapolated to h = 0."""
        functions = dynamics(self.eq), retraction(self.eq), project_position(self.eq)
        self.dynamics, self.retraction, self.project = (kernel(f, False) for f in functions)
        self.K = self.basis(self.q)
        columns = []
        for direction in range(2 * self.freedom + len(self.u)):
            unit = 100.0 if direction >= 2 * self.freedom else 1.0
            columns.append(extrapolated(lambda h, k=direction: self.near(k, h)) / unit)
        both = np.stack(columns, axis=1)
        return both[:, : 2 * self.freedom], both[:, 2 * self.freedom :]


def chosen(batch: int):
    """The first mechanisms of a batch, with seeds, that can move and are away from singularities."""
    found = ((seed, Case(seed)) for seed in count(1000 * batch))
    return islice(((seed, case) for seed, case in found if case.usable), SIZE)


def multiply(a, b):
    """Product of Euler parameters."""
    a, b = np.asarray(a, float), np.asarray(b, float)
    return np.concatenate(
        [[a[0] * b[0] - a[1:] @ b[1:]], a[0] * b[1:] + b[0] * a[1:] + np.cross(a[1:], b[1:])]
    )


def extrapolated(f):
    """f'(0): central differences at halved steps, Richardson's table, the entry that changed least."""
    rows: list[list[np.ndarray]] = []
    best, change = None, np.inf
    for h in STEPS:
        row = [(f(h) - f(-h)) / (2 * h)]
        for k, before in enumerate(rows[-1] if rows else []):
            row.append(row[k] + (row[k] - before) / (4.0 ** (k + 1) - 1))
            difference = np.abs(row[-1] - row[-2]).max() + np.abs(row[-1] - before).max()
            if difference < change:
                best, change = row[-1], difference
        rows.append(row)
    return best


def error(found, wanted):
    """Largest difference over the largest entry (at least 1), the blocks of A and B each for itself."""
    half = len(wanted[0]) // 2
    worst = 0.0
    for x, y in zip(found, wanted, strict=True):
        blocks = [(slice(None), slice(None))] if x.shape[1] != 2 * half else []
        if not blocks:
            parts = (slice(0, half), slice(half, None))
            blocks = [(a, b) for a in parts for b in parts]
        for block in blocks:
            scale = max(1.0, np.abs(y[block]).max(initial=0.0))
            assert np.isfinite(x[block]).all()
            worst = max(worst, np.abs(x[block] - y[block]).max(initial=0.0) / scale)
    return worst


@pytest.mark.parametrize("batch", bulk(range(BATCHES), 1))
def test_three_roads_agree(batch, monkeypatch):
    monkeypatch.setattr(ca, "cse", lambda x: x)  # changes the count of operations only, and takes long
    for seed, case in chosen(batch):
        R = case.symbolic_chart()
        at = case.q, case.v, NONE, case.u, NONE
        exact = [np.array(x) for x in linear(case.eq, R)(*at)]
        recursive = [np.array(x) for x in recursive_linear(case.eq, R)(*at)]
        by_recursion, by_difference = error(recursive, exact), error(case.differences(), exact)
        print(f"seed {seed}: recursions {by_recursion:.1e}, differences {by_difference:.1e}")
        assert by_recursion < 1e-10
        assert by_difference < 1e-7


@pytest.mark.parametrize("batch", bulk([20, 21], 1))
def test_derivatives_of_the_loops(batch):
    """G = aJ, ∂_jG, Ġ, G̈ and K̇, K̈ against automatic differentiation of G, also off the manifold."""
    for seed, case in chosen(batch):
        check_loops(seed, case)


def check_loops(seed, case):
    eq, R = case.eq, case.symbolic_chart()
    random = np.random.default_rng(seed)
    q = case.q + 0.05 * random.normal(size=len(case.q))
    v, a = random.normal(size=case.tree.nv), random.normal(size=case.tree.nv)
    dv = ca.SX.sym("dv", case.tree.nv)
    motion = outward(eq.model, eq.q, eq.v)
    G = ca.densify(loop_jacobian(eq.model, motion, cut_loops(eq.model, motion)))
    rate = position_rates(eq.model, eq.q, eq.v)

    def dot(x):
        """d/dt along q̇ = N(q) v, v̇ = dv."""
        column = ca.vec(x)
        return ca.reshape(ca.jtimes(column, eq.q, rate) + ca.jtimes(column, eq.v, dv), *x.shape)

    b = basis(eq, motion.f, R, eq.v, dv)
    rows = loop_rows(eq.model, motion.f, eq.v)
    by_row = [weighted_slope(rows, ca.SX.eye(G.shape[0])[:, n], case.tree.nv) for n in range(G.shape[0])]
    along = ca.jacobian(ca.vec(G), eq.q) @ tangent_map(eq)
    ours = [
        b.chart.G,
        b.dG,
        b.ddG,
        *(ca.horzcat(*slopes).T for slopes in zip(*map(ca.horzsplit, by_row), strict=True)),
    ]
    theirs = [G, dot(G), dot(dot(G)), *(ca.reshape(along[:, j], *G.shape) for j in range(case.tree.nv))]
    pairs = list(zip(ours, theirs, strict=True))
    if len(case.R) + G.shape[0] == case.tree.nv:  # off the manifold redundant rows leave no K
        pairs += [(b.dK, dot(b.K)), (b.ddK, dot(dot(b.K)))]
    f = ca.Function("f", [eq.q, eq.v, eq.p, dv], [ca.densify(x) for pair in pairs for x in pair])
    values = [np.array(x) for x in f(q, v, NONE, a)]
    for x, y in zip(values[::2], values[1::2], strict=True):
        assert np.abs(x - y).max(initial=0.0) < 1e-9 * max(1.0, np.abs(y).max(initial=0.0))


@pytest.mark.parametrize("name", bulk(["stewart", "hexapod"], 1))
def test_springs_in_balls_see_links_that_are_displaced_over_the_world(name):
    """The recursions displace and turn every link over the one before it, the automatic road not."""
    mechanism = load(name)
    balls = [joint.name for joint in mechanism.joints if joint.type == "spherical"]
    for ball in balls:
        sprung = replace(mechanism.joint(ball), stiffness=(20.0,) * 3, damping=(3.0,) * 3)
        mechanism = replace(
            mechanism, joints=tuple(sprung if j.name == ball else j for j in mechanism.joints)
        )
    s = Simulation(mechanism, compile=False)
    s.set_inputs(np.random.default_rng(0).normal(size=len(mechanism.inputs())))
    s.run(0.05, step=1e-3)
    R = chart(s.engine, s.state, [motor.joint for motor in mechanism.motors]).R
    picked = ca.sparsify(ca.SX(ca.DM(R)))
    at = s.at
    for one, other in zip(
        linear(s.equations, picked)(*at), recursive_linear(s.equations, picked)(*at), strict=True
    ):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9 * np.abs(np.array(other)).max())


def test_study_of_the_thesis(monkeypatch):
    """`cutjoint reproduce spencer-linear`: theorems hold, misprints are found, no road is much dearer."""
    monkeypatch.setattr(spencer_linear, "COUNTED", ("parallel_robot", "stewart"))
    found = spencer_linear.study(Namespace(), lambda _: None)
    said = {v.claim: v.reproduces for v in found.verdicts}
    assert [yes for claim, yes in said.items() if claim.startswith("theorem")] == [True, True]
    assert not said["4.5: eigenvalues of the matrix in cylinders"]
    assert said["4.5: eigenvalues of the matrix in boom, bucket"]
    assert (
        found.data["differences"]["loader"]["held"]
        < 1e-9
        < 0.01
        < found.data["differences"]["loader"]["free to fall"]
    )
    for counts in found.data["operations"].values():
        recursive, automatic = counts["linear"]
        assert max(recursive, automatic) < 1.5 * min(recursive, automatic)
        assert min(recursive, automatic) < 3.2 * counts["dynamics"]
    assert found.data["error_without_load"] > 0.1
