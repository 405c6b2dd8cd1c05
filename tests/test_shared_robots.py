"""Robots of others, where their files are at hand: each is loaded, closed, simulated, exported and shown.

The files are not ours and not part of this project: the folder `shared/robots` beside it, or what
CUTJOINT_ROBOTS names. `make study` prints the table.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

import numpy as np
import pytest
from cutjoint.fmu.export import export
from cutjoint.model import Simulation
from cutjoint.model.cli.view import find_port
from cutjoint.model.loading import load_robot
from cutjoint.model.robots.translate import Wishes
from cutjoint.model.show.view import Viewer
from cutjoint.model.verify.motion import WatchedMotion, apart, moved
from fmu_tools import get, initialize, instance

FOLDER = Path(os.environ.get("CUTJOINT_ROBOTS") or Path(__file__).parents[2] / "shared" / "robots")
FILES = sorted(p for p in FOLDER.rglob("*") if p.suffix in (".urdf", ".xml", ".sdf"))
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not FILES, reason="no robots beside the project"),
]
SIDEWAYS = (0.0, -9.81, 0.0)  # for what lies flat: hinges along gravity do not feel it
HEAD = "{:52}{:>5}{:>4}{:>5}{:>5}{:>5}{:>7}{:>8}{:>9}{:>9}{:>9}{:>7}"


@pytest.fixture(scope="module", autouse=True)
def head():
    words = "file body nv rows rank free load/s start/s gap energy moved fmu/s"
    print("\n" + HEAD.format(*words.split()))


def label(path: Path) -> str:
    return str(path.relative_to(FOLDER))


def lost(simulation: Simulation, motion: WatchedMotion) -> float:
    """Energy not accounted for, of the scale of energies: the weight over the size, or what was exchanged."""
    energy, kinetic = (motion.read(simulation, name) for name in ("energy", "energy_kinetic"))
    work = np.array([state.work for state in motion.states])
    mechanism, size = simulation.mechanism, simulation.equations.scales.length
    weight = np.linalg.norm(mechanism.gravity) * sum(body.mass for body in mechanism.bodies)
    scale = max(weight * size, kinetic.max() + np.ptp(energy - kinetic) + np.abs(work).max())
    return float(np.abs(energy - energy[0] - work + work[0]).max() / scale)


@pytest.mark.parametrize("path", FILES, ids=label)
def test_it_loads_closes_swings_and_is_exported_and_shown(path: Path, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))  # compiled anew
    began = time.perf_counter()
    mechanism, _ = load_robot(path, Wishes(base="fixed"))
    loaded = time.perf_counter()
    simulation = Simulation(mechanism)
    gap = float(np.abs(simulation.closure()[0]).max(initial=0.0))
    assert gap < 1e-12
    if np.abs(simulation.accelerations()[0]).max() < 1e-9:
        mechanism = mechanism.with_gravity(SIDEWAYS)
        simulation = Simulation(mechanism)
    simulation.step(1e-3)
    ready = time.perf_counter()
    simulation.reset()
    motion = moved(simulation, simulation.state, 1000, 1e-3, lambda part: None, finer=2)
    energy = lost(simulation, motion)
    swung = apart(simulation, motion.states[-1:], motion.states[:1])
    found = simulation.topology()
    began_fmu = time.perf_counter()
    plan = export(mechanism, tmp_path / "robot.fmu", picture=True)
    exported = time.perf_counter() - began_fmu
    with instance(tmp_path / "robot.fmu") as fmu:
        initialize(fmu)
        for k in range(1000):
            fmu.doStep(k * 1e-3, 1e-3)
        residual, total = get(fmu, ["loop.residual", "energy"])
    numbers = (len(mechanism.bodies), simulation.tree.nv, found.rows, found.rank, found.mobility)
    times = f"{loaded - began:.2f}", f"{ready - loaded:.1f}"
    measured = f"{gap:.0e}", f"{energy:.0e}", f"{swung:.3f}"
    print(HEAD.format(label(path), *numbers, *times, *measured, f"{exported:.1f}"))
    assert plan is not None and energy < 1e-6 and swung > 1e-9
    assert residual < 1e-12
    ours = motion.read(simulation, "energy")[-1]
    assert total == pytest.approx(ours, abs=1e-4 * max(abs(ours), 1.0))
    viewer = Viewer(Simulation(mechanism, compile=False), find_port(None), {}, 0.05)
    viewer.close()
