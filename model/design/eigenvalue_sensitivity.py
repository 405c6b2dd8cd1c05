"""How the eigenvalues of the linearized mechanism move with any number of the description, exactly.

A(q, v, z, u, p) of the local state-space form is traced (`linear/exact.py`), and dA/dp is its
derivative along the directions in which the state itself moves with p: the loops stay closed, and
either the independent coordinates are held or the mechanism stays at rest. Then, with left and
right eigenvectors, dλ/dp = wᴴ (dA/dp) x / wᴴx.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import casadi as ca
import numpy as np
from scipy.linalg import eig

from ..base.errors import SimulationError
from ..base.thresholds import AT_REST, REPEATED
from ..describe.motors import tells_motion
from ..equations.terms import Equations
from ..equations.traced import dynamics
from ..linear.directional import directional
from ..linear.exact import linear
from ..linear.linearize import tangents
from ..simulation import Simulation
from .sensitivity import Marked


@dataclass(frozen=True)
class EigenvalueSensitivity:
    """dλ/dp: `matrix` has a row for each of the `eigenvalues` and a column for each parameter.

    A repeated eigenvalue has no derivative: it is not `simple`, and its row is NaN.
    """

    eigenvalues: np.ndarray
    parameters: tuple[str, ...]
    held: tuple[str, ...]  # independent coordinates; they move if the equilibrium is followed
    matrix: np.ndarray
    simple: np.ndarray


def eigenvalue_sensitivities(
    simulation: Simulation,
    parameters: str | Iterable[str],
    independent: Iterable[str] | None = None,
    follow: bool = False,
) -> EigenvalueSensitivity:
    """dλ/dp at the present state and inputs, eigenvalues with the largest real part first.

    simulation : the mechanism in the state that is asked about.
    parameters, independent : as of `sensitivities`.
    follow : let the state move with the equilibrium it is at, so that the mechanism stays at rest;
        otherwise the independent coordinates and speeds are held.
    """
    if any(map(tells_motion, simulation.mechanism.drives)):
        raise SimulationError(
            f"'{simulation.mechanism.name}' has driven motions, which sensitivities of eigenvalues do not "
            "know; let its motors drive by torque"
        )
    design = Marked(simulation, parameters, independent)
    eq, (R, speeds), at = design.engine.equations, design.chart, design.at
    if not len(R):
        raise SimulationError(f"nothing of '{simulation.mechanism.name}' can move: it has no eigenvalues")

    def make(eq: Equations) -> ca.Function:
        arguments = [eq.q, eq.v, eq.z, eq.u, eq.p]
        A = linear(eq, ca.sparsify(ca.SX(ca.DM(R))), speeds)(*arguments)[0]
        results = [A, R[:speeds] @ dynamics(eq)(*arguments)[0]]
        return ca.Function("linear", arguments, results, ["q", "v", "z", "u", "p"], ["A", "dv"])

    name = f"linear{[int(row.argmax()) for row in R]}-{speeds}"
    along = directional(design.engine, name, len(design.columns), "q v p", make)
    seeds = [design.dq, design.dv, design.dp]
    (A, acceleration), (dA, slope) = along(at, seeds)
    if follow and speeds < len(R):
        raise SimulationError(
            f"'{simulation.mechanism.name}' has velocity constraints and rests at whole families of poses, "
            "of which none can be followed; hold the independent coordinates"
        )
    if follow and eq.tree.nz:
        raise SimulationError(
            f"'{simulation.mechanism.name}' has states of drives or friction, which an equilibrium that is "
            "followed would have to move too; hold the independent coordinates"
        )
    if follow:
        if np.abs(acceleration).max(initial=0) > AT_REST or np.abs(at[1]).max(initial=0) > AT_REST:
            raise SimulationError(
                f"'{simulation.mechanism.name}' is not at rest here; bring it to an equilibrium "
                "first, or hold the independent coordinates"
            )
        n = len(R)
        K = tangents(simulation.engine, simulation.state, design.chart)[: eq.tree.nv, :n]
        seeds[0] = design.dq - design.N @ K @ np.linalg.solve(A[n:, :n], slope)
        dA = along(at, seeds)[1][0]
    values, left, right = eig(A, left=True, right=True)
    order = np.lexsort((values.imag, -values.real.round(12)))
    matrix = np.zeros((len(values), dA.shape[1]), complex)
    simple = np.ones(len(values), bool)
    for row, k in enumerate(order):
        w, x = left[:, k], right[:, k]
        overlap = w.conj() @ x
        apart = np.abs(np.delete(values, k) - values[k]).min(initial=np.inf)
        simple[row] = abs(overlap) >= REPEATED and apart > REPEATED * (1 + np.abs(values).max())
        # wᴴ dA x, dA column by column
        matrix[row] = np.kron(x, w.conj()) @ dA / overlap if simple[row] else np.nan
    return EigenvalueSensitivity(values[order], design.columns, design.held, matrix, simple)
