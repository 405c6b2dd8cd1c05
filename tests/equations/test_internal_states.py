"""Drives and friction with states of their own: against equations written by hand, with their energy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from cutjoint import (
    Body,
    DescriptionError,
    Joint,
    Mechanism,
    Motor,
    Simulation,
    SimulationError,
    Strut,
    load,
)
from cutjoint.model.cartesian import CartesianSimulation
from cutjoint.model.describe.check import check
from cutjoint.model.describe.writer import write
from cutjoint.model.linear.discrete import discretize
from cutjoint.model.loading import read
from cutjoint.model.run.equilibrium import hold, settle
from cutjoint.model.run.local_form import LocalForm
from cutjoint.model.verify.laws import _differences
from scipy.integrate import solve_ivp

J = 0.3  # of the wheel that motors turn
WHEEL = Body("wheel", 1.0, inertia=(J, J, J, 0.0, 0.0, 0.0))
WINDING = {"resistance": 0.5, "torque_constant": 0.05, "gear_ratio": 20.0, "rotor_inertia": 1e-4}
LOOSE = {"rotor_inertia": 0.02, "backlash": 0.02, "mesh_stiffness": 2e3}


def wheel(motor: Motor | None = None, **of_joint: Any) -> Mechanism:
    joint = Joint("hinge", "revolute", "ground", "wheel", **of_joint)
    return Mechanism("wheel", (WHEEL,), (joint,), (motor,) if motor else ())


def run(simulation: Simulation, time: float, h: float = 1e-3) -> np.ndarray:
    """Position, speed and internal states of the hinge after every step."""
    found = []
    for _ in range(round(time / h)):
        simulation.step(h)
        found.append([simulation.q[0], simulation.v[0], *simulation.z])
    return np.array(found)


def reference(f: Callable[..., Any], start: list[float], time: float, **options: Any) -> np.ndarray:
    times = np.arange(1, round(time / 1e-3) + 1) * 1e-3
    found = solve_ivp(f, (0, times[-1]), start, t_eval=times, rtol=1e-10, atol=1e-12, **options)
    return found.y.T


def unbalanced(simulation: Simulation, before: float) -> float:
    return abs(simulation.outputs()["energy"] - before - simulation.work)


def test_a_torque_lags() -> None:
    """τ = u(1 − e^(−t/T)): position and speed in closed form."""
    lag, u = 0.02, 3.0
    simulation = Simulation(wheel(Motor("m", "hinge", lag=lag)), compile=False)
    simulation.set_inputs([u])
    got, t = run(simulation, 0.3), np.arange(1, 301) * 1e-3
    fades = 1 - np.exp(-t / lag)
    speed = u / J * (t - lag * fades)
    place = u / J * (t**2 / 2 - lag * (t - lag * fades))
    np.testing.assert_allclose(got, np.array([place, speed, u * fades]).T, atol=2e-9)
    assert unbalanced(simulation, 0.0) < 1e-9


@pytest.mark.parametrize("inductance", [0.0, 2e-3, 2e-5])
def test_a_winding(inductance: float) -> None:
    """From rest under a step of voltage; the current of the smallest winding fades within 40 µs."""
    motor = Motor("m", "hinge", inductance=inductance, **WINDING)
    simulation = Simulation(wheel(motor), compile=False)
    assert [v.unit for v in simulation.variables().inputs] == ["V"]
    simulation.set_inputs([12.0])
    got, whole = run(simulation, 0.3), J + 20.0**2 * 1e-4  # 20 · 0.05 = 1 N·m per ampere
    if inductance:
        wanted = reference(
            lambda t, x: [x[1], x[2] / whole, (12 - 0.5 * x[2] - x[1]) / inductance],
            [0, 0, 0],
            0.3,
            method="Radau",
        )
    else:
        wanted = reference(lambda t, x: [x[1], (12 - x[1]) / 0.5 / whole], [0, 0], 0.3)
    np.testing.assert_allclose(got[-1], wanted[-1], rtol=1e-4)
    np.testing.assert_allclose(got[:, :2], wanted[:, :2], atol=2e-5)
    y = simulation.outputs()
    assert y["power_supplied"] == pytest.approx(12 * y["motor.m.current"])
    assert y["power_dissipated"] == pytest.approx(0.5 * y["motor.m.current"] ** 2)
    assert unbalanced(simulation, 0.0) < 1e-5 * simulation.work


def test_energy_of_a_current_is_kept() -> None:
    """A rotor that is held: of V i, R i² is lost and ½ L i² is there in the end."""
    motor = Motor("m", "hinge", inductance=5e-3, **WINDING)
    simulation = Simulation(wheel(motor, stiffness=(1e7,), damping=(1e4,)), compile=False)
    simulation.set_inputs([5.0])
    run(simulation, 0.1)
    current = simulation.outputs()["motor.m.current"]
    assert current == pytest.approx(10.0, rel=1e-3)
    kept = simulation.outputs()["energy_kinetic"]
    assert kept == pytest.approx(0.5 * 5e-3 * current**2, rel=1e-6)


@pytest.mark.parametrize("damping", [0.0, 50.0])
def test_play_never_gives_energy(damping: float) -> None:
    """A wheel thrown against a rotor behind play: it hits both ends, and energy only falls."""
    motor = Motor("m", "hinge", mesh_damping=damping, **LOOSE)
    simulation = Simulation(wheel(motor, speed=(1.0,)), compile=False)
    before, highest, sides = simulation.outputs()["energy"], -np.inf, set()
    got = []
    for _ in range(500):
        simulation.step(1e-3)
        y = simulation.outputs()
        highest = max(highest, y["energy"] - before)
        sides.add(int(np.sign(y["motor.m.effort"])))
        got.append([simulation.q[0], simulation.v[0], *simulation.z])
    assert sides == {-1, 0, 1}
    assert highest < 1e-6 * before
    assert unbalanced(simulation, before) < 1e-4 * before

    def rates(_: float, x: np.ndarray) -> list[float]:
        _, v, play, w = x
        e = max(play - 0.01, 0) + min(play + 0.01, 0)
        force = 2e3 * e + damping * abs(e) * (w - v)
        force = max(force, 0) if e > 0 else min(force, 0)
        return [v, force / J, w - v, -force / 0.02]

    wanted = reference(rates, [0, 1, 0, 0], 0.5, max_step=1e-4)
    np.testing.assert_allclose(got, wanted, atol=0.1 if damping else 5e-3)  # what dampers take is not judged
    np.testing.assert_allclose(np.array(got)[:, 0], wanted[:, 0], atol=2e-5)


# -- friction that sticks ---------------------------------------------------------------------------


def pulled(**more: Any) -> Mechanism:
    """A block on a rough floor, pulled by a spring that goes on at 0.1 m/s (Canudas de Wit, 1995)."""
    rough = {"friction": (1.0,), "stiction": (1.5,), "stribeck_speed": 1e-3, "damping": (0.4,)}
    rough |= {"bristle_stiffness": (1e5,), "bristle_damping": (316.2,)} | more
    floor = Joint("floor", "prismatic", "ground", "block", **rough)
    pull = Joint("pull", "prismatic", "ground", "truck", speed=(0.1,))
    spring = Strut("spring", "truck", "block", (0.0, 0.0, 10.0), stiffness=2.0, length=10.0)
    bodies = Body("block", 1.0), Body("truck", 1e7)
    return Mechanism("pulled", bodies, (floor, pull), struts=(spring,), gravity=(0.0, 0.0, 0.0))


def test_stick_and_slip_without_chatter() -> None:
    """Steps of 1 ms, although bristles fade within 30 µs of sliding: every slip as integrated otherwise."""
    simulation = Simulation(pulled())
    before = simulation.outputs()["energy"]
    where, speed = simulation.tree.q["floor"].start, simulation.tree.v["floor"].start
    got, tries = [], 0.0
    for _ in range(20000):
        simulation.step(1e-3)
        got.append([simulation.q[where], simulation.v[speed]])
    tries = simulation.counters[-1]
    place, v = np.array(got).T

    def rates(t: float, x: np.ndarray) -> list[float]:
        q, v, z = x
        bent = v - 1e5 * abs(v) / (1 + 0.5 * np.exp(-((v / 1e-3) ** 2))) * z
        force = 1e5 * z + 316.2 / (1 + 316.2 * abs(v) / 4) * bent + 0.4 * v
        return [v, 2.0 * (0.1 * t - q) - force, bent]

    times = np.arange(1, 20001) * 1e-3
    wanted = solve_ivp(rates, (0, 20.0), [0, 0, 0], "Radau", times, rtol=1e-9, atol=1e-12).y
    assert np.abs(place - wanted[0]).max() < 1e-4 and np.abs(v - wanted[1]).max() < 2e-4
    slips = np.flatnonzero(np.diff((v > 1e-2).astype(int)) > 0)
    assert len(slips) == np.sum(np.diff((wanted[1] > 1e-2).astype(int)) > 0) >= 2
    stuck = np.abs(v) < 1e-3
    assert stuck.mean() > 0.5 and np.sum(np.diff(stuck.astype(int)) != 0) <= 2 * len(slips) + 2  # no chatter
    assert unbalanced(simulation, before) < 1e-6 and tries == 0


def test_what_sticks_stays_where_it_is() -> None:
    """On a slope below its friction a block creeps by its bristles and stays; tanh would go on sliding."""
    rail = Joint(
        "rail", "prismatic", "ground", "block", friction=(5.0,), stiction=(8.0,),
        bristle_stiffness=(1e5,), bristle_damping=(300.0,),
    )  # fmt: skip
    slope = Mechanism("slope", (Body("block", 1.0),), (rail,), gravity=(0.0, 0.0, -4.0))
    simulation = Simulation(slope, compile=False)
    simulation.run(1.0, step=1e-3)
    first = simulation.q[0]
    simulation.run(3.0, step=1e-3)
    assert -2e-4 < first < -4.0 / 1e5 and simulation.q[0] == pytest.approx(first, rel=1e-9)
    steeper = Simulation(replace(slope, gravity=(0.0, 0.0, -9.0)), compile=False)
    steeper.run(1.0, step=1e-3)
    assert steeper.v[0] == pytest.approx(-(9.0 - 5.0), rel=2e-2)


@pytest.mark.parametrize("damping", [0.0, 1e2, 1e5])
def test_friction_never_gives_energy(damping: float) -> None:
    """Whatever its numbers, at any speed and any bend that its bristles can have."""
    simulation = Simulation(pulled(bristle_damping=(damping,)), compile=False)
    at, speed = simulation.tree.z["joint.floor.bristle"].start, simulation.tree.v["floor"].start
    rng = np.random.default_rng(1)
    for _ in range(200):
        state = simulation.state
        state.v[speed] = rng.choice([-1, 1]) * 10 ** rng.uniform(-6, 1)
        state.z[at] = rng.uniform(-1, 1) * 1.5e-5
        simulation.put(state)
        assert simulation.outputs()["power_dissipated"] >= -1e-12


# -- linear models, other steps, equilibria ----------------------------------------------------------

DRIVES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "lag": ({"lag": 0.02}, {}),
    "winding": ({"inductance": 2e-3, "efficiency": 0.9, **WINDING}, {}),
    "servo": (
        {
            "servo_stiffness": 50.0,
            "servo_damping": 3.0,
            "feed_forward": "speed",
            "inductance": 2e-3,
            **WINDING,
        },
        {},
    ),
    "play": ({"lag": 0.01, "mesh_damping": 10.0, **LOOSE}, {}),
    "bristles": (
        {},
        {"friction": (0.5,), "stiction": (0.8,), "bristle_stiffness": (1e4,), "bristle_damping": (10.0,)},
    ),
}


def fourbar(name: str) -> Simulation:
    """The four-bar with such a drive on its crank, or friction, after a tenth of a second."""
    bar = load("fourbar")
    motor, joint = DRIVES[name]
    joints = tuple(replace(j, **joint) if j.name == "crank_pin" else j for j in bar.joints)
    simulation = Simulation(
        replace(bar, joints=joints, motors=(Motor("m", "crank_pin", **motor),)), compile=False
    )
    simulation.set_inputs([2.0, 0.3][: len(simulation.inputs)])
    for _ in range(100):
        simulation.step(1e-3)
    return simulation


@pytest.mark.parametrize("name", DRIVES)
def test_linear_models_have_the_states_of_drives(name: str) -> None:
    simulation = fourbar(name)
    model, form = simulation.linearize(states="partition"), LocalForm(simulation, simulation.q)
    assert model.states[2:] == tuple(simulation.tree.z)
    exact = np.hstack([model.A, model.B])
    sizes = np.maximum(np.abs(exact).max(axis=1, keepdims=True), 1.0)
    off = [np.abs(_differences(simulation, form, h) - exact) / sizes for h in (1e-4, 1e-5, 1e-6)]
    assert min(x.max() for x in off) < 1e-9
    read = simulation.linearize(states="partition", outputs=list(simulation.tree.z))
    np.testing.assert_allclose(read.C[:, 2:], np.eye(simulation.tree.nz), atol=1e-12)


def test_a_discrete_model_has_the_states_of_drives() -> None:
    from scipy.linalg import expm

    simulation = fourbar("lag")
    model, step = (
        simulation.linearize(states="partition"),
        discretize(simulation.engine, simulation.state, 1e-3, "partition"),
    )
    n, m = model.B.shape
    whole = expm(1e-3 * np.block([[model.A, model.B], [np.zeros((m, n + m))]]))
    np.testing.assert_allclose(step.A, whole[:n, :n], atol=5e-5)
    np.testing.assert_allclose(step.B, whole[:n, n:], atol=5e-5)


@pytest.mark.parametrize("name", DRIVES)
def test_every_way_to_step_agrees(name: str) -> None:
    fixed = fourbar(name)
    bar = fixed.mechanism
    ways = {"variable": 1e-9, "local": 1e-9}
    for method, tolerance in ways.items():
        other = Simulation(bar, compile=False)
        other.set_inputs(fixed.u)
        other.run(0.1, method=method, tolerance=tolerance)
        np.testing.assert_allclose(other.q, fixed.q, atol=3e-4 if name == "servo" else 3e-6)
    implicit = Simulation(bar, compile=False, stepper="implicit")
    implicit.set_inputs(fixed.u)
    for _ in range(100):
        implicit.step(1e-3)
    np.testing.assert_allclose(implicit.q, fixed.q, atol=3e-4 if name in ("servo", "play") else 3e-6)


def test_drives_hold_and_settle() -> None:
    arm = Body("wheel", 2.0, com=(0.3, 0.0, 0.0), inertia=(J, J, J, 0.0, 0.0, 0.0))
    joint = Joint("hinge", "revolute", "ground", "wheel", start=(0.4,))
    for motor in (
        Motor("m", "hinge", inductance=1e-3, **WINDING),
        Motor("m", "hinge", lag=0.1),
        Motor("m", "hinge", servo_stiffness=200.0, servo_damping=5.0, inductance=1e-3, **WINDING),
    ):
        mechanism = Mechanism("arm", (arm,), (joint,), (motor,), gravity=(0.0, -9.81, 0.0))
        simulation = Simulation(mechanism, compile=False)
        found = hold(simulation)
        assert found.residual < 1e-9 and simulation.outputs()["motor.m.effort"] == pytest.approx(
            2.0 * 9.81 * 0.3 * np.cos(0.4)
        )
        with pytest.raises(SimulationError, match="follows its input later"):
            simulation.inverse_dynamics()
    simulation.set_inputs([0.5])
    settle(simulation)
    q = simulation.q[0]
    assert 200.0 * (0.5 - q) == pytest.approx(2.0 * 9.81 * 0.3 * np.cos(q))


def test_numbers_of_drives_are_parameters() -> None:
    """A simulation whose drive is changed moves as one described so; what is not there is no number."""
    marked = {key: f"motor.m.{key}" for key in (*WINDING, "inductance")}
    base = wheel(Motor("m", "hinge", inductance=2e-3, **WINDING))
    changed = Simulation(replace(base, parameters=marked), compile=False)
    other = {key: 1.3 * value for key, value in (WINDING | {"inductance": 2e-3}).items()}
    changed.set_parameters(other)
    described = Simulation(wheel(Motor("m", "hinge", **other)), compile=False)
    for simulation in (changed, described):
        simulation.set_inputs([12.0])
        simulation.run(0.05, step=1e-3)
    np.testing.assert_allclose(changed.q, described.q, rtol=1e-12)
    with pytest.raises(DescriptionError, match="leads to no number"):
        Simulation(replace(base, parameters={"lag": "motor.m.lag"}), compile=False)


# -- descriptions -----------------------------------------------------------------------------------


def test_what_is_written_is_read_again() -> None:
    for name in DRIVES:
        mechanism = fourbar(name).mechanism
        assert read(write(mechanism)) == check(mechanism)
    text = """{name: w, axes: body, bodies: {b: {mass: 1, inertia: [1, 1, 1]}},
      joints: {j: {type: revolute, parent: ground, child: b}}, motors: {m: {joint: j,
      resistance: 500 mohm, inductance: 2 mH, torque_constant: 0.05 N.m/A, supply: 24 V}}}"""
    assert read(text).motors[0] == Motor(
        "m", "j", resistance=0.5, inductance=2e-3, torque_constant=0.05, supply=24.0
    )


def test_what_other_formulations_do_not_know() -> None:
    with pytest.raises(SimulationError, match="the Cartesian simulation does not know; use Simulation"):
        CartesianSimulation(wheel(Motor("m", "hinge", lag=0.1)))


@pytest.mark.parametrize(
    ("motor", "says"),
    [
        ({"inductance": 1e-3}, "it is of a winding; give the field 'resistance' too"),
        ({"supply": 24.0}, "it is of a winding; give the field 'resistance' too"),
        ({"resistance": 1.0}, "a winding needs the torque it makes per current"),
        ({"lag": 0.1, **WINDING}, "a winding has its own; give its 'inductance' in place of a lag"),
        ({"limit": 5.0, **WINDING}, "the input is a voltage, limited by 'supply'; remove 'limit'"),
        ({"backlash": 0.1, "rotor_inertia": 1.0}, "give the field 'mesh_stiffness' too"),
        ({"backlash": 0.1, "mesh_stiffness": 1.0}, "give the field 'rotor_inertia' too"),
        ({"mesh_damping": 1.0}, "it is for play; give the field 'backlash' too"),
        ({"lag": -1.0}, "must not be negative, but is -1"),
    ],
)
def test_bad_drives_are_refused(motor: dict[str, Any], says: str) -> None:
    with pytest.raises(DescriptionError, match=says):
        Simulation(wheel(Motor("m", "hinge", **motor)), compile=False)


@pytest.mark.parametrize(
    ("joint", "says"),
    [
        ({"stiction": (1.0,)}, "it is of bristles; give the field 'bristle_stiffness' too"),
        ({"bristle_stiffness": (1.0,)}, "what sticks needs a positive friction to slide with"),
        (
            {"bristle_stiffness": (1.0,), "friction": (2.0,), "stiction": (1.0,)},
            "must not be below 'friction'",
        ),
        ({"bristle_stiffness": (-1.0,), "friction": (2.0,)}, "must not be negative, but is -1"),
    ],
)
def test_bad_friction_is_refused(joint: dict[str, Any], says: str) -> None:
    with pytest.raises(DescriptionError, match=says):
        Simulation(wheel(**joint), compile=False)


@pytest.mark.parametrize("name", ["fourbar", "loader"])
def test_nothing_is_paid_for_what_is_not_there(name: str) -> None:
    """Fields at their defaults leave the states, the step and all operations as they were."""
    plain = Simulation(name, compile=False)
    named = replace(
        plain.mechanism,
        motors=tuple(Motor(m.name, m.joint, limit=m.limit) for m in plain.mechanism.motors),
        joints=tuple(replace(j, stiction=(), bristle_stiffness=()) for j in plain.mechanism.joints),
    )
    other = Simulation(named, compile=False)
    assert plain.tree.nz == 0 and plain.engine.functions.internal_rates.n_instructions() == 0
    step = plain.engine.traced(*plain.stepping.traced())
    assert "phi" not in {f.name() for f in step.find_functions()}
    for what in ("dynamics", "outputs", "rates"):
        assert (
            getattr(plain.engine.functions, what).n_instructions()
            == getattr(other.engine.functions, what).n_instructions()
        )
