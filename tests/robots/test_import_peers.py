"""The same files in Pinocchio and MuJoCo: mass matrix and bias of trees, accelerations with loops closed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from cutjoint import Simulation
from cutjoint.model.robots.load_robot import load_robot
from cutjoint.model.robots.translate import ImportOptions
from robot_files import CRANK, FRAMES, LINKS, MJCF, ONE, PAIR, TWO, hinge, inertial
from scipy.spatial.transform import Rotation

SEEDS = range(6)


def random_urdf(seed: int) -> str:
    """A tree of hinges and slides at odd angles, with fixed links in between and rotors."""
    random = np.random.default_rng(seed)

    def three(size: float) -> str:
        return " ".join(f"{x:.6f}" for x in random.uniform(-size, size, 3))

    def body() -> str:
        m = random.uniform(0.5, 2)
        a, b, c = random.uniform(0.2, 1, 3) * m * 0.01
        text = inertial(m, three(0.2), f"{a + b} {b + c} {c + a}")
        return text.replace('"/><mass', f'" rpy="{three(1)}"/><mass')

    links, joints = ['<link name="base"/>'], []
    for k in range(6):
        kind = ("revolute", "prismatic", "continuous", "fixed", "revolute", "continuous")[(k + seed) % 6]
        parent = "base" if k == 0 else f"l{random.integers(0, k)}"
        links.append(f'<link name="l{k}">{body()}</link>')
        joints.append(
            f'<joint name="j{k}" type="{kind}"><parent link="{parent}"/><child link="l{k}"/>'
            f'<origin xyz="{three(0.5)}" rpy="{three(3)}"/><axis xyz="{three(1)}"/>'
            '<limit lower="-9" upper="9" effort="5" velocity="1"/></joint>'
        )
    return f'<robot name="r{seed}">{"".join(links)}{"".join(joints)}</robot>'


def terms(s: Simulation, joints: list[str]) -> tuple[np.ndarray, np.ndarray]:
    """Mass matrix and bias C v − τ_g of our tree, rows in the order of these joints."""
    M, _, right, _, _ = s.engine.kernels.coefficients(*s.at)
    order = [s.tree.v[name].start for name in joints]
    return M[np.ix_(order, order)], -right[order]


def placed(s: Simulation, joints: list[str], q: np.ndarray, v: np.ndarray) -> None:
    mine, speeds = s.q.copy(), s.v.copy()
    for name, x, dx in zip(joints, q, v, strict=True):
        mine[s.tree.q[name].start], speeds[s.tree.v[name].start] = x, dx
    s.put(replace(s.state, q=mine, v=speeds))


@pytest.mark.parametrize("seed", SEEDS)
def test_open_urdf_trees_are_pinocchios(seed: int, tmp_path: Path) -> None:
    pin = pytest.importorskip("pinocchio")
    text = random_urdf(seed)
    path = tmp_path / "robot.urdf"
    path.write_text(text)
    # Pinocchio's continuous joints have two coordinates; the same turn as a revolute has one.
    model = pin.buildModelFromXML(text.replace('"continuous"', '"revolute"'))
    data = model.createData()
    s = Simulation(load_robot(path).mechanism, compile=False)
    names = list(model.names)[1:]
    random = np.random.default_rng(seed)
    for _ in range(3):
        q, v = random.uniform(-1.5, 1.5, model.nq), random.normal(size=model.nv)
        placed(s, names, q, v)
        M, bias = terms(s, names)
        wanted = pin.crba(model, data, q)
        wanted = np.triu(wanted) + np.triu(wanted, 1).T
        np.testing.assert_allclose(M, wanted, atol=1e-10 * np.abs(wanted).max())
        np.testing.assert_allclose(bias, pin.rnea(model, data, q, v, 0 * v), atol=1e-10 * np.abs(bias).max())


@pytest.mark.parametrize("turn", ["3.14159 0 0", "1.5708 3.1416 0", "1e-4 0 0", "0 0.02 1", "0 0.06 1"])
def test_axes_that_are_nearly_parallel_cost_no_digits(turn: str, tmp_path: Path) -> None:
    """Files write 1.5708 for a right angle: the common normal of such axes is kilometres away."""
    pin = pytest.importorskip("pinocchio")
    body = inertial(1.0, "0.1 0.05 0.02", "0.02 0.03 0.03")
    links = "".join(f'<link name="l{k}">{body}</link>' for k in range(4))
    joints = "".join(
        f'<joint name="j{k}" type="revolute"><parent link="{parent}"/><child link="l{k}"/>'
        f'<origin xyz="0.1 0.2 0.3" rpy="{turn}"/><axis xyz="0 0 1"/>'
        '<limit lower="-9" upper="9" effort="5" velocity="1"/></joint>'
        for k, parent in enumerate(("base", "l0", "l1", "l2"))
    )
    text = f'<robot name="r"><link name="base"/>{links}{joints}</robot>'
    (tmp_path / "robot.urdf").write_text(text)
    model = pin.buildModelFromXML(text)
    s = Simulation(load_robot(tmp_path / "robot.urdf").mechanism, compile=False)
    names = list(model.names)[1:]
    q, v = np.array([0.3, -0.8, 0.5, 1.1]), np.array([1.0, 2.0, -1.5, 0.7])
    placed(s, names, q, v)
    M, bias = terms(s, names)
    data = model.createData()
    wanted = pin.crba(model, data, q)
    wanted = np.triu(wanted) + np.triu(wanted, 1).T
    np.testing.assert_allclose(M, wanted, atol=1e-12 * np.abs(wanted).max())
    np.testing.assert_allclose(bias, pin.rnea(model, data, q, v, 0 * v), atol=1e-12 * np.abs(bias).max())


def spatial(seed: int) -> str:
    """Crank and rocker on skew axes, a coupler on three hinges that meet, and a ball that closes the loop."""
    random = np.random.default_rng(seed)
    light = inertial(0.05, "0.01 0 0.02", "0.001 0.001 0.001")
    names = ("base", "crank", "m1", "m2", "coupler")
    axes = (random.normal(size=3), *np.eye(3))
    at = ("0 0 0", f"0 0 {CRANK}", "0 0 0", "0 0 0")
    limit = '<limit lower="-9" upper="9" effort="5" velocity="1"/>'
    text = "".join(f'<link name="{name}">{light}</link>' for name in ("m1", "m2"))
    for k in range(4):
        text += hinge(f"h{k}", names[k], names[k + 1], at[k], limit).replace(
            "0 1 0", "{} {} {}".format(*axes[k])
        )
    rocker = hinge("swing", "base", "rocker", "0.5 0.3 0", limit)
    text += rocker.replace("0 1 0", "{} {} {}".format(*random.normal(size=3)))
    own = "".join(f'<link name="{name}">{body}</link>' for name, body in LINKS.items())
    return f'<robot name="r"><link name="base"/>{own}{text}{FRAMES}</robot>'.replace("continuous", "revolute")


@pytest.mark.parametrize("seed", SEEDS)
def test_closed_urdf_accelerates_as_pinocchio_does(seed: int, tmp_path: Path) -> None:
    pin = pytest.importorskip("pinocchio")
    text = spatial(seed)
    (tmp_path / "robot.urdf").write_text(text)
    (tmp_path / "robot.yaml").write_text(PAIR.format("3d").replace("turn", "h0"))
    model = pin.buildModelFromXML(text)
    data = model.createData()
    s = Simulation(load_robot(tmp_path / "robot.urdf").mechanism, compile=False)
    s.set_inputs([0.7])
    s.run(0.2)
    names = list(model.names)[1:]
    q = np.array([s.q[s.tree.q[name].start] for name in names])
    v = np.array([s.v[s.tree.v[name].start] for name in names])
    ends = [model.frames[model.getFrameId(name)] for name in ("end_A", "end_B")]
    sides = [x for end in ends for x in (end.parentJoint, end.placement)]
    loop = pin.RigidConstraintModel(pin.ContactType.CONTACT_3D, model, *sides, pin.ReferenceFrame.LOCAL)
    made = loop.createData()
    loops, kept = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
    loops.append(loop)
    kept.append(made)
    pin.initConstraintDynamics(model, data, loops, kept)
    tau = np.array([0.7 if name == "h0" else 0.0 for name in names])
    wanted = pin.constraintDynamics(
        model, data, q, v, tau, [loop], [made], pin.ProximalSettings(1e-14, 0.0, 1)
    )
    found = [float(s.outputs()[f"joint.{name}.acceleration"]) for name in names]
    assert np.abs(v).max() > 0.5
    np.testing.assert_allclose(found, wanted, rtol=1e-8, atol=1e-8 * np.abs(wanted).max())


TREES = {
    "several joints a body": """
<mujoco><compiler angle="degree" eulerseq="zyx"/><option gravity="1 -2 -9"/>
<default><joint damping="0"/><default class="heavy"><geom density="3000"/></default></default>
<worldbody><body name="a" pos="0.1 0.2 0.3" euler="10 20 30">
  <joint name="x" type="hinge" axis="1 0.2 0" pos="0.05 0 0" ref="20" armature="0.03"/>
  <joint name="y" type="slide" axis="0 1 1" ref="0.1"/><joint name="z" axis="0 0.1 1"/>
  <geom class="heavy" type="box" size="0.1 0.2 0.05" pos="0.1 0 0" euler="5 0 0"/>
  <body name="b" pos="0.3 0 0.1" quat="1 0.2 0 0.1">
    <geom type="capsule" size="0.05 0.2"/>
    <body name="c" pos="0 0.2 0"><joint axis="1 1 0" pos="0 0 0.1"/>
      <geom type="ellipsoid" size="0.1 0.2 0.1"/></body>
  </body></body></worldbody></mujoco>""",
    "springs and servos": """
<mujoco><compiler angle="radian"/><worldbody><body name="a">
  <joint name="x" axis="0 1 0" stiffness="3" springref="0.4" damping="0.2"/>
  <geom type="cylinder" size="0.05 0.2" pos="0.2 0 0"/>
  <body name="b" pos="0.4 0 0"><joint name="y" axis="0 1 0" damping="0.1"/>
    <geom size="0.1" pos="0.1 0 0.2"/></body>
</body></worldbody><actuator><position name="p" joint="x" kp="7" kv="0.5" gear="2"/>
<velocity name="w" joint="y" kv="0.3"/></actuator></mujoco>""",
}


@pytest.mark.parametrize("name", TREES)
def test_open_mjcf_trees_are_mujocos(name: str, tmp_path: Path) -> None:
    mujoco = pytest.importorskip("mujoco")
    path = tmp_path / "robot.xml"
    path.write_text(TREES[name])
    m = mujoco.MjModel.from_xml_path(str(path))
    d = mujoco.MjData(m)
    s = Simulation(load_robot(path).mechanism, compile=False)
    names = [m.joint(j).name or f"{m.body(m.jnt_bodyid[j]).name}_joint" for j in range(m.njnt)]
    random = np.random.default_rng(1)
    for _ in range(3):
        d.qpos[:], d.qvel[:] = random.uniform(-0.7, 0.7, m.nq), random.normal(size=m.nv)
        mujoco.mj_forward(m, d)
        placed(s, names, d.qpos, d.qvel)
        M, bias = terms(s, names)
        full = np.zeros((m.nv, m.nv))
        try:
            mujoco.mj_fullM(m, d, full)
        except TypeError:  # older releases take the packed matrix
            mujoco.mj_fullM(m, full, d.qM)
        np.testing.assert_allclose(M, full, atol=1e-10 * np.abs(full).max())
        wanted = d.qfrc_bias - d.qfrc_passive - d.qfrc_actuator
        np.testing.assert_allclose(bias, wanted, atol=1e-10 * np.abs(wanted).max())


@pytest.mark.parametrize("equality", [ONE, ONE + TWO])
def test_closed_mjcf_swings_as_mujoco_does_within_its_softness(equality: str, tmp_path: Path) -> None:
    """Its equalities are springs; made stiff they leave accelerations off by a part in a thousand."""
    mujoco = pytest.importorskip("mujoco")
    path = tmp_path / "robot.xml"
    stiff = equality.replace("/>", ' solref="0.002 1" solimp="0.9999 0.9999 0.001"/>')
    path.write_text((MJCF % stiff).replace("<worldbody>", '<option timestep="1e-4"/><worldbody>'))
    s = Simulation(load_robot(path).mechanism, start={"turn": 0.4}, compile=False)
    m = mujoco.MjModel.from_xml_path(str(path))
    d = mujoco.MjData(m)
    names = ["turn", "knee", "swing"]
    d.qpos[:] = [s.q[s.tree.q[n].start] for n in names]
    for _ in range(3000):
        mujoco.mj_step(m, d)
    s.run(0.3)
    found = [float(s.outputs()[f"joint.{n}.position"]) for n in names]
    np.testing.assert_allclose(found, d.qpos, atol=2e-3)
    assert np.abs(s.v).max() > 0.5


def test_balls_and_free_bodies_are_mujocos(tmp_path: Path) -> None:
    mujoco = pytest.importorskip("mujoco")
    text = """<mujoco><worldbody><body name="a" pos="0 0 1"><freejoint name="f"/>
      <geom type="box" size="0.1 0.2 0.3"/><body name="b" pos="0 0 0.5"><joint name="ball" type="ball"/>
      <geom type="box" size="0.05 0.1 0.2" pos="0 0.1 0.3"/></body></body></worldbody></mujoco>"""
    path = tmp_path / "robot.xml"
    path.write_text(text)
    m = mujoco.MjModel.from_xml_path(str(path))
    d = mujoco.MjData(m)
    s = Simulation(load_robot(path).mechanism, compile=False)
    mujoco.mj_forward(m, d)
    for body in ("a", "b"):
        R, p = s.body_poses()[body]
        np.testing.assert_allclose(p, d.body(body).xpos, atol=1e-12)
        np.testing.assert_allclose(R, d.body(body).xmat.reshape(3, 3), atol=1e-12)
    turned = Rotation.from_euler("xyz", [0.3, 0.2, 0.1]).as_quat()
    quat = tuple(float(x) for x in (turned[3], *turned[:3]))
    posed = load_robot(path, ImportOptions(base="fixed", start={"ball": quat})).mechanism
    assert [j.type for j in posed.joints] == ["spherical"]
    d.qpos[7:11] = quat
    mujoco.mj_forward(m, d)
    R, p = Simulation(posed, compile=False).body_poses()["b"]
    np.testing.assert_allclose(p, d.body("b").xpos, atol=1e-12)
    np.testing.assert_allclose(R, d.body("b").xmat.reshape(3, 3), atol=1e-12)
