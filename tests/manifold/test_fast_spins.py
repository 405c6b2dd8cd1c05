"""Fast spins: attitudes are right, or steps are done again on the rotation group; energy tells nothing."""

from __future__ import annotations

import numpy as np
import pytest
from cutjoint import Engine, Simulation
from cutjoint.model.manifold.rotations import turned, turning
from trust_cases import spinning

RPM = 2 * np.pi / 60


def attitude(simulation: Simulation) -> np.ndarray:
    """Euler parameters of the top."""
    return simulation.q[-4:] / np.linalg.norm(simulation.q[-4:])


def angle(a: np.ndarray, b: np.ndarray) -> float:
    return float(4 * np.arcsin(min(np.linalg.norm(a - np.sign(a @ b) * b) / 2, 1.0)))


@pytest.mark.parametrize("stepper", ["runge_kutta", "implicit"])
@pytest.mark.parametrize("rpm", [3_000.0, 10_000.0])
def test_a_top_is_where_a_finer_run_says(rpm: float, stepper: str) -> None:
    """0.59 rad off after a second of 1 ms steps at 10,000 rpm, 1.6e-3 at 3,000, its energy perfect."""
    s = Simulation(spinning(0, rpm * RPM), compile=False, stepper=stepper)
    other = Simulation(s.engine)
    told = s.run(0.2, 1e-3, record=[]).judgement
    other.run(0.2, 2e-5, record=[])
    assert angle(attitude(s), attitude(other)) < 5e-4
    assert told.trusted and told.refined and not told.unsettled


def test_single_steps_of_a_fast_top_are_doubted() -> None:
    s = Simulation(spinning(0, 10_000 * RPM, 0.0), compile=False, stepper="single")
    with pytest.warns(UserWarning, match=r"200 of 200 steps did not settle; the motion may be wrong"):
        told = s.run(0.2, 1e-3, record=[]).judgement
    assert told.part < 1e-3 and not told.trusted


def test_a_slow_top_is_not_refined() -> None:
    s = Simulation(spinning(0, 1_000 * RPM), compile=False)
    told = s.run(0.05, 1e-3, record=[]).judgement
    assert told.trusted and not told.refined


def test_the_group_s_rates_are_those_of_its_exponential() -> None:
    """d/dt of e ⊗ exp(½U(t)) with U̇ = dexp⁻¹(U) ω is ½ e ⊗ exp(½U) ⊗ ω; a steady spin is a straight line."""
    engine = Engine(spinning(0, 1.0), compile=False)
    turn, rates = engine.kernel("turned", turned), engine.kernel("turning", turning)
    rng = np.random.default_rng(5)
    q, U, w, h = np.array([1.0, 0.0, 0.0, 0.0]), 0.4 * rng.normal(size=3), rng.normal(size=3), 1e-4
    rate = rates(U, w)
    ends = [turn(q, U + x * rate) for x in (-h, h)]
    at = turn(q, U)
    scalar, vector = at[0], at[1:]
    right = 0.5 * np.array([-vector @ w, *(scalar * w + np.cross(vector, w))])
    np.testing.assert_allclose((ends[1] - ends[0]) / (2 * h), right, atol=2e-5 * np.linalg.norm(w))
    np.testing.assert_allclose(rates(0.7 * w, w), w, atol=1e-15)
