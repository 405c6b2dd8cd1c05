"""The four examples of paper 000 as assembly problems (its Table 1), body 1 or body 2 turning.

The origins of both bodies coincide and stay; the one that moves has four unknowns.
"""

from math import pi, sqrt

from ..model.cartesian.constraints import Angle, Constraint, Distance, Dot1, Dot2
from ..model.cartesian.problem import Part, Problem

X, Y = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0)
_SLANTED = (1 / sqrt(3),) * 3
_ENDS = ("body 1", "body 2")
_EXAMPLES: dict[int, tuple[Constraint, ...]] = {
    1: (
        Dot2(*_ENDS, _SLANTED, (4, 4, -2), (0, 5, 1)),
        Dot2(*_ENDS, (0, 2 / sqrt(5), 1 / sqrt(5)), (10, 0, 7), (3, 1, -1)),
        Dot2(*_ENDS, (1 / sqrt(2), 1 / sqrt(2), 0), (0, 3, 10), (1, 2, 2)),
    ),
    2: (
        Distance(*_ENDS, (0, 0, 0), (0, 0, 1), 1),
        Distance(*_ENDS, X, (2, 1, 0), sqrt(6)),
        Distance(*_ENDS, Y, (1, 0, 2), sqrt(5)),
    ),
    3: (Dot1(*_ENDS, X, X), Dot1(*_ENDS, Y, Y), Dot2(*_ENDS, _SLANTED, (0, 1, 1), (1, 0, 2))),
    4: (
        Angle(*_ENDS, X, X, pi / 6),
        Angle(*_ENDS, Y, Y, pi / 3),
        Distance(*_ENDS, (1, -1, 0), (0, 1, 2), 2),
    ),
}


def example(number: int, movable: int = 2) -> Problem:
    """Example 1 to 4 with one of the two bodies free to turn."""
    parts = tuple(Part(name, move="turn" if k == movable else "none") for k, name in enumerate(_ENDS, 1))
    constraints = {f"constraint {k}": c for k, c in enumerate(_EXAMPLES[number], 1)}
    return Problem(f"example {number}", parts, constraints)
