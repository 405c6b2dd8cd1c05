"""q longer than v, internal states, driven motions and parameters at once: the same by every way out."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest
from cutjoint import Simulation, SimulationError, rollout
from cutjoint.fmu.linear import linear_model
from cutjoint.ros.replay_cli import _state
from every_vector import PAYLOAD, file, on_a_carriage
from fmu_exchange import exchange
from fmu_tools import exported, get, initialize, instance, put

H, STEPS = 1e-3, 120
INPUTS = {
    "motor.lead.position": 0.0,
    "motor.lead.velocity": 0.0,
    "motor.lead.acceleration": 2.0,
    "motor.drive1.position": 0.1,
    "motor.drive2.position": 0.05,
    "motor.drive3.position": -0.05,
}
SHOWN = [
    "joint.rail.position",
    "joint.rail.velocity",
    "joint.motor2.position",
    "joint.ball2.velocity",
    "body.platform.position",
    "motor.drive1.current",
    "motor.drive3.effort",
    "energy",
]


# Arrays of FMI 3 are elements in FMI 2.
VECTORS = ("joint.ball2.velocity", "body.platform.position")
ELEMENTS = [x for n in SHOWN for x in ([f"{n}[{k}]" for k in (1, 2, 3)] if n in VECTORS else [n])]


def simulated(steps: int, parameters: Mapping[str, float] = {"payload": PAYLOAD}) -> Simulation:
    simulation = Simulation(on_a_carriage(), compile=False, parameters=parameters)
    simulation.set_inputs(list(INPUTS.values()))
    for _ in range(steps):
        simulation.step(H)
    return simulation


def read(simulation: Simulation) -> np.ndarray:
    return simulation.read(simulation.variables().outputs.rows(SHOWN))


def test_each_has_something_and_its_own_place() -> None:
    s = simulated(STEPS)
    assert s.q.size == s.tree.nq > s.tree.nv == s.v.size and s.z.size == 3 and s.z.all()
    assert s.p.tolist() == [PAYLOAD] and s.u.size == len(INPUTS)
    time = STEPS * H
    assert s.s[:2] == pytest.approx([time**2, 2 * time], abs=1e-12)  # moved on
    assert read(s)[:2] == pytest.approx(s.s[:2], abs=1e-9)


def test_a_state_is_kept_and_read_again() -> None:
    s = simulated(STEPS // 2)
    kept, text = (
        s.state,
        {name: getattr(s, name).tolist() for name in "qvzp"} | {"time": s.time, "work": s.work},
    )
    assert all(getattr(_state(s, text), name).tolist() == text[name] for name in "qvzp")
    other = Simulation(on_a_carriage(), compile=False)
    other.state = kept
    for _ in range(STEPS - STEPS // 2):
        s.step(H)
        other.step(H)
    assert all((getattr(s, name) == getattr(other, name)).all() for name in "qvzup")


def test_many_at_once_refuse_what_they_would_hold_still() -> None:
    s = simulated(0)
    with pytest.raises(SimulationError, match="'lead'"):
        rollout(s.engine, [s.state] * 2, 5, inputs=s.u, workers=1)


@pytest.mark.parametrize("fmi", [2, 3])
def test_co_simulation(fmi: int) -> None:
    with instance(exported(file(), fmi, outputs=tuple(SHOWN))) as slave:
        initialize(slave, INPUTS | {"parameter.payload": PAYLOAD})
        for k in range(STEPS):
            if k == STEPS // 2:
                state = slave.getFMUState() if slave.is3 else slave.getFMUstate()
            slave.doStep(currentCommunicationPoint=k * H, communicationStepSize=H)
        first = get(slave, SHOWN if slave.is3 else ELEMENTS)
        np.testing.assert_allclose(first, read(simulated(STEPS)), rtol=1e-9, atol=1e-9)
        put(slave, {"motor.drive1.position": 1.0})
        (slave.setFMUState if slave.is3 else slave.setFMUstate)(state)
        for k in range(STEPS // 2, STEPS):
            slave.doStep(currentCommunicationPoint=k * H, communicationStepSize=H)
        assert (get(slave, SHOWN if slave.is3 else ELEMENTS) == first).all()


def test_model_exchange() -> None:
    """What moves the rail is held there, as every input is: it stands still."""
    still = INPUTS | {"motor.lead.acceleration": 0.0}
    got = exchange(exported(file(), 2, outputs=tuple(SHOWN)), 0.05, still, ELEMENTS, 5e-5)
    close = Simulation(on_a_carriage(), compile=False)
    close.set_inputs(list(still.values()))
    close.run(0.05, method="variable", tolerance=1e-10)
    np.testing.assert_allclose(got, read(close), rtol=2e-5, atol=2e-5)


def test_linear_models() -> None:
    """But for the motions: told anew in co-simulation, they take the pose along."""
    simulation, path = simulated(STEPS, {}), exported(file(), 2, outputs=tuple(SHOWN))
    found = linear_model(path, time=STEPS * H, inputs=INPUTS, outputs=ELEMENTS)
    states = [name.split(".")[1] for name in found.states if name.endswith(".position")]
    wanted = simulation.linearize(outputs=SHOWN, states=states)
    drives = slice(simulation.s.size, None)
    pairs = [(found.A, wanted.A), (found.C, wanted.C)]
    pairs += [(a[:, drives], b[:, drives]) for a, b in ((found.B, wanted.B), (found.D, wanted.D))]
    for a, b in pairs:
        assert np.abs(a - b).max() < 1e-8 * (1 + np.abs(b).max())
