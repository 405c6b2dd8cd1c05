"""Drives, cables and bushings against closed forms and equations written by hand."""

from dataclasses import replace
from math import tanh

import numpy as np
import pytest
from cutjoint import DescriptionError, Simulation
from cutjoint.model.describe.check import check
from cutjoint.model.describe.mechanism import Body, Bushing, Joint, Mechanism, Motor, Strut
from cutjoint.model.describe.visuals import NamedFrame
from cutjoint.model.describe.writer import write
from cutjoint.model.loading import read
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

J = 0.3  # of the wheel that motors turn
WHEEL = Body("wheel", 1.0, inertia=(J, J, J, 0.0, 0.0, 0.0))


def wheel(motor: Motor | None = None, **of_joint) -> Mechanism:
    """A wheel on ground, and its motor."""
    joint = Joint("hinge", "revolute", "ground", "wheel", **of_joint)
    return Mechanism("wheel", (WHEEL,), (joint,), (motor,) if motor else ())


def angles(simulation: Simulation, time: float, h: float = 1e-3) -> np.ndarray:
    """Position and speed of the hinge after every step."""
    found = []
    for _ in range(round(time / h)):
        simulation.step(h)
        found.append([simulation.q[0], simulation.v[0]])
    return np.array(found)


def balance(simulation: Simulation, before: float) -> float:
    """Energy that came from nowhere."""
    return abs(simulation.outputs()["energy"] - before - simulation.work)


def reference(rates, start, time: float, h: float = 1e-3, **options) -> np.ndarray:
    """An independent integration at the ends of the steps."""
    times = np.arange(1, round(time / h) + 1) * h
    found = solve_ivp(rates, (0, times[-1]), start, "DOP853", times, rtol=1e-11, atol=1e-12, **options)
    return found.y.T


def test_a_gear_reflects_its_rotor_and_loses_by_the_sign_of_power():
    motor = Motor("m", "hinge", gear_ratio=20.0, rotor_inertia=2e-4, efficiency=0.8)
    simulation = Simulation(wheel(motor, friction_speed=0.02), compile=False)
    before = simulation.outputs()["energy"]
    simulation.set_inputs([3.0])
    got = angles(simulation, 0.2)
    simulation.set_inputs([-3.0])
    got = np.vstack([got, angles(simulation, 0.3)])
    whole = J + 20.0**2 * 2e-4

    def rates(t, x):
        u = 3.0 if t < 0.2 else -3.0
        return [x[1], (u - 0.2 * abs(u) * tanh(x[1] / 0.02)) / whole]

    first = reference(rates, [0.0, 0.0], 0.2)
    second = reference(lambda t, x: rates(t + 0.2, x), first[-1], 0.3)
    np.testing.assert_allclose(got, np.vstack([first, second]), atol=1e-7)
    assert balance(simulation, before) < 1e-7
    assert simulation.outputs()["power_dissipated"] > 0


def test_torque_falls_with_speed():
    """Under a torque beyond its limit a motor goes towards its top speed exponentially."""
    simulation = Simulation(wheel(Motor("m", "hinge", limit=6.0, top_speed=10.0)), compile=False)
    simulation.set_inputs([100.0])
    got = angles(simulation, 1.0)[:, 1]
    times = np.arange(1, 1001) * 1e-3
    np.testing.assert_allclose(got, 10 * (1 - np.exp(-times * 6.0 / 10 / J)), atol=1e-9)
    simulation.set_inputs([-100.0])  # it brakes with all its limit
    simulation.step(1e-3)
    assert simulation.outputs()["motor.m.effort"] == pytest.approx(-6.0)


def test_a_servo_follows_position_speed_and_torque():
    k, d = 40.0, 3.0
    motor = Motor("m", "hinge", servo_stiffness=k, servo_damping=d, feed_forward="both", limit=5.0)
    simulation = Simulation(wheel(motor), compile=False)
    assert simulation.inputs == ("m", "m_speed", "m_torque")
    assert [v.unit for v in simulation.variables().inputs] == ["rad", "rad/s", "N.m"]
    inputs = [0.7, 0.2, 0.5]
    simulation.set_inputs(inputs)
    got = angles(simulation, 1.0)

    def rates(_, x):
        return [x[1], np.clip(k * (0.7 - x[0]) + d * (0.2 - x[1]) + 0.5, -5, 5) / J]

    np.testing.assert_allclose(got, reference(rates, [0.0, 0.0], 1.0, max_step=1e-3), atol=3e-5)
    assert simulation.q[0] == pytest.approx(0.7 + (0.5 + d * 0.2) / k, abs=1e-2)


def test_inputs_for_a_motion_behind_gears():
    motor = Motor("m", "hinge", gear_ratio=3.0, rotor_inertia=0.01, efficiency=0.7)
    simulation = Simulation(wheel(motor, speed=(2.0,)), compile=False)
    simulation.set_inputs(simulation.inverse_dynamics({"hinge": 4.0}))
    assert simulation.accelerations()[0][0] == pytest.approx(4.0, abs=1e-9)


# -- cables and one-sided springs --------------------------------------------------------------------

BALL = Body("ball", 2.0)


def hung(acts: str, damping: float = 0.0, **more) -> Mechanism:
    """A ball that can move up and down under a cable, or over a buffer."""
    rail = Joint("rail", "prismatic", "ground", "ball", **more)
    height = 1.0 if acts == "pulls" else -1.0
    strut = Strut(
        "line", "ground", "ball", (0.0, 0.0, height), stiffness=5e3, damping=damping, length=1.0, acts=acts
    )
    return Mechanism("hung", (BALL,), (rail,), struts=(strut,))


@pytest.mark.parametrize("acts", ["pulls", "pushes"])
@pytest.mark.parametrize("damping", [0.0, 30.0])
def test_slack_and_taut_again(acts, damping):
    """Thrown up, a ball flies freely, meets its cable again, and again: as written by hand."""
    simulation = Simulation(hung(acts, damping, speed=(1.0,)), compile=False)
    before = simulation.outputs()["energy"]
    sides, got, worst = [], [], 0.0
    h = 2.5e-4 if damping else 1e-3  # what dampers take is not judged, so that steps are not refined for it
    for _ in range(round(1.0 / h)):
        simulation.step(h)
        y = simulation.outputs()
        sides.append(y["strut.line.tension" if acts == "pulls" else "strut.line.thrust"] > 0)
        got.append([simulation.q[0], simulation.v[0]])
        worst = max(worst, abs(y["energy"] - before - simulation.work))
    assert np.abs(np.diff(np.array(sides, int))).sum() >= 4

    def rates(_, x):
        e = max(-x[0], 0.0)  # below the relaxed place the cable pulls up, and so does the buffer push
        hold = min(e / 1e-3, 1.0)
        force = max(5e3 * e - damping * hold * x[1], 0.0) if e > 0 else 0.0
        return [x[1], -9.81 + force / 2.0]

    np.testing.assert_allclose(got, reference(rates, [0.0, 1.0], 1.0, h, max_step=2e-4), atol=2e-4)
    assert worst < 1e-5
    if damping == 0:
        assert simulation.outputs()["energy"] == pytest.approx(before, abs=1e-5)


def test_a_winch_only_pulls():
    mechanism = hung("pulls")
    winch = replace(mechanism.struts[0], stiffness=0.0, actuated=True, limit=50.0)
    simulation = Simulation(replace(mechanism, struts=(winch,)), compile=False)
    for given, tension in ((-30.0, 30.0), (-80.0, 50.0), (30.0, 0.0)):
        simulation.set_inputs([given])
        assert simulation.outputs()["strut.line.tension"] == pytest.approx(tension)
        assert simulation.accelerations()[0][0] == pytest.approx(tension / 2.0 - 9.81)
    found = simulation.variables().inputs.find("line")
    assert (found.low, found.high) == (-50.0, 0.0)


# -- bushings ---------------------------------------------------------------------------------------


def mounted(**more) -> Mechanism:
    """A body that floats but for a bushing, whose axes and place are somewhere."""
    turn = tuple(np.roll(Rotation.from_euler("xyz", [0.3, -0.5, 0.8]).as_quat(), 1))
    body = Body("engine", 3.0, inertia=(0.2, 0.3, 0.4, 0.01, 0.02, -0.03))
    frames = (
        NamedFrame("a", "ground", (0.1, 0.2, 0.3), turn),
        NamedFrame("b", "engine", (0.05, -0.1, 0.02), turn),
    )
    start = (0.08, 0.25, 0.3, *np.roll(Rotation.from_rotvec([0.9, -0.7, 1.1]).as_quat(), 1))
    joint = Joint("float", "free", "ground", "engine", start=start, speed=(0.2, 0.1, -0.3, 1.0, 2.0, -0.5))
    bushing = Bushing("mount", "a", "b", **more)
    return Mechanism(
        "mounted", (body,), (joint,), frames=frames, bushings=(bushing,), gravity=(0.0, 0.0, 0.0)
    )


SPRINGS = {"stiffness": (4e2, 9e2, 2e3), "turn_stiffness": (5.0, 20.0, 11.0)}
DAMPERS = {"damping": (3.0, 8.0, 5.0), "turn_damping": (0.2, 0.1, 0.4)}


def test_a_bushing_keeps_its_energy_far_from_rest():
    simulation = Simulation(mounted(**SPRINGS), compile=False)
    before = simulation.outputs()["energy"]
    simulation.run(1.0, step=1e-3)
    assert simulation.outputs()["energy"] == pytest.approx(before, rel=1e-8)
    damped = Simulation(mounted(**SPRINGS, **DAMPERS), compile=False)
    before = damped.outputs()["energy"]
    damped.run(1.0, step=1e-3)
    assert damped.outputs()["energy"] < 0.5 * before and balance(damped, before) < 1e-8 * before


def test_a_bushing_pushes_as_its_energy_falls():
    """Power of its forces is −dV/dt along any motion, and Newton's law holds with torques found otherwise."""
    simulation = Simulation(mounted(**SPRINGS, **DAMPERS), compile=False)
    from cutjoint.model.verify.laws import unbalanced

    assert unbalanced(simulation.mechanism, simulation.outputs(), 1.0, 1e-3) < 1e-12


def test_a_soft_bushing_swings_at_its_own_frequencies():
    """Three moves and three turns about the principal axes of a body held at its centre."""
    body = Body("engine", 3.0, inertia=(0.2, 0.3, 0.4, 0.0, 0.0, 0.0))
    frames = (NamedFrame("a", "ground"), NamedFrame("b", "engine"))
    mechanism = Mechanism(
        "m", (body,), (Joint("float", "free", "ground", "engine"),), frames=frames,
        bushings=(Bushing("mount", "a", "b", **SPRINGS),), gravity=(0.0, 0.0, 0.0),
    )  # fmt: skip
    found = np.sort(np.abs(Simulation(mechanism, compile=False).linearize().eigenvalues().imag))[::2]
    wanted = np.sqrt([4e2 / 3, 9e2 / 3, 2e3 / 3, 5.0 / 0.2, 20.0 / 0.3, 11.0 / 0.4])
    np.testing.assert_allclose(found, np.sort(wanted), rtol=1e-9)


# -- descriptions -----------------------------------------------------------------------------------


def test_what_is_written_is_read_again():
    motor = Motor("m", "hinge", 9.0, 20.0, 30.0, 1e-4, 0.9, 100.0, 5.0, "both")
    for mechanism in (wheel(motor), mounted(**SPRINGS, **DAMPERS), hung("pulls", 3.0)):
        assert read(write(mechanism)) == check(mechanism)


@pytest.mark.parametrize(
    ("motor", "says"),
    [
        ({"efficiency": 1.2}, "efficiency of motor 'm'|must be above 0 and at most 1, not 1.2"),
        ({"gear_ratio": 0.0}, "must be positive, not 0"),
        ({"rotor_inertia": -1.0}, "must not be negative, but is -1"),
        ({"servo_damping": 1.0}, "it is for a servo; give the field 'servo_stiffness' too"),
        ({"feed_forward": "speed"}, "it is for a servo; give the field 'servo_stiffness' too"),
        ({"servo_stiffness": 1.0, "feed_forward": "all"}, "must be none, speed, torque or both, not 'all'"),
        ({"top_speed": 3.0}, "it is where a 'limit' has fallen to zero; give the field 'limit'"),
    ],
)  # fmt: skip
def test_bad_drives_are_refused(motor, says):
    with pytest.raises(DescriptionError, match=says):
        Simulation(wheel(Motor("m", "hinge", **motor)), compile=False)


def test_bad_cables_and_bushings_are_refused():
    with pytest.raises(DescriptionError, match=r"acts.*must be both, pulls or pushes, not 'hangs'"):
        Simulation(hung("hangs"), compile=False)
    mechanism = mounted()
    both = replace(mechanism.bushings[0], frame2="a")
    with pytest.raises(DescriptionError, match="both frames are on 'ground'; name one on another body"):
        Simulation(replace(mechanism, bushings=(both,)), compile=False)
    unknown = replace(mechanism.bushings[0], frame2="c")
    with pytest.raises(DescriptionError, match=r"there is no frame .*'c'"):
        Simulation(replace(mechanism, bushings=(unknown,)), compile=False)
