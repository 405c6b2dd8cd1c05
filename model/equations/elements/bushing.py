"""Bushings: elastic connections of two frames, springs and dampers along and about three axes."""

from collections.abc import Mapping
from typing import Any

import casadi as ca

from ...describe.elements import Bushing
from ...joints.rigid_motion import vector
from ..frame_motion import placed
from .contract import Action, Element, Wrench
from .instant import Instant


class BushingElement(Element):
    """Forces that follow from the energy V = ½ Σ kᵢ dᵢ² + 2 Σ κᵢ eᵢ², and from dampers.

    d = R₁ᵀ(r₂ − r₁), and e is the vector part of the Euler parameters of R = R₁ᵀR₂, of which only products
    occur: 4 eₓ² = 1 + Rₓₓ − R_yy − R_zz, 4 e_y e_z = R_yz + R_zy, 4 e₀ eₓ = R_zy − R_yz, so V is smooth at
    any angle. As ḋ = R₁ᵀ(v₂ − v₁ − ω₁ × (r₂ − r₁)), the force on the second frame acts on both at r₂. As
    ė = ½(e₀ω + e × ω) with ω in axes of the second frame, its torque there is −2(e₀ κ∘e + (κ∘e) × e).
    """

    group, word = "bushings", "bushing"

    def evaluate(self, item: Bushing, at: Instant, u: Mapping[str, Any], z: Mapping[str, Any]) -> Action:
        first, second = (placed(at.model, at.motion, name) for name in (item.frame1, item.frame2))
        R1, R2, between = first.R, second.R, second.r - first.r
        k, c, kt, ct = (
            vector(x) for x in (item.stiffness, item.damping, item.turn_stiffness, item.turn_damping)
        )
        d = R1.T @ between
        rate = R1.T @ (second.v - first.v - ca.cross(first.w, between))
        spin = R1.T @ (second.w - first.w)
        R = R1.T @ R2
        squares = 1 + 2 * ca.diag(R) - ca.trace(R)  # 4 e∘e
        whole = ca.vertcat(R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1])  # 4 e₀ e
        mixed = ca.vertcat(R[1, 2] + R[2, 1], R[2, 0] + R[0, 2], R[0, 1] + R[1, 0])  # 4 (e_y e_z, …)
        uneven = ca.vertcat(kt[1] - kt[2], kt[2] - kt[0], kt[0] - kt[1])
        torque = R2 @ (-0.5 * (kt * whole + uneven * mixed)) - R1 @ (ct * spin)
        force = -(R1 @ (k * d + c * rate))
        return Action(
            wrenches=[
                Wrench(end.link, second.r, sign * force, sign * torque)
                for sign, end in zip((-1, 1), (first, second), strict=True)
            ],
            potential=0.5 * ca.dot(k * d, d) + 0.5 * ca.dot(kt, squares),
            dissipated=ca.dot(c * rate, rate) + ca.dot(ct * spin, spin),
        )
