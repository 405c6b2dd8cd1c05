"""Every example as FMI 2.0 and 3.0: valid, and the same motion as the engine's, in both interfaces."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import pytest
from bulk import bulk
from cutjoint import Simulation, list_examples
from fmpy import simulate_fmu
from fmpy.fmi1 import FMICallException
from fmpy.validation import validate_fmu
from fmu_exchange import begin, exchange, motion, write
from fmu_tools import SOME, exported, get, initialize, instance, names, some_inputs, values_by_name

STEP = 1e-3
END = 1.0
AGREED = 1e-8
# Inputs as multiples of those that hold the mechanism at its start, such that it moves and meets no stop:
# a stop's kink lowers the order of every integration.
SCALE = {
    "arm": 0.5,
    "delta": 0.97,
    "fourbar": 0.5,
    "hexapod": 2.0,
    "loader": 1.3,
    "parallel_robot": 1.3,
    "slider_crank": 0.0,
    "stewart": 10.0,
}
EXAMPLES = sorted(list_examples())
# FMI 3.0 calls the same code: some examples show that it does.
EACH_RUN = {("stewart", 3), ("servo_stewart", 2), ("gripper", 3), ("bicycle", 2)}
MOVES = 0.05  # at least, rad or m
FEW = {"hexapod": ("joint.leg1.position", "energy", "loop.residual", "singularity.distance")}
# The five-bar falls through a singular pose at 0.65 s. A fixed step passes it; at this tolerance FMPy's
# solver spends all its steps on the way there.
TOLERANCE = 1e-13
SOLVED_UNTIL = {"fivebar": 0.6}


@pytest.fixture(scope="module")
def example(request: pytest.FixtureRequest) -> tuple[str, list[float], Simulation]:
    """A mechanism after a second under constant inputs, by the engine in Python."""
    inputs = [SCALE.get(request.param, 1.0) * x for x in some_inputs(request.param)]
    simulation = Simulation(request.param, compile=False)
    simulation.set_inputs(inputs)
    simulation.run(END, step=STEP, record=["energy"])
    return request.param, inputs, simulation


def difference(got: np.ndarray, wanted: np.ndarray) -> float:
    finite = np.isfinite(wanted)  # a tree is infinitely far from singularities
    assert np.array_equal(got[~finite], wanted[~finite])
    got, wanted = got[finite], wanted[finite]
    return float((np.abs(got - wanted) / np.maximum(1.0, np.abs(wanted))).max())


def stepped(path: Path, end: float, inputs: dict[str, float], wanted: list[str], step: float) -> np.ndarray:
    """Co-simulation: the engine's step, of any length up to the inner one."""
    with instance(path) as fmu:
        initialize(fmu, inputs)
        for k in range(round(end / step)):
            fmu.doStep(k * step, step)
        return get(fmu, wanted)


@pytest.mark.parametrize(
    ("example", "fmi"), bulk(list(product(EXAMPLES, (2, 3))), EACH_RUN), indirect=["example"]
)
def test_example(example: tuple[str, list[float], Simulation], fmi: int) -> None:
    name, values, simulation = example
    path = exported(name, fmi, outputs=FEW.get(name, SOME))
    assert validate_fmu(str(path)) == []
    with instance(path) as fmu:
        wanted = names(fmu, "output")
        inputs = dict(zip(names(fmu, "input"), values, strict=True))
        initialize(fmu, inputs)
        start = get(fmu, wanted)
        positions = np.concatenate([[".position" in n] * fmu.sizes[n] for n in wanted])
    options = {"start_values": inputs, "output": wanted}
    engine = values_by_name(simulation, wanted)
    assert np.abs(engine[positions] - start[positions]).max() > MOVES
    coupled = simulate_fmu(str(path), fmi_type="CoSimulation", stop_time=END, output_interval=0.1, **options)
    assert difference(np.concatenate([np.ravel(coupled[n][-1]) for n in wanted]), engine) < AGREED
    assert_same_motion(path, inputs, wanted, engine)
    # FMPy's own solver: BDF of variable step and order, against the engine at a tenth of the step
    until = SOLVED_UNTIL.get(name, END)
    options |= {"stop_time": until, "output_interval": 0.01, "relative_tolerance": TOLERANCE}
    solved = simulate_fmu(str(path), fmi_type="ModelExchange", **options)
    got = np.concatenate([np.ravel(solved[n][-1]) for n in wanted])
    assert difference(got, stepped(path, until, inputs, wanted, STEP / 10)) < AGREED


def assert_same_motion(path: Path, inputs: dict[str, float], wanted: list[str], engine: np.ndarray) -> None:
    """Model exchange with the engine's method and step, to 1e-8 or to the error of the integration.

    The same method in other coordinates has another error, of fourth order in the step: half the step
    tells how large the two are.
    """
    exchanged = exchange(path, END, inputs, wanted, STEP)
    if (found := difference(exchanged, engine)) >= AGREED:
        halves = exchange(path, END, inputs, wanted, STEP / 2), stepped(path, END, inputs, wanted, STEP / 2)
        allowed = 2 * (difference(exchanged, halves[0]) + difference(engine, halves[1]))
        assert found < allowed < 100 * AGREED


@pytest.mark.parametrize("fmi", [2, 3])
def test_other_coordinates_become_states_when_the_old_ones_degrade(fmi: int) -> None:
    """A platform on its way: after half a second other joints describe its pose better."""
    path = exported("stewart", fmi)
    with instance(path) as fmu:
        wanted, inputs = names(fmu, "output"), dict.fromkeys(names(fmu, "input"), 5.0)
    changes: list[float] = []
    got = exchange(path, END, inputs, wanted, STEP, changes)
    assert len(changes) >= 1
    assert difference(got, stepped(path, END, inputs, wanted, STEP)) < AGREED


def test_the_error_of_the_integration_is_of_fourth_order() -> None:
    """A four-bar that gets fast: both interfaces differ by 8e-7, by a sixteenth of it at half the step."""
    path = exported("fourbar", 2)
    with instance(path) as fmu:
        wanted = names(fmu, "output")
        inputs = dict(zip(names(fmu, "input"), some_inputs("fourbar"), strict=True))
    errors = [
        difference(exchange(path, END, inputs, wanted, h), stepped(path, END, inputs, wanted, h))
        for h in (STEP, STEP / 2)
    ]
    assert errors[0] > 1e-7
    assert errors[0] / errors[1] == pytest.approx(16, rel=0.4)


@pytest.mark.parametrize("fmi", [2, 3])
def test_a_singular_pose_is_passed_on_the_right_branch(fmi: int) -> None:
    """An arm with a parallelogram falls through the pose in which its bars are in line."""
    path = exported("parallel_robot", fmi)
    with instance(path, exchange=True) as fmu:
        wanted = names(fmu, "output")
        inputs = dict.fromkeys(names(fmu, "input"), 0.0)
        x = begin(fmu, inputs)
        looked = [get(fmu, ["energy", "singularity.distance"]) for _ in motion(fmu, x, END, STEP)]
        end = get(fmu, wanted)
    energy, distance = np.array(looked).T
    assert distance.min() < 0.01
    assert np.ptp(energy) < 1e-6
    assert difference(end, stepped(path, END, inputs, wanted, STEP)) < 1e-6


@pytest.mark.parametrize("fmi", [2, 3])
def test_a_solver_that_leaves_a_singular_pose_on_another_branch_is_stopped(fmi: int) -> None:
    """Speeds that jump near the five-bar's singular pose: an error that says so, and everything finite."""
    log: list[tuple[int, str, str]] = []
    with instance(exported("fivebar", fmi), exchange=True, log=log) as fmu:
        x = begin(fmu, {})
        *_, (time, _, _) = motion(fmu, x, 0.65, STEP)
        energy = get(fmu, ["energy"])
        n = len(x) // 2
        fmu.setTime(time + STEP)
        x[:n] += STEP * x[n:]
        x[n:] *= -1
        write(fmu, x)
        with pytest.raises(FMICallException, match="error"):
            fmu.completedIntegratorStep()
        status, category, message = log[-1]
        assert (status, category) == (3, "logStatusError")
        assert "singular pose near 0.651 s" in message and "co-simulation" in message
        assert np.isfinite(get(fmu, names(fmu, "output"))).all()
        assert get(fmu, ["energy"]) == pytest.approx(energy, rel=0.1)


@pytest.mark.parametrize("fmi", [2, 3])
def test_no_states_in_a_singular_start_pose(fmi: int) -> None:
    """All bars of the parallelogram in line: model exchange can't begin, co-simulation can."""
    flat = {f"start.q{k}.position": angle for k, angle in ((1, 1.0), (2, 1.0), (3, 0.0), (4, np.pi))}
    log: list[tuple[int, str, str]] = []
    path = exported("parallel_robot", fmi)
    with instance(path, exchange=True, log=log) as fmu:
        with pytest.raises(FMICallException):
            initialize(fmu, flat)
        assert "singular pose" in log[-1][2]
    with instance(path) as fmu:
        initialize(fmu, flat)
        fmu.doStep(0.0, 0.01)
        assert np.isfinite(get(fmu, names(fmu, "output"))).all()


@pytest.mark.parametrize("fmi", [2, 3])
def test_a_singular_pose_is_left_from_rest_as_in_python(fmi: int) -> None:
    """The five-bar of paper 004, example 1: along the tangent cone, v̇₁ = 5.39 and not 8.24."""
    pose = dict(zip(("q1", "q2", "q3", "q4"), (np.pi, 0.0, np.pi, 0.0), strict=True))
    python = Simulation("fivebar", start={joint: [angle] for joint, angle in pose.items()})
    wanted = ["joint.q1.velocity", "joint.q2.velocity", "joint.q3.position"]
    with instance(exported("fivebar", fmi, outputs=tuple(wanted))) as fmu:
        initialize(fmu, {f"start.{joint}.position": angle for joint, angle in pose.items()})
        for k in range(20):
            fmu.doStep(k * 1e-3, 1e-3)
            python.step(1e-3)
            if k == 0:
                assert python.v[0] == pytest.approx(5.3855e-3, rel=1e-4)
            assert get(fmu, wanted) == pytest.approx([python.outputs()[n] for n in wanted], abs=1e-7)
