"""Derivatives by Euler parameters (paper 000): against automatic differentiation of the plain formulas."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from cutjoint.model.cartesian import Angle, Coincident, Distance, Dot1, Dot2, Part, Problem
from cutjoint.model.cartesian.constraints import body_pose, exact, virtual_rotation
from cutjoint.model.describe.mechanism import Body, Frame, Joint, Mechanism
from cutjoint.model.equations.kinematics import position_rates
from cutjoint.model.equations.terms import equations
from cutjoint.model.equations.topology import span
from cutjoint.model.equations.traced import closure
from cutjoint.model.joints import euler
from liu_relative import body_slopes, on_ground, relative_jacobian, steps
from random_mechanisms import Maker, random_tree

RANDOM = np.random.default_rng(3)


def A(p):
    """E Gᵀ over symbols, from the definitions."""
    e = p[1:]
    E = ca.horzcat(-e, ca.skew(e) + p[0] * ca.SX.eye(3))
    G = ca.horzcat(-e, -ca.skew(e) + p[0] * ca.SX.eye(3))
    return E @ G.T


def values(f, *x):
    return np.array(f(*x))


def test_matrices_are_those_of_the_paper():
    p = RANDOM.normal(size=(7, 4))
    R = euler.world_matrix(p) @ np.swapaxes(euler.body_matrix(p), -1, -2)
    assert np.allclose(euler.rotation(p), R, atol=1e-13)
    size = (p**2).sum(-1)[:, None, None] ** 2
    assert np.allclose(np.swapaxes(R, -1, -2) @ R, size * np.eye(3), atol=1e-11), "AᵀA = |p|⁴ 1"


@pytest.mark.parametrize("length", [1.0, 0.6, 2.3])
def test_derivative_is_exact_on_and_off_the_sphere(length):
    s, u = ca.SX.sym("p", 4), ca.SX.sym("u", 3)
    by_ad = ca.Function("K", [u, s], [ca.jacobian(A(s) @ u, s)])
    for _ in range(20):
        p, v = RANDOM.normal(size=4), RANDOM.normal(size=3)
        p *= length / np.linalg.norm(p)
        K = euler.derivative(v, p)
        assert np.abs(K - values(by_ad, v, p)).max() < 1e-12
        assert np.allclose(K @ p, 2 * euler.rotation(p) @ v, atol=1e-12)
        e0, e = p[0], p[1:]
        naive = np.column_stack(  # the double tilde read as another ẽũ
            [
                2 * (np.cross(e, v) + e0 * v),
                e @ v * np.eye(3)
                + np.outer(e, v)
                - 2 * euler.tilde(e) @ euler.tilde(v)
                - 2 * e0 * euler.tilde(v),
            ]
        )
        assert np.abs(naive - values(by_ad, v, p)).max() > 0.05


V1, V2, P1, Q2 = ((0.3, -0.4, 1.2), (0.7, 0.1, -0.5), (0.2, 0.9, -0.3), (-0.6, 0.4, 0.8))
PRIMITIVES = {
    "dot1": (Dot1("one", "two", V1, V2), lambda r1, A1, r2, A2: ca.dot(A1 @ V1, A2 @ V2)),
    "dot2": (
        Dot2("one", "two", V1, P1, Q2),
        lambda r1, A1, r2, A2: ca.dot(A1 @ V1, r2 + A2 @ Q2 - r1 - A1 @ P1),
    ),
    "angle": (
        Angle("one", "two", V1, V2, 0.7),
        lambda r1, A1, r2, A2: (
            ca.dot(A1 @ V1, A2 @ V2) - np.cos(0.7) * np.linalg.norm(V1) * np.linalg.norm(V2)
        ),
    ),
    "distance": (
        Distance("one", "two", P1, Q2, 0.8),
        lambda r1, A1, r2, A2: ca.sumsqr(r2 + A2 @ Q2 - r1 - A1 @ P1) - 0.64,
    ),
    "coincident": (
        Coincident("one", "two", P1, Q2),
        lambda r1, A1, r2, A2: r2 + A2 @ Q2 - r1 - A1 @ P1,
    ),
}


@pytest.mark.parametrize("name", PRIMITIVES)
def test_primitives_in_cartesian_coordinates(name):
    constraint, plain = PRIMITIVES[name]
    x = ca.SX.sym("x", 14)
    phi = plain(x[:3], A(x[3:7]), x[7:10], A(x[10:]))
    by_ad = ca.Function("J", [x], [phi, ca.jacobian(phi, x)])
    problem = Problem("p", (Part("one"), Part("two")), {"c": constraint})
    at = RANDOM.normal(size=(10, 14))  # no unit Euler parameters
    residual, J = problem.system()(at)
    for k, row in enumerate(at):
        expected = [np.array(part) for part in by_ad(row)]
        assert np.abs(residual[k, : constraint.rows] - expected[0][:, 0]).max() < 1e-12
        assert np.abs(J[k, : constraint.rows] - expected[1]).max() < 1e-11


def test_misprinted_point_of_body_two_is_wrong():
    """19g and 19k print s_j^P' where the point of body j is Q."""
    constraint, _ = PRIMITIVES["dot2"]
    one, two = (body_pose(RANDOM.normal(size=3), RANDOM.normal(size=4)) for _ in range(2))
    side = constraint.evaluate(one, two).side2
    misprint = side.vectors[0].slope @ euler.derivative(np.array(P1), two.p)
    assert np.abs(exact(side, two) - misprint).max() > 0.1


def test_virtual_rotation_is_right_on_the_tangent_only():
    for constraint, _ in PRIMITIVES.values():
        p = RANDOM.normal(size=4)
        p /= np.linalg.norm(p)
        tangent = np.eye(4) - np.outer(p, p)
        one, two = (
            body_pose(RANDOM.normal(size=3), p),
            body_pose(RANDOM.normal(size=3), RANDOM.normal(size=4)),
        )
        side = constraint.evaluate(one, two).side1
        assert np.abs((exact(side, one) - virtual_rotation(side, one)) @ tangent).max() < 1e-12
        assert np.abs(exact(side, one) - virtual_rotation(side, one)).max() > 1e-2
        off = one._replace(p=1.5 * p, A=euler.rotation(1.5 * p))
        side = constraint.evaluate(off, two).side1
        assert np.abs((exact(side, off) - virtual_rotation(side, off)) @ tangent).max() > 1e-2


# -- relative coordinates --------------------------------------------------------------------


KINDS = [
    "revolute",
    "spherical",
    "universal",
    "helical",
    "cylindrical",
    "planar",
    "prismatic",
    "free",
    "fixed",
]


def long_chain(seed: int) -> Mechanism:
    """Every joint type one behind the other, every third one pointing inward."""
    make = Maker(seed)
    kinds = [*KINDS, "spherical"]
    joints = []
    for k, kind in enumerate(kinds):
        ends = [f"b{k - 1}" if k else "ground", f"b{k}"]
        ends = ends[::-1] if k % 3 == 1 else ends
        joints.append(Joint(f"j{k}", kind, *ends, make.frame(), make.frame(), pitch=0.3))
    return Mechanism("chain", tuple(Body(f"b{k}", 1.0) for k in range(len(kinds))), tuple(joints))


def move(kind: str, q, pitch: float):
    """(A'', d'') of a joint over symbols, written from the definition of each type."""
    turn = lambda n, a: ca.SX.eye(3) + ca.sin(a) * ca.skew(n) + (1 - ca.cos(a)) * ca.skew(n) @ ca.skew(n)  # noqa: E731
    x, z, zero = ca.SX([1, 0, 0]), ca.SX([0, 0, 1]), ca.SX.zeros(3)
    match kind:
        case "revolute":
            return turn(z, q[0]), zero
        case "helical":
            return turn(z, q[0]), pitch * q[0] * z
        case "prismatic":
            return ca.SX.eye(3), q[0] * z
        case "cylindrical":
            return turn(z, q[0]), q[1] * z
        case "universal":
            return turn(z, q[0]) @ turn(x, q[1]), zero
        case "spherical":
            return A(q), zero
        case "planar":
            return turn(z, q[2]), ca.vertcat(q[0], q[1], 0)
        case "free":
            return A(q[3:]), q[:3]
    return ca.SX.eye(3), zero


def symbolic_pose(mechanism, tree, q, body):
    r, R = ca.SX.zeros(3), ca.SX.eye(3)
    for k in tree.path(tree.holder[body]):
        link = tree.links[k]
        if not link.first:
            continue
        joint = mechanism.joint(link.joint)
        A2, d = move(joint.type, q[tree.q[joint.name]], joint.pitch)
        inner, outer = joint.on_parent, joint.on_child
        if (
            link.reverse
        ):  # with A'' not normalised the way back is A''ᵀ, as conjugate Euler parameters give it
            inner, outer, A2, d = outer, inner, A2.T, -(A2.T @ d)
        C1, C2 = A(ca.SX(ca.DM(inner.orientation))), A(ca.SX(ca.DM(outer.orientation)))
        turned = R @ C1 @ A2 @ C2.T
        r = r + R @ (ca.DM(inner.position) + C1 @ d) - turned @ ca.DM(outer.position)
        R = turned
    return r, R


@pytest.mark.parametrize("seed", range(3))
def test_recursive_jacobians_through_every_joint_type(seed):
    mechanism = long_chain(seed)
    tree = span(mechanism)
    q = np.random.default_rng(seed).normal(size=tree.nq)  # balls off the unit sphere too
    s, u = ca.SX.sym("q", tree.nq), ca.SX.sym("u", 3)
    for body in ("b2", "b6", "b9"):
        found = body_slopes(mechanism, tree, q, body)
        r, R = symbolic_pose(mechanism, tree, s, body)
        by_ad = ca.Function("J", [s, u], [r, R @ u, ca.jacobian(r, s), ca.jacobian(R @ u, s)])
        v = RANDOM.normal(size=3)
        expected = [np.array(part) for part in by_ad(q, v)]
        scale = max(1.0, np.abs(expected[2]).max())
        assert np.abs(found.r - expected[0][:, 0]).max() < 1e-12 * scale
        assert np.abs(found.by_origin - expected[2]).max() < 1e-12 * scale
        assert np.abs(found.by_vector(v) - expected[3]).max() < 1e-12 * scale


def test_misprinted_recursion_is_wrong():
    """16 prints J_i(s'_{i−1,i}); the vector belongs to body i−1."""
    mechanism = long_chain(0)
    tree = span(mechanism)
    q = RANDOM.normal(size=tree.nq)
    found, printed = on_ground(tree.nq), np.zeros((3, tree.nq))
    for step in steps(mechanism, tree, q, "b3"):
        after = found.after(step)
        printed += after.by_origin - found.by_origin - found.by_vector(step.t) + after.by_vector(step.t)
        found = after
    assert np.allclose(found.by_origin, body_slopes(mechanism, tree, q, "b3").by_origin)
    assert np.abs(printed - found.by_origin).max() > 0.1


@pytest.mark.parametrize("seed", range(4))
def test_relative_jacobian_is_the_engines(seed):
    """Φ_q q̇ with q̇ = N v is G v: the same distance written for the engine's cut joint."""
    tree = random_tree(seed, bodies=4, forces=False)
    rod = Joint("rod", "distance", "b2", "b4", Frame(P1), Frame(Q2), length=0.8, cut=True)
    closed = Mechanism("closed", tree.bodies, (*tree.joints, rod))
    eq = equations(closed)
    q = np.concatenate([closed.joint(n).start for n in eq.tree.q])
    q = q[np.argsort(np.concatenate([np.arange(w.start, w.stop) for w in eq.tree.q.values()]))]
    g, G, _ = (np.array(part) for part in closure(eq)(q, [], []))
    N = values(
        ca.Function("N", [eq.q], [ca.densify(ca.jacobian(position_rates(eq.model, eq.q, eq.v), eq.v))]), q
    )
    residual, J = relative_jacobian(Distance("b2", "b4", P1, Q2, 0.8), closed, eq.tree, q)
    assert np.abs(residual - g[:, 0]).max() < 1e-12
    assert np.abs(J @ N - G).max() < 1e-11
