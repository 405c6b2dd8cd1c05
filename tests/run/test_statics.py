"""What holds a pose: actuators within their limits, no wrenches from outside; what lacks is told."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from cutjoint import Mechanism, Simulation, SimulationError, hold
from cutjoint.model.cli.main import main
from cutjoint.model.loading import read
from cutjoint.model.run.inverse import least_within

ARM = """
name: arm
bodies: {rod: {mass: 2, com: [0.5, 0, 0], inertia: [0.01, 0.2, 0.2, 0, 0, 0]}}
joints: {root: {type: revolute, parent: ground, child: rod, at: [0, 0, 0], axis: y, start: 0.7}}
motors: {drive: {joint: root, MOTOR}}
frames: {tip: {body: rod, at: [1, 0, 0], port: PORT}}
"""
MOTORS = {
    "plain": "limit: 20",
    "servo": "servo_stiffness: 50, servo_damping: 2",
    "servo with a limit": "servo_stiffness: 400, limit: 12",
    "servo with feeds": "servo_stiffness: 50, servo_damping: 2, feed_forward: both",
    "gear": "gear_ratio: 10, rotor_inertia: 1e-3, efficiency: 0.7",
    "lag": "lag: 0.02, limit: 12",
    "servo with lag": "servo_stiffness: 400, limit: 12, lag: 0.02",
    "winding": "resistance: 2, torque_constant: 0.5",
    "inductance": "resistance: 2, torque_constant: 0.5, inductance: 1e-3",
    "play": "backlash: 0.01, rotor_inertia: 0.01, mesh_stiffness: 2000",
}


def arm(motor: str, port: str = "force") -> Mechanism:
    return read(ARM.replace("MOTOR", motor).replace("PORT", port))


@pytest.mark.parametrize(("motor", "force"), list(product(MOTORS, (None, 0.0, 5.0))))
def test_actuators_alone_hold(motor: str, force: float | None) -> None:
    """By virtual work: the tip's lift does some of it, the motor the rest; the lift stays as it was set."""
    s = Simulation(arm(MOTORS[motor], "none" if force is None else "force"), compile=False)
    s.set_inputs({"tip.force[3]": force} if force else {})
    found = hold(s)
    assert found.residual < 1e-8
    assert [v for k, v in found.inputs.items() if k.startswith("tip.")] == (
        [] if force is None else [0.0, 0.0, force, 0.0, 0.0, 0.0]
    )
    lever = np.cos(0.7)
    assert s.outputs()["motor.drive.effort"] == pytest.approx(-(2 * 9.81 * 0.5 - (force or 0.0)) * lever)


@pytest.mark.parametrize("motor", ["limit: 3", "servo_stiffness: 400, limit: 3", "lag: 0.02, limit: 3"])
def test_what_lacks_is_told(motor: str) -> None:
    """`hold` said "at rest" of a pose that the limit leaves falling."""
    s = Simulation(arm(motor), compile=False)
    before = s.state
    lacking = 9.81 * np.cos(0.7) - 3
    with pytest.raises(SimulationError, match=f"{lacking:.3g} N·m unbalanced at joint 'root'"):
        hold(s)
    assert s.state == before


TWO = """
name: two
bodies:
  one: {mass: 1, com: [0.5, 0, 0], inertia: [0.01, 0.02, 0.02, 0, 0, 0]}
  two: {mass: 0.2, com: [1.5, 0, 0], inertia: [0.01, 0.02, 0.02, 0, 0, 0]}
joints:
  pin1: {type: revolute, parent: ground, child: one, at: [0, 0, 0], axis: y}
  pin2: {type: revolute, parent: one, child: two, at: [1, 0, 0], axis: y}
motors: {m1: {joint: pin1}}
frames: {tip: {body: two, at: [2, 0, 0], port: force}}
"""


def test_a_joint_that_no_actuator_holds_is_named(tmp_path, capsys) -> None:  # type: ignore[no-untyped-def]
    """The tip's wrench was taken for a motor: it was at rest with 1 N that nobody gave."""
    s = Simulation(read(TWO), compile=False)
    for statics in (hold, Simulation.inverse_dynamics):
        with pytest.raises(SimulationError, match=r": 0.981 N·m unbalanced at joint 'pin2'$"):
            statics(s)
    file = tmp_path / "two.yaml"
    file.write_text(TWO)
    assert main(["linearize", str(file), "--hold"]) == 4
    assert "0.981 N·m unbalanced at joint 'pin2'" in capsys.readouterr().err


BARS = """
name: bars
bodies:
  left: {mass: 1, com: [0, 0, 0.5], inertia: [0.01, 0.02, 0.02, 0, 0, 0]}
  top: {mass: 2, com: [0.5, 0, 1], inertia: [0.01, 0.02, 0.02, 0, 0, 0]}
  right: {mass: 1, com: [1, 0, 0.5], inertia: [0.01, 0.02, 0.02, 0, 0, 0]}
joints:
  A: {type: revolute, parent: ground, child: left, at: [0, 0, 0], axis: y, start: 0.5}
  B: {type: revolute, parent: left, child: top, at: [0, 0, 1], axis: y, start: -0.5}
  C: {type: revolute, parent: ground, child: right, at: [1, 0, 0], axis: y, start: 0.5}
  D: {type: revolute, parent: top, child: right, at: [1, 0, 1], axis: y}
motors: {a: {joint: A, limit: LIMIT}, c: {joint: C}}
"""


def test_another_actuator_takes_over_at_a_limit() -> None:
    """Both could do it: the least is half each, within a limit of 5 N·m the other one does the rest."""
    whole = -3 * 9.81 * np.sin(0.5)
    for limit, wanted in ((10, (whole / 2, whole / 2)), (5, (-5.0, whole + 5))):
        found = hold(Simulation(read(BARS.replace("LIMIT", str(limit))), compile=False))
        assert tuple(found.inputs.values()) == pytest.approx(wanted)


def test_a_winch_holds_where_it_can_pull() -> None:
    text = ARM.replace("MOTOR", "limit: 1e-3").replace("PORT", "none")
    text += (
        "cylinders: {rope: {body1: ground, body2: rod, point1: [1, 0, Z], point2: [1, 0, 0], acts: pulls}}\n"
    )
    assert hold(Simulation(read(text.replace("Z", "2")), compile=False)).inputs["rope"] < -1
    with pytest.raises(SimulationError, match=r"unbalanced at joint 'root'; .*'rope' gives all it can"):
        hold(Simulation(read(text.replace("Z", "-2")), compile=False))


def test_the_shortest_within_bounds() -> None:
    """Against the conditions of the minimum: x is the projection of a combination of A's rows."""
    random = np.random.default_rng(1)
    for _ in range(200):
        m, n = random.integers(1, 4), random.integers(3, 7)
        A, inside = random.normal(size=(m, n)), random.uniform(-1, 1, n)
        low, high = np.full(n, -1.0), np.full(n, 1.0)
        x = least_within(A, A @ inside, low, high)
        assert np.abs(A @ x - A @ inside).max() < 1e-9 and np.abs(x).max() <= 1
        free = np.abs(x) < 1 - 1e-9
        y = np.linalg.lstsq(A[:, free].T, x[free], rcond=None)[0]
        assert np.abs(A[:, free].T @ y - x[free]).max(initial=0.0) < 1e-7
