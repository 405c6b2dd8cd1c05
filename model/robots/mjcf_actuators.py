"""MuJoCo's actuators as motors: a servo where the force depends on the joint's position, else a torque.

An actuator of gear n on a joint q pulls with f = g·ctrl + b₀ + b₁ n q + b₂ n q̇ within its force range;
the joint feels n f. With b₁ < 0 that is a servo of stiffness −n² b₁ and damping −n² b₂, whose wanted position
is −(g·ctrl + b₀)/(n b₁) and whose limit bounds all of its torque. Without b₁ the input is the torque
n (g·ctrl + b₀), and −n² b₂ is a damper of the joint. A sum of joints that couplings tie to one of them is
driven there. Where an actuator has dynamics, its activation stands for ctrl.
"""

from dataclasses import replace
from math import inf
from typing import Any, NamedTuple

from .mjcf_equalities import joint_sum
from .robot import Coupled, Drive, Robot, RobotJoint

_ON_JOINT, _IN_PARENT, _, _ON_TENDON = range(4)  # MuJoCo's numbers of transmissions
_FIXED, _AFFINE, _NO_DYNAMICS = 0, 1, 0  # of gains, biases and dynamics


class _Pull(NamedTuple):
    """Torque on a joint: gain·ctrl + push − stiffness·q − damping·q̇, within ±limit; ctrl within its range."""

    gain: float
    push: float
    stiffness: float
    damping: float
    limit: float
    ctrl: tuple[float, float]


def with_actuators(model: Any, robot: Robot) -> Robot:
    """The robot with motors and dampers of the model's actuators."""
    m = model.m
    joints = {joint.name: joint for joint in robot.joints}
    drives: dict[str, Drive] = {}
    notes = list(robot.notes)
    for k in range(m.nu):
        name = model.named("actuator", k)
        target, ratio, offset = _target(model, robot, k)
        why = _unfit(m, k, target, ratio)
        if target is None or why:
            notes.append(f"left out: actuator {name}, {why}")
            continue
        joints[target] = _burdened(m, k, joints[target], ratio)
        pull = _pull(m, k, ratio, offset, notes, name)
        if target in drives:
            notes.append(
                f"left out: the input of actuator {name}, whose spring and damper are the joint's; "
                f"joint {target} has the motor {drives[target].name} already"
            )
            joints[target] = _sprung(joints[target], pull)
            continue
        if m.actuator_dyntype[k] != _NO_DYNAMICS:
            notes.append(f"left out: the dynamics of actuator {name}; its input is the activation, at once")
        drives[target] = _drive(name, target, pull, notes)
        if not pull.stiffness:
            joints[target] = _sprung(joints[target], pull)
    changed = tuple(joints[joint.name] for joint in robot.joints)
    return replace(robot, joints=changed, drives=tuple(drives.values()), notes=tuple(notes))


def _unfit(m: Any, k: int, target: str | None, ratio: float) -> str:
    """Why an actuator can't be a motor of ours, empty if it can."""
    if target is None:
        return "which drives no joint of one degree of freedom, nor joints that are coupled"
    if not ratio:
        return "whose gear is zero"
    bent = m.actuator_gaintype[k] == _AFFINE and any(m.actuator_gainprm[k][1:3])
    if bent or m.actuator_gaintype[k] > _AFFINE or m.actuator_biastype[k] > _AFFINE:
        return "whose force is not affine in control, position and speed"
    if m.actuator_biastype[k] == _AFFINE and max(m.actuator_biasprm[k][1:3]) > 0:
        return "whose force grows with position or speed"
    return ""


def _pull(m: Any, k: int, ratio: float, offset: float, notes: list[str], name: str) -> _Pull:
    """What an actuator does to its joint; its length is ratio·q + offset."""
    gain = float(m.actuator_gainprm[k][0])
    bias = [float(x) for x in m.actuator_biasprm[k][:3]] if m.actuator_biastype[k] == _AFFINE else [0.0] * 3
    ranges = [(abs(ratio), m.actuator_forcerange[k])] if m.actuator_forcelimited[k] else []
    joint = int(m.actuator_trnid[k][0])
    if m.actuator_trntype[k] in (_ON_JOINT, _IN_PARENT) and m.jnt_actfrclimited[joint]:
        ranges.append((1.0, m.jnt_actfrcrange[joint]))
    for _, (low, high) in ranges:
        if low != -high:
            notes.append(f"changed: the force range [{low:g}, {high:g}] of actuator {name} is symmetric now")
    limit = min((scale * max(abs(float(x)) for x in ends) for scale, ends in ranges), default=inf)
    ctrl = tuple(float(x) for x in m.actuator_ctrlrange[k]) if m.actuator_ctrllimited[k] else (-inf, inf)
    return _Pull(
        ratio * gain,
        ratio * (bias[0] + bias[1] * offset),
        -(ratio**2) * bias[1],
        -(ratio**2) * bias[2],
        limit or inf,
        (ctrl[0], ctrl[1]),
    )


def _drive(name: str, joint: str, pull: _Pull, notes: list[str]) -> Drive:
    """The motor of an actuator; notes say what its input is in terms of MuJoCo's control."""
    low, high = pull.ctrl
    if pull.stiffness:
        scale, shift, what = pull.gain / pull.stiffness, pull.push / pull.stiffness, "wanted position"
        drive = Drive(name, joint, pull.limit, pull.stiffness, pull.damping)
        if (low, high) != (-inf, inf):
            ends = sorted(scale * x + shift for x in (low, high))
            what += f" (MuJoCo keeps it within [{ends[0]:.6g}, {ends[1]:.6g}])"
    else:
        scale, shift, what = pull.gain, pull.push, "torque"
        most = max(abs(scale * x + shift) for x in (low, high)) or inf
        if most < inf and scale * low + shift != -(scale * high + shift):
            notes.append(
                f"changed: the control range [{low:g}, {high:g}] of actuator {name} is symmetric now"
            )
        if pull.damping and pull.limit < inf:
            notes.append(f"left out: the force limit {pull.limit:g} of velocity servo {name}")
        drive = Drive(name, joint, most if pull.damping else min(most, pull.limit))
    if (scale, shift) != (1.0, 0.0) or pull.stiffness:
        more = f" {'+' if shift > 0 else '−'} {abs(shift):.6g}" if shift else ""
        notes.append(f"read: the input of motor {name} is the {what}, {scale:.6g} × ctrl{more}")
    return drive


def _target(model: Any, robot: Robot, k: int) -> tuple[str | None, float, float]:
    """The joint that an actuator drives, and its length as a·q + b of its coordinate: joint, a, b."""
    m, kind, index = model.m, int(model.m.actuator_trntype[k]), int(model.m.actuator_trnid[k][0])
    gear = float(m.actuator_gear[k][0])
    if kind in (_ON_JOINT, _IN_PARENT):
        joint = robot.joint(model.joints[index])
        single = joint is not None and joint.type in ("revolute", "prismatic")
        return (model.joints[index] if single else None), gear, 0.0
    terms = joint_sum(model, index) if kind == _ON_TENDON else None
    if not terms:
        return None, 0.0, 0.0
    first = next(iter(terms))
    ratio = offset = 0.0
    for name, c in terms.items():
        line = (1.0, 0.0) if name == first else _line(robot.couplings, name, first)
        if line is None:
            return None, 0.0, 0.0
        ratio, offset = ratio + c * line[0], offset + c * line[1]
    return first, gear * ratio, gear * offset


def _line(couplings: tuple[Coupled, ...], joint: str, other: str) -> tuple[float, float] | None:
    """a and b of q = a·q_other + b where a linear coupling ties the two; None where none does."""
    for coupled in couplings:
        if set(coupled.terms) == {joint, other} and all(len(c) == 1 for c in coupled.terms.values()):
            own = coupled.terms[joint][0]
            return -coupled.terms[other][0] / own, -coupled.offset / own
    return None


def _burdened(m: Any, k: int, joint: RobotJoint, ratio: float) -> RobotJoint:
    """The joint with the armature and damping that newer versions of MuJoCo let an actuator have."""
    armature, damping = (
        float(values[k].flat[0]) if (values := getattr(m, f"actuator_{what}", None)) is not None else 0.0
        for what in ("armature", "damping")
    )
    more = joint.armature + ratio**2 * armature
    return replace(joint, armature=more, damping=joint.damping + ratio**2 * damping)


def _sprung(joint: RobotJoint, pull: _Pull) -> RobotJoint:
    """The joint with the spring and damper of an actuator beside its own."""
    total = joint.stiffness + pull.stiffness
    push = pull.push if pull.stiffness else 0.0
    rest = (joint.stiffness * joint.rest + push) / total if total else joint.rest
    return replace(joint, stiffness=total, rest=rest, damping=joint.damping + pull.damping)
