"""Sparse QR over symbols, for matrices whose columns are independent and whose rows may be redundant.

A = Q (T; 0), T upper triangular, loses as many digits as A is near to singular; AᵀA = TᵀT twice as many. As
in `solve.py` no pivots are sought: the order of the columns decides only how many operations are
written. Q is a product of Householder's reflections, each with the sign that lets nothing cancel.

A reflection mixes its first row into the others, and with it the round-off of a large row into a small one. A
few columns, as a single loop has, each get a row of zeros for that: reflecting (0; A) is the modified method
of Gram and Schmidt, and keeps what a small row says (Björck 1967). More would take a third more operations.

A processor works at several operations at once if they do not wait for each other: sums are taken in pairs,
and what is known last is used last.
"""

from typing import Any, NamedTuple

import casadi as ca

from .solve import Entries, entries, least_degree, reciprocal

FEW = 3  # columns up to which each is reflected into a row of zeros


class Reflection(NamedTuple):
    """1 − w yᵀ with y = w/s over the rows that a column reaches; the first of them becomes the row of T."""

    row: int  # negative if it is one of zeros beside A
    w: Entries  # nothing where the column reaches one row only
    y: Entries

    def __call__(self, c: Entries) -> None:
        """Reflect a sparse column in place."""
        _reflect(c, self.w, [x * c[i] for i, x in self.y.items() if i in c], 1)


class QR(NamedTuple):
    """A reflection for each column, in their order, and the rows of T over its diagonal."""

    shape: tuple[int, int]
    order: list[int]
    reflections: list[Reflection]
    right: list[Entries]  # row k of T right of the diagonal, over it, by columns of A; the last one first
    inverse: list[Any]  # 1 over the diagonal of T


def triangularize(A: Any) -> QR:
    """Q and T of an SX matrix."""
    found = QR(A.shape, least_degree(A.T @ A), [], [], [])
    columns = {k: entries(A[:, k]) for k in reversed(found.order)}
    done: set[int] = set()
    for k in found.order:
        w = {i: x for i, x in columns.pop(k).items() if i not in done}
        row = next(iter(w))
        reflection, inverse = Reflection(row, {}, {}), reciprocal(w[row])
        if len(found.order) <= FEW:
            row, inverse = -1 - k, reciprocal(ca.sqrt(_sum([x**2 for x in w.values()])))
            w = {row: ca.SX(1), **{i: x * inverse for i, x in w.items()}}
            for c in columns.values():
                _reflect(c, w, [x * c[i] for i, x in w.items() if i in c], 1)
            reflection, inverse = Reflection(row, w, w), -inverse
        elif len(w) > 1:
            size = ca.copysign(ca.sqrt(_sum([x**2 for x in w.values()])), w[row])
            w[row] += size
            s = reciprocal(size * w[row])  # 2/|w|²
            for c in columns.values():
                _reflect(c, w, [x * c[i] for i, x in w.items() if i in c], s)
            reflection, inverse = Reflection(row, w, {i: s * x for i, x in w.items()}), -s * w[row]
        found.reflections.append(reflection)
        found.right.append({j: c[row] * inverse for j, c in columns.items() if row in c})
        found.inverse.append(inverse)
        done.add(row)
    return found


def _reflect(c: Entries, w: Entries, terms: list[Any], s: Any) -> None:
    if terms:
        along = s * _sum(terms)
        for i, x in w.items():
            c[i] = c.get(i, 0) - x * along


def _sum(terms: list[Any]) -> Any:
    while len(terms) > 1:
        terms = [sum(terms[k : k + 2]) for k in range(0, len(terms), 2)]
    return terms[0]


def least_squares(factor: QR, c: Any) -> Any:
    """x of least |A x − c|, a dense column; A x = c where redundant rows agree."""
    y = entries(c)
    for reflection in factor.reflections:
        reflection(y)
    x = ca.SX.zeros(factor.shape[1], 1)
    for n in reversed(range(len(factor.order))):
        value = y.get(factor.reflections[n].row, ca.SX(0)) * factor.inverse[n]
        for j, entry in factor.right[n].items():
            value = value - entry * x[j]
        x[factor.order[n]] = value
    return x


def least_norm(factor: QR, b: Any) -> Any:
    """y of Aᵀy = b, the shortest."""
    left, y = entries(b), dict[int, Any]()
    for n, k in enumerate(factor.order):
        if k in left:
            y[factor.reflections[n].row] = left[k] * factor.inverse[n]
            for j, entry in factor.right[n].items():
                left[j] = left.get(j, 0) - entry * left[k]
    for reflection in reversed(factor.reflections):
        reflection(y)
    result = ca.SX.zeros(factor.shape[0], 1)
    for i, value in y.items():
        if i >= 0:
            result[i] = value
    return result
