"""Derivatives of steps are those of the steps that are taken, sub-steps included."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.linalg
from bulk import bulk
from cutjoint import Body, Joint, Mechanism, Simulation, SimulationError
from cutjoint.model.batch.step_jacobians import step_jacobians
from cutjoint.model.design.sensitivity import motion_sensitivities
from cutjoint.model.linear.discrete import discretize
from cutjoint.papers.methods.method_simulation import MethodSimulation
from mechanisms import five_bar
from random_mechanisms import random_coupled, random_loop, random_tree
from trust_cases import spinning

STEPPERS = ("runge_kutta", "single", "implicit")


def oscillator(stiffness: float = 1e6) -> Mechanism:
    """1 kg on a spring: 1000 rad/s."""
    rail = Joint("rail", "prismatic", "ground", "cart", stiffness=(stiffness,), start=(0.01,))
    return Mechanism("oscillator", (Body("cart", 1.0),), (rail,), gravity=(0.0, 0.0, 0.0))


def central(f, e: float = 2e-6) -> np.ndarray:
    """f'(0), of fourth order."""
    return (f(-2 * e) - 8 * f(-e) + 8 * f(e) - f(2 * e)) / (12 * e)


@pytest.mark.parametrize("h", [1e-3, 5e-3])
def test_an_oscillator_of_a_thousand_radians_a_second(h: float) -> None:
    """The unrefined step gave −0.0877 instead of −0.0656 of dx/dk at 1 ms, and 1e12 at 5 ms."""
    s = Simulation(oscillator(), compile=False)
    found = motion_sensitivities(s, 0.02, "joint.rail.position", "joint.rail.stiffness", step=h)
    ends = []
    for k in (1e6 - 1, 1e6 + 1):
        other = Simulation(oscillator(k), compile=False)
        ends.append(other.run(0.02, h)["joint.rail.position"][-1])
    assert found.matrix[-1, 0, 0] == pytest.approx((ends[1] - ends[0]) / 2, rel=1e-4)
    t = found.time[-1]
    assert found.matrix[-1, 0, 0] == pytest.approx(-0.01 * t * np.sin(1e3 * t) / 2e3, rel=1e-3)


@pytest.mark.parametrize("stepper", STEPPERS)
@pytest.mark.parametrize("seed", bulk(range(8), 3))
def test_motions_of_random_mechanisms_change_as_differences_of_runs_say(seed: int, stepper: str) -> None:
    """Long steps, which are done again in sub-steps where the stepper has any."""
    mechanism = (random_tree, random_loop, random_coupled)[seed % 3](seed)
    described = replace(mechanism, parameters={"mass": "body.b2.mass"})
    s = Simulation(described, compile=False, stepper=stepper)
    s.run(5e-3, 1e-3)
    h, begin, columns = 0.01, s.state, ["body.b1.position", "body.b1.velocity", "energy"]
    found = motion_sensitivities(s, 3 * h, columns, "mass", step=h, every=3)

    def end(change: float) -> np.ndarray:
        s.put(replace(begin, p=begin.p + change))
        for _ in range(3):
            s.step(h)
        return np.concatenate([np.ravel(s.outputs()[name]) for name in columns])

    scale = 1 + np.abs(found.matrix[-1]).max()
    np.testing.assert_allclose(found.values[-1], end(0.0), atol=1e-10 * (1 + np.abs(found.values[-1]).max()))
    np.testing.assert_allclose(found.matrix[-1, :, 0], central(end, 1e-5), atol=2e-6 * scale)


@pytest.mark.parametrize("stepper", ["runge_kutta", "implicit"])
def test_a_discrete_model_knows_sub_steps(stepper: str) -> None:
    s = Simulation(oscillator(), compile=False, stepper=stepper)
    model = discretize(s.engine, s.state, 5e-3, step=s.stepping)
    exact = scipy.linalg.expm(5e-3 * s.linearize().A)
    np.testing.assert_allclose(model.A, exact, atol=1e-2 * np.abs(exact).max())


def on_loops(s: Simulation, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    for _ in range(4):
        q = s.engine.kernels.project_position(q, [], s.p)
    return q, s.engine.kernels.project_velocity(q, v, [], s.p)


@pytest.mark.parametrize("compile", [None, False])
@pytest.mark.parametrize(
    ("name", "h", "speed"), [("oscillator", 5e-3, 3.0), ("fivebar", 1e-3, 0.0), ("fivebar", 0.2, 0.3)]
)
def test_slopes_of_steps_that_are_refined_or_start_from_rest(
    name: str, h: float, speed: float, compile: bool | None
) -> None:
    """Along directions that leave loops closed."""
    s = Simulation(oscillator() if name == "oscillator" else five_bar(), compile=compile)
    q, v = on_loops(s, s.q, s.v + speed)
    s.put(replace(s.state, q=q, v=v))
    found, state, direction = step_jacobians(s.engine, s.q, s.v, s.u, s.p, h), s.state, np.ones(s.q.size)

    def beside(e: float) -> np.ndarray:
        return np.concatenate(on_loops(s, state.q + e * direction, state.v + e * speed * direction))

    def after(e: float) -> np.ndarray:
        q, v = np.split(beside(e), [s.q.size])
        s.put(replace(state, q=q, v=v))
        s.step(h)
        return np.concatenate([s.q, s.v])

    along = found.A[0] @ central(beside)
    np.testing.assert_allclose(along, central(after), atol=1e-5 * np.abs(along).max())
    assert s.counters[0] or not speed


def test_the_papers_methods_are_not_differentiated() -> None:
    s = MethodSimulation(five_bar(), formulation="svd", compile=False)
    with pytest.raises(SimulationError, match="not differentiated"):
        motion_sensitivities(s, 0.01, "energy", "body.rod1.mass")


@pytest.mark.parametrize("spin", [0.0, 1047.0])
@pytest.mark.parametrize("stepper", ["runge_kutta", "implicit"])
def test_motions_of_a_fast_top_on_an_arm_change_as_differences_say(stepper: str, spin: float) -> None:
    """Sub-steps on the rotation group are differentiated too, and so are those of what rests at first."""
    h, column, path = 4e-3 if spin else 0.3, "body.top.position", "body.top.mass"
    s = Simulation(spinning(10, spin, 0.0), compile=False, stepper=stepper)
    found = motion_sensitivities(s, 2 * h, column, path, step=h).matrix[-1, :, 0]
    ends = []
    for mass in (1 - 1e-5, 1 + 1e-5):
        other = Simulation(spinning(10, spin, 0.0), compile=False, stepper=stepper, parameters={path: mass})
        other.step(h)
        other.step(h)
        ends.append(np.asarray(other.outputs()[column]))
        assert other.counters[0] == 2
    np.testing.assert_allclose(found, (ends[1] - ends[0]) / 2e-5, atol=1e-3 * np.abs(found).max())
