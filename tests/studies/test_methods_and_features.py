"""Every formulation, stabilization, stepper and chart on every feature: right, or refused in words."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from cutjoint import (
    Body,
    Bushing,
    Coupling,
    CutjointError,
    Frame,
    Joint,
    Load,
    Mechanism,
    Motor,
    PointMass,
    Simulation,
    SimulationError,
    Strut,
)
from cutjoint.model.describe.visuals import NamedFrame
from cutjoint.papers.methods.method_simulation import NAMES, MethodSimulation

I = (0.02, 0.03, 0.04, 0.0, 0.0, 0.0)  # noqa: E741
HINGES = (
    Joint("a", "revolute", "ground", "one", start=(0.3,), speed=(1.0,)),
    Joint("b", "revolute", "one", "two", Frame((0.5, 0.0, 0.0)), start=(0.4,), speed=(-2.0,)),
)
PLAIN = Mechanism(
    "two",
    (Body("one", 1.0, (0.25, 0.0, 0.0), I), Body("two", 0.7, (0.2, 0.05, 0.0), I)),
    HINGES,
    gravity=(0, -9.81, 0),
)


LOOP = Mechanism(
    "four",
    (
        Body("one", 1.0, (0.25, 0.0, 0.0), I),
        Body("two", 0.7, (0.6, 0.05, 0.0), I),
        Body("three", 0.8, (0.3, 0.0, 0.0), I),
    ),
    (
        Joint("a", "revolute", "ground", "one", start=(1.3,), speed=(1.0,)),
        Joint("b", "revolute", "one", "two", Frame((0.5, 0.0, 0.0)), start=(-1.0,)),
        Joint("c", "revolute", "ground", "three", Frame((1.0, 0.0, 0.0)), start=(1.4,)),
        Joint("d", "revolute", "two", "three", Frame((1.2, 0.0, 0.0)), Frame((0.7, 0.0, 0.0))),
    ),
    gravity=(0, -9.81, 0),
)
PLACES = {"tree": (PLAIN, "b"), "loop": (LOOP, "b"), "cut": (LOOP, "d")}  # and the joint that has the feature


def with_features(shape: Mechanism, name: str) -> dict[str, Mechanism]:
    """The mechanism with each feature, at a joint by name and the body behind it."""
    joint = shape.joint(name)
    body, near = joint.child, joint.start[0] if joint.start else 0.977

    def joint_with(**fields: object) -> Mechanism:
        joints = (replace(j, **fields) if j.name == name else j for j in shape.joints)  # type: ignore[arg-type]
        return replace(shape, joints=tuple(joints))

    def motor_with(**fields: object) -> Mechanism:
        return replace(shape, motors=(Motor("m", name, **fields),))  # type: ignore[arg-type]

    load = Load("l", body, (0.1, 0.0, 0.0), (1.0, 2.0, 0.0), (0.0, 0.0, 0.5))
    strut = Strut("s", "ground", body, (0.0, 1.0, 0.0), (0.3, 0.0, 0.0), 20.0, 1.0, 0.5)
    ends = NamedFrame("here", "ground", (0.5, 0.2, 0.0)), NamedFrame("there", body, (0.3, 0.0, 0.0))
    return {
        "plain": shape,
        "spring": joint_with(stiffness=(3.0,), rest=(0.1,)),
        "damper": joint_with(damping=(0.2,)),
        "friction": joint_with(friction=(0.3,), friction_speed=0.5),
        "sticking": joint_with(friction=(0.3,), bristle_stiffness=(100.0,), bristle_damping=(1.0,)),
        "limits": joint_with(limits=(near - 0.01, near + 0.01), limit_stiffness=50.0),
        "armature": joint_with(armature=(0.1,)),
        "gear": motor_with(gear_ratio=3.0, rotor_inertia=0.01, efficiency=0.8),
        "servo": motor_with(servo_stiffness=5.0, servo_damping=0.5),
        "lag": motor_with(servo_stiffness=5.0, lag=0.02),
        "play": motor_with(backlash=0.01, rotor_inertia=0.01, mesh_stiffness=100.0),
        "winding": motor_with(resistance=1.0, torque_constant=0.5),
        **{f"driven {drive}": motor_with(drive=drive) for drive in ("position", "velocity", "acceleration")},
        "coupling": replace(shape, couplings=(Coupling("tie", name, ("a",), (-2.0,), 1.0),)),
        "load": replace(shape, loads=(load,)),
        "strut": replace(shape, struts=(strut,)),
        "cylinder": replace(shape, struts=(replace(strut, actuated=True),)),
        "driven cylinder": replace(shape, struts=(replace(strut, actuated=True, drive="position"),)),
        "bushing": replace(
            shape, frames=ends, bushings=(Bushing("soft", *("here", "there"), (30.0, 20.0, 10.0)),)
        ),
        "point mass": replace(shape, point_masses=(PointMass("p", body, 0.5, (0.4, 0.1, 0.0)),)),
        "port": replace(shape, frames=(NamedFrame("tip", body, (0.4, 0.0, 0.0), port="force"),)),
        "moving base": replace(shape, base=("sway",)),
    }


METHODS = [
    *({"formulation": name} for name in NAMES["formulation"]),
    *({"stabilization": name} for name in NAMES["stabilization"][1:]),
    *({"stepper": name} for name in NAMES["stepper"][1:]),
    *({"chart": name} for name in NAMES["chart"]),
]


TABLE = [
    pytest.param(
        place, feature, marks=() if place == "tree" or feature in ("servo", "gear") else pytest.mark.study
    )
    for place, shape in PLACES.items()
    for feature in with_features(*shape)
]


@pytest.mark.parametrize(("place", "feature"), TABLE)
def test_every_method_on_a_feature(place: str, feature: str) -> None:
    """taylor ignored couplings and rotors, and charts crashed on internal states."""
    mechanism, time, refused = with_features(*PLACES[place])[feature], 0.02, 0
    try:
        right = Simulation(mechanism, compile=False)
    except CutjointError:  # such as a coupling that is there too much
        return
    right.run(time, 1e-3)
    free = right.topology().mobility
    for method in METHODS:
        if "chart" in method:
            method = method | {"coordinates": ["a", "b"][:free]}
        h = 5e-5 if method.get("stepper") == "taylor" else 1e-3
        try:
            s = MethodSimulation(right.engine, **method)  # type: ignore[arg-type]
            s.run(time, h, **({"method": "local"} if "chart" in method else {}))  # type: ignore[arg-type]
        except SimulationError:
            refused += 1
            continue
        gap = np.abs(np.concatenate([s.q - right.q, s.v - right.v])).max()
        assert gap < (2e-3 if h < 1e-3 else 1e-4), (method, gap)
    assert refused < len(METHODS)


def test_taylor_knows_no_couplings() -> None:
    """A gripper came out 27 mm off, with exit code 0."""
    with pytest.raises(SimulationError, match="coupling"):
        MethodSimulation("gripper", stepper="taylor", compile=False).run(0.01)
