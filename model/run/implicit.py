"""A linearly implicit step for stiff mechanisms, traced whole like the explicit one.

A Rosenbrock method of order 3 with four stages, L-stable and stiffly accurate (RODAS3 of Sandu
and others): springs and dampers far faster than the step settle instead of blowing up. It runs on
the underlying ODE of x = (d, v, work), poses written q ⊕ d from the pose q at the start,

    ḋ = E(d) v,    M v̇ + Gᵀλ = F,  G v̇ = γ,    d(work)/dt = power,

and ends with the projection onto closed loops. A stage solves K/γ − h J K = r with J exact at the
start. With a = K_v/γ − r_v, the part of h J K that belongs to v̇, the partial derivatives of
E = M v̇ − F + Gᵀλ and c = G v̇ − γ at constant v̇ and λ, and ρ = r_d + hγ r_v, that is

    K_d/γ = D (hγ a + ρ),                                 D = (1 + ½ hγ ω×)⁻¹, one but for balls
    M̂ a + Gᵀz = −hγ (E_v r_v + E_d D ρ)                    M̂ = M + hγ (E_v + hγ E_d D)
    Ĝ a − μz = −hγ (c_v r_v + c_d D ρ) − μz_old            Ĝ = G + hγ (c_v + hγ c_d D), proximal as ever

so the accelerations need no derivative of their own, the multipliers' stiffness is in, and rows
may be redundant. Internal states z have ż = f(d, v, z): K_z/γ = P (r_z + hγ (f_d K_d + f_v K_v)/γ) with
P = (1 − hγ f_z)⁻¹, so that E_v and E_d become E_v + hγ E_z P f_v and E_d + hγ E_z P f_d, and −hγ E_z P r_z
is added to the right. M̂ and Ĝ M̂⁻¹Gᵀ have factors of the size of the linear model's, found once a step.
There is no iteration that could fail to converge.

Driven motions are where they are at the times of the stages, and what changes of v̇ and of the power by time
alone, ∂/∂t along s, ṡ, s̈, is added to the right with weights of its own.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import accumulate
from typing import Any, NamedTuple

import casadi as ca

from ..base.errors import SimulationError
from ..base.thresholds import MOST_SUBSTEPS, REGULARIZATION, SWEEPS
from ..equations.lu import LU, factorize_lu, solve_lu
from ..equations.motion_drives import acceleration_drives, motion_places
from ..equations.solve import least_degree, regularize
from ..equations.terms import Equations, mass, terms
from ..equations.traced import motion_under_forces, power_supplied, rates, retraction
from ..linear.exact import residual_slopes, tangent_map
from ..manifold.lift import displacement_rates
from ..manifold.rotations import attitude_error
from ..manifold.singular_start import inputs_later
from ..manifold.step import HELD, Growth, step_with_substeps
from ..manifold.step_error import project_and_estimate

_GROWTH = Growth(4, 0.35, 4)  # longer sub-steps of what is stiff ask for more of them
GAMMA = 0.5
# Stage i is evaluated at x + h Σ A[i][j] K_j; its right side adds Σ C[i][j] K_j; x' = x + h Σ B[i] K_i.
A = ((), (0.0,), (2.0, 0.0), (2.0, 0.0, 1.0))
C = ((), (4.0,), (1.0, -1.0), (1.0, -1.0, -8.0 / 3.0))
B = (2.0, 0.0, 1.0, 1.0)
NODES = (0.0, 0.0, 1.0, 1.0)  # times of the stages, in steps, and weights of h ∂/∂t
DRIFTS = (0.5, 1.5, 0.0, 0.0)
LAG = 0.023  # of a steady spin, over θ⁵; the last stage is the difference to a method of second order


def implicit(eq: Equations, substeps: int = MOST_SUBSTEPS, inputs: str = HELD) -> ca.Function:
    """(q, v, z, work, u, p, h) → (q, v, z, work, verdict): a step, judged and refined as an explicit one is.

    Forces that go along a line have their value in the middle of every step or sub-step.
    """
    if acceleration_drives(eq.mechanism):
        raise SimulationError(
            f"the implicit step does not know 'drive: acceleration', which '{eq.mechanism.name}' has; "
            "drive a velocity, or use stepper runge_kutta"
        )
    return step_with_substeps(eq, rosenbrock(eq, inputs), substeps, _GROWTH)


def rosenbrock(eq: Equations, inputs: str = HELD) -> ca.Function:
    """(q, v, z, work, u, p, h) → (q, v, z, work, error): a single step; an error above 1 is too large."""
    nv = eq.tree.nv
    q, v, z, work, w, p, h = symbols = eq.symbols("q", "v", "z", "work", inputs, "p", "h")
    u = w if inputs == HELD else inputs_later(eq, w, h / 2)[: eq.u.numel()]
    slope, place, turned = rates(eq), retraction(eq), displacement_rates(eq)
    system, stage = _stages(eq)

    def moved(t: Any) -> Any:
        """Inputs with driven motions as they are after t, and forces as they are in the middle."""
        if not eq.tree.driven:
            return u
        later, moving = inputs_later(eq, w, t), motion_places(eq.mechanism)
        return ca.vertcat(*((later if k in moving else u)[k] for k in range(eq.u.numel())))

    known = system(q, v, z, moved(0), p, h * GAMMA)
    start = ca.vertcat(ca.MX.zeros(nv, 1), v, z, work)
    borders = [0, *accumulate((nv, nv, z.numel(), 1))]
    K: list[Any] = []
    drift = ca.MX(0)
    if (
        eq.tree.driven
    ):  # exact, since v̇ is affine in s̈, and the power linear in ṡ, but for what h³ makes small
        ahead, back = (slope(q, v, z, moved(t), p)[1::2] for t in (h, -h))
        by_speed, by_power = ((a - b) / 2 for a, b in zip(ahead, back, strict=True))
        drift = ca.vertcat(ca.MX(nv, 1), by_speed, ca.MX(*z.shape), by_power)
    for a, c, node, by_time in zip(A, C, NODES, DRIFTS, strict=True):
        d, speed, z1, _ = ca.vertsplit(_added(start, [x * h for x in a], K), borders)
        _, dv, dz, rate = slope(place(q, d), speed, z1, moved(node * h), p)
        right = _added(ca.vertcat(turned(d, speed), dv, dz, rate), c, K)
        K.append(stage(known, right + by_time * drift if eq.tree.driven else right, h * GAMMA))
    d, v1, z1, work1 = ca.vertsplit(_added(start, [x * h for x in B], K), borders)
    q1, v1, error = project_and_estimate(eq)(
        q, v, z, work, place(q, d), v1, z1, work1, eq.motions(moved(h)), p, 1
    )
    error = attitude_error(eq, error, v, h, LAG, h / 2 * ca.vertsplit(K[-1], borders)[1], 2)
    return ca.Function("rosenbrock", symbols, [q1, v1, z1, work1, error])


def _added(x: Any, weights: Iterable[Any], K: list[Any]) -> Any:
    return x + sum(weight * part for weight, part in zip(weights, K, strict=True))


class _Known(NamedTuple):
    """What all stages of a step share; `numbers` is all of it in one column."""

    M: LU
    S: LU
    # G, Ĝ, hγ E_v, hγ c_v, hγ E_d D, hγ c_d D, D, μ, ∂power, and hγ E_z P, P, hγ f_d, hγ f_v
    parts: list[Any]

    def numbers(self) -> Any:
        values = [x for part in self.parts for x in part.nonzeros()]
        return ca.vertcat(self.M.numbers(), self.S.numbers(), *values, ca.SX(0, 1))

    def of(self, numbers: Any) -> _Known:
        """The same patterns with other numbers."""
        sizes = [self.M.numbers().numel(), self.S.numbers().numel(), *(part.nnz() for part in self.parts)]
        M, S, *parts = ca.vertsplit(numbers, [0, *accumulate(sizes)])
        pairs = zip(self.parts, parts, strict=True)
        return _Known(self.M.of(M), self.S.of(S), [ca.SX(old.sparsity(), new) for old, new in pairs])


def _stages(eq: Equations) -> tuple[ca.Function, ca.Function]:
    """(q, v, z, u, p, hγ) → what the stages share; and with that (known, r, hγ) → K of a stage."""
    nv, g = eq.tree.nv, ca.SX.sym("g")
    known = _known(eq, g)
    numbers = known.numbers()
    system = ca.Function("system", [eq.q, eq.v, eq.z, eq.u, eq.p, g], [numbers])
    nz = eq.tree.nz
    ends = [0, *accumulate((nv, nv, nz, 1))]
    given, r = ca.SX.sym("known", numbers.numel()), ca.SX.sym("r", ends[-1])
    use = known.of(given)
    G, G1, Ev, cv, EdD, cdD, D, mu, power, EzP, P, fd, fv = use.parts
    r_d, r_v, r_z, r_w = ca.vertsplit(r, ends)  # a part may be empty
    rho = r_d + g * r_v
    right = -(Ev @ r_v) - EdD @ rho
    right = right - EzP @ r_z if nz else right
    free = solve_lu(use.M, ca.densify(right))  # a, if there were no loops
    miss = ca.densify(G1 @ free + cv @ r_v + cdD @ rho)
    z = ca.SX.zeros(G.shape[0], 1)
    for _ in range(SWEEPS if z.numel() else 0):
        z = solve_lu(use.S, miss + mu * z)
    a = free - solve_lu(use.M, ca.densify(G.T @ z))
    K_d, K_v = D @ (g * a + rho), a + r_v
    K = GAMMA * ca.vertcat(K_d, K_v, *([P @ (r_z + fd @ K_d + fv @ K_v)] if nz else []))
    K = ca.vertcat(K, GAMMA * r_w + g * (power @ K))
    stage = ca.Function("stage", [given, r, g], [ca.densify(K)])
    return system, stage


def _known(eq: Equations, g: Any) -> _Known:
    t = terms(eq)
    part = residual_slopes(eq, eq.v, *motion_under_forces(eq))
    D = _inverse(eq, g)
    inner = [ca.SX(eq.tree.nv, 0), ca.SX(0, 0), ca.SX(0, eq.tree.nv), ca.SX(0, eq.tree.nv)]
    if part.internal is not None:
        P = ca.inv(ca.SX.eye(eq.tree.nz) - g * part.internal.zz)
        inner = [
            ca.sparsify(x) for x in (g * part.internal.Ez @ P, P, g * part.internal.zq, g * part.internal.zv)
        ]
        part = part._replace(
            Eq=part.Eq + inner[0] @ part.internal.zq, Ev=part.Ev + inner[0] @ part.internal.zv
        )
    Ev, cv, EdD, cdD = (ca.sparsify(g * x) for x in (part.Ev, part.cv, part.Eq @ D, part.cq @ D))
    M, G1 = ca.sparsify(mass(eq) + Ev + g * EdD), ca.sparsify(t.G + cv + g * cdD)
    factor = factorize_lu(M, list(range(eq.tree.nv))[::-1])
    columns = [solve_lu(factor, ca.densify(row.T)) for row in ca.vertsplit(t.G)]
    S = ca.sparsify(G1 @ ca.horzcat(*columns)) if columns else ca.SX(0, 0)
    S = S + 0 * ca.SX.eye(S.shape[0])
    mu = regularize(S, eq.scales.groups, REGULARIZATION)
    power = power_supplied(eq) - t.applied.dissipated
    by_q, by_v, by_z = (ca.jacobian(power, x) for x in (eq.q, eq.v, eq.z))
    slopes = ca.horzcat(by_q @ tangent_map(eq), by_v, by_z)
    parts = [t.G, G1, Ev, cv, EdD, cdD, D, mu, slopes, *inner]
    return _Known(factor, factorize_lu(S, least_degree(S)), parts)


def _inverse(eq: Equations, g: Any) -> Any:
    """D = (1 + ½ g ω×)⁻¹."""
    D = ca.SX.eye(eq.tree.nv)
    for move, link in eq.tree.moves:
        if not move.plain:
            D[link.v, link.v] = ca.inv(ca.SX.eye(move.nv) + 0.5 * g * move.bracket(eq.v[link.v]))
    return D
