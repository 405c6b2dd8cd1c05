"""M and G ready for right-hand sides, in the speeds and the order that take the fewest operations."""

from functools import partial
from typing import Any, NamedTuple

import casadi as ca

from ..base.thresholds import LONG_TREE, SHORT_TREE
from .absolute import NOT_FREE, FreeLinks, free_links, own_speeds, solved_speeds
from .articulated import Articulated, factorize_articulated
from .dynamics import bent_rotors
from .kinematics import Motion
from .loops import loop_jacobian, of_poses
from .platform_schur import OnTrunk, on_trunk, trunk_of
from .solve import Constrained, Factor, factorize, factorize_constrained, leaves_first, shortest_order
from .terms import Equations, at_rest, lent_inertia, mass, mass_of, once, terms


class SolverChoice(NamedTuple):
    """How systems of a mechanism are solved."""

    free: FreeLinks = NOT_FREE  # in which speeds
    order: list[int] | None = None  # in which M is eliminated; None: from its leaves
    trunk: list[int] | None = None  # the speeds of the trunk that legs are solved onto, if they are


@once
def inertia(eq: Equations) -> Factor | Articulated:
    """M ready to be solved with, in the form that takes fewer operations."""
    return by_articulation(eq, terms(eq).motion.f) if by_bodies(eq) else leaves_first(mass(eq))


def by_articulation(eq: Equations, f: Any) -> Articulated:
    return factorize_articulated(eq.model, f, lent_inertia(eq))


@once
def by_bodies(eq: Equations) -> bool:
    """Whether articulated bodies solve with M in fewer operations than M written out and eliminated.

    Counted where it is open: short trees take fewer written out, long ones would take too long to count.
    """
    if bent_rotors(eq.model):
        return False  # they have one inertia a speed
    deepest = max((eq.tree.speeds_above(i) for i in range(len(eq.tree.links))), default=0)
    if not SHORT_TREE < deepest <= LONG_TREE:
        return deepest > LONG_TREE
    at, f = at_rest(eq), ca.SX.sym("f", eq.tree.nv)
    c = ca.SX.sym("c", eq.tree.row_count)
    ways = by_articulation(eq, at.motion.f), leaves_first(mass_of(eq, at.motion))
    solved = (factorize_constrained(way, at.G, eq.scales.groups).accelerations(f, c) for way in ways)
    by_bodies, written = (ca.Function("f", [eq.q, eq.p, f, c], list(x)).n_instructions() for x in solved)
    return by_bodies < written


def free_speeds(eq: Equations) -> FreeLinks:
    """Links whose turning is counted from the world where systems are solved; not by articulated bodies."""
    return way(eq).free


def merging_saves(eq: Equations) -> bool:
    """Whether `concise` merges what is computed twice: it saves much where loops share a ball."""
    return bool(free_speeds(eq).links)


@once
def metric(eq: Equations) -> Constrained | OnTrunk:
    """M and G prepared for projections, which are shortest in the mass metric."""
    return system_of(eq, at_rest(eq).motion, _solved_jacobian(eq))


@once
def pose_metric(eq: Equations) -> Constrained | OnTrunk:
    """The same with the rows that hold poses alone."""
    if all(eq.tree.holds_poses):
        return metric(eq)
    return system_of(eq, at_rest(eq).motion, of_poses(eq.model, _solved_jacobian(eq)))


@once
def loop_rates(eq: Equations) -> Any:
    """G v + b, m: zero for speeds that fit."""
    v = solved_speeds(eq.model, at_rest(eq).motion, free_speeds(eq), eq.v)
    return _solved_jacobian(eq) @ v + at_rest(eq).b


@once
def _solved_jacobian(eq: Equations) -> Any:
    """G of the speeds in which systems are solved."""
    at = at_rest(eq)
    return loop_jacobian(eq.model, at.motion, at.loops, free_speeds(eq))


def system_of(eq: Equations, motion: Motion, G: Any) -> Constrained | OnTrunk:
    """M and rows for the speeds in which systems are solved (`absolute.py`), ready for right-hand sides."""
    if by_bodies(eq):
        return factorize_constrained(by_articulation(eq, motion.f), G, eq.scales.groups)
    return _solved_by(eq, way(eq), motion, G)


def _solved_by(eq: Equations, by: SolverChoice, motion: Motion, G: Any) -> Constrained | OnTrunk:
    M, speeds = mass_of(eq, motion, by.free), partial(own_speeds, eq.model, motion, by.free)
    if by.trunk:
        return on_trunk(M, G, eq.scales.groups, by.trunk, speeds)
    factor = factorize(M, by.order) if by.order else leaves_first(M)
    return factorize_constrained(factor, G, eq.scales.groups, speeds)


@once
def way(eq: Equations) -> SolverChoice:
    """The shortest; where no loop may share a ball there is nothing to choose."""
    free = FreeLinks(() if by_bodies(eq) else free_links(eq.model))
    if not (free.links and eq.tree.cuts):
        return SolverChoice(free)
    at, over_world = at_rest(eq), FreeLinks(free.links, in_world_axes=True)
    found = SolverChoice(free, shortest_order(*_matrices(eq, free)))
    if not all(eq.tree.holds_poses) or not (trunk := trunk_of(*_matrices(eq, over_world))):
        return found
    f, c = ca.SX.sym("f", eq.tree.nv), ca.SX.sym("c", eq.tree.row_count)

    def operations(by: SolverChoice) -> int:
        system = _solved_by(eq, by, at.motion, loop_jacobian(eq.model, at.motion, at.loops, by.free))
        results = ca.cse(list(system.accelerations(f, c)))
        return int(ca.Function("solved", [eq.q, eq.p, f, c], results).n_instructions())

    return min((found, SolverChoice(over_world, trunk=trunk)), key=operations)


def _matrices(eq: Equations, free: FreeLinks) -> tuple[Any, Any]:
    """M and G of a pose, for such speeds."""
    at = at_rest(eq)
    return mass_of(eq, at.motion, free), loop_jacobian(eq.model, at.motion, at.loops, free)
