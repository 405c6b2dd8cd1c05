"""Drives and friction with states of their own, in FMUs of every kind: as in Python."""

from __future__ import annotations

import functools
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from cutjoint import Bushing, Mechanism, Motor, Simulation, Strut, load, save
from cutjoint.fmu.linear import linear_model
from cutjoint.model.describe.visuals import NamedFrame
from fmu_exchange import exchange
from fmu_tools import exported, folder, get, initialize, instance

WANTED = [
    "joint.crank_pin.position",
    "joint.crank_pin.velocity",
    "motor.crank.current",
    "motor.crank.effort",
    "motor.rocker.play",
    "motor.rocker.rotor_speed",
    "motor.rocker.lagged",
    "joint.rocker_pin.bristle",
    "strut.rope.tension",
    "energy",
]
INPUTS = {"motor.crank.position": 1.2, "motor.crank.speed": 0.1, "motor.rocker.torque": 0.4}


def driven() -> Mechanism:
    """A four-bar with everything there is: on a joint of the tree, on one that is cut, and between bodies."""
    bar = load("fourbar")
    joints = tuple(
        replace(j, friction=(0.2,), stiction=(0.3,), bristle_stiffness=(2e2,), bristle_damping=(0.5,))
        if j.name == "rocker_pin"
        else j
        for j in bar.joints
    )
    servo = Motor(
        "crank", "crank_pin", limit=60.0, gear_ratio=30.0, rotor_inertia=2e-5, efficiency=0.85,
        servo_stiffness=60.0, servo_damping=4.0, feed_forward="speed",
        resistance=0.6, inductance=1.5e-3, torque_constant=0.05, supply=36.0,
    )  # fmt: skip
    loose = Motor("rocker", "ground_pin", rotor_inertia=0.02, backlash=0.05, mesh_stiffness=500.0, lag=0.03)
    body = bar.joint("rocker_pin").child
    frames = (NamedFrame("wall", "ground", (0.1, 0.0, 0.2)), NamedFrame("pad", body))
    rope = Strut(
        "rope", "ground", body, (0.0, 0.3, 0.5), stiffness=300.0, damping=5.0, length=0.4, acts="pulls"
    )
    soft = Bushing(
        "soft", "wall", "pad", (20.0, 30.0, 5.0), (1.0, 2.0, 0.5), (0.3, 0.2, 0.1), (0.01, 0.02, 0.03)
    )
    return replace(
        bar, name="driven", joints=joints, motors=(servo, loose), frames=frames, struts=(rope,),
        bushings=(soft,), outputs={}, parameters={"winding": "motor.crank.resistance"},
    )  # fmt: skip


@functools.cache
def file() -> Path:
    path = folder() / "driven.yaml"
    save(driven(), path)
    return path


@functools.cache
def simulated(steps: int) -> Simulation:
    simulation = Simulation(driven(), compile=False)
    simulation.set_inputs(list(INPUTS.values()))
    for _ in range(steps):
        simulation.step(1e-3)
    return simulation


def fmu(fmi: int) -> Path:
    return exported(str(file()).replace("/", "/"), fmi, outputs=tuple(WANTED))


def read(simulation: Simulation) -> np.ndarray:
    return simulation.read(simulation.variables().outputs.rows(WANTED))


@pytest.mark.parametrize("fmi", [2, 3])
def test_co_simulation_steps_as_python_does(fmi: int) -> None:
    with instance(fmu(fmi)) as slave:
        initialize(slave, INPUTS)
        for k in range(300):
            slave.doStep(currentCommunicationPoint=k * 1e-3, communicationStepSize=1e-3)
        np.testing.assert_allclose(get(slave, WANTED), read(simulated(300)), rtol=1e-9, atol=1e-9)


def test_model_exchange_has_the_states_of_drives() -> None:
    """Other steps, so that it agrees as far as both are right."""
    got = exchange(fmu(2), 0.1, INPUTS, WANTED, 5e-5)
    close = Simulation(driven(), compile=False)
    close.set_inputs(list(INPUTS.values()))
    close.run(0.1, method="variable", tolerance=1e-10)
    np.testing.assert_allclose(got, read(close), rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("fmi", [2, 3])
def test_directional_derivatives_are_the_linear_model(fmi: int) -> None:
    simulation = simulated(300)
    found = linear_model(fmu(fmi), time=0.3, inputs=INPUTS, outputs=WANTED[:8])
    states = [name.split(".")[1] for name in found.states if name.endswith(".position")]
    wanted = simulation.linearize(outputs=WANTED[:8], states=states)
    assert found.states == wanted.states
    for a, b in ((found.A, wanted.A), (found.B, wanted.B), (found.C, wanted.C), (found.D, wanted.D)):
        np.testing.assert_allclose(a, b, rtol=1e-7, atol=1e-7 * np.abs(b).max())


def test_states_of_drives_are_saved_and_come_back() -> None:
    with instance(fmu(2)) as slave:
        initialize(slave, INPUTS)
        slave.doStep(currentCommunicationPoint=0.0, communicationStepSize=0.05)
        kept = slave.getFMUState()
        slave.doStep(currentCommunicationPoint=0.05, communicationStepSize=0.05)
        first = get(slave, WANTED)
        slave.setFMUState(kept)
        slave.doStep(currentCommunicationPoint=0.05, communicationStepSize=0.05)
        assert np.array_equal(get(slave, WANTED), first)
