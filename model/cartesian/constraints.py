"""Primitive constraints between two bodies (paper 000, 2.3), each written once.

A primitive is a function of origins r and of vectors v = A v' fixed to bodies (Definition 1).
It says what its residual is and how that changes with each r and v; the Jacobian then follows

- in Cartesian coordinates from Φ_r = ∂Φ/∂r and Φ_p = Σ ∂Φ/∂v K(v', p) (Eqs. 6a, 8),
- in relative coordinates from Φ_q = Σ ∂Φ/∂r Jʳ + Σ ∂Φ/∂v J(v') (Eq. 17, with J of body j_k),

whatever the primitive. Eqs. 19 and 20 are these sums written out; where 19g, 19k and 20 print
s_j^P' the point is Q's, s_j^Q'. All vectors are given in body axes; angles and distances
in radians and metres. The engine's cut joints (`joints/rows.py`) hold the same dot-1, dot-2 and
distance rows for velocities (ω, ṙ) of unit frames; here the coordinates are (r, p), p free.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import cos, hypot
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..joints import euler

Array = np.ndarray
Vector = tuple[float, ...]


class Pose(NamedTuple):
    """Origin r (..., 3), Euler parameters p (..., 4) and A(p) (..., 3, 3) of a body."""

    r: Array
    p: Array
    A: Array


class Part(NamedTuple):
    """∂Φ/∂v of one vector v = A v'. `own` is ∂Φ/∂v in body axes where it is fixed to the same body."""

    by_v: Array  # (..., m, 3)
    v: Vector
    own: Array | None = None


class Side(NamedTuple):
    """How a residual of m rows changes with one body: ∂Φ/∂r, and ∂Φ/∂v of each of its vectors."""

    by_origin: Array  # (..., m, 3)
    parts: tuple[Part, ...]


class Value(NamedTuple):
    residual: Array  # (..., m)
    side1: Side
    side2: Side


def pose(r: Array, p: Array) -> Pose:
    return Pose(np.asarray(r, float), np.asarray(p, float), euler.rotation(p))


def place(pose: Pose, v: Vector) -> Array:
    """A v', (..., 3): a body's vector in world axes."""
    return np.einsum("...ij,j->...i", pose.A, np.asarray(v, float))


@dataclass(frozen=True)
class Dot1:
    """v1·v2 = 0: two directions stay perpendicular (18a)."""

    body1: str
    body2: str
    vector1: Vector
    vector2: Vector
    rows: ClassVar[int] = 1

    def evaluate(self, pose1: Pose, pose2: Pose) -> Value:
        return _product(pose1, self.vector1, pose2, self.vector2, 0.0)


@dataclass(frozen=True)
class Angle:
    """v1·v2 − |v1||v2| cos α = 0: two directions keep an angle (18c, there with unit vectors).

    At α = 0 or π the row has no gradient; ask for two dot-1 rows there.
    """

    body1: str
    body2: str
    vector1: Vector
    vector2: Vector
    angle: float
    rows: ClassVar[int] = 1

    def evaluate(self, pose1: Pose, pose2: Pose) -> Value:
        target = cos(self.angle) * hypot(*self.vector1) * hypot(*self.vector2)
        return _product(pose1, self.vector1, pose2, self.vector2, target)


def _product(pose1: Pose, vector1: Vector, pose2: Pose, vector2: Vector, target: float) -> Value:
    v1, v2 = place(pose1, vector1), place(pose2, vector2)
    zero = np.zeros((1, 3))
    return Value(
        (v1 * v2).sum(-1, keepdims=True) - target,
        Side(zero, (Part(v2[..., None, :], vector1),)),
        Side(zero, (Part(v1[..., None, :], vector2),)),
    )


@dataclass(frozen=True)
class Dot2:
    """v1·d = 0 with d = Q2 − P1: a point stays in a plane of body 1 (18b)."""

    body1: str
    body2: str
    vector1: Vector
    point1: Vector
    point2: Vector
    rows: ClassVar[int] = 1

    def evaluate(self, pose1: Pose, pose2: Pose) -> Value:
        v, d = place(pose1, self.vector1), _between(pose1, self.point1, pose2, self.point2)
        row, own = v[..., None, :], -np.asarray(self.vector1, float)[None]
        return Value(
            (v * d).sum(-1, keepdims=True),
            Side(-row, (Part(d[..., None, :], self.vector1), Part(-row, self.point1, own))),
            Side(row, (Part(row, self.point2),)),
        )


@dataclass(frozen=True)
class Distance:
    """d·d − d0² = 0: two points keep a distance (18d)."""

    body1: str
    body2: str
    point1: Vector
    point2: Vector
    distance: float
    rows: ClassVar[int] = 1

    def evaluate(self, pose1: Pose, pose2: Pose) -> Value:
        d = _between(pose1, self.point1, pose2, self.point2)
        row = 2 * d[..., None, :]
        return Value(
            (d * d).sum(-1, keepdims=True) - self.distance**2,
            Side(-row, (Part(-row, self.point1),)),
            Side(row, (Part(row, self.point2),)),
        )


@dataclass(frozen=True)
class Coincident:
    """d = 0: two points are one, three rows in world axes."""

    body1: str
    body2: str
    point1: Vector
    point2: Vector
    rows: ClassVar[int] = 3

    def evaluate(self, pose1: Pose, pose2: Pose) -> Value:
        one = np.eye(3)
        return Value(
            _between(pose1, self.point1, pose2, self.point2),
            Side(-one, (Part(-one, self.point1),)),
            Side(one, (Part(one, self.point2),)),
        )


Constraint = Dot1 | Angle | Dot2 | Distance | Coincident


def _between(pose1: Pose, point1: Vector, pose2: Pose, point2: Vector) -> Array:
    return pose2.r + place(pose2, point2) - pose1.r - place(pose1, point1)


def exact(side: Side, pose: Pose) -> Array:
    """Φ_p = Σ ∂Φ/∂v K(v', p), (..., m, 4): the derivative by a body's Euler parameters (Eq. 8)."""
    total: Any = 0.0
    for part in side.parts:
        total = total + part.by_v @ euler.derivative(np.asarray(part.v, float), pose.p)
    return np.asarray(total)


def virtual_rotation(side: Side, pose: Pose) -> Array:
    """Peng's −2 Σ ∂Φ/∂v A ṽ' G in place of `exact` (Eqs. 6b, 22), (..., m, 4), for comparison only.

    Right on the tangent pᵀδp = 0 at |p| = 1 and nowhere else, since a virtual rotation takes
    AᵀA = 1 for granted, while Newton's method leaves the sphere in its first step. As in
    Eq. 22, AᵀA is left out where ∂Φ/∂v is fixed to the same body.
    """
    total: Any = 0.0
    for part in side.parts:
        w = part.by_v @ pose.A if part.own is None else part.own
        total = total + np.cross(w, np.asarray(part.v, float))  # wᵀṽ' = (w × v')ᵀ
    return np.asarray(-2 * total @ euler.body_matrix(pose.p))


def relative(side: Side, by_origin: Array, by_vector: Callable[[Vector], Array]) -> Array:
    """A body's share of Φ_q, given Jʳ (3, nq) and J(u) (3, nq) of that body (Eq. 17)."""
    return side.by_origin @ by_origin + sum(part.by_v @ by_vector(part.v) for part in side.parts)
