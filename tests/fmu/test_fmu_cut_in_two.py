"""A mechanism cut into two FMUs and coupled again."""

import pytest
from cutjoint.examples import cut_in_two


@pytest.mark.study
def test_derivatives_couple_two_halves_a_hundred_times_better() -> None:
    errors = cut_in_two.main((1e-3, 5e-4))
    for name, order in (("values passed on", 1), ("agreed by derivatives", 2), ("libcosim", 1)):
        if (name, 1e-3) in errors:
            assert errors[name, 1e-3] / errors[name, 5e-4] == pytest.approx(2**order, rel=0.1), name
    others = [error for (name, h), error in errors.items() if h == 1e-3 and name != "agreed by derivatives"]
    assert errors["agreed by derivatives", 1e-3] < 0.01 * min(others)
