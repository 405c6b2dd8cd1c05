"""The terms of a mechanism's own equations, over symbols: M v̇ + Gᵀλ = τ − h, G v̇ = γ.

These are Lagrange's equations of the first kind, λ the Lagrange multipliers. With g(q) = 0 they would be
differential-algebraic of index 3; index reduction, g differentiated twice, leaves index 1, and the step
projects onto g = 0 and G v + b = 0 so that nothing drifts (`manifold/step.py`).

Arguments have one name each: q coordinates (nq), v speeds (nv), z internal states of drives and friction
(nz), u inputs, s the driven motions among these, p parameters. A function takes those that it needs, in this
order: s where loops need it, u where forces do. What systems of terms are solved by is in `solver_choice.py`,
the functions made of them in `traced.py`.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import wraps
from typing import Any, NamedTuple, TypeVar

import casadi as ca
import numpy as np

from ..describe import parameters
from ..describe.mechanism import Mechanism
from ..describe.motors import signal_names
from .absolute import NOT_FREE, FreeLinks, solved_forces
from .dynamics import joint_wrenches, mass_matrix, onto_joints
from .forces import Applied, applied
from .halves import Half, choose_halves, halve, measured_start
from .kinematics import Model, Motion, outward
from .loops import CutLoop, cut_loops, loop_jacobian, own_rates, residual, velocity_terms
from .motion_drives import driven_joint, motion_places, motion_symbols
from .scales import Scales, scales
from .spatial import lump_point_masses
from .topology import Tree, span, start_coordinates
from .turn_counts import turn_counts


@dataclass(frozen=True)
class Equations:
    """A mechanism with symbols: the model and the arguments of all its functions."""

    model: Model
    q: Any
    v: Any
    z: Any
    u: Any
    p: Any
    parameters: tuple[Any, ...]  # layout of p, from `parameters.symbolic`
    scales: Scales
    described: Mechanism  # the same with numbers
    halves: tuple[Half, ...] = ()  # bodies split where loops are cut beside a joint
    traced: dict[str, Any] = field(default_factory=dict, compare=False, repr=False)  # what `once` keeps

    def symbols(self, *names: str) -> list[Any]:
        """MX symbols, as long as what they are called after; those not known here have a number a speed."""
        own = {"q": self.q, "r": self.q, "z": self.z, "u": self.u, "s": self.s, "p": self.p}
        known = {name: x.numel() for name, x in own.items()}
        known |= {"w": 2 * self.u.numel(), "work": 1, "h": 1, "error": 1}
        return [ca.MX.sym(name, known.get(name.rstrip("01"), self.v.numel())) for name in names]

    @property
    def s(self) -> Any:
        """Driven motions: the symbols of these inputs themselves, so that no function takes both s and u."""
        return self.motions(self.u)

    def motions(self, u: Any) -> Any:
        """s of inputs u (and what may stand behind them)."""
        places = motion_places(self.mechanism)
        return u[places, 0] if places else type(u)(0, 1)

    @property
    def tree(self) -> Tree:
        return self.model.tree

    @property
    def mechanism(self) -> Mechanism:
        return self.model.mechanism


Traced = TypeVar("Traced")
_OWNERS: dict[str, str] = {}  # module of each function that is kept, by the name it is kept under


def once(trace: Callable[[Equations], Traced]) -> Callable[[Equations], Traced]:
    """Trace what follows from the equations alone once for all who call it, in Python and in generated C."""
    if _OWNERS.setdefault(trace.__name__, trace.__module__) != trace.__module__:
        raise AssertionError(f"{_OWNERS[trace.__name__]} keeps a '{trace.__name__}' already")

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


def equations(mechanism: Mechanism, beside: bool = True) -> Equations:
    """Choose the tree and lay out the symbols; not `beside`: joints are cut, whatever acts on them."""
    symbolic, p, layout = parameters.symbolic(mechanism)
    halves = choose_halves(mechanism, symbolic) if beside else ()
    opened = halve(lump_point_masses(mechanism), halves)
    tree = replace(span(opened), beside={half.weld: half.joint for half in halves})
    u = ca.SX.sym("u", len(mechanism.inputs()))
    counts = turn_counts(Model(opened, tree))
    return Equations(
        Model(halve(lump_point_masses(symbolic), halves), tree, motion_symbols(mechanism, u), counts),
        ca.SX.sym("q", tree.nq),
        ca.SX.sym("v", tree.nv),
        ca.SX.sym("z", tree.nz),
        u,
        p,
        layout,
        scales(mechanism, tree),
        mechanism,
        halves,
    )


def start_pose(eq: Equations) -> np.ndarray:
    """Guess of q: `start` of each joint, or where it is drawn; beside a cut, where the others put it."""
    q = start_coordinates(eq.described, eq.tree)
    if not eq.halves:
        return q
    opened = Model(halve(lump_point_masses(eq.described), eq.halves), eq.tree)
    return measured_start(opened, eq.halves, q)


def described_start(eq: Equations) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """q, s and p as described, not assembled; driven motions of the tree's joints are where these start."""
    mechanism, q = eq.described, start_pose(eq)
    motions = [
        q[eq.tree.q[joint].start]
        if name == motor.name and (joint := driven_joint(motor)) in eq.tree.q
        else 0.0
        for motor in mechanism.driven
        for name in signal_names(motor)
    ]
    return q, np.array(motions, float), parameters.default_vector(mechanism)


@once
def terms(eq: Equations) -> Forces:
    """Loop Jacobian and right-hand sides, shared by all formulations."""
    motion = outward(eq.model, eq.q, eq.v)
    loops = cut_loops(eq.model, motion)
    act = applied(eq.model, motion, loops, eq.q, eq.v, eq.z, eq.u)
    return Forces(
        motion,
        loops,
        act,
        loop_jacobian(eq.model, motion, loops),
        right_side(eq, motion, act),
        -velocity_terms(eq.model, motion, loops),
        own_rates(eq.model, motion, loops),
    )


def right_side(eq: Equations, motion: Motion, act: Applied, free: FreeLinks = NOT_FREE) -> Any:
    """τ − h, with what the inertia lent to driven joints takes."""
    passed = {i: act.tau[eq.tree.links[i].v] for i in free.links}
    right = act.tau - onto_joints(eq.model, joint_wrenches(eq.model, motion, act.wrenches, passed))
    right = solved_forces(motion, eq.tree, free, right)
    return right + lent_inertia(eq) * driven_accelerations(eq) if eq.tree.driven else right


def driven_accelerations(eq: Equations) -> Any:
    """s̈ at the speeds of driven joints of the tree, nv."""
    found = ca.SX(eq.tree.nv, 1)
    for motor in eq.tree.driven:
        if (joint := driven_joint(motor)) in eq.tree.v:
            found[eq.tree.v[joint].start] = eq.model.motions[motor.name].dds
    return found


def lent_inertia(eq: Equations) -> Any:
    """Inertia lent to driven joints of the tree, nv: M + GᵀΣG with τ + GᵀΣγ moves as M with τ does.

    A base without mass of its own, which only its motors move, has a mass matrix that can be inverted so.
    """
    lent = ca.SX(eq.tree.nv, 1)
    mass = sum(body.mass for body in lump_point_masses(eq.described).bodies) or 1.0
    for motor in eq.tree.driven:
        if (joint := driven_joint(motor)) in eq.tree.v:
            k = eq.tree.v[joint].start
            lent[k] = mass * eq.scales.length ** (0 if eq.scales.speeds[k] != 1.0 else 2)
    return lent


@once
def at_rest(eq: Equations) -> AtRest:
    motion = outward(eq.model, eq.q, ca.SX.zeros(eq.tree.nv, 1))
    loops = cut_loops(eq.model, motion)
    G, b = loop_jacobian(eq.model, motion, loops), own_rates(eq.model, motion, loops)
    return AtRest(residual(eq.model, motion, loops), G, b, motion, loops)


@once
def mass(eq: Equations) -> Any:
    """M(q), with what is lent to driven joints."""
    return mass_of(eq, terms(eq).motion)


def mass_of(eq: Equations, motion: Motion, free: FreeLinks = NOT_FREE) -> Any:
    """The same at a motion, for speeds that may be counted from the world."""
    M = mass_matrix(eq.model, motion, free)
    return M + ca.diag(lent_inertia(eq)) if eq.tree.driven else M
