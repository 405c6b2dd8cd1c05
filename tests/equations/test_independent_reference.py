"""Random mechanisms with every feature on, against Newton and Euler without a tree (`support/maximal.py`)."""

from __future__ import annotations

from dataclasses import replace

import maximal
import numpy as np
import pytest
from bulk import bulk
from cutjoint import AssemblyError, Coupling, Mechanism, Motor, PointMass, Simulation
from cutjoint.model.joints.types import TYPES
from random_mechanisms import Maker, random_loop, random_tree, turned_round

SEEDS = list(range(200))
MOTORS = (
    {},
    {"servo_stiffness": 6.0, "servo_damping": 0.5, "limit": 4.0},
    {"servo_stiffness": 6.0, "lag": 0.05},
    {"gear_ratio": 4.0, "rotor_inertia": 0.01, "efficiency": 0.8},
    {"rotor_inertia": 0.05, "backlash": 0.02, "mesh_stiffness": 200.0, "mesh_damping": 1.0},
    {"drive": "position"},
    {"drive": "velocity"},
    {"drive": "acceleration"},
)


def _mechanism(seed: int) -> Mechanism:
    """A tree or loops with all kinds of motors, armatures, stops, bristles, point masses, a coupling.

    Joints are listed in any order, point either way, and nothing says which is cut.
    """
    make = Maker(50_000 + seed)
    made = random_loop(seed, 3 + seed % 3) if seed % 4 else random_tree(seed)
    if seed % 3 == 0:
        made = turned_round(made)
    joints = [replace(j, cut=None) for j in made.joints]
    for k, joint in enumerate(joints):
        kind, nv = TYPES[joint.type], TYPES[joint.type].nv
        plain = kind.nq == nv and nv
        if nv and make.random.random() < 0.4:
            joint = replace(joint, armature=tuple(make.random.uniform(0.02, 0.2, nv).tolist()))
        if plain and make.random.random() < 0.3:
            stuck = {"friction": 0.3, "bristle_stiffness": 50.0, "bristle_damping": 0.5}
            joint = replace(joint, **{key: (x,) * nv for key, x in stuck.items()})
        if nv == 1 and make.random.random() < 0.4:
            rest, start = float(make.random.uniform(-9, 9)), (joint.start or (0.0,))[0]
            near = start - 0.01, start + 0.02
            joint = replace(joint, stiffness=(1.5,), rest=(rest,), limits=near, limit_stiffness=20.0)
        joints[k] = joint
    single = [j for j in joints if TYPES[j.type].nv == 1]
    motors = [Motor(f"m{k}", j.name, **MOTORS[(seed + k) % len(MOTORS)]) for k, j in enumerate(single[:2])]  # type: ignore[arg-type]
    masses = tuple(PointMass(f"p{b.name}", b.name, 0.3, make.point()) for b in made.bodies[:2])
    order = make.random.permutation(len(joints))
    made = replace(made, motors=tuple(motors), joints=tuple(joints[k] for k in order), point_masses=masses)
    if len(single) > 2 and seed % 5 == 0:
        made = _coupled(made, single[2].name, single[0].name)
    return made


def _coupled(mechanism: Mechanism, joint: str, leads: str) -> Mechanism:
    """A relation that holds where the mechanism is assembled without it."""
    simulation = _simulation(mechanism)
    mechanism, at = simulation.mechanism, simulation.outputs()
    x, lead = (float(np.ravel(at[f"joint.{name}.position"])[0]) for name in (joint, leads))
    tie = Coupling("tie", joint, (leads,), (0.7,), x - 0.7 * lead - 0.1 * lead**2, (0.1,))
    return replace(mechanism, couplings=(tie,))


def _simulation(mechanism: Mechanism) -> Simulation:
    """Of the mechanism; moved by torques where a joint can't be driven: it can't move, or follows others."""
    try:
        return Simulation(mechanism, compile=False)
    except AssemblyError as problem:
        assert "let one of them drive by torque" in str(problem), problem
        plain = tuple(replace(m, drive="torque") for m in mechanism.motors)
        return Simulation(replace(mechanism, motors=plain), compile=False)


def _here(simulation: Simulation) -> maximal.Here:
    found = {name: np.atleast_1d(x) for name, x in simulation.outputs().items()}
    parts = ("position", "orientation", "velocity", "angular_velocity")
    mechanism = simulation.mechanism
    none = np.zeros(0)
    joints = {
        j.name: tuple(found.get(f"joint.{j.name}.{what}", none) for what in ("position", "velocity"))
        for j in mechanism.joints
    }
    return maximal.Here(
        {b.name: tuple(found[f"body.{b.name}.{what}"] for what in parts) for b in mechanism.bodies},
        joints,  # type: ignore[arg-type]
        {name: found[name] for name in simulation.tree.z},
        dict(zip(simulation.inputs, simulation.u.tolist(), strict=True)),
    )


def _moving(seed: int) -> Simulation:
    """Any speeds that the loops allow, any internal states and inputs."""
    simulation = _simulation(_mechanism(seed))
    random = np.random.default_rng(seed)
    state = simulation.state
    u = state.u.copy()
    told = {m.name: m.drive for m in simulation.mechanism.motors}
    for k, name in enumerate(simulation.inputs):
        if not (name in told and told[name] == "position"):  # where it is stays as assembled
            u[k] = random.uniform(-1, 1)
    v = random.uniform(-1, 1, state.v.size)
    z = random.uniform(-0.005, 0.005, state.z.size)
    s = simulation.engine.motions(u)
    v = simulation.engine.kernels.project_velocity(state.q, v, s, state.p)
    simulation.state = replace(state, v=v, z=z, u=u)
    return simulation


@pytest.mark.parametrize("seed", bulk(SEEDS, SEEDS[:4]))
def test_accelerations_and_motion(seed: int) -> None:
    """22 of 140 such mechanisms were refused, and cut joints forgot turns, springs and inertias."""
    simulation = _moving(seed)
    at = _here(simulation)
    ours, theirs = simulation.outputs(), maximal.accelerations(simulation.mechanism, at)
    size = max(1.0, *(np.abs(x).max() for pair in theirs.bodies.values() for x in pair))
    for name, (a, alpha) in theirs.bodies.items():
        for what, value in (("acceleration", a), ("angular_acceleration", alpha)):
            error = np.abs(ours[f"body.{name}.{what}"] - value).max()
            assert error < 1e-11 * size, f"{what} of {name}: {error:.1e} of {size:.1e}"
    later = maximal.motion(simulation.mechanism, at, 0.05)
    simulation.run(0.05, method="variable", tolerance=1e-11)
    after = simulation.outputs()
    for name, (r, e, v, w) in later.bodies.items():
        for what, value in (("position", r), ("velocity", v), ("angular_velocity", w)):
            np.testing.assert_allclose(
                after[f"body.{name}.{what}"], value, atol=1e-8 * max(1.0, size / 100), err_msg=name
            )
        turn = after[f"body.{name}.orientation"]
        np.testing.assert_allclose(turn * np.sign(turn @ e), e, atol=1e-8 * max(1.0, size / 100))
