"""Linkages whose redundant rows are redundant on the manifold only: a step keeps its order there."""

from __future__ import annotations

from dataclasses import replace

import mechanisms
import numpy as np
import pytest
from cutjoint.model import Mechanism, Simulation, list_examples, load
from cutjoint.model.equations.terms import equations
from cutjoint.model.manifold.rank import grows_beside_manifold

MAKE = {"bricard": mechanisms.bricard, "bennett": mechanisms.bennett}


def end_of(mechanism: Mechanism, h: float) -> Simulation:
    simulation = Simulation(mechanism)
    energy = simulation.energy()
    simulation.run(2.0, h, record=["energy"])
    assert abs(simulation.energy() - energy - simulation.work) < 1e-7
    return simulation


@pytest.mark.parametrize("name", MAKE)
def test_a_millisecond_is_as_good_as_a_tenth_of_it(name: str) -> None:
    """Two seconds from rest under gravity across all axes: 5e-4 rad before the stages were projected."""
    mechanism = replace(MAKE[name](), gravity=(2.0, 3.0, -9.0))
    rough, fine = end_of(mechanism, 1e-3), end_of(mechanism, 1e-4)
    assert np.abs(fine.v).max() > 0.3
    assert np.abs(rough.q - fine.q).max() < 1e-9


@pytest.mark.parametrize("name", MAKE)
def test_such_linkages_are_recognised(name: str) -> None:
    assert grows_beside_manifold(equations(MAKE[name]()))


def test_planar_loops_pay_nothing() -> None:
    """Rows that keep a planar loop in its plane are redundant everywhere."""
    assert not any(grows_beside_manifold(equations(load(name))) for name in list_examples())
    assert not grows_beside_manifold(equations(mechanisms.four_bars(3)))
