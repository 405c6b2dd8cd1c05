"""How the eigenvalues of the linearized mechanism move with any number of the description, exactly.

A(q, v, u, p) of the local state-space form is traced (`linear/exact.py`), and dA/dp is its
derivative along the directions in which the state itself moves with p: the loops stay closed, and
either the independent coordinates are held or the mechanism stays at rest. Then, with left and
right eigenvectors, dλ/dp = wᴴ (dA/dp) x / wᴴx.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import casadi as ca
import numpy as np
from scipy.linalg import eig

from ..equations.terms import Equations, dynamics
from ..errors import SimulationError
from ..linear.exact import linear
from ..run.independent import selected
from ..simulation import Simulation
from .sensitivity import Tracer, as_list

AT_REST = 1e-6  # rad/s² or m/s²: accelerations that still count as an equilibrium
REPEATED = 1e-6  # wᴴx of unit vectors: below it an eigenvalue is not simple and has no derivative


@dataclass(frozen=True)
class EigenvalueSensitivity:
    """dλ/dp: `matrix` has a row for each of the `eigenvalues` and a column for each parameter."""

    eigenvalues: np.ndarray
    parameters: tuple[str, ...]
    held: tuple[str, ...]  # independent coordinates; they move if the equilibrium is followed
    matrix: np.ndarray


def eigenvalue_sensitivities(
    simulation: Simulation,
    parameters: str | Iterable[str],
    independent: Iterable[str] | None = None,
    follow: bool = False,
) -> EigenvalueSensitivity:
    """dλ/dp at the present state and inputs, eigenvalues with the largest real part first.

    follow : let the state move with the equilibrium it is at, so that the mechanism stays at rest;
        otherwise the independent coordinates and speeds are held.
    """
    tracer = Tracer(simulation, [], as_list(parameters))
    state, u = simulation.state, simulation.state.u
    held = selected(simulation.engine, state, independent)
    dq, dv = tracer.tangent(state.q, state.v, held)
    dp = np.eye(tracer.p.size)
    R = np.eye(tracer.eq.tree.nv)[held]
    value, along = _traced(tracer.eq, R)
    at = (state.q, state.v, u, tracer.p)
    A, acceleration = (np.array(x) for x in value(*at))
    if follow:
        if np.abs(acceleration).max(initial=0) > AT_REST or np.abs(state.v).max(initial=0) > AT_REST:
            raise SimulationError(
                f"'{simulation.mechanism.name}' is not at rest here; bring it to an equilibrium "
                "first, or hold the independent coordinates"
            )
        slope = np.array(along(*at, dq, dv, dp)[1])
        n = len(held)
        dq = dq + tracer.motions(state.q, held, -np.linalg.solve(A[n:, :n], slope))
    dA = np.array(along(*at, dq, dv, dp)[0])
    values, left, right = eig(A, left=True, right=True)
    order = np.lexsort((values.imag, -values.real.round(12)))
    matrix = np.zeros((len(values), tracer.p.size), complex)
    for row, k in enumerate(order):
        w, x = left[:, k], right[:, k]
        overlap = w.conj() @ x
        if abs(overlap) < REPEATED:
            raise SimulationError(
                f"the eigenvalue {values[k]:.4g} of '{simulation.mechanism.name}' is repeated; "
                "it has no derivative"
            )
        for j in range(tracer.p.size):
            matrix[row, j] = w.conj() @ dA[:, j].reshape(A.shape, order="F") @ x / overlap
    return EigenvalueSensitivity(values[order], tracer.columns, tracer.names(held), matrix)


def _traced(eq: Equations, R: np.ndarray) -> tuple[ca.Function, ca.Function]:
    """(q, v, u, p) → (A, R v̇), and both along directions: (q, v, u, p, dq, dv, dp) → (dA, R dv̇)."""
    at = [eq.q, eq.v, eq.u, eq.p]
    A = linear(eq, ca.sparsify(ca.SX(ca.DM(R))))(*at)[0]
    acceleration = ca.SX(ca.DM(R)) @ dynamics(eq)(*at)[0]
    count = eq.p.numel()
    seeds = [
        ca.SX.sym("dq", eq.tree.nq, count),
        ca.SX.sym("dv", eq.tree.nv, count),
        ca.SX.sym("dp", count, count),
    ]
    x, dx = ca.vertcat(eq.q, eq.v, eq.p), ca.vertcat(*seeds)
    out = [ca.densify(ca.jtimes(y, x, dx)) for y in (ca.vec(A), acceleration)]
    value = ca.Function("value", at, [ca.densify(A), ca.densify(acceleration)])
    return value, ca.Function("along", [*at, *seeds], out)
