"""Couplings: relations between joint coordinates as rows of g, G and γ, behind those of the cut joints.

0 = g = q − offset − Σ rₖ qₖ − Σ cₙ q₁ⁿ⁺¹, of joints with one freedom, so q̇ = v, and

    ġ = Σ sₖ vₖ,   g̈ = Σ sₖ v̇ₖ + Σ s'ₖ vₖ²

with the slopes sₖ = ∂g/∂qₖ. The multiplier λ is the coupling's torque: joint k feels −λ sₖ, which
does no work.
"""

from typing import Any, NamedTuple

import casadi as ca

from .kinematics import Model, Motion


class Tie(NamedTuple):
    """The row of a coupling: g, its slopes by speed, g̈ at the motion's accelerations, ∂g/∂t."""

    residual: Any
    slopes: dict[int, Any]
    acceleration: Any
    rate: Any = 0.0


def ties(model: Model, motion: Motion) -> list[Tie]:
    """The rows of all couplings."""
    found = []
    for coupling in model.mechanism.couplings:
        tree, g = model.tree, -ca.SX(coupling.offset)
        slopes: dict[int, Any] = {}
        acceleration = ca.SX(0)
        for n, joint in enumerate((coupling.joint, *coupling.follows)):
            x, at = motion.q[tree.q[joint].start], tree.v[joint].start
            factors = [ca.SX(1) if n == 0 else -ca.SX(listed(coupling.ratio)[n - 1])]
            if n == 1:
                factors += [-ca.SX(c) for c in listed(coupling.curve)]
            g += sum(c * x**k for k, c in enumerate(factors, 1))
            slopes[at] = sum(k * c * x ** (k - 1) for k, c in enumerate(factors, 1))
            bent = sum(k * (k - 1) * c * x ** (k - 2) for k, c in enumerate(factors[1:], 2))
            acceleration += slopes[at] * motion.dv[at] + bent * motion.v[at] ** 2
        found.append(Tie(g, slopes, acceleration))
    return found


def listed(values: Any) -> list[Any]:
    return ca.vertsplit(values) if isinstance(values, ca.SX) else list(values)
