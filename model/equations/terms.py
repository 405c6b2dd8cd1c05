"""The mechanism's own equations: every function the engine evaluates, traced once.

All take the same arguments: q coordinates (nq), v speeds (nv), u inputs, p parameters. The
functions are CasADi SX functions, straight-line code with the constants folded in;
`compile/kernel.py` runs them.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial, wraps
from typing import Any, NamedTuple, TypeVar

import casadi as ca
import numpy as np

from ..describe import parameters
from ..describe.mechanism import Mechanism
from ..describe.motors import signal_names
from ..thresholds import LONG_TREE, SHORT_TREE, SWEEPS_EACH
from .absolute import Free, free_links, own_speeds, solved_speeds
from .articulated import Articulated, articulated
from .dynamics import joint_wrenches, mass_matrix, onto_joints
from .forces import Applied, applied
from .functions import concise, dense
from .kinematics import Model, Motion, normalized, outward, position_rates
from .loops import CutLoop, cut_loops, loop_jacobian, of_poses, own_rates, residual, velocity_terms
from .prescribed import accelerated, driven_joint, driven_ties, motion_symbols, tie_rows
from .scales import Scales, scales
from .solve import (
    Constrained,
    Factor,
    accelerations,
    constrained,
    factorize,
    leaves_first,
    onto_manifold,
    shortest_order,
)
from .spatial import lumped
from .topology import Tree, span, start_coordinates


@dataclass(frozen=True)
class Equations:
    """A mechanism with symbols: the model and the arguments of all its functions."""

    model: Model
    q: Any
    v: Any
    u: Any
    p: Any  # parameters, and driven motions behind them
    parameters: tuple[Any, ...]  # layout of p, from `parameters.symbolic`
    scales: Scales
    described: Mechanism  # the same with numbers
    traced: dict[str, Any] = field(default_factory=dict, compare=False, repr=False)  # what `once` keeps

    def symbols(self, *names: str) -> list[Any]:
        """MX symbols, as long as what they are called after; those not known here have a number a speed."""
        known = {"q": self.q.numel(), "r": self.q.numel(), "u": self.u.numel(), "p": self.p.numel()}
        known |= {"w": 2 * self.u.numel(), "work": 1, "h": 1, "error": 1}
        return [ca.MX.sym(name, known.get(name.rstrip("01"), self.v.numel())) for name in names]

    @property
    def tree(self) -> Tree:
        return self.model.tree

    @property
    def mechanism(self) -> Mechanism:
        return self.model.mechanism


Traced = TypeVar("Traced")


def once(trace: Callable[[Equations], Traced]) -> Callable[[Equations], Traced]:
    """Trace what follows from the equations alone once for all who call it, in Python and in generated C."""

    @wraps(trace)
    def kept(eq: Equations) -> Traced:
        if trace.__name__ not in eq.traced:
            eq.traced[trace.__name__] = trace(eq)
        found: Traced = eq.traced[trace.__name__]
        return found

    return kept


class Forces(NamedTuple):
    """All terms of M v̇ + Gᵀλ = τ − h, G v̇ = γ at a state."""

    motion: Motion
    loops: list[CutLoop]
    applied: Applied
    G: Any
    right: Any  # τ − h
    gamma: Any
    b: Any  # G v + b = 0


class AtRest(NamedTuple):
    """What a pose alone decides: residual, Jacobian and surface rates of the loops; the links, the loops."""

    g: Any
    G: Any
    b: Any
    motion: Motion
    loops: list[CutLoop]


def equations(mechanism: Mechanism) -> Equations:
    """Choose the tree and lay out the symbols."""
    tree = span(mechanism)
    symbolic, p, layout = parameters.symbolic(mechanism)
    motions, by_motor = motion_symbols(mechanism)
    return Equations(
        Model(lumped(symbolic), tree, by_motor),
        ca.SX.sym("q", tree.nq),
        ca.SX.sym("v", tree.nv),
        ca.SX.sym("u", len(mechanism.inputs())),
        ca.vertcat(p, motions),
        layout,
        scales(mechanism, tree),
        mechanism,
    )


def described_start(eq: Equations) -> tuple[np.ndarray, np.ndarray]:
    """q and p as described, not assembled; driven motions of the tree's joints are where these start."""
    mechanism, q = eq.described, start_coordinates(eq.described, eq.tree)
    motions = [
        q[eq.tree.q[joint].start]
        if name == motor.name and (joint := driven_joint(motor)) in eq.tree.q
        else 0.0
        for motor in mechanism.driven
        for name in signal_names(motor)
    ]
    return q, np.concatenate([parameters.default_vector(mechanism), motions])


@once
def terms(eq: Equations) -> Forces:
    """Loop Jacobian and right-hand sides, shared by all formulations."""
    motion = outward(eq.model, eq.q, eq.v)
    loops = cut_loops(eq.model, motion)
    act = applied(eq.model, motion, loops, eq.q, eq.v, eq.u)
    return Forces(
        motion,
        loops,
        act,
        loop_jacobian(eq.model, motion, loops),
        _right(eq, motion, act),
        -velocity_terms(eq.model, motion, loops),
        own_rates(eq.model, motion, loops),
    )


def _right(eq: Equations, motion: Motion, act: Applied, free: Free = ()) -> Any:
    """τ − h, with what the inertia lent to driven joints takes."""
    passed = {i: act.tau[eq.tree.links[i].v] for i in free}
    right = act.tau - onto_joints(eq.model, joint_wrenches(eq.model, motion, act.wrenches, passed))
    return right + carried_along(eq) * _driven_accelerations(eq) if eq.tree.driven else right


def _driven_accelerations(eq: Equations) -> Any:
    """s̈ at the speeds of driven joints of the tree, nv."""
    found = ca.SX(eq.tree.nv, 1)
    for motor in eq.tree.driven:
        if (joint := driven_joint(motor)) in eq.tree.v:
            found[eq.tree.v[joint].start] = eq.model.motions[motor.name].dds
    return found


def carried_along(eq: Equations) -> Any:
    """Inertia lent to driven joints of the tree, nv: M + GᵀΣG with τ + GᵀΣγ moves as M with τ does.

    A base without mass of its own, which only its motors move, has a mass matrix that can be inverted so.
    """
    lent = ca.SX(eq.tree.nv, 1)
    mass = sum(body.mass for body in lumped(eq.described).bodies)
    for motor in eq.tree.driven:
        if (joint := driven_joint(motor)) in eq.tree.v:
            k = eq.tree.v[joint].start
            lent[k] = mass * eq.scales.length ** (0 if eq.scales.speeds[k] != 1.0 else 2)
    return lent


@once
def motion_under_forces(eq: Equations) -> tuple[Any, Any]:
    """v̇ and λ of M v̇ + Gᵀλ = τ − h, G v̇ = γ; behind the loops' multipliers those of given accelerations."""
    t = terms(eq)
    motors = accelerated(eq.mechanism)
    if not motors:
        free = free_speeds(eq)
        system = _prepared(eq, t.motion, loop_jacobian(eq.model, t.motion, t.loops, free))
        return accelerations(system, _right(eq, t.motion, t.applied, free), t.gamma)
    inputs, driven = eq.mechanism.inputs(), driven_ties(eq.model, t.motion, t.loops, motors)
    wanted = [eq.u[inputs.index(m.name)] - x.tie.acceleration for m, x in zip(motors, driven, strict=True)]
    groups = [*eq.scales.groups, *([t.G.shape[0] + n] for n in range(len(motors)))]
    rows = ca.sparsify(ca.vertcat(t.G, tie_rows(eq.model, driven)))
    return accelerations(constrained(inertia(eq), rows, groups), t.right, ca.vertcat(t.gamma, *wanted))


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
    return concise("dynamics", [eq.q, eq.v, eq.u, eq.p], [dv, lam], *names, merged=free_speeds(eq))


@once
def rates(eq: Equations) -> ca.Function:
    """(q, v, u, p) → (q̇, v̇, power): what the integrators integrate; power changes the energy."""
    dv, _ = motion_under_forces(eq)
    dq = position_rates(eq.model, eq.q, eq.v)
    if nz := eq.tree.nz:
        dq[-nz:] = terms(eq).applied.rates
    power = supplied(eq) - terms(eq).applied.dissipated
    names = ["q", "v", "u", "p"], ["dq", "dv", "power"]
    return concise("rates", [eq.q, eq.v, eq.u, eq.p], [dq, dv, power], *names, merged=free_speeds(eq))


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
    pivots = _by_bodies(eq, at_rest(eq).motion.f).pivots
    return ca.Function("mass_pivots", [eq.q, eq.p], [pivots], ["q", "p"], ["pivots"])


@once
def project_position(eq: Equations) -> ca.Function:
    """(q, p) → q: one Newton step onto g(q) = 0, the shortest in the mass metric (004, 3.10)."""
    delta = onto_manifold(pose_metric(eq), -at_rest(eq).g, SWEEPS_EACH)
    q = normalized(eq.model, eq.q + position_rates(eq.model, eq.q, delta))
    return concise("project_position", [eq.q, eq.p], [q], ["q", "p"], ["q_new"], merged=free_speeds(eq))


@once
def project_velocity(eq: Equations) -> ca.Function:
    """(q, v, p) → v: onto G v + b = 0, the nearest in the mass metric, so no power is put in."""
    delta = onto_manifold(metric(eq), -loop_rates(eq))
    names = ["q", "v", "p"], ["v_new"]
    return concise("project_velocity", [eq.q, eq.v, eq.p], [eq.v + delta], *names, merged=free_speeds(eq))


@once
def retraction(eq: Equations) -> ca.Function:
    """(q, δ) → q: move along speeds δ for unit time, Euler parameters kept at length one."""
    delta = ca.SX.sym("delta", eq.tree.nv)
    q = normalized(eq.model, eq.q + position_rates(eq.model, eq.q, delta))
    return ca.Function("retraction", [eq.q, delta], [q], ["q", "delta"], ["q_new"])


@once
def at_rest(eq: Equations) -> AtRest:
    motion = outward(eq.model, eq.q, ca.SX.zeros(eq.tree.nv, 1))
    loops = cut_loops(eq.model, motion)
    G, b = loop_jacobian(eq.model, motion, loops), own_rates(eq.model, motion, loops)
    return AtRest(residual(eq.model, motion, loops), G, b, motion, loops)


@once
def mass(eq: Equations) -> Any:
    """M(q), with what is lent to driven joints."""
    return _mass(eq, terms(eq).motion.f)


def _mass(eq: Equations, f: Any, free: Free = ()) -> Any:
    M = mass_matrix(eq.model, f, free)
    return M + ca.diag(carried_along(eq)) if eq.tree.driven else M


@once
def inertia(eq: Equations) -> Factor | Articulated:
    """The same ready to be solved with, in the form that takes fewer operations."""
    return _by_bodies(eq, terms(eq).motion.f) if by_bodies(eq) else leaves_first(mass(eq))


def _by_bodies(eq: Equations, f: Any) -> Articulated:
    return articulated(eq.model, f, carried_along(eq))


@once
def by_bodies(eq: Equations) -> bool:
    """Whether articulated bodies solve with M in fewer operations than M written out and eliminated.

    Counted where it is open: short trees take fewer written out, long ones would take too long to count.
    """
    deepest = max((eq.tree.speeds_above(i) for i in range(len(eq.tree.links))), default=0)
    if not SHORT_TREE < deepest <= LONG_TREE:
        return deepest > LONG_TREE
    at, f = at_rest(eq), ca.SX.sym("f", eq.tree.nv)
    c = ca.SX.sym("c", eq.tree.row_count)
    ways = _by_bodies(eq, at.motion.f), leaves_first(_mass(eq, at.motion.f))
    solved = (accelerations(constrained(way, at.G, eq.scales.groups), f, c) for way in ways)
    by_bodies, written = (ca.Function("f", [eq.q, eq.p, f, c], list(x)).n_instructions() for x in solved)
    return by_bodies < written


@once
def free_speeds(eq: Equations) -> Free:
    """Links whose turning is counted from the world where systems are solved; not by articulated bodies."""
    return () if by_bodies(eq) else free_links(eq.model)


@once
def metric(eq: Equations) -> Constrained:
    """M and G prepared for projections, which are shortest in the mass metric."""
    return _prepared(eq, at_rest(eq).motion, _solved_jacobian(eq))


@once
def pose_metric(eq: Equations) -> Constrained:
    """The same with the rows that hold poses alone."""
    if all(eq.tree.holds_poses):
        return metric(eq)
    return _prepared(eq, at_rest(eq).motion, of_poses(eq.model, _solved_jacobian(eq)))


@once
def loop_rates(eq: Equations) -> Any:
    """G v + b, m: zero for speeds that fit."""
    v = solved_speeds(eq.model, at_rest(eq).motion.f, free_speeds(eq), eq.v)
    return _solved_jacobian(eq) @ v + at_rest(eq).b


@once
def _solved_jacobian(eq: Equations) -> Any:
    """G of the speeds in which systems are solved."""
    at = at_rest(eq)
    return loop_jacobian(eq.model, at.motion, at.loops, free_speeds(eq))


def _prepared(eq: Equations, motion: Motion, G: Any) -> Constrained:
    """M and rows for the speeds in which systems are solved (`absolute.py`), ready for right-hand sides."""
    free = free_speeds(eq)
    if by_bodies(eq):
        return constrained(_by_bodies(eq, motion.f), G, eq.scales.groups)
    M = _mass(eq, motion.f, free)
    factor = factorize(M, _order(eq)) if free and eq.tree.cuts else leaves_first(M)
    return constrained(factor, G, eq.scales.groups, partial(own_speeds, eq.model, motion.f, free))


@once
def _order(eq: Equations) -> list[int]:
    """In which speeds are eliminated where loops may share a ball; elsewhere there is nothing to choose."""
    return shortest_order(_mass(eq, at_rest(eq).motion.f, free_speeds(eq)), _solved_jacobian(eq))
