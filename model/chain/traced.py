"""What a chain computes, traced once: poses, speeds and accelerations that meet loops and rows together.

The rows of `rows.py` stand below those of the loops, J = (G; J_t), and are met as loops are
(`manifold/closing.py`): by Newton's method with proximal multipliers, the shortest step each time, so that
what the rows leave free stays where it was. A row may be soft, with a compliance c: e + c λ = 0 then, which
with J δ = 0 at the end is the weighted least squares of soft rows under closed loops and hard rows,

    min Σ e²/c   subject to   g = 0,

whatever the size of c: only how fast it converges depends on it. A slack ρ = c λ says what each soft row
is off by. Python evaluates these functions and the C library contains them.
"""

from collections.abc import Callable, Sequence
from typing import Any

import casadi as ca

from ..base.thresholds import ASSEMBLY_TRIES, FOLLOWED_BRANCH, OPEN
from ..equations.kinematics import position_rates
from ..equations.loops import of_poses
from ..equations.scales import Scales
from ..equations.terms import Equations, at_rest, mass, terms
from ..equations.traced import closure, retraction
from ..manifold.closing import Pieces, closing, closing_solver
from ..manifold.lift import displacement
from .rows import Item, Rows, trace_rows


def _stacked(eq: Equations, rows: Rows, above: Any, below: Any) -> tuple[Any, Any, list[Any]]:
    """J = (G; J_t), F of all speeds, and the groups of rows, each wanted one by itself."""
    J = ca.sparsify(ca.vertcat(above, below))
    groups = [*eq.scales.groups, *([above.shape[0] + k] for k in range(below.shape[0]))]
    return J, ca.diag(ca.DM(eq.scales.speeds) ** 2), groups


def _compliance(eq: Equations, rows: Rows, soft: Any) -> Any:
    """One number a row of J: none for loops, those of rows by their scale."""
    return ca.vertcat(ca.SX.zeros(eq.tree.row_count, 1), soft * ca.DM(rows.scales) ** 2)


def place(eq: Equations, items: Sequence[Item]) -> ca.Function:
    """(q, t, soft, s, p) → (q, slack, g, miss, closed, followed): the pose near q that meets t.

    `miss` is what rows lack beside their slack. `followed` is 1 if Newton's method converged so well that no
    other branch of solutions can have been taken: all steps together differ from the first by at most
    `FOLLOWED_BRANCH` of it (the contraction test of path following, Deuflhard 2004, ch. 5).
    """
    rows, nv = trace_rows(eq, items), eq.tree.nv
    m, n = eq.tree.row_count, rows.residual.numel()
    soft, damping = ca.SX.sym("soft", n), ca.SX.sym("damping")
    at = at_rest(eq)
    J, F, groups = _stacked(eq, rows, of_poses(eq.model, at.G), rows.J)
    lacking = ca.densify(ca.vertcat(at.g, rows.residual))
    compliance = _compliance(eq, rows, soft)
    lam = closing_solver(eq, J, F, damping, groups, compliance)(-lacking)
    inside = [eq.q, rows.t, soft, damping, eq.s, eq.p]
    step = ca.densify(ca.vertcat(F @ (J.T @ lam), compliance[m:, 0] * lam[m:, 0]))
    solve = ca.Function("solve", inside, [step])
    lack = ca.Function("lack", [eq.q, rows.t, eq.s, eq.p], [lacking])
    use = _pieces(eq, rows, solve, lack)

    q, s, p = eq.symbols("q", "s", "p")
    t, soft_now = ca.MX.sym("t", rows.t.numel()), ca.MX.sym("soft", n)
    start = ca.vertcat(use.place(ca.vertcat(q, ca.MX.zeros(n, 1)), ca.MX.zeros(nv + n, 1)))
    first = use.newton(start, ca.MX.zeros(nv + n, 1), soft_now, 0, s, ca.vertcat(p, t))[0][:nv, 0]
    new, _, left, _ = closing(use, ASSEMBLY_TRIES, recentred=True)(
        start, ca.MX.zeros(nv + n, 1), soft_now, s, ca.vertcat(p, t)
    )
    whole = displacement(eq)(start[: eq.tree.nq, 0], new[: eq.tree.nq, 0])
    size = eq.scales.speeds
    off, far = ca.norm_2((whole - first) / size), ca.norm_2(first / size)
    results = [
        new[: eq.tree.nq, 0],
        new[eq.tree.nq :, 0],
        left[:m, 0],
        left[m:, 0],
        use.size(left) < OPEN,
        off <= FOLLOWED_BRANCH * far + OPEN,
    ]
    names = ["q", "t", "soft", "s", "p"], ["q_new", "slack", "g", "miss", "closed", "followed"]
    return ca.Function("place", [q, t, soft_now, s, p], results, *names)


def _pieces(eq: Equations, rows: Rows, solve: ca.Function, lack: ca.Function) -> Pieces:
    """What `closing` iterates on: the pose with the slack of rows behind it, t behind the parameters."""
    nq, nv, n = eq.tree.nq, eq.tree.nv, rows.residual.numel()
    r, d = ca.MX.sym("r", nq + n), ca.MX.sym("d", nv + n)
    soft, damping = ca.MX.sym("soft", n), ca.MX.sym("damping")
    s, more = ca.MX.sym("s", eq.s.numel()), ca.MX.sym("more", eq.p.numel() + rows.t.numel())
    p, t = more[: eq.p.numel(), 0], more[eq.p.numel() :, 0]
    q, slack = r[:nq, 0], r[nq:, 0]
    none = ca.MX.zeros(eq.tree.row_count, 1)
    g = lack(q, t, s, p) + ca.vertcat(none, slack)
    step = solve(q, t, soft, damping, s, p) - ca.vertcat(ca.MX.zeros(nv, 1), slack)
    moved = ca.vertcat(retraction(eq)(q, d[:nv, 0]), slack + d[nv:, 0])
    scales = Scales(
        eq.scales.length,
        ca.DM(ca.vertcat(ca.DM(eq.scales.rows), ca.DM(rows.scales))),
        ca.DM(ca.vertcat(ca.DM(eq.scales.speeds), ca.DM(rows.scales))),
        eq.scales.groups,
    )
    return Pieces(
        ca.Function("newton", [r, d, soft, damping, s, more], [step, g]),
        ca.Function("gap", [r, d, s, more], [g]),
        ca.Function("moved", [r, d], [moved]),
        ca.Function("unused", [r], [r]),
        scales,
    )


def speeds(eq: Equations, items: Sequence[Item]) -> ca.Function:
    """(q, w, soft, s, p) → (v, slip, miss): the least speeds with G v + b = 0 and W v = w."""
    rows = trace_rows(eq, items)
    w, soft = (ca.SX.sym(name, rows.bias.numel()) for name in ("w", "soft"))
    _, G, b = closure(eq)(eq.q, eq.s, eq.p)
    found, miss = _met(eq, rows, ca.sparsify(G), ca.vertcat(-b, w), soft)
    names = ["q", "w", "soft", "s", "p"], ["v", "slip", "miss"]
    m = eq.tree.row_count
    return ca.Function("speeds", [eq.q, w, soft, eq.s, eq.p], [found, miss[:m, 0], miss[m:, 0]], *names)


def accelerations(eq: Equations, items: Sequence[Item]) -> ca.Function:
    """(q, v, a, soft, s, p) → (v̇, slip, miss): the least accelerations with G v̇ = γ and W v̇ + bias = a."""
    rows = trace_rows(eq, items)
    a, soft = (ca.SX.sym(name, rows.bias.numel()) for name in ("a", "soft"))
    found, miss = _met(eq, rows, terms(eq).G, ca.vertcat(terms(eq).gamma, a - rows.bias), soft)
    names = ["q", "v", "a", "soft", "s", "p"], ["dv", "slip", "miss"]
    m, given = eq.tree.row_count, [eq.q, eq.v, a, soft, eq.s, eq.p]
    return ca.Function("accelerations", given, [found, miss[:m, 0], miss[m:, 0]], *names)


def _met(eq: Equations, rows: Rows, G: Any, c: Any, soft: Any) -> tuple[Any, Any]:
    """The least x with (G; W) x = c, soft rows by least squares; and what it leaves of c.

    Twice, the second time for what the first has left: that is how compliance fades.
    """
    J, F, groups = _stacked(eq, rows, G, rows.W)
    compliance = _compliance(eq, rows, soft)
    solve, x = closing_solver(eq, J, F, 0, groups, compliance), ca.SX.zeros(eq.tree.nv, 1)
    for _ in range(2):
        x = x + F @ (J.T @ solve(ca.densify(c - J @ x)))
    return ca.densify(x), ca.densify(J @ x - c)


def values(eq: Equations, items: Sequence[Item]) -> ca.Function:
    """(q, v, p) → (t, w, W, bias): where the rows are, how fast, and what makes them so: ẇ = W v̇ + bias."""
    rows = trace_rows(eq, items)
    results = [rows.now, ca.densify(rows.W @ eq.v), ca.densify(rows.W), rows.bias]
    return ca.Function("values", [eq.q, eq.v, eq.p], results, ["q", "v", "p"], ["t", "w", "W", "bias"])


def lacking(eq: Equations, items: Sequence[Item]) -> ca.Function:
    """(q, t, p) → e: what rows lack of t."""
    rows = trace_rows(eq, items)
    return ca.Function("lacking", [eq.q, rows.t, eq.p], [rows.residual], ["q", "t", "p"], ["e"])


def transmission(eq: Equations, outputs: Sequence[Item], inputs: Sequence[Item]) -> ca.Function:
    """(q, p) → (T, I): w_out = T w_in, and I = KᵀM K that the inputs feel.

    v = K w_in are the speeds that inputs moving at w_in lead to: G K = 0, W_in K = 1.
    """
    _, K = solved_motions(eq, trace_rows(eq, inputs))
    T = ca.densify(trace_rows(eq, outputs).W @ K)
    return ca.Function(
        "transmission", [eq.q, eq.p], [T, ca.densify(K.T @ mass(eq) @ K)], ["q", "p"], ["T", "I"]
    )


def jacobian(eq: Equations, outputs: Sequence[Item], inputs: Sequence[Item]) -> ca.Function:
    """(q, v, p) → (T, T_rate, I): the same, and the rate of T at the speeds v.

    By the product rule, (G; W_in) K̇ = −(Ġ; Ẇ_in) K and Ṫ = Ẇ K + W K̇.
    """
    rows, below = trace_rows(eq, outputs), trace_rows(eq, inputs)
    solve, K = solved_motions(eq, below)
    along = position_rates(eq.model, eq.q, eq.v)

    def rate(matrix: Any) -> Any:
        return ca.reshape(ca.jtimes(ca.vec(ca.densify(matrix)), eq.q, along), matrix.shape)

    above = ca.vertcat(rate(at_rest(eq).G), rate(below.W))
    K_rate = solve(-(above @ K))
    results = [rows.W @ K, rate(rows.W) @ K + rows.W @ K_rate, K.T @ mass(eq) @ K]
    names = ["q", "v", "p"], ["T", "T_rate", "I"]
    return ca.Function("jacobian", [eq.q, eq.v, eq.p], list(map(ca.densify, results)), *names)


def solved_motions(eq: Equations, rows: Rows) -> tuple[Callable[[Any], Any], Any]:
    """C → X, the least with (G; W) X = C, column by column; and K, where C is the unit matrix below zeros."""
    G = ca.sparsify(at_rest(eq).G)
    J, F, groups = _stacked(eq, rows, G, rows.W)
    multipliers = closing_solver(eq, J, F, 0, groups)

    def solve(C: Any) -> Any:
        return F @ (J.T @ ca.horzcat(*(multipliers(ca.densify(c)) for c in ca.horzsplit(C))))

    n = rows.bias.numel()
    return solve, solve(ca.SX(ca.vertcat(ca.DM.zeros(G.shape[0], n), ca.DM.eye(n))))
