"""Springs of balls and point masses, against closed forms and against the same said otherwise."""

from __future__ import annotations

from dataclasses import replace
from math import pi, sqrt

import numpy as np
import pytest
from cutjoint import Body, DescriptionError, Joint, Mechanism, Simulation, load
from cutjoint.model.loading import read
from cutjoint.model.urdf.write_urdf import urdf
from scipy.spatial.transform import Rotation
from scipy.special import ellipj, ellipk

STIFF = (3.0, 5.0, 8.0)
NONE = (0.0, 0.0, 0.0)


def top(inertia: tuple[float, ...], gravity: tuple[float, ...] = NONE, **joint: object) -> Simulation:
    body = Body("top", 1.0, (0.05, 0.0, 0.1) if any(gravity) else NONE, (*inertia, 0.0, 0.0, 0.0))
    ball = Joint("ball", "spherical", "ground", "top", **joint)
    return Simulation(Mechanism("top", (body,), (ball,), gravity=gravity), compile=False)


def test_a_ball_with_equal_springs_turns_about_one_axis_like_a_pendulum():
    """I φ̈ = −k sin φ from φ = 120° at rest: φ = 2 asin(m sn(K − w t)) with m the sine of half the start."""
    k, I, start = 2.0, 0.5, 2 * pi / 3  # noqa: E741
    turned = (np.cos(start / 2), 0.0, np.sin(start / 2) * 0.6, np.sin(start / 2) * 0.8)
    s = top((I, I, I), stiffness=(k,) * 3, start=turned)
    found = s.run(5.0, 1e-3, record=["joint.ball.position"])
    m, w = np.sin(start / 2), sqrt(k / I)
    sn, *_ = ellipj(ellipk(m**2) - w * found.time, m**2)
    e = found.values
    np.testing.assert_allclose(e[:, 1:], np.outer(m * sn, [0.0, 0.6, 0.8]), rtol=0, atol=1e-9)


@pytest.mark.parametrize("ends", [("ground", "top"), ("top", "ground")])
def test_unequal_springs_keep_energy_and_do_not_ask_which_way_the_joint_points(ends):
    s = top(
        (0.02, 0.03, 0.04), (0.0, 0.0, -9.81), stiffness=STIFF, rest=(0.3, -0.2, 0.5), speed=(1.0, 5.0, -3.0)
    )
    if ends[0] == "top":
        child = s.mechanism.joint("ball")
        s = Simulation(
            replace(s.mechanism, joints=(replace(child, parent="top", child="ground"),)), compile=False
        )
        assert s.tree.links[0].reverse
    found = s.run(3.0, 1e-3, record=["energy", "energy_potential"])
    assert np.ptp(found["energy_potential"]) > 1.0
    assert np.ptp(found["energy"]) < 1e-7


def test_springs_act_about_the_axes_of_the_child():
    """τ = −2(e0 k∘e + (k∘e) × e) about the child's axes."""
    one = top((0.02, 0.03, 0.04), stiffness=STIFF, damping=(0.1, 0.2, 0.3), start=(0.8, 0.6, 0.0, 0.0))
    dv = one.accelerations()[0]
    e = np.array([0.8, 0.6, 0.0, 0.0])
    pull = np.array(STIFF) * e[1:]
    torque = -2 * (e[0] * pull + np.cross(pull, e[1:]))
    np.testing.assert_allclose(dv, torque / [0.02, 0.03, 0.04], rtol=1e-12)


def test_the_relaxed_orientation_is_that_of_the_rotation_vector():
    rest = np.array([0.3, -1.2, 0.5])
    x, y, z, w = Rotation.from_rotvec(rest).as_quat()
    s = top((0.1, 0.1, 0.1), stiffness=STIFF, rest=tuple(rest), start=(w, x, y, z))
    assert np.abs(s.accelerations()[0]).max() < 1e-13
    assert s.outputs()["energy_potential"] == pytest.approx(0, abs=1e-15)


# -- point masses --------------------------------------------------------------------------------------

LOADED = """
name: swing
bodies:
  bar: {mass: 2, com: [0.5, 0, 0], inertia: [0.01, 0.17, 0.17]}
  tip: {mass: 1, com: [1.2, 0, 0], inertia: [0.01, 0.02, 0.02]}
joints:
  pin: {type: revolute, parent: ground, child: bar, at: [0, 0, 0], axis: y, speed: 1}
  end: {type: spherical, parent: bar, child: tip, at: [1, 0, 0], speed: [1, 2, 3]}
point_masses:
  payload: {body: tip, mass: 1.5, point: [1.3, 0.1, -0.2]}
  hook: {body: tip, mass: 0.2, point: [1.4, 0, 0.1]}
  weight: {body: bar, mass: 3, point: [-0.2, 0, 0]}
parameters:
  payload: point_mass.payload.mass
  where: point_mass.payload.point
"""


def welded() -> Mechanism:
    """The same with every point mass a body of its own on a fixed joint."""
    mechanism = read(LOADED, "swing.yaml")
    bodies, joints = list(mechanism.bodies), list(mechanism.joints)
    for mass in mechanism.point_masses:
        bodies.append(Body(mass.name, mass.mass, mass.point))
        joints.append(Joint(f"weld_{mass.name}", "fixed", mass.body, mass.name))
    return replace(mechanism, bodies=tuple(bodies), joints=tuple(joints), point_masses=(), parameters={})


def test_point_masses_are_as_good_as_bodies_welded_on():
    one, other = (Simulation(m, compile=False) for m in (read(LOADED, "swing.yaml"), welded()))
    names = ["joint.pin.position", "joint.end.position", "energy", "reaction.pin.force"]
    a, b = (s.run(0.5, 1e-3, record=names).values for s in (one, other))
    np.testing.assert_allclose(a, b, rtol=0, atol=1e-9)


def test_point_masses_are_parameters():
    s = Simulation(read(LOADED, "swing.yaml"), compile=False)
    s.set_parameters({"payload": 0.5, "where": [0.2, 0.0, 0.0]})
    again = LOADED.replace("mass: 1.5, point: [1.3, 0.1, -0.2]", "mass: 0.5, point: [1.4, 0, 0]")
    other = Simulation(read(again, "swing.yaml"), compile=False)
    np.testing.assert_allclose(s.accelerations()[0], other.accelerations()[0], rtol=1e-12)


def test_a_urdf_holds_the_whole_mass():
    text = urdf(read(LOADED, "swing.yaml"))
    assert 'mass value="2.7' in text and 'mass value="5' in text


def test_nothing_weighs_less_than_nothing():
    with pytest.raises(DescriptionError, match=r"line 11: point mass 'hook': mass must not be negative"):
        read(LOADED.replace("mass: 0.2", "mass: -0.2"), "swing.yaml")


def test_examples_have_no_point_masses_to_pay_for():
    assert load("stewart").point_masses == ()
