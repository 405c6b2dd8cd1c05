"""Linkages whose redundant rows are redundant on the manifold only: a step keeps its order there."""

from __future__ import annotations

from dataclasses import replace

import mechanisms
import numpy as np
import pytest
from cutjoint import Mechanism, Simulation, list_examples, load
from cutjoint.model.engine import Engine
from cutjoint.model.equations.least_reactions import exertable, sharing
from cutjoint.model.equations.terms import equations
from cutjoint.model.manifold.rank import grows_beside_manifold
from cutjoint.model.run.assembly import consistent_speeds
from scipy.linalg import null_space

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
    assert np.abs(rough.q - fine.q).max() < 2e-9


@pytest.mark.parametrize("name", MAKE)
def test_such_linkages_are_recognised(name: str) -> None:
    assert grows_beside_manifold(equations(MAKE[name]()))


def test_planar_loops_pay_nothing() -> None:
    """Rows that keep a planar loop in its plane are redundant everywhere."""
    assert not any(grows_beside_manifold(equations(load(name))) for name in list_examples())
    assert not grows_beside_manifold(equations(mechanisms.four_bars(3)))


def with_cut(mechanism: Mechanism, name: str) -> Mechanism:
    """The same with another joint cut; its pose is to be given by joints that are held."""
    joints = tuple(replace(j, cut=j.name == name or None, start=(), speed=()) for j in mechanism.joints)
    return replace(mechanism, joints=joints)


@pytest.mark.parametrize("linkage", [mechanisms.four_bars(1), mechanisms.four_bars(2), mechanisms.bennett()])
def test_reactions_do_not_depend_on_the_cut(linkage: Mechanism) -> None:
    """Weight across a planar loop was carried by one side or by the other, 100 to 0."""
    linkage = replace(linkage, gravity=(1.0, -9.81, -5.0))
    s = Simulation(linkage, compile=False)
    s.run(0.1, record=[])
    y = s.outputs()
    names = [n for n in y if n.startswith("reaction.")]
    assert s.topology().not_unique
    for joint in linkage.joints:
        engine = Engine(with_cut(linkage, joint.name), compile=False)
        assert joint.name in engine.tree.cut_names
        other = Simulation(engine, start={j: [y[f"joint.{j}.position"]] for j in engine.tree.q})
        first = next(iter(engine.tree.v))
        speeds = {first: np.array([y[f"joint.{first}.velocity"]])}
        other.state = replace(other.state, v=consistent_speeds(engine, other.state, speeds))
        z = other.outputs()
        assert max(np.abs(z[n] - y[n]).max() for n in names) < 1e-7


def test_weight_across_a_plane_is_shared() -> None:
    """A symmetric four-bar with gravity across its plane: both sides carry half, whichever joint is cut."""
    s = Simulation(replace(mechanisms.four_bars(1, speed=0.0), gravity=(0.0, 0.0, -9.81)), compile=False)
    y = s.outputs()
    assert y["reaction.base0.force"][2] == pytest.approx(1.5 * 9.81)
    assert y["reaction.base1.force"][2] == pytest.approx(1.5 * 9.81)
    assert y["reaction.pin0.force"][2] == pytest.approx(0.5 * 9.81)


def test_what_is_unique_of_planar_reactions() -> None:
    """A planar loop says that forces in its plane are unique, and moments about the plane's normal."""
    found = Simulation("fourbar", compile=False).topology().unique
    assert set(found.values()) == {("across y", "about y")} and len(found) == 4
    assert Simulation("stewart", compile=False).topology().unique == {}


@pytest.mark.parametrize("linkage", [mechanisms.four_bars(1), mechanisms.bennett()])
def test_unique_reactions_are_met_by_stresses_of_no_loop(linkage: Mechanism) -> None:
    """What cuts elsewhere may change without `least_reactions` are directions that are said to be open."""
    s = Simulation(linkage, compile=False)
    E, W = (np.array(x) for x in exertable(s.equations)(s.q, s.p))
    stress = W @ null_space(E)
    assert stress.shape[1] == s.topology().rows - s.topology().rank_here
    names = sharing(s.equations)
    for name, (force, moment) in s.topology().unique.items():
        part = stress.reshape(len(names), 2, 3, -1)[names.index(name)]
        for how, open_to in ((force, part[0]), (moment, part[1])):
            kept = {"none": 0, "all": 3}.get(how, 2 if how.startswith("across") else 1)
            assert np.linalg.matrix_rank(open_to, tol=1e-6) == 3 - kept
