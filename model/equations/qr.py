"""Sparse QR over symbols, for matrices whose columns are independent and whose rows may be redundant.

A = Q (T; 0), T upper triangular, loses as many digits as A is near to singular; AᵀA = TᵀT twice as many. As
in `solve.py` no pivots are sought: the order of the columns decides only how many operations are
written. Q is a product of Householder's reflections, each with the sign that lets nothing cancel.
"""

from typing import Any, NamedTuple

import casadi as ca

from .solve import Entries, entries, least_degree


class Reflection(NamedTuple):
    """1 − s w wᵀ over the rows that a column reaches; w is one in `row`, which becomes the row of T."""

    row: int
    others: Entries  # of w
    s: Any

    def __call__(self, c: Entries) -> None:
        """Reflect a sparse column in place."""
        touched = [(x, c[i]) for i, x in self.others.items() if i in c]
        if not self.others or not (touched or self.row in c):
            return
        along = self.s * sum((x * y for x, y in touched), start=c.get(self.row, ca.SX(0)))
        c[self.row] = c.get(self.row, 0) - along
        for i, x in self.others.items():
            c[i] = c.get(i, 0) - x * along


class QR(NamedTuple):
    """A reflection for each column, in their order, and the rows of T."""

    shape: tuple[int, int]
    order: list[int]
    reflections: list[Reflection]
    right: list[Entries]  # row k of T right of the diagonal, by columns of A
    inverse: list[Any]  # 1 over the diagonal of T


def triangularize(A: Any) -> QR:
    """Q and T of an SX matrix."""
    found = QR(A.shape, least_degree(A.T @ A), [], [], [])
    columns = {k: entries(column) for k, column in enumerate(ca.horzsplit(A))}
    done: set[int] = set()
    for k in found.order:
        x = {i: value for i, value in columns.pop(k).items() if i not in done}
        row, *rest = x
        diagonal, reflection = x[row], Reflection(row, {}, ca.SX(0))
        if rest:
            size = ca.copysign(ca.sqrt(sum(value**2 for value in x.values())), x[row])
            w = x[row] + size
            reflection = Reflection(row, {i: x[i] / w for i in rest}, w / size)
            diagonal = -size
        for column in columns.values():
            reflection(column)
        found.reflections.append(reflection)
        found.right.append({j: column[row] for j, column in columns.items() if row in column})
        found.inverse.append(1 / diagonal)
        done.add(row)
    return found


def least_squares(factor: QR, c: Any) -> Any:
    """x of least |A x − c|, a dense column; A x = c where redundant rows agree."""
    y = entries(c)
    for reflection in factor.reflections:
        reflection(y)
    x = ca.SX.zeros(factor.shape[1], 1)
    for n in reversed(range(len(factor.order))):
        value = y.get(factor.reflections[n].row, ca.SX(0))
        for j, entry in factor.right[n].items():
            value = value - entry * x[j]
        x[factor.order[n]] = value * factor.inverse[n]
    return x


def least_norm(factor: QR, b: Any) -> Any:
    """y of Aᵀy = b, the shortest."""
    left, y = entries(b), dict[int, Any]()
    for n, k in enumerate(factor.order):
        if k in left:
            y[factor.reflections[n].row] = value = left[k] * factor.inverse[n]
            for j, entry in factor.right[n].items():
                left[j] = left.get(j, 0) - entry * value
    for reflection in reversed(factor.reflections):
        reflection(y)
    result = ca.SX.zeros(factor.shape[0], 1)
    for i, value in y.items():
        result[i] = value
    return result
