"""Derivatives of a traced function along directions, as numbers."""

from collections.abc import Sequence
from typing import Any

import casadi as ca
import numpy as np

Array = np.ndarray
AT_ONCE = 32  # directions written out side by side; code for more would be as long as all together


class Directional:
    """Values of a function at a point, and their derivatives along `count` directions at once."""

    def __init__(self, f: ca.Function, count: int):
        self.f, self.count = f, count
        # kept: CasADi would trace it anew; it calls what goes along one direction again for each of many
        self.forward = f.forward(count if count <= AT_ONCE else 1)

    def __call__(self, at: Sequence[Any], seeds: Sequence[Array | None]) -> tuple[list[Array], list[Array]]:
        """The results, and Df(at)·seeds: (rows, count) for a vector, (rows × columns, count) for a matrix.

        A seed is (argument's rows, count); None is for an argument that stays as it is.
        """
        values = self.f.call([ca.DM(x) for x in at])
        full = [np.zeros((self.f.size1_in(k), self.count)) if x is None else x for k, x in enumerate(seeds)]
        slopes = self.forward.call([*at, *values, *full])
        results = [np.array(x) for x in values]
        return results, [
            np.array(slope).reshape(*x.shape, self.count, order="F").reshape(x.size, self.count, order="F")
            for x, slope in zip(results, slopes, strict=True)
        ]
