"""The linear model of an FMU at a chosen time, read back through its directional derivatives."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from ..model.describe.flaws import nearest
from ..model.errors import CutjointError
from ..model.linear.model import LinearModel


def linear_model(
    path: str | os.PathLike[str],
    *,
    time: float = 0.0,
    inputs: Mapping[str, float] | None = None,
    outputs: Iterable[str] | None = None,
    step: float = 1e-3,
) -> LinearModel:
    """A, B, C, D of a native FMI 2.0 or 3.0 FMU: run it to `time` under constant inputs, then ask it.

    `inputs` are values by the FMU's names; `outputs` the rows of C and D, all outputs if None (FMI
    3.0: names of whole arrays). States are named after the joints they belong to at that time.
    """
    from fmpy import extract, read_model_description

    description = read_model_description(str(path))
    is2 = description.fmiVersion.startswith("2")
    if is2 and not description.coSimulation.providesDirectionalDerivative:
        raise CutjointError(f"'{path}' provides no directional derivatives; export it with --runtime native")
    variables = {v.name: v for v in description.modelVariables}
    values, wanted = dict(inputs or {}), None if outputs is None else list(outputs)
    for name in [*values, *(wanted or ())]:
        if name not in variables:
            raise CutjointError(f"the FMU has no variable '{name}'; {nearest(name, variables)}")
    shown = [v for v in variables.values() if v.causality == "output"]
    chosen = shown if wanted is None else [variables[name] for name in wanted]
    folder = extract(str(path))
    try:
        fmu = instantiate(description, folder)
        begin(fmu, not is2, {variables[name].valueReference: value for name, value in values.items()})
        steps = round(time / step)
        for k in range(steps):
            fmu.doStep(currentCommunicationPoint=k * step, communicationStepSize=step)
        result = _asked(fmu, description, chosen, steps * step)
        fmu.terminate()
        fmu.freeInstance()
        return result
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _asked(fmu: Any, description: Any, chosen: list[Any], time: float) -> LinearModel:
    """The linear model of a running FMU with these variables as outputs."""
    is3 = description.fmiVersion.startswith("3")
    derivatives = [u.variable for u in description.derivatives]
    states = [d.derivative for d in derivatives]
    inputs = [v for v in description.modelVariables if v.causality == "input"]
    rows, columns = [*derivatives, *chosen], [*states, *inputs]
    J = jacobian(fmu, is3, rows, columns)
    n = sum(_size(v) for v in states)
    names = _state_names(fmu, is3, description)
    return LinearModel(
        J[:n, :n],
        J[:n, n:],
        J[n:, :n],
        J[n:, n:],
        tuple(names),
        tuple(v.name for v in inputs),
        tuple(text for v in chosen for text in _elements(v)),
        tuple("1" for _ in names),
        tuple(v.unit or "1" for v in inputs),
        tuple(v.unit or "1" for v in chosen for _ in range(_size(v))),
        np.zeros((0, n)),
        (),
        time,
    )


def _state_names(fmu: Any, is3: bool, description: Any) -> list[str]:
    """`joint.<name>.position` and `.velocity` of the independent coordinates, as `state.coordinate` says."""
    found = [v for v in description.modelVariables if v.name.startswith("state.coordinate")]
    references = [v.valueReference for v in found]
    count = sum(_size(v) for v in found)
    numbers = fmu.getInt32(references, count) if is3 else fmu.getInteger(references)
    started = [v for v in description.modelVariables if v.name.startswith("start.") and ".speed" in v.name]
    speeds = [text[len("start.") :] for v in started for text in _elements(v)]
    chosen = [speeds[k - 1].partition(".speed") for k in numbers]
    return [f"joint.{a}.{what}{b}" for what in ("position", "velocity") for a, _, b in chosen]


def instantiate(description: Any, folder: str) -> Any:
    """A co-simulation instance of FMPy's for either version."""
    from fmpy.fmi2 import FMU2Slave
    from fmpy.fmi3 import FMU3Slave

    kind = FMU3Slave if description.fmiVersion.startswith("3") else FMU2Slave
    fmu = kind(
        guid=description.guid,
        unzipDirectory=folder,
        modelIdentifier=description.coSimulation.modelIdentifier,
        instanceName="linear",
    )
    fmu.instantiate()
    return fmu


def begin(fmu: Any, is3: bool, values: Mapping[int, float]) -> None:
    """Initialize with some values set."""
    if is3:
        fmu.enterInitializationMode(startTime=0.0)
        for reference, value in values.items():
            fmu.setFloat64([reference], [value])
    else:
        fmu.setupExperiment(startTime=0.0)
        fmu.enterInitializationMode()
        fmu.setReal(list(values), list(values.values()))
    fmu.exitInitializationMode()


def jacobian(fmu: Any, is3: bool, rows: list[Any], columns: list[Any]) -> np.ndarray:
    """Derivatives of variables (rows) with respect to others (columns), one direction at a time."""
    unknowns, knowns = [v.valueReference for v in rows], [v.valueReference for v in columns]
    width, height = sum(_size(v) for v in columns), sum(_size(v) for v in rows)
    J = np.zeros((height, width))
    for k in range(width):
        seed = [0.0] * width
        seed[k] = 1.0
        if is3:
            J[:, k] = fmu.getDirectionalDerivative(unknowns, knowns, seed, height)
        else:
            J[:, k] = fmu.getDirectionalDerivative(unknowns, knowns, seed)
    return J


def _size(variable: Any) -> int:
    return int(np.prod([int(d.start) for d in variable.dimensions], dtype=int)) if variable.dimensions else 1


def _elements(variable: Any) -> list[str]:
    if not variable.dimensions:
        return [variable.name]
    shape = [int(d.start) for d in variable.dimensions]
    return [f"{variable.name}[{','.join(str(i + 1) for i in at)}]" for at in np.ndindex(*shape)]
