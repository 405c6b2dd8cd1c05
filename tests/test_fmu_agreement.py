"""Every example as FMI 2.0 and 3.0: valid, and the same motion as the engine's, in both interfaces."""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cutjoint.model import Simulation, list_examples
from fmpy import simulate_fmu
from fmpy.validation import validate_fmu
from fmu_tools import SOME, exported, get, initialize, instance, names, some_inputs, values_by_name

STEP = 1e-3
END = 1.0
# For model exchange. The five-bar falls through a singularity, where independent coordinates end; the
# four-bar gets so fast that the error of the integration itself shows.
UNTIL = {"fivebar": 0.5, "fourbar": 0.5}
FEW = {"hexapod": ("joint.leg1.position", "energy", "loop.residual", "singularity.distance")}


@pytest.fixture(scope="module", params=sorted(list_examples()))
def example(request: pytest.FixtureRequest) -> tuple[str, list[float], Simulation, list[Any]]:
    """A mechanism under constant inputs by the engine in Python, at the end of model exchange and of time."""
    inputs = some_inputs(request.param)
    simulation = Simulation(request.param, compile=False)
    simulation.set_inputs(inputs)
    exchanged = UNTIL.get(request.param, END)
    saved = []
    for duration in (exchanged, END - exchanged):
        simulation.run(duration, step=STEP, record=["energy"])
        saved.append(simulation.save())
    return request.param, inputs, simulation, saved


def close(got: np.ndarray, wanted: np.ndarray, tolerance: float) -> None:
    error = np.abs(got - wanted) / np.maximum(1.0, np.abs(wanted))
    assert error.max() < tolerance


@pytest.mark.parametrize("fmi", [2, 3])
def test_example(example: tuple[str, list[float], Simulation, list[Any]], fmi: int) -> None:
    name, values, simulation, saved = example
    path, until = exported(name, fmi, outputs=FEW.get(name, SOME)), UNTIL.get(name, END)
    assert validate_fmu(str(path)) == []
    with instance(path) as fmu:
        wanted = names(fmu, "output")
        inputs = dict(zip(names(fmu, "input"), values, strict=True))
    options = {"start_values": inputs, "output": wanted, "output_interval": 0.1}
    stepped = simulate_fmu(str(path), fmi_type="CoSimulation", stop_time=END, **options)
    simulation.restore(saved[1])
    engine = values_by_name(simulation, wanted)
    close(np.concatenate([np.ravel(stepped[n][-1]) for n in wanted]), engine, 1e-8)
    simulation.restore(saved[0])
    engine = values_by_name(simulation, wanted)
    close(exchange(path, until, inputs, wanted), engine, 1e-8)
    # FMPy's own solver, to its tolerance; it goes wrong if our events are not honoured
    options |= {"stop_time": until, "relative_tolerance": 1e-9}
    solved = simulate_fmu(str(path), fmi_type="ModelExchange", **options)
    close(np.concatenate([np.ravel(solved[n][-1]) for n in wanted]), engine, 1e-4)


def exchange(
    path: Path, end: float, inputs: dict[str, float], wanted: list[str], changes: list[float] | None = None
) -> np.ndarray:
    """Model exchange by Runge-Kutta with the engine's step; `changes` gets the times of new charts."""
    with instance(path, exchange=True) as fmu:
        initialize(fmu, inputs)
        events(fmu)
        fmu.enterContinuousTimeMode()
        n = sum(fmu.sizes[d.variable.name] for d in fmu.description.derivatives)
        x = np.zeros(n)
        read(fmu, x)
        for k in range(round(end / STEP)):
            slope, total = np.zeros(n), np.zeros(n)
            for node, weight in ((0.0, 1 / 6), (0.5, 1 / 3), (0.5, 1 / 3), (1.0, 1 / 6)):
                fmu.setTime((k + node) * STEP)
                slope = rates(fmu, x + node * STEP * slope)
                total += weight * slope
            x = x + STEP * total
            write(fmu, x)
            event, _ = fmu.completedIntegratorStep()
            if event:
                if changes is not None:
                    changes.append((k + 1) * STEP)
                fmu.enterEventMode()
                events(fmu)
                fmu.enterContinuousTimeMode()
                read(fmu, x)
        return get(fmu, wanted)


@pytest.mark.parametrize("fmi", [2, 3])
def test_other_coordinates_become_states_when_the_old_ones_degrade(fmi: int) -> None:
    """A crank that turns: the slider's position describes it only until the dead centre comes near."""
    simulation = Simulation("slider_crank", compile=False)
    simulation.set_inputs([0.5])
    simulation.run(1.0, step=STEP, record=["energy"])
    changes: list[float] = []
    path = exported("slider_crank", fmi)
    with instance(path) as fmu:
        wanted, (name,) = names(fmu, "output"), names(fmu, "input")
    got = exchange(path, 1.0, {name: 0.5}, wanted, changes)
    assert len(changes) >= 1
    close(got, values_by_name(simulation, wanted), 1e-7)


def events(fmu: Any) -> None:
    if fmu.is3:
        again = True
        while again:
            again, *_ = fmu.updateDiscreteStates()
    else:
        fmu.newDiscreteStates()


def read(fmu: Any, x: np.ndarray) -> None:
    fmu.getContinuousStates(pointer(x), len(x))


def write(fmu: Any, x: np.ndarray) -> None:
    fmu.setContinuousStates(pointer(x), len(x))


def rates(fmu: Any, x: np.ndarray) -> np.ndarray:
    write(fmu, x)
    dx = np.zeros_like(x)
    call = fmu.getContinuousStateDerivatives if fmu.is3 else fmu.getDerivatives
    call(pointer(dx), len(dx))
    return dx


def pointer(x: np.ndarray) -> Any:
    return x.ctypes.data_as(ctypes.POINTER(ctypes.c_double))
