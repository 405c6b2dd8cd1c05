"""Twists, wrenches and inertias over CasADi symbols (paper 004, A.1, corrected).

Twists are V = (ω, v) and wrenches F = (m, f), both 6-vectors, angular part first, in the
axes and at the origin of one frame (body-fixed). Rigid motions are in `joints/rigid_motion.py`.
"""

from dataclasses import replace
from typing import Any, NamedTuple

import casadi as ca

from ..base.thresholds import SNAP
from ..describe.mechanism import Body, Mechanism
from ..joints.rigid_motion import Pose, vector


class SpatialInertia(NamedTuple):
    """Ten numbers of a rigid body in a frame: mass, first moment m·c, inertia about the origin."""

    m: Any
    h: Any
    I: Any  # noqa: E741  the paper's symbol


def to_child(f: Pose, V: Any) -> Any:
    """Ad_{f⁻¹} V: a twist of the parent frame seen from the child frame."""
    w, v = V[:3], V[3:]
    return ca.vertcat(f.R.T @ w, f.R.T @ (v - ca.cross(f.p, w)))


def to_parent(f: Pose, F: Any) -> Any:
    """Ad*_{f⁻¹} F: a wrench of the child frame seen from the parent frame."""
    n = f.R @ F[3:]
    return ca.vertcat(f.R @ F[:3] + ca.cross(f.p, n), n)


def inertia_times(inertia: SpatialInertia, V: Any) -> Any:
    """I V = (I ω + h×v, m v − h×ω)."""
    w, v = V[:3], V[3:]
    return ca.vertcat(inertia.I @ w + ca.cross(inertia.h, v), inertia.m * v - ca.cross(inertia.h, w))


def turning_rate(w: Any, dw: Any) -> Any:
    """N = ω̇× + ω×ω×, 3 × 3: a point s of a turning body accelerates by N s more than its origin."""
    xx, yy, zz = w[0] ** 2, w[1] ** 2, w[2] ** 2
    xy, xz, yz = w[0] * w[1], w[0] * w[2], w[1] * w[2]
    return ca.vertcat(
        ca.horzcat(-(yy + zz), xy - dw[2], xz + dw[1]),
        ca.horzcat(xy + dw[2], -(xx + zz), yz - dw[0]),
        ca.horzcat(xz - dw[1], yz + dw[0], -(xx + yy)),
    )


def inertial_wrench(inertia: SpatialInertia, a: Any, N: Any) -> Any:
    """What a body needs to accelerate so, I V̇ − ad*_V I V: Σ m x × (a + N x), Σ m (a + N x) of its points x.

    With P = Σ m x xᵀ = ½ tr(I) 1 − I, the moment of N x is the difference of N P and its transpose.
    """
    I, h = inertia.I, inertia.h  # noqa: E741
    P = 0.5 * ca.trace(I) * ca.SX.eye(3) - I
    moment = ca.vertcat(
        *(
            N[k, j] * P[j, j]
            - N[j, k] * P[k, k]
            + (N[k, k] - N[j, j]) * P[j, k]
            + N[k, i] * P[i, j]
            - N[j, i] * P[i, k]
            for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1))
        )
    )
    return ca.vertcat(moment + ca.cross(h, a), inertia.m * a + N @ h)


def symmetric(six: Any) -> Any:
    """3×3 matrix of (xx, yy, zz, xy, xz, yz)."""
    s = vector(six)
    return ca.vertcat(
        ca.horzcat(s[0], s[3], s[4]), ca.horzcat(s[3], s[1], s[5]), ca.horzcat(s[4], s[5], s[2])
    )


def rotate_inertia(R: Any, A: Any) -> Any:
    """R A Rᵀ of a symmetric A; the lower half is copied, so it costs nothing."""
    T = R @ A
    B = ca.SX.zeros(3, 3)
    for i in range(3):
        for j in range(i, 3):
            B[i, j] = B[j, i] = ca.dot(T[i, :], R[j, :])
    return B


def shift(f: Pose, inertia: SpatialInertia) -> SpatialInertia:
    """Ad*_{f⁻¹} I Ad_{f⁻¹}: the inertia of a child frame about the parent frame.

    With h' = R h and p: I' = R I Rᵀ − (p̃ h̃' + h̃' p̃) − m p̃ p̃.
    """
    m, p = inertia.m, f.p
    h = f.R @ inertia.h
    moment = h + m * p
    # −(p̃ h̃' + h̃' p̃ + m p̃p̃) = sym(2 p·h' + m p·p) 1 − (p h'ᵀ + h' pᵀ + m p pᵀ)
    k = h + 0.5 * m * p
    outer = p @ k.T
    I = rotate_inertia(f.R, inertia.I) + 2 * ca.dot(p, k) * ca.SX.eye(3) - outer - outer.T  # noqa: E741
    return SpatialInertia(m, moment, I)


def body_inertia(body: Any) -> SpatialInertia:
    """The ten numbers of a described body in its own frame (inertia moved from the COM)."""
    point = at_point(ca.SX(body.mass), vector(body.com))
    return point._replace(I=symmetric(body.inertia) + point.I)


def without_round_off(inertia: SpatialInertia) -> SpatialInertia:
    """The same; constants that are round-off beside the others are zero, and take no operations."""
    m, h, I = (ca.SX(x) for x in inertia)  # noqa: E741
    if not (m.is_constant() and h.is_constant() and I.is_constant()):
        return inertia
    size = float(ca.mmax(ca.fabs(ca.DM(I))))
    return SpatialInertia(inertia.m, _large(h, ca.sqrt(size * ca.DM(m))), _large(I, size))


def _large(x: Any, size: Any) -> Any:
    values = ca.DM(x)
    return ca.SX(values * (ca.fabs(values) > SNAP * size))


def at_point(m: Any, c: Any) -> SpatialInertia:
    """A mass at a point."""
    return SpatialInertia(m, m * c, m * (ca.dot(c, c) * ca.SX.eye(3) - c @ c.T))


def lump_point_masses(mechanism: Mechanism) -> Mechanism:
    """The same mechanism with its point masses made part of their bodies; numbers stay numbers."""
    bodies = []
    for body in mechanism.bodies:
        total = body_inertia(body)
        carried = [x for x in mechanism.point_masses if x.body == body.name]
        for x in carried:
            total = add(total, body_inertia(Body(x.name, x.mass, x.point)))
        if carried:
            c = total.h / total.m
            I = total.I - total.m * (ca.dot(c, c) * ca.SX.eye(3) - c @ c.T)  # noqa: E741
            six = ca.vertcat(I[0, 0], I[1, 1], I[2, 2], I[0, 1], I[0, 2], I[1, 2])
            body = replace(body, mass=_plain(total.m)[0], com=_plain(c), inertia=_plain(six))
        bodies.append(body)
    return replace(mechanism, bodies=tuple(bodies), point_masses=())


def _plain(x: Any) -> Any:
    """Numbers as a tuple, symbols as they are."""
    return tuple(float(value) for value in ca.vertsplit(x)) if x.is_constant() else x


def add(a: SpatialInertia, b: SpatialInertia) -> SpatialInertia:
    return SpatialInertia(a.m + b.m, a.h + b.h, a.I + b.I)
