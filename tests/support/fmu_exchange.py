"""A solver for FMUs of model exchange: Runge-Kutta with the engine's nodes, events honoured."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from fmu_tools import get, initialize, instance

NODES = ((0.0, 1 / 6), (0.5, 1 / 3), (0.5, 1 / 3), (1.0, 1 / 6))


def begin(fmu: Any, inputs: dict[str, float]) -> np.ndarray:
    """From an instance to continuous time; returns the states."""
    initialize(fmu, inputs)
    events(fmu)
    fmu.enterContinuousTimeMode()
    return states(fmu)


def motion(fmu: Any, x: np.ndarray, end: float, step: float) -> Iterator[tuple[float, np.ndarray, bool]]:
    """Time, states and whether other states were chosen, after every step; writes into x."""
    for k in range(round(end / step)):
        slope, total = np.zeros_like(x), np.zeros_like(x)
        for node, weight in NODES:
            fmu.setTime((k + node) * step)
            slope = rates(fmu, x + node * step * slope)
            total += weight * slope
        x += step * total
        write(fmu, x)
        event, _ = fmu.completedIntegratorStep()
        if event:
            fmu.enterEventMode()
            events(fmu)
            fmu.enterContinuousTimeMode()
            read(fmu, x)
        yield (k + 1) * step, x, bool(event)


def exchange(
    path: Path,
    end: float,
    inputs: dict[str, float],
    wanted: list[str],
    step: float,
    changes: list[float] | None = None,
) -> np.ndarray:
    """The wanted values at the end; `changes` gets the times of new charts."""
    with instance(path, exchange=True) as fmu:
        x = begin(fmu, inputs)
        for time, _, event in motion(fmu, x, end, step):
            if event and changes is not None:
                changes.append(time)
        return get(fmu, wanted)


def events(fmu: Any) -> None:
    again = True
    while again:
        again, *_ = fmu.updateDiscreteStates() if fmu.is3 else fmu.newDiscreteStates()


def states(fmu: Any) -> np.ndarray:
    x = np.zeros(sum(fmu.sizes[d.variable.name] for d in fmu.description.derivatives))
    read(fmu, x)
    return x


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
