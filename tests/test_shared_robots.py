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
from cutjoint.model.describe.mechanism import outer_name
from cutjoint.model.describe.yaml_text import parse
from cutjoint.model.loading import load_robot
from cutjoint.model.robots.translate import Wishes
from cutjoint.model.show.view import Viewer
from cutjoint.model.verify.motion import WatchedMotion, apart, moved
from fmu_tools import get, initialize, instance
from scipy.optimize import least_squares

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


# -- Pinocchio on the same files ---------------------------------------------------------------------------


@pytest.mark.parametrize("path", [p for p in FILES if p.parent.parent.name == "urdf_yaml"], ids=label)
def test_closed_loops_accelerate_as_pinocchio_says(path: Path) -> None:
    """Links of the tree are put where ours are, by least squares; then accelerations of all of them agree."""
    pin = pytest.importorskip("pinocchio")
    mechanism = load_robot(path).mechanism
    s = Simulation(mechanism, compile=False)
    s.run(0.1)
    model = pin.buildModelFromUrdf(str(path))
    data = model.createData()
    links = {outer_name(body): body.name for body in mechanism.bodies}
    frames = {name: model.getFrameId(name, pin.BODY) for name in links}
    poses, found = s.body_poses(), s.outputs()

    def off(dq: np.ndarray) -> np.ndarray:
        pin.framesForwardKinematics(model, data, pin.integrate(model, pin.neutral(model), dq))
        parts = []
        for name, k in frames.items():
            R, p = poses[links[name]]
            parts += [data.oMf[k].translation - p, (data.oMf[k].rotation - R).ravel()]
        return np.concatenate(parts)

    fit = least_squares(off, np.zeros(model.nv), xtol=1e-15, ftol=1e-15, gtol=1e-15)
    assert np.abs(fit.fun).max() < 1e-9
    q = pin.integrate(model, pin.neutral(model), fit.x)
    axes = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
    J = np.vstack([pin.computeFrameJacobian(model, data, q, k, axes) for k in frames.values()])
    what = ("velocity", "angular_velocity")
    twists = np.concatenate([found[f"body.{body}.{x}"] for body in links.values() for x in what])
    v = np.linalg.lstsq(J, twists, rcond=None)[0]
    assert np.abs(J @ v - twists).max() < 1e-9 * np.abs(twists).max()
    beside = parse(path.with_suffix(".yaml").read_text()).values
    loops, kept = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
    for pair, kind in zip(beside["closed_loop"], beside["type"], strict=True):
        ends = [model.frames[model.getFrameId(name)] for name in pair]
        sides = [x for end in ends for x in (end.parentJoint, end.placement)]
        contact = pin.ContactType.CONTACT_3D if kind == "3d" else pin.ContactType.CONTACT_6D
        loops.append(pin.RigidConstraintModel(contact, model, *sides, pin.ReferenceFrame.LOCAL))
        kept.append(loops[-1].createData())
    pin.initConstraintDynamics(model, data, loops, kept)
    settings = pin.ProximalSettings(1e-15, 1e-10, 200)
    friction = {outer_name(j): j for j in mechanism.joints if any((*j.damping, *j.friction))}
    assert not friction
    a = pin.constraintDynamics(model, data, q, v, 0 * v, list(loops), list(kept), settings)
    pin.forwardKinematics(model, data, q, v, a)
    pin.updateFramePlacements(model, data)
    theirs = {n: pin.getFrameClassicalAcceleration(model, data, k, axes).linear for n, k in frames.items()}
    size = max(float(np.abs(x).max()) for x in theirs.values())
    worst = max(float(np.abs(found[f"body.{links[n]}.acceleration"] - x).max()) for n, x in theirs.items())
    print(f"{label(path):52} accelerations {size:9.3f}, apart from Pinocchio's {worst / size:.1e}")
    assert worst < 1e-8 * size
