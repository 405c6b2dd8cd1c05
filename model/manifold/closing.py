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

from collections.abc import Callable
from math import pi
from typing import Any, NamedTuple

import casadi as ca

from ..base.thresholds import (
    ASSEMBLY_TRIES,
    CLOSED,
    FIRST_DAMPING,
    LAST_DAMPING,
    LONGEST,
    MOST_DAMPING,
    NOTHING,
    OPEN,
    REGULARIZATION,
    ROUND_OFF,
    SAME_WAY,
    SLIP,
)
from ..equations.kinematics import outward
from ..equations.loops import cut_loops, of_poses
from ..equations.motion_drives import driven_joint
from ..equations.scales import Scales
from ..equations.solve import Groups, factorize, least_degree, proximal, regularize
from ..equations.terms import Equations, at_rest, described_start, once
from ..equations.traced import closure, project_velocity, retraction
from ..joints.measured import cut_speeds
from ..joints.types import TYPES


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


def closing_solver(
    eq: Equations, J: Any, F: Any, damping: Any = 0, groups: Groups | None = None, soft: Any = None
) -> Callable[[Any], Any]:
    """c → λ of (J F Jᵀ + ε)λ = c; x = F Jᵀλ is then the shortest one with J x = c and x = F x.

    Without damping ε fades by proximal sweeps; a damping of the mean diagonal stays. J has the rows of the
    loops unless it is told which of its rows are measured together. What rolls has rows of which the free
    directions may see nothing, as the spin of a wheel sees nothing of its height: round-off is no hold.
    `soft` gives rows a compliance that stays, J x + soft λ = c.
    """
    if not J.shape[0]:
        return lambda c: ca.SX(0, 1)
    S = ca.SX(J @ F @ J.T)
    if soft is not None:
        S += ca.diag(soft)
    whole = 0.0 if all(eq.tree.holds_poses) else ca.sum2((J @ ca.diag(ca.DM(eq.scales.speeds))) ** 2)
    mu = regularize(S, groups or eq.scales.groups, REGULARIZATION + damping, NOTHING**2 * whole)
    fading = mu if isinstance(damping, int) else ca.if_else(damping > 0, 0, mu)
    factor = factorize(S, least_degree(S))
    return lambda c: proximal(factor, fading, c)


def closing_multipliers(
    eq: Equations, J: Any, F: Any, c: Any, damping: Any = 0, groups: Groups | None = None
) -> Any:
    """The same for one c."""
    return closing_solver(eq, J, F, damping, groups)(c)


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
    G = ca.sparsify(at_rest(eq).G)
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
    """(r, d, free, damping, s, p) → (δ, g): a step of Newton's method, and the residual before it."""
    r, d, s, p = eq.symbols("r", "d", "s", "p")
    free, damping = ca.MX.sym("free", *along.place.size_in(2)), ca.MX.sym("damping")
    g = gap(eq)(r, d, s, p)
    delta = along.place(retraction(eq)(r, d), d, free, damping, p, -g)
    return ca.Function("newton", [r, d, free, damping, s, p], [delta, g])


@once
def gap(eq: Equations) -> ca.Function:
    """(r, d, s, p) → g at r ⊕ d, metres or radians."""
    r, d = ca.SX.sym("r", eq.tree.nq), ca.SX.sym("d", eq.tree.nv)
    g = closure(eq)(retraction(eq)(r, d), eq.s, eq.p)[0]
    return ca.Function("gap", [r, d, eq.s, eq.p], [ca.densify(g)])


def judge_step(left: Any, now: Any, damping: Any, steps: Any, keep: bool = True) -> tuple[Any, Any, Any, Any]:
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
    """(r, d, free, s, p) → (r, d, g, steps): Newton's method until the loops are closed or nothing helps.

    `recentred` moves the reference along, d staying as it is: good for any way to go, and right where
    whole joints are held; otherwise r stays and d moves.
    """
    names = ("r", "d", "free", "e", "s", "p")
    r, d, f, _, s, p = (ca.MX.sym(name, *use.newton.size_in(k)) for k, name in enumerate(names))
    sizes = (r.numel(), d.numel(), 1, 1, 1, f.numel(), s.numel(), p.numel())
    borders = [sum(sizes[:k]) for k in range(len(sizes) + 1)]
    start = ca.vertcat(r, d, 0, 0, 0, ca.vec(f), s, p)

    x = ca.MX.sym("x", borders[-1])
    r0, d0, damping, steps, _, f0, s0, p0 = ca.vertsplit(x, borders)
    delta, g = use.newton(r0, d0, ca.reshape(f0, *f.shape), damping, s0, p0)
    delta = LONGEST / ca.fmax(ca.norm_inf(delta / use.scales.speeds), LONGEST) * delta
    r1, d1 = (use.place(r0, delta), d0) if recentred else (r0, d0 + delta)
    g1 = use.gap(r1, d1, s0, p0)
    left = use.size(g)
    better, over, next_damping, next_steps = judge_step(left, use.size(g1), damping, steps, recentred)
    r2, d2 = (ca.if_else(better, new, old) for new, old in ((r1, r0), (d1, d0)))
    attempt = ca.Function("attempt", [x], [ca.vertcat(r2, d2, next_damping, next_steps, over, f0, s0, p0)])
    idle = ca.Function("idle", [x], [x])
    guarded = ca.Function.if_else("guarded", idle, attempt)
    body = ca.Function("body", [x], [guarded(x[borders[4]], x)])

    end = ca.vertsplit(body.fold(tries)(start), borders)
    return ca.Function("closing", [r, d, f, s, p], [end[0], end[1], use.gap(end[0], end[1], s, p), end[3]])


def turned_over(eq: Equations) -> ca.Function:
    """(q, p) → g, m: half a turn in the first row of a loop whose axes meet the wrong way round.

    u·w = 0 holds for an axis and for the opposite one, and three such rows for axes that have changed places.
    In the tree there is but the one way, so what is cut has no other; no motion leads from one to the other.
    """
    g = ca.SX.zeros(eq.tree.row_count, 1)
    for loop in cut_loops(eq.model, outward(eq.model, eq.q, ca.SX.zeros(eq.tree.nv, 1))):
        for k in TYPES[loop.joint.type].aligned:
            other = ca.dot(loop.ends.Ri[:, k], loop.ends.Rj[:, k]) < SAME_WAY
            row = eq.tree.rows[loop.joint.name].start
            g[row] = ca.fmax(g[row], ca.if_else(other, pi, 0))
    return ca.Function("turned_over", [eq.q, eq.p], [g])


def assembly(eq: Equations) -> ca.Function:
    """(q, free, s, p) → (q, g, steps, closed): the closed pose near q, joints that are not free held."""
    use = pieces_by_joint(eq)
    q, f, s, p = symbols = eq.symbols("q", "free", "s", "p")
    zero = ca.MX.zeros(eq.tree.nv, 1)
    start = use.place(q, zero)  # Euler parameters of any length become unit ones
    new, _, g, steps = closing(use, ASSEMBLY_TRIES, recentred=True)(start, zero, f, s, p)
    g = g + turned_over(eq)(new, p)
    names = ["q", "free", "s", "p"], ["q_new", "g", "steps", "closed"]
    return ca.Function("assembly", symbols, [new, g, steps, use.size(g) < OPEN], *names)


@once
def slip(eq: Equations) -> ca.Function:
    """(q, v, s, p) → G v + b."""
    _, G, b = closure(eq)(eq.q, eq.s, eq.p)
    return ca.Function("slip", [eq.q, eq.v, eq.s, eq.p], [ca.densify(ca.sparsify(G) @ eq.v + b)])


def _speeds(eq: Equations, along: Follow) -> ca.Function:
    """(q, v, free, s, p) → v: what is free made to fit G v + b = 0 by the least change, the rest kept."""
    q, v, s, p = eq.symbols("q", "v", "s", "p")
    shape = along.speed.size_in(2)
    name = "free" if shape[1] == 1 else "F"
    free = ca.MX.sym(name, *shape)
    new = v + along.speed(q, ca.MX.zeros(eq.tree.nv, 1), free, 0, p, -slip(eq)(q, v, s, p))
    return ca.Function("speeds", [q, v, free, s, p], [new], ["q", "v", name, "s", "p"], ["v_new"])


def dependent_speeds(eq: Equations) -> ca.Function:
    """(q, v, free, s, p) → v: the free speeds made to fit G v + b = 0 by the least change, others kept."""
    return pieces_by_joint(eq).speeds


def start_speeds(eq: Equations) -> ca.Function:
    """(q, x, held, x_cut, held_cut, s, p) → (v, fits): the least speeds that meet the loops and those wanted.

    x are speeds of the tree's joints as the user counts them, x_cut = W v those of cut joints; those
    with `held` 1 are met exactly. `fits` is 0 where the loops do not allow them together. Where it is other
    parameters that do not allow the described ones, the nearest in the mass metric are taken instead.
    """
    names = ["q", "x", "held", "x_cut", "held_cut", "s", "p"]
    loops = cut_loops(eq.model, outward(eq.model, eq.q, eq.v))
    W = ca.jacobian(ca.vertcat(*(cut_speeds(loop.joint, loop.ends) for loop in loops), ca.SX(0, 1)), eq.v)
    x, held = ca.SX.sym("x", eq.tree.nv), ca.SX.sym("held", eq.tree.nv)
    x_cut, held_cut = ca.SX.sym("x_cut", W.shape[0]), ca.SX.sym("held_cut", W.shape[0])
    _, G, b = closure(eq)(eq.q, eq.s, eq.p)
    G, asked = ca.sparsify(G), held_cut * x_cut
    J, wanted = ca.vertcat(G, ca.diag(held_cut) @ W), ca.vertcat(-b, asked)
    groups = [*eq.scales.groups, *([k] for k in range(G.shape[0], J.shape[0]))]
    v = held * engine_speeds(eq)(eq.q, x)
    F = ca.diag((1 - held) * eq.scales.speeds**2)
    v = v + F @ (J.T @ closing_multipliers(eq, J, F, ca.densify(wanted - J @ v), groups=groups))
    size = ca.norm_fro(G) * ca.norm_2(v) + ca.norm_2(b)
    slips = ((G @ v + b, size), (held_cut * (W @ v) - asked, ca.norm_2(asked)))
    fits = ca.SX(1)
    for slip, size in slips:
        fits = ca.logic_and(fits, ca.norm_2(ca.densify(slip)) <= SLIP * size)
    arguments = [eq.q, x, held, x_cut, held_cut, eq.s, eq.p]
    v, fits = _nearest_described(eq, (ca.densify(v), fits), (x, held, x_cut, held_cut), (eq.q, eq.s, eq.p))
    return ca.Function("start_speeds", arguments, [v, fits], names, ["v", "fits"])


def start_speeds_of_tree(eq: Equations) -> ca.Function:
    """(q, x, held, s, p) → (v, fits): the same where no speeds of cut joints are wanted.

    By what closes loops too, so that it stands once in generated code.
    """
    q, x, held, s, p = symbols = eq.symbols("q", "x", "held", "s", "p")
    v = pieces_by_joint(eq).speeds(q, held * engine_speeds(eq)(q, x), 1 - held, s, p)
    _, G, b = closure(eq)(q, s, p)
    size = ca.norm_fro(G) * ca.norm_2(v) + ca.norm_2(b)
    fits = ca.norm_2(slip(eq)(q, v, s, p)) <= SLIP * size
    return ca.Function("start_speeds", symbols, _nearest_described(eq, (v, fits), (x, held), (q, s, p)))


def _nearest_described(
    eq: Equations, found: tuple[Any, Any], asked: tuple[Any, ...], at: tuple[Any, Any, Any]
) -> tuple[Any, Any]:
    """v and `fits`, v on the loops if other parameters do not let the described speeds be."""
    (v, fits), (q, s, p), told = found, at, described_speeds(eq)
    if not p.numel() or not told:
        return found
    tree = eq.tree
    whole = [ca.DM.zeros(x.numel()) for x in asked]
    for joint, speed in told.items():
        n, where = (0, tree.v[joint]) if joint in tree.v else (2, tree.cut_v[joint])
        if n < len(whole):
            whole[n][where], whole[n + 1][where] = speed, 1.0
    other = ca.norm_1(p - ca.DM(described_start(eq)[2])) > 0
    same = sum(ca.norm_1(x - y) for x, y in zip(asked, whole, strict=True) if x.numel()) == 0
    spare = ca.logic_and(ca.logic_and(other, same), ca.logic_not(fits))
    return ca.if_else(spare, project_velocity(eq)(q, v, s, p), v), ca.logic_or(fits, spare)


def described_speeds(eq: Equations) -> dict[str, Any]:
    """The speeds that the description asks for, by joint; those of driven joints are told by their motors."""
    led = {driven_joint(item) for item in eq.described.driven}
    return {j.name: j.speed for j in eq.described.joints if j.speed and j.name not in led}


def engine_speeds(eq: Equations) -> ca.Function:
    """(q, x) → v: speeds as the user counts them into the engine's; they differ for reversed balls."""
    x = ca.SX.sym("x", eq.tree.nv)
    v = ca.SX(x)
    for move, link in eq.tree.moves:
        v[link.v] = move.engine_speed(eq.q[link.q], x[link.v], link.reverse)
    return ca.Function("engine_speeds", [eq.q, x], [v])
