"""A long run takes its steps in the compiled loop: the same run to the last bit, without Python per step."""

from __future__ import annotations

import numpy as np
import pytest
from bulk import bulk
from cutjoint import Simulation, SimulationError, list_examples
from cutjoint.model.run.chunks import STRETCH
from cutjoint.model.run.events import Event
from cutjoint.papers.methods.method_simulation import MethodSimulation

NEVER = Event("never", lambda s: 1.0)  # asked for after every step, so that Python takes each
EACH_RUN = {"cable_platform", "gripper", "rolling_disc", "servo_stewart"}


def pushed(name: str) -> Simulation:
    simulation = Simulation(name)
    simulation.set_inputs(0.5 * np.ones(len(simulation.inputs)))
    return simulation


@pytest.mark.compiler
@pytest.mark.parametrize("name", bulk(list_examples(), EACH_RUN))
def test_a_run_is_the_same_in_the_loop_and_step_by_step(name: str) -> None:
    fast, slow = pushed(name), pushed(name)
    got = fast.run(0.2503)
    asked = slow.run(0.2503, events=[NEVER])
    assert np.array_equal(got.time, asked.time) and np.array_equal(got.values, asked.values)
    assert fast.state == slow.state
    assert got.judgement == asked.judgement
    assert np.array_equal(got.energies, asked.energies)
    assert [state.time for state in got.seen.states] == [state.time for state in asked.seen.states]
    assert all(a == b for a, b in zip(got.seen.states, asked.seen.states, strict=True))


@pytest.mark.compiler
def test_a_long_run_calls_nothing_of_python_per_step(monkeypatch: pytest.MonkeyPatch) -> None:
    simulation, calls, told = Simulation("stewart"), [], []
    monkeypatch.setattr(Simulation, "step", lambda *_: calls.append(1))
    trajectory = simulation.run(2.0, progress=told.append)
    assert not calls and len(trajectory.time) == 2001
    assert told[-1] == 1.0 and 2000 / STRETCH <= len(told) <= 100


def test_steps_that_fail_say_so_and_leave_the_last_good_state() -> None:
    def wild() -> Simulation:
        simulation = Simulation("fourbar")
        simulation.set_inputs([50.0])
        return simulation

    fast, slow = wild(), wild()
    with pytest.raises(SimulationError) as said:
        fast.run(5, step=0.05, record=["joint.crank.position"])
    with pytest.raises(SimulationError) as asked:
        slow.run(5, step=0.05, record=["joint.crank.position"], events=[NEVER])
    assert str(said.value) == str(asked.value)
    assert fast.state == slow.state


def test_a_run_that_is_interrupted_stays_where_it_was() -> None:
    def interrupt(part: float) -> None:
        if part > 0.5:
            raise KeyboardInterrupt

    fast, slow = Simulation("stewart"), Simulation("stewart")
    with pytest.raises(KeyboardInterrupt):
        fast.run(1.0, progress=interrupt)
    slow.run(fast.time, events=[NEVER])
    assert 0.5 < fast.time < 0.6 and fast.state == slow.state


def test_the_papers_methods_take_their_own_steps() -> None:
    taylor, plain = MethodSimulation("fourbar", stepper="taylor"), Simulation("fourbar")
    taylor.run(0.1)
    plain.run(0.1)
    assert not np.array_equal(taylor.q, plain.q)
    assert np.allclose(taylor.q, plain.q, atol=1e-3)
