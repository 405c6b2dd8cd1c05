"""How a start moves with what it follows from: guess, wanted speeds, driven motions, parameters.

Assembly goes the shortest way at each of its steps (`manifold/closing.py`), so where it ends depends on the
way, and along the loops' null space nothing but the way says where. The derivative is therefore that of the
iterations themselves, and then of one step more,

    θ = N⁺δq + F Jᵀ(J F Jᵀ)⁻¹(−δg),

which vanishes after a Newton iteration that has converged, and is all there is where a guess that was closed
already has stayed as it was.
"""

import casadi as ca

from ..equations.kinematics import position_rates
from ..equations.terms import Equations, at_rest
from ..equations.traced import project_velocity
from ..manifold.closing import described_speeds, follow_by_joint
from ..manifold.lift import displacement


def start_tangent(eq: Equations, assembly: ca.Function, start_speeds: ca.Function) -> ca.Function:
    """(q, free, x, held, s, p; δq, δx, δs, δp) → (θ, δv) of pose and speeds that a guess q, speeds x lead to.

    `assembly` is (q, free, s, p) → (q, …) and `start_speeds` (q, x, held, s, p) → (v, …).
    """
    q, free, x, held, s, p = eq.symbols("q", "free", "x", "held", "s", "p")
    seeds = dq, dx, ds, dp = [ca.MX.sym("dot", y.numel()) for y in (q, x, s, p)]
    moved, pose = _forward(assembly, [q, free, s, p], [dq, None, ds, dp])
    missing = -_gap_slope(eq)(pose, s, p, moved, ds, dp)
    last = follow_by_joint(eq).place(pose, ca.MX.zeros(eq.tree.nv, 1), free, 0, p, missing)
    theta = _turned(eq)(pose, moved) + last
    all_moved = _moving(eq)(pose, theta)
    dv, v = _forward(start_speeds, [pose, x, held, s, p], [all_moved, dx, None, ds, dp])
    if p.numel() and described_speeds(eq):  # with other parameters the nearest to them that the loops allow
        dv, _ = _forward(project_velocity(eq), [pose, v, s, p], [all_moved, dv, ds, dp])
    return ca.Function("start_tangent", [q, free, x, held, s, p, *seeds], [theta, dv])


def motion_tangent(eq: Equations, project_to_motion: ca.Function) -> ca.Function:
    """(q, v, z, s, p; δs) → (θ, δv): where driven motions that are told anew take pose and speeds."""
    q, v, z, s, p = eq.symbols("q", "v", "z", "s", "p")
    ds = ca.MX.sym("s_dot", s.numel())
    function = ca.Function("onto", [q, v, z, s, p], project_to_motion(q, v, z, 0, s, p)[:2])
    none = [None, None, None, ds, None]
    pose, speeds = function(q, v, z, s, p)
    moved = function.forward(1)(q, v, z, s, p, pose, speeds, *_filled([q, v, z, s, p], none))
    return ca.Function("motion_tangent", [q, v, z, s, p, ds], [_turned(eq)(pose, moved[0]), moved[1]])


def _filled(arguments: list[ca.MX], seeds: list[ca.MX | None]) -> list[ca.MX]:
    pairs = zip(arguments, seeds, strict=True)
    return [ca.MX.zeros(*x.shape) if seed is None else seed for x, seed in pairs]


def _forward(f: ca.Function, arguments: list[ca.MX], seeds: list[ca.MX | None]) -> tuple[ca.MX, ca.MX]:
    """Derivative of the first result along seeds, and the result."""
    found = f.call(arguments)
    return f.forward(1).call([*arguments, *found, *_filled(arguments, seeds)])[0], found[0]


def _gap_slope(eq: Equations) -> ca.Function:
    """(q, s, p; δq, δs, δp) → δg."""
    of = [eq.q, eq.s, eq.p]
    by = [ca.SX.sym(f"dot{k}", x.numel()) for k, x in enumerate(of)]
    g = ca.densify(at_rest(eq).g)
    slope = ca.jtimes(g, ca.vertcat(*of), ca.vertcat(*by)) if g.numel() else ca.SX(0, 1)
    return ca.Function("gap_slope", [*of, *by], [slope], {"cse": True})


def _turned(eq: Equations) -> ca.Function:
    """(q, δq) → θ with δq = N(q) θ."""
    r, dq = ca.SX.sym("r", eq.tree.nq), ca.SX.sym("q_dot", eq.tree.nq)
    theta = ca.substitute(ca.jtimes(displacement(eq)(r, eq.q), eq.q, dq), r, eq.q)
    return ca.Function("turned", [eq.q, dq], [ca.densify(theta)])


def _moving(eq: Equations) -> ca.Function:
    """(q, θ) → δq."""
    theta = ca.SX.sym("theta", eq.tree.nv)
    return ca.Function("moving", [eq.q, theta], [ca.densify(position_rates(eq.model, eq.q, theta))])
