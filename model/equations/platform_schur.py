"""Closed legs on a trunk, such as those of a platform: the Schur complement of the legs onto the trunk.

Where M falls apart into a trunk and legs, and every row G = (J, U) ties one leg to the trunk,
M v̇ + Gᵀλ = f, G v̇ = c is with A = J M_l⁻¹ Jᵀ, which has a block for each leg, and the speeds w of the trunk

    A λ − U ẇ = b,   b = J M_l⁻¹ f_l − c,      Uᵀλ + M_t ẇ = f_t.

C = (A + μ)⁻¹, block by block, leaves (M_t + Uᵀ C U) ẇ = f_t − Uᵀ C b: that Schur complement is the trunk with
what its legs weigh at their ends. `constrained` takes a matrix with as many rows as all legs have together.

A leg alone can be singular where the mechanism is not, stretched out for example. Its C is then as large
as 1/μ, and what rounding leaves of that hides the trunk's own mass: λ and ẇ are wrong by up to 1e-5. The
later half of the proximal sweeps (`constrained`) therefore solves for what the two equations, as they stand
above, are missed by; each such sweep squares the error. So every pose is solved as accurately as by
`constrained`, singular ones and dependent rows included (`tests/equations/test_platform_schur.py`).
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import casadi as ca

from ..base.thresholds import REGULARIZATION, SWEEPS
from .solve import (
    Column,
    Entries,
    Factor,
    Groups,
    by_value,
    entries,
    factorize,
    freed,
    gram,
    half_solved,
    inner,
    least_degree,
    regularize,
    summed,
)


class OnTrunk(NamedTuple):
    """Legs factorized, what they weigh at the trunk added to it: ready for right-hand sides."""

    legs: list[int]  # speeds
    trunk: list[int]
    M: Factor  # of the legs
    Y: list[Entries]  # columns of L⁻¹ P Jᵀ
    Z: list[Entries]  # the same over D
    A: list[Entries]  # rows of A
    C: list[Entries]
    mu: Any
    U: list[Entries]  # rows
    columns: list[Column]  # of U
    Mt: list[Entries]  # rows
    heavy: Factor  # M_t + Uᵀ C U
    speeds: Callable[[Any], Any]

    @property
    def size(self) -> int:
        return len(self.legs) + len(self.trunk)

    def accelerations(self, f: Any, c: Any, sweeps: int = SWEEPS) -> tuple[Any, Any]:
        """v̇ and λ of M v̇ + Gᵀλ = f, G v̇ = c."""
        y = self.M.forward(entries(f[self.legs]))
        b, ft = [inner(z, y) - c[k] for k, z in enumerate(self.Z)], ca.vertsplit(f[self.trunk])
        lam, dw = self._solved(b, ft)
        for sweep in range(1, sweeps):
            if sweep < sweeps // 2:
                lam, dw = self._solved([x + self.mu[k] * lam[k] for k, x in enumerate(b)], ft)
            else:
                more, further = self._solved(*self._missed(b, ft, lam, dw))
                lam, dw = _plus(lam, more), _plus(dw, further)
        found = ca.SX.zeros(self.size, 1)
        found[self.legs] = self.M.backward(freed(y, self.Y, lam))
        found[self.trunk] = ca.vertcat(*dw)
        return self.speeds(found), ca.vertcat(*lam)

    def _solved(self, b: list[Any], ft: list[Any]) -> tuple[list[Any], list[Any]]:
        """λ and ẇ of (A + μ) λ − U ẇ = b, Uᵀλ + M_t ẇ = f_t."""
        z = _times(self.C, b)
        right = {i: x - u for i, (x, u) in enumerate(zip(ft, self._onto_trunk(z), strict=True))}
        dw = ca.vertsplit(self.heavy.backward(self.heavy.forward(right)))
        return _plus(z, _times(self.C, _times(self.U, dw))), dw

    def _missed(
        self, b: list[Any], ft: list[Any], lam: list[Any], dw: list[Any]
    ) -> tuple[list[Any], list[Any]]:
        """b − A λ + U ẇ and f_t − Uᵀλ − M_t ẇ."""
        rows = zip(b, _times(self.A, lam), _times(self.U, dw), strict=True)
        forces = zip(ft, self._onto_trunk(lam), _times(self.Mt, dw), strict=True)
        return [x - a + u for x, a, u in rows], [x - u - m for x, u, m in forces]

    def _onto_trunk(self, lam: list[Any]) -> list[Any]:
        """Uᵀλ; rows that move alike are added up before they are multiplied."""
        return [summed(x * summed(lam[k] for k in rows) for x, rows in column) for column in self.columns]


def on_trunk(
    M: Any, G: Any, groups: Groups, trunk: Sequence[int], speeds: Callable[[Any], Any] = lambda a: a
) -> OnTrunk:
    """Prepare M a + Gᵀλ = f, G a = c; `trunk` from `trunk_of`."""
    legs = [k for k in range(M.shape[0]) if k not in trunk]
    G = ca.cse(G)  # equal entries are then one
    factor = factorize(M[legs, legs], least_degree(M[legs, legs]))
    Y, Z = half_solved(factor, G[:, legs])
    A = gram(Z, Y)
    plain = _rows(A)
    mu = regularize(A, groups, REGULARIZATION)
    C = _inverse(A)
    U = G[:, trunk]
    columns = [by_value(U[:, k]) for k in range(len(trunk))]
    Mt = M[trunk, trunk]
    heavy = ca.sparsify(Mt + _weighed(columns, C))
    return OnTrunk(
        legs, list(trunk), factor, Y, Z, plain, C, mu, _rows(U), columns, _rows(Mt),
        factorize(heavy, least_degree(heavy)), speeds,
    )  # fmt: skip


def trunk_of(M: Any, G: Any) -> list[int]:
    """The speeds of the part of M that all rows tie something else to, which can give way to every row alone.

    None where there is no such part: where a row ties two legs, or nothing but the trunk.
    """
    parts = _parts(M)
    ties = [{k for k, part in enumerate(parts) if part & entries(row.T).keys()} for row in ca.vertsplit(G)]
    common = set.intersection(*ties) if ties else set()
    if len(common) != 1 or not all(len(tie) == 2 for tie in ties):
        return []
    trunk = sorted(parts[common.pop()])
    J = G[:, [k for k in range(M.shape[0]) if k not in trunk]]
    return trunk if ca.sprank(J) == J.shape[0] else []


def _parts(M: Any) -> list[set[int]]:
    """Speeds that M ties together."""
    parts = [{k} for k in range(M.shape[0])]
    for i, j in zip(*M.sparsity().get_triplet(), strict=True):
        a, b = (next(part for part in parts if k in part) for k in (i, j))
        if a is not b:
            a |= b
            parts.remove(b)
    return parts


def _inverse(A: Any) -> list[Entries]:
    """Rows of A⁻¹, A of blocks."""
    factor, rows = factorize(A, list(range(A.shape[0]))), list[Entries]()
    for k in range(A.shape[0]):
        row = entries(factor.backward(factor.forward({k: ca.SX(1)})))
        rows.append({i: x if i >= k else rows[i][k] for i, x in row.items()})
    return rows


def _weighed(columns: list[Column], C: list[Entries]) -> Any:
    """Uᵀ C U; rows that have the same value in a column are added up before they are multiplied."""
    n = len(columns)
    W = ca.SX(n, n)
    for b, column in enumerate(columns):
        met: dict[tuple[int, ...], Any] = {}  # sums of rows of C times the column
        for a in range(b, n):
            terms = []
            for x, rows in columns[a]:
                if (key := tuple(rows)) not in met:
                    parts = ((y, [C[r][s] for r in rows for s in also if s in C[r]]) for y, also in column)
                    met[key] = summed(y * summed(part) for y, part in parts if part)
                terms.append(x * met[key])
            W[a, b] = W[b, a] = summed(terms)
    return W


def _rows(matrix: Any) -> list[Entries]:
    return [entries(row.T) for row in ca.vertsplit(matrix)]


def _plus(a: list[Any], b: list[Any]) -> list[Any]:
    return [x + y for x, y in zip(a, b, strict=True)]


def _times(rows: list[Entries], x: Sequence[Any]) -> list[Any]:
    return [summed(entry * x[k] for k, entry in row.items()) for row in rows]
