"""Loops that are cut beside a joint: a body in two halves, which are held together where the loop is cut.

What is cut has no coordinates of its own: angles measured between its two frames forget whole turns, M has no
entry for an armature, a coupling and a motor have nothing to act on. So a joint whose coordinates matter
stays in the tree even if it closes a loop. One of its bodies is split into two halves, each with half of the
mass, the joint ends at one of them, and the loop is cut where the halves are fixed to each other: six rows
and the joint's own speeds instead of 6 − nv rows. That is the same mechanism: motion, energies and reactions
are those of any other choice of cuts.

Plane loops need none of it for angles (`turn_counts.py`). In a loop in space a hinge between links without
mass is cut as it is if nothing acts by its place; its angle is then told within ±π.
"""

from collections.abc import Sequence
from dataclasses import replace
from math import inf, pi
from typing import Any, NamedTuple

import casadi as ca
import numpy as np

from ..base.thresholds import NO_INERTIA
from ..describe.mechanism import GROUND, Body, Joint, Mechanism
from ..describe.motors import POSITION, VELOCITY, has
from ..describe.validation import Flaw
from ..joints.moves import Turn
from ..joints.types import TYPES
from .cut_joints import cut_coordinates
from .dynamics import mass_matrix
from .elements.joint_force import acts
from .kinematics import Model, Motion, outward, quaternions
from .loops import CutLoop
from .spatial import lump_point_masses
from .topology import span, start_coordinates
from .turn_counts import angle_place, plane_weights, start_motion


class Half(NamedTuple):
    """A joint that stays in the tree, the side on which a body is split, and what the parts are called."""

    joint: str
    side: str  # child or parent
    body: str
    name: str  # of the half at which the joint ends
    weld: str  # of the rigid connection of the halves, which is cut


def choose_halves(mechanism: Mechanism, symbolic: Mechanism) -> tuple[Half, ...]:
    """The joints that would be cut but whose coordinates matter; `symbolic` has symbols for parameters."""
    tree = span(mechanism)
    left = [joint for joint in symbolic.joints if joint.name not in tree.q and TYPES[joint.type].moves]
    if not left:
        return ()
    model = Model(lump_point_masses(mechanism), tree)
    motion = start_motion(model)
    held = {name for tie in mechanism.couplings for name in (tie.joint, *tie.follows)}
    held |= {motor.joint for motor in mechanism.motors}
    found = []
    for joint in left:
        kind = TYPES[joint.type]
        must = joint.name in held or has(joint.armature) or (not kind.locks and acts(joint))
        by_place = has(joint.stiffness) or joint.limits != (-inf, inf)
        if must or not _counts_turns(model, motion, mechanism.joint(joint.name)):
            half = _half(model.mechanism, mechanism.joint(joint.name))
            confined = max(map(abs, mechanism.joint(joint.name).limits)) < pi  # stops tell angles
            if half is None and (must or (by_place and not confined)):
                raise _no_mass(mechanism, joint.name)
            found += [half] if half else []
    return tuple(found)


def _counts_turns(model: Model, motion: Motion, joint: Joint) -> bool:
    """Whether a joint that is cut tells all its angles: it has none, or those of a plane loop."""
    if not any(isinstance(move, Turn) for move in TYPES[joint.type].moves or ()):
        return True
    if angle_place(joint) is None:
        return False
    return plane_weights(model, motion, CutLoop(model, motion, joint)) is not None


def _half(mechanism: Mechanism, joint: Joint) -> Half | None:
    """The side whose half has inertia at all speeds of the joint, the child's first."""
    led = any(m.joint == joint.name and m.drive in (POSITION, VELOCITY) for m in mechanism.motors)
    for side, body in (("child", joint.child), ("parent", joint.parent)):
        if body != GROUND and (led or _has_inertia(joint, side, mechanism.body(body))):
            # names that no description can have
            return Half(joint.name, side, body, f"{body} at {joint.name}", f"beside {joint.name}")
    return None


def _has_inertia(joint: Joint, side: str, body: Body) -> bool:
    """Whether a body, hung on the ground by a joint, resists every motion that the joint allows."""
    other = "parent" if side == "child" else "child"
    ends: dict[str, Any] = {other: GROUND}
    alone = Mechanism("half", (body,), (replace(joint, cut=None, **ends),))
    tree = span(alone)
    model, q = Model(alone, tree), ca.DM(start_coordinates(alone, tree))
    M = np.array(ca.evalf(mass_matrix(model, outward(model, ca.SX(q), ca.SX.zeros(tree.nv, 1)))))
    values = np.linalg.eigvalsh(M)
    return bool(values.min() > NO_INERTIA * values.max())


def _no_mass(mechanism: Mechanism, name: str) -> Flaw:
    joint = mechanism.joint(name)
    ends = " nor ".join(f"'{body}'" for body in (joint.parent, joint.child) if body != GROUND)
    advice = "give one of them mass and inertia, or let another joint of the loop be cut (cut: true)"
    sentence = f"joint '{name}' closes a loop, and neither {ends} resists its motion; {advice}"
    return Flaw(("joints", name, "cut"), sentence, whole=True)


def halve(mechanism: Mechanism, halves: Sequence[Half]) -> Mechanism:
    """The mechanism with these joints in its tree and rigid connections cut instead; numbers or symbols."""
    for half in halves:
        whole, joint = mechanism.body(half.body), mechanism.joint(half.joint)
        ends: dict[str, Any] = {half.side: half.name}
        frame = joint.on_child if half.side == "child" else joint.on_parent
        one = replace(whole, mass=whole.mass / 2, inertia=_halved(whole.inertia))
        weld = Joint(half.weld, "fixed", whole.name, half.name, frame, frame, cut=True)
        bodies = (one if body is whole else body for body in mechanism.bodies)
        joints = (replace(j, cut=False, **ends) if j is joint else j for j in mechanism.joints)
        mechanism = replace(
            mechanism,
            bodies=(*bodies, replace(one, name=half.name, label="")),
            joints=(*joints, weld),
        )
    return mechanism


def _halved(values: Any) -> Any:
    return values / 2 if isinstance(values, ca.SX) else tuple(x / 2 for x in values)


def measured_start(model: Model, halves: Sequence[Half], q: np.ndarray) -> np.ndarray:
    """q with the joints beside which loops are cut where the others' coordinates put them."""
    found, at = q.copy(), ca.SX(ca.DM(q))
    motion = outward(model, at, ca.SX.zeros(model.tree.nv, 1))
    for half in halves:
        joint = model.mechanism.joint(half.joint)
        if not joint.start:
            ends: dict[str, Any] = {half.side: half.body}
            loop = CutLoop(model, motion, replace(joint, **ends))
            position = cut_coordinates(model, loop, at, quaternions(model, at))[0]
            found[model.tree.q[half.joint]] = np.array(ca.evalf(position)).ravel()
    return found
