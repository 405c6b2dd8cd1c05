"""Closed poses by joint names: assembly, what other parameters do to a pose, consistent speeds."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import chain, islice
from math import inf
from typing import Any

import numpy as np

from ..base.display import Displayed
from ..base.errors import AssemblyError, CutjointError, SimulationError
from ..base.thresholds import LARGEST_ANGLE, MOVES, OPEN, OTHER_STARTS, STARTS_EACH
from ..describe.check import beyond_limits
from ..engine import Engine
from ..equations.motion_drives import acceleration_drives, driven_joint
from ..equations.terms import start_pose
from ..manifold.closing import described_speeds
from ..manifold.gaps import loop_gaps, open_loop
from ..manifold.newton import descend
from ..state import State
from ..variables import Table
from . import driven_motions


@dataclass(frozen=True)
class AssemblyReport(Displayed):
    """How an assembly went."""

    iterations: int  # steps of Newton's method
    residual: float  # the largest left in a loop, metres or radians
    loops: dict[str, float]  # cut joint -> the largest residual of its rows
    coordinates: dict[str, list[float]]  # joint -> where it is now, metres and radians


def assemble_pose(
    engine: Engine, q: np.ndarray, s: np.ndarray, p: np.ndarray, free: np.ndarray | None = None
) -> tuple[np.ndarray, int, dict[str, float]]:
    """A closed pose near q, the steps it took, the residual of each loop; an error if there is none."""
    found = engine.assembly(q, s, p, free)
    gaps = loop_gaps(found.g, engine.tree)
    if not found.closed:
        raise open_loop(engine.mechanism, gaps)
    return found.q, found.steps, gaps


def find_pose(
    engine: Engine, q: np.ndarray, s: np.ndarray, p: np.ndarray, free: np.ndarray
) -> tuple[np.ndarray, int, dict[str, float]]:
    """The same, from poses around q too if need be."""
    try:
        return assemble_pose(engine, q, s, p, free)
    except AssemblyError as problem:
        found = next((x for x in beside(engine, q, free) if engine.assembly(x, s, p, free).closed), None)
        if found is None:
            count, far = sum(STARTS_EACH), max(OTHER_STARTS)
            tried = f"none of {count} other starts up to {far:g} rad or lengths away leads to a closed pose"
            raise AssemblyError(f"{problem}; {tried}{_open_alone(engine, q, s, p, free)}") from None
        return assemble_pose(engine, found, s, p, free)


def beside(engine: Engine, q: np.ndarray, free: np.ndarray) -> Iterator[np.ndarray]:
    """Poses around q, the nearest first, always the same: free speeds times a length each.

    Loops drawn in a line or folded flat are singular there, and no step of Newton's leads out.
    """
    random = np.random.default_rng(0)
    for far in np.repeat(OTHER_STARTS, STARTS_EACH):
        step = far * free * engine.equations.scales.speeds * random.uniform(-1, 1, engine.tree.nv)
        yield engine.retract(q, step)


def start_guess(engine: Engine) -> np.ndarray:
    """Where assembly starts: the tree's joints where they are drawn or told to start.

    Starts of cut joints are met exactly: the same mechanism with these joints in its tree is
    closed with them held, and says where the others are.
    """
    mechanism, tree = engine.mechanism, engine.tree
    guess = start_pose(engine.equations)
    held = {name: start for name in tree.cut_names if (start := mechanism.joint(name).start)}
    if not held:
        return guess
    kept = tuple(  # where all others of a loop say so too, one of them gives way
        replace(j, cut=False if j.name in held else j.cut or None) for j in mechanism.joints
    )
    mechanism = driven_motions.release_motions(engine).mechanism if mechanism.driven else mechanism
    try:
        other = Engine(replace(mechanism, joints=kept, parameters={}, outputs={}), compile=False)
        q, free = _held(other, start_pose(other.equations), held)
        q = find_pose(other, q, np.zeros(0), np.zeros(0), free)[0]
    except CutjointError as problem:
        raise AssemblyError(
            f"the start of {', '.join(held)} in '{mechanism.name}' can't be met: {problem}; "
            "give a start to other joints of that loop"
        ) from None
    still = (np.zeros(n) for n in (other.tree.nv, other.tree.nz, len(other.inputs), 0))
    y = other.kernels.outputs(q, *still)
    for joint in (name for name, where in tree.q.items() if where.stop > where.start):
        guess[tree.q[joint]] = y[other.variables.outputs.find(f"joint.{joint}.position").where]
    return guess


def _held(engine: Engine, q: np.ndarray, held: Mapping[str, Any]) -> tuple[np.ndarray, np.ndarray]:
    """The pose with joints where they are held, and which speeds are free then."""
    q, free = q.copy(), np.ones(engine.tree.nv)
    for joint, given in held.items():
        value = engine.variables.positions.whole(joint).numbers(given)
        where = _place(engine.variables.positions, joint, value)
        q[where] = value
        if problem := beyond_limits(q[where].tolist(), engine.mechanism.joint(joint).limits):
            raise SimulationError(f"joint '{joint}': {problem}; hold it within them")
        free[engine.tree.v[joint]] = 0.0
    return q, free


def initial_state(engine: Engine, p: np.ndarray, held: Mapping[str, Any]) -> tuple[State, AssemblyReport]:
    """The state to start from: assembled as described; driven motions begin where that leaves them."""
    moving = engine.mechanism.driven or acceleration_drives(engine.mechanism)
    other = driven_motions.release_motions(engine) if moving else engine
    q = start_guess(other)
    v, u, z = (np.zeros(n) for n in (other.tree.nv, len(other.inputs), other.tree.nz))
    state = State(0.0, q, v, u, p, z=z)
    state, report = assemble(other, state, held, weighed=not moving)
    if moving:
        state = driven_motions.motions_begun(engine, other, state)
        _weighed(engine, state)
    return state, report


def _weighed(engine: Engine, state: State) -> None:
    """Raise one sentence unless every motion has inertia."""
    heavy = (engine.kernels.mass_pivots(state.q, state.p) > 0).all()
    if not (np.isfinite(state.v).all() and heavy):
        raise _without_mass(engine, state)


def assemble(
    engine: Engine, state: State, held: Mapping[str, Any], weighed: bool = True
) -> tuple[State, AssemblyReport]:
    """The state with its loops closed, joints held where told, and the description's speeds."""
    tree = engine.tree
    q, free = _held(engine, state.q, held)
    led = {driven_joint(item) for item in engine.mechanism.driven}
    if led:
        state = driven_motions.with_motion_positions(
            engine, state, {name: held[name] for name in led & held.keys()}
        )
    loops = engine.motions(state.u), state.p
    # where joints are held, Newton's method has the last word, as in an FMU
    q, steps, gaps = (assemble_pose if held else find_pose)(engine, q, *loops, free)
    v = consistent_speeds(engine, replace(state, q=q), described_speeds(engine.equations))
    if weighed:
        _weighed(engine, replace(state, q=q, v=v))
    coordinates = {joint: q[where].tolist() for joint, where in tree.q.items()}
    return replace(state, q=q, v=v), AssemblyReport(steps, max(gaps.values(), default=0.0), gaps, coordinates)


def _open_alone(engine: Engine, q: np.ndarray, s: np.ndarray, p: np.ndarray, free: np.ndarray) -> str:
    """The end of a sentence: loops that do not even close by themselves, with the others cut open."""
    found = []
    for name, rows in engine.tree.rows.items():

        def slope(x: np.ndarray, rows: slice = rows) -> tuple[np.ndarray, np.ndarray]:
            g, G, _ = engine.kernels.closure(x, s, p)
            return g.ravel()[rows], G[rows] * free

        nearest = inf
        for x in chain([q], islice(beside(engine, q, free), sum(STARTS_EACH[:3]))):
            nearest = min(nearest, float(np.abs(slope(descend(slope, x, engine.retract).x)[0]).max()))
            if nearest <= OPEN:
                break
        else:
            found.append(f"'{engine.tree.beside.get(name, name)}' ({nearest:.3g})")
    if not found:
        return ""
    return f"; even alone these stay open, as if their dimensions were wrong: {', '.join(found)}"


def _without_mass(engine: Engine, state: State) -> AssemblyError:
    """What to say of a singular mass matrix: joints that can move while no mass does, and what they carry."""
    tree, mechanism = engine.tree, engine.mechanism
    M = engine.kernels.coefficients(*replace(state, v=0 * state.v).at)[0]
    size = engine.equations.scales.speeds
    still = np.abs(np.linalg.eigh(np.nan_to_num(M) * np.outer(size, size))[1][:, 0])
    joints = [name for name, at in tree.v.items() if still[at].max(initial=0.0) > MOVES * still.max()]
    ends = {end for name in joints for end in (mechanism.joint(name).parent, mechanism.joint(name).child)}
    bodies = [body for body in mechanism.bodies if body.name in ends]
    bare = [body.name for body in bodies if not body.mass and not any(body.inertia)]
    names = ", ".join(bare or [body.name for body in bodies])
    return AssemblyError(
        f"the mass matrix of '{mechanism.name}' is singular at this pose: {', '.join(joints)} can move "
        f"while no mass does; give {names} a mass away from that axis, or an inertia about it"
    )


def with_parameters(engine: Engine, state: State, values: Mapping[str, Any]) -> State:
    """The state under other values of named parameters, its loops closed anew if they opened.

    What leaves the loops' equations as they are leaves the state as it is. Otherwise the nearest
    closed pose is taken, and the nearest speeds in the mass metric that it allows.
    """
    p, s = engine.parameters(values, state.p), engine.motions(state.u)
    before, after = (engine.kernels.closure(state.q, s, x) for x in (state.p, p))
    if all(np.array_equal(a, b) for a, b in zip(before, after, strict=True)):
        return replace(state, p=p)
    q = assemble_pose(engine, state.q, s, p)[0]
    return replace(state, q=q, v=engine.kernels.project_velocity(q, state.v, s, p), p=p)


def consistent_speeds(engine: Engine, state: State, wanted: Mapping[str, Any]) -> np.ndarray:
    """The least speeds v that keep the loops closed and give some joints theirs, exactly."""
    (x, held), (x_cut, held_cut) = speeds_at(engine, wanted)
    s = engine.motions(state.u)
    v, fits = engine.kernels.start_speeds(state.q, x, held, x_cut, held_cut, s, state.p)
    if not fits[0]:
        if not wanted:
            raise SimulationError(
                f"the loops of '{engine.mechanism.name}' do not allow the speeds of its running surfaces; "
                "change a 'belt'"
            )
        raise SimulationError(
            f"the loops do not allow the speeds of {', '.join(wanted)} together; give fewer of them"
        )
    return v


def speeds_at(engine: Engine, wanted: Mapping[str, Any]) -> tuple[np.ndarray, np.ndarray]:
    """Wanted speeds and which they are, two rows each: of the tree's joints, and of cut ones."""
    cuts = engine.tree.cut_v
    tree, cut = (np.zeros((2, n)) for n in (engine.tree.nv, sum(k.stop - k.start for k in cuts.values())))
    for joint, speed in wanted.items():
        if joint in cuts:
            _fits(joint, speed, cuts[joint].stop - cuts[joint].start, "speeds")
            cut[:, cuts[joint]] = np.broadcast_arrays(speed, 1.0)
        else:
            tree[:, _place(engine.variables.speeds, joint, speed)] = np.broadcast_arrays(speed, 1.0)
    return tree, cut


def _place(table: Table, joint: str, value: Any) -> slice:
    """Where a tree joint's numbers are, if these are the right ones."""
    own = table.whole(joint)
    _fits(joint, value, own.size, "speeds" if own.kind == "speed" else "coordinates")
    angles = np.array([unit == "rad" for unit in own.units])
    if (np.abs(value * angles) > LARGEST_ANGLE).any():
        raise SimulationError(
            f"joint '{joint}' takes angles up to {LARGEST_ANGLE:g} rad, beyond which no digits are left"
        )
    return own.where


def _fits(joint: str, value: Any, size: int, what: str) -> None:
    given = np.atleast_1d(np.asarray(value, float))
    if given.size != size or not np.isfinite(given).all():
        raise SimulationError(f"joint '{joint}' takes {size} finite {what}")
