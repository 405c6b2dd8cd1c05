"""Newton-Euler and composite rigid body recursions over a tree.

Paper 004, A.3, with ad*_V where 4.3 and A.3 print ad*_V̇, and Ad*_{f⁻¹} where 4.3 prints
Ad*_f. M(q) is the mass matrix, M v̇ = τ + F(q, v), and τ_NE(q, v, v̇) = M v̇ − F.
"""

from collections.abc import Mapping
from typing import Any

import casadi as ca

from ..describe.motors import has, rigid_rotor
from ..joints.moves import Move
from .absolute import NOT_FREE, FreeLinks
from .kinematics import Model, Motion, outward
from .spatial import add, at_point, inertia_times, inertial_wrench, shift, to_parent
from .topology import Link

Wrenches = Mapping[int, Any]  # link -> wrench on it from outside, in its frame


def armature(model: Model) -> Any:
    """Rotor inertia seen at each speed, nv."""
    J = ca.SX.zeros(model.tree.nv, 1)
    for name, v in model.tree.v.items():
        values = model.mechanism.joint(name).armature
        for k, value in enumerate(values if not isinstance(values, ca.SX) else ca.vertsplit(values)):
            J[v.start + k] = value
    for motor in model.mechanism.motors:
        if has(inertia := rigid_rotor(motor)):
            J[model.tree.v[motor.joint].start] += inertia
    return J


def bent_rotors(model: Model) -> list[tuple[Move, Link]]:
    """Moves whose rotors differ from axis to axis of the child while their speeds are in those of the parent.

    Those are balls that are passed from child to parent.
    """
    J, found = armature(model), []
    for move, link in model.tree.moves:
        first, *others = ca.vertsplit(J[link.v])
        if link.reverse and not move.plain and not all(ca.is_equal(first, x, 1) for x in others):
            found.append((move, link))
    return found


def rotor_inertia(model: Model, q: Any) -> Any:
    """The rotors' share of M, nv × nv: ½ Σ J s² of the speeds s that the user counts, s = Eᵀv."""
    J = ca.sparsify(armature(model))
    A = ca.diag(J)
    for move, link in bent_rotors(model):
        E = move.engine_speed(q[link.q], ca.SX.eye(3), link.reverse)
        A[link.v, link.v] = E @ ca.diag(J[link.v]) @ E.T
    return A


def joint_wrenches(
    model: Model, motion: Motion, outside: Wrenches, passed: Mapping[int, Any] | None = None
) -> list[Any]:
    """Inward recursion: the wrench F_i that reaches link i through its joint, in frame {i}.

    F_i = Σ_children Ad*_{f⁻¹} F_k + I_i V̇_i − ad*_V I_i V_i − (wrenches from outside). `passed`: links of
    which those before see forces and this moment alone (`absolute.py`).
    """
    F: list[Any] = []
    for i, I in enumerate(model.inertias):  # noqa: E741
        Fi = ca.SX.zeros(6, 1) if I is None else inertial_wrench(I, motion.a[i], motion.N[i])
        F.append(Fi - outside[i] if i in outside else Fi)
    for i in reversed(range(len(F))):
        parent = model.tree.links[i].parent
        if parent >= 0:
            through = ca.vertcat(passed[i], F[i][3:]) if passed and i in passed else F[i]
            F[parent] = F[parent] + to_parent(motion.f[i], through)
    return F


def onto_joints(model: Model, F: list[Any], motion: Motion | None = None) -> Any:
    """τ_i = S_iᵀ F_i, and the rotors' share of M v̇ at a motion with accelerations."""
    tau = ca.SX.zeros(model.tree.nv, 1)
    for link, S, Fi in zip(model.tree.links, model.subspaces, F, strict=True):
        if link.move:
            tau[link.v] = S.T @ Fi
    return tau if motion is None else tau + rotor_inertia(model, motion.q) @ motion.dv


def newton_euler(model: Model, q: Any, v: Any, dv: Any, outside: Wrenches | None = None) -> Any:
    """τ_NE(q, v, v̇) = M v̇ − F: the generalized forces that a motion needs, nv."""
    motion = outward(model, q, v, dv)
    return onto_joints(model, joint_wrenches(model, motion, outside or {}), motion)


def mass_matrix(model: Model, motion: Motion, free: FreeLinks = NOT_FREE) -> Any:
    """Composite rigid body algorithm: M(q), nv × nv, with structural zeros between branches.

    Links that are `free` turn by speeds counted from the world (`absolute.py`).
    """
    tree, f = model.tree, motion.f
    subspaces = [
        ca.vertcat(free.axes(motion, i).T, ca.SX(3, 3)) if i in free.links else S
        for i, S in enumerate(model.subspaces)
    ]
    composite = list(model.inertias)
    M = ca.SX(tree.nv, tree.nv)
    rotors = rotor_inertia(model, motion.q)
    for i in reversed(range(len(tree.links))):
        link, I = tree.links[i], composite[i]  # noqa: E741
        if I is None:
            raise AssertionError("a massless link with nothing behind it")
        if link.move:
            S = subspaces[i]
            F = [inertia_times(I, ca.densify(S[:, k])) for k in range(S.shape[1])]
            _fill(M, link.v, link.v, S, F)
            at, j = i, link.parent
            while j >= 0:
                if at in free.links:
                    F = [ca.vertcat(ca.SX.zeros(3, 1), column[3:]) for column in F]
                F = [to_parent(f[at], column) for column in F]
                other = tree.links[j]
                if other.move:
                    _fill(M, other.v, link.v, subspaces[j], F)
                at, j = j, other.parent
        if link.parent >= 0:
            shifted = at_point(I.m, f[i].p) if i in free.links else shift(f[i], I)
            held = composite[link.parent]
            composite[link.parent] = shifted if held is None else add(held, shifted)
    return M + rotors


def _fill(M: Any, rows: slice, cols: slice, S: Any, F: list[Any]) -> None:
    for a in range(S.shape[1]):
        for b, column in enumerate(F):
            M[rows.start + a, cols.start + b] = M[cols.start + b, rows.start + a] = ca.dot(S[:, a], column)
