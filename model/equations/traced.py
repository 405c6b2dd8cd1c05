"""Every function that the engine evaluates, from tracing once: accelerations, rates, projections.

They are CasADi SX functions of the mechanism's terms (`terms.py`), straight-line code with the constants
folded in; `compile/kernel.py` runs them.
"""

from dataclasses import replace
from typing import Any

import casadi as ca

from ..base.thresholds import SWEEPS_EACH
from .functions import concise, dense
from .kinematics import normalize, position_rates
from .loops import loop_jacobian
from .motion_drives import acceleration_drives, driven_ties, motion_places, tie_rows
from .solve import Constrained, factorize_constrained, onto_manifold
from .solver_choice import (
    by_articulation,
    free_speeds,
    inertia,
    loop_rates,
    merging_saves,
    metric,
    pose_metric,
    system_of,
)
from .terms import Equations, at_rest, mass, once, right_side, terms


@once
def motion_under_forces(eq: Equations) -> tuple[Any, Any]:
    """v̇ and λ of M v̇ + Gᵀλ = τ − h, G v̇ = γ; behind the loops' multipliers those of given accelerations."""
    t = terms(eq)
    if acceleration_drives(eq.mechanism):
        return with_given_accelerations(eq).accelerations(t.right, wanted_accelerations(eq)[1])
    free = free_speeds(eq)
    system = system_of(eq, t.motion, loop_jacobian(eq.model, t.motion, t.loops, free))
    return system.accelerations(right_side(eq, t.motion, t.applied, free), t.gamma)


@once
def wanted_accelerations(eq: Equations) -> tuple[Any, Any]:
    """T, a row for each acceleration that is given, and (γ; what T v̇ is to be)."""
    t, motors, inputs = terms(eq), acceleration_drives(eq.mechanism), eq.mechanism.inputs()
    driven = driven_ties(eq.model, t.motion, motors)
    wanted = [eq.u[inputs.index(m.name)] - x.acceleration for m, x in zip(motors, driven, strict=True)]
    return tie_rows(eq.model, driven), ca.vertcat(t.gamma, *wanted)


@once
def with_given_accelerations(eq: Equations) -> Constrained:
    """M, and below G the rows of accelerations that are given, ready for right-hand sides."""
    G, T = terms(eq).G, wanted_accelerations(eq)[0]
    groups = [*eq.scales.groups, *([G.shape[0] + n] for n in range(T.shape[0]))]
    return factorize_constrained(inertia(eq), ca.sparsify(ca.vertcat(G, T)), groups)


def with_motion_given(eq: Equations, dv: Any, lam: Any) -> Equations:
    """The same equations with accelerations and multipliers as they are given, not solved for."""
    solved = {"motion_under_forces", "drive_efforts", "dynamics", "rates"}
    kept = {name: x for name, x in eq.traced.items() if name not in solved}
    return replace(eq, traced=kept | {"motion_under_forces": (dv, lam)})


@once
def given_accelerations(eq: Equations) -> ca.Function:
    """(q, v, p) → (T, b): T v̇ + b is what motors and cylinders whose input is an acceleration follow."""
    t, motors = terms(eq), acceleration_drives(eq.mechanism)
    driven = driven_ties(eq.model, t.motion, motors)
    b = ca.vertcat(ca.SX(0, 1), *(x.acceleration for x in driven))
    names = ["q", "v", "p"], ["T", "b"]
    T = tie_rows(eq.model, driven)
    return dense(ca.Function("given_accelerations", [eq.q, eq.v, eq.p], [T, b], *names))


@once
def drive_efforts(eq: Equations) -> dict[str, Any]:
    """Torque or force of every motor and cylinder whose input is a motion: −λ of its row."""
    lam, m = motion_under_forces(eq)[1], eq.tree.row_count
    motors = (*eq.tree.driven, *acceleration_drives(eq.mechanism))
    return {motor.name: -lam[m - len(eq.tree.driven) + n] for n, motor in enumerate(motors)}


@once
def dynamics(eq: Equations) -> ca.Function:
    """(q, v, z, u, p) → (v̇, λ): closed-loop forward dynamics, M v̇ = τ + F − Gᵀλ (004, 2.5)."""
    dv, lam = motion_under_forces(eq)
    names = ["q", "v", "z", "u", "p"], ["dv", "lam"]
    return concise("dynamics", [eq.q, eq.v, eq.z, eq.u, eq.p], [dv, lam], *names, merged=merging_saves(eq))


@once
def rates(eq: Equations) -> ca.Function:
    """(q, v, z, u, p) → (q̇, v̇, ż, power): what the integrators integrate; power changes the energy."""
    dv, _ = motion_under_forces(eq)
    dq = position_rates(eq.model, eq.q, eq.v)
    applied = terms(eq).applied
    results = [dq, dv, ca.densify(applied.rates), power_supplied(eq) - applied.dissipated]
    names = ["q", "v", "z", "u", "p"], ["dq", "dv", "dz", "power"]
    return concise("rates", [eq.q, eq.v, eq.z, eq.u, eq.p], results, *names, merged=merging_saves(eq))


@once
def loop_accelerations(eq: Equations) -> ca.Function:
    """(q, v, z, u, p) → G v̇ − γ, which regularized rows leave, and the size of its summands, a row each."""
    t, dv = terms(eq), motion_under_forces(eq)[0]
    names = ["q", "v", "z", "u", "p"], ["left", "size"]
    out = [t.G @ dv - t.gamma, ca.fabs(t.G) @ ca.fabs(dv) + ca.fabs(t.gamma)]
    return dense(ca.Function("loop_accelerations", [eq.q, eq.v, eq.z, eq.u, eq.p], out, *names))


@once
def internal_rates(eq: Equations) -> ca.Function:
    """(q, v, z, u, p) → ż: rates of the states of drives and friction."""
    names = ["q", "v", "z", "u", "p"], ["dz"]
    rates = ca.densify(terms(eq).applied.rates)
    return ca.Function("internal_rates", [eq.q, eq.v, eq.z, eq.u, eq.p], [rates], *names)


@once
def decays(eq: Equations) -> ca.Function:
    """(q, v, z, p) → b of ż = a − b z, not negative: how fast each of them would fade by itself."""
    return ca.Function("decays", [eq.q, eq.v, eq.z, eq.p], [ca.densify(terms(eq).applied.decays)])


def power_supplied(eq: Equations) -> Any:
    """Power of motors, cylinders and loads; of running surfaces and driven motions: −λᵀG v with G v = −b."""
    t, motors = terms(eq), acceleration_drives(eq.mechanism)
    power = t.applied.supplied + ca.dot(motion_under_forces(eq)[1][: eq.tree.row_count, 0], t.b)
    for motor, tie in zip(motors, driven_ties(eq.model, t.motion, motors), strict=True):
        speed = sum(slope * eq.v[k] for k, slope in tie.slopes.items())
        power += drive_efforts(eq)[motor.name] * speed
    return power


@once
def closure(eq: Equations) -> ca.Function:
    """(q, s, p) → (g, G, b): residual and Jacobian of all cut joints, G v + b = 0."""
    at = at_rest(eq)
    return dense(
        ca.Function("closure", [eq.q, eq.s, eq.p], [at.g, at.G, at.b], ["q", "s", "p"], ["g", "G", "b"])
    )


@once
def coefficients(eq: Equations) -> ca.Function:
    """(q, v, z, u, p) → (M, G, τ − h, γ, B): the matrices, for methods that factorize numerically.

    B = ∂τ/∂u, nv × inputs, carries motors and cylinders alike.
    """
    t = terms(eq)
    out = [mass(eq), t.G, t.right, t.gamma, input_matrix(eq)]
    names = ["q", "v", "z", "u", "p"], ["M", "G", "right", "gamma", "B"]
    return dense(ca.Function("coefficients", [eq.q, eq.v, eq.z, eq.u, eq.p], out, *names))


def input_matrix(eq: Equations) -> Any:
    """B = ∂τ/∂u: what inputs do as forces. Driven motions do nothing so."""
    forces = ca.DM.ones(1, eq.u.numel())
    forces[motion_places(eq.mechanism)] = 0
    return ca.jacobian(terms(eq).right, eq.u) @ ca.sparsify(ca.diag(forces))


@once
def mass_pivots(eq: Equations) -> ca.Function:
    """(q, p) → D of M = LDLᵀ: all positive where every motion has inertia."""
    pivots = by_articulation(eq, at_rest(eq).motion.f).pivots
    return ca.Function("mass_pivots", [eq.q, eq.p], [pivots], ["q", "p"], ["pivots"])


@once
def project_position(eq: Equations) -> ca.Function:
    """(q, s, p) → q: one Newton step onto g(q) = 0, the shortest in the mass metric (004, 3.10)."""
    delta = onto_manifold(pose_metric(eq), -at_rest(eq).g, SWEEPS_EACH)
    q = normalize(eq.model, eq.q + position_rates(eq.model, eq.q, delta))
    names = ["q", "s", "p"], ["q_new"]
    return concise("project_position", [eq.q, eq.s, eq.p], [q], *names, merged=merging_saves(eq))


@once
def project_velocity(eq: Equations) -> ca.Function:
    """(q, v, s, p) → v: onto G v + b = 0, the nearest in the mass metric, so no power is put in."""
    v = eq.v + onto_manifold(metric(eq), -loop_rates(eq))
    names = ["q", "v", "s", "p"], ["v_new"]
    return concise("project_velocity", [eq.q, eq.v, eq.s, eq.p], [v], *names, merged=merging_saves(eq))


@once
def retraction(eq: Equations) -> ca.Function:
    """(q, δ) → q: move along speeds δ for unit time, Euler parameters kept at length one."""
    delta = ca.SX.sym("delta", eq.tree.nv)
    q = normalize(eq.model, eq.q + position_rates(eq.model, eq.q, delta))
    return ca.Function("retraction", [eq.q, delta], [q], ["q", "delta"], ["q_new"])
