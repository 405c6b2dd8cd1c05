"""Find a mass and a length from a noisy motion, with the certainty of both.

A four-bar is moved by its motor, and two angles are measured with noise. Gauss-Newton's method fits
the coupler's mass and the distance of the two ground pins, with exact derivatives of the whole motion
(`motion_sensitivities`); their covariance tells how well the motion determines them.

    python -m cutjoint.examples.identify --noise 1e-3
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from functools import cache

import numpy as np
from cutjoint import Engine, Simulation, motion_sensitivities

PATHS = ("body.coupler.mass", "joint.ground_pin.on_parent.position[1]")
MEASURED = ("joint.crank_pin.position", "joint.ground_pin.position")
HELD = {"crank_pin": 0.0}  # where every motion starts, whatever the numbers are
TORQUE, TIME, STEP, EVERY = 2.0, 0.6, 2e-3, 5
TRUE = (3.4, 0.36)
MOST_STEPS = 12


@dataclass(frozen=True)
class Identified:
    """Values, their covariance, the steps taken, and what is left of the measurement's noise."""

    values: np.ndarray
    covariance: np.ndarray
    steps: int
    residual: float

    @property
    def deviations(self) -> np.ndarray:
        return np.asarray(np.sqrt(np.diag(self.covariance)))


@cache
def engine() -> Engine:
    """The four-bar with both numbers as parameters: one for all values, so that nothing is traced twice."""
    return Engine("fourbar", changeable=PATHS, compile=False)


def motion(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The measured angles over time with these numbers, (times · angles), and their derivatives."""
    numbers = dict(zip(PATHS, values.tolist(), strict=True))
    simulation = Simulation(engine(), parameters=numbers, start=HELD)
    simulation.set_inputs([TORQUE])
    found = motion_sensitivities(simulation, TIME, MEASURED, PATHS, STEP, EVERY, independent=["crank_pin"])
    return found.values.ravel(), found.matrix.reshape(-1, len(PATHS))


def identify(measured: np.ndarray, guess: np.ndarray) -> Identified:
    """Least squares by Gauss-Newton; steps are halved as long as they make things worse."""
    values = np.array(guess, float)
    y, J = motion(values)
    steps = 0
    while steps < MOST_STEPS:
        steps += 1
        change = np.linalg.lstsq(J, measured - y, rcond=None)[0]
        for _ in range(MOST_STEPS):
            new_y, new_J = motion(values + change)
            if np.linalg.norm(measured - new_y) <= np.linalg.norm(measured - y):
                break
            change = change / 2
        small = np.abs(change / values).max() < np.sqrt(np.finfo(float).eps)
        values, y, J = values + change, new_y, new_J
        if small:
            break
    left = measured - y
    variance = left @ left / (len(left) - len(values))
    return Identified(values, variance * np.linalg.inv(J.T @ J), steps, float(np.sqrt(variance)))


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--noise", type=float, default=1e-3, help="of the angles, radians (default: 0.001)")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args(argv)
    exact = motion(np.array(TRUE))[0]
    measured = exact + args.noise * np.random.default_rng(args.seed).normal(size=exact.shape)
    found = identify(measured, np.array([3.0, 0.35]))
    print(f"{found.steps} steps of Gauss-Newton, noise {found.residual:.3g} rad")
    for path, value, deviation, true in zip(PATHS, found.values, found.deviations, TRUE, strict=True):
        print(f"{path}: {value:.6g} ± {deviation:.2g} (true {true})")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
