"""Kinks are events: solvers land on stops, on friction that turns round, on cables that tighten."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fmpy import simulate_fmu
from fmu_exchange import begin
from fmu_tools import exported, get, initialize, instance

BOUNCING = """
name: bouncing
gravity: 9.81
bodies:
  weight: {mass: 1, com: [0, 0, 0], inertia: [0.01, 0.01, 0.01]}
joints:
  slide:
    {type: prismatic, parent: ground, child: weight, at: [0, 0, 0], axis: [0, 0, 1], start: 0.1,
     limits: [0, 2], limit_stiffness: 1e5, limit_damping: 1e4}
"""
TIED = """
name: tied
gravity: 9.81
bodies:
  weight: {mass: 1, com: [0, 0, 0], inertia: [0.01, 0.01, 0.01]}
joints:
  slide: {type: prismatic, parent: ground, child: weight, at: [0, 0, 0], axis: [0, 0, 1], start: -0.2}
springs:
  rope: {body1: ground, body2: weight, point1: [0, 0, 0], point2: [0, 0, 0], length: 0.3, stiffness: 2e4,
         damping: 5, acts: pulls}
"""
RUBBING = """
name: rubbing
gravity: 0
bodies:
  weight: {mass: 1, com: [0, 0, 0], inertia: [0.01, 0.01, 0.01]}
joints:
  slide:
    {type: prismatic, parent: ground, child: weight, at: [0, 0, 0], axis: [0, 0, 1], speed: 1,
     stiffness: 100, friction: 4, friction_speed: 1e-4}
"""


def fmu_of(text: str, folder: Path, fmi: int = 2, **options: Any) -> Path:
    file = folder / "described.yaml"
    file.write_text(text)
    return exported(str(file), fmi, outputs=("joint.*.position", "joint.*.velocity"), **options)


def crossings(t: np.ndarray, x: np.ndarray, v: np.ndarray) -> Iterator[float]:
    """Times at which a motion passes zero, from the cubic through values and rates at both ends of a step."""
    for k in np.flatnonzero(x[:-1] * x[1:] < 0):
        h, (a, b), (c, d) = t[k + 1] - t[k], x[k : k + 2], v[k : k + 2]
        s = np.array([2 * a - 2 * b + h * (c + d), -3 * a + 3 * b - h * (2 * c + d), h * c, a])
        (root,) = (z.real for z in np.roots(s) if abs(z.imag) < 1e-9 and -1e-9 <= z.real <= 1 + 1e-9)
        yield t[k] + h * root


def stepped(path: Path, end: float, h: float, kink: float) -> list[float]:
    """Times of the kink by co-simulation, in small steps inside."""
    rows = []
    with instance(path) as fmu:
        initialize(fmu)
        wanted = ["joint.slide.position", "joint.slide.velocity"]
        for k in range(round(end / h)):
            rows.append([k * h, *get(fmu, wanted)])
            fmu.doStep(k * h, h)
    t, x, v = np.array(rows).T
    return list(crossings(t, x - kink, v))


@pytest.mark.parametrize(("text", "kink", "fmi"), [(BOUNCING, 0.0, 2), (TIED, -0.3, 3)])
def test_cvode_lands_on_stops_and_cables(text: str, kink: float, fmi: int, tmp_path: Path) -> None:
    """Every contact begins and ends at an event, at the times that small steps find."""
    result = simulate_fmu(
        str(fmu_of(text, tmp_path, fmi)),
        fmi_type="ModelExchange",
        solver="CVode",
        stop_time=0.8,
        relative_tolerance=1e-10,
        output=["joint.slide.position"],
        record_events=True,
    )
    t, x = result["time"], result["joint.slide.position"]
    landed = np.unique(t[np.abs(x - kink) < 1e-9])
    wanted = stepped(fmu_of(text, tmp_path, fmi, step=1e-5), 0.8, 1e-4, kink)
    assert len(wanted) >= 3
    assert np.abs(np.array([landed[np.abs(landed - time).argmin()] for time in wanted]) - wanted).max() < 1e-6


def test_friction_turns_round_at_an_event_and_rests_without(tmp_path: Path) -> None:
    """A few events while it swings; none where it stands, however round-off turns its speed."""
    path = fmu_of(RUBBING, tmp_path)
    result = simulate_fmu(
        str(path),
        fmi_type="ModelExchange",
        solver="CVode",
        stop_time=3.0,
        relative_tolerance=1e-8,
        output=["joint.slide.velocity"],
        record_events=True,
    )
    t = result["time"]
    times = [float(a) for a, b in pairwise(t) if a == b]  # before and after an event
    assert 1 <= len([x for x in times if 0 < x < 3.0]) <= 6
    assert abs(result["joint.slide.velocity"][-1]) < 1e-3


def test_indicators_change_sign_where_the_element_does(tmp_path: Path) -> None:
    with instance(fmu_of(BOUNCING, tmp_path, 3), exchange=True) as fmu:
        x = begin(fmu, {})
        names = ["event.joint.slide.lower_stop", "event.joint.slide.upper_stop"]
        assert get(fmu, names) == pytest.approx([0.1, 1.9])
        for at, signs in ((-0.01, (-1, 1)), (2.5, (1, -1))):
            x[0] = at
            fmu.setFloat64([fmu.refs["state.position"]], [at])
            assert np.array_equal(np.sign(get(fmu, names)), signs)


def event_steps(fmu: Any, end: float, h: float) -> Iterator[tuple[float, bool, bool]]:
    """Co-simulation with an event mode: time, whether there is an event, whether a step ended early."""
    fmu.enterInitializationMode(startTime=0.0)
    fmu.exitInitializationMode()
    fmu.updateDiscreteStates()
    fmu.enterStepMode()
    t = 0.0
    while t < end - 1e-12:
        event, _, early, t = fmu.doStep(t, h)
        yield t, bool(event), bool(early)
        if event:
            fmu.enterEventMode()
            fmu.updateDiscreteStates()
            fmu.enterStepMode()


@pytest.mark.parametrize(("text", "kink"), [(BOUNCING, 0.0), (TIED, -0.3)])
def test_a_co_simulation_step_returns_early_at_a_kink(text: str, kink: float, tmp_path: Path) -> None:
    path = fmu_of(text, tmp_path, 3, step=1e-4)
    wanted = stepped(fmu_of(text, tmp_path, 3, step=1e-5), 0.5, 1e-4, kink)
    how = {"eventModeUsed": True, "earlyReturnAllowed": True}
    with instance(path, **how) as fmu:
        rows = []
        for t, event, early in event_steps(fmu, 0.5, 0.01):
            place = get(fmu, ["joint.slide.position"])[0]
            assert not early or (event and abs(place - kink) < 1e-9)
            rows += [t] if early else []
    assert len(rows) == len(wanted) and np.abs(np.array(rows) - wanted).max() < 1e-5
    with instance(path, eventModeUsed=True) as fmu:  # not allowed: said at the end of the step
        steps = list(event_steps(fmu, 0.5, 0.01))
        assert (
            len(steps) == 50 and not any(early for *_, early in steps) and any(event for _, event, _ in steps)
        )
    with instance(path) as fmu:  # as it was without events
        initialize(fmu)
        assert [fmu.doStep(k * 0.01, 0.01)[:3] for k in range(50)] == [(False, False, False)] * 50


SAMPLED = """
sensors:
  coarse: {type: encoder, joint: slide, period: 0.03}
"""


def test_what_is_sampled_changes_at_events_only(tmp_path: Path) -> None:
    """A step ends early where a sensor tells something new, which is seen in the event that follows."""
    file = tmp_path / "sampled.yaml"
    file.write_text(RUBBING + SAMPLED)
    path = exported(str(file), 3, outputs=("joint.*.position", "sensor.*"))
    told = "sensor.coarse.position"
    with instance(path, eventModeUsed=True, earlyReturnAllowed=True) as fmu:
        before, times = 0.0, []
        for t, event, _early in event_steps(fmu, 0.1, 0.025):
            assert get(fmu, [told])[0] == before
            if event:
                times.append(t)
                before = get(fmu, ["joint.slide.position"])[0]
        assert times == pytest.approx([0.03, 0.06, 0.09], abs=1e-12)


def test_a_host_may_end_a_step_early(tmp_path: Path) -> None:
    """By the intermediate update, which is asked for inputs before every step inside."""
    path = fmu_of(
        BOUNCING.replace("limits: [0, 2]", "damping: 0") + "motors: {push: {joint: slide}}", tmp_path, 3
    )

    def update(_: Any, time: float, *rest: Any) -> None:
        *_, can, requested, at = rest
        assert can
        if time > 0.0045:
            requested.contents.value, at.contents.value = True, time

    with instance(path) as plain:
        initialize(plain)
        reference = plain.refs["motor.push.force"]
    how = {"intermediateUpdate": update, "requiredIntermediateVariables": [reference]}
    with instance(path, earlyReturnAllowed=True, **how) as fmu:
        initialize(fmu)
        *_, early, last = fmu.doStep(0.0, 0.01)
        assert early and last == pytest.approx(0.005)
        assert fmu.doStep(last, 0.0005)[-1] == pytest.approx(0.0055)
