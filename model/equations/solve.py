"""The linear algebra of a step, written out entry by entry over symbols.

Sparse LDLᵀ without pivoting: the matrices are positive definite, so any order is stable, and
the order only decides how many operations are written down. Singular constraints are met
by proximal regularization of the Lagrange multipliers (`factorize_constrained`), never by a decision on rank.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import casadi as ca

from ..base.thresholds import LEAST_REGULARIZATION, REGULARIZATION, SWEEPS

Entries = dict[int, Any]
Groups = Sequence[Sequence[int]]
Column = list[tuple[Any, list[int]]]  # values with the rows that have them


class Factor(NamedTuple):
    """L D Lᵀ of a matrix with rows and columns in the given order."""

    order: list[int]
    below: list[Entries]  # column k of L below the diagonal
    inverse: list[Any]  # 1/D

    def forward(self, b: Entries) -> Entries:
        return forward(self, b)

    def backward(self, y: Entries) -> Any:
        return backward(self, y)


def leaves_first(M: Any) -> Factor:
    """M of a tree factorized from its leaves on: no fill."""
    return factorize(M, inward(M))


def inward(M: Any) -> list[int]:
    """The order from a tree's leaves to its root."""
    return list(range(M.shape[0]))[::-1]


def factorize(A: Any, order: list[int]) -> Factor:
    """Right-looking sparse elimination of a symmetric SX matrix."""
    rank = {index: k for k, index in enumerate(order)}
    columns: list[Entries] = [{} for _ in order]
    rows, cols = A.sparsity().get_triplet()
    for n, (i, j) in enumerate(zip(rows, cols, strict=True)):
        a, b = rank[i], rank[j]
        if a >= b:
            columns[b][a] = A.nz[n]
    below: list[Entries] = []
    inverse: list[Any] = []
    for k, column in enumerate(columns):
        d = reciprocal(column.pop(k, ca.SX(0)))  # infinite where nothing has mass, which starts refuse
        scaled = {i: x * d for i, x in column.items()}
        for j, x in column.items():
            for i, y in scaled.items():
                if i >= j:
                    columns[j][i] = columns[j].get(i, 0) - y * x
        below.append(scaled)
        inverse.append(d)
    return Factor(order, below, inverse)


def reciprocal(d: Any) -> Any:
    """1/d that stays a number to multiply by: CasADi makes x·(1/d) a division, five times as slow.

    Halves are exact, so ½/(½d) is 1/d to the bit.
    """
    return 0.5 / (0.5 * d)


def forward(factor: Factor, b: Entries) -> Entries:
    """y of L y = P b, sparse in and out (keys of b are original, of y factor indices)."""
    y = {factor.order.index(i): x for i, x in b.items()}
    for k, column in enumerate(factor.below):
        if k in y:
            for i, x in column.items():
                y[i] = y.get(i, 0) - x * y[k]
    return y


def backward(factor: Factor, y: Entries) -> Any:
    """x of Lᵀ P x = D⁻¹ y as a dense column in the original order."""
    x: list[Any] = [ca.SX(0)] * len(factor.order)
    for k in reversed(range(len(factor.order))):
        value = y[k] * factor.inverse[k] if k in y else ca.SX(0)
        for i, entry in factor.below[k].items():
            value = value - entry * x[i]
        x[k] = value
    result = ca.SX.zeros(len(x), 1)
    for k, index in enumerate(factor.order):
        result[index] = x[k]
    return result


def inner(a: Entries, b: Entries) -> Any:
    """aᵀ b over the entries both have."""
    total = ca.SX(0)
    for k in sorted(a.keys() & b.keys()):
        total += a[k] * b[k]
    return total


def entries(x: Any) -> Entries:
    """Entries of a sparse or dense column that are not exactly zero."""
    x = ca.sparsify(x)
    return dict(zip(x.sparsity().row(), x.nonzeros(), strict=True))


def least_degree(A: Any) -> list[int]:
    """Elimination order that keeps fill low: always the least-connected next, as if A were symmetric."""
    graph: dict[int, set[int]] = {i: set() for i in range(A.shape[0])}
    for i, j in zip(*A.sparsity().get_triplet(), strict=True):
        if i != j:
            graph[i].add(j)
            graph[j].add(i)
    order = []
    while graph:
        i = min(graph, key=lambda k: (len(graph[k]), k))
        near = graph.pop(i)
        for j in near:
            graph[j] |= near
            graph[j] -= {i, j}
        order.append(i)
    return order


class Constrained(NamedTuple):
    """M factorized, G half-solved, and S + μ factorized: ready for right-hand sides."""

    M: Any  # a Factor, or what solves as one does (`articulated.py`)
    Y: list[Entries]  # columns of L⁻¹ P Gᵀ
    Z: list[Entries]  # the same over D
    rows: list[int]  # rows of G that hold anything; the multipliers of the others are zero
    S: Factor
    mu: Any  # one for each of `rows`
    speeds: Callable[[Any], Any]  # what the unknowns of M and G are speeds of

    @property
    def size(self) -> int:
        return len(self.M.order)

    def accelerations(self, f: Any, c: Any, sweeps: int = SWEEPS) -> tuple[Any, Any]:
        """a and λ of M a + Gᵀλ = f, G a = c."""
        y = self.M.forward(entries(f))
        rhs = [inner(column, y) - c[k] for k, column in enumerate(self.Z)]
        lam = ca.SX.zeros(len(rhs), 1)
        if self.rows:
            b = ca.densify(ca.vertcat(*(rhs[k] for k in self.rows)))
            lam[self.rows] = proximal(self.S, self.mu, b, sweeps)
        return self.speeds(self.M.backward(freed(y, self.Y, lam))), lam


def factorize_constrained(
    factor: Any, G: Any, groups: Groups, speeds: Callable[[Any], Any] = lambda a: a
) -> Constrained:
    """Prepare M a + Gᵀλ = f, G a = c for any rank of G, M factorized.

    λ are the Lagrange multipliers, S = G M⁻¹ Gᵀ is the Schur complement of M (Delassus' operator). By
    proximal regularization (the method of multipliers, Rockafellar 1976) (S + μ)λ = rhs + μ λ_old is solved a
    few times, μ = softness times the mean diagonal of S over a group of rows that measure the same at one
    joint: neither units nor a heavier loop elsewhere make a row softer. Rows of full rank are met to
    round-off; for dependent rows λ tends to the one of least norm; where G loses rank the multiplier fades
    smoothly instead of growing without bound.

    All of M is eliminated before any row: what a row leaves of some bodies without those it ties them to
    can be singular.
    """
    Y, Z = half_solved(factor, G)
    rows = [k for k, column in enumerate(Y) if column]
    S = gram([Z[k] for k in rows], [Y[k] for k in rows])
    mu = regularize(S, [[rows.index(k) for k in group if k in rows] for group in groups], REGULARIZATION)
    return Constrained(factor, Y, Z, rows, factorize(S, least_degree(S)), mu, speeds)


def half_solved(factor: Any, G: Any) -> tuple[list[Entries], list[Entries]]:
    """Columns of L⁻¹ P Gᵀ, and the same over D."""
    Y = [factor.forward(entries(row.T)) for row in ca.vertsplit(G)]
    return Y, [{i: x * factor.inverse[i] for i, x in column.items()} for column in Y]


def freed(y: Entries, Y: Sequence[Entries], lam: Any) -> Entries:
    """L⁻¹ P (f − Gᵀλ), where y = L⁻¹ P f."""
    found = dict(y)
    for k, column in enumerate(Y):
        for i, x in column.items():
            found[i] = found.get(i, 0) - x * lam[k]
    return found


def gram(Z: Sequence[Entries], Y: Sequence[Entries]) -> Any:
    """S = Zᵀ Y, which is symmetric."""
    S = ca.SX(len(Y), len(Y))
    for i, z in enumerate(Z):
        for j, y in enumerate(Y[i:], start=i):
            if z.keys() & y.keys():
                S[i, j] = S[j, i] = inner(z, y)
    return S


def shortest_order(M: Any, G: Any) -> list[int]:
    """Of the orders of M that leave no fill, the one in which S = G M⁻¹Gᵀ takes fewer operations.

    Leaves first, most rows see few of the pivots; least-connected first, which is root first along an
    unbranched leg, rows that share their first entries share all that follows from these.
    """

    def operations(order: list[int]) -> int:
        factor = factorize(M, order)
        Y, Z = half_solved(factor, G)
        S = ca.cse(gram(Z, Y))
        return int(ca.Function("S", ca.symvar(S), [S]).n_instructions())

    return min((inward(M), least_degree(M)), key=operations)


def regularize(S: Any, groups: Groups, softness: Any, least: Any = 0.0) -> Any:
    """μ of each row, added to the diagonal of S in place: `softness` of the mean diagonal of its group.

    `least` adds to it, a number for each row, where what is left of a row in S may be its round-off.
    """
    mu = ca.SX.zeros(S.shape[0], 1) + least
    for group in groups:
        if group:
            mu[list(group)] += softness / len(group) * sum(S[i, i] for i in group) + LEAST_REGULARIZATION
    for k in range(S.shape[0]):
        S[k, k] += mu[k]
    return mu


def proximal(factor: Factor, mu: Any, b: Any, sweeps: int = SWEEPS) -> Any:
    """λ of S λ = b from S + μ factorized: μ fades by sweeps."""
    x = ca.SX.zeros(b.shape)
    for _ in range(sweeps):
        x = backward(factor, forward(factor, entries(b + mu * x)))
    return x


def onto_manifold(system: Any, c: Any, sweeps: int = SWEEPS) -> Any:
    """The step δ = −M⁻¹Gᵀλ of least M-norm with G δ = c."""
    return system.accelerations(ca.SX.zeros(system.size, 1), c, sweeps)[0]


def times(A: Any, B: Any) -> Any:
    """A B; rows of B that have the same value in a column are added up in A before they are multiplied."""
    columns, left = [by_value(column) for column in ca.horzsplit(B)], ca.horzsplit(A)
    none = ca.SX(A.shape[0], 1)
    return ca.horzcat(
        *(summed([none, *(x * summed(left[k] for k in rows) for x, rows in c)]) for c in columns)
    )


def by_value(column: Any) -> Column:
    """Each value of a column with the rows that have it; `ca.cse` makes equal entries one value."""
    found: dict[Any, tuple[Any, list[int]]] = {}
    for k, x in entries(column).items():
        found.setdefault(x.element_hash(), (x, []))[1].append(k)
    return list(found.values())


def summed(terms: Iterable[Any]) -> Any:
    """Their sum, without a zero to begin with."""
    each = iter(terms)
    return sum(each, next(each, ca.SX(0)))
