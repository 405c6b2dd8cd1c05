"""What Python prints of results is a few lines, and `dir` shows what one uses."""

from __future__ import annotations

from cutjoint import Simulation, hold


def test_results_print_in_a_few_words() -> None:
    s = Simulation("fourbar", compile=False)
    assert repr(s) == ("Simulation('fourbar' at 0 s: 3 bodies, 4 joints, 1 loop; inputs crank)")
    assert repr(hold(s)).startswith("Equilibrium(unstable; inputs crank 1.40252; residual ")
    assert repr(s.linearize()).startswith("LinearModel(2 states: ")
    assert repr(s.run(0.01)).startswith("Trajectory(11 times from 0 to 0.01 s; ")
    assert repr(s.variables()).startswith("Variables(1 inputs, ")
    for thing in (s, hold(s), s.linearize(), s.run(0.01), s.variables()):
        assert len(repr(thing)) < 400


def test_dir_shows_what_one_uses() -> None:
    names = set(dir(Simulation("fourbar", compile=False)))
    assert {"run", "outputs", "linearize", "set_inputs", "topology", "move_to"} <= names
    assert not {"traced_step", "take_inputs", "judges", "memory"} & names
