"""Huang's stepper (paper 002): order, reactions, rank of its matrix, and what it does not know."""

from __future__ import annotations

from dataclasses import replace
from math import pi

import mechanisms
import numpy as np
import pytest
from cutjoint import Body, Frame, Joint, Mechanism, Motor, Simulation, SimulationError, load
from cutjoint.papers.huang_pendulum import planar_determinant, solid, stepper_values
from cutjoint.papers.methods import MethodSimulation
from cutjoint.papers.methods.huang import Taylor


def slider() -> Mechanism:
    """A crank, a rod with a cylindrical wrist, a slider: the joints that pins and balls leave out."""
    box = (0.05, 0.07, 0.06, 0.0, 0.0, 0.0)
    quarter = (0.5**0.5, 0.0, 0.5**0.5, 0.0)  # z along x
    on_slider = Frame((0.0, 0.0, 0.0), quarter)
    bodies = (Body("crank", 1.0, (0.2, 0.0, 0.0), box), Body("slider", 2.0, (0.1, 0.0, 0.0), box))
    joints = (
        Joint("pin", "revolute", "ground", "crank", start=(0.7,), speed=(2.0,)),
        Joint("guide", "prismatic", "crank", "slider", Frame((0.3, 0.0, 0.0), quarter), on_slider),
    )
    more = Body("ring", 1.5, (0.0, 0.1, 0.0), box)
    wrist = Joint("wrist", "cylindrical", "slider", "ring", Frame((0.2, 0.1, 0.0)), speed=(1.0, 0.3))
    return Mechanism("slider", (*bodies, more), (*joints, wrist), (Motor("m", "pin"), Motor("push", "guide")))


@pytest.mark.parametrize("name", ["stewart", "slider"])
def test_reactions_as_the_step_vanishes(name: str) -> None:
    """Forces and moments of all joint types against the engine's; motors' own torque taken off."""
    s = Simulation(slider() if name == "slider" else name)
    s.set_inputs([3.0] * len(s.inputs))
    s.run(0.1, 1e-3)
    found = Taylor(s).reactions(s.q, s.v, 1e-6)
    y = s.outputs()
    motors = {m.joint for m in s.mechanism.motors}
    for joint in s.mechanism.joints:
        if joint.name in motors:
            continue
        for ours, part in ((found.forces, "force"), (found.moments, "moment")):
            theirs = y[f"reaction.{joint.name}.{part}"]
            assert np.abs(ours[joint.name] - theirs).max() < 1e-3 * max(1.0, np.abs(theirs).max())


def test_first_order() -> None:
    exact = Simulation("stewart")
    exact.set_inputs([10.0] * 3)
    exact.run(0.1, 1e-3)
    errors = []
    for h in (4e-3, 2e-3, 1e-3):
        s = MethodSimulation("stewart", stepper="taylor")
        s.set_inputs([10.0] * 3)
        s.run(0.1, h, record=["energy"])
        errors.append(np.abs(s.q - exact.q).max())
    assert np.log2(errors[0] / errors[1]) == pytest.approx(1.0, abs=0.1)
    assert np.log2(errors[1] / errors[2]) == pytest.approx(1.0, abs=0.1)


@pytest.mark.parametrize("damping", [(), (0.4, 8.0)])
def test_first_order_with_sliding_joints(damping: tuple[float, ...]) -> None:
    plain = slider()
    joints = (*plain.joints[:2], replace(plain.joint("wrist"), damping=damping))
    damped = replace(plain, joints=joints)
    exact = Simulation(damped)
    exact.run(0.1, 1e-3)
    errors = []
    for h in (2e-3, 1e-3):
        s = MethodSimulation(damped, stepper="taylor")
        s.run(0.1, h, record=["energy"])
        errors.append(np.abs(s.v - exact.v).max())
    assert 1e-9 < errors[1] < 1e-2
    assert np.log2(errors[0] / errors[1]) == pytest.approx(1.0, abs=0.1)


def test_platform_matrix_needs_the_released_axes() -> None:
    s = Simulation("stewart")
    found = Taylor(s).reactions(s.q, s.v, 2e-3)
    assert found.matrix.shape == (45, 45)
    assert np.linalg.matrix_rank(found.matrix) == 45
    assert len(found.released) == 6
    assert np.linalg.matrix_rank(np.delete(found.matrix, found.released, axis=0)) == 39


def test_the_matrix_is_singular_where_the_constraints_are() -> None:
    """The paper's claim, refuted: the five-bar's matrix loses rank at (π, 0, π, 0)."""
    five = solid(mechanisms.five_bar())
    regular = stepper_values(Simulation(five))
    singular = stepper_values(Simulation(solid(mechanisms.five_bar(mechanisms.SINGULAR))))
    place = int((regular > 1e-9).sum()) - 1
    assert regular[place] > 1e-5
    assert singular[place] < 1e-13


def test_determinant_of_the_double_pendulum() -> None:
    for angle in np.linspace(0, 2 * pi, 7):
        assert planar_determinant(angle, angle) == pytest.approx(41 / 16)


def test_what_it_does_not_know_is_said() -> None:
    with pytest.raises(SimulationError, match="no equations for joint 'slide' of type planar"):
        MethodSimulation(mechanisms.cartesian_pendulum(1.0), stepper="taylor").step(1e-3)
    with pytest.raises(SimulationError, match="body 'rod1' needs a mass"):
        MethodSimulation(mechanisms.five_bar(), stepper="taylor").step(1e-3)
    heavy = load("double_pendulum")
    joints = (replace(heavy.joints[0], armature=(0.1,)), *heavy.joints[1:])
    with pytest.raises(SimulationError, match="knows no armatures"):
        MethodSimulation(replace(heavy, joints=joints), stepper="taylor").step(1e-3)
