"""From an equilibrium no step of variable length passes over what inputs do, whatever says what they do."""

from __future__ import annotations

import warnings
from math import inf, pi, sin

import numpy as np
import pytest
from bulk import bulk
from cutjoint import Event, Simulation, hold, laws, settle
from cutjoint.model.base.errors import SimulationError
from cutjoint.model.describe.reader import list_examples
from cutjoint.model.laws.features import features
from cutjoint.model.laws.law import Law

TIMES, HEIGHTS = (0.0, 0.21, 0.23, 0.25, 0.6), (0.0, 0.0, 1.0, 0.0, 0.0)


def pulse(t: float) -> float:
    return 1.0 if 0.231 <= t < 0.236 else 0.0


# What is given, and a law of the same shape whose breaks are known.
SHAPES = {
    "sine": (laws.sine(1.0, 0.4), None),
    "fast sine": (laws.sine(1.0, 20.0), None),
    "chirp": (laws.chirp(1.0, 0.0, 15.0, 0.5), None),
    "late step": (laws.step(1.0, at=0.3), None),
    "pulse": (laws.trapezoid(1.0, at=0.231, hold=0.005), None),
    "spline": (laws.table(TIMES, HEIGHTS, "cubic", "kept"), None),
    "lines": (laws.table(TIMES, HEIGHTS, "linear", "kept"), None),
    "function": (lambda t: sin(2 * pi * 0.4 * t), laws.sine(1.0, 0.4)),
    "function that pulses": (pulse, laws.trapezoid(1.0, at=0.231, hold=0.005)),
}
NAMES = [*list_examples()]
EVERY_RUN = ["fourbar", "slider_crank"]


def scaled(given, low: float, size: float):
    """low + size·law, of a law or a function of time."""
    if isinstance(given, Law):
        return laws.added(laws.constant(low), given.through(lambda x: size * x, 1))
    return lambda t: low + size * given(t)


def at_rest(name: str) -> Simulation:
    simulation = Simulation(name, compile=False)
    for rest in (hold, settle):
        try:
            rest(simulation)
            return simulation
        except SimulationError:
            continue
    pytest.skip(f"{name} has no equilibrium here")


@pytest.mark.parametrize("name", bulk(NAMES, EVERY_RUN))
def test_variable_steps_from_rest_follow_every_law(name):
    s = at_rest(name)
    if not s.inputs:
        pytest.skip("nothing drives it")
    start, motor = s.state, s.inputs[0]
    low = float(s.u[0])
    for shape, (given, known) in SHAPES.items():
        size = 0.2 * (abs(low) + 0.1)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # limits of motors
            s.put(start)
            s.run(0.5, 0.5, method="variable", tolerance=1e-9, inputs={motor: scaled(given, low, size)})
            found = np.concatenate([s.q, s.v])
            s.put(start)
            s.run(0.5, 1e-3, inputs={motor: scaled(known or given, low, size)})
        right = np.concatenate([s.q, s.v])
        moved = np.abs(right - np.concatenate([start.q, start.v])).max()
        assert np.abs(found - right).max() <= 1e-4 * moved + 1e-8, shape


def test_variable_steps_meet_events_and_controllers_on_the_way():
    """A controller that wakes up late, and an event that its push leads to."""
    s = at_rest("fourbar")
    start, low = s.state, float(s.u[0])

    def late(t: float, _: Simulation) -> dict[str, float]:
        return {"crank": low + (0.5 if t >= 0.3 - 1e-9 else 0.0)}

    event = Event("turned", lambda x: float(x.q[0] - start.q[0]) - 0.05)
    met = []
    for method, step in (("variable", 0.05), ("local", 0.05), ("fixed", 0.05)):
        s.put(start)
        trajectory = s.run(0.6, step, method=method, controller=late, events=[event])
        met.append(trajectory.events[0][1])
    assert np.ptp(met) < 1e-6 and min(met) > 0.3


@pytest.mark.parametrize(
    ("function", "jumps", "shortest"),
    [
        (lambda t: 2.0, (), inf),
        (lambda t: 3.0 * t - 1.0, (), inf),
        (lambda t: sin(2 * pi * 5.0 * t), (), 0.1),
        (pulse, (0.231, 0.236), inf),
        (lambda t: sin(t) + (t >= 0.7), (0.7,), inf),
    ],
)
def test_what_a_function_of_time_does_is_found(function, jumps, shortest):
    law = Law("function", 1, lambda t: (function(t), 0.0, 0.0), smooth=False)
    found, length = features(law, 0.0, 1.0, 1.0)
    assert found == pytest.approx(jumps, abs=1e-12)
    assert length == pytest.approx(shortest, rel=0.02)
