"""Formulations and stabilizations: the same accelerations, the same motion, and what sets them apart."""

from __future__ import annotations

import mechanisms
import numpy as np
import pytest
from bulk import bulk
from cutjoint import CutjointError, Simulation, SimulationError
from cutjoint.papers.methods import MethodSimulation
from cutjoint.papers.methods.method import Method
from test_thesis_charts import AUTOMATIC, moving

WAYS = [("multipliers", "partition"), ("svd", "partition"), *(("null_space", kind) for kind in AUTOMATIC)]


@pytest.mark.parametrize("seed", bulk([k for k in range(17) if k != 13], 8))  # 13 starts near a singular pose
def test_same_accelerations_at_regular_states(seed: int) -> None:
    s = moving(seed)
    default, _ = s.accelerations()
    singular = np.linalg.svd(s.closure()[1], compute_uv=False)
    rank = Method(s).rank
    assert singular[rank - 1] > 1e-3 * singular[0], "a regular state is wanted here"
    for formulation, chart in WAYS:
        dv, _ = Method(s, formulation, "none", chart).accelerate(s.q, s.v)
        assert np.abs(dv - default).max() < 1e-9 * max(1.0, np.abs(default).max()), (formulation, chart)


def test_multipliers_of_least_norm_where_rows_are_redundant() -> None:
    """Bricard's linkage: λ of the default is the one of least norm, and its joints are marked.

    The norm has no units: rows are weighed by the mean diagonal of G M⁻¹Gᵀ over their group.
    """
    s = Simulation(mechanisms.bricard())
    s.run(0.5, 1e-3)
    dv, lam = s.accelerations()
    M, G, right, _, _ = s.engine.kernels.coefficients(*s.at)
    diagonal, weight = np.diag(G @ np.linalg.solve(M, G.T)), np.zeros(len(G))
    for group in s.equations.scales.groups:
        weight[list(group)] = diagonal[list(group)].mean()
    least = np.linalg.lstsq(G.T / np.sqrt(weight), right - M @ dv, rcond=1e-9)[0] / np.sqrt(weight)
    assert np.abs(lam - least).max() < 1e-4 * np.abs(least).max()
    assert s.topology().not_unique == tuple(f"hinge{k}" for k in range(6))
    assert Simulation("stewart").topology().not_unique == ()


@pytest.mark.parametrize(("formulation", "chart"), WAYS)
def test_same_trajectories(formulation: str, chart: str) -> None:
    """The platform under torques and the five-bar up to its first singularity."""
    for name, torque, duration in (("stewart", 10.0, 0.06), ("fivebar", 0.0, 0.3)):
        a = Simulation(name)
        b = MethodSimulation(name, formulation=formulation, chart=chart)
        for s in (a, b):
            s.set_inputs([torque] * len(s.inputs))
            s.run(duration, 2e-3)
        assert np.abs(a.q - b.q).max() < 1e-8
        assert np.abs(a.v - b.v).max() < 1e-6
        assert abs(a.work - b.work) < 1e-8


def test_five_bar_from_its_singular_pose() -> None:
    """Paper 004, example 1: no stabilization; it falls, bobs and comes back at 2.825 s."""
    s = MethodSimulation(mechanisms.five_bar(mechanisms.SINGULAR), formulation="svd", stabilization="none")
    assert s.topology().rank_here == 1 and s.topology().rank == 2
    record = ["energy", "loop.residual", "singularity.distance", "singularity.rank"]
    t = s.run(2.9, 1e-3, record=record)
    late = t.time > 2.0
    assert t["singularity.rank"][0] == 1 and t["singularity.rank"][500] == 2
    back = t.time[late][np.argmin(t["singularity.distance"][late])]
    assert abs(back - 2.825) < 2e-3
    assert t["loop.residual"].max() < 1e-8
    assert np.abs(t["energy"] - t["energy"][0]).max() < 1e-5


def drift(stabilization: str, push: float) -> tuple[float, float]:
    """Loop residual and energy drift after 0.5 s of the five-bar at a coarse step, started off the loops."""
    s = MethodSimulation("fivebar", formulation="svd", stabilization=stabilization)
    s.q[0] += push
    start = s.energy()
    s.run(0.5, 2e-2, record=["energy"])
    return float(np.abs(s.closure()[0]).max()), abs(s.energy() - start)


def test_stabilizations_do_what_they_say() -> None:
    """An open loop stays open, is pulled shut in its own time, or is shut at once."""
    none, baumgarte = drift("none", 1e-4)[0], drift("baumgarte", 1e-4)[0]
    assert none > 5e-5
    assert baumgarte < 0.2 * none
    projection, energy = drift("projection", 0.0), drift("energy", 0.0)
    assert projection[0] < 1e-11 and energy[0] < 1e-11
    assert energy[1] < 1e-8 < projection[1]


def test_energy_projection_survives_both_crossings_of_the_five_bar() -> None:
    """Near the singularity it must move along directions that a coarser rank would call lost."""
    s = MethodSimulation("fivebar", formulation="svd", stabilization="energy")
    s.method().most_substeps = 1
    t = s.run(2.0, 1e-3, record=["energy"])
    assert np.abs(t["energy"] - t["energy"][0]).max() < 1e-7


@pytest.mark.parametrize("formulation", ["default", "svd", "null_space"])
@pytest.mark.parametrize("loops", [1, 2])
def test_energy_projection_passes_line_ups_of_four_bars(formulation: str, loops: int) -> None:
    """Where the rods line up no small step restores the energy: it ended in NumPy's words."""
    four_bars = mechanisms.four_bars(loops)
    s = MethodSimulation(four_bars, formulation=formulation, stabilization="energy", compile=False)
    t = s.run(3.0, 2e-3, record=["energy", "loop.residual"])
    assert np.abs(t["energy"] - t["energy"][0]).max() < 1e-7
    assert t["loop.residual"].max() < 1e-10


def test_energy_projection_counts_the_work_done() -> None:
    a = MethodSimulation("stewart", formulation="svd", stabilization="energy")
    a.set_inputs([10.0] * 3)
    start = a.energy()
    a.run(0.1, 2e-3)
    assert a.work > 1e-3
    assert abs(a.energy() - start - a.work) < 1e-8


def test_unknown_names_list_the_known_ones() -> None:
    for what in ("formulation", "stabilization", "stepper", "chart"):
        with pytest.raises(SimulationError, match=f"no {what} 'best'; known: "):
            MethodSimulation("fivebar", **{what: "best"})
    with pytest.raises(SimulationError, match="leave both at their defaults"):
        MethodSimulation("fivebar", stepper="implicit", formulation="svd")
    with pytest.raises(SimulationError, match="known: fixed, variable, local"):
        Simulation("fivebar").run(0.1, method="best")
    with pytest.raises(SimulationError, match="is cut and has no speed of its own"):
        MethodSimulation(mechanisms.five_bar(), chart="chosen", coordinates=["left", "right"])
    with pytest.raises(CutjointError, match="no joint 'nope'; known: left, elbow1"):
        MethodSimulation(mechanisms.five_bar(), coordinates=["nope"])
