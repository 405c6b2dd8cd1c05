"""Directional derivatives of a traced function, as numbers; traced once and kept with the engine."""

from collections.abc import Callable, Sequence
from typing import Any

import casadi as ca
import numpy as np

from ..compile.kernel import Kernel
from ..engine import Engine
from ..equations.terms import Equations

Array = np.ndarray
AT_ONCE = 32  # directions written out side by side; code for more would be as long as all together


class Directional:
    """Values of a function at a point, and their derivatives along `count` directions."""

    def __init__(self, kernel: Kernel, count: int):
        self.kernel, self.count = kernel, count

    def __call__(self, at: Sequence[Any], seeds: Sequence[Array]) -> tuple[list[Array], list[Array]]:
        """The results, and Df(at)·seeds: (rows, count) for a vector, (rows × columns, count) for a matrix.

        A seed is (rows, count), one for each argument that moves.
        """
        found: list[list[Array]] = []
        width = min(self.count, AT_ONCE)
        for first in range(0, max(self.count, 1), AT_ONCE):
            part = [seed[:, first : first + AT_ONCE] for seed in seeds]
            missing = width - part[0].shape[1]
            part = [np.pad(seed, ((0, 0), (0, missing))) for seed in part] if missing else part
            results = self.kernel(*at, *part)
            half = len(results) // 2
            pairs = zip(results[:half], results[half:], strict=True)
            found.append([slope.reshape(value.size, width, order="F") for value, slope in pairs])
        slopes = found[0] if len(found) == 1 else [np.hstack(parts) for parts in zip(*found, strict=True)]
        return results[:half], [slope[:, : self.count] for slope in slopes]


def directional(
    engine: Engine, name: str, count: int, moving: str, make: Callable[[Equations], ca.Function]
) -> Directional:
    """A traced function with its slopes along `count` directions of the arguments `moving` (such as "q v p").

    The engine keeps it under the name, which must tell it from all that `make` could make of other numbers.
    It is not compiled: that takes as long as thousands of calls.
    """
    words = moving.split()
    width = min(count, AT_ONCE)
    key = f"{name} along {width} {moving}"
    kernel = engine.kernel(key, lambda eq: _along(make(eq), width, words), native=False)
    return Directional(kernel, count)


def _along(f: ca.Function, count: int, moving: Sequence[str]) -> ca.Function:
    """(arguments, a seed for each that moves) → (results, their slopes): f and its forward derivative."""
    kind = ca.SX if f.is_a("SXFunction") else ca.MX
    arguments = {name: kind.sym(name, *f.size_in(name)) for name in f.name_in()}
    seeds = {name: kind.sym(f"D{name}", f.size1_in(name), count) for name in moving}
    still = {name: kind(f.size1_in(name), count) for name in arguments}  # zeros that are not computed with
    values = f.call([*arguments.values()])
    slopes = f.forward(count).call([*arguments.values(), *values, *(still | seeds).values()])
    names = [*arguments, *(f"D{name}" for name in seeds)]
    results = [*f.name_out(), *(f"D{name}" for name in f.name_out())]
    symbols = [*arguments.values(), *seeds.values()]
    return ca.Function("along", symbols, [ca.densify(x) for x in (*values, *slopes)], names, results)
