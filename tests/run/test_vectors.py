"""Every vector has its own place: coordinates, speeds, internal states, inputs, motions, parameters."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from cutjoint import Simulation, load
from cutjoint.model.base.errors import SimulationError
from cutjoint.model.batch.rollout import rollout
from cutjoint.model.batch.step_jacobians import step_jacobians
from cutjoint.model.describe.motors import Motor
from cutjoint.ros.replay_cli import _state


def moving(compile: bool | None = False) -> Simulation:
    """A platform whose windings carry currents."""
    simulation = Simulation("servo_stewart", compile=compile)
    simulation.set_inputs(np.linspace(0.1, 0.3, len(simulation.inputs)))
    for _ in range(20):
        simulation.step(1e-3)
    return simulation


def driven() -> Simulation:
    mechanism = load("fourbar")
    motors = (Motor("turn", mechanism.motors[0].joint, drive="position"),)
    return Simulation(replace(mechanism, motors=motors), compile=False)


def test_each_is_as_long_as_what_it_is_of() -> None:
    s = moving()
    assert s.q.size == sum(at.stop - at.start for at in s.tree.q.values()) == s.tree.nq
    assert s.z.size == sum(at.stop - at.start for at in s.tree.z.values()) == s.tree.nz == 3
    assert s.z.any() and [s.outputs()[name] for name in s.tree.z] == s.z.tolist()
    other = driven()
    assert other.p.size == 0 and other.s.tolist() == other.u.tolist() == [other.u[0], 0.0, 0.0]
    other.set_inputs({"turn": other.u[0] + 0.1})
    assert (
        other.s[0]
        == other.u[0]
        == pytest.approx(float(other.outputs()[f"joint.{other.mechanism.motors[0].joint}.position"]))
    )


def test_a_state_without_internal_ones_has_drives_at_rest() -> None:
    s = moving()
    kept = s.state
    s.state = replace(kept, z=np.zeros(0))
    assert s.z.tolist() == [0.0, 0.0, 0.0] and s.state != kept
    with pytest.raises(SimulationError, match="has 3 internal states, not 2"):
        s.state = replace(kept, z=np.zeros(2))


@pytest.mark.parametrize("lanes", [True, False])
def test_rollouts_take_internal_states_along(lanes: bool) -> None:
    s = moving(compile=None if lanes else False)
    start = s.state
    found = rollout(s.engine, [start, start], 10, inputs=start.u, workers=1)
    again = rollout(s.engine, tuple(np.tile(x, (2, 1)) for x in start.at[:3]), 10, inputs=start.u, workers=1)
    other = rollout(s.engine, (start.q, start.v), 10, inputs=start.u, workers=1)  # drives at rest
    for _ in range(10):
        s.step(1e-3)
    for result in (found, again):
        for name in "qvz":
            assert np.abs(getattr(result, name) - getattr(s, name)).max() < 1e-12
    assert np.abs(other.z - s.z).max() > 1e-6


def test_slopes_of_steps_are_on_all_of_the_state() -> None:
    s = moving()
    found = step_jacobians(s.engine, s.q, s.v, s.u, z=s.z)
    sizes = np.cumsum([s.tree.nq, s.tree.nv])

    def after(x: np.ndarray) -> np.ndarray:
        q, v, z = np.split(x, sizes)
        result = rollout(s.engine, (q, v, z), 1, inputs=s.u, stepper="single", workers=1)
        return np.concatenate([result.q[0], result.v[0], result.z[0]])

    x, h = np.concatenate(s.at[:3]), 1e-6
    for k in range(sizes[-1], x.size):  # internal states
        d = h * np.eye(x.size)[k]
        slope = (after(x + d) - after(x - d)) / (2 * h)
        assert np.abs(slope - found.A[0][:, k]).max() < 1e-7 * max(1.0, np.abs(slope).max())


def test_recordings_of_before_are_read() -> None:
    """They have internal states at the end of q, and driven motions at the end of p."""
    s = moving()
    now = {
        "time": 1.0,
        "work": 2.0,
        "q": s.q.tolist(),
        "v": s.v.tolist(),
        "z": s.z.tolist(),
        "p": s.p.tolist(),
    }
    before = {name: x for name, x in now.items() if name != "z"} | {"q": [*s.q, *s.z]}
    assert _state(s, now) == _state(s, before) and _state(s, now).z.tolist() == s.z.tolist()
    other = driven()
    kept = {"time": 0.0, "work": 0.0, "q": other.q.tolist(), "v": other.v.tolist(), "p": other.u.tolist()}
    assert _state(other, kept).p.size == 0
