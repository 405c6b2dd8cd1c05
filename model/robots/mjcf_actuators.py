"""MuJoCo's actuators as motors: the input is the joint's torque, the rest becomes spring and damper.

An actuator of gear n pulls with f = g·ctrl + b₀ + b₁ n q + b₂ n q̇, and the joint feels n f. So a motor's
input is n g·ctrl, and the rest is a spring −n² b₁ and a damper −n² b₂ of the joint: a position or velocity
servo keeps its stiffness and takes its setpoint as a torque. A sum of joints that couplings tie to one of
them is driven there.
"""

from dataclasses import replace
from math import inf
from typing import Any

from .mjcf_equalities import joint_sum
from .robot import Coupled, Drive, Robot, RobotJoint

_ON_JOINT, _IN_PARENT, _, _ON_TENDON = range(4)  # MuJoCo's numbers of transmissions
_FIXED_GAIN, _AFFINE_BIAS, _NO_DYNAMICS = 0, 1, 0


def with_actuators(model: Any, robot: Robot) -> Robot:
    """The robot with motors, springs and dampers of the model's actuators."""
    m = model.m
    joints = {joint.name: joint for joint in robot.joints}
    drives: dict[str, Drive] = {}
    notes = list(robot.notes)
    for k in range(m.nu):
        name = model.named("actuator", k)
        target, ratio = _target(model, robot, k)
        gain, bias = float(m.actuator_gainprm[k][0]), [float(x) for x in m.actuator_biasprm[k][:3]]
        if target is None or m.actuator_gaintype[k] != _FIXED_GAIN or m.actuator_biastype[k] > _AFFINE_BIAS:
            notes.append(f"left out: actuator {name}, which is not affine, or drives no joint of one freedom")
            continue
        if m.actuator_biastype[k] != _AFFINE_BIAS:
            bias = [0.0, 0.0, 0.0]
        if m.actuator_dyntype[k] != _NO_DYNAMICS:
            notes.append(f"left out: the dynamics of actuator {name}, which acts at once")
        joints[target] = _sprung(
            joints[target], ratio * bias[0], -(ratio**2) * bias[1], -(ratio**2) * bias[2]
        )
        if target in drives:
            notes.append(
                f"left out: actuator {name}; joint {target} has the motor {drives[target].name} already"
            )
            continue
        drives[target] = Drive(name, target, _limit(m, k, ratio, gain))
        if ratio * gain != 1.0:
            notes.append(f"read: the input of motor {name} is the torque {ratio * gain:.6g} × ctrl")
    changed = tuple(joints[joint.name] for joint in robot.joints)
    return replace(robot, joints=changed, drives=tuple(drives.values()), notes=tuple(notes))


def _limit(m: Any, k: int, ratio: float, gain: float) -> float:
    """The largest torque, from the ranges of force and control."""
    limit = inf
    if m.actuator_forcelimited[k]:
        limit = abs(ratio) * max(abs(float(x)) for x in m.actuator_forcerange[k])
    if m.actuator_ctrllimited[k]:
        limit = min(limit, abs(ratio * gain) * max(abs(float(x)) for x in m.actuator_ctrlrange[k]))
    return limit or inf


def _target(model: Any, robot: Robot, k: int) -> tuple[str | None, float]:
    """The joint that an actuator drives, and its length per coordinate of it."""
    m, kind, index = model.m, int(model.m.actuator_trntype[k]), int(model.m.actuator_trnid[k][0])
    gear = float(m.actuator_gear[k][0])
    if kind in (_ON_JOINT, _IN_PARENT):
        joint = robot.joint(model.joints[index])
        single = joint is not None and joint.type in ("revolute", "prismatic")
        return (model.joints[index] if single else None), gear
    terms = joint_sum(model, index) if kind == _ON_TENDON else None
    if not terms:
        return None, 0.0
    first = next(iter(terms))
    ratio = 0.0
    for name, c in terms.items():
        slope = 1.0 if name == first else _slope(robot.couplings, name, first)
        if slope is None:
            return None, 0.0
        ratio += c * slope
    return first, gear * ratio


def _slope(couplings: tuple[Coupled, ...], joint: str, other: str) -> float | None:
    """dq/dq_other where a linear coupling ties the two; None where none does."""
    for coupled in couplings:
        if set(coupled.terms) == {joint, other} and all(len(c) == 1 for c in coupled.terms.values()):
            return -coupled.terms[other][0] / coupled.terms[joint][0]
    return None


def _sprung(joint: RobotJoint, push: float, stiffness: float, damping: float) -> RobotJoint:
    """The joint with another spring −k q + push and damper beside its own."""
    total = joint.stiffness + max(stiffness, 0.0)
    rest = (joint.stiffness * joint.rest + push) / total if total else joint.rest
    return replace(joint, stiffness=total, rest=rest, damping=joint.damping + max(damping, 0.0))
