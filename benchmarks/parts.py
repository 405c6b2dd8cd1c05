"""A mechanism's spanning tree in plain numbers, from which the models of the peers are built.

Every peer gets the same tree, the same inertias and the same cut joints, so that all
contenders compute the same accelerations from the same q, v and u. Peers number a tree branch
after branch, cutjoint level after level; `order_q` and `order_v` take one to the other.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
from scipy.spatial.transform import Rotation

from ..model.base.errors import CutjointError
from ..model.describe.mechanism import GROUND, Frame
from ..model.equations.terms import Equations
from ..model.equations.topology import Link
from ..model.joints.moves import Ball, Slide, Turn
from ..model.simulation import Simulation

Pose: TypeAlias = tuple[np.ndarray, np.ndarray]  # x ↦ R x + p


class Move(NamedTuple):
    """One elementary move of a joint along or about `axis`, and where its numbers are for a peer."""

    kind: str  # "turn", "slide" or "ball"
    axis: np.ndarray
    reverse: bool
    q: slice
    v: slice


@dataclass(frozen=True)
class Part:
    """A body of the tree with the joint that carries it; all in the frame behind the joint.

    `R`, `p`: where the joint starts, seen from the parent part (−1 for ground). `inertia` is
    about the centre of mass.
    """

    name: str
    parent: int
    R: np.ndarray
    p: np.ndarray
    moves: tuple[Move, ...]
    mass: float
    com: np.ndarray
    inertia: np.ndarray


class Cut(NamedTuple):
    """A cut ball: a point of one part meets a point of another."""

    name: str
    i: int
    pi: np.ndarray
    j: int
    pj: np.ndarray


@dataclass(frozen=True)
class Parts:
    """All that a peer's model is built from, parts branch after branch.

    x[order] is a vector of cutjoint's as the peers number it. `motors`: the speed each input
    pushes, and `damping`, both in the peers' numbering.
    """

    name: str
    parts: tuple[Part, ...]
    cuts: tuple[Cut, ...]
    motors: tuple[int, ...]
    damping: np.ndarray
    gravity: np.ndarray
    order_q: np.ndarray
    order_v: np.ndarray


def parts(simulation: Simulation | Equations) -> Parts:
    """The tree of a mechanism with ball cuts and motors on tree joints, in numbers."""
    mechanism, tree = simulation.mechanism, simulation.tree
    if mechanism.struts or mechanism.loads or any(cut.type != "spherical" for cut in tree.cuts):
        raise CutjointError(
            f"'{mechanism.name}' has more than balls to cut and motors; peers take only these"
        )
    index = {GROUND: -1}
    in_part = {GROUND: (np.eye(3), np.zeros(3))}  # each body's own frame in its part's
    found: list[Part] = []
    order_q, order_v = list[int](), list[int]()
    for name in _branch_by_branch(simulation):
        joint, links = mechanism.joint(name), [link for link in tree.links if link.joint == name]
        ends = (joint.parent, _pose(joint.on_parent)), (joint.child, _pose(joint.on_child))
        (inner, start), (outer, end) = ends[::-1] if links[0].reverse else ends
        R, p = in_part[outer] = _inverse(end)
        index[outer] = len(found)
        body = mechanism.body(outer)
        moves = []
        for link in links:
            if link.move:
                moves.append(_move(link, len(order_q), len(order_v)))
                order_q += range(link.q.start, link.q.stop)
                order_v += range(link.v.start, link.v.stop)
        xx, yy, zz, xy, xz, yz = body.inertia
        found.append(
            Part(
                outer,
                index[inner],
                *_compose(in_part[inner], start),
                tuple(moves),
                float(body.mass),
                R @ np.asarray(body.com) + p,
                R @ np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) @ R.T,
            )
        )
    cuts = []
    for joint in tree.cuts:
        pi, pj = (
            _compose(in_part[body], _pose(frame))[1]
            for body, frame in ((joint.parent, joint.on_parent), (joint.child, joint.on_child))
        )
        cuts.append(Cut(joint.name, index[joint.parent], pi, index[joint.child], pj))
    damping = np.zeros(tree.nv)
    for name, where in tree.v.items():
        if mechanism.joint(name).damping:
            damping[where] = mechanism.joint(name).damping
    return Parts(
        mechanism.name,
        tuple(found),
        tuple(cuts),
        tuple(order_v.index(tree.v[motor.joint].start) for motor in mechanism.motors),
        damping[order_v],
        np.asarray(mechanism.gravity, float),
        np.array(order_q),
        np.array(order_v),
    )


def _branch_by_branch(simulation: Simulation | Equations) -> list[str]:
    """The tree's joints so that everything a joint carries comes right behind it."""
    tree = simulation.tree
    joints: list[str] = []

    def visit(index: int) -> None:
        if tree.links[index].first:
            joints.append(tree.links[index].joint)
        for child in tree.children[index]:
            visit(child)

    for index, link in enumerate(tree.links):
        if link.parent < 0:
            visit(index)
    return joints


def _move(link: Link, q: int, v: int) -> Move:
    if isinstance(link.move, Ball):
        return Move("ball", np.zeros(3), link.reverse, slice(q, q + 4), slice(v, v + 3))
    if not isinstance(link.move, Turn | Slide):
        raise CutjointError("screws are not among the joints that all peers have")
    axis = np.zeros(3)
    axis[link.move.axis] = -1.0 if link.reverse else 1.0
    kind = "slide" if link.move.sliding else "turn"
    return Move(kind, axis, link.reverse, slice(q, q + 1), slice(v, v + 1))


def coordinates(all_parts: Parts, q: np.ndarray) -> np.ndarray:
    """Cutjoint's q in the peers' order, Euler parameters (w, x, y, z) those of the outer body."""
    q = np.asarray(q)[all_parts.order_q]
    for where in balls(all_parts, reverse=True):
        q[where] *= (1, -1, -1, -1)
    return q


def back(all_parts: Parts, x: np.ndarray) -> np.ndarray:
    """A peer's vector of speeds or accelerations, or the rows of a matrix, in cutjoint's order."""
    result = np.empty_like(x)
    result[all_parts.order_v] = x
    return result


def ours_of(all_parts: Parts, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A peer's coordinates and speeds as cutjoint has them."""
    q = np.array(q)
    for where in balls(all_parts, reverse=True):
        q[where] *= (1, -1, -1, -1)
    result = np.empty_like(q)
    result[all_parts.order_q] = q
    return result, back(all_parts, v)


def balls(all_parts: Parts, reverse: bool = False) -> list[slice]:
    """Where the peers' q holds Euler parameters, or only those of balls that cutjoint has reversed."""
    moves = [move for part in all_parts.parts for move in part.moves]
    return [move.q for move in moves if move.kind == "ball" and (move.reverse or not reverse)]


def _pose(frame: Frame) -> Pose:
    w, x, y, z = frame.orientation
    return Rotation.from_quat([x, y, z, w]).as_matrix(), np.asarray(frame.position, float)


def _inverse(pose: Pose) -> Pose:
    return pose[0].T, -pose[0].T @ pose[1]


def _compose(a: Pose, b: Pose) -> Pose:
    return a[0] @ b[0], a[0] @ b[1] + a[1]


def quaternion(R: np.ndarray) -> np.ndarray:
    """(w, x, y, z) of a rotation matrix."""
    x, y, z, w = Rotation.from_matrix(R).as_quat()
    return np.array([w, x, y, z])


def motions(
    all_parts: Parts, q: np.ndarray, v: np.ndarray
) -> list[tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]]:
    """(R, p, ω, v) of every part's frame in the world, for peers that know bodies only."""
    q, v = coordinates(all_parts, q), np.asarray(v)[all_parts.order_v]
    ground = np.eye(3), np.zeros(3), np.zeros(3), np.zeros(3)
    found: list[tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]] = []
    for part in all_parts.parts:
        R, p, spin, speed = found[part.parent] if part.parent >= 0 else ground
        speed = speed + np.cross(spin, R @ part.p)
        R, p = _compose((R, p), (part.R, part.p))
        for move in part.moves:
            if move.kind == "slide":
                way = R @ move.axis
                p, speed = p + way * q[move.q], speed + np.cross(spin, way * q[move.q]) + way * v[move.v]
            elif move.kind == "turn":
                spin = spin + R @ move.axis * v[move.v]
                R = R @ Rotation.from_rotvec(move.axis * q[move.q]).as_matrix()
            else:
                w, x, y, z = q[move.q]
                R = R @ Rotation.from_quat([x, y, z, w]).as_matrix()
                spin = spin + R @ v[move.v]
        found.append((R, p, spin, speed))
    return found
