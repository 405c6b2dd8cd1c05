"""The linear model by the recursions of paper 004: K, K̇, K̈, Â21, Â22 (4.2, 4.4, A.13, B).

The thesis closes loops with virtual links and writes Ĝ = A J over virtual coordinates too. Our
cut joints have rows instead, and no virtual coordinates. Seen from the last link that both ends of
a cut joint hang on, a row is a function Φ(f_i, f_j) of the two end frames, and

    G = a J,   a = (∂Φ/∂f_i, ∂Φ/∂f_j) (12 wide),   J = (J_i; J_j) (12 × nv),

with J_i, J_j the body-fixed Jacobians of the two chains (`spencer_recursions.path_jacobians`). So
∂_jG = (∂_j a) J + a ∂_jJ, Ġ = ȧJ + aJ̇ and G̈ = äJ + 2ȧJ̇ + aJ̈. In the thesis a = (1, −1) is constant and the
virtual coordinates turn with the frames; here the few numbers of a turn, and their derivatives come
from the primitive's own formula by automatic differentiation. The rest is recursion.

With Ĝ = (R; G) of full column rank (`model/linear/elimination.py`), K = Ĝ⁺(I; 0), K̇ = −Ĝ⁺(0; ĠK) and
K̈ = −Ĝ⁺(0; G̈K + 2ĠK̇). A.3.3 has the wrong sign in K̇y_v = −Ĝ⁺(0; Ġv).

Balls have speeds that are not the rates of coordinates. With [v, k] the bracket of speeds (ω× in a
ball, zero elsewhere) and C its matrix, ∂_{K_a}K_b − ∂_{K_b}K_a = −Π[K_a, K_b], Π = 1 − KR, because motions
on the closed loops commute within the chart. The thesis' identities become

    δv = L δy_q + K δy_v,                           L = K̇ + ΠCK        (thesis: K̇)
    δv̇ = (L̇ − L R C K) δy_q + (K̇ + L) δy_v + K δẏ_v                     (thesis: K̈, 2K̇)

and with r = τ_NE − τ (4.2 prints τ_NE: wrong under load), N_q = ∂r/∂q and so on,

    Â21 = −(KᵀMK)⁻¹ ( [ (∂_{K_a}K)ᵀ r ]_a + Kᵀ(N_q K + N_v L + M (L̇ − L R C K)) )
    Â22 = −(KᵀMK)⁻¹ Kᵀ (N_v K + M (K̇ + L))                              (B.5 lacks Kᵀ)

Operations of A and B, after common subexpressions are merged, where R picks the speeds of motors:

    mechanism              fourbar  parallel_robot  loader  stewart  delta  hexapod
    recursions                 549            1068    3192     8396   9872    37689
    automatic                  427             896    3117     6024   8494    26664
    dynamics alone             212             311    1235     2125   1982     6775

The recursions stay with relative speeds, in which the thesis has them. For an R that mixes speeds all of Ĝ is
eliminated (stewart 12773 and 10466).
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import casadi as ca

from ..model.equations.dynamics import joint_wrenches, mass_matrix, newton_euler, onto_joints
from ..model.equations.kinematics import Model, frame_in_link, outward
from ..model.equations.solve import factorize
from ..model.equations.terms import Equations
from ..model.joints.rigid_motion import Pose
from ..model.joints.rows import Ends
from ..model.joints.types import TYPES
from ..model.linear.elimination import Elimination, elimination, solve_columns
from ..model.linear.exact import bracket, displace, state_space
from .spencer_recursions import StateSlopes, newton_euler_slopes, path_jacobians


class CutRows(NamedTuple):
    """The rows of one cut joint at (q, v, v̇): a and J of G = a J, with all their derivatives."""

    a: Any  # rows × 12
    da: Any
    dda: Any
    J: Any  # 12 × nv
    dJ: Any
    ddJ: Any
    partial_J: dict[int, Any]  # ∂_jJ
    slope: Callable[[Any], Any]  # weights w of the rows → ∂(wᵀa)/∂(displacements of both frames), 12 × 12


class Basis(NamedTuple):
    """K, K̇, K̈ with the loop rows they come from."""

    rows: list[CutRows]
    chart: Elimination
    dG: Any
    ddG: Any
    K: Any
    dK: Any
    ddK: Any


def loop_rows(model: Model, f: list[Pose], v: Any, dv: Any = None) -> list[CutRows]:
    """The rows of all cut joints, one entry a joint."""
    return [_rows(model, f, model.mechanism.joint(cut.name), v, dv) for cut in model.tree.cuts]


def _rows(model: Model, f: list[Pose], joint: Any, v: Any, dv: Any) -> CutRows:
    tree = model.tree
    ends = [
        frame_in_link(model, *end) for end in ((joint.parent, joint.on_parent), (joint.child, joint.on_child))
    ]
    shared = tree.path(tree.common(ends[0][0], ends[1][0]))
    chains = [
        path_jacobians(model, f, [k for k in tree.path(link) if k not in shared], local, v, dv)
        for link, local in ends
    ]
    J, dJ, ddJ = (ca.vertcat(*pair) for pair in zip(*((c.J, c.dJ, c.ddJ) for c in chains), strict=True))
    empty = ca.SX(6, tree.nv)
    by_speed = {
        j: ca.vertcat(*(c.partial.get(j, empty) for c in chains))
        for j in sorted(chains[0].partial.keys() | chains[1].partial.keys())
    }
    values = [x for c in chains for x in (ca.vec(c.X.R), c.X.p)]
    at = ca.vertcat(*values)
    V = J @ v
    dV = dJ @ v if dv is None else J @ dv + dJ @ v
    a, x = _covectors(joint)
    w = ca.SX.sym("w", a.shape[0])
    slope = ca.Function("slope", [x, w], [ca.jacobian(a.T @ w, x) @ _displaced(x)])
    V_, dV_ = ca.SX.sym("V", 12), ca.SX.sym("dV", 12)
    rate = _displaced(x) @ V_
    first = _along(a, x, rate)
    second = _along(first, x, rate) + _along(a, x, _displaced(x) @ dV_)
    moving = ca.Function("rows", [x, V_, dV_], [a, first, second])
    a, da, dda = (ca.sparsify(y) for y in moving(at, V, dV))
    return CutRows(a, da, dda, J, dJ, ddJ, by_speed, partial(slope, at))


def _covectors(joint: Any) -> tuple[Any, Any]:
    """a of Φ̇ = a (V_i; V_j) over symbols x = (R_i, r_i, R_j, r_j), poses over the common link."""
    Ri, ri, Rj, rj = (ca.SX.sym(n, 3, k) for n, k in (("Ri", 3), ("ri", 1), ("Rj", 3), ("rj", 1)))
    zero, one = ca.SX.zeros(3, 1), ca.SX.eye(3)
    ends = Ends(Ri, ri, Rj, rj, zero, zero, zero, zero)
    rows = [row for lock in TYPES[joint.type].locks for row in lock.evaluate(ends, joint, (one, zero, zero))]
    parts = [ca.horzcat(row.wi.T @ Ri, row.ri.T @ Ri, row.wj.T @ Rj, row.rj.T @ Rj) for row in rows]
    return ca.vertcat(*parts, ca.SX(0, 12)), ca.vertcat(ca.vec(Ri), ri, ca.vec(Rj), rj)


def _displaced(x: Any) -> Any:
    """ẋ by body-fixed twists of the two frames, 24 × 12: Ṙ = R ω̃, ṙ = R v. It depends on x."""
    blocks = []
    for R in (ca.reshape(x[:9], 3, 3), ca.reshape(x[12:21], 3, 3)):
        turned = [ca.vec(R @ ca.skew(ca.SX.eye(3)[:, k])) for k in range(3)]
        blocks.append(ca.diagcat(ca.horzcat(*turned), R))
    return ca.sparsify(ca.diagcat(*blocks))


def _along(y: Any, x: Any, rate: Any) -> Any:
    return ca.reshape(ca.jtimes(ca.vec(y), x, rate), *y.shape)


def weighted_slope(rows: list[CutRows], w: Any, nv: int) -> Any:
    """Q with Q[k, j] = wᵀ ∂_jG e_k, nv × nv: all ∂G/∂q_j at once where only their weighted sum is asked."""
    Q, at = ca.SX(nv, nv), 0
    for r in rows:
        part = w[at : at + r.a.shape[0]]
        at += r.a.shape[0]
        Q += r.J.T @ (r.slope(part) @ r.J)
        wrench = part.T @ r.a
        for j, part_J in r.partial_J.items():
            Q[:, j] += (wrench @ part_J).T
    return Q


def basis(eq: Equations, f: list[Pose], R: Any, v: Any, dv: Any = None) -> Basis:
    """K, K̇ and, with accelerations, K̈ in the chart R (p × nv)."""
    nv = eq.tree.nv
    rows = loop_rows(eq.model, f, v, dv)
    none = ca.SX(0, nv)
    G = ca.sparsify(ca.vertcat(*(r.a @ r.J for r in rows), none))
    dG = ca.sparsify(ca.vertcat(*(r.da @ r.J + r.a @ r.dJ for r in rows), none))
    ddG = ca.sparsify(ca.vertcat(*(r.dda @ r.J + 2 * (r.da @ r.dJ) + r.a @ r.ddJ for r in rows), none))
    at = elimination(eq, R, G)
    K = at.basis()
    dK = -at.onto(dG @ K)
    ddK = -at.onto(ddG @ K + 2 * (dG @ dK))
    return Basis(rows, at, dG, ddG, K, dK, ddK)


class Loads(NamedTuple):
    """Applied forces at a state and their slopes: generalized forces, and wrenches on links."""

    tau: Any
    wrenches: dict[int, Any]
    tau_slopes: StateSlopes
    wrench_slopes: dict[int, StateSlopes]


def loads(eq: Equations) -> Loads:
    """Motors, springs, dampers, friction, struts, loads; their slopes by automatic differentiation."""
    nv = eq.tree.nv
    delta, _, _, act = displace(eq)
    forces = ca.densify(ca.vertcat(act.tau, *act.wrenches.values()))
    J = ca.jacobian(forces, ca.vertcat(delta, eq.v, eq.u))
    forces, J = (ca.substitute(x, delta, ca.SX.zeros(nv, 1)) for x in (forces, J))
    J = ca.sparsify(J)

    def slopes(rows: slice) -> StateSlopes:
        return StateSlopes(J[rows, :nv], J[rows, nv : 2 * nv], J[rows, 2 * nv :])

    own, where = slice(0, nv), {i: slice(nv + 6 * k, nv + 6 * k + 6) for k, i in enumerate(act.wrenches)}
    wrenches = {i: forces[rows] for i, rows in where.items()}
    return Loads(forces[own], wrenches, slopes(own), {i: slopes(rows) for i, rows in where.items()})


def recursive_linear(eq: Equations, R: Any) -> ca.Function:
    """(q, v, z, u, p) → (A, B) as `equations.linear`, by the recursions of the thesis; R may be a symbol.

    The accelerations too come from its null-space form, ẏ_v = −(KᵀMK)⁻¹Kᵀ(τ_NE(q, v, K̇y_v) − τ) (4.10).
    """
    model, q, v, nv = eq.model, eq.q, eq.v, eq.tree.nv
    act = loads(eq)
    still = outward(model, q, v)
    M = mass_matrix(model, still)
    later = ca.SX.sym("dv", nv)  # v̇, which K̈ needs and which needs K̇
    b = basis(eq, still.f, R, v, later)
    K, dK = b.K, b.dK
    drift = -b.chart.onto(b.dG @ v)  # K̇ y_v
    MK = M @ K
    reduced = ca.densify(K.T @ MK)
    inertia = factorize(reduced, list(range(reduced.shape[0])))
    short = newton_euler(model, q, v, drift, act.wrenches) - act.tau
    dv = drift - K @ solve_columns(inertia, K.T @ short)

    ddK = ca.substitute(b.ddK, later, ca.densify(dv))
    motion = outward(model, q, v, dv)
    F = joint_wrenches(model, motion, act.wrenches)
    r = onto_joints(model, F, motion) - act.tau
    ne = newton_euler_slopes(model, motion, v, dv, act.wrenches, act.wrench_slopes, eq.u.numel())
    Nq, Nv, Nu = ne.q - act.tau_slopes.q, ne.v - act.tau_slopes.v, ne.u - act.tau_slopes.u

    C, dC, one = bracket(eq, v), bracket(eq, dv), ca.SX.eye(nv)
    P = one - K @ R
    L = dK + P @ (C @ K)
    dL = ddK - dK @ (R @ (C @ K)) + P @ (dC @ K + C @ dK)
    # (∂_{K_a}K)ᵀ r = −Kᵀ (∂_{K_a}G)ᵀ μ, with Gᵀμ = r
    mu = b.chart.weights(r)
    bent = -(K.T @ (weighted_slope(b.rows, mu, nv) @ K))
    RCK = R @ (C @ K)
    A21 = -solve_columns(inertia, bent + K.T @ (Nq @ K + Nv @ L) + MK.T @ (dL - L @ RCK))
    A22 = -solve_columns(inertia, K.T @ (Nv @ K) + MK.T @ (dK + L))
    B2 = -solve_columns(inertia, K.T @ Nu) if eq.u.numel() else ca.SX(R.shape[0], 0)
    return state_space("recursive_linear", eq, R, K, (A21, A22, B2))
