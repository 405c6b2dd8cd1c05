"""Steps whose cost is bounded, counted and said: sub-steps, chosen in Python, FMU and on the command line."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cutjoint import CutjointError, Simulation, SimulationError, load
from cutjoint.fmu import export
from cutjoint.fmu.step_cost import measure_step
from cutjoint.model.base.thresholds import FMU_SUBSTEPS, MOST_SUBSTEPS
from cutjoint.model.cli.main import main
from cutjoint.model.describe.reader import list_examples
from cutjoint.model.manifold.step import CLASSICAL, FINER, TRIES, Tableau
from cutjoint.native.variable_layout import plan
from fmu_tools import exported, get, initialize, instance, put

FAST = 10.0  # N·m: the four-bar turns so fast after half a second that plain steps of 1 ms lose it
TORQUE = "motor.crank.torque"


def tried(s: Simulation, duration: float, torque: float = FAST) -> np.ndarray:
    """Sub-steps tried in each step of 1 ms."""
    s.set_inputs(np.full(len(s.inputs), torque))
    counts = []
    for _ in range(round(duration / 1e-3)):
        before = s.counters[TRIES]
        s.step(1e-3)
        counts.append(s.counters[TRIES] - before)
    return np.array(counts)


def test_fast_motion_is_given_as_many_sub_steps_as_it_asks_for_at_once() -> None:
    """Halves that grow again took 5.1 tries a step, sub-steps of fourth order 3.8 and lost 5.5 mJ."""
    s = Simulation("fourbar")
    start = s.energy()
    counts = tried(s, 1.0)
    refined = counts[counts > 0]
    assert 0.3 < refined.size / counts.size < 0.6
    assert refined.mean() < 2.8 and refined.max() < 12
    assert abs(s.energy() - start - s.work) < 3e-3


def test_impacts_on_stops_keep_their_energy() -> None:
    """Sub-steps over the beginning of a stop were taken where they were just good enough: 6.9 mJ."""
    s = Simulation("loader")
    start = s.energy()
    tried(s, 2.0)
    assert abs(s.energy() - start - s.work) < 4e-3


@pytest.mark.parametrize(("method", "order"), [(CLASSICAL, 4), (FINER, 5)])
def test_methods_have_their_order(method: Tableau, order: int) -> None:
    """y' = y cos t from 0 to 2: errors fall like the step to the order."""

    def error(count: int) -> float:
        h, y = 2.0 / count, 1.0
        for k in range(count):
            slopes: list[float] = []
            for node, taken in zip(method.nodes, method.stages, strict=True):
                at = y + h * sum(a * s for a, s in zip(taken, slopes, strict=True))
                slopes.append(at * np.cos((k + node) * h))
            y += h * float(np.dot(method.weights, slopes))
        return abs(y - np.exp(np.sin(2.0)))

    assert np.log2(error(20) / error(40)) == pytest.approx(order, abs=0.3)
    assert np.allclose([sum(taken) for taken in method.stages], method.nodes)


@pytest.mark.parametrize("substeps", [2, 3, 6])
def test_no_step_tries_more_than_it_may(substeps: int) -> None:
    s = Simulation("fourbar", substeps=substeps, compile=False)
    s.state = tuned(s)
    counts = tried(s, 0.02)
    assert counts.max() == substeps


def tuned(s: Simulation) -> Any:
    """The four-bar turning at 300 rad/s, near which plain steps of 1 ms are far too coarse."""
    from dataclasses import replace

    from cutjoint.model.run.assembly import consistent_speeds

    return replace(s.state, v=consistent_speeds(s.engine, s.state, {"crank_pin": [300.0]}))


def test_few_sub_steps_share_the_step_evenly() -> None:
    """Sub-steps of the length that would be right, and a leap over the rest, made up for 54 J with 4."""
    s = Simulation("fourbar", substeps=4)
    s.set_inputs([FAST])
    assert s.run(1.0, record=[]).judgement.made_up < 2.0


def test_one_sub_step_is_the_plain_step() -> None:
    one, single = Simulation("fourbar", substeps=1), Simulation("fourbar", stepper="single")
    for s in (one, single):
        s.set_inputs([FAST])
        s.run(0.3, record=[])
    assert one.state == single.state
    assert one.counters[TRIES] == 0


@pytest.mark.parametrize("wrong", [0, -3, 2.5, True, MOST_SUBSTEPS + 1])
def test_sub_steps_are_counted_by_whole_numbers(wrong: Any) -> None:
    with pytest.raises(SimulationError, match=f"whole number from 1 to {MOST_SUBSTEPS}, not"):
        Simulation("fourbar", substeps=wrong)
    with pytest.raises(CutjointError, match="--substeps: substeps of 'runge_kutta' must be a whole number"):
        plan(load("fourbar"), substeps=wrong)


def test_the_command_line_bounds_and_counts(capsys: pytest.CaptureFixture[str]) -> None:
    wide = ["simulate", "fourbar", "--torque", f"all={FAST}", "--time", "0.6", "--json"]
    assert main(wide) == 0
    free = json.loads(capsys.readouterr().out)
    assert free["substeps_tried"] > 2 * free["steps_refined"] > 0
    assert main([*wide, "--substeps", "2"]) == 0
    bound = json.loads(capsys.readouterr().out)
    assert bound["substeps_tried"] == 2 * bound["steps_refined"] > 0
    assert main([*wide, "--substeps", "none"]) == 2


@pytest.mark.compiler
@pytest.mark.parametrize("fmi", [2, 3])
def test_the_fmu_counts_what_the_engine_counts(fmi: int) -> None:
    engine = Simulation("fourbar", substeps=8, compile=False)
    engine.state = tuned(engine)
    log: list[tuple[int, str, str]] = []
    with instance(exported("fourbar", fmi, substeps=8), log=log) as fmu:
        initialize(fmu, {"start.crank_pin.speed": 300.0})
        put(fmu, {TORQUE: FAST})
        assert get(fmu, ["step.tries"])[0] == 0
        for k, wanted in enumerate(tried(engine, 0.02)):
            fmu.doStep(k * 1e-3, 1e-3)
            assert get(fmu, ["step.tries"])[0] == wanted
        before = get(fmu, ["step.tries"])[0]
        saved = fmu.getFMUState()
        fmu.doStep(0.02, 0.01)
        assert get(fmu, ["step.tries"])[0] > 8  # of all ten steps inside
        fmu.setFMUState(saved)
        assert get(fmu, ["step.tries"])[0] == before


@pytest.mark.compiler
def test_the_fmu_says_what_a_step_may_cost() -> None:
    path = exported("fourbar", substeps=8)
    with zipfile.ZipFile(path) as archive:
        page = archive.read("documentation/index.html").decode()
    assert "up to 8 sub-steps" in page and "up to 13 times a plain one" in page
    log: list[tuple[int, str, str]] = []
    with instance(path, log=log) as fmu:
        fmu.fmi2SetDebugLogging(fmu.component, 1, 0, None)
        initialize(fmu, {"start.crank_pin.speed": 300.0})
        fmu.doStep(0.0, 1e-3)
    said = [message for _, category, message in log if category == "logEffort"]
    assert (
        "costs up to 13 plain ones" in said[0] and "sub-steps were tried between 0 s and 0.001 s" in said[1]
    )
    with zipfile.ZipFile(exported("fourbar", substeps=1)) as archive:
        assert "Every step is a plain one" in archive.read("documentation/index.html").decode()


@pytest.mark.compiler
@pytest.mark.parametrize("fmi", [2, 3])
def test_export_measures_a_plain_and_the_worst_step(fmi: int) -> None:
    found = measure_step(plan(load("fourbar"), substeps=8), exported("fourbar", fmi, substeps=8))
    assert found is not None and 0 < found.plain < found.worst
    alone = measure_step(plan(load("fourbar"), substeps=1), exported("fourbar", fmi, substeps=1))
    assert alone is not None and alone.plain == alone.worst


@pytest.mark.parametrize(
    ("options", "most"),
    [({}, FMU_SUBSTEPS), ({"substeps": MOST_SUBSTEPS}, MOST_SUBSTEPS), ({"stepper": "single"}, 1)],
)
def test_an_fmu_is_bounded_unless_told(options: dict[str, Any], most: int, tmp_path: Path) -> None:
    """Hosts wait: fewer tries than in Python, but as many as they are asked for."""
    made = export("fourbar", tmp_path / "f.fmu", runtime="python", picture=False, **options)
    assert made.simulation.substeps == most


@pytest.mark.study
def test_tries_of_every_example() -> None:
    """Two seconds at 1 ms, 10 N·m or N on every input: what part is refined, and in how many tries."""
    print(f"\n{'':18}{'refined':>9}{'mean':>7}{'most':>6}")
    for name in list_examples():
        s = Simulation(name)
        counts = tried(s, 2.0)[1:]  # a start from rest is not the motion's
        refined = counts[counts > 0]
        mean = refined.mean() if refined.size else 0.0
        print(f"{name:18}{100 * refined.size / counts.size:8.1f}%{mean:7.1f}{counts.max():6.0f}")
        # the gripper meets its stops over and over, the bicycle falls over once
        assert counts.max() <= 150 and mean < 12
