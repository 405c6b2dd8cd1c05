"""A loop closes with the axes of its cut joint the right way round, as they are in a tree."""

from __future__ import annotations

from math import cos, radians, sin

import pytest
from cutjoint import AssemblyError, Body, Frame, Joint, Mechanism, Simulation


def ball_and(kind: str, degrees: float) -> Mechanism:
    """A body held by a ball and by another joint at the same point, drawn turned about x."""
    half = radians(degrees) / 2
    start = (cos(half), sin(half), 0.0, 0.0)
    ball = Joint("ball", "spherical", "ground", "b", Frame(), Frame(), start=start)
    other = Joint("other", kind, "ground", "b", Frame(), Frame(), cut=True)
    body = Body("b", 1.0, (0.1, 0.2, 0.3), (0.1, 0.1, 0.1, 0.0, 0.0, 0.0))
    return Mechanism("held", (body,), (ball, other))


@pytest.mark.parametrize("degrees", [100, 150, 170])
@pytest.mark.parametrize("kind", ["fixed", "prismatic", "revolute", "cylindrical", "planar"])
def test_axes_meet_the_right_way_round_or_the_loop_is_open(kind: str, degrees: float) -> None:
    """Rows u·w = 0 are met by opposite axes too, and by axes that have changed places: a third of a turn."""
    try:
        simulation = Simulation(ball_and(kind, degrees), compile=False)
    except AssemblyError as problem:
        assert "stays open by 3.14" in str(problem)
        return
    w, x, y, _ = simulation.outputs()["body.b.orientation"]
    assert 1 - 2 * (x * x + y * y) == pytest.approx(1.0, abs=1e-9)  # z·z
    if kind in ("fixed", "prismatic"):
        assert abs(w) == pytest.approx(1.0, abs=1e-9)
