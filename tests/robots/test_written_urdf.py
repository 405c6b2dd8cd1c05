"""The URDF a mechanism writes, read by two independent parsers, closes its loops."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from cutjoint import Body, Frame, Joint, Mechanism, Simulation
from cutjoint.model.base.errors import DescriptionError
from cutjoint.model.control.joint_values import JointValues
from cutjoint.model.equations.single_joints import chain
from cutjoint.model.joints.angles import angle_rates, yaw_pitch_roll
from cutjoint.model.urdf.write_urdf import urdf
from scipy.spatial.transform import Rotation


def moved(name: str, steps: int = 5) -> list[Simulation]:
    """A mechanism at a few poses along a motion under uneven inputs."""
    simulation = Simulation(name, compile=False)
    strength = {"hexapod": 400.0, "loader": 2e5}.get(name, 3.0)
    simulation.set_inputs([strength * (k + 1) for k in range(len(simulation.inputs))])
    for _ in range(steps):
        for _ in range(15):
            simulation.step(4e-3)
        yield simulation


def gap(simulation: Simulation, place: dict[str, np.ndarray]) -> float:
    """How far cut joints are open, given the positions of their end frames."""
    worst = 0.0
    for joint in simulation.tree.cuts:
        a, b = place[f"{joint.name}_on_{joint.parent}"], place[f"{joint.name}_on_{joint.child}"]
        apart = float(np.linalg.norm(a - b))
        if joint.type == "distance":
            apart = max(abs(apart - joint.length), float(np.linalg.norm(place[f"{joint.name}_end"] - b)))
        worst = max(worst, apart)
    return worst


@pytest.mark.parametrize("name", ["stewart", "hexapod", "delta", "loader"])
def test_two_parsers_see_closed_loops_along_a_motion(name: str, tmp_path: Path) -> None:
    yourdfpy = pytest.importorskip("yourdfpy")
    file = tmp_path / f"{name}.urdf"
    simulation = Simulation(name, compile=False)
    file.write_text(urdf(simulation.mechanism, simulation.tree))
    robot = yourdfpy.URDF.load(str(file), load_meshes=False)
    assert robot.validate()
    pin = _pinocchio(file.read_text())
    values = None
    for simulation in moved(name):
        values = values or JointValues(simulation)
        values.read()
        joints = dict(zip(values.names, values.position.tolist(), strict=True))
        in_tree = {n: x for n, x in joints.items() if n in robot.actuated_joint_names}
        assert len(in_tree) == len(robot.actuated_joint_names)
        robot.update_cfg(in_tree)
        frames = [b.name for b in simulation.mechanism.bodies]
        frames += [f"{j.name}_on_{body}" for j in simulation.tree.cuts for body in (j.parent, j.child)]
        frames += [f"{j.name}_end" for j in simulation.tree.cuts if j.type == "distance"]
        for place in (
            {f: robot.get_transform(f, "ground")[:3, 3] for f in frames},
            pin(in_tree, frames) if pin else None,
        ):
            if place is None:
                continue
            assert gap(simulation, place) < 1e-9
            for body, (_, origin) in simulation.body_poses().items():
                if body != "ground":
                    assert np.abs(place[body] - origin).max() < 1e-9
    assert values is not None and np.abs(values.position).max() > 0.01  # it did move


def _pinocchio(text: str):  # type: ignore[no-untyped-def]
    """Positions of frames by Pinocchio, None where it is not installed."""
    try:
        import pinocchio
    except ImportError:
        return None
    model = pinocchio.buildModelFromXML(text)
    data = model.createData()

    def place(joints: dict[str, float], frames: list[str]) -> dict[str, np.ndarray]:
        q = pinocchio.neutral(model)
        for name, x in joints.items():
            joint = model.joints[model.getJointId(name)]
            q[joint.idx_q : joint.idx_q + joint.nq] = x if joint.nq == 1 else (np.cos(x), np.sin(x))
        pinocchio.framesForwardKinematics(model, data, q)
        at = {f: data.oMf[model.getFrameId(f, pinocchio.BODY)].translation for f in frames}
        return {f: p.copy() for f, p in at.items()}

    return place


def test_joints_of_every_type_become_chains_that_place_bodies_right(tmp_path: Path) -> None:
    """One chain through every joint type, in both directions, at random coordinates."""
    yourdfpy = pytest.importorskip("yourdfpy")
    random = np.random.default_rng(5)

    def frame() -> Frame:
        e = random.normal(size=4)
        return Frame(tuple(random.uniform(-0.3, 0.3, 3)), tuple(e / np.linalg.norm(e)))

    types = [
        "revolute",
        "prismatic",
        "cylindrical",
        "universal",
        "spherical",
        "planar",
        "helical",
        "free",
        "fixed",
    ]
    bodies, joints, last = [], [], "ground"
    for k, kind in enumerate(types * 2):
        name = f"b{k}"
        bodies.append(Body(name, 1.0, (0.1, 0.0, 0.0), (0.1, 0.1, 0.1, 0.0, 0.0, 0.0)))
        ends = (last, name) if k < len(types) else (name, last)  # the second half is met from the child
        pitch = 0.1 if kind == "helical" else 0.0
        joints.append(Joint(f"j{k}", kind, *ends, frame(), frame(), pitch=pitch))
        last = name
    start = {}
    for joint in joints:
        q = random.uniform(
            -1,
            1,
            {"cylindrical": 2, "universal": 2, "spherical": 4, "planar": 3, "free": 7}.get(joint.type, 1),
        )
        if joint.type in ("spherical", "free"):
            q[-4:] /= np.linalg.norm(q[-4:])
        if joint.type != "fixed":
            start[joint.name] = q
    simulation = Simulation(Mechanism("chain", tuple(bodies), tuple(joints)), start=start, compile=False)
    file = tmp_path / "chain.urdf"
    file.write_text(urdf(simulation.mechanism, simulation.tree))
    robot = yourdfpy.URDF.load(str(file), load_meshes=False)
    values = JointValues(simulation)
    values.read()
    robot.update_cfg(dict(zip(values.names, values.position.tolist(), strict=True)))
    for body, (R, p) in simulation.body_poses().items():
        T = robot.get_transform(body, "ground")
        assert np.abs(T[:3, :3] - R).max() < 1e-9 and np.abs(T[:3, 3] - p).max() < 1e-9, body


def test_angles_of_a_ball_follow_it_without_jumps_through_the_gimbal() -> None:
    """Turning about an axis that leads through a pitch of 90°, angles and rates stay consistent."""
    axis = np.array([0.02, 1.0, 0.01]) / np.linalg.norm([0.02, 1.0, 0.01])
    near = (0.0, 0.0, 0.0)
    h = 1e-5
    for angle in np.linspace(0.0, 12.0, 4000):
        x, y, z, w = Rotation.from_rotvec(angle * axis).as_quat()
        new = yaw_pitch_roll((w, x, y, z), near)
        back = Rotation.from_euler("ZYX", new)
        assert (back * Rotation.from_rotvec(-angle * axis)).magnitude() < 1e-12
        assert np.abs(np.subtract(new, near)).max() < 0.35
        near = new
        if abs(np.cos(new[1])) > 0.1:
            x, y, z, w = Rotation.from_rotvec((angle + h) * axis).as_quat()
            ahead = yaw_pitch_roll((w, x, y, z), new)
            assert np.subtract(ahead, new) / h == pytest.approx(angle_rates(new, axis), abs=1e-3)


@pytest.mark.parametrize("name", ["stewart", "delta"])
def test_speeds_are_the_rates_of_positions(name: str) -> None:
    """Balls' and rods' angles too, by differences along a motion."""
    simulation = Simulation(name, compile=False)
    simulation.set_inputs([3.0 * (k + 1) for k in range(len(simulation.inputs))])
    values, h = JointValues(simulation), 1e-4
    for _ in range(100):
        simulation.step(1e-3)
    samples = []
    for _ in range(3):
        values.read()
        samples.append((values.position.copy(), values.velocity.copy()))
        simulation.step(h)
    slope = (samples[2][0] - samples[0][0]) / (2 * h)
    assert np.abs(slope).max() > 0.1
    assert samples[1][1] == pytest.approx(slope, rel=1e-3, abs=1e-4)


def test_an_exact_gimbal_keeps_its_yaw_and_loses_no_digits() -> None:
    for yaw in (0.0, 0.7, -2.0):
        x, y, z, w = Rotation.from_euler("ZYX", [0.3, np.pi / 2, -0.4]).as_quat()
        angles = yaw_pitch_roll((w, x, y, z), (yaw, 1.5, 0.0))
        assert angles[0] == yaw
        error = Rotation.from_euler("ZYX", angles) * Rotation.from_quat([x, y, z, w]).inv()
        assert error.magnitude() < 1e-12
        assert np.isfinite(angle_rates(angles, (1.0, 2.0, 3.0))).all()


def test_names_that_would_clash_are_refused() -> None:
    ball = Joint("ball", "spherical", "ground", "a")
    clash = Joint("ball_rx", "revolute", "a", "b")
    assert [part.name for part in chain(ball)] == ["ball_rz", "ball_ry", "ball_rx"]
    bodies = tuple(Body(n, 1.0, (0.0, 0.0, 0.0), (1.0, 1.0, 1.0, 0.0, 0.0, 0.0)) for n in "ab")
    with pytest.raises(DescriptionError, match=r"two joints 'ball_rx'|two links 'ball_rx_link'"):
        urdf(Mechanism("clash", bodies, (ball, clash)))
