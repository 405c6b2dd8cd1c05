"""What rolls without slipping: the benchmark bicycle's range of stable speeds, and a disc on its circle.

The bicycle is the library's uncontrolled one, Whipple's with the numbers of Meijaard, Papadopoulos, Ruina and
Schwab (2007), who give its eigenvalues and the two speeds between which it balances by itself. The disc's
steady motion has a closed form, derived in its description.
"""

from copy import copy
from dataclasses import replace
from functools import cache
from math import cos, pi, radians, sin, sqrt, tan

import numpy as np
from scipy.optimize import brentq

from ...model.loading import load
from ...model.run.assembly import consistent_speeds
from ...model.simulation import Simulation
from .. import Verdict

STABLE = 4.29238253634111, 6.02426201538837  # m/s: weave settles above the first, capsize below the second
WITHIN = (4.2, 4.4), (5.9, 6.1)  # where they are looked for
UPRIGHT = ["motion[4]", "steering", "motion[1]"]  # lean, steer and forward speed
TO_SPEED = 1e-9  # m/s
TO_PLACE = 1e-9  # m
# The disc, in the symbols of its description: mass, gravity, its radius and its circle's, lean.
m, g, r, R, p = 2.0, 9.81, 0.3, 1.0, radians(20)


@cache
def _bicycle(belt: float) -> Simulation:
    """Traced once for all speeds."""
    bicycle = load("bicycle")
    joints = (replace(j, belt=(belt, 0.0)) if j.type == "rolling" else j for j in bicycle.joints)
    return Simulation(replace(bicycle, joints=tuple(joints)) if belt else bicycle, compile=False)


def bicycle_at(speed: float, belt: float = 0.0) -> Simulation:
    """Upright, going straight on; on a belt it goes slower over the ground."""
    s = copy(_bicycle(belt))
    v = consistent_speeds(s.engine, s.state, {"motion": np.array([speed + belt, 0, 0, 0, 0, 0])})
    s.state = replace(s.state, v=v)
    return s


def balance(s: Simulation) -> np.ndarray:
    """A of lean and steer and their rates, on which nothing else acts: places and headings are all alike."""
    A = s.linearize(states=UPRIGHT).A
    keep = [0, 1, len(A) - 3, len(A) - 2]
    return A[np.ix_(keep, keep)]


def stable_speeds() -> tuple[float, float]:
    """Where the weave's real part, and the capsize's eigenvalue, are zero."""

    def weave(speed: float) -> float:
        values = np.linalg.eigvals(balance(bicycle_at(speed)))
        return float(values[np.abs(values.imag) > 0.1].real.max())

    def capsize(speed: float) -> float:
        return float(np.linalg.det(balance(bicycle_at(speed))))

    low, high = (brentq(f, *ends, xtol=1e-12) for f, ends in zip((weave, capsize), WITHIN, strict=True))
    return low, high


def disc_rate() -> float:
    """W of the disc's centre on its circle, rad/s."""
    C, A = m * r**2 / 2, m * r**2 / 4
    return sqrt(m * g * r * tan(p) / ((m * r**2 + C) * R / r + A * sin(p)))


def disc_error(rounds: int = 2) -> float:
    """How far from its circle and its time table the disc is, and from the grip and energy it should have."""
    rate, names = disc_rate(), ["body.disc.position", "reaction.road.force", "energy"]
    found = Simulation("rolling_disc").run(2 * pi * rounds / rate, 1e-3, record=names)
    t = found.time
    turn = np.array([np.cos(rate * t), np.sin(rate * t)])
    height, weight, energy = (0 * t + x for x in (r * cos(p), m * g, found.values[0, -1]))
    expected = np.vstack([R * turn, height, -m * rate**2 * R * turn, weight, energy])
    return float(np.abs(found.values.T - expected).max())


def verdicts() -> list[Verdict]:
    low, high = stable_speeds()
    off, away = max(abs(low - STABLE[0]), abs(high - STABLE[1])), disc_error()
    return [
        Verdict(
            "bicycle: stable speeds",
            "{:.11f} to {:.11f} m/s".format(*STABLE),
            f"{low:.11f} to {high:.11f} m/s",
            off < TO_SPEED,
            "published",
        ),
        Verdict(
            "rolling disc: two rounds at 1 ms",
            "its circle (closed form)",
            f"{away:.1e} m, N or J away",
            away < TO_PLACE,
        ),
    ]
