"""CasADi's DaeBuilder takes the FMU: its ode and Jacobians are the engine's."""

from __future__ import annotations

import shutil
from itertools import product

import casadi as ca
import numpy as np
import pytest
from bulk import bulk
from cutjoint import Simulation, list_examples
from fmpy import extract
from fmu_exchange import begin, rates
from fmu_tools import exported, instance, names, some_inputs

CASES = list(product(list_examples(), (2, 3)))
EACH_RUN = {("servo_stewart", 3), ("bicycle", 2)}


@pytest.mark.parametrize(("name", "fmi"), bulk(CASES, EACH_RUN))
def test_its_functions_are_those_of_the_engine(name: str, fmi: int) -> None:
    path, u = exported(name, fmi, scalar=fmi == 3), some_inputs(name)  # CasADi knows no arrays
    with instance(path, exchange=True) as fmu:
        x = begin(fmu, dict(zip(names(fmu, "input"), u, strict=True)))
        wanted = rates(fmu, x)
    simulation = Simulation(name, compile=False)
    simulation.set_inputs(u)
    model = simulation.linearize(states="partition")
    folder = str(extract(str(path)))
    try:
        dae = ca.DaeBuilder(name, folder, {})
        ode = dae.create("ode", ["x", "u"], ["ode"])
        slopes = dae.create("slopes", ["x", "u"], ["jac_ode_x", "jac_ode_u"])
        found, A, B = (np.array(ca.DM(y)) for y in (ode(x, u), *slopes(x, u)))
        twice = ode(x + 0.01, u), ode(x, u)  # other states in between, which are set one by one
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    assert np.allclose(found.ravel(), wanted, rtol=1e-10, atol=1e-10)
    assert np.allclose(np.array(twice[1]), found, rtol=1e-9, atol=1e-9)
    # a ball's displacement is counted from a reference at rest: ½ω× where the engine, moving along, has ω×
    turning = _half_bracket(simulation, model.states)
    for ours, engines in ((A - turning, model.A), (B, model.B)):
        assert np.abs(ours - engines).max(initial=0) <= 1e-10 * max(1.0, np.abs(engines).max(initial=0))


def _half_bracket(simulation: Simulation, states: tuple[str, ...]) -> np.ndarray:
    """½[ω, ·] in rows and columns of the coordinates of balls, of which all three are states; else zero."""
    result = np.zeros((len(states), len(states)))
    for move, link in simulation.tree.moves:
        if move.plain:
            continue
        joint = next(n for n, at in simulation.tree.v.items() if at.start <= link.v.start < at.stop)
        rows = [k for k, s in enumerate(states) if s.startswith(f"joint.{joint}.position")]
        w = simulation.state.v[link.v]
        if len(rows) == 3:
            result[np.ix_(rows, rows)] = 0.5 * np.cross(np.eye(3), w)
    return result
