"""Which motions the loops allow, in a chart: K, and all that G decides about dependent speeds.

With Ĝ = (R; G) of full column rank, Ĝ⁺ is Ĝ⁻¹ where Ĝ is square, and exact for consistent right-hand sides
where rows are redundant. Where R picks speeds, only the columns of the others are left. It is factorized
by reflections: K, K̇ and K̈ each divide by what is small near a singular pose, so normal equations
(0.4 % of A wrong at σ = 5e-4) and regularized rows (1e-4 at σ = 1e-4) are not good enough. Rows are
measured in parts of the mechanism's size, so that units do not matter.
"""

from typing import Any, NamedTuple

import casadi as ca

from ..equations.qr import QR, least_norm, least_squares, triangularize
from ..equations.solve import Factor, backward, entries, factorize, forward
from ..equations.terms import Equations


class Elimination(NamedTuple):
    """R and G with what inverts them together."""

    R: Any
    G: Any
    sizes: Any  # of the rows of G
    free: list[int]  # columns that are solved for: all, or those that R does not pick
    factor: QR  # of those columns of G, with R above where it picks none

    def solution(self, y: Any, c: Any) -> Any:
        """Ĝ⁺(y; c): x with R x = y and G x = c, a column for each of theirs."""
        if self._above:
            return self._least(ca.vertcat(y, self._unitless(c)))
        picked = self.R.T @ y
        return picked - self.onto(self.G @ picked - c)

    def onto(self, c: Any) -> Any:
        """Ĝ⁺(0; c): x with R x = 0 and G x = c, a column for each of c."""
        x = ca.SX(self.G.shape[1], c.shape[1])
        x[self.free, :] = self._least(ca.vertcat(ca.SX(self._above, c.shape[1]), self._unitless(c)))
        return ca.sparsify(x)

    def basis(self, chosen: Any = None) -> Any:
        """Ĝ⁺(I; 0) = K, or the columns of it that a matrix of zeros and ones chooses."""
        y = ca.SX.eye(self.R.shape[0]) if chosen is None else chosen
        return self.solution(y, ca.SX(self.G.shape[0], y.shape[1]))

    def weights(self, r: Any) -> Any:
        """μ with Gᵀμ = r, the shortest, for columns r that do no work on motions the loops allow."""
        found = [least_norm(self.factor, column[self.free, :]) for column in ca.horzsplit(r)]
        none = ca.SX(self.factor.shape[0], 0)
        return self._unitless(ca.horzcat(none, *found)[self._above :, :])

    @property
    def _above(self) -> int:
        return self.factor.shape[0] - self.G.shape[0]

    def _unitless(self, c: Any) -> Any:
        """Columns over the sizes of the rows; there may be none."""
        return c / ca.repmat(self.sizes, 1, c.shape[1])

    def _least(self, c: Any) -> Any:
        none = ca.SX(len(self.free), 0)
        return ca.horzcat(none, *(least_squares(self.factor, column) for column in ca.horzsplit(c)))


class Reduced(NamedTuple):
    """M and G with a basis K of what the loops allow: Λ = KᵀMK, and rows T that hold accelerations alone."""

    loops: Elimination
    M: Any
    K: Any
    MK: Any
    mass: Any  # Λ
    inertia: Factor  # it factorized
    T: Any  # accelerations alone × nv
    W: Any  # Λ⁻¹(T K)ᵀ
    held: Factor  # T K W

    def accelerations(self, f: Any, c: Any) -> tuple[Any, Any]:
        """a and λ of M a + (G; T)ᵀλ = f, (G; T) a = c (004, 2.43):
        a = x + K Λ⁻¹Kᵀ(f − M x − Tᵀμ) with x = Ĝ⁺(0; c)."""
        m = self.loops.G.shape[0]
        x = self.loops.onto(ca.densify(c[:m]))
        y = solve_columns(self.inertia, self.K.T @ (f - self.M @ x))
        mu = ca.SX(0, 1)
        if self.T.shape[0]:
            mu = solve_columns(self.held, self.T @ (x + self.K @ y) - c[m:])
            y -= self.W @ mu
        a = x + self.K @ y
        return a, ca.vertcat(self.loops.weights(f - self.M @ a - self.T.T @ mu), mu)


def elimination(eq: Equations, R: Any, G: Any) -> Elimination:
    """Factorize Ĝ = (R; G), or the dependent columns of G where R picks the independent ones."""
    picked = picked_speeds(R)
    free = [k for k in range(G.shape[1]) if k not in picked]
    sizes = ca.DM(eq.scales.rows)
    unitless = G / ca.repmat(sizes, 1, G.shape[1])
    whole = unitless[:, free] if picked else ca.vertcat(R, unitless)
    return Elimination(R, G, sizes, free, triangularize(ca.sparsify(whole)))


def reduced(loops: Elimination, M: Any, K: Any, T: Any = None) -> Reduced:
    """Factorize KᵀMK, and what rows of accelerations alone need."""
    T = ca.SX(0, M.shape[0]) if T is None else T
    MK = M @ K
    mass = symmetric_product(K, MK)
    inertia = dense_factor(mass)
    W = solve_columns(inertia, (T @ K).T)
    return Reduced(loops, M, K, MK, mass, inertia, T, W, dense_factor(ca.densify(T @ K @ W)))


def dense_factor(A: Any) -> Factor:
    return factorize(A, list(range(A.shape[0])))


def symmetric_product(A: Any, B: Any) -> Any:
    """AᵀB, dense, where it is known to be symmetric: half of it is computed."""
    half = ca.densify(ca.SX(A.shape[1], A.shape[1]))
    for j, column in enumerate(ca.horzsplit(B)):
        half[j:, j] = A[:, j:].T @ column
    return ca.tril2symm(ca.tril(half))


def picked_speeds(R: Any) -> dict[int, int]:
    """Speed -> row of R, if R is a constant selection of speeds."""
    if not R.is_constant() or R.nnz() != R.shape[0] or not all(float(x) == 1 for x in R.nonzeros()):
        return {}
    rows, columns = R.sparsity().get_triplet()
    return dict(zip(columns, rows, strict=True))


def solve_columns(factor: Factor, B: Any) -> Any:
    """X of A X = B, column by column."""
    none = ca.SX(len(factor.order), 0)
    return ca.horzcat(none, *(backward(factor, forward(factor, entries(x))) for x in ca.horzsplit(B)))
