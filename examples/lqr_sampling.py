"""Tune an LQR by sampling: hundreds of gains tried at once on the mechanism itself.

The platform of `stewart` balances upright (see `lqr_stewart.py`). Which weights are best for the nonlinear
mechanism, far from where the linear model was made, no Riccati equation knows. So weights are
drawn around those of a first design, each gives a gain, and one rollout tries all of them from several wrong
poses: the gain is different in every run.

    python -m cutjoint.examples.lqr_sampling --samples 200
"""

from __future__ import annotations

import argparse
import math
from dataclasses import dataclass

import numpy as np
from cutjoint import Equilibrium, Feedback, Simulation, hold, rollout
from scipy.linalg import solve_continuous_are

from .lqr_stewart import DAMPING_TIME, LARGEST_ERROR, LARGEST_TORQUE, STEP

ERRORS = ((10.0, 0.0, 0.0), (0.0, -10.0, 5.0), (6.0, 6.0, -6.0))  # degrees, of the motors
SPREAD = 10.0  # weights are drawn from this part to this many times of the first design's


@dataclass(frozen=True)
class Tuned:
    """Weights (angles, speeds, torques) and cost of every sample, the first design first, best to worst."""

    weights: np.ndarray
    cost: np.ndarray
    gain: np.ndarray
    first: float

    @property
    def fallen(self) -> int:
        return int(np.isinf(self.cost).sum())


def gain_of(upright: Equilibrium, weights: np.ndarray) -> np.ndarray:
    model, motors = upright.linear, len(upright.linear.inputs)
    Q, R = np.diag(np.repeat(weights[:2], motors)), np.eye(motors) * weights[2]
    return np.asarray(np.linalg.solve(R, model.B.T @ solve_continuous_are(model.A, model.B, Q, R)))


def tune(samples: int, time: float = 1.5, seed: int = 0) -> Tuned:
    """The best of some gains, by the mean of errors and torques over all starts."""
    simulation = Simulation("stewart")
    upright = hold(simulation)
    motors = [m.joint for m in simulation.mechanism.motors]
    where = [simulation.tree.q[name].start for name in motors]
    where += [simulation.tree.nq + simulation.tree.v[name].start for name in motors]
    wanted = np.array([upright.coordinates[name][0] for name in motors])
    starts = []
    for degrees in ERRORS:
        simulation.reset()
        simulation.assemble(dict(zip(motors, wanted + np.radians(degrees), strict=True)))
        starts.append(simulation.state)
    first = np.array([LARGEST_ERROR**-2, (DAMPING_TIME / LARGEST_ERROR) ** 2, LARGEST_TORQUE**-2])
    rng = np.random.default_rng(seed)
    weights = first * np.exp(rng.uniform(-math.log(SPREAD), math.log(SPREAD), (samples, 3)))
    weights[0] = first
    gains = np.array([gain_of(upright, row) for row in weights])

    nx = simulation.tree.nq + simulation.tree.nv
    K = np.zeros((samples, len(motors), nx))
    K[:, :, where] = gains
    goal = np.zeros(nx)
    goal[where[: len(motors)]] = wanted
    n = len(starts)
    names = [f"joint.{name}.position" for name in motors] + [f"input.{name}" for name in simulation.inputs]
    found = rollout(
        simulation.engine,
        (np.tile([s.q for s in starts], (samples, 1)), np.tile([s.v for s in starts], (samples, 1))),
        round(time / STEP),
        STEP,
        inputs=np.array(list(upright.inputs.values())),
        feedback=Feedback(np.repeat(K, n, axis=0), goal),
        record=names,
        every=5,
    )
    assert found.series is not None
    error, torque = found.series[:, :, : len(motors)] - wanted, found.series[:, :, len(motors) :]
    torque = torque - np.array(list(upright.inputs.values()))
    cost = ((error / LARGEST_ERROR) ** 2).sum(2) + ((torque / LARGEST_TORQUE) ** 2).sum(2)
    fallen = (found.ends != 0) | (np.abs(error[:, -1]).max(axis=1) > LARGEST_ERROR)
    each = np.where(fallen, np.inf, cost.mean(axis=1)).reshape(samples, n).mean(axis=1)
    order = np.argsort(each, kind="stable")
    return Tuned(weights[order], each[order], gains[order[0]], float(each[0]))


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--samples", type=int, default=200, help="gains to try (default: 200)")
    parser.add_argument("--time", type=float, default=1.5, help="seconds of every run")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args(argv)
    found = tune(max(args.samples, 1), args.time, args.seed)
    print(f"{len(found.cost)} gains from {len(ERRORS)} poses each, {found.fallen} let the platform fall")
    print(f"cost of the first design {found.first:.4g}, of the best {found.cost[0]:.4g}")
    ratio = found.weights[0] / found.weights[0][2] * LARGEST_TORQUE**-2
    print(f"its weights of angles and speeds, with torques' as before: {ratio[0]:.4g}, {ratio[1]:.4g}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
