"""Where parts of a vector stand that lie one behind another."""

from collections.abc import Iterable
from itertools import accumulate, pairwise


def consecutive_slices(sizes: Iterable[int]) -> list[slice]:
    """The slice of each part, given how many numbers each has."""
    return [slice(a, b) for a, b in pairwise([0, *accumulate(sizes)])]
