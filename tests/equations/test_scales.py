"""Scales: the same motion in any units, and loops of any size beside each other."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import cycle, product
from math import pi

import numpy as np
import pytest
from bulk import bulk
from cutjoint import Body, Frame, Joint, Mechanism, Simulation, load
from cutjoint.model.joints.types import TYPES
from cutjoint.model.verify import scaling
from random_mechanisms import random_loop

FACTORS = [
    *((10.0**k, 1.0, 1.0) for k in (6, -6)),
    *((1.0, 10.0**k, 1.0) for k in (6, -6)),
    *((1.0, 1.0, 10.0**k) for k in (6, -6)),
    (1e-6, 1e-3, 1e2),
    (1e3, 1e6, 1e-3),
]
EXAMPLES = ["stewart", "hexapod", "fivebar", "mcpherson", "loader", "slider_crank", "delta", "parallel_robot"]
EXAMPLES += ["rolling_disc", "bicycle"]


def motion(mechanism: Mechanism, inputs: list[float], *by: float) -> np.ndarray:
    """Coordinates and speeds after 50 steps in the units of the unscaled mechanism."""
    return scaling.motion(mechanism, inputs, 1e-3, 50, *by)


@cache
def unscaled(name: str) -> np.ndarray:
    return motion(load(name), [1.0] * len(load(name).inputs()), 1.0, 1.0, 1.0)


# Every example in other units, and one in all of them.
EACH_RUN = {*zip(EXAMPLES, cycle(FACTORS), strict=False)}  # each example, and each factor


@pytest.mark.parametrize(("name", "by"), bulk(list(product(EXAMPLES, FACTORS)), EACH_RUN), ids=str)
def test_examples_move_the_same_in_any_units(name: str, by: tuple[float, float, float]) -> None:
    mechanism, reference = load(name), unscaled(name)
    assert (
        np.abs(motion(mechanism, [1.0] * len(mechanism.inputs()), *by) - reference).max()
        < 1e-9 * np.abs(reference).max()
    )


@pytest.mark.parametrize("seed", bulk(range(6), 1))
def test_random_loops_move_the_same_in_any_units(seed: int) -> None:
    mechanism = random_loop(seed)
    # the knee of friction is one number for turns and slides alike: such joints have no scale
    mixed = [j.name for j in mechanism.joints if len(set(TYPES[j.type].speed_units)) > 1]
    joints = (replace(j, friction=()) if j.name in mixed else j for j in mechanism.joints)
    mechanism = replace(mechanism, joints=tuple(joints))
    inputs = [1.0] * len(mechanism.inputs())
    reference = motion(mechanism, inputs, 1.0, 1.0, 1.0)
    for by in FACTORS:
        assert np.abs(motion(mechanism, inputs, *by) - reference).max() < 1e-8 * np.abs(reference).max(), by


def ring(name: str, size: float, mass: float, at: float) -> tuple[list[Body], list[Joint]]:
    """Seven hinges in a loop of seven bars, one of them the ground: one freedom, no row redundant."""
    random = np.random.default_rng(7)
    corners = (
        np.array([[np.cos(a), np.sin(a), 0.3 * np.sin(2 * a)] for a in 2 * pi * np.arange(7) / 7]) * size
    )
    axes = random.normal(size=(7, 3))
    turns = [_onto(axis / np.linalg.norm(axis)) for axis in axes]
    shift = np.array([at, 0.0, 0.0])
    bodies, joints = [], []
    for k in range(6):
        middle = (corners[k] + corners[k + 1]) / 2
        inertia = (0.1 * mass * size**2,) * 3 + (0.0,) * 3
        bodies.append(Body(f"{name}{k}", mass, tuple(middle), inertia))
    for k in range(7):
        parent = "ground" if k == 0 else f"{name}{k - 1}"
        child = "ground" if k == 6 else f"{name}{k}"
        on = [Frame(tuple(corners[k] + (shift if b == "ground" else 0)), turns[k]) for b in (parent, child)]
        joints.append(Joint(f"{name}_hinge{k}", "revolute", parent, child, *on, cut=k == 6 or None))
    return bodies, joints


def _onto(axis: np.ndarray) -> tuple[float, ...]:
    """Euler parameters that turn z onto an axis."""
    e = np.array([1 + axis[2], -axis[1], axis[0], 0.0])
    return tuple(e / np.linalg.norm(e))


@pytest.mark.parametrize(("size", "mass"), [(1e-2, 1e-3), (1e-3, 1e-6)])
def test_a_tiny_loop_beside_a_huge_one(size: float, mass: float) -> None:
    """10 t and 10 m beside 1 g and 1 cm, or 1 mg and 1 mm: each moves as if it were alone."""
    large, small = ring("large", 10.0, 1e4, 0.0), ring("small", size, mass, 100.0)
    described = Mechanism("both", (*large[0], *small[0]), (*large[1], *small[1]))
    both = Simulation(described, compile=False, stepper="single")  # sub-steps are for all
    both.run(0.05, 1e-3, record=["energy"])
    for bodies, joints in (large, small):
        alone = Simulation(Mechanism("alone", tuple(bodies), tuple(joints)), compile=False, stepper="single")
        alone.run(0.05, 1e-3, record=["energy"])
        where = [both.tree.q[name] for name in alone.tree.q]
        together = np.concatenate([both.q[place] for place in where])
        ours = np.concatenate([alone.q[place] for place in alone.tree.q.values()])
        assert np.abs(alone.q).max() > 1e-4
        assert np.abs(together - ours).max() < 1e-9 * np.abs(ours).max()
    assert np.abs(both.closure()[0]).max() < 1e-13 * 100
