"""No run that is wrong is trusted, hardly a good one doubted: 200 of each by `make study`, a few always."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from bulk import bulk
from cutjoint import Body, CutjointError, Joint, Mechanism, Simulation, laws, load
from scipy.spatial.transform import Rotation
from trust_cases import PIN, Case, bad, chain, good, mixed, wrong

WRONG = 1e-3  # of a motion's size: what no trusted run may be off by
DOUBTED = 2  # good runs of 200


@pytest.mark.parametrize("seed", bulk(range(200), [5, 12, 46]))
def test_a_bad_run_is_right_or_doubted_or_refused(seed: int) -> None:
    case = bad(seed)
    try:
        s, trajectory = case.run()
    except CutjointError:
        return
    assert not trajectory.judgement.trusted or wrong(trajectory, s, case.step) <= WRONG


@pytest.mark.parametrize("seed", [1, 2, 9])
def test_a_good_run_is_trusted(seed: int) -> None:
    assert good(seed).run()[1].judgement.trusted


@pytest.mark.study
def test_hardly_a_good_run_is_doubted() -> None:
    doubted = [seed for seed in range(200) if not good(seed).run()[1].judgement.trusted]
    assert len(doubted) <= DOUBTED, doubted


def pendulum() -> Mechanism:
    bob = Body("bob", 1.0, (0.0, 0.0, -1.0))
    return Mechanism("pendulum", (bob,), (Joint("pin", "revolute", "ground", "bob", PIN, PIN, start=(1.0,)),))


def test_a_phase_that_is_lost_is_doubted() -> None:
    """Energy to 1e-4, and yet the pendulum is elsewhere."""
    case = Case(pendulum(), 0.05, 150.0, "single")
    s, trajectory = case.run()
    told = trajectory.judgement
    assert told.part < 1e-3 and told.settled
    assert wrong(trajectory, s, case.step, 10) > WRONG and not told.trusted


def test_errors_that_grow_are_doubted() -> None:
    """A chain that tumbles for long."""
    case = Case(chain(1), 1e-2, 20.0)
    s, trajectory = case.run()
    assert wrong(trajectory, s, case.step, 10) > WRONG and not trajectory.judgement.trusted


def crank_acceleration(plain: Simulation, mechanism: Mechanism, joint: str) -> float:
    """Of a plane mechanism with one freedom: θ̈ = Σ Jᵀ(m g − M J̇ θ̇) / Σ JᵀM J over its bodies.

    J and J̇ θ̇ are those of the same mechanism with other masses: nothing large is added to anything small.
    """
    y, push, inertia = plain.outputs(), 0.0, 0.0
    rate, acceleration = (float(y[f"joint.{joint}.{what}"]) for what in ("velocity", "acceleration"))
    words = "velocity", "angular_velocity", "acceleration", "angular_acceleration"
    for body in mechanism.bodies:
        v, w, a, alpha = (np.array(y[f"body.{body.name}.{what}"]) for what in words)
        turn, *e = y[f"body.{body.name}.orientation"]
        c = Rotation.from_quat([*e, turn]).apply(body.com)
        v, a = v + np.cross(w, c), a + np.cross(alpha, c) + np.cross(w, np.cross(w, c))
        across = body.inertia[1]  # about y, the normal of the plane
        J, Jw = v / rate, w / rate
        push += body.mass * J @ (np.array(mechanism.gravity) - a + J * acceleration)
        push -= across * Jw @ (alpha - Jw * acceleration)
        inertia += body.mass * J @ J + across * Jw @ Jw
    return push / inertia


@pytest.mark.parametrize("seed", bulk([0, 5, 10, 20], 1))
@pytest.mark.parametrize("ratio", [1e10, 1e11, 1e12, 1e13])
def test_mass_ratios_beyond_all_digits_are_doubted(ratio: float, seed: int) -> None:
    """Accelerations were wrong by 4 % at 1e11, by a quarter at 1e12, and the run was trusted."""

    def moving(mechanism: Mechanism) -> Mechanism:
        first, *others = mechanism.joints
        return replace(mechanism, joints=(replace(first, speed=(3.0,)), *others))

    plain, mechanism = Simulation(moving(load("fourbar")), compile=False), moving(mixed(seed, ratio))
    try:
        s, trajectory = Case(mechanism, 1e-3, 0.02).run()
    except CutjointError:
        return
    right = crank_acceleration(plain, mechanism, "crank_pin")
    found = Simulation(s.engine).outputs()["joint.crank_pin.acceleration"]
    assert abs(found / right - 1) < WRONG or not trajectory.judgement.trusted


@pytest.mark.parametrize(("step", "right"), [(0.05, True), (0.4, False), (0.6, False), (1.2, False)])
def test_runs_of_few_steps_are_looked_at(step: float, right: bool) -> None:
    """Of two steps, or a single one, halves tell."""
    s, trajectory = Case(pendulum(), step, 1.2, "single").run()
    assert (wrong(trajectory, s, step) <= WRONG) is trajectory.judgement.trusted is right


def test_arrays_of_inputs_are_looked_at_in_halves() -> None:
    """Longer steps would end where values change, and be the same steps."""
    s = Simulation("slider_crank", compile=False, stepper="single")
    values = np.ones(10)
    values[::2] = 0.0
    told = s.run(0.3, 0.03, record=[], inputs={s.inputs[0]: values}).judgement
    assert told.trusted and 0 < told.motion < 1e-3


def test_laws_and_variable_steps_are_compared_too() -> None:
    s = Simulation("fourbar", compile=False)
    law = laws.sine(0.5, 3.0)
    told = [
        s.run(0.2, 1e-3, record=[], inputs={"crank": law}).judgement,
        s.run(0.2, 1e-2, method="variable", record=[], inputs={"crank": law}).judgement,
        s.run(0.2, 1e-2, method="local", record=[], inputs={"crank": law}).judgement,
    ]
    assert all(x.trusted and 0 < x.motion < 1e-3 for x in told)
