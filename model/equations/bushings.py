"""Elastic connections of two frames: springs and dampers along and about three axes."""

from typing import Any, NamedTuple

import casadi as ca

from ..describe.mechanism import Bushing, Frame, find
from ..joints.rigid_motion import vector
from .kinematics import Model, Motion, carried, frame_in_link, turning


class BushingForce(NamedTuple):
    """Force at a world point and torque on what holds the second frame; the other side feels the opposite."""

    ends: list[tuple[int, Any]]  # link and world axes of each frame
    at: Any
    force: Any
    torque: Any
    potential: Any
    dissipated: Any


def bushing_force(model: Model, motion: Motion, bushing: Bushing) -> BushingForce:
    """Forces that follow from the energy V = ½ Σ kᵢ dᵢ² + 2 Σ κᵢ eᵢ², and from dampers.

    d = R₁ᵀ(r₂ − r₁), and e is the vector part of the Euler parameters of R = R₁ᵀR₂, of which only products
    occur: 4 eₓ² = 1 + Rₓₓ − R_yy − R_zz, 4 e_y e_z = R_yz + R_zy, 4 e₀ eₓ = R_zy − R_yz, so V is smooth at
    any angle. As ḋ = R₁ᵀ(v₂ − v₁ − ω₁ × (r₂ − r₁)), the force on the second frame acts on both at r₂. As
    ė = ½(e₀ω + e × ω) with ω in axes of the second frame, its torque there is −2(e₀ κ∘e + (κ∘e) × e).
    """
    ends, at, turned = [], [], []
    for name in (bushing.frame1, bushing.frame2):
        frame = find(model.mechanism.frames, name, "frame")
        link, local = frame_in_link(model, frame.body, Frame(frame.at, frame.orientation))
        axes, w, _ = turning(motion, link)
        ends.append((link, axes @ local.R))
        at.append(carried(model, motion, link, local.p)[:2])
        turned.append(w)
    (r1, v1), (r2, v2) = at
    R1, R2 = ends[0][1], ends[1][1]
    k, c, kt, ct = (
        vector(x) for x in (bushing.stiffness, bushing.damping, bushing.turn_stiffness, bushing.turn_damping)
    )
    d = R1.T @ (r2 - r1)
    rate = R1.T @ (v2 - v1 - ca.cross(turned[0], r2 - r1))
    spin = R1.T @ (turned[1] - turned[0])
    R = R1.T @ R2
    squares = 1 + 2 * ca.diag(R) - ca.trace(R)  # 4 e∘e
    first = ca.vertcat(R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1])  # 4 e₀ e
    mixed = ca.vertcat(R[1, 2] + R[2, 1], R[2, 0] + R[0, 2], R[0, 1] + R[1, 0])  # 4 (e_y e_z, …)
    uneven = ca.vertcat(kt[1] - kt[2], kt[2] - kt[0], kt[0] - kt[1])
    torque = R2 @ (-0.5 * (kt * first + uneven * mixed)) - R1 @ (ct * spin)
    return BushingForce(
        ends,
        r2,
        -(R1 @ (k * d + c * rate)),
        torque,
        0.5 * ca.dot(k * d, d) + 0.5 * ca.dot(kt, squares),
        ca.dot(c * rate, rate) + ca.dot(ct * spin, spin),
    )
