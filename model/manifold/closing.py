"""Closing loops, once: the Newton iteration behind assembly and lift, as traced functions.

Poses are written q = r ⊕ d with a reference r and one number d a speed (`joints/moves.py`): the plain
difference for turns and slides, twice the Rodrigues vector for balls. Some directions of d may
change and the others are held; F, nv × nv, is the orthogonal projector onto those that may (a
diagonal of ones and zeros where single joints are held), lengths measured by the size of the
mechanism. Each step is the shortest one to

    g + ∂g/∂d δ = 0,  δ = F δ,      δ = −F Jᵀ(J F Jᵀ + ε)⁻¹ g,   J = ∂g/∂d = G E(d)⁻¹

with the proximal multipliers of `solve.py` for ε → 0, so that redundant rows and singular poses
are no hindrance; where a full step does not help, ε grows until it does (Levenberg). The iteration is a
bounded fold: Python, FMU and node run the very same one.
"""

from typing import Any, NamedTuple

import casadi as ca

from ..equations.kinematics import outward
from ..equations.loops import cut_loops, of_poses
from ..equations.scales import Scales
from ..equations.solve import Groups, factorize, least_degree, proximal, softened
from ..equations.terms import Equations, once
from ..equations.traced import closure, retraction
from ..joints.measured import cut_speeds
from ..thresholds import (
    ASSEMBLY_TRIES,
    CLOSED,
    FIRST_DAMPING,
    LAST_DAMPING,
    LONGEST,
    MOST_DAMPING,
    NOTHING,
    OPEN,
    ROUND_OFF,
    SLIP,
    SOFTNESS,
)


class Free(NamedTuple):
    """The directions that may change: the argument that says so, and its projector F."""

    symbol: Any
    F: Any


def free_joints(eq: Equations) -> Free:
    """Single speeds: the argument holds 1 for those that may change and 0 for the others."""
    mask = ca.SX.sym("free", eq.tree.nv)
    return Free(mask, ca.diag(mask * eq.scales.speeds**2))


def free_directions(eq: Equations) -> Free:
    """Any directions: the argument is F itself."""
    F, size = ca.SX.sym("F", eq.tree.nv, eq.tree.nv), ca.diag(ca.DM(eq.scales.speeds))
    return Free(F, size @ F @ size)


def closing_multipliers(
    eq: Equations, J: Any, F: Any, c: Any, damping: Any = 0, groups: Groups | None = None
) -> Any:
    """λ of (J F Jᵀ + ε)λ = c; x = F Jᵀλ is then the shortest one with J x = c and x = F x.

    Without damping ε fades by proximal sweeps; a damping of the mean diagonal stays. J has the rows of the
    loops unless it is told which of its rows are measured together. What rolls has rows of which the free
    directions may see nothing, as the spin of a wheel sees nothing of its height: round-off is no hold.
    """
    if not J.shape[0]:
        return ca.SX(0, 1)
    S = ca.SX(J @ F @ J.T)
    whole = 0.0 if all(eq.tree.holds_poses) else ca.sum2((J @ ca.diag(ca.DM(eq.scales.speeds))) ** 2)
    mu = softened(S, groups or eq.scales.groups, SOFTNESS + damping, NOTHING**2 * whole)
    fading = mu if isinstance(damping, int) else ca.if_else(damping > 0, 0, mu)
    return proximal(factorize(S, least_degree(S)), fading, c)


def shortest_free(eq: Equations, J: Any, F: Any, c: Any, damping: Any = 0) -> Any:
    """x = F Jᵀ(J F Jᵀ)⁻¹ c."""
    return F @ (J.T @ closing_multipliers(eq, J, F, c, damping))


def along_displacement(eq: Equations, G: Any, d: Any) -> Any:
    """J = ∂g/∂d = G E(d)⁻¹."""
    G = ca.SX(G)
    for move, link in eq.tree.moves:
        G[:, link.v] = move.by_displacement(G[:, link.v], d[link.v])
    return G


class Follow(NamedTuple):
    """(q, d, free, damping, p, c) → x = F Jᵀ(J F Jᵀ)⁻¹ c, the shortest free x with J x = c, in two kinds.

    J is ∂g/∂d for displacements and G, at d = 0, for speeds: one function unless some rows hold speeds alone.
    """

    place: ca.Function
    speed: ca.Function


def follow(eq: Equations, free: Free) -> Follow:
    d, damping = ca.SX.sym("d", eq.tree.nv), ca.SX.sym("damping")
    G = ca.sparsify(closure(eq)(eq.q, eq.p)[1])
    c = ca.SX.sym("c", G.shape[0])
    poses = of_poses(eq.model, G)

    def along(J: Any) -> ca.Function:
        x = ca.densify(shortest_free(eq, J, free.F, c, damping))
        return ca.Function("follow", [eq.q, d, free.symbol, damping, eq.p, c], [x])

    place = along(along_displacement(eq, poses, d))
    return Follow(place, place if poses is G else along(G))


@once
def follow_by_joint(eq: Equations) -> Follow:
    return follow(eq, free_joints(eq))


class Pieces(NamedTuple):
    """What an iteration calls: made once, so that it stands once in the code that is generated."""

    newton: ca.Function
    gap: ca.Function
    place: ca.Function
    speeds: ca.Function
    scales: Scales

    def size(self, g: Any) -> Any:
        """Root of the mean square of a residual in radians and parts of the mechanism's size; NaN shows."""
        return ca.norm_2(g / self.scales.rows) / max(g.numel(), 1) ** 0.5 if g.numel() else ca.MX(0)


def pieces(eq: Equations, along: Follow) -> Pieces:
    return Pieces(newton_step(eq, along), gap(eq), retraction(eq), _speeds(eq, along), eq.scales)


@once
def pieces_by_joint(eq: Equations) -> Pieces:
    return pieces(eq, follow_by_joint(eq))


def newton_step(eq: Equations, along: Follow) -> ca.Function:
    """(r, d, free, damping, p) → (δ, g): a step of Newton's method, and the residual before it."""
    r, d, p = eq.symbols("r", "d", "p")
    free, damping = ca.MX.sym("free", *along.place.size_in(2)), ca.MX.sym("damping")
    g = gap(eq)(r, d, p)
    delta = along.place(retraction(eq)(r, d), d, free, damping, p, -g)
    return ca.Function("newton", [r, d, free, damping, p], [delta, g])


@once
def gap(eq: Equations) -> ca.Function:
    """(r, d, p) → g at r ⊕ d, metres or radians."""
    r, d = ca.SX.sym("r", eq.tree.nq), ca.SX.sym("d", eq.tree.nv)
    return ca.Function("gap", [r, d, eq.p], [ca.densify(closure(eq)(retraction(eq)(r, d), eq.p)[0])])


def judged(left: Any, now: Any, damping: Any, steps: Any, keep: bool = True) -> tuple[Any, Any, Any, Any]:
    """(better, over, damping, steps) after a step tried from a residual `left` to one of `now`.

    Numbers or symbols: whether it is taken, whether it was the last, the next damping, the count.

    The step from a closed pose is still taken, since at singular ones a gap g leaves the pose open by its
    root; but what is given closed stays as it is, unless `keep` is False.
    """
    better = now < left  # NaN is not better
    hopeless = ca.logic_or(left < ROUND_OFF, damping > MOST_DAMPING)
    better = ca.logic_and(better, ca.logic_or(left >= CLOSED, steps > 0)) if keep else better
    over = ca.logic_or(left < CLOSED, ca.logic_and(ca.logic_not(better), hopeless))
    less = ca.if_else(damping < LAST_DAMPING, 0, damping / 10)
    more = ca.fmax(10 * damping, FIRST_DAMPING)
    steps = steps + ca.logic_and(better, left >= CLOSED)
    return better, over, ca.if_else(better, less, more), steps


def closing(use: Pieces, tries: int, recentred: bool) -> ca.Function:
    """(r, d, free, p) → (r, d, g, steps): Newton's method until the loops are closed or nothing helps.

    `recentred` moves the reference along, d staying as it is: good for any way to go, and right where
    whole joints are held; otherwise r stays and d moves.
    """
    symbols = [ca.MX.sym(name, *use.newton.size_in(k)) for k, name in enumerate(("r", "d", "free", "e", "p"))]
    r, d, f, _, p = symbols
    sizes = (r.numel(), d.numel(), 1, 1, 1, f.numel(), p.numel())
    borders = [sum(sizes[:k]) for k in range(len(sizes) + 1)]
    start = ca.vertcat(r, d, 0, 0, 0, ca.vec(f), p)

    x = ca.MX.sym("x", borders[-1])
    r0, d0, damping, steps, _, f0, p0 = ca.vertsplit(x, borders)
    delta, g = use.newton(r0, d0, ca.reshape(f0, *f.shape), damping, p0)
    delta = LONGEST / ca.fmax(ca.norm_inf(delta / use.scales.speeds), LONGEST) * delta
    r1, d1 = (use.place(r0, delta), d0) if recentred else (r0, d0 + delta)
    g1 = use.gap(r1, d1, p0)
    left = use.size(g)
    better, over, next_damping, next_steps = judged(left, use.size(g1), damping, steps, recentred)
    r2, d2 = (ca.if_else(better, new, old) for new, old in ((r1, r0), (d1, d0)))
    attempt = ca.Function("attempt", [x], [ca.vertcat(r2, d2, next_damping, next_steps, over, f0, p0)])
    idle = ca.Function("idle", [x], [x])
    guarded = ca.Function.if_else("guarded", idle, attempt)
    body = ca.Function("body", [x], [guarded(x[borders[4]], x)])

    end = ca.vertsplit(body.fold(tries)(start), borders)
    return ca.Function("closing", [r, d, f, p], [end[0], end[1], use.gap(end[0], end[1], p), end[3]])


def assembly(eq: Equations) -> ca.Function:
    """(q, free, p) → (q, g, steps, closed): the closed pose near q, joints that are not free held."""
    use = pieces_by_joint(eq)
    q, f, p = eq.symbols("q", "free", "p")
    zero = ca.MX.zeros(eq.tree.nv, 1)
    start = use.place(q, zero)  # Euler parameters of any length become unit ones
    new, _, g, steps = closing(use, ASSEMBLY_TRIES, recentred=True)(start, zero, f, p)
    names = ["q", "free", "p"], ["q_new", "g", "steps", "closed"]
    return ca.Function("assembly", [q, f, p], [new, g, steps, use.size(g) < OPEN], *names)


@once
def slip(eq: Equations) -> ca.Function:
    """(q, v, p) → G v + b."""
    _, G, b = closure(eq)(eq.q, eq.p)
    return ca.Function("slip", [eq.q, eq.v, eq.p], [ca.densify(ca.sparsify(G) @ eq.v + b)])


def _speeds(eq: Equations, along: Follow) -> ca.Function:
    """(q, v, free, p) → v: what is free of v made to fit G v + b = 0 by the least change, the rest kept."""
    q, v, p = eq.symbols("q", "v", "p")
    shape = along.speed.size_in(2)
    name = "free" if shape[1] == 1 else "F"
    free = ca.MX.sym(name, *shape)
    new = v + along.speed(q, ca.MX.zeros(eq.tree.nv, 1), free, 0, p, -slip(eq)(q, v, p))
    return ca.Function("speeds", [q, v, free, p], [new], ["q", "v", name, "p"], ["v_new"])


def dependent_speeds(eq: Equations) -> ca.Function:
    """(q, v, free, p) → v: the free speeds made to fit G v + b = 0 by the least change, the others kept."""
    return pieces_by_joint(eq).speeds


def start_speeds(eq: Equations) -> ca.Function:
    """(q, s, held, s_cut, held_cut, p) → (v, fits): the least speeds that meet the loops and those wanted.

    s are speeds of the tree's joints as the user counts them, s_cut = W v those of cut joints; those
    with `held` 1 are met exactly. `fits` is 0 where the loops do not allow them together.
    """
    names = ["q", "s", "held", "s_cut", "held_cut", "p"]
    loops = cut_loops(eq.model, outward(eq.model, eq.q, eq.v))
    W = ca.jacobian(ca.vertcat(*(cut_speeds(loop.joint, loop.ends) for loop in loops), ca.SX(0, 1)), eq.v)
    s, held = ca.SX.sym("s", eq.tree.nv), ca.SX.sym("held", eq.tree.nv)
    s_cut, held_cut = ca.SX.sym("s_cut", W.shape[0]), ca.SX.sym("held_cut", W.shape[0])
    _, G, b = closure(eq)(eq.q, eq.p)
    G, asked = ca.sparsify(G), held_cut * s_cut
    J, wanted = ca.vertcat(G, ca.diag(held_cut) @ W), ca.vertcat(-b, asked)
    groups = [*eq.scales.groups, *([k] for k in range(G.shape[0], J.shape[0]))]
    v = held * engine_speeds(eq)(eq.q, s)
    F = ca.diag((1 - held) * eq.scales.speeds**2)
    v = v + F @ (J.T @ closing_multipliers(eq, J, F, ca.densify(wanted - J @ v), groups=groups))
    size = ca.norm_fro(G) * ca.norm_2(v) + ca.norm_2(b)
    slips = ((G @ v + b, size), (held_cut * (W @ v) - asked, ca.norm_2(asked)))
    fits = ca.SX(1)
    for slip, size in slips:
        fits = ca.logic_and(fits, ca.norm_2(ca.densify(slip)) <= SLIP * size)
    return ca.Function(
        "start_speeds", [eq.q, s, held, s_cut, held_cut, eq.p], [ca.densify(v), fits], names, ["v", "fits"]
    )


def start_speeds_of_tree(eq: Equations) -> ca.Function:
    """(q, s, held, p) → (v, fits): the same where no speeds of cut joints are wanted.

    By what closes loops too, so that it stands once in generated code.
    """
    q, s, held, p = eq.symbols("q", "s", "held", "p")
    v = pieces_by_joint(eq).speeds(q, held * engine_speeds(eq)(q, s), 1 - held, p)
    _, G, b = closure(eq)(q, p)
    size = ca.norm_fro(G) * ca.norm_2(v) + ca.norm_2(b)
    return ca.Function("start_speeds", [q, s, held, p], [v, ca.norm_2(slip(eq)(q, v, p)) <= SLIP * size])


def engine_speeds(eq: Equations) -> ca.Function:
    """(q, s) → v: speeds as the user counts them into the engine's; they differ for reversed balls."""
    s = ca.SX.sym("s", eq.tree.nv)
    v = ca.SX(s)
    for move, link in eq.tree.moves:
        v[link.v] = move.engine_speed(eq.q[link.q], s[link.v], link.reverse)
    return ca.Function("engine_speeds", [eq.q, s], [v])
