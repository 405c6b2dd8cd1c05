"""Properties that hold for any mechanism, on seeded random ones with every joint type.

Each is checked against something independent: automatic differentiation, another algorithm,
or the plain numeric twin.
"""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from cutjoint.model import Simulation
from cutjoint.model.compile import kernel as compiler
from cutjoint.model.equations.dynamics import articulated_body, mass_matrix, newton_euler
from cutjoint.model.equations.kinematics import body_jacobian, motion, poses, position_rates
from cutjoint.model.equations.loops import jacobian, loops, residual
from cutjoint.model.equations.outputs import energies
from cutjoint.model.equations.terms import dynamics, equations, terms
from cutjoint.model.equations.topology import start_coordinates
from random_mechanisms import body_matrices, random_loop, random_tree

TREES = range(100)
LOOPS = range(100)


def numbers(eq, seed):
    """A state near the start pose, off the manifold, with speeds and inputs."""
    random = np.random.default_rng(seed)
    q = start_coordinates(eq.mechanism, eq.tree) + random.normal(size=eq.tree.nq) * 0.05
    return (
        q,
        random.normal(size=eq.tree.nv),
        random.normal(size=eq.u.numel()) * 5,
        random.normal(size=eq.tree.nv),
    )


def close(a, b, tolerance=1e-10):
    a, b = np.asarray(a, float), np.asarray(b, float)
    assert a.shape == b.shape
    assert np.isfinite(a).all() and np.isfinite(b).all()
    scale = 1.0 + max(np.abs(a).max(initial=0), np.abs(b).max(initial=0))
    assert np.abs(a - b).max(initial=0) < tolerance * scale, f"differ by {np.abs(a - b).max():.3g}"


def evaluate(eq, seed, *expressions):
    q, v, u, a = numbers(eq, seed)
    symbol = ca.SX.sym("a", eq.tree.nv)
    f = ca.Function("f", [eq.q, eq.v, eq.u, eq.p, symbol], [ca.densify(e(symbol)) for e in expressions])
    out = f(q, v, u, np.zeros(0), a)
    return [np.array(x) for x in (out if isinstance(out, tuple | list) else [out])]


@pytest.mark.parametrize("seed", TREES)
def test_tree(seed, monkeypatch):
    eq = equations(random_tree(seed))
    f, _ = poses(eq.model, eq.q)
    M = mass_matrix(eq.model, f)
    move = motion(eq.model, eq.q, eq.v)
    kinetic, potential = energies(eq, move, ca.SX(0))
    rates = position_rates(eq.model, eq.q, eq.v)
    zero = ca.SX.zeros(eq.tree.nv, 1)
    still = newton_euler(eq.model, eq.q, zero, zero)
    coriolis = newton_euler(eq.model, eq.q, eq.v, zero) - still
    t = terms(eq)
    body = eq.mechanism.bodies[-1].name
    J = body_jacobian(eq.model, f, body)
    link = eq.tree.holder[body]
    twist = ca.Function("t", [eq.q, eq.v], [move.X[link].R @ move.V[link][:3]])
    values = evaluate(
        eq,
        seed,
        lambda a: kinetic - 0.5 * ca.dot(eq.v, M @ eq.v),
        lambda a: ca.jacobian(newton_euler(eq.model, eq.q, eq.v, a), a) - M,
        # gravity's force is the slope of the potential energy along every speed
        lambda a: ca.jtimes(potential, eq.q, position_rates(eq.model, eq.q, a)) - ca.dot(still, a),
        # Ṁ − 2C is skew: vᵀṀv = 2vᵀCv
        lambda a: ca.dot(eq.v, ca.jtimes(M @ eq.v, eq.q, rates)) - 2 * ca.dot(eq.v, coriolis),
        # articulated bodies undo Newton-Euler
        lambda a: articulated_body(eq.model, eq.q, eq.v, newton_euler(eq.model, eq.q, eq.v, a)) - a,
        # and agree with M⁻¹(τ − h) under all applied forces
        lambda a: M @ articulated_body(eq.model, eq.q, eq.v, t.applied.tau, t.applied.wrenches) - t.right,
        lambda a: M - M.T,
    )
    for value in values:
        close(value, 0 * value, 1e-9)
    q, v, *_ = numbers(eq, seed)
    R = np.array(ca.Function("R", [eq.q], [move.X[link].R])(q))

    local = np.array(ca.DM(eq.model.in_link[body].R))
    w = R @ local @ np.array(ca.Function("J", [eq.q], [ca.densify(J)])(q))[:3] @ v
    close(w, np.array(twist(q, v)).ravel())
    compiled_agrees(eq, monkeypatch, seed)


@pytest.mark.parametrize("seed", LOOPS)
def test_loop(seed):
    mechanism = random_loop(seed, bodies=4)
    eq = equations(mechanism)
    assert [c.name for c in eq.tree.cuts] == [j.name for j in mechanism.joints if j.cut]
    move = motion(eq.model, eq.q, eq.v)
    closed = loops(eq.model, move)
    g, G = residual(eq.model, closed), jacobian(eq.model, closed, move.X)
    t = terms(eq)
    rates = position_rates(eq.model, eq.q, eq.v)
    values = evaluate(
        eq,
        seed,
        lambda a: ca.jtimes(g, eq.q, position_rates(eq.model, eq.q, a)) - G @ a,
        lambda a: ca.jtimes(G @ eq.v, eq.q, rates) + t.gamma,
    )
    for value in values:
        close(value, 0 * value, 1e-9)


@pytest.mark.parametrize("seed", LOOPS)
def test_closed_motion(seed, monkeypatch):
    """On the manifold: loops closed at three levels, power balance, inverse∘forward, reactions."""
    simulation = Simulation(random_loop(seed, bodies=4, forces=seed % 2 == 0), compile=False)
    eq = simulation.equations
    random = np.random.default_rng(seed)
    simulation.v[:] = simulation.kernel("project_velocity")(
        simulation.q, random.normal(size=eq.tree.nv), simulation.p
    )
    simulation.set_inputs(random.normal(size=len(simulation.inputs)) * 3)
    state, u = simulation.state, simulation.state.u
    g, G = simulation.closure()
    M, G, right, gamma, B = simulation.kernel("coefficients")(state.q, state.v, u, simulation.p)
    dv, lam = simulation.accelerations()
    close(g, 0 * g, 1e-11)
    close(G @ state.v, 0 * g, 1e-9)
    close(G @ dv, gamma, 1e-7)
    close(M @ dv + G.T @ lam, right, 1e-8)
    # dE/dt along the motion is the power supplied less the power dissipated
    y = simulation.kernel("outputs").function(eq.q, eq.v, eq.u, eq.p)
    place = {x.name: x.where.start for x in simulation.variables()}
    rates = position_rates(eq.model, eq.q, eq.v)
    a = ca.SX.sym("a", eq.tree.nv)
    slope = ca.jtimes(y[place["energy"]], eq.q, rates) + ca.jtimes(y[place["energy"]], eq.v, a)
    power = y[place["power_supplied"]] - y[place["power_dissipated"]]
    balance = ca.Function("b", [eq.q, eq.v, eq.u, eq.p, a], [slope, power])
    got, wanted = balance(state.q, state.v, u, simulation.p, dv)
    close(float(got), float(wanted), 1e-7)
    # the motion that these inputs make needs these inputs, up to what the loops absorb
    again = simulation.inverse_dynamics(dv)
    K = np.linalg.svd(G)[2][np.linalg.matrix_rank(G, tol=1e-9 * np.linalg.norm(G)) :].T
    close(K.T @ B @ again, K.T @ B @ u, 1e-6)
    # bodies are where the plain twin puts them
    positions = {n: state.q[w] for n, w in simulation.tree.q.items()}
    twin = body_matrices(simulation.mechanism, positions)
    for name, (R, p) in simulation.body_poses().items():
        close(R, twin[name][:3, :3], 1e-9)
        close(p, twin[name][:3, 3], 1e-9)
    if seed % 2:
        newton_for_every_body(simulation)
    compiled_agrees(eq, monkeypatch, seed)


def newton_for_every_body(simulation):
    """Mass times acceleration is gravity plus all joint reactions, body by body (no struts, no loads)."""
    mechanism = simulation.mechanism
    y = simulation.outputs()
    poses_ = simulation.body_poses()
    for body in mechanism.bodies:
        R = poses_[body.name][0]
        w, dw = y[f"body.{body.name}.angular_velocity"], y[f"body.{body.name}.angular_acceleration"]
        c = R @ np.asarray(body.com)
        acceleration = y[f"body.{body.name}.acceleration"] + np.cross(dw, c) + np.cross(w, np.cross(w, c))
        force = body.mass * np.asarray(mechanism.gravity, float)
        xx, yy, zz, xy, xz, yz = body.inertia
        inertia = R @ np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) @ R.T
        moment = np.zeros(3)
        centre = y[f"body.{body.name}.position"] + c
        joints = simulation.joint_positions()
        for joint in mechanism.joints:
            if f"reaction.{joint.name}.force" not in y:
                continue
            F, T = y[f"reaction.{joint.name}.force"], y[f"reaction.{joint.name}.moment"]
            at = joints[joint.name][1]
            for sign, name in ((1, joint.child), (-1, joint.parent)):
                if name == body.name:
                    force = force + sign * F
                    moment = moment + sign * (T + np.cross(at - centre, F))
        close(body.mass * acceleration, force, 1e-6)
        close(inertia @ dw + np.cross(w, inertia @ w), moment, 1e-6)


def compiled_agrees(eq, monkeypatch, seed):
    """Compiled code and virtual machine give the same numbers."""
    monkeypatch.setattr(compiler, "FLAGS", ("-O0", "-fPIC", "-shared"))  # quick to compile
    function = dynamics(eq)
    fast, slow = compiler.kernel(function, True), compiler.kernel(function, False)
    assert fast.compiled and not slow.compiled
    q, v, u, _ = numbers(eq, seed)
    for a, b in zip(fast(q, v, u, np.zeros(0)), slow(q, v, u, np.zeros(0)), strict=True):
        close(a, b, 1e-10)
