"""The platform in cables: what its winches do to them."""

import numpy as np
from cutjoint import Simulation


def test_a_cable_becomes_slack_and_taut_again() -> None:
    """One winch pulls hard: a cable on its side lets go and holds again, and the energy is accounted for."""
    simulation = Simulation("cable_platform", compile=False)
    before = simulation.outputs()["energy"]
    simulation.set_inputs({"winch1": -180.0})
    tension = []
    for _ in range(2000):
        simulation.step(1e-3)
        tension.append([simulation.outputs()[f"strut.cable{k}.tension"] for k in (1, 2, 3, 4)])
    taut = np.array(tension) > 0
    changes = np.abs(np.diff(taut.astype(int), axis=0)).sum(axis=0)
    assert taut[0].all() and taut[-1].all() and changes.max() >= 2
    assert abs(simulation.outputs()["energy"] - before - simulation.work) < 1e-6 * simulation.work
