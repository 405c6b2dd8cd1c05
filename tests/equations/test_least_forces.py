"""Where constraints are redundant, forces of joints and couplings are the least, to round-off."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from cutjoint import Mechanism, Simulation
from cutjoint.model.loading import read
from cutjoint.model.verify.laws import unbalanced

BODIES = """
name: parallelogram
bodies:
  left: {mass: 1, com: [0, 0, 0.5], inertia: [0.01, 0.02, 0.02, 0, 0, 0]}
  top: {mass: 2, com: [0.5, 0, 1], inertia: [0.01, 0.02, 0.02, 0, 0, 0]}
  right: {mass: 1, com: [1, 0, 0.5], inertia: [0.01, 0.02, 0.02, 0, 0, 0]}
joints:
  A: {type: revolute, parent: ground, child: left, at: [0, 0, 0], axis: y, start: 0.3}
  B: {type: revolute, parent: left, child: top, at: [0, 0, 1], axis: y, start: -0.3}
  C: {type: revolute, parent: ground, child: right, at: [1, 0, 0], axis: y, start: 0.3}
  D: {type: revolute, parent: top, child: right, at: [1, 0, 1], axis: y}
"""
TIES = {  # torques that are equal by symmetry, or since the same is said twice
    "couplings: {tie: {joint: C, follows: [A]}}": ("tie.torque[1]", "tie.torque[2]"),
    "couplings: {tie: {joint: C, follows: [A]}, more: {joint: C, follows: [A]}}": (
        "tie.torque[1]",
        "more.torque[1]",
    ),
    "couplings: {tie: {joint: C, follows: [A]}, more: {joint: A, follows: [B], ratio: [-1]}}": (),
}


def forces(mechanism: Mechanism, compile: bool = False) -> tuple[Simulation, dict[str, np.ndarray]]:
    s = Simulation(mechanism, compile=compile)
    found = {name: np.asarray(x) for name, x in s.outputs().items()}
    words = "reaction.", "coupling."
    return s, {name: x for name, x in found.items() if name.startswith(words)}


def component(found: dict[str, np.ndarray], name: str) -> float:
    stem, _, place = name.partition("[")
    return float(found[f"coupling.{stem}"][int(place[0]) - 1])


@pytest.mark.parametrize("text", TIES)
def test_they_are_least_and_stay(text: str) -> None:
    """They were what round-off of the regularized rows made of them: 7e-5 for gravity by 2e-15 more."""
    mechanism = read(BODIES + text)
    s, found = forces(mechanism)
    if equal := TIES[text]:
        assert component(found, equal[0]) == pytest.approx(component(found, equal[1]), abs=1e-9)
    _, again = forces(replace(mechanism, gravity=(0.0, 0.0, -9.81 * (1 + 2e-15))))
    size = max(np.abs(x).max() for x in found.values())
    assert max(np.abs(found[n] - again[n]).max() for n in found) < 1e-10 * size
    assert unbalanced(mechanism, s.outputs(), 1.0, 1.0) < 1e-10
    assert {"A", "C"} <= set(s.topology().not_unique)


def test_a_coupling_that_has_nothing_to_do_does_nothing() -> None:
    _, tied = forces(read(BODIES + next(iter(TIES))))
    _, plain = forces(read(BODIES))
    assert np.abs(tied["coupling.tie.torque"]).max() < 1e-9
    assert all(np.abs(tied[name] - plain[name]).max() < 1e-9 for name in plain)


@pytest.mark.compiler
def test_compiled_or_not() -> None:
    mechanism = read(BODIES + next(iter(TIES)))
    one, other = (forces(mechanism, compile)[1] for compile in (False, True))
    assert max(np.abs(one[n] - other[n]).max() for n in one) < 1e-10


def test_couplings_of_a_chain_share() -> None:
    """No loop, two couplings that say the same: each takes half of the torque that one would."""
    text = """
name: chain
bodies:
  one: {mass: 1, com: [0.5, 0, 0], inertia: [0.01, 0.02, 0.02, 0, 0, 0]}
  two: {mass: 1, com: [1.5, 0, 0], inertia: [0.01, 0.02, 0.02, 0, 0, 0]}
joints:
  a: {type: revolute, parent: ground, child: one, at: [0, 0, 0], axis: y}
  b: {type: revolute, parent: one, child: two, at: [1, 0, 0], axis: y}
couplings: {tie: {joint: b, follows: [a], ratio: [-2]}, again: {joint: b, follows: [a], ratio: [-2]}}
"""
    _, both = forces(read(text))
    alone = read(text)
    _, one = forces(replace(alone, couplings=alone.couplings[:1]))
    for name in ("tie", "again"):
        half = one["coupling.tie.torque"] / 2
        assert both[f"coupling.{name}.torque"] == pytest.approx(half, rel=1e-9)
    assert both["reaction.b.moment"] == pytest.approx(one["reaction.b.moment"], rel=1e-9)
