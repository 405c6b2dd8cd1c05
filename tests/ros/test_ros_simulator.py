"""What simulation_interfaces asks of a simulator, answered without the package: features and behaviour."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from cutjoint import Simulation
from cutjoint.model.loading import read
from cutjoint.ros.loop import Loop
from cutjoint.ros.settings import Settings
from cutjoint.ros.simulator import (
    ALREADY,
    FAILED,
    FEATURES,
    INCORRECT_TRANSITION,
    NOT_FOUND,
    OK,
    PAUSE,
    PLAYING,
    SPAWNED,
    STATE,
    STOPPED,
    TIME,
    UNSUPPORTED,
    Simulator,
)
from silent_outlet import Silent

FLOATING = """
name: floating
gravity: 0
bodies:
  craft: {mass: 2, com: [0, 0, 0], inertia: [0.1, 0.2, 0.3]}
  flap: {mass: 1, com: [0.5, 0, 0], inertia: [0.1, 0.1, 0.1]}
joints:
  base: {type: free, parent: ground, child: craft, at: [0, 0, 0]}
  hinge: {type: revolute, parent: craft, child: flap, at: [0.2, 0, 0], axis: y}
motors:
  flap: {joint: hinge}
"""


def simulator(**settings: Any) -> Simulator:
    given = {"mechanism": "floating", "mode": "paused", "command_timeout": 0.0, "hold": False, **settings}
    simulation = Simulation(read(FLOATING, "floating.yaml"), compile=False)
    return Simulator(Loop(simulation, Settings.read(given), Silent()))


def test_states_and_transitions() -> None:
    s = simulator()
    assert s.state().value == PAUSE and s.set_state(PAUSE).code == ALREADY
    assert s.set_state(PLAYING).code == OK and s.state().value == PLAYING
    assert s.step(1).code == FAILED and "pause it first" in s.step(1).text
    assert s.set_state(STOPPED).code == OK and s.state().value == STOPPED
    assert s.set_state(PAUSE).code == INCORRECT_TRANSITION
    assert s.step(3).code == OK and s.state().value == PAUSE and s.loop.time == pytest.approx(0.003)
    heard: list[int] = []
    assert s.step(2, heard.append).code == OK and heard == [1, 2]
    assert s.set_state(4).code == UNSUPPORTED
    assert simulator(mode="lock_step").set_state(PAUSE).code == UNSUPPORTED


def test_resets_by_scope() -> None:
    s = simulator()
    s.loop.simulation.set_inputs([1.0])
    s.step(10)
    q = s.loop.simulation.q.copy()
    assert s.reset(TIME).code == OK and s.loop.time == 0.0
    assert np.array_equal(s.loop.simulation.q, q)
    s.step(10)
    assert s.reset(STATE).code == OK and s.loop.time == pytest.approx(0.01)
    assert np.array_equal(s.loop.simulation.q, Simulation(s.loop.simulation.mechanism, compile=False).q)
    assert s.reset(SPAWNED).code == UNSUPPORTED
    assert s.reset(0).code == OK and s.loop.time == 0.0


def test_entities_are_the_mechanism_and_its_bodies() -> None:
    s = simulator()
    assert s.entities().value == ["floating", "floating/craft", "floating/flap"]
    assert s.entities(".*/c.*").value == ["floating/craft"] and s.entities("", [1]).value == ["floating"]
    assert s.entities("(").code == FAILED
    assert s.info("floating").value[0] == 1 and s.info("floating/flap").value[2] == ["body"]
    assert s.info("nobody").code == s.entity_state("nobody").code == NOT_FOUND
    assert s.set_entity_state("nobody").code == NOT_FOUND
    names = [name for name, _ in s.entity_states(".*/c.*").value]
    assert names == ["floating/craft"] and s.entity_states("(").code == FAILED


def test_a_free_body_can_be_put_and_others_say_why_not() -> None:
    s = simulator()
    turn = (np.cos(0.3), 0.0, np.sin(0.3), 0.0)
    assert s.set_entity_state("floating/craft", (1.0, 2.0, 3.0, *turn), (0.1, 0, 0, 0, 0, 0.5)).code == OK
    here = s.entity_state("floating/craft").value
    assert here.position == pytest.approx((1, 2, 3)) and here.orientation == pytest.approx(turn)
    assert here.velocity == pytest.approx((0.1, 0, 0)) and here.angular_velocity == pytest.approx((0, 0, 0.5))
    assert s.set_entity_state("floating/craft", (0, 0, 0, 1.0, 1.0, 0, 0)).code == 101
    assert s.set_entity_state("floating/craft", (0, 0, 0, 1.0, 0, 0, 0), frame="ground").code == OK
    elsewhere = s.set_entity_state("floating/craft", (0, 0, 0, 1.0, 0, 0, 0), frame="map")
    assert elsewhere.code == UNSUPPORTED and "in the frame 'ground'" in elsewhere.text
    placed = simulator(placed_at="1 2 3", frame_prefix="left/")  # its ground is not the world
    assert placed.set_entity_state("floating/craft", (0, 0, 0, 1.0, 0, 0, 0)).code == UNSUPPORTED
    assert placed.set_entity_state("floating/craft", (0, 0, 0, 1.0, 0, 0, 0), frame="left/ground").code == OK
    refused = s.set_entity_state("floating/flap", (0, 0, 0, 1, 0, 0, 0))
    assert refused.code == UNSUPPORTED and "carried by joints" in refused.text


def test_every_feature_is_backed_by_an_answer() -> None:
    """The list says what works, and nothing else."""
    assert len(set(FEATURES)) == len(FEATURES) and not {f for f in FEATURES if "SPAWN" in f or "WORLD" in f}
    s = simulator()
    works = {
        "ENTITY_CATEGORIES": s.entities("", [1]),
        "ENTITY_STATE_GETTING": s.entity_states(),
        "ENTITY_STATE_SETTING": s.set_entity_state("floating/craft", (0, 0, 0, 1, 0, 0, 0)),
        "ENTITY_INFO_GETTING": s.info("floating"),
        "SIMULATION_RESET": s.reset(0),
        "SIMULATION_RESET_TIME": s.reset(TIME),
        "SIMULATION_RESET_STATE": s.reset(STATE),
        "SIMULATION_STATE_GETTING": s.state(),
        "SIMULATION_STATE_SETTING": s.set_state(PLAYING),
        "SIMULATION_STATE_PAUSE": s.set_state(PAUSE),
        "STEP_SIMULATION_SINGLE": s.step(1),
        "STEP_SIMULATION_MULTIPLE": s.step(5),
        "STEP_SIMULATION_ACTION": s.step(100),
    }
    assert set(works) == set(FEATURES)
    assert {name: answer.code for name, answer in works.items() if answer.code != OK} == {}


def test_a_state_tells_accelerations_in_the_world() -> None:
    """A flap that its motor turns: by finite differences of its velocity along the motion."""
    s = simulator()
    simulation = s.loop.simulation
    simulation.set_inputs([0.3])
    for _ in range(20):
        simulation.step(1e-3)
    before, here, after = (_later(s, k) for k in (0, 1, 1))
    for what, rate in (("velocity", "acceleration"), ("angular_velocity", "angular_acceleration")):
        slope = (np.array(getattr(after, what)) - getattr(before, what)) / 2e-5
        assert getattr(here, rate) == pytest.approx(slope, abs=1e-6), rate


def _later(s: Simulator, steps: int) -> Any:
    for _ in range(steps):
        s.loop.simulation.step(1e-5)
    return s.entity_state("floating/flap").value
