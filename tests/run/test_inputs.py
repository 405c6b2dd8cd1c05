"""Inputs over time: laws, functions, arrays and controllers during a run, and how right steps then are."""

from __future__ import annotations

from dataclasses import replace
from math import pi

import numpy as np
import pytest
from cutjoint import CutjointError, Motor, Simulation, SimulationError, laws
from cutjoint.model.laws.texts import law as law_of
from cutjoint.model.loading import read
from cutjoint.model.run.equilibrium import hold
from cutjoint.model.run.events import Event
from mechanisms import SINGULAR, five_bar

CART = """
gravity: 0
bodies:
  cart: {mass: 2, com: [0, 0, 0]}
joints:
  rail: {type: prismatic, parent: ground, child: cart, at: [0, 0, 0], axis: x}
motors:
  push: {joint: rail, limit: 50}
"""
LAWS = {  # breaks that fall on no step
    "motor1": "sine(amplitude=5, frequency=2)",
    "motor2": "sum(step(at=0.0337, to=5), chirp(3, 1, 8, 0.3))",
    "motor3": "trapezoid(4, at=0.0213, rise=0.031, hold=0.02)",
}


def cart(**options: object) -> Simulation:
    return Simulation(read(CART, "cart.yaml"), compile=False, **options)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def platform() -> Simulation:
    return Simulation("stewart", compile=False)


def reached(s: Simulation, duration: float, **how: object) -> np.ndarray:
    s.reset()
    run = s.run(duration, **how)  # type: ignore[arg-type]
    assert run.judgement.trusted
    return np.concatenate([s.q, s.v])


def test_fixed_steps_follow_smooth_laws_and_breaks_with_fourth_order(platform: Simulation) -> None:
    exact = reached(platform, 0.1, step=0.01, method="variable", tolerance=1e-12, inputs=LAWS)
    local = reached(platform, 0.1, step=0.01, method="local", tolerance=1e-12, inputs=LAWS)
    np.testing.assert_allclose(local, exact, atol=1e-10)
    steps = (0.01, 0.005, 0.0025)
    errors = [np.abs(reached(platform, 0.1, step=h, inputs=LAWS) - exact).max() for h in steps]
    assert errors[-1] < 1e-7 and (np.log2(np.divide(errors[:-1], errors[1:])) > 3.6).all(), errors


@pytest.mark.parametrize("stepper", ["runge_kutta", "single", "implicit"])
@pytest.mark.parametrize(("method", "tolerance"), [("fixed", 1e-6), ("variable", 1e-8)])
def test_a_cart_goes_as_newton_says(stepper: str, method: str, tolerance: float) -> None:
    w, a = 2 * pi * 1.5, 3.0
    s = cart(stepper=stepper)
    run = s.run(1.0, 0.01, method, inputs={"push": laws.sine(a, 1.5)}, record=["joint.*", "input.push"])
    t = run.time
    bound = 1e-3 if stepper == "implicit" and method == "fixed" else tolerance
    np.testing.assert_allclose(run["joint.rail.velocity"], a / 2 / w * (1 - np.cos(w * t)), atol=bound)
    np.testing.assert_allclose(run["input.push"], a * np.sin(w * t), atol=1e-13)
    assert run.judgement.trusted and run.judgement.scale > 0


@pytest.mark.parametrize("method", ["fixed", "variable", "local"])
def test_jumps_are_met_wherever_they_are(method: str) -> None:
    """v = ∫u/m of what jumps between steps, exactly; nothing is asked on the wrong side of a jump."""
    s = cart()
    law = "sum(step(to=4, at=0.123456), step(to=-8, at=0.7654321), trapezoid(3, at=0.31, rise=0.017))"
    s.run(1.0, 0.1, method, inputs={"push": law}, tolerance=1e-10)
    area = 4 * (1 - 0.123456) - 8 * (1 - 0.7654321) + 3 * 0.017
    assert s.v[0] == pytest.approx(area / 2, abs=1e-12)
    assert s.u[0] == -4 and s.time == 1.0


def test_functions_arrays_pairs_texts_and_numbers_are_inputs_too() -> None:
    held = np.arange(10.0)
    whole = {
        "law": laws.sine(2.0, 1.0),
        "text": "sine(2, 1)",
        "function": lambda t: 2 * np.sin(2 * pi * t),
    }
    ends = {}
    for name, value in whole.items():
        s = cart()
        s.run(0.5, 0.01, inputs={"push": value})
        ends[name] = s.v[0]
    assert ends["law"] == ends["text"] and ends["function"] == pytest.approx(ends["law"], abs=1e-14)
    for value, area in ((held, 0.1 * held.sum()), (3, 3.0), ("3 N", 3.0), (([0, 0.4, 1], [0, 2, 0]), 1.0)):
        s = cart()
        s.run(1.0, 0.1, inputs={"push": value})
        assert s.v[0] == pytest.approx(area / 2, abs=1e-13)


FLOATING = """
gravity: 0
bodies: {cart: {mass: 2, com: [0, 0, 0], inertia: [1, 1, 1]}}
joints: {float: {type: free, parent: ground, child: cart, at: [0, 0, 0]}}
frames: {tool: {body: cart, at: [0, 0, 0], port: force}}
"""


def test_inputs_of_several_numbers_take_as_many_laws() -> None:
    s = Simulation(read(FLOATING, "floating.yaml"), compile=False)
    three = laws.stack(laws.constant(1.0), laws.sine(2.0, 1.0), laws.ramp(4.0))
    for value in (three, [1, "sine(2, 1)", lambda t: 4 * t]):
        s.reset()
        s.run(0.25, 0.01, inputs={"tool.force": value})
        np.testing.assert_allclose(s.u[:3], [1, 2, 1], atol=1e-12)
        speeds = s.outputs()["body.cart.velocity"]
        np.testing.assert_allclose(speeds, [0.125, 1 / (2 * pi), 0.0625], atol=1e-8)
    s.reset()
    s.run(0.1, 0.01, inputs={"tool.force[2]": "5 N"})
    assert s.u.tolist() == [0, 5, 0, 0, 0, 0]
    for wrong in (5.0, "5", [1, 2], laws.constant([1.0, 2.0])):
        with pytest.raises(SimulationError, match=r"has 3 numbers; give a list of 3, or name one of them"):
            s.run(0.1, 0.01, inputs={"tool.force": wrong})


def test_a_short_bump_is_not_stepped_over() -> None:
    def bump(t: float) -> float:
        return 5.0 if 0.4 <= t < 0.45 else 0.0

    s = cart()
    s.run(1.0, 0.01, "variable", tolerance=1e-8, inputs={"push": bump})
    assert s.v[0] == pytest.approx(0.125, abs=1e-4)


def test_a_run_goes_on_where_the_last_one_ended() -> None:
    law = {"push": "sum(sine(4, 2), step(to=2, at=0.2517))"}
    one, two = cart(), cart()
    one.run(0.5, 0.01, inputs=law)
    for _ in range(2):
        two.run(0.25, 0.01, inputs=law)
    np.testing.assert_allclose([two.q[0], two.v[0]], [one.q[0], one.v[0]], atol=1e-14)
    assert two.time == one.time


@pytest.mark.parametrize("method", ["fixed", "variable"])
def test_events_look_back_with_the_inputs_of_their_time(method: str) -> None:
    s = cart()
    events = [Event("fast", lambda x: x.v[0] - 0.1, 1), Event("turn", "input.push")]
    found = dict(s.run(0.9, 0.05, method, inputs={"push": laws.sine(2.0, 1.0)}, events=events).events)
    assert found["fast"] == pytest.approx(np.arccos(1 - 0.1 * 2 * pi) / (2 * pi), abs=1e-4)
    assert found["turn"] == pytest.approx(0.5, abs=1e-9)


@pytest.mark.parametrize("method", ["fixed", "variable"])
def test_a_controller_is_asked_once_a_step_and_held(method: str) -> None:
    asked: list[float] = []

    def pd(t: float, s: Simulation) -> dict[str, float]:
        asked.append(t)
        return {"push": 200 * (0.1 - s.q[0]) - 40 * s.v[0]}

    s = cart()
    run = s.run(2.0, 0.01, method, controller=pd, record=["input.push", "joint.rail.position"])
    np.testing.assert_allclose(asked, 0.01 * np.arange(200), atol=1e-12)
    assert s.q[0] == pytest.approx(0.1, abs=1e-4) and run["input.push"][0] == 20
    x, v, u = 0.0, 0.0, 0.0
    for _ in range(200):  # the same loop by hand: held inputs are integrated exactly
        u = 200 * (0.1 - x) - 40 * v
        x, v = x + 0.01 * v + 0.01**2 * u / 4, v + 0.01 * u / 2
    assert s.q[0] == pytest.approx(x, abs=1e-11) and s.v[0] == pytest.approx(v, abs=1e-11)


def test_laws_and_controllers_share_the_inputs(platform: Simulation) -> None:
    platform.reset()
    run = platform.run(
        0.05,
        0.01,
        inputs={"motor1": "sine(5, 2)"},
        controller=lambda t, s: {"motor2": 7.0},
        record=["input.*"],
    )
    assert run["input.motor2"].tolist() == [7.0] * 6 and run["input.motor3"].tolist() == [0.0] * 6
    platform.reset()
    with pytest.raises(SimulationError, match="input 'motor1' has a law, and the controller sets it"):
        platform.run(0.1, inputs={"motor1": 1.0}, controller=lambda t, s: {"motor1": 1.0})


WRONG = [
    ({"nope": 1.0}, "there is no input 'nope'"),
    ({"push": "sin(1)"}, "input 'push': there is no law 'sin'; did you mean 'sine'?"),
    ({"push": "sine(amplitude=1 mm, frequency=1)"}, "input 'push': sine: amplitude can't be in 'mm'"),
    ({"push": laws.stack(laws.constant(1.0), laws.constant(2.0))}, "gives 2 numbers; it must give one"),
    ({"push": [0.0, float("nan")]}, "input 'push': motion law 'array of push' needs"),
    (
        {"push": np.zeros((3, 2))},
        r"one value for each step is wanted, not an array of shape \(3, 2\)",
    ),
    ({"push": np.zeros(3)}, r"goes from 0 to 0.3 s, but the run from 0 to 1 s; lengthen the table"),
    ({"push": ([0, 2, 1], [0, 1, 2])}, "two or more increasing times"),
    ({"push": lambda t: float("nan")}, "is not a finite number at 0 s"),
    ({"push": None}, "a law, or one value for each step is wanted, not nothing"),
    ({"push": {}}, "a law, a function of time, or numbers are wanted"),
]


@pytest.mark.parametrize(("inputs", "sentence"), WRONG, ids=[sentence[:40] for _, sentence in WRONG])
def test_what_is_no_input_is_refused_and_nothing_moves(inputs: dict[str, object], sentence: str) -> None:
    s = cart()
    before = s.state
    with pytest.raises(CutjointError, match=sentence):
        s.run(1.0, 0.1, inputs=inputs)
    assert s.state == before


def test_energy_accounts_for_inputs_that_vary_and_a_bad_run_is_still_told() -> None:
    s = Simulation("fourbar", compile=False)
    motor = s.inputs[0]
    run = s.run(1.0, 0.005, inputs={motor: "sine(3, 1)"})
    assert abs(s.work) > 0.01 and run.judgement.part < 1e-6
    stiff = read(CART.replace("axis: x", "axis: x, stiffness: 1e8"), "stiff.yaml")
    with pytest.warns(UserWarning, match="do not trust this run"):
        bad = Simulation(stiff, compile=False, stepper="single").run(
            0.01, 1e-3, inputs={"push": "sine(1, 5)"}
        )
    assert not bad.judgement.trusted


@pytest.mark.parametrize("method", ["variable", "local"])
@pytest.mark.parametrize("name", ["fourbar", "loader", "slider_crank", "parallel_robot", "belt_picker"])
def test_no_step_from_an_equilibrium_passes_over_what_inputs_do(name: str, method: str) -> None:
    """Accelerations there are round-off, and say nothing of how long a step may be."""
    ends = []
    for how in ({"step": 1e-3}, {"step": 0.05, "method": method, "tolerance": 1e-9}):
        s = Simulation(name, compile=False)
        held = float(next(iter(hold(s).inputs.values())))
        s.run(0.5, inputs={s.inputs[0]: laws.sine(0.1 * abs(held), 2.0, offset=held)}, **how)  # type: ignore[arg-type]
        ends.append(s.v)
    np.testing.assert_allclose(ends[1], ends[0], atol=1e-6 * np.abs(ends[0]).max())


@pytest.mark.parametrize("law", ["sine(1, 50)", "sum(sine(0.1, 1), sine(1, 50))", "chirp(1, 0, 50, 1)"])
def test_no_step_is_longer_than_half_a_period(law: str) -> None:
    assert law_of(law).longest == pytest.approx(0.01)


def test_a_start_from_a_singular_equilibrium_is_no_longer_than_a_record() -> None:
    still = replace(five_bar(SINGULAR), gravity=(0.0, 0.0, 0.0), motors=(Motor("push", "left"),))
    s = Simulation(still, compile=False)
    run = s.run(0.5, 0.01, "variable", inputs={"push": laws.sine(1e-3, 1.0, offset=1e-3)})
    assert run.judgement.judged > 10
