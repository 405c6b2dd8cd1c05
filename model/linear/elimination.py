"""Which motions the loops allow, in a chart: K, and all that G decides about dependent speeds.

With Ĝ = (R; G) of full column rank, Ĝ⁺ is Ĝ⁻¹ where Ĝ is square, and exact for consistent right-hand sides
where rows are redundant. Where R picks speeds, only the columns of the others are left. It is factorized
by reflections: K, K̇ and K̈ each divide by what is small near a singular pose, so normal equations
(0.4 % of A wrong at σ = 5e-4) and softened rows (1e-4 at σ = 1e-4) are not good enough. Rows are
measured in parts of the mechanism's size, so that units do not matter.
"""

from typing import Any, NamedTuple

import casadi as ca

from ..equations.qr import QR, least_norm, least_squares, triangularize
from ..equations.solve import Factor, backward, entries, forward
from ..equations.terms import Equations


class Elimination(NamedTuple):
    """R and G with what inverts them together."""

    R: Any
    G: Any
    sizes: Any  # of the rows of G
    free: list[int]  # columns that are solved for: all, or those that R does not pick
    factor: QR  # of those columns of G, with R above where it picks none

    def onto(self, c: Any) -> Any:
        """Ĝ⁺(0; c): x with R x = 0 and G x = c, a column for each of c."""
        x = ca.SX(self.G.shape[1], c.shape[1])
        x[self.free, :] = self._least(ca.vertcat(ca.SX(self._above, c.shape[1]), c / self.sizes))
        return ca.sparsify(x)

    def basis(self) -> Any:
        """Ĝ⁺(I; 0) = K."""
        if self._above:
            return self._least(ca.vertcat(ca.SX.eye(self._above), ca.SX(self.G.shape[0], self._above)))
        picked = self.R.T
        return picked - self.onto(self.G @ picked)

    def weights(self, r: Any) -> Any:
        """μ with Gᵀμ = r, the shortest, for columns r that do no work on motions the loops allow."""
        found = [least_norm(self.factor, column[self.free, :]) for column in ca.horzsplit(r)]
        return ca.horzcat(*found)[self._above :, :] / self.sizes

    @property
    def _above(self) -> int:
        return self.factor.shape[0] - self.G.shape[0]

    def _least(self, c: Any) -> Any:
        return ca.horzcat(*(least_squares(self.factor, column) for column in ca.horzsplit(c)))


def elimination(eq: Equations, R: Any, G: Any) -> Elimination:
    """Factorize Ĝ = (R; G), or the dependent columns of G where R picks the independent ones."""
    picked = picked_speeds(R)
    free = [k for k in range(G.shape[1]) if k not in picked]
    sizes = ca.DM(eq.scales.rows)
    unitless = G / ca.repmat(sizes, 1, G.shape[1])
    whole = unitless[:, free] if picked else ca.vertcat(R, unitless)
    return Elimination(R, G, sizes, free, triangularize(ca.sparsify(whole)))


def picked_speeds(R: Any) -> dict[int, int]:
    """Speed -> row of R, if R is a constant selection of speeds."""
    if not R.is_constant() or R.nnz() != R.shape[0] or not all(float(x) == 1 for x in R.nonzeros()):
        return {}
    rows, columns = R.sparsity().get_triplet()
    return dict(zip(columns, rows, strict=True))


def solved(factor: Factor, B: Any) -> Any:
    """X of A X = B, column by column."""
    none = ca.SX(len(factor.order), 0)
    return ca.horzcat(none, *(backward(factor, forward(factor, entries(x))) for x in ca.horzsplit(B)))
