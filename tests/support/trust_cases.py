"""Runs that are bad on purpose, and good ones of the same kinds; how wrong a run is by a far finer one."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from math import pi

import numpy as np
from cutjoint import Body, Frame, Joint, Mechanism, Simulation, load
from cutjoint.model.run.trajectory import Trajectory
from mechanisms import SYMMETRIC, five_bar, four_bars
from random_mechanisms import random_coupled, random_loop, random_tree

PIN = Frame((0.0, 0.0, 0.0), (0.5**0.5, 0.5**0.5, 0.0, 0.0))


@dataclass(frozen=True)
class Case:
    mechanism: Mechanism
    step: float
    duration: float
    stepper: str = "runge_kutta"
    tolerance: float | None = None  # of variable steps

    def run(self) -> tuple[Simulation, Trajectory]:
        s = Simulation(self.mechanism, compile=False, stepper=self.stepper)
        how = {} if self.tolerance is None else {"method": "variable", "tolerance": self.tolerance}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # they say that they are bad
            return s, s.run(self.duration, self.step, record=[], **how)


def wrong(trajectory: Trajectory, simulation: Simulation, step: float, finer: int = 100) -> float:
    """Largest distance of poses from a finer run's, over the way they go, at most a radian or the size."""
    engine, states = simulation.engine, trajectory.seen.states
    other = Simulation(engine)
    other.put(states[0])
    away, scales, gaps, ways = engine.kernels.displacement, engine.equations.scales.speeds, [], []
    for state in states[1:]:
        count = max(round((state.time - other.time) / step * finer), 1)
        h = (state.time - other.time) / count
        for _ in range(count):
            other.step(h)
        other.time = state.time
        gaps.append(np.abs(away(other.q, state.q) / scales).max())
        ways.append(np.abs(away(states[0].q, state.q) / scales).max())
    return float(max(gaps) / min(max(ways), 1.0)) if max(gaps) > 1e-9 else 0.0


def bad(seed: int) -> Case:
    """Too long steps, stiff, spinning, mixed scales, near-singular: in turn."""
    rng = np.random.default_rng(seed)
    stepper = str(rng.choice(["runge_kutta", "single", "single", "implicit"]))
    loose = float(10 ** rng.uniform(-4, -1)) if rng.random() < 0.1 else None
    match seed % 5:
        case 0:
            make = (random_tree, random_loop, random_coupled, chain)[seed // 5 % 4]
            h = _between(rng, 0.02, 0.2)
            return Case(make(seed), h, 60 * h, stepper, loose)
        case 1:
            h = _between(rng, 1e-3, 1e-2)
            return Case(stiff(seed, _between(rng, 0.2, 5.0) / h), h, 100 * h, stepper, loose)
        case 2:
            h = _between(rng, 5e-4, 5e-3)
            return Case(spinning(seed, _between(rng, 0.1, 3.0) / h), h, 100 * h, stepper, loose)
        case 3:
            ratio = _between(rng, 1e8, 1e14)
            return Case(mixed(seed, ratio), 1e-3, 0.04, stepper, loose)
        case _:
            h = _between(rng, 5e-3, 6e-2)
            return Case(near_singular(seed), h, 50 * h, stepper, loose)


def good(seed: int) -> Case:
    """The same kinds in moderation."""
    rng = np.random.default_rng(10_000 + seed)
    stepper = "implicit" if rng.random() < 0.1 else "runge_kutta"
    tight = 1e-9 if rng.random() < 0.2 else None
    match seed % 5:
        case 0:
            make = (random_tree, random_loop, random_coupled, chain)[seed // 5 % 4]
            return Case(make(seed), 2e-4 if stepper == "implicit" else 1e-3, 0.1, stepper, tight)
        case 1:
            h = _between(rng, 5e-4, 2e-3)
            return Case(stiff(seed, _between(rng, 0.005, 0.03) / h), h, 100 * h, stepper, tight)
        case 2:
            h = _between(rng, 5e-4, 2e-3)
            return Case(spinning(seed, _between(rng, 0.01, 0.5) / h), h, 150 * h, "runge_kutta", tight)
        case 3:
            return Case(mixed(seed, _between(rng, 1e2, 1e8)), 1e-3, 0.1, stepper, tight)
        case _:
            return Case(five_bar(_beside(rng, 0.1)), 1e-3, 0.1, stepper, tight)


def _between(rng: np.random.Generator, low: float, high: float) -> float:
    return float(np.exp(rng.uniform(np.log(low), np.log(high))))


def chain(seed: int) -> Mechanism:
    """Two or three pendulums in a row, that swing far."""
    rng, count = np.random.default_rng(seed), 2 + seed % 2
    bodies = tuple(
        Body(f"b{k}", 1.0, (0.0, 0.0, -0.5), (0.1, 0.1, 0.02, 0.0, 0.0, 0.0)) for k in range(count)
    )
    down = replace(PIN, position=(0.0, 0.0, -1.0))
    joints = tuple(
        Joint(
            f"j{k}",
            "revolute",
            f"b{k - 1}" if k else "ground",
            f"b{k}",
            down if k else PIN,
            PIN,
            start=(float(rng.uniform(-2.5, 2.5)),),
        )
        for k in range(count)
    )
    return Mechanism("chain", bodies, joints)


def stiff(seed: int, rate: float) -> Mechanism:
    """A pendulum that carries a slide, or another pendulum, on a spring of this rate, rad/s."""
    rng = np.random.default_rng(seed)
    damping = float(rng.choice([0.0, 0.02, 1.0])) * rate
    kind = "prismatic" if seed // 5 % 2 else "revolute"
    inertia = 0.2 if kind == "prismatic" else 0.02 + 0.2 * 0.3**2
    bodies = (
        Body("arm", 1.0, (0.0, 0.0, -0.5), (0.1, 0.1, 0.02, 0.0, 0.0, 0.0)),
        Body("tip", 0.2, (0.0, 0.0, -0.3), (0.02, 0.02, 0.02, 0.0, 0.0, 0.0)),
    )
    joints = (
        Joint("pin", "revolute", "ground", "arm", PIN, PIN, start=(float(rng.uniform(0.5, 2.0)),)),
        Joint(
            "spring",
            kind,
            "arm",
            "tip",
            replace(PIN, position=(0.0, 0.0, -1.0)),
            PIN,
            start=(float(rng.uniform(0.0, 0.05)),),
            stiffness=(inertia * rate**2,),
            damping=(inertia * damping,),
        ),
    )
    return Mechanism("stiff", bodies, joints)


def spinning(seed: int, spin: float, part: float | None = None) -> Mechanism:
    """A top, a free body, or a top on an arm, with a spin of so many rad/s and a part of it as wobble."""
    rng = np.random.default_rng(seed)
    wobble = spin * float(rng.choice([0.0, 0.01, 0.1]) if part is None else part)
    tilt = float(rng.uniform(0.1, 1.2))
    turn = (float(np.cos(tilt / 2)), float(np.sin(tilt / 2)), 0.0, 0.0)
    moments = (0.01, float(rng.choice([0.01, 0.012])), float(rng.uniform(0.005, 0.019)), 0.0, 0.0, 0.0)
    top = Body("top", 1.0, (0.0, 0.0, 0.1), moments)
    speed = (wobble, 0.0, spin)
    match seed // 5 % 3:
        case 0:
            joints = (Joint("pivot", "spherical", "ground", "top", start=turn, speed=speed),)
        case 1:
            joints = (
                Joint("float", "free", "ground", "top", start=(0.0,) * 3 + turn, speed=(0.0,) * 3 + speed),
            )
        case _:
            arm = Body("arm", 1.0, (0.0, 0.0, -0.5), (0.1, 0.1, 0.02, 0.0, 0.0, 0.0))
            end = Frame((0.0, 0.0, -1.0))
            joints = (
                Joint("pin", "revolute", "ground", "arm", PIN, PIN, start=(1.0,)),
                Joint("pivot", "spherical", "arm", "top", end, start=turn, speed=speed),
            )
            return Mechanism("spinning", (arm, top), joints)
    return Mechanism("spinning", (top,), joints)


def mixed(seed: int, ratio: float) -> Mechanism:
    """A four-bar with one body lighter or heavier by the ratio."""
    plain = load("fourbar")
    bodies, k = list(plain.bodies), seed // 5 % len(plain.bodies)
    factor = ratio if seed // 15 % 2 else 1 / ratio
    heavy = bodies[k]
    bodies[k] = replace(heavy, mass=heavy.mass * factor, inertia=tuple(x * factor for x in heavy.inertia))
    return replace(plain, bodies=tuple(bodies))


def near_singular(seed: int) -> Mechanism:
    """Rows of parallelograms that line up, five-bars on their way to singular poses."""
    rng = np.random.default_rng(seed)
    if seed // 5 % 2:
        return four_bars(
            1 + seed // 10 % 2, angle=float(rng.uniform(0.2, 0.9) * pi), speed=-float(rng.uniform(1, 6))
        )
    return five_bar(_beside(rng, 0.6))


def _beside(rng: np.random.Generator, far: float) -> tuple[float, ...]:
    """A start of the five-bar beside its symmetric one."""
    return (SYMMETRIC[0] + float(rng.uniform(-far, far)), *SYMMETRIC[1:])
