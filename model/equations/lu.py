"""Sparse LU over symbols, for matrices that are nearly symmetric and positive definite.

As in `solve.py` no pivots are sought: the order is given, and decides only how many operations are written.
A factor travels between traced functions as one column of numbers.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import casadi as ca

from .solve import Entries, reciprocal


class LU(NamedTuple):
    """L U of a matrix with rows and columns in the given order; L has ones on its diagonal."""

    order: list[int]
    below: list[Entries]  # column k of L below the diagonal
    right: list[Entries]  # row k of U right of the diagonal
    inverse: list[Any]  # 1 over the diagonal of U

    def numbers(self) -> Any:
        """All entries in one column."""
        columns = [*(x for part in (*self.below, *self.right) for x in part.values()), *self.inverse]
        return ca.vertcat(*columns, ca.SX(0, 1))

    def of(self, numbers: Any) -> LU:
        """The same pattern with other numbers."""
        each = iter(ca.vertsplit(numbers) if numbers.numel() else [])
        below, right = ([{k: next(each) for k in part} for part in side] for side in (self.below, self.right))
        return LU(self.order, below, right, [next(each) for _ in self.inverse])


def factorize_lu(A: Any, order: list[int]) -> LU:
    """Elimination row by row and column by column, as the pattern of A + Aᵀ has them."""
    place = {index: k for k, index in enumerate(order)}
    n = len(order)
    rows: list[Entries] = [{} for _ in range(n)]  # of the upper part, the diagonal included
    columns: list[Entries] = [{} for _ in range(n)]  # of the lower part
    for i, j, x in zip(*A.sparsity().get_triplet(), A.nonzeros(), strict=True):
        a, b = place[i], place[j]
        (rows[a] if a <= b else columns[b])[b if a <= b else a] = x
    below, right, inverse = [], [], []
    for k in range(n):
        d = reciprocal(rows[k].pop(k))
        scaled = {i: x * d for i, x in columns[k].items()}
        for i, x in scaled.items():
            for j, y in rows[k].items():
                target, at = (rows[i], j) if i <= j else (columns[j], i)
                target[at] = target.get(at, 0) - x * y
        below.append(scaled)
        right.append(rows[k])
        inverse.append(d)
    return LU(order, below, right, inverse)


def solve_lu(factor: LU, b: Any) -> Any:
    """x of A x = b, a dense column."""
    y = {k: x for k, index in enumerate(factor.order) if not (x := b[index]).is_zero()}
    for k, column in enumerate(factor.below):
        if k in y:
            for i, x in column.items():
                y[i] = y.get(i, 0) - x * y[k]
    found: list[Any] = [ca.SX(0)] * len(factor.order)
    for k in reversed(range(len(factor.order))):
        value = y.get(k, ca.SX(0))
        for j, x in factor.right[k].items():
            value = value - x * found[j]
        found[k] = value * factor.inverse[k]
    result = ca.SX.zeros(len(found), 1)
    for k, index in enumerate(factor.order):
        result[index] = found[k]
    return result
