"""Properties that hold for any mechanism, each by name, on seeded random ones with every joint type.

Each is checked against something independent: automatic differentiation, another algorithm,
or the plain numeric twin. A line that fails names the property and the mechanism's seed.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from types import SimpleNamespace

import casadi as ca
import numpy as np
import pytest
from articulated_body import articulated_body
from bulk import bulk
from cutjoint import Body, Joint, Mechanism, Simulation
from cutjoint.model.compile import kernel as compiler
from cutjoint.model.equations.absolute import FreeLinks, free_links, own_speeds, solved_speeds
from cutjoint.model.equations.articulated import factorize_articulated
from cutjoint.model.equations.dynamics import bent_rotors, mass_matrix, newton_euler
from cutjoint.model.equations.kinematics import outward, position_rates, user_speeds
from cutjoint.model.equations.loops import cut_loops, loop_jacobian, residual
from cutjoint.model.equations.outputs import energies
from cutjoint.model.equations.solve import entries, factorize, inner
from cutjoint.model.equations.spatial import symmetric
from cutjoint.model.equations.terms import equations, right_side, terms
from cutjoint.model.equations.topology import start_coordinates
from cutjoint.model.equations.traced import dynamics
from cutjoint.model.joints.types import TYPES
from cutjoint.papers.spencer_recursions import path_jacobians
from random_mechanisms import (
    CUTTABLE,
    Maker,
    body_matrices,
    frame_matrix,
    free_coordinates,
    random_loop,
    random_tree,
    turned_round,
)

SEEDS = bulk(range(100), 12)
SOME = bulk(range(0, 100, 5), 4)  # where a property takes long
WITHOUT_FORCES = bulk(range(1, 100, 2), 6)  # of the closed ones
NONE = np.zeros(0)  # parameters


def equal(a, b, tolerance=1e-9):
    """Largest difference over the largest value, and one."""
    a, b = (np.asarray(x, float) for x in (a, b))
    assert a.shape == b.shape
    assert np.isfinite(a).all() and np.isfinite(b).all()
    scale = 1.0 + max(np.abs(a).max(initial=0), np.abs(b).max(initial=0))
    assert np.abs(a - b).max(initial=0) < tolerance * scale


class Case:
    """A mechanism's equations, and a state near its start, off the loops, with speeds and inputs."""

    def __init__(self, mechanism: Mechanism, seed: int, beside: bool = True):
        self.mechanism = mechanism
        self.eq = eq = equations(mechanism, beside)
        self.model, self.tree, self.q, self.v = eq.model, eq.tree, eq.q, eq.v
        self.a = ca.SX.sym("a", eq.tree.nv)  # accelerations, or another set of speeds
        random = np.random.default_rng(seed)
        q = start_coordinates(mechanism, eq.tree)
        sizes = eq.tree.nv, eq.u.numel(), eq.tree.nv
        self.at = q + random.normal(size=q.size) * 0.05, *(random.normal(size=n) for n in sizes)
        self.motion = outward(eq.model, eq.q, eq.v)
        self.zero = ca.SX.zeros(eq.tree.nv, 1)

    def value(self, expression):
        f = ca.Function("f", [self.q, self.v, self.eq.u, self.a, self.eq.p], [ca.densify(expression)])
        return np.array(f(*self.at, NONE))

    def along(self, expression, v):
        """Derivative of an expression of q along the motion with speeds v."""
        return ca.jtimes(expression, self.q, position_rates(self.model, self.q, v))

    def inverse_dynamics(self, v, dv):
        return newton_euler(self.model, self.q, v, dv)

    def jacobian(self, body):
        """Body-fixed Jacobian of a body's own frame over the world."""
        path, local = self.tree.path(self.tree.holder[body.name]), self.model.in_link[body.name]
        return path_jacobians(self.model, self.motion.f, path, local, self.zero).J

    def agree(self, one, other, tolerance=1e-9):
        equal(self.value(one), self.value(other), tolerance)

    @cached_property
    def residual(self):
        return residual(self.model, self.motion, cut_loops(self.model, self.motion))

    @cached_property
    def M(self):
        return mass_matrix(self.model, self.motion)

    @cached_property
    def terms(self):
        return terms(self.eq)

    @cached_property
    def energies(self):
        """Kinetic, and potential of gravity alone."""
        nothing = SimpleNamespace(kinetic=ca.SX(0), potential=ca.SX(0))
        return energies(self.eq, self.motion, self.v, nothing)

    def twin(self, q):
        return body_matrices(self.mechanism, {name: q[where] for name, where in self.tree.q.items()})


# -- trees -----------------------------------------------------------------------------------------


@pytest.fixture(scope="module", params=SEEDS, ids="seed{}".format)
def tree(request):
    return Case(random_tree(request.param), request.param)


def test_kinetic_energy_is_half_v_M_v(tree):
    tree.agree(tree.energies[0], 0.5 * ca.dot(tree.v, tree.M @ tree.v))


def test_mass_matrix_is_symmetric_and_positive(tree):
    M = tree.value(tree.M)
    equal(M, M.T, 1e-13)
    assert np.linalg.eigvalsh(M).min() > 0


def test_mass_matrix_is_the_sum_over_bodies(tree):
    """Σ JᵀIJ of body-fixed Jacobians about each centre of mass, and the rotors."""
    total = ca.SX.zeros(tree.tree.nv, tree.tree.nv)
    speeds = user_speeds(tree.model, tree.q, tree.v)  # child against parent, in the child's axes
    for name, where in tree.tree.v.items():
        if armature := tree.mechanism.joint(name).armature:
            along = ca.jacobian(speeds[where], tree.v)
            total += along.T @ ca.diag(ca.DM(list(armature))) @ along
    for body in tree.mechanism.bodies:
        J = tree.jacobian(body)
        turn, centre = J[:3, :], J[3:, :] - ca.skew(ca.DM(body.com)) @ J[:3, :]
        total += turn.T @ symmetric(body.inertia) @ turn + body.mass * centre.T @ centre
    tree.agree(tree.M, total)


def test_mass_matrix_is_the_derivative_of_inverse_dynamics(tree):
    tree.agree(ca.jacobian(tree.inverse_dynamics(tree.v, tree.a), tree.a), tree.M)


def test_gravity_is_the_slope_of_the_potential(tree):
    still = tree.inverse_dynamics(tree.zero, tree.zero)
    tree.agree(tree.along(tree.energies[1], tree.a), ca.dot(still, tree.a))


def test_half_the_rate_of_M_less_C_is_skew(tree):
    """vᵀ(Ṁ − 2C)v = 0 with C v the part of inverse dynamics that is quadratic in v."""
    still = tree.inverse_dynamics(tree.zero, tree.zero)
    quadratic = tree.inverse_dynamics(tree.v, tree.zero) - still
    tree.agree(ca.dot(tree.v, tree.along(tree.M @ tree.v, tree.v)), 2 * ca.dot(tree.v, quadratic))


def test_articulated_bodies_undo_newton_euler(tree):
    tau = tree.inverse_dynamics(tree.v, tree.a)
    tree.agree(articulated_body(tree.model, tree.q, tree.v, tau), tree.a)


def test_articulated_pivots_are_those_of_the_mass_matrix(tree):
    if bent_rotors(tree.model):
        pytest.skip("solved with M written out")
    leaves_first = [k for link in tree.tree.links for k in range(link.v.start, link.v.stop)][::-1]
    factor = factorize(tree.M, leaves_first)
    pivots = ca.vertcat(*(1 / x for x in factor.inverse))
    tree.agree(factorize_articulated(tree.model, tree.motion.f).pivots[leaves_first], pivots)


def test_articulated_bodies_are_factors_of_the_mass_matrix(tree):
    """M⁻¹b by their two recursions, and aᵀM⁻¹b by the first alone, as constraints take it."""
    if bent_rotors(tree.model):
        pytest.skip("solved with M written out")
    factor = factorize_articulated(tree.model, tree.motion.f)
    y = factor.forward(entries(tree.a))
    tree.agree(tree.M @ factor.backward(y), tree.a)
    half = {i: x * factor.inverse[i] for i, x in factor.forward(entries(tree.M @ tree.v)).items()}
    tree.agree(inner(half, y), ca.dot(tree.v, tree.a))


def test_articulated_bodies_solve_the_equation_of_motion_under_all_forces(tree):
    applied = tree.terms.applied
    dv = articulated_body(tree.model, tree.q, tree.v, applied.tau, applied.wrenches)
    tree.agree(tree.M @ dv, tree.terms.right)


def test_body_jacobians_give_the_bodies_twists(tree):
    """Ṙ = R ω̂ and ṗ = R v for the pose along the motion, with (ω, v) = J v."""
    for body in tree.mechanism.bodies:
        X, local = tree.motion.X[tree.tree.holder[body.name]], tree.model.in_link[body.name]
        R, p = X.R @ local.R, X.p + X.R @ local.p
        twist = tree.jacobian(body) @ tree.v
        rate = ca.reshape(tree.along(ca.vec(R), tree.v), 3, 3)
        tree.agree(rate, R @ ca.skew(twist[:3]))
        tree.agree(tree.along(p, tree.v), R @ twist[3:])


def test_bodies_are_where_the_plain_twin_puts_them(tree):
    twin = tree.twin(tree.at[0])
    for body in tree.mechanism.bodies:
        X, local = tree.motion.X[tree.tree.holder[body.name]], tree.model.in_link[body.name]
        equal(tree.value(X.R @ local.R), twin[body.name][:3, :3])
        equal(tree.value(X.p + X.R @ local.p)[:, 0], twin[body.name][:3, 3])


def _turn(skew):
    return np.array([skew[2, 1], skew[0, 2], skew[1, 0]])


def _child_in_parent(joint, poses):
    """Pose of a joint's frame on the child in its frame on the parent."""
    parent, child = poses[joint.parent] @ frame_matrix(joint.on_parent), poses[joint.child]
    return np.linalg.inv(parent) @ child @ frame_matrix(joint.on_child)


def test_kinetic_energy_is_that_of_the_plain_twin(tree):
    """Speeds of its bodies by differences of their poses along the motion."""
    h, rates = 1e-5, tree.value(position_rates(tree.model, tree.q, tree.v))[:, 0]
    behind, here, ahead = (tree.twin(tree.at[0] + k * h * rates) for k in (-1, 0, 1))
    total = 0.0
    for joint in tree.mechanism.joints:
        if joint.armature and joint.type in ("spherical", "free"):
            back, at, on = (_child_in_parent(joint, poses) for poses in (behind, here, ahead))
            slope = (on - back) / (2 * h)
            speeds = [*slope[:3, 3], *_turn(at[:3, :3].T @ slope[:3, :3])][-len(joint.armature) :]
        else:
            speeds = tree.at[1][tree.tree.v[joint.name]][: len(joint.armature)]
        total += 0.5 * np.dot(joint.armature, np.square(speeds))
    for body in tree.mechanism.bodies:
        slope = (ahead[body.name] - behind[body.name]) / (2 * h)
        centre = slope @ [*body.com, 1.0]
        w = _turn(here[body.name][:3, :3].T @ slope[:3, :3])
        xx, yy, zz, xy, xz, yz = body.inertia
        total += body.mass * centre @ centre / 2
        total += w @ np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) @ w / 2
    equal(tree.value(tree.energies[0])[0, 0], total, 1e-7)


@pytest.mark.compiler
@pytest.mark.parametrize("tree", SOME, indirect=True, ids="seed{}".format)
def test_compiled_code_of_trees_is_the_virtual_machines(tree, monkeypatch):
    compiled_is_virtual(tree, monkeypatch)


def compiled_is_virtual(case, monkeypatch):
    monkeypatch.setattr(compiler, "FLAGS", ("-O0", "-fPIC", "-shared"))  # quick to compile
    function = dynamics(case.eq)
    fast, slow = compiler.kernel(function, True), compiler.kernel(function, False)
    assert fast.compiled and not slow.compiled
    q, v, u, _ = case.at
    at = (q, v, NONE, u, NONE)
    for a, b in zip(fast(*at), slow(*at), strict=True):
        equal(a, b, 1e-10)


# -- joint types -----------------------------------------------------------------------------------


def held_twice(kind: str, tree_kind: str) -> Case:
    """A body on a joint of the tree, and on a cut joint that fits where it starts."""
    make = Maker(sum(map(ord, kind)))
    cut = make.joint("cut", kind, "ground", "b", False)
    joint = cut
    if tree_kind != kind:  # free in the frame's own place, with the coordinates of where the cut joint is
        pose = body_matrices(Mechanism("", (Body("b", 1.0),), (cut,)), {"cut": cut.start})["b"]
        joint = Joint("", tree_kind, "ground", "b", start=free_coordinates(pose))
    joints = replace(joint, name="tree", cut=False), replace(cut, start=(), cut=True)
    return Case(Mechanism("held", (make.body("b"),), joints), seed=0, beside=False)


@pytest.mark.parametrize("kind", CUTTABLE)
def test_the_motion_subspace_is_across_the_constraints(kind):
    """A cut joint beside the same one in the tree: g and G stay zero wherever the joint moves."""
    case = held_twice(kind, kind)
    equal(case.value(case.residual), np.zeros((TYPES[kind].rows, 1)))
    equal(case.value(case.terms.G), np.zeros((TYPES[kind].rows, TYPES[kind].nv)))


@pytest.mark.parametrize("kind", CUTTABLE)
def test_motion_subspace_and_constraints_fill_the_space(kind):
    """A cut joint on a free body: where it is closed, its rows are independent, 6 less its speeds."""
    case = held_twice(kind, "free")
    case.at = (start_coordinates(case.mechanism, case.tree), *case.at[1:])
    equal(case.value(case.residual), np.zeros((TYPES[kind].rows, 1)))
    assert np.linalg.matrix_rank(case.value(case.terms.G), tol=1e-9) == 6 - TYPES[kind].nv


@pytest.mark.parametrize("seed", bulk(range(12), 5), ids="seed{}".format)
def test_joints_may_point_either_way(seed):
    """Parents and children exchanged, coordinates inverted: the same poses and accelerations from rest."""
    mechanism = random_loop(seed, 4, forces=False)
    one, other = (Simulation(m, compile=False) for m in (mechanism, turned_round(mechanism)))
    y, z = one.outputs(), other.outputs()
    for body in mechanism.bodies:
        for what in ("position", "acceleration", "angular_acceleration"):
            equal(y[f"body.{body.name}.{what}"], z[f"body.{body.name}.{what}"], 1e-8)


# -- loops, at states that do not close them -----------------------------------------------------------


@pytest.fixture(scope="module", params=SEEDS, ids="seed{}".format)
def loop(request):
    return Case(random_loop(request.param, bodies=4), request.param)


def test_cut_joints_are_those_the_description_cuts(loop):
    assert {*loop.tree.cut_names} == {j.name for j in loop.mechanism.joints if j.cut}


def test_loop_jacobian_is_the_derivative_of_the_residual(loop):
    g = loop.residual
    loop.agree(loop.along(g, loop.a), loop.terms.G @ loop.a)


def test_loop_acceleration_is_the_derivative_of_the_velocity(loop):
    loop.agree(loop.along(loop.terms.G @ loop.v, loop.v), -loop.terms.gamma)


@pytest.mark.parametrize("loop", SOME, indirect=True, ids="seed{}".format)
def test_speeds_over_the_world_are_other_unknowns_of_the_same_equations(loop):
    """TᵀMT, GT and Tᵀ(τ − h) of v = T w are what the recursions give at once, in either axes."""
    model, motion = loop.model, loop.motion
    loops, act = cut_loops(model, motion), loop.terms.applied
    for in_world_axes in (False, True):
        free = FreeLinks(free_links(model), in_world_axes)
        T = ca.jacobian(own_speeds(model, motion, free, loop.a), loop.a)
        loop.agree(solved_speeds(model, motion, free, T @ loop.a), loop.a)
        loop.agree(mass_matrix(model, motion, free), T.T @ loop.M @ T)
        loop.agree(loop_jacobian(model, motion, loops, free), loop_jacobian(model, motion, loops) @ T)
        loop.agree(right_side(loop.eq, motion, act, free), T.T @ loop.terms.right)


@pytest.mark.compiler
@pytest.mark.parametrize("loop", SOME, indirect=True, ids="seed{}".format)
def test_compiled_code_of_loops_is_the_virtual_machines(loop, monkeypatch):
    compiled_is_virtual(loop, monkeypatch)


# -- loops, closed and in motion -------------------------------------------------------------------


class Closed:
    """A mechanism in consistent motion under inputs; springs, loads and friction where the seed is even."""

    def __init__(self, seed: int, make=random_loop):
        self.simulation = s = Simulation(make(seed, bodies=4, forces=seed % 2 == 0), compile=False)
        random = np.random.default_rng(seed)
        v = s.engine.kernels.project_velocity(s.q, random.normal(size=s.tree.nv), s.s, s.p)
        s.put(replace(s.state, v=v, u=random.normal(size=len(s.inputs)) * 3))
        self.state = s.state
        self.dv, self.multipliers = s.accelerations()
        self.g = s.closure()[0]
        self.M, self.G, self.right, self.gamma, self.B = s.engine.kernels.coefficients(*self.state.at)

    @cached_property
    def null_space(self):
        rank = np.linalg.matrix_rank(self.G, tol=1e-9 * np.linalg.norm(self.G))
        return np.linalg.svd(self.G)[2][rank:].T

    @cached_property
    def outputs(self):
        return self.simulation.outputs()


@pytest.fixture(scope="module", params=SEEDS, ids="seed{}".format)
def closed(request):
    return Closed(request.param)


def test_loops_are_closed(closed):
    equal(closed.g, 0 * closed.g, 1e-11)


def test_speeds_keep_loops_closed(closed):
    equal(closed.G @ closed.state.v, 0 * closed.g)


def test_accelerations_keep_loops_closed(closed):
    equal(closed.G @ closed.dv, closed.gamma, 1e-7)


def test_accelerations_and_multipliers_solve_the_equation_of_motion(closed):
    equal(closed.M @ closed.dv + closed.G.T @ closed.multipliers, closed.right, 1e-8)


def test_accelerations_are_those_of_every_chart(closed):
    """v̇ = K ÿ + b with G b = γ and the projected equation, for two bases K of the null space."""
    b = np.linalg.pinv(closed.G, rcond=1e-9) @ closed.gamma
    mixed = closed.null_space @ (
        np.eye(closed.null_space.shape[1])
        + 0.2 * np.random.default_rng(0).normal(size=(closed.null_space.shape[1],) * 2)
    )
    for K in (closed.null_space, mixed):
        y = np.linalg.solve(K.T @ closed.M @ K, K.T @ (closed.right - closed.M @ b))
        equal(K @ y + b, closed.dv, 1e-6)


def test_power_is_the_rate_of_energy(closed):
    """dE/dt along the motion, by differences, is the power supplied less the power dissipated."""
    eq, state, h = closed.simulation.equations, closed.state, 1e-5
    rates = ca.Function("rates", [eq.q, eq.v], [position_rates(eq.model, eq.q, eq.v)])
    dq = np.array(rates(state.q, state.v))[:, 0]

    def read(name, k=0):
        y = closed.simulation.engine.kernels.outputs(
            state.q + k * h * dq, state.v + k * h * closed.dv, state.z, state.u, state.p
        )
        return y[closed.simulation.variables().outputs.find(name).where][0]

    E = {k: read("energy", k) for k in (-2, -1, 1, 2)}
    slope = (8 * (E[1] - E[-1]) - (E[2] - E[-2])) / (12 * h)
    equal(slope, read("power_supplied") - read("power_dissipated"), 1e-6)


def test_inverse_dynamics_undoes_forward_dynamics(closed):
    """The motion that inputs make needs these inputs, up to what the loops absorb."""
    again = closed.simulation.inverse_dynamics(closed.dv)
    along = closed.null_space.T @ closed.B
    equal(along @ again, along @ closed.state.u, 1e-6)


def test_closed_bodies_are_where_the_plain_twin_puts_them(closed):
    tree = closed.simulation.tree
    positions = {name: closed.state.q[at] for name, at in tree.q.items() if name not in tree.cut_names}
    twin = body_matrices(closed.simulation.mechanism, positions)
    for name, (R, p) in closed.simulation.body_poses().items():
        equal(R, twin[name][:3, :3])
        equal(p, twin[name][:3, 3])


@pytest.mark.parametrize("closed", WITHOUT_FORCES, indirect=True, ids="seed{}".format)
def test_every_body_obeys_newton_and_euler(closed):
    """Mass times acceleration is gravity plus all joint reactions, body by body."""
    mechanism, y = closed.simulation.mechanism, closed.outputs
    poses, places = closed.simulation.body_poses(), closed.simulation.joint_positions()
    for body in mechanism.bodies:
        R = poses[body.name][0]
        w, dw = (y[f"body.{body.name}.angular_{what}"] for what in ("velocity", "acceleration"))
        c = R @ np.asarray(body.com)
        acceleration = y[f"body.{body.name}.acceleration"] + np.cross(dw, c) + np.cross(w, np.cross(w, c))
        force, moment = body.mass * np.asarray(mechanism.gravity, float), np.zeros(3)
        inertia = R @ np.array(ca.DM(symmetric(body.inertia))) @ R.T
        for joint in mechanism.joints:
            if f"reaction.{joint.name}.force" in y and body.name in (joint.parent, joint.child):
                sign = 1 if body.name == joint.child else -1
                F, T = (sign * y[f"reaction.{joint.name}.{what}"] for what in ("force", "moment"))
                force = force + F
                moment = moment + T + np.cross(places[joint.name][1] - poses[body.name][1] - c, F)
        equal(body.mass * acceleration, force, 1e-6)
        equal(inertia @ dw + np.cross(w, inertia @ w), moment, 1e-6)
