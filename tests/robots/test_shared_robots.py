"""Robots of others, where their files are at hand: each is loaded, closed, simulated, exported and shown.

The files are not ours and not part of this project: the folder `shared/robots` beside it, or what
CUTJOINT_ROBOTS names. `make study` prints the table; times in it are of the processor.
"""

from __future__ import annotations

import os
import re
from array import array
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from cutjoint import Simulation
from cutjoint.fmu.export import export
from cutjoint.model.cli.main import main
from cutjoint.model.describe.mechanism import outer_name
from cutjoint.model.describe.yaml_text import parse
from cutjoint.model.joints.euler import rotation
from cutjoint.model.joints.types import TYPES
from cutjoint.model.robots.load_robot import load_robot
from cutjoint.model.robots.read_mjcf import _without_meshes
from cutjoint.model.robots.translate import ImportOptions
from cutjoint.model.verify.motion import WatchedMotion, apart, move
from cutjoint.model.view.cli import find_port
from cutjoint.model.view.view import Viewer
from fmu_tools import get, initialize, instance, names, put
from ros_client import Client, new_domain, node
from scipy.optimize import least_squares
from scipy.spatial.transform import Rotation
from std_msgs.msg import Float64MultiArray
from test_import_peers import placed, terms

FOLDER = Path(os.environ.get("CUTJOINT_ROBOTS") or Path(__file__).parents[3] / "shared" / "robots")
FILES = sorted(p for p in FOLDER.rglob("*") if p.suffix in (".urdf", ".xml", ".sdf"))
pytestmark = [
    pytest.mark.study,
    pytest.mark.timeout(3600),  # FMUs of the large ones are compiled, and the machine may have other work
    pytest.mark.skipif(not FILES, reason="no robots beside the project"),
]
SIDEWAYS = (5.0, -8.0, 0.0)  # for what lies flat: hinges along gravity do not feel it
HEAD = "{:52}{:>5}{:>4}{:>5}{:>5}{:>5}{:>7}{:>8}{:>9}{:>9}{:>9}{:>7}"


@pytest.fixture(scope="module", autouse=True)
def head():
    words = "file body nv rows rank free load/s start/s gap energy moved fmu/s"
    print("\n" + HEAD.format(*words.split()))


def label(path: Path) -> str:
    return str(path.relative_to(FOLDER)) if path else "none"


def those(wanted: Callable[[Path], bool] = lambda path: True) -> pytest.MarkDecorator:
    """A test for each file of a kind; a skipped one where there are none."""
    skip = pytest.param(None, marks=pytest.mark.skip(reason="no robots beside the project"))
    return pytest.mark.parametrize("path", list(filter(wanted, FILES)) or [skip], ids=label)


def cpu() -> float:
    """Seconds of this process and of the compilers that it has waited for."""
    return sum(os.times()[:4])


def lost(simulation: Simulation, motion: WatchedMotion) -> float:
    """Energy not accounted for, of the scale of energies: the weight over the size, or what was exchanged."""
    energy, kinetic = (motion.read(simulation, name) for name in ("energy", "energy_kinetic"))
    work = np.array([state.work for state in motion.states])
    mechanism, size = simulation.mechanism, simulation.equations.scales.length
    weight = np.linalg.norm(mechanism.gravity) * sum(body.mass for body in mechanism.bodies)
    scale = max(weight * size, kinetic.max() + np.ptp(energy - kinetic) + np.abs(work).max())
    return float(np.abs(energy - energy[0] - work + work[0]).max() / scale)


@those()
def test_it_loads_closes_swings_and_is_exported_and_shown(path: Path, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))  # compiled anew
    began = cpu()
    mechanism, _ = load_robot(path, ImportOptions(base="fixed"))
    loaded = cpu()
    simulation = Simulation(mechanism)
    gap = float(np.abs(simulation.closure()[0]).max(initial=0.0))
    assert gap < 1e-12
    if np.abs(simulation.accelerations()[0]).max() < 1e-9:
        mechanism = mechanism.with_gravity(SIDEWAYS)
        simulation = Simulation(mechanism)
    simulation.step(1e-3)
    ready = cpu()
    simulation.reset()
    motion = move(simulation, simulation.state, 1000, 1e-3, lambda part: None, finer=4)
    energy = lost(simulation, motion)
    swung = apart(simulation, motion.states[-1:], motion.states[:1])
    found = simulation.topology()
    began_fmu = cpu()
    plan = export(mechanism, tmp_path / "robot.fmu", picture=True)
    exported = cpu() - began_fmu
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
    viewer = Viewer(Simulation(mechanism, compile=False), find_port(None), 0.05)
    viewer.close()


# -- Pinocchio on the same files ---------------------------------------------------------------------------


@those(lambda path: path.parent.parent.name == "urdf_yaml")
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


@those(lambda path: path.suffix == ".xml")
def test_open_trees_are_mujocos(path: Path) -> None:
    """Mass matrix and bias of all hinges and slides, at random places of them."""
    mujoco = pytest.importorskip("mujoco")
    spec = mujoco.MjSpec.from_file(str(path))
    _without_meshes(mujoco, spec, path.parent)
    m = spec.compile()
    d = mujoco.MjData(m)
    s = Simulation(load_robot(path).mechanism, compile=False)
    singles = [j for j in range(m.njnt) if m.jnt_type[j] in (2, 3)]
    theirs = [m.joint(j).name for j in singles]
    ours = {outer_name(joint): joint.name for joint in s.mechanism.joints}
    mine = [ours[name] for name in theirs]
    random, worst = np.random.default_rng(2), 0.0
    for _ in range(3):
        at = [int(m.jnt_qposadr[j]) for j in singles]
        dofs = [int(m.jnt_dofadr[j]) for j in singles]
        d.qpos[:], d.qvel[:] = m.qpos0, 0.0
        for j, k in zip(singles, at, strict=True):
            low, high = m.jnt_range[j] if m.jnt_limited[j] else (-1.0, 1.0)
            d.qpos[k] = random.uniform(low + 0.1 * (high - low), high - 0.1 * (high - low))
        d.qvel[dofs] = random.normal(size=len(dofs))
        mujoco.mj_forward(m, d)
        placed(s, mine, d.qpos[at], d.qvel[dofs])
        M, bias = terms(s, mine)
        full = np.zeros((m.nv, m.nv))
        try:
            mujoco.mj_fullM(m, d, full)
        except TypeError:  # older releases take the packed matrix
            mujoco.mj_fullM(m, full, d.qM)
        wanted = full[np.ix_(dofs, dofs)]
        force = (d.qfrc_bias - d.qfrc_passive - d.qfrc_actuator)[dofs]
        worst = max(worst, np.abs(M - wanted).max() / np.abs(wanted).max())
        if not (m.actuator_trntype == 3).any():  # a servo on a sum of coupled joints acts on one of them here
            worst = max(worst, np.abs(bias - force).max() / np.abs(force).max())
    print(f"{label(path):52} mass matrix and bias apart from MuJoCo's by {worst:.1e}")
    assert worst < 1e-10


def opened(text: str) -> str:
    """A URDF without what closes its loops, resists or stops its joints."""
    text = re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL)
    for tag in ("loop", "coupling", "dynamics", "joint_properties", "mimic", "collision", "visual"):
        text = re.sub(
            rf"<{tag}\b[^>]*/>|<{tag}\b[^>]*[^/]>.*?</{tag}>|<{tag}>.*?</{tag}>", "", text, flags=re.DOTALL
        )
    return re.sub(
        r'\b(lower|upper)\s*=\s*"[^"]*"', lambda m: f'{m[1]}="{-99 if m[1] == "lower" else 99}"', text
    )


@those(lambda path: path.suffix == ".urdf")
def test_open_trees_are_pinocchios(path: Path, tmp_path: Path) -> None:
    """The same of URDF, without what closes its loops, for all joints: of hinges that are a ball of ours too.

    With the twists J v = J' v' of all bodies, v' = T v, and so M = Tᵀ M' T, h = Tᵀ (M' a' + h'), where a' are
    our accelerations that go with none of theirs.
    """
    pin = pytest.importorskip("pinocchio")
    text = opened(path.read_text())
    (tmp_path / "tree.urdf").write_text(text)
    model = pin.buildModelFromXML(text)
    data = model.createData()
    s = Simulation(load_robot(tmp_path / "tree.urdf").mechanism, compile=False)
    assert not s.tree.row_count
    links = {outer_name(body): body.name for body in s.mechanism.bodies}
    frames = {name: model.getFrameId(name, pin.BODY) for name in links}
    axes = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
    random, worst = np.random.default_rng(3), 0.0

    def twists(found: dict, what: tuple[str, str]) -> np.ndarray:
        return np.concatenate([found[f"body.{body}.{x}"] for body in links.values() for x in what])

    for _ in range(3):
        q = pin.integrate(model, pin.neutral(model), random.uniform(-1, 1, model.nv))
        v = random.normal(size=model.nv)
        pin.forwardKinematics(model, data, q, v, 0 * v)
        pin.updateFramePlacements(model, data)
        posed(s, {links[name]: (data.oMf[k].rotation, data.oMf[k].translation) for name, k in frames.items()})
        J = np.vstack([pin.computeFrameJacobian(model, data, q, k, axes) for k in frames.values()])
        mine = np.zeros((len(J), s.tree.nv))
        for k, unit in enumerate(np.eye(s.tree.nv)):
            s.put(replace(s.state, v=unit))
            mine[:, k] = twists(s.outputs(), ("velocity", "angular_velocity"))
        T = np.linalg.lstsq(mine, J, rcond=None)[0]
        assert np.abs(mine @ T - J).max() < 1e-11 * np.abs(J).max()
        s.put(replace(s.state, v=T @ v))
        moving = twists(s.outputs(), ("acceleration", "angular_acceleration"))
        drift = moving - mine @ s.accelerations()[0]
        both = [pin.getFrameClassicalAcceleration(model, data, k, axes) for k in frames.values()]
        rest = np.concatenate([x for each in both for x in (each.linear, each.angular)])
        a = np.linalg.lstsq(mine, rest - drift, rcond=None)[0]
        M, _, right, _, _ = s.engine.kernels.coefficients(*s.at)
        wanted = pin.crba(model, data, q)
        wanted = np.triu(wanted) + np.triu(wanted, 1).T
        force = pin.rnea(model, data, q, v, 0 * v)
        size = np.abs(wanted).max()
        worst = max(worst, np.abs(T.T @ M @ T - wanted).max() / size)
        worst = max(worst, np.abs(T.T @ (M @ a - right) - force).max() / max(np.abs(force).max(), size))
    print(f"{label(path):52} mass matrix and bias apart from Pinocchio's by {worst:.1e}")
    assert worst < 1e-10


def posed(s: Simulation, poses: dict[str, tuple[np.ndarray, np.ndarray]]) -> None:
    """Put the joints of a tree where bodies are, each measured from the poses of its two ends."""
    q = s.q.copy()
    poses = poses | {"ground": (np.eye(3), np.zeros(3))}
    for joint in s.mechanism.joints:
        (A, a), (B, b) = poses[joint.parent], poses[joint.child]
        on, off = (rotation(side.orientation) for side in (joint.on_parent, joint.on_child))
        R = (A @ on).T @ B @ off
        p = (A @ on).T @ (
            b + B @ np.array(joint.on_child.position) - a - A @ np.array(joint.on_parent.position)
        )
        e = Rotation.from_matrix(R).as_quat()[[3, 0, 1, 2]]
        q[s.tree.q[joint.name]] = [float(x) for x in TYPES[joint.type].measure(R, p, e, joint)]
    s.put(replace(s.state, q=q))


# -- a real platform ----------------------------------------------------------------------------------------


@those(lambda path: path.name == "stewart.sdf")
def test_a_platform_is_driven_by_its_pistons_as_fmu_and_as_ros_node(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Six freedoms, and pistons that lift it: FMU, node and engine agree."""
    monkeypatch.setattr("processes.PATIENCE", 1200)  # seconds: the node compiles it first
    wishes = ImportOptions(base="fixed", drive=("piston?_prismatic_joint",))
    mechanism = load_robot(path, wishes).mechanism
    assert len(mechanism.motors) == 6
    target = tmp_path / "platform.yaml"
    words = ["import", str(path), "--base", "fixed", "--drive", *wishes.drive, "-o", str(target)]
    assert main(words) == 0
    s = Simulation(str(target))
    assert s.topology().mobility == 6
    held = s.inverse_dynamics()
    push = [float(x) + 4.0 for x in held]
    domain = new_domain()
    words = ["--mode", "lock_step", "--rate", "500"]
    with node(domain, str(target), *words) as process, Client(domain) as client:
        client.ready(process)
        export(str(target), tmp_path / "platform.fmu", step=2e-3, picture=False)
        with instance(tmp_path / "platform.fmu") as fmu:
            initialize(fmu)
            put(fmu, dict(zip(names(fmu, "input"), push, strict=True)))
            s.set_inputs(push)
            for k in range(100):
                client.commands.publish(Float64MultiArray(data=array("d", push)))
                s.step(2e-3)
                fmu.doStep(k * 2e-3, 2e-3)
                client.until(lambda: len(client.states) > k, f"joint state {k}")  # noqa: B023
            wanted = s.outputs()
            lifted = wanted["body.platform_link.position"]
            found = get(fmu, [f"body.platform_link.position[{k}]" for k in (1, 2, 3)])
        state = dict(zip(client.states[99].name, client.states[99].position, strict=True))
        assert process.stop() == 0, process.output
    np.testing.assert_allclose(found, lifted, atol=1e-9)
    for motor in s.mechanism.motors:
        assert state[outer_name(s.mechanism.joint(motor.joint))] == pytest.approx(
            float(wanted[f"joint.{motor.joint}.position"]), abs=1e-9
        )
    print(f"platform lifted to {lifted}, loops closed to {float(wanted['loop.residual']):.1e}")
