"""Loops that hold more than they need to, whose files have too few digits: joints move until the loops fit.

Three parallel links must be equally long; written with six digits they are not, and strictly nothing moves.
We look for the least displacements δ of the joints' frames with which all loops of a group close in several
poses q₁, q₂, … of its motion: g(qₖ, δ) = 0. A step solves, with Uₖ the left null space of ∂g/∂q at qₖ, whose
small singular values are what rounding left,

    Uₖᵀ (∂g/∂δ δ + g) = 0 for all k,  δ of least norm,

and brings each qₖ back by the other singular values. Poses that took no part check the result.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy.spatial.transform import Rotation

from ..base.thresholds import CLOSED, MEND_POSES, MEND_REACH, MEND_TRIES, OPEN, ROUND_OFF, ROUNDED_LOOP
from ..urdf.placement import HERE, PlacedFrame, point_at, turned_about_z
from .loop_tolerance import loop_path, spanning_tree
from .robot import Robot, RobotJoint

_HELD = {"spherical": 3, "revolute": 5, "fixed": 6}  # closing joints -> rows


class _Loop(NamedTuple):
    closing: RobotJoint
    ways: tuple[list[RobotJoint], list[RobotJoint]]  # to parent and child, from the link they share outwards


class _Group(NamedTuple):
    """Loops that share joints."""

    loops: list[_Loop]
    joints: list[RobotJoint]  # those of the tree
    above: dict[str, tuple[RobotJoint, str]]


def mend_rounded_loops(robot: Robot) -> Robot:
    """The robot with frames of joints moved where rounded numbers would keep its loops open."""
    for group in _groups(robot):
        q = np.array([joint.start[0] if joint.start else 0.0 for joint in group.joints])
        still = np.zeros((len(group.joints) + len(group.loops), 6))
        q = _closest(group, still, q, 0.0)
        gap = float(np.abs(_closure(group, still, q)[0]).max())
        if not OPEN < gap < ROUNDED_LOOP:
            continue
        fits = (_fitted(group, q, gap, parts) for parts in (3, 6))  # turns only where slides do not do
        moved = next((fit for fit in fits if fit is not None), None)
        if moved is None:
            continue
        names = [*(j.name for j in group.joints), *(loop.closing.name for loop in group.loops)]
        by = dict(zip(names, moved, strict=True))
        joints = tuple(
            replace(j, on_child=j.on_child @ _small(by[j.name])) if j.name in by else j for j in robot.joints
        )
        words = ", ".join(loop.closing.name for loop in group.loops)
        told = f"mended: rounded numbers leave the loops of {words} open by {gap:.1e} m or rad; "
        told += f"joints have moved by {np.abs(moved).max():.1e} at most, and close them"
        robot = replace(robot, joints=joints, notes=(*robot.notes, told))
    return robot


def _groups(robot: Robot) -> Iterator[_Group]:
    """Loops of hinges and slides, those together that share a joint."""
    place, above = spanning_tree(robot)
    left = []
    for closing in (joint for joint in robot.joints if joint.closes):
        if closing.parent in place and closing.child in place:
            ends = [loop_path(above, end) for end in (closing.parent, closing.child)]
            shared = {joint.name for joint in ends[0]} & {joint.name for joint in ends[1]}
            ways = [[j for j in end[::-1] if j.name not in shared] for end in ends]
            left.append(_Loop(closing, (ways[0], ways[1])))
    while left:
        loops = [left.pop(0)]
        for loop in loops:  # grows while it is walked through
            names = {j.name for way in loop.ways for j in way}
            near = [o for o in left if names & {j.name for way in o.ways for j in way}]
            loops += near
            left = [o for o in left if o not in near]
        joints = list({j.name: j for loop in loops for way in loop.ways for j in way}.values())
        plain = all(j.type in ("revolute", "prismatic") for j in joints)
        if joints and plain and all(loop.closing.type in _HELD for loop in loops):
            yield _Group(loops, joints, above)


# -- where everything is ------------------------------------------------------------------------------


def _small(d: np.ndarray) -> PlacedFrame:
    return PlacedFrame(Rotation.from_rotvec(d[3:]).as_matrix(), d[:3])


def _closure(group: _Group, moved: np.ndarray, q: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """g, ∂g/∂q and ∂g/∂δ; slopes as they are in poses that are nearly closed."""
    at = {joint.name: k for k, joint in enumerate(group.joints)}
    g, by_q, by_frames = [], [], []
    for n, loop in enumerate(group.loops, len(at)):
        ends, screws = [], []
        sides = loop.closing.on_parent, loop.closing.on_child @ _small(moved[n])
        for way, side, sign in zip(loop.ways, sides, (-1.0, 1.0), strict=True):
            here = HERE
            for joint in way:
                k = at[joint.name]
                near, far = joint.on_parent, joint.on_child @ _small(moved[k])
                move = turned_about_z(q[k]) if joint.type == "revolute" else point_at((0.0, 0.0, q[k]))
                outward = group.above[joint.child][0] is joint if joint.child in group.above else False
                here = here @ (near @ move if outward else far)
                screws.append((k, here, sign if outward else -sign))
                here = here @ (far.inverse if outward else move.inverse @ near.inverse)
            ends.append(here @ side)
        rows = _HELD[loop.closing.type]
        a, c = ends
        turned = Rotation.from_matrix(a.R.T @ c.R).as_rotvec() if rows == 6 else a.R.T @ c.R[:, 2]
        g.append([*(a.R.T @ (c.p - a.p)), *turned][:rows])
        q_block, frame_block = np.zeros((rows, len(q))), np.zeros((rows, moved.size))
        for k, frame, sign in screws:
            block = sign * _twist(a, c, frame, rows)
            q_block[:, k] += block[:, 5 if group.joints[k].type == "revolute" else 2]
            frame_block[:, 6 * k : 6 * k + 6] -= block
        frame_block[:, 6 * n : 6 * n + 6] += _twist(a, c, c, rows)
        by_q.append(q_block)
        by_frames.append(frame_block)
    return np.concatenate(g), np.vstack(by_q), np.vstack(by_frames)


def _twist(a: PlacedFrame, c: PlacedFrame, frame: PlacedFrame, rows: int) -> np.ndarray:
    """What small slides along and turns about a frame's axes do to a closing joint's rows, by its frame c."""
    x, y, z = c.p - frame.p
    arm = np.array([[0.0, z, -y], [-z, 0.0, x], [y, -x, 0.0]])  # arm ω = ω × (c − frame)
    u, v, w = c.R[:, 2]
    tilt = np.array([[0.0, w, -v], [-w, 0.0, u], [v, -u, 0.0]])
    turn = np.eye(3) if rows == 6 else tilt
    found = np.block([[frame.R, arm @ frame.R], [np.zeros((3, 3)), turn @ frame.R]])
    return np.vstack([a.R.T @ found[:3], a.R.T @ found[3:]])[:rows]


def _split(J: np.ndarray, gap: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A pseudo-inverse without what rounding left, the left null space, and the null space."""
    U, s, Vt = np.linalg.svd(J)
    rank = int((s > _noise(gap) * s.max(initial=0.0)).sum())
    inverse = Vt[:rank].T @ np.diag(1 / s[:rank]) @ U[:, :rank].T
    return inverse, U[:, rank:], Vt[rank:].T


def _noise(gap: float) -> float:
    """Singular values below this part of the largest are rounding's: half way from the gap to one."""
    return float(max(gap, ROUND_OFF) ** 0.5)


# -- solving ------------------------------------------------------------------------------------------


def _closest(group: _Group, moved: np.ndarray, q: np.ndarray, gap: float) -> np.ndarray:
    """The pose near q in which the loops are as nearly closed as they can be."""
    for _ in range(MEND_TRIES):
        g, J, _ = _closure(group, moved, q)
        step = _split(J, gap)[0] @ g
        q = q - step / max(1.0, float(np.abs(step).max()) / MEND_REACH)
        if np.abs(step).max() < CLOSED:
            break
    return q


def _fitted(group: _Group, q: np.ndarray, gap: float, parts: int) -> np.ndarray | None:
    """Displacements of all frames with which the loops close along their motion; None if there are none.

    `parts` 3 lets frames slide, 6 turn too.
    """
    moved = np.zeros((len(group.joints) + len(group.loops), 6))
    free = _split(_closure(group, moved, q)[1], gap)[2]
    random = np.random.default_rng(0)
    around = [
        q + free @ random.uniform(-MEND_REACH, MEND_REACH, free.shape[1]) for _ in range(2 * MEND_POSES)
    ]
    poses = [q, *around[:MEND_POSES]]
    for _ in range(MEND_TRIES):
        poses = [_closest(group, moved, pose, gap) for pose in poses]
        rows, wanted = [], []
        for pose in poses:
            g, J, by_frames = _closure(group, moved, pose)
            contradiction = _split(J, gap)[1].T
            rows.append(contradiction @ by_frames)
            wanted.append(-contradiction @ g)
        if max(float(np.abs(w).max(initial=0.0)) for w in wanted) < 0.1 * CLOSED:
            break
        columns = np.vstack(rows).reshape(-1, *moved.shape)[:, :, :parts]
        step = np.linalg.lstsq(columns.reshape(len(columns), -1), np.concatenate(wanted), rcond=ROUND_OFF)[0]
        moved[:, :parts] += step.reshape(-1, parts)
    left = [_closure(group, moved, _closest(group, moved, pose, gap))[0] for pose in (*poses, *around)]
    good = max(float(np.abs(g).max()) for g in left) < ROUND_OFF and np.abs(moved).max() < ROUNDED_LOOP
    return moved if good else None
