"""Mechanisms in the formats of others: what is written reads back as the same motion; peers read it too."""

from __future__ import annotations

import functools
import shlex
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from bulk import bulk
from cutjoint import Joint, Mechanism, Simulation, load
from cutjoint.model.cli.main import main
from cutjoint.model.control.joint_values import JointValues
from cutjoint.model.robots.convert_cli import convert
from cutjoint.model.robots.load_robot import load_robot
from cutjoint.model.robots.translate import ImportOptions
from random_mechanisms import random_coupled
from robot_files import DIALECTS

TARGETS = [("urdf", "yaml"), ("urdf", "loop"), ("urdf", "closing"), ("xml", "yaml"), ("sdf", "yaml")]
# Hinges alone can be said by frames named closing_...; balls can't.
QUICK, SLOW = ("fourbar", "slider_crank", "belt_picker"), ("stewart", "hexapod", "loader", "parallel_robot")
EXACT = [
    pytest.param(name, *target, marks=[pytest.mark.study] * (name in SLOW))
    for name in QUICK + SLOW
    for target in TARGETS
    if target[1] != "closing" or name not in ("stewart", "hexapod", "slider_crank")
]


@functools.cache
def posed(name: str) -> Mechanism:
    """An example away from where it is drawn, at rest."""
    simulation = Simulation(name, compile=False)
    simulation.run(0.1)
    found = simulation.outputs()
    described = replace(load(name), parameters={}, outputs={})
    start = {
        j.name: np.atleast_1d(found[f"joint.{j.name}.position"])
        for j in described.joints
        if f"joint.{j.name}.position" in found
    }
    still = tuple(replace(joint, speed=()) for joint in described.joints)
    return replace(described, joints=still).with_start(start)


def read_back(mechanism: Mechanism, target: Path, loops: str) -> tuple[Mechanism, list[str]]:
    """What our reader makes of what our writer says, from the same start."""
    _, notes = convert(mechanism, target, loops)
    wishes = ImportOptions()
    if target.suffix == ".sdf":
        given = next((note for note in notes if "--drive" in note), "--drive ").partition("--drive ")[2]
        wishes = ImportOptions(drive=tuple(shlex.split(given)) if given else None)
    elif target.suffix == ".urdf" and loops != "yaml":
        values = JointValues(Simulation(mechanism, compile=False))
        values.read()
        written = target.read_text()
        places = dict(zip(values.names, values.position.tolist(), strict=True))
        wishes = ImportOptions(
            start={name: x for name, x in places.items() if f'<joint name="{name}"' in written}
        )
    return load_robot(target, wishes).mechanism, notes


def far(one: Mechanism, other: Mechanism) -> float:
    """The largest difference in accelerations and places of bodies, at the start and later."""
    a, b = (Simulation(mechanism, compile=False) for mechanism in (one, other))
    assert len(a.inputs) == len(b.inputs)
    worst = 0.0
    for seconds in (0.0, 0.02):
        for s in (a, b):
            s.set_inputs([0.3 * (k + 1) for k in range(len(s.inputs))])
            s.run(seconds)
        x, y = a.outputs(), b.outputs()
        for what in ("acceleration", "angular_acceleration", "position"):
            keys = [f"body.{body.name}.{what}" for body in one.bodies]
            size = max(float(np.abs(x[key]).max()) for key in keys)
            worst = max(worst, *(float(np.abs(x[key] - y[key]).max()) / max(size, 1e-3) for key in keys))
    return worst


@pytest.mark.parametrize(("name", "ending", "loops"), EXACT)
def test_there_and_back_is_the_same_motion(name: str, ending: str, loops: str, tmp_path: Path) -> None:
    mechanism = posed(name)
    again, _ = read_back(mechanism, tmp_path / f"robot.{ending}", loops)
    assert far(mechanism, again) < 1e-10


@pytest.mark.parametrize("name", ["belt_picker", "gripper", "delta", "mcpherson"])
def test_our_own_format_says_everything(name: str, tmp_path: Path) -> None:
    target = tmp_path / "robot.yaml"
    assert convert(load(name), target)[1] == []
    assert load(target) == load(name)


@pytest.mark.parametrize(("ending", "loops"), [("xml", "yaml"), ("sdf", "yaml")])
def test_couplings_and_springs_are_kept(ending: str, loops: str, tmp_path: Path) -> None:
    mechanism = posed("gripper")
    again, _ = read_back(mechanism, tmp_path / f"robot.{ending}", loops)
    assert far(mechanism, again) < 1e-10
    assert [tie.ratio for tie in again.couplings] == [(1.0,), (-1.0,), (-1.0,)]


@pytest.mark.parametrize("seed", bulk(range(4), 2))
def test_coupled_mechanisms_of_all_kinds_are_kept_by_mjcf(seed: int, tmp_path: Path) -> None:
    pytest.importorskip("mujoco")
    mechanism = random_coupled(seed)
    plain = replace(mechanism, joints=tuple(replace(j, speed=(), friction=()) for j in mechanism.joints))
    closed = Simulation(plain, compile=False).start_report.coordinates
    plain = plain.with_start(closed)
    again, notes = read_back(plain, tmp_path / "robot.xml", "yaml")
    if not any(note.startswith("left out") for note in notes):
        assert far(plain, again) < 1e-8


def test_mimics_are_written(tmp_path: Path) -> None:
    convert(load("gripper"), tmp_path / "gripper.urdf")
    text = (tmp_path / "gripper.urdf").read_text()
    assert '<mimic joint="left_hinge" multiplier="1.0" offset="0.0" />' in text
    assert '<mimic joint="right_hinge" multiplier="-1.0" offset="0.0" />' in text
    again = load(tmp_path / "gripper.urdf")
    assert {(tie.joint, tie.follows, tie.ratio) for tie in again.couplings} == {
        ("right_hinge", ("left_hinge",), (1.0,)),
        ("left_tip", ("left_hinge",), (-1.0,)),
        ("right_tip", ("right_hinge",), (-1.0,)),
    }


def test_what_a_target_can_not_say_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = {}
    for ending in ("urdf", "xml", "sdf"):
        assert main(["convert", "mcpherson", "-o", str(tmp_path / f"x.{ending}")]) == 0
        told[ending] = capsys.readouterr().out
    for words in told.values():
        assert "left out: loop tie_rod, a distance joint" in words
        assert "springs and cylinders coil" in words and "loads road" in words
    assert "stiffness of rack" in told["urdf"] and "stiffness of rack" not in told["xml"]
    assert main(["convert", "arm", "-o", str(tmp_path / "arm.sdf")]) == 0
    assert "armature of axis1" in capsys.readouterr().out
    assert main(["convert", "fourbar", "-o", str(tmp_path / "x.txt")]) == 2
    assert main(["convert", "stewart", "-o", str(tmp_path / "x.urdf"), "--loops", "tree"]) == 0
    assert "left out: what closes loop ball2" in capsys.readouterr().out


ROBOT = """<robot name="arm-1"><material name="red"><color rgba="1 0 0 1"/></material>
<link name="base link"><visual><geometry><box size="0.2 0.2 0.1"/></geometry></visual></link>
<link name="upper-arm"><inertial><origin xyz="0 0 0.2"/><mass value="2"/>
  <inertia ixx="0.02" iyy="0.02" izz="0.004" ixy="0" ixz="0" iyz="0"/></inertial>
  <visual><origin xyz="0 0 0.2" rpy="0.1 0.2 0.3"/><geometry><cylinder radius="0.04" length="0.4"/></geometry>
    <material name="red"/></visual>
  <visual><geometry><mesh filename="package://arm/meshes/cover.stl" scale="0.001 0.001 0.001"/></geometry>
  </visual></link>
<link name="tool0"/>
<joint name="shoulder/pan" type="revolute"><parent link="base link"/><child link="upper-arm"/>
  <origin xyz="0 0 0.1" rpy="0.2 0 0"/><axis xyz="0 1 0"/>
  <limit lower="-1.5" upper="2.5" effort="40" velocity="3"/><dynamics damping="0.3" friction="0.1"/></joint>
<joint name="tool" type="fixed"><parent link="upper-arm"/><child link="tool0"/><origin xyz="0 0 0.4"/></joint>
</robot>"""


def test_urdf_comes_back_with_its_names_limits_and_visuals(tmp_path: Path) -> None:
    source = tmp_path / "robot.urdf"
    source.write_text(ROBOT)
    first = load(source)
    convert(first, tmp_path / "again.urdf")
    second = load(tmp_path / "again.urdf")
    text = (tmp_path / "again.urdf").read_text()
    for name in ("base link", "upper-arm", "tool0", "shoulder/pan", "package://arm/meshes/cover.stl"):
        assert f'"{name}"' in text
    joint, again = (m.joint("shoulder_pan") for m in (first, second))
    assert again == joint and again.label == "shoulder/pan"
    assert again.limits == (-1.5, 2.5) and again.damping == (0.3,) and again.friction == (0.1,)
    assert second.motors == first.motors and second.motors[0].limit == 40.0
    assert second.bodies == first.bodies
    for a, b in zip(first.visuals, second.visuals, strict=True):
        assert (a.body, a.shape, a.size, a.file, a.colour) == (b.body, b.shape, b.size, b.file, b.colour)
        np.testing.assert_allclose((*a.at, *a.orientation), (*b.at, *b.orientation), atol=1e-15)
    assert {f.label or f.name for f in second.frames} == {"base link", "tool0"}


def test_bodies_keep_their_names_where_links_without_mass_stand_before_them(tmp_path: Path) -> None:
    again, _ = read_back(load("fourbar"), tmp_path / "x.urdf", "loop")
    assert {b.name for b in again.bodies} == {b.name for b in load("fourbar").bodies}


def test_closing_frames_are_where_the_joint_is(tmp_path: Path) -> None:
    convert(load("fourbar"), tmp_path / "x.urdf", "closing")
    text = (tmp_path / "x.urdf").read_text()
    assert "closing_rocker_pin_1" in text and "closing_rocker_pin_2" in text


def test_a_command_that_is_told_is_safe_to_type(tmp_path: Path) -> None:
    """Names of a stranger's file are quoted where the user is told what to give to a shell."""
    evil = "turn $(touch pwned) `id`; x"
    mechanism = load("fourbar")
    driven = mechanism.motors[0].joint
    joints = tuple(replace(j, label=evil) if j.name == driven else j for j in mechanism.joints)
    _, notes = convert(replace(mechanism, joints=joints), tmp_path / "x.sdf", "yaml")
    (note,) = [note for note in notes if "--drive" in note]
    assert shlex.split(note.partition("--drive ")[2])[0] == evil


@pytest.mark.parametrize("loops", ["closing", "loop", "yaml"])
def test_frames_that_close_a_loop_are_written_once(loops: str, tmp_path: Path) -> None:
    """Read as the joint they are, they do not close it a second time beside another dialect's words."""
    (tmp_path / "robot.urdf").write_text(DIALECTS["closing_frames"][0])
    mechanism = load_robot(tmp_path / "robot.urdf").mechanism
    again, _ = read_back(mechanism, tmp_path / "x.urdf", loops)
    assert {joint.name for joint in again.joints} >= {joint.name for joint in mechanism.joints}
    assert not {"closing_pin_1", "closing_pin_2"} & {frame.name for frame in again.frames}
    assert far(mechanism, again) < 1e-10


def test_a_screw_is_a_turn_and_a_slide_that_mimics_it(tmp_path: Path) -> None:
    described = load("fourbar")
    body = described.bodies[0]
    screw = Joint("screw", "helical", "ground", body.name, pitch=0.02)
    mechanism = Mechanism("jack", (body,), (screw,))
    for ending in ("urdf", "xml", "sdf"):
        again, _ = read_back(mechanism, tmp_path / f"x.{ending}", "loop")
        assert far(mechanism, again) < 1e-10, ending


# -- peers ----------------------------------------------------------------------------------------------


def test_mujoco_swings_what_we_write_as_we_do(tmp_path: Path) -> None:
    """Within its softness: a hinge-closed four-bar, a platform on balls, a robot with belts."""
    mujoco = pytest.importorskip("mujoco")
    for name, torque in (("fourbar", 2.0), ("stewart", 8.0), ("belt_picker", 2.0)):
        mechanism = posed(name)
        convert(mechanism, tmp_path / "x.xml")
        m = mujoco.MjModel.from_xml_path(str(tmp_path / "x.xml"))
        d = mujoco.MjData(m)
        if m.nkey:
            mujoco.mj_resetDataKeyframe(m, d, 0)
        s = Simulation(mechanism, compile=False)
        start = s.outputs()
        d.ctrl[:] = torque
        s.set_inputs([torque] * len(s.inputs))
        while d.time < 0.2 - 1e-9:
            mujoco.mj_step(m, d)
        mujoco.mj_forward(m, d)
        s.run(0.2)
        found = s.outputs()
        keys = {body.name: f"body.{body.name}.position" for body in mechanism.bodies}
        moved = max(float(np.abs(found[key] - start[key]).max()) for key in keys.values())
        apart = max(float(np.abs(d.body(name).xpos - found[key]).max()) for name, key in keys.items())
        assert moved > 0.01 and apart < 0.02 * moved, (name, moved, apart)


def pinocchio_accelerations(target: Path, places: dict[str, tuple[float, float, float]], bodies: list[str]):
    """Of origins of links, world axes, by Pinocchio with the loops of the YAML file beside a URDF."""
    pin = pytest.importorskip("pinocchio")
    model = pin.buildModelFromUrdf(str(target))
    data = model.createData()
    q, v, tau = pin.neutral(model), np.zeros(model.nv), np.zeros(model.nv)
    for name, (x, dx, torque) in places.items():
        joint = model.joints[model.getJointId(name)]
        q[joint.idx_q : joint.idx_q + joint.nq] = x if joint.nq == 1 else (np.cos(x), np.sin(x))
        v[joint.idx_v], tau[joint.idx_v] = dx, torque
    beside = yaml_values(target.with_suffix(".loops.yaml"))
    loops, kept = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
    for pair, kind in zip(beside["closed_loop"], beside["type"], strict=True):
        ends = [model.frames[model.getFrameId(name)] for name in pair]
        sides = [x for end in ends for x in (end.parentJoint, end.placement)]
        contact = pin.ContactType.CONTACT_3D if kind == "3d" else pin.ContactType.CONTACT_6D
        loops.append(pin.RigidConstraintModel(contact, model, *sides, pin.ReferenceFrame.LOCAL))
        kept.append(loops[-1].createData())
    pin.initConstraintDynamics(model, data, loops, kept)
    settings = pin.ProximalSettings(1e-14, 0.0, 1)
    a = pin.constraintDynamics(model, data, q, v, tau, list(loops), list(kept), settings)
    pin.forwardKinematics(model, data, q, v, a)
    pin.updateFramePlacements(model, data)
    axes = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
    frames = {name: model.getFrameId(name, pin.BODY) for name in bodies}
    return {n: pin.getFrameClassicalAcceleration(model, data, f, axes).linear for n, f in frames.items()}


def yaml_values(path: Path) -> dict:
    from cutjoint.model.describe.yaml_text import parse

    return parse(path.read_text()).values


@pytest.mark.parametrize("cut", ["ball", "hinge"])
def test_pinocchio_accelerates_what_we_write_as_we_do(cut: str, tmp_path: Path) -> None:
    """A platform whose loops are closed at balls, three rows each, and at hinges, six between two halves."""
    pytest.importorskip("pinocchio")
    described = posed("stewart")
    cuts = (f"{cut}2", f"{cut}3")
    joints = tuple(
        replace(j, cut=j.name in cuts, start=() if j.name in cuts else j.start) for j in described.joints
    )
    mechanism = replace(described, joints=joints)
    s = Simulation(mechanism, compile=False)
    s.set_inputs([4.0, -3.0, 6.0])
    s.run(0.3)
    mechanism = mechanism.with_start({name: s.q[at] for name, at in s.tree.q.items()})
    target = tmp_path / "x.urdf"
    convert(mechanism, target)
    assert yaml_values(target.with_suffix(".loops.yaml"))["type"] == ["3d" if cut == "ball" else "6d"] * 2
    values = JointValues(s)
    values.read()
    rows = zip(values.names, values.position, values.velocity, values.effort, strict=True)
    text = target.read_text()
    places = {name: (x, v, u) for name, x, v, u in rows if f'<joint name="{name}"' in text}
    wanted = pinocchio_accelerations(target, places, [body.name for body in mechanism.bodies])
    found = s.outputs()
    size = max(float(np.abs(a).max()) for a in wanted.values())
    assert size > 0.5 and np.abs(s.v).max() > 0.1
    for name, a in wanted.items():
        np.testing.assert_allclose(found[f"body.{name}.acceleration"], a, atol=1e-8 * size, err_msg=name)
