"""Numbers that the description does not name can be changed while a mechanism runs, by their paths."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from cutjoint import DescriptionError, Simulation, load
from cutjoint.model.describe import parameters

MASS, PLACE = "body.coupler.mass", "joint.ground_pin.on_parent.position"


def test_a_number_by_its_path_is_as_good_as_one_with_a_name() -> None:
    live = Simulation("fourbar", compile=False, parameters={MASS: 3.5})
    live.run(0.05)
    live.set_parameters({MASS: 4.0})
    named = replace(load("fourbar"), parameters={"heavy": MASS})
    other = Simulation(named, compile=False, parameters={"heavy": 3.5})
    other.run(0.05)
    other.set_parameters(heavy=4.0)
    for s in (live, other):
        s.run(0.05)
    assert np.array_equal(live.q, other.q) and np.array_equal(live.v, other.v)
    assert not np.array_equal(live.q, Simulation("fourbar", compile=False).q)


def test_geometry_by_its_path_is_assembled_anew() -> None:
    place = np.add(parameters.lookup(load("fourbar"), PLACE), (0.01, 0.0, 0.0))
    s = Simulation("fourbar", compile=False, parameters={PLACE: place})
    assert s.outputs()["loop.residual"] < 1e-10
    assert np.array_equal(s.p, place)


def test_a_name_that_the_description_gave_to_another_number_stays_its_own() -> None:
    """`body_coupler_mass` led to the crank's mass, and was lost."""
    named = replace(load("fourbar"), parameters={"body_coupler_mass": "body.crank.mass"})
    s = Simulation(named, compile=False, parameters={MASS: 3.5, "body_coupler_mass": 2.5})
    assert (s.engine.described(s.p).body("coupler").mass, s.engine.described(s.p).body("crank").mass) == (
        3.5,
        2.5,
    )


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"body.coupler.mas": 1.0}, "leads to no number; did you mean 'body.coupler.mass'"),
        ({MASS: -1.0}, "mass must be positive"),
        ({MASS: float("nan")}, "NaN|finite|number"),
        ({"heavy": 1.0}, "has no parameter 'heavy'"),
    ],
)
def test_what_can_t_be_changed_is_said(given: dict[str, float], says: str) -> None:
    with pytest.raises(DescriptionError, match=says):
        Simulation("fourbar", compile=False, parameters=given)
