"""Struts between two points of bodies: where they are, how they move, and the row that drives a cylinder.

With d from the first end to the second, L = |d| and n = d/L,

    L̇ = n·ḋ,     L̈ = n·d̈ + (ḋ·ḋ − L̇²)/L,

so a cylinder whose length follows s(t) is the row 0 = g = L − s, with n times the motion of its ends as
slopes, and its force on them, along n, is −λ (`motion_drives.py`).
"""

from typing import Any, NamedTuple

import casadi as ca

from ..base.thresholds import NO_LENGTH
from ..describe.mechanism import Strut, find
from ..joints.rigid_motion import vector
from .couplings import Tie
from .kinematics import Model, Motion, columns, point_motion


class StrutEnd(NamedTuple):
    """Link, place, velocity and acceleration of an end, world axes; ground accelerates by −g."""

    link: int
    r: Any
    v: Any
    dv: Any


class StrutMotion(NamedTuple):
    """The ends; direction from first to second, length, its rate."""

    ends: tuple[StrutEnd, StrutEnd]
    direction: Any
    length: Any
    rate: Any


def body_point(model: Model, motion: Motion, body: str, point: Any) -> StrutEnd:
    """A body's point."""
    link, local = model.tree.holder[body], model.in_link[body]
    return StrutEnd(link, *point_motion(model, motion, link, local.R @ vector(point) + local.p))


def strut_motion(model: Model, motion: Motion, strut: Strut) -> StrutMotion:
    """How a strut lies and moves."""
    first, second = (
        body_point(model, motion, body, point)
        for body, point in ((strut.body1, strut.point1), (strut.body2, strut.point2))
    )
    d = second.r - first.r
    length = ca.sqrt(ca.sumsqr(d) + NO_LENGTH)
    direction = d / length
    return StrutMotion((first, second), direction, length, ca.dot(direction, second.v - first.v))


def length_tie(model: Model, motion: Motion, name: str, s: Any, ds: Any, dds: Any) -> Tie:
    """The row that keeps the length of a cylinder at s, with g̈ at the motion's accelerations."""
    # what the tree has may be numeric; take the model's own, which may hold symbols
    ends, n, length, rate = strut_motion(model, motion, find(model.mechanism.struts, name, "cylinder"))
    tree, slopes = model.tree, dict[int, Any]()
    shared = tree.path(tree.common(ends[0].link, ends[1].link))
    for sign, end in zip((-1, 1), ends, strict=True):
        path = [k for k in tree.path(end.link) if k not in shared]
        for k, w, v, point in columns(model, motion.X, path):
            slopes[k] = slopes.get(k, 0) + sign * ca.dot(n, ca.cross(w, end.r - point) + v)
    d, dd = ends[1].v - ends[0].v, ends[1].dv - ends[0].dv
    acceleration = ca.dot(n, dd) + (ca.dot(d, d) - rate**2) / length - dds
    return Tie(length - s, slopes, acceleration, -ds)
