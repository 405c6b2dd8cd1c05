"""Primitive constraints between two bodies (paper 000, 2.3), each written once.

A primitive is a function of origins r and of vectors v = A v' fixed to bodies (Definition 1).
It says what its residual is and how that changes with each r and v; the Jacobian then follows

- in Cartesian coordinates from Φ_r = ∂Φ/∂r and Φ_p = Σ ∂Φ/∂v K(v', p) (Eqs. 6a, 8),
- in relative coordinates from Φ_q = Σ ∂Φ/∂r Jʳ + Σ ∂Φ/∂v J(v') (Eq. 17, `tests/support/liu_relative.py`),

whatever the primitive. Eqs. 19 and 20 are these sums written out; where 19g, 19k and 20 print
s_j^P' the point is Q's, s_j^Q'. All vectors are given in body axes; angles and distances
in radians and metres. The engine's cut joints (`joints/rows.py`) hold the same dot-1, dot-2 and
distance rows for velocities (ω, ṙ) of unit frames; here the coordinates are (r, p), p free.
"""

from dataclasses import dataclass
from math import cos, hypot
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..joints import euler

Array = np.ndarray
Vector = tuple[float, ...]


class BodyPose(NamedTuple):
    """Origin r (..., 3), Euler parameters p (..., 4) and A(p) (..., 3, 3) of a body."""

    r: Array
    p: Array
    A: Array

    def vector(self, local: Vector) -> Array:
        """A v', (..., 3): a body's vector in world axes."""
        return np.einsum("...ij,j->...i", self.A, np.asarray(local, float))


def body_pose(r: Array, p: Array) -> BodyPose:
    return BodyPose(np.asarray(r, float), np.asarray(p, float), euler.rotation(p))


class VectorSlope(NamedTuple):
    """∂Φ/∂v of one vector v = A v'. `own` is ∂Φ/∂v in body axes where it is fixed to the same body."""

    slope: Array  # (..., m, 3)
    local: Vector
    own: Array | None = None


class Side(NamedTuple):
    """How a residual of m rows changes with one body: ∂Φ/∂r, and ∂Φ/∂v of each of its vectors."""

    by_origin: Array  # (..., m, 3)
    vectors: tuple[VectorSlope, ...]


class Value(NamedTuple):
    residual: Array  # (..., m)
    side1: Side
    side2: Side


@dataclass(frozen=True)
class _Between:
    """What all primitives have: two bodies, and one row unless they say otherwise."""

    body1: str  # name of the first body
    body2: str  # name of the second body
    rows: ClassVar[int] = 1


@dataclass(frozen=True)
class Dot1(_Between):
    """v1·v2 = 0: two directions stay perpendicular (18a)."""

    vector1: Vector  # in axes of body 1
    vector2: Vector  # in axes of body 2

    def evaluate(self, pose1: BodyPose, pose2: BodyPose) -> Value:
        """Φ at two poses, and its derivatives on both sides."""
        return self._product(pose1, pose2, 0.0)

    def _product(self, pose1: BodyPose, pose2: BodyPose, target: float) -> Value:
        v1, v2 = pose1.vector(self.vector1), pose2.vector(self.vector2)
        return Value(
            (v1 * v2).sum(-1, keepdims=True) - target,
            Side(np.zeros((1, 3)), (VectorSlope(v2[..., None, :], self.vector1),)),
            Side(np.zeros((1, 3)), (VectorSlope(v1[..., None, :], self.vector2),)),
        )


@dataclass(frozen=True)
class Angle(Dot1):
    """v1·v2 − |v1||v2| cos α = 0: two directions keep an angle (18c, there with unit vectors).

    At α = 0 or π the row has no gradient; ask for two dot-1 rows there.
    """

    angle: float  # radians

    def evaluate(self, pose1: BodyPose, pose2: BodyPose) -> Value:
        """Φ at two poses, and its derivatives on both sides."""
        return self._product(pose1, pose2, cos(self.angle) * hypot(*self.vector1) * hypot(*self.vector2))


@dataclass(frozen=True)
class Dot2(_Between):
    """v1·d = 0 with d = Q2 − P1: a point stays in a plane of body 1 (18b)."""

    vector1: Vector  # in axes of body 1
    point1: Vector  # of body 1, metres
    point2: Vector  # of body 2, metres

    def evaluate(self, pose1: BodyPose, pose2: BodyPose) -> Value:
        """Φ at two poses, and its derivatives on both sides."""
        v, d = pose1.vector(self.vector1), _between(pose1, self.point1, pose2, self.point2)
        row, own = v[..., None, :], -np.asarray(self.vector1, float)[None]
        product, (side1, side2) = (v * d).sum(-1, keepdims=True), _along(row, self.point1, self.point2, own)
        turned = VectorSlope(d[..., None, :], self.vector1)
        return Value(product, Side(side1.by_origin, (turned, *side1.vectors)), side2)


@dataclass(frozen=True)
class Distance(_Between):
    """d·d − d0² = 0: two points keep a distance (18d)."""

    point1: Vector  # of body 1, metres
    point2: Vector  # of body 2, metres
    distance: float  # metres

    def evaluate(self, pose1: BodyPose, pose2: BodyPose) -> Value:
        """Φ at two poses, and its derivatives on both sides."""
        d = _between(pose1, self.point1, pose2, self.point2)
        square = (d * d).sum(-1, keepdims=True) - self.distance**2
        return Value(square, *_along(2 * d[..., None, :], self.point1, self.point2))


@dataclass(frozen=True)
class Coincident(_Between):
    """d = 0: two points are one, three rows in world axes."""

    point1: Vector  # of body 1, metres
    point2: Vector  # of body 2, metres
    rows = 3

    def evaluate(self, pose1: BodyPose, pose2: BodyPose) -> Value:
        """Φ at two poses, and its derivatives on both sides."""
        d = _between(pose1, self.point1, pose2, self.point2)
        return Value(d, *_along(np.eye(3), self.point1, self.point2))


Constraint = Dot1 | Angle | Dot2 | Distance | Coincident


def _between(pose1: BodyPose, point1: Vector, pose2: BodyPose, point2: Vector) -> Array:
    return pose2.r + pose2.vector(point2) - pose1.r - pose1.vector(point1)


def _along(slope: Array, point1: Vector, point2: Vector, own: Array | None = None) -> tuple[Side, Side]:
    """Both sides of rows whose derivative by d = Q2 − P1 is `slope`."""
    return (
        Side(-slope, (VectorSlope(-slope, point1, own),)),
        Side(slope, (VectorSlope(slope, point2),)),
    )


def exact(side: Side, pose: BodyPose) -> Array:
    """Φ_p = Σ ∂Φ/∂v K(v', p), (..., m, 4): the derivative by a body's Euler parameters (Eq. 8)."""
    total: Any = 0.0
    for vector in side.vectors:
        total = total + vector.slope @ euler.derivative(np.asarray(vector.local, float), pose.p)
    return np.asarray(total)


def virtual_rotation(side: Side, pose: BodyPose) -> Array:
    """Peng's −2 Σ ∂Φ/∂v A ṽ' G in place of `exact` (Eqs. 6b, 22), (..., m, 4), for comparison only.

    Right on the tangent pᵀδp = 0 at |p| = 1 and nowhere else, since a virtual rotation takes
    AᵀA = 1 for granted, while Newton's method leaves the sphere in its first step. As in
    Eq. 22, AᵀA is left out where ∂Φ/∂v is fixed to the same body.
    """
    total: Any = 0.0
    for vector in side.vectors:
        w = vector.slope @ pose.A if vector.own is None else vector.own
        total = total + np.cross(w, np.asarray(vector.local, float))  # wᵀṽ' = (w × v')ᵀ
    return np.asarray(-2 * total @ euler.body_matrix(pose.p))
