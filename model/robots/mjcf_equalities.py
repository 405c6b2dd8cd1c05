"""MuJoCo's equalities: what connects bodies closes a loop, what ties joints or tendons is a coupling.

They are soft in MuJoCo and exact here. Two points that are kept together at two places of a line are a hinge
about it, at three places that are not on a line a rigid connection.
"""

from collections.abc import Iterator
from math import comb
from typing import Any

import numpy as np

from ..base.thresholds import MEETS
from ..urdf.placement import PlacedFrame, along, point_at, quaternion
from .robot import Coupled, RobotJoint

CONNECT, WELD, JOINT, TENDON = range(4)  # MuJoCo's numbers of equalities
_OF_JOINT = 1  # and of what a tendon wraps around when it is a sum of joints


def _active(model: Any, kinds: tuple[int, ...]) -> Iterator[tuple[int, str]]:
    for k in range(model.m.neq):
        if model.m.eq_type[k] in kinds and model.m.eq_active0[k]:
            yield k, model.named("equality", k)


def loops(model: Any, taken: set[str], notes: list[str]) -> list[RobotJoint]:
    """Connections of bodies as joints."""
    m = model.m
    found: list[RobotJoint] = []
    points: dict[tuple[int, int], list[tuple[str, np.ndarray, np.ndarray]]] = {}
    for k, name in _active(model, (CONNECT, WELD)):
        name = f"{name}_loop" if name in taken else name
        data, ends = m.eq_data[k], (int(m.eq_obj1id[k]), int(m.eq_obj2id[k]))
        by_site = m.eq_objtype[k] == model.mujoco.mjtObj.mjOBJ_SITE
        if by_site:
            sites = [quaternion(m.site_pos[s], m.site_quat[s]) for s in ends]
            ends = (int(m.site_bodyid[ends[0]]), int(m.site_bodyid[ends[1]]))
        if m.eq_type[k] == CONNECT:
            anchors = (sites[0].p, sites[1].p) if by_site else (data[0:3].copy(), data[3:6].copy())
            points.setdefault(ends, []).append((name, *anchors))
            continue
        frames = sites if by_site else [quaternion(data[3:6], data[6:10]), point_at(data[0:3])]
        found.append(_joint(model, name, "fixed", ends, frames[0], frames[1]))
    for ends, group in points.items():
        found += _held(model, ends, group, notes)
    for k in range(m.neq):
        if not m.eq_active0[k]:
            notes.append(f"left out: equality {model.named('equality', k)}, which is not active")
        elif m.eq_type[k] > TENDON:
            notes.append(f"left out: equality {model.named('equality', k)} of a kind without a joint")
    return found


def _joint(
    model: Any, name: str, kind: str, ends: tuple[int, ...], a: PlacedFrame, b: PlacedFrame
) -> RobotJoint:
    return RobotJoint(name, kind, model.bodies[ends[0]], model.bodies[ends[1]], a, b, closes=True)


def _held(
    model: Any, ends: tuple[int, ...], group: list[tuple[str, np.ndarray, np.ndarray]], notes: list[str]
) -> list[RobotJoint]:
    """Points of two bodies that are kept together: balls, one hinge, or one rigid connection."""
    name, a0, b0 = group[0]
    spans = [(a - a0, b - b0) for _, a, b in group[1:]]
    fit = all(abs(np.linalg.norm(a) - np.linalg.norm(b)) < MEETS < np.linalg.norm(a) for a, b in spans)
    if not spans or not fit:
        return [_joint(model, n, "spherical", ends, point_at(a), point_at(b)) for n, a, b in group]
    words = ", ".join(n for n, _, _ in group)
    (za, zb), *others = spans
    side = next(
        ((a, b) for a, b in others if np.linalg.norm(np.cross(za, a)) > MEETS * np.linalg.norm(za)), None
    )
    if side is not None:
        notes.append(f"merged: the connections {words} are rigid together")
        turned = along(za, side[0]), along(zb, side[1])
        return [_joint(model, name, "fixed", ends, point_at(a0) @ turned[0], point_at(b0) @ turned[1])]
    notes.append(f"merged: the connections {words} are one hinge {name}")
    turned_a = along(za)
    d = model.mujoco.MjData(model.m)
    model.mujoco.mj_kinematics(model.m, d)
    Ra, Rb = (d.xmat[e].reshape(3, 3) for e in ends)
    turned_b = along(zb, Rb.T @ Ra @ turned_a.R[:, 0])  # together at the pose as drawn
    return [_joint(model, name, "revolute", ends, point_at(a0) @ turned_a, point_at(b0) @ turned_b)]


# -- couplings ------------------------------------------------------------------------------------


def couplings(model: Any, notes: list[str]) -> list[Coupled]:
    """Polynomials between joints, and between sums of joints where they are linear."""
    m, found = model.m, []
    for k, name in _active(model, (JOINT,)):
        first, second = (int(x[k]) for x in (m.eq_obj1id, m.eq_obj2id))
        q1 = float(m.qpos0[m.jnt_qposadr[first]])
        q2 = float(m.qpos0[m.jnt_qposadr[second]]) if second >= 0 else 0.0
        constant, *rest = shift_polynomial([float(c) for c in m.eq_data[k][:5]], q2)
        terms: dict[str, tuple[float, ...]] = {model.joints[first]: (1.0,)}
        if second >= 0 and any(rest):
            terms[model.joints[second]] = tuple(-c for c in rest)
        found.append(Coupled(name, terms, -(q1 + constant)))
    for k, name in _active(model, (TENDON,)):
        first, second = (int(x[k]) for x in (m.eq_obj1id, m.eq_obj2id))
        c0, c1, *curved = (float(c) for c in m.eq_data[k][:5])
        sums = [joint_sum(model, t) for t in (first, second) if t >= 0]
        if None in sums or (second >= 0 and any(curved)):
            notes.append(f"left out: equality {name} of tendons that are no sums of joints, or not linear")
            continue
        terms = {}
        offset = -float(m.tendon_length0[first]) - c0
        for joint, c in (sums[0] or {}).items():
            terms[joint] = (c,)
        if second >= 0:
            offset += c1 * float(m.tendon_length0[second])
            for joint, c in (sums[1] or {}).items():
                terms[joint] = (terms.get(joint, (0.0,))[0] - c1 * c,)
        found.append(Coupled(name, terms, offset))
    return found


def shift_polynomial(c: list[float], by: float) -> list[float]:
    """Coefficients of Σ cₖ (x − by)ᵏ in powers of x."""
    result = [0.0] * len(c)
    for k, ck in enumerate(c):
        for n in range(k + 1):
            result[n] += ck * comb(k, n) * (-by) ** (k - n)
    while len(result) > 2 and not result[-1]:
        result.pop()
    return result


def joint_sum(model: Any, tendon: int) -> dict[str, float] | None:
    """Coefficients of the joints whose sum a fixed tendon is; None for one that runs through space."""
    m = model.m
    parts = range(m.tendon_adr[tendon], m.tendon_adr[tendon] + m.tendon_num[tendon])
    if any(m.wrap_type[w] != _OF_JOINT for w in parts):
        return None
    return {model.joints[m.wrap_objid[w]]: float(m.wrap_prm[w]) for w in parts}
