"""Every function the engine evaluates, traced once: accelerations, rates, projections.

They are CasADi SX functions of the mechanism's terms (`terms.py`), straight-line code with the constants
folded in; `compile/kernel.py` runs them.
"""

from typing import Any

import casadi as ca

from ..thresholds import SWEEPS_EACH
from .functions import concise, dense
from .kinematics import normalized, position_rates
from .loops import loop_jacobian
from .prepared import (
    by_articulation,
    free_speeds,
    inertia,
    loop_rates,
    merging_saves,
    metric,
    pose_metric,
    system_of,
)
from .prescribed import accelerated, driven_ties, tie_rows
from .solve import constrained, onto_manifold
from .terms import Equations, at_rest, mass, once, right_side, terms


@once
def motion_under_forces(eq: Equations) -> tuple[Any, Any]:
    """v̇ and λ of M v̇ + Gᵀλ = τ − h, G v̇ = γ; behind the loops' multipliers those of given accelerations."""
    t = terms(eq)
    motors = accelerated(eq.mechanism)
    if not motors:
        free = free_speeds(eq)
        system = system_of(eq, t.motion, loop_jacobian(eq.model, t.motion, t.loops, free))
        return system.accelerations(right_side(eq, t.motion, t.applied, free), t.gamma)
    inputs, driven = eq.mechanism.inputs(), driven_ties(eq.model, t.motion, t.loops, motors)
    wanted = [eq.u[inputs.index(m.name)] - x.tie.acceleration for m, x in zip(motors, driven, strict=True)]
    groups = [*eq.scales.groups, *([t.G.shape[0] + n] for n in range(len(motors)))]
    rows = ca.sparsify(ca.vertcat(t.G, tie_rows(eq.model, driven)))
    system = constrained(inertia(eq), rows, groups)
    return system.accelerations(t.right, ca.vertcat(t.gamma, *wanted))


@once
def drive_efforts(eq: Equations) -> dict[str, Any]:
    """Torque or force of every motor and cylinder whose input is a motion: −λ of its row."""
    lam, m = motion_under_forces(eq)[1], eq.tree.row_count
    motors = (*eq.tree.driven, *accelerated(eq.mechanism))
    return {motor.name: -lam[m - len(eq.tree.driven) + n] for n, motor in enumerate(motors)}


@once
def dynamics(eq: Equations) -> ca.Function:
    """(q, v, u, p) → (v̇, λ): closed-loop forward dynamics, M v̇ = τ + F − Gᵀλ (004, 2.5)."""
    dv, lam = motion_under_forces(eq)
    names = ["q", "v", "u", "p"], ["dv", "lam"]
    return concise("dynamics", [eq.q, eq.v, eq.u, eq.p], [dv, lam], *names, merged=merging_saves(eq))


@once
def rates(eq: Equations) -> ca.Function:
    """(q, v, u, p) → (q̇, v̇, power): what the integrators integrate; power changes the energy."""
    dv, _ = motion_under_forces(eq)
    dq = position_rates(eq.model, eq.q, eq.v)
    if nz := eq.tree.nz:
        dq[-nz:] = terms(eq).applied.rates
    power = supplied(eq) - terms(eq).applied.dissipated
    names = ["q", "v", "u", "p"], ["dq", "dv", "power"]
    return concise("rates", [eq.q, eq.v, eq.u, eq.p], [dq, dv, power], *names, merged=merging_saves(eq))


@once
def internal_rates(eq: Equations) -> ca.Function:
    """(q, v, u, p) → ż: rates of the states of drives and friction."""
    names = ["q", "v", "u", "p"], ["dz"]
    rates = ca.densify(terms(eq).applied.rates)
    return ca.Function("internal_rates", [eq.q, eq.v, eq.u, eq.p], [rates], *names)


@once
def decays(eq: Equations) -> ca.Function:
    """(q, v, p) → b of ż = a − b z, not negative: how fast each of them would fade by itself."""
    return ca.Function("decays", [eq.q, eq.v, eq.p], [ca.densify(terms(eq).applied.decays)])


def supplied(eq: Equations) -> Any:
    """Power of motors, cylinders and loads; of running surfaces and driven motions: −λᵀG v with G v = −b."""
    t, motors = terms(eq), accelerated(eq.mechanism)
    power = t.applied.supplied + ca.dot(motion_under_forces(eq)[1][: eq.tree.row_count], t.b)
    for motor, driven in zip(motors, driven_ties(eq.model, t.motion, t.loops, motors), strict=True):
        speed = sum(slope * eq.v[k] for k, slope in driven.tie.slopes.items())
        power += drive_efforts(eq)[motor.name] * speed
    return power


@once
def closure(eq: Equations) -> ca.Function:
    """(q, p) → (g, G, b): residual and Jacobian of all cut joints, G v + b = 0."""
    at = at_rest(eq)
    return dense(ca.Function("closure", [eq.q, eq.p], [at.g, at.G, at.b], ["q", "p"], ["g", "G", "b"]))


@once
def coefficients(eq: Equations) -> ca.Function:
    """(q, v, u, p) → (M, G, τ − h, γ, B): the matrices, for methods that factorize numerically.

    B = ∂τ/∂u, nv × inputs, carries motors and cylinders alike.
    """
    t = terms(eq)
    B = ca.jacobian(t.right, eq.u)
    out = [mass(eq), t.G, t.right, t.gamma, B]
    names = ["q", "v", "u", "p"], ["M", "G", "right", "gamma", "B"]
    return dense(ca.Function("coefficients", [eq.q, eq.v, eq.u, eq.p], out, *names))


@once
def mass_pivots(eq: Equations) -> ca.Function:
    """(q, p) → D of M = LDLᵀ: all positive where every motion has inertia."""
    pivots = by_articulation(eq, at_rest(eq).motion.f).pivots
    return ca.Function("mass_pivots", [eq.q, eq.p], [pivots], ["q", "p"], ["pivots"])


@once
def project_position(eq: Equations) -> ca.Function:
    """(q, p) → q: one Newton step onto g(q) = 0, the shortest in the mass metric (004, 3.10)."""
    delta = onto_manifold(pose_metric(eq), -at_rest(eq).g, SWEEPS_EACH)
    q = normalized(eq.model, eq.q + position_rates(eq.model, eq.q, delta))
    return concise("project_position", [eq.q, eq.p], [q], ["q", "p"], ["q_new"], merged=merging_saves(eq))


@once
def project_velocity(eq: Equations) -> ca.Function:
    """(q, v, p) → v: onto G v + b = 0, the nearest in the mass metric, so no power is put in."""
    delta = onto_manifold(metric(eq), -loop_rates(eq))
    names = ["q", "v", "p"], ["v_new"]
    return concise("project_velocity", [eq.q, eq.v, eq.p], [eq.v + delta], *names, merged=merging_saves(eq))


@once
def retraction(eq: Equations) -> ca.Function:
    """(q, δ) → q: move along speeds δ for unit time, Euler parameters kept at length one."""
    delta = ca.SX.sym("delta", eq.tree.nv)
    q = normalized(eq.model, eq.q + position_rates(eq.model, eq.q, delta))
    return ca.Function("retraction", [eq.q, delta], [q], ["q", "delta"], ["q_new"])
