"""Derivatives of many steps, the vector environment, and the two examples that use them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from cutjoint import Simulation, SimulationError
from cutjoint.examples import identify, lqr_sampling
from cutjoint.model.batch.step_jacobians import step_jacobians
from cutjoint.model.manifold.step import single_step

CRANK = ["joint.crank_pin.position", "joint.crank_pin.velocity"]


@pytest.mark.parametrize("compile", [None, False])
def test_slopes_of_many_steps(compile: bool | None) -> None:
    """Against differences of the step itself, by state, inputs and parameters."""
    simulation = Simulation("slider_crank", compile=compile)
    engine, tree = simulation.engine, simulation.tree
    nx, p = tree.nq + tree.nv, simulation.p
    places, inputs = [], []
    for torque in (0.5, -0.3, 0.1):
        simulation.reset()
        simulation.set_inputs(np.full(len(simulation.inputs), torque))
        for _ in range(50):
            simulation.step(1e-3)
        places.append(np.concatenate([simulation.q, simulation.v]))
        inputs.append(simulation.u.copy())
    x, u = np.array(places), np.array(inputs)
    found = step_jacobians(engine, x[:, : tree.nq], x[:, tree.nq :], u)
    step = engine.kernel("unjudged step", single_step)

    def after(z: np.ndarray) -> np.ndarray:
        q, v, inputs, p = np.split(z, np.cumsum([tree.nq, tree.nv, u.shape[1]]))
        return np.concatenate(step(q, v, [], 0.0, inputs, p, 1e-3)[:2])

    for k in range(len(x)):
        at = np.concatenate([x[k], u[k], p])
        differences = np.array([(after(at + d) - after(at - d)) / 2e-6 for d in 1e-6 * np.eye(len(at))]).T
        exact = np.hstack([found.A[k], found.B[k], found.P[k]])
        assert np.abs(exact - differences).max() < 1e-7 * max(1.0, np.abs(exact).max())
    assert found.A.shape == (3, nx, nx) and found.P.shape == (3, nx, p.size)


def environment(**options: Any) -> Any:
    pytest.importorskip("gymnasium")
    from cutjoint.model.batch.environment import Environment

    simulation = Simulation("fourbar")
    options = {"largest": 2.0, "length": 4, "num_envs": 5, **options}
    return Environment(
        simulation.engine, simulation.state, CRANK, lambda y, a: -(y[:, 0] ** 2) - (a**2).sum(1), **options
    )


def test_an_environment_moves_as_simulations_do() -> None:
    env = environment()
    observed, _ = env.reset(seed=0)
    assert observed in env.observation_space and observed.shape == (5, 2)
    simulation = Simulation("fourbar")
    env.action_space.seed(1)
    for k in range(4):
        actions = env.action_space.sample()
        observed, rewards, terminated, truncated, _ = env.step(actions)
        simulation.set_inputs(actions[2])
        for _ in range(10):
            simulation.step(1e-3)
        wanted = [simulation.outputs()[name] for name in CRANK]
        assert np.abs(observed[2] - wanted).max() < 1e-10
        assert rewards[2] == pytest.approx(-(wanted[0] ** 2) - (actions[2] ** 2).sum())
        assert not terminated.any() and truncated.all() == (k == 3)
    observed, rewards, _, truncated, _ = env.step(env.action_space.sample())  # begins anew
    assert (observed == env.reset()[0]).all() and not rewards.any() and not truncated.any()


def test_episodes_end_and_begin_apart() -> None:
    rng_starts = []

    def start(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
        rng_starts.append(n)
        simulation = Simulation("fourbar")
        return np.tile(simulation.q, (n, 1)), np.tile(simulation.v, (n, 1))

    env = environment(ended=lambda y: y[:, 0] < -1e-3, start=start, length=1000)
    env.reset(seed=0)
    actions = np.array([[-2.0], [2.0], [2.0], [-2.0], [2.0]])
    terminated = np.zeros(5, bool)
    while not terminated.any():
        _, _, terminated, _, _ = env.step(actions)
    again = terminated.copy()
    _, rewards, terminated, _, _ = env.step(actions)
    assert rng_starts == [5, again.sum()] and (rewards[again] == 0).all() and not terminated[again].any()
    with pytest.raises(SimulationError, match="actions have the shape"):
        env.step(np.zeros(3))
    with pytest.raises(SimulationError, match="an action needs a largest value"):
        environment(largest=None)


def test_a_mass_and_a_length_are_found_with_their_certainty() -> None:
    """From noise of known size: both within three deviations, and the covariance is that of the noise."""
    exact = identify.motion(np.array(identify.TRUE))[0]
    measured = exact + 1e-3 * np.random.default_rng(4).normal(size=exact.shape)
    found = identify.identify(measured, np.array([3.0, 0.35]))
    assert (np.abs(found.values - identify.TRUE) < 3 * found.deviations).all()
    assert found.residual == pytest.approx(1e-3, rel=0.3)
    assert (found.deviations < [0.02, 1e-3]).all()


def test_sampled_gains_are_no_worse_than_the_first() -> None:
    found = lqr_sampling.tune(24, time=0.8)
    assert found.cost[0] <= found.first < np.inf
    assert (np.diff(found.cost[np.isfinite(found.cost)]) >= 0).all()
