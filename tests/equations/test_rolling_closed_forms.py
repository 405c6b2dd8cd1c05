"""Rolling bodies against closed forms: the disc on its circle, the bicycle, a belt, a blade, a ball."""

from __future__ import annotations

from dataclasses import replace
from math import cos, pi, sin

import numpy as np
import pytest
from cutjoint import Body, Frame, Joint, Mechanism, Simulation
from cutjoint.model.control.joint_values import JointValues
from cutjoint.model.urdf.write_urdf import urdf
from cutjoint.papers.benchmarks import rolling
from cutjoint.papers.benchmarks.rolling import balance, bicycle_at


def test_a_leaning_disc_rolls_round_its_circle_as_the_closed_form_says():
    """The example starts in the steady motion that its text derives; two rounds by steps of 1 ms."""
    assert Simulation("rolling_disc", compile=False).v[1] == pytest.approx(rolling.disc_rate(), rel=1e-15)
    assert rolling.disc_error() < 1e-9


# -- the bicycle -----------------------------------------------------------------------------------


def test_nothing_but_lean_and_steer_acts_on_them():
    s = bicycle_at(5.0)
    model = s.linearize(states=rolling.UPRIGHT)
    assert model.states[:2] == ("joint.motion.position[4]", "joint.steering.position")
    keep = [0, 1, len(model.A) - 3, len(model.A) - 2]
    others = [k for k in range(len(model.A)) if k not in keep]
    assert np.abs(model.A[np.ix_(keep, others)]).max() < 1e-9


def carvallo_whipple(speed: float) -> np.ndarray:
    """The same from the linearized equations of Meijaard and others (2007), appendix A, in their symbols."""
    w, c, lam, g, rR, rF = 1.02, 0.08, pi / 10, 9.81, 0.3, 0.35
    mR, mB, mH, mF = 2.0, 85.0, 4.0, 3.0
    xB, zB, xH, zH = 0.3, -0.9, 0.9, -0.7
    (IRxx, IRyy), (IFxx, IFyy) = (0.0603, 0.12), (0.1405, 0.28)
    (IBxx, IBzz, IBxz), (IHxx, IHzz, IHxz) = (9.2, 2.8, 2.4), (0.05892, 0.00708, -0.00756)
    mT = mR + mB + mH + mF
    xT, zT = (xB * mB + xH * mH + w * mF) / mT, (-rR * mR + zB * mB + zH * mH - rF * mF) / mT
    ITxx = IRxx + IBxx + IHxx + IFxx + mR * rR**2 + mB * zB**2 + mH * zH**2 + mF * rF**2
    ITxz = IBxz + IHxz - mB * xB * zB - mH * xH * zH + mF * w * rF
    ITzz = IRxx + IBzz + IHzz + IFxx + mB * xB**2 + mH * xH**2 + mF * w**2
    mA = mH + mF
    xA, zA = (xH * mH + w * mF) / mA, (zH * mH - rF * mF) / mA
    IAxx = IHxx + IFxx + mH * (zH - zA) ** 2 + mF * (rF + zA) ** 2
    IAxz = IHxz - mH * (xH - xA) * (zH - zA) + mF * (w - xA) * (rF + zA)
    IAzz = IHzz + IFxx + mH * (xH - xA) ** 2 + mF * (w - xA) ** 2
    uA = (xA - w - c) * cos(lam) - zA * sin(lam)
    IAll = mA * uA**2 + IAxx * sin(lam) ** 2 + 2 * IAxz * sin(lam) * cos(lam) + IAzz * cos(lam) ** 2
    IAlx = -mA * uA * zA + IAxx * sin(lam) + IAxz * cos(lam)
    IAlz = mA * uA * xA + IAxz * sin(lam) + IAzz * cos(lam)
    mu = c / w * cos(lam)
    SR, SF = IRyy / rR, IFyy / rF
    ST, SA = SR + SF, mA * uA + mu * mT * xT
    M = np.array([[ITxx, IAlx + mu * ITxz], [IAlx + mu * ITxz, IAll + 2 * mu * IAlz + mu**2 * ITzz]])
    K0 = np.array([[mT * zT, -SA], [-SA, -SA * sin(lam)]])
    K2 = np.array([[0, (ST - mT * zT) / w * cos(lam)], [0, (SA + SF * sin(lam)) / w * cos(lam)]])
    turn = mu * ST + SF * cos(lam)
    C1 = np.array(
        [
            [0, turn + ITxz / w * cos(lam) - mu * mT * zT],
            [-turn, IAlz / w * cos(lam) + mu * (SA + ITzz / w * cos(lam))],
        ]
    )
    bottom = -np.linalg.solve(M, np.hstack([g * K0 + speed**2 * K2, speed * C1]))
    return np.vstack([np.eye(4)[2:], bottom])


def sorted_eigenvalues(A: np.ndarray) -> np.ndarray:
    return np.sort_complex(np.linalg.eigvals(A))


@pytest.mark.parametrize("speed", [0.0, 1.0, 2.5, 5.0, 7.5, 10.0])
def test_the_bicycle_has_the_benchmarks_eigenvalues(speed):
    ours, theirs = balance(bicycle_at(speed)), carvallo_whipple(speed)
    np.testing.assert_allclose(sorted_eigenvalues(ours), sorted_eigenvalues(theirs), rtol=0, atol=1e-9)


def test_published_eigenvalues_at_5_metres_a_second():
    """Table 2 of the paper."""
    published = [
        -14.07838969279822,
        -0.77534188219585 - 4.46486771378823j,
        -0.77534188219585 + 4.46486771378823j,
    ]
    found = sorted_eigenvalues(balance(bicycle_at(5.0)))
    np.testing.assert_allclose(found, [*published, -0.32286642900409], rtol=0, atol=1e-11)


def test_the_bicycle_is_stable_between_the_benchmarks_speeds():
    """Weave turns stable at the first speed, capsize unstable at the second."""
    assert rolling.stable_speeds() == pytest.approx((4.29238253634111, 6.02426201538837), abs=1e-9)
    assert all(verdict.reproduces for verdict in rolling.verdicts())


def test_a_bicycle_on_a_belt_balances_as_on_the_road():
    """Only the speed over the surface counts: at rest over the ground, on a belt that runs back at 5 m/s."""
    belt = bicycle_at(5.0, -5.0)
    assert np.abs(belt.v[:6]).max() < 1e-12 and belt.v[6] == pytest.approx(5.0 / 0.3)
    np.testing.assert_allclose(balance(belt), balance(bicycle_at(5.0)), rtol=0, atol=1e-9)


def test_the_bumped_bicycle_rights_itself_and_keeps_its_energy():
    s = Simulation("bicycle")
    found = s.run(10.0, 1e-3, record=["steering_angle", "half_lean", "energy", "loop.residual"])
    steer, lean, energy, gap = found.values.T
    assert np.abs(lean).max() > 0.05  # it leans, and steers into the lean
    assert np.abs(lean[-1]) + np.abs(steer[-1]) < 0.01
    assert np.ptp(energy) < 1e-7 * energy[0]
    assert gap.max() < 1e-12
    slip, size = s.engine.slip(s.q, s.v, s.s, s.p)
    assert np.abs(slip).max() < 1e-13 * size


# -- other velocity constraints --------------------------------------------------------------------


def test_a_blade_on_a_slope_moves_as_the_closed_form_says():
    """A skate turning at a constant rate W on a slope: it does not slide down, but goes along a cycloid.

    With s the acceleration down the slope: u̇ = s cos(W t) along the blade, so x = s sin²(W t) / (2 W²) and
    y = s (W t − sin(W t) cos(W t)) / (2 W²) (Neimark and Fufaev).
    """
    body = Body("skate", 2.0, (0.0, 0.0, 0.0), (0.1, 0.1, 0.1, 0, 0, 0))
    W, slope = 2.0, 3.0
    along_x = (0.5**0.5, -(0.5**0.5), 0.0, 0.0)  # z of the blade's frame is across it
    joints = (
        Joint("ice", "planar", "ground", "skate", speed=(0.0, 0.0, W)),
        Joint("blade", "knife-edge", "ground", "skate", on_child=Frame((0, 0, 0), along_x)),
    )
    s = Simulation(Mechanism("skate", (body,), joints, gravity=(slope, 0.0, 0.0)), compile=False)
    found = s.run(3.0, 1e-3, record=["body.skate.position"])
    t = found.time
    expected = np.array([slope * np.sin(W * t) ** 2, slope * (W * t - np.sin(W * t) * np.cos(W * t))])
    np.testing.assert_allclose(found.values[:, :2], expected.T / (2 * W**2), rtol=0, atol=1e-9)
    assert s.topology().mobility == 2 and len(s.linearize().states) == 3 + 2


def test_a_ball_on_a_turntable_goes_round_in_circles():
    """A homogeneous ball rolls on a table that turns at W: its centre circles at 2/7 W from any start."""
    r, W = 0.1, 3.0
    table = Body("table", 1e6, (0.0, 0.0, 0.0), (1e6, 1e6, 1e6, 0, 0, 0))
    inertia = 0.4 * 1.0 * r**2
    ball = Body("ball", 1.0, (0.0, 0.0, 0.0), (inertia,) * 3 + (0.0,) * 3)
    joints = (
        Joint("axle", "revolute", "ground", "table", speed=(W,)),
        Joint("float", "free", "ground", "ball", start=(0.5, 0.0, r, 1.0, 0.0, 0.0, 0.0), speed=()),
        Joint("touch", "rolling-ball", "table", "ball", radius=r),
    )
    s = Simulation(Mechanism("turntable", (table, ball), joints), compile=False)
    v = s.v.copy()
    v[s.tree.v["float"]] = [0.3, 0.2, 0, 0, 0, 0]
    held = np.ones(s.tree.nv)
    held[[s.tree.v["float"].start + k for k in (3, 4)]] = 0.0  # the spins that roll
    s.put(replace(s.state, v=s.engine.kernels.dependent_speeds(s.q, v, 1 - held, s.s, s.p)))
    found = s.run(2 * pi / (2 / 7 * W), 1e-3, record=["body.ball.position"])
    x, y, _ = found.values.T
    turn = 2 / 7 * W * found.time
    centre = np.array([0.5 - 0.2 / (2 / 7 * W), 0.3 / (2 / 7 * W)])
    about = np.array([0.5, 0.0]) - centre
    expected = centre[:, None] + np.array(
        [about[0] * np.cos(turn) - about[1] * np.sin(turn), about[0] * np.sin(turn) + about[1] * np.cos(turn)]
    )
    np.testing.assert_allclose([x, y], expected, rtol=0, atol=1e-6)


def test_a_belt_does_work():
    """A ring set on a running belt at rest: the belt takes it along without slip, and energy balances."""
    s = bicycle_at(2.0, 3.0)
    s.set_inputs({"drive": 20.0})
    energy = s.outputs()["energy"]
    s.run(0.5, 1e-3)
    assert s.outputs()["power_supplied"] > 0
    assert s.outputs()["energy"] - energy == pytest.approx(s.work, abs=1e-7)


def test_joint_states_and_urdf_have_the_wheels_but_not_their_contacts():
    s = Simulation("bicycle", compile=False)
    s.run(0.1, 1e-3)
    values = JointValues(s)
    values.read()
    found = dict(zip(values.names, values.velocity, strict=True))
    assert [name for name in found if name.endswith(("axle", "steering"))] == [
        "rear_axle",
        "steering",
        "front_axle",
    ]
    assert found["rear_axle"] == s.v[s.tree.v["rear_axle"].start]
    text = urdf(s.mechanism)
    assert '<joint name="steering" type="continuous">' in text and "rear_contact_on_rear_wheel" in text
