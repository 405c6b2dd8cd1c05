"""Driven motions at the start: where they begin, and whether they contradict each other.

A mechanism is first assembled as if its motors did not drive motions. Where that leaves a driven joint, and
at what speed, is where its motion begins.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from ..base.errors import AssemblyError
from ..base.thresholds import CARRIED
from ..describe.mechanism import Mechanism, Strut
from ..describe.motors import FORCE, MOTIONS, TORQUE, Motor, signal_names
from ..engine import Engine
from ..equations.motion_drives import acceleration_drives, driven_joint
from ..manifold.rank import rank_of
from ..state import State


def release_motions(engine: Engine) -> Engine:
    """The same mechanism with motors that drive by torque."""
    return Engine(replace(without_motions(engine.mechanism), outputs={}), compile=False)


def without_motions(mechanism: Mechanism) -> Mechanism:
    """The same mechanism with motors and cylinders that drive by force."""
    motors = tuple(replace(motor, drive=TORQUE) for motor in mechanism.motors)
    return replace(mechanism, motors=motors, struts=tuple(replace(s, drive=FORCE) for s in mechanism.struts))


def with_motion_positions(engine: Engine, state: State, positions: Mapping[str, Any]) -> State:
    """The state with driven joints told to be at these positions."""
    table, u = engine.variables.inputs, state.u.copy()
    for motor in engine.mechanism.driven:
        if (joint := driven_joint(motor)) in positions and motor.drive == MOTIONS[0]:
            u[table.find(motor.name).where] = positions[joint]
    return replace(state, u=u)


def motions_begun(engine: Engine, other: Engine, state: State) -> State:
    """The motions that begin where the released mechanism is; refused if one follows from others."""
    outputs, table, u = other.variables.outputs, engine.variables.inputs, np.zeros(len(engine.inputs))
    still = [np.zeros(n) for n in (other.tree.nz, len(other.inputs))]
    y = other.kernels.outputs(state.q, state.v, *still, state.p)
    for motor in engine.mechanism.driven:
        for name, what in zip(signal_names(motor), MOTIONS[-len(signal_names(motor)) :], strict=True):
            if what != MOTIONS[-1]:
                u[table.find(name).where] = y[outputs.find(_measured(motor, what)).where]
    pose = other.generic_rank(state.q, other.motions(still[1]), state.p)[1]
    new = replace(state, u=u)
    _refuse_conflict(engine, new, pose)
    return new


def _measured(item: Motor | Strut, what: str) -> str:
    """The output that is the position or velocity of what is driven."""
    if isinstance(item, Motor):
        return f"joint.{item.joint}.{what}"
    return f"strut.{item.name}.{'length' if what == MOTIONS[0] else 'speed'}"


def _refuse_conflict(engine: Engine, state: State, pose: np.ndarray) -> None:
    """An error that names the motors, if rows of driven motions follow from others."""
    motors: tuple[Motor | Strut, ...] = *engine.tree.driven, *acceleration_drives(engine.mechanism)
    J = np.asarray(engine.kernels.driven_jacobian(pose, state.p))
    first = engine.tree.row_count - len(engine.tree.driven)
    U, s, _ = np.linalg.svd(J)
    null = np.abs(U[first:, rank_of(s) :])
    taking = [motor for motor, row in zip(motors, null, strict=True) if row.max(initial=0.0) > CARRIED]
    if taking:
        names = " and ".join(f"'{motor.name}'" for motor in taking)
        of = f"{names} of '{engine.mechanism.name}'"
        word, force = ("motor", TORQUE) if all(isinstance(x, Motor) for x in taking) else ("drive", FORCE)
        what = f"the {word}s {of} drive the same degree of freedom: what one does follows from the rest"
        if len(taking) == 1:
            what = f"the {word} {of} drives {'a joint' if word == 'motor' else 'what'} that can't move"
        raise AssemblyError(f"{what}; let one of them drive by {force}")
