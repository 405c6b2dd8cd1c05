"""Legs solved onto a trunk: the same motion as by rows alone, at any pose, in fewer operations."""

from __future__ import annotations

from itertools import product

import casadi as ca
import numpy as np
import pytest
from bulk import bulk
from cutjoint import Engine, Simulation
from cutjoint.model.describe.mechanism import Mechanism
from cutjoint.model.equations.platform_schur import on_trunk, trunk_of
from cutjoint.model.equations.solve import factorize, factorize_constrained
from cutjoint.model.equations.solver_choice import way
from cutjoint.model.loading import read

LEGS, OWN, TRUNK = 4, 3, 6
ROWS, SPEEDS = 3 * LEGS, OWN * LEGS + TRUNK
GROUPS = [range(3 * k, 3 * k + 3) for k in range(LEGS)]


class System:
    """M a + Gᵀλ = f, G a = c of legs on a trunk; some legs give way by `least` in one direction."""

    def __init__(self, seed: int, singular: int, least: float, passed_on: float = 1.0):
        random = np.random.default_rng(seed)
        self.M, self.G = np.zeros((SPEEDS, SPEEDS)), np.zeros((ROWS, SPEEDS))
        for k, rows in enumerate(GROUPS):
            own = slice(OWN * k, OWN * k + OWN)
            X = random.normal(size=(OWN, OWN))
            self.M[own, own] = X @ X.T + np.eye(OWN)
            left, _, right = np.linalg.svd(random.normal(size=(3, 3)))
            self.G[rows, own] = left @ np.diag([1, 0.7, least if k < singular else 0.5]) @ right
            self.G[rows, -TRUNK:] = U = np.hstack([np.eye(3), random.normal(size=(3, 3))])
            if k < singular:  # what the trunk moves in that direction
                self.G[rows, -TRUNK:] = U - (1 - passed_on) * np.outer(left[:, 2], left[:, 2] @ U)
        X = random.normal(size=(TRUNK, TRUNK))
        self.M[-TRUNK:, -TRUNK:] = X @ X.T + np.eye(TRUNK)
        self.f, self.c = random.normal(size=SPEEDS), self.G @ random.normal(size=SPEEDS)

    def missed(self, solve: ca.Function) -> float:
        """How far a solution is from the equations."""
        a, lam = (np.array(x).ravel() for x in solve(self.M, self.G, self.f, self.c))
        forces = np.abs(self.M @ a + self.G.T @ lam - self.f).max() / np.abs(self.M @ a).max()
        return float(max(forces, np.abs(self.G @ a - self.c).max() / np.abs(self.c).max()))


@pytest.fixture(scope="module")
def solvers() -> tuple[ca.Function, ca.Function]:
    """Onto the trunk, and by rows alone."""
    example = System(0, LEGS, 0.5, 0.5)
    M, G = (ca.SX.sym("x", ca.sparsify(ca.DM(x)).sparsity()) for x in (example.M, example.G))
    f, c = ca.SX.sym("f", SPEEDS), ca.SX.sym("c", ROWS)
    trunk = trunk_of(M, G)
    assert trunk == list(range(OWN * LEGS, SPEEDS))
    ways = on_trunk(M, G, GROUPS, trunk), factorize_constrained(factorize(M, list(range(SPEEDS))), G, GROUPS)
    onto_trunk, by_rows = (ca.Function("f", [M, G, f, c], list(way.accelerations(f, c))) for way in ways)
    return onto_trunk, by_rows


@pytest.mark.parametrize("singular", [1, LEGS])
@pytest.mark.parametrize("least", [1.0, 1e-2, 1e-4, 1e-5, 1e-6, 1e-8, 0.0])
def test_legs_that_are_singular_alone_cost_no_accuracy(solvers, least, singular):
    for seed in range(10):
        assert System(seed, singular, least).missed(solvers[0]) < 1e-12


@pytest.mark.parametrize("singular", [1, LEGS])
@pytest.mark.parametrize("least", [1e-3, 1e-5, 1e-6, 1e-7, 0.0])
@pytest.mark.parametrize("passed_on", [1e-3, 1e-5, 1e-7, 0.0])
def test_where_rows_depend_on_each_other_it_is_as_accurate_as_rows_alone(solvers, least, passed_on, singular):
    """With μ the equations are missed by what both ways have in common; without rank, by round-off."""
    for seed in range(10):
        system = System(seed, singular, least, passed_on)
        onto_trunk, by_rows = (system.missed(solve) for solve in solvers)
        assert onto_trunk < 1e-12 + 2 * by_rows
        assert onto_trunk < 1e-12 or least + passed_on


def vector(x: np.ndarray) -> str:
    return "[" + ", ".join(f"{value:.12g}" for value in x) + "]"


def platform(
    seed: int, legs: int, knee: str = "prismatic", locked: tuple[int, ...] = (), foot_type: str = "universal"
) -> Mechanism:
    """A platform on random legs; those `locked` lie along the first axis of their feet."""
    random = np.random.default_rng(seed)
    bodies, joints = ["  platform: {mass: 8, com: [0, 0, 0.9], inertia: [0.5, 0.6, 0.9]}"], list[str]()
    for k in range(legs):
        angle = 2 * np.pi * (k + 0.3 * random.random()) / legs
        foot = np.array([0.6 * np.cos(angle), 0.6 * np.sin(angle), 0.1 * random.random()])
        ball = np.array([0.4 * np.cos(angle + 0.5), 0.4 * np.sin(angle + 0.5), 0.8])
        along = (ball - foot) / np.linalg.norm(ball - foot)
        axis = along if k in locked else np.cross(along, random.normal(size=3))
        across, slant = np.cross(axis, random.normal(size=3)), np.cross(along, random.normal(size=3))
        for name, part, mass in (("lower", 0.3, 3), ("upper", 0.7, 2)):
            centre = vector(foot + part * (ball - foot) + 0.02 * random.normal(size=3))
            bodies.append(f"  {name}{k}: {{mass: {mass}, com: {centre}, inertia: [0.05, 0.04, 0.03]}}")
        bent = along if knee == "prismatic" else slant
        middle = (foot + ball) / 2 + (0 if knee == "prismatic" else 0.1 * np.cross(slant, along))
        joints += [
            f"  foot{k}: {{type: {foot_type}, parent: ground, child: lower{k}, at: {vector(foot)}"
            + (f", axis: {vector(axis)}, across: {vector(across)}}}" if foot_type == "universal" else "}"),
            f"  leg{k}: {{type: {knee}, parent: lower{k}, child: upper{k}, at: {vector(middle)}, "
            f"axis: {vector(bent)}}}",
            f"  ball{k}: {{type: spherical, parent: upper{k}, child: platform, at: {vector(ball)}}}",
        ]
    return read("\n".join(["name: platform", "gravity: 9.81", "bodies:", *bodies, "joints:", *joints]))


def off(simulation: Simulation) -> float:
    """The accelerations beside those of all equations at once, solved numerically by singular values."""
    s = simulation
    M, G, right, gamma, _ = (np.array(x) for x in s.engine.functions.coefficients(*s.at))
    K = np.block([[M, G.T], [G, np.zeros((len(G), len(G)))]])
    wanted = np.linalg.lstsq(K, np.concatenate([right, gamma]).ravel(), rcond=1e-13)[0][: len(M)]
    return float(np.abs(s.accelerations()[0] - wanted).max() / np.abs(wanted).max())


PLATFORMS = list(product((3, 5, 6), ("prismatic", "revolute"), ("universal", "spherical")))


@pytest.mark.parametrize(("legs", "knee", "foot"), bulk(PLATFORMS, PLATFORMS[9:10]))
def test_random_platforms_move_as_all_their_equations_say(legs, knee, foot):
    for seed in range(2):
        s = Simulation(platform(seed, legs, knee, foot_type=foot), compile=False)
        chosen, speeds = way(s.equations), 6 if foot == "universal" else 7
        assert len(chosen.trunk or ()) == (speeds if legs > 3 else 0) and chosen.free.links
        assert off(s) < 1e-9
        s.run(0.05, step=1e-3)
        assert off(s) < 1e-9
        assert np.abs(s.engine.kernels.closure(s.q, s.s, s.p)[0]).max() < 1e-12


@pytest.mark.parametrize(
    "locked", [(1,), *(pytest.param(x, marks=pytest.mark.study) for x in ((1, 2, 4), (0,)))]
)
def test_legs_along_the_first_axis_of_their_feet_move_no_less_accurately(locked):
    """Such a leg lets its ball move in two directions alone: its block of A is singular."""
    s = Simulation(platform(5, 6, locked=locked), compile=False)
    assert way(s.equations).trunk
    assert off(s) < 1e-9
    before = s.energy()
    s.run(0.3, step=1e-3)
    assert abs(s.energy() - before) < 1e-6 * abs(before)


def test_fewer_operations_decide():
    """Rods tie no leg of their own, and planar loops have rows that no leg gives way to."""
    trunks = {
        name: way(Engine(name, compile=False).equations).trunk for name in ("hexapod", "stewart", "fourbar")
    }
    assert trunks == {"hexapod": [0, 1, 2, 18, 19, 20], "stewart": None, "fourbar": None}
