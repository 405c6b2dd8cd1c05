"""From what an engineer draws, axes and principal moments, to what the engine computes with."""

from math import hypot, sqrt
from typing import TypeAlias

import numpy as np

from ..base.errors import DescriptionError
from ..base.thresholds import NOT_ROTATION, NOT_SYMMETRIC, PARALLEL
from ..joints.euler import rotation

Vector: TypeAlias = tuple[float, ...]


def minus(a: Vector, b: Vector) -> Vector:
    return tuple(x - y for x, y in zip(a, b, strict=True))


def vector_sum(a: Vector, b: Vector) -> Vector:
    return tuple(x + y for x, y in zip(a, b, strict=True))


def cross(a: Vector, b: Vector) -> Vector:
    return (a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])


def dot(a: Vector, b: Vector) -> float:
    return sum(x * y for x, y in zip(a, b, strict=True))


def unit_vector(a: Vector) -> Vector:
    size = hypot(*a)
    if size == 0:
        raise DescriptionError("must not be zero, since it is a direction")
    # Scaled first: the square of a very small or large number leaves the range of floats.
    a = tuple(x / max(map(abs, a)) for x in a)
    return tuple(x / hypot(*a) + 0.0 for x in a)  # + 0.0 turns -0.0 into 0.0


def orientation(axis: Vector, across: Vector | None = None) -> Vector:
    """Euler parameters of the frame with z along `axis` and x along `across`, made perpendicular.

    Without `across`, x is taken near the coordinate axis that follows the one nearest to `axis`
    (x, y, z, x). If `axis` is a coordinate axis, the frame is then a cyclic exchange of axes or
    a half turn, whose Euler parameters are 0, ±1/2 or 1: no rounding, so its zeros stay zeros.
    """
    z = unit_vector(axis)
    if across is None:
        nearest = max(range(3), key=lambda k: (abs(z[k]), k))
        follows = (nearest + 1) % 3
        sign = -1.0 if z[nearest] < 0 and nearest != 2 else 1.0
        across = tuple(sign if k == follows else 0.0 for k in range(3))
    x = unit_vector(across)
    x = minus(x, tuple(dot(x, z) * c for c in z))
    if hypot(*x) < PARALLEL:
        raise DescriptionError("must not be parallel to axis")
    x = unit_vector(x)
    return euler_parameters((x, cross(z, x), z))


def euler_parameters(columns: tuple[Vector, Vector, Vector]) -> Vector:
    """Euler parameters (w, x, y, z) of a rotation matrix given by its columns; w is not negative.

    The largest of the four comes from the diagonal, the others from sums and differences of
    off-diagonal pairs divided by it, so none loses digits.
    """
    (a, d, g), (b, e, h), (c, f, i) = columns
    squares = (1 + a + e + i, 1 + a - e - i, 1 - a + e - i, 1 - a - e + i)
    largest = max(range(4), key=lambda k: squares[k])
    rows = (
        (squares[0], h - f, c - g, d - b),
        (h - f, squares[1], b + d, c + g),
        (c - g, b + d, squares[2], f + h),
        (d - b, c + g, f + h, squares[3]),
    )
    scale = 2 * sqrt(squares[largest])
    e4 = [x / scale for x in rows[largest]]
    size = hypot(*e4)
    sign = -1.0 if next(x for x in e4 if x != 0) < 0 else 1.0
    return tuple(sign * x / size + 0.0 for x in e4)


def axes(e: Vector) -> tuple[Vector, Vector, Vector]:
    """The axes x, y, z of the frame with these Euler parameters."""
    x, y, z = map(tuple, rotation(np.array(e)).T.tolist())
    return x, y, z


def matrix_orientation(rows: list[Vector]) -> Vector:
    """Euler parameters of a rotation matrix written with a few digits."""
    x, y, z = (tuple(row[k] for row in rows) for k in range(3))
    off = max(abs(dot(a, b) - (a is b)) for a in (x, y, z) for b in (x, y, z))
    if off > NOT_ROTATION or dot(cross(x, y), z) < 0:
        raise DescriptionError("must be a rotation matrix: columns of length 1, right-handed")
    return orientation(z, x)


def symmetric_inertia(axis: Vector, along: float, across: float) -> Vector:
    """Inertia (xx, yy, zz, xy, xz, yz) of a body of revolution: across·1 + (along − across) n nᵀ."""
    n = unit_vector(axis)
    k = along - across
    diagonal = tuple(across + k * c * c for c in n)
    return (*diagonal, k * n[0] * n[1] + 0.0, k * n[0] * n[2] + 0.0, k * n[1] * n[2] + 0.0)


def matrix_inertia(rows: list[Vector]) -> Vector:
    """The six numbers of a symmetric 3×3 matrix."""
    size = max(abs(x) for row in rows for x in row)
    if any(abs(rows[i][j] - rows[j][i]) > NOT_SYMMETRIC * size for i in range(3) for j in range(i)):
        raise DescriptionError("must be a symmetric matrix")
    return (rows[0][0], rows[1][1], rows[2][2], rows[0][1], rows[0][2], rows[1][2])
