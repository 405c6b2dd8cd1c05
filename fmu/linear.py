"""The linear model of an FMU at a chosen time, read back through its directional derivatives."""

import os
import shutil
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from ..model.base.errors import CutjointError
from ..model.describe.inputs import port_of
from ..model.describe.validation import nearest
from ..model.linear.model import LinearModel
from ..native.plan import elements


def linear_model(
    path: str | os.PathLike[str],
    *,
    time: float = 0.0,
    inputs: Mapping[str, float] | None = None,
    outputs: Iterable[str] | None = None,
    step: float = 1e-3,
) -> LinearModel:
    """A, B, C, D of a native FMI 2.0 or 3.0 FMU: run it to `time` under constant inputs, then ask it.

    States are named after the joints they belong to at that time.

    Parameters
    ----------
    path : the FMU.
    time, step : how far it is run, and by which communication steps, seconds.
    inputs : values by the FMU's names, `motor.motor1.torque`, or by the mechanism's, `motor1`.
    outputs : the rows of C and D, all outputs if None (FMI 3.0: names of whole arrays).
    """
    from fmpy import extract, instantiate_fmu, read_model_description

    description = read_model_description(str(path))
    is2 = description.fmiVersion.startswith("2")
    if is2 and not description.coSimulation.providesDirectionalDerivative:
        raise CutjointError(f"'{path}' provides no directional derivatives; export it with --runtime native")
    if description.modelExchange is None:
        raise CutjointError(f"'{path}' shows no states; export it without --no-exchange")
    variables = {v.name: v for v in description.modelVariables}
    values, wanted = dict(inputs or {}), None if outputs is None else list(outputs)
    ports = [v.name for v in variables.values() if v.causality == "input"]
    values = {port_of(name, ports): value for name, value in values.items()}
    for name in [*values, *(wanted or ())]:
        if name not in variables:
            raise CutjointError(f"the FMU has no variable '{name}'; {nearest(name, variables)}")
    shown = [v for v in variables.values() if v.causality == "output" and v.variability == "continuous"]
    chosen = shown if wanted is None else [variables[name] for name in wanted]
    folder = extract(str(path))
    try:
        fmu = instantiate_fmu(folder, description, "CoSimulation")
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
    inputs = [v for v in description.modelVariables if v.causality == "input"]
    J = jacobian(fmu, is3, [*derivatives, *chosen], [*(d.derivative for d in derivatives), *inputs])
    names = _state_names(fmu, is3, description)
    n = len(names)
    return LinearModel(
        *(J[:n, :n], J[:n, n:], J[n:, :n], J[n:, n:]),
        tuple(names),
        tuple(v.name for v in inputs),
        tuple(_elements(chosen)),
        ("1",) * n,
        tuple(v.unit or "1" for v in inputs),
        tuple(v.unit or "1" for v in chosen for _ in _elements([v])),
        np.zeros((0, n)),
        (),
        time,
    )


def _state_names(fmu: Any, is3: bool, description: Any) -> list[str]:
    """`joint.<name>.position` and `.velocity` of the independent coordinates, as `state.coordinate` says."""
    found = [v for v in description.modelVariables if v.name.startswith("state.coordinate")]
    references = [v.valueReference for v in found]
    numbers = fmu.getInt32(references, len(_elements(found))) if is3 else fmu.getInteger(references)
    started = [v for v in description.modelVariables if v.name.startswith("start.") and ".speed" in v.name]
    speeds = [text.removeprefix("start.").partition(".speed") for text in _elements(started)]
    chosen = [speeds[k - 1] for k in numbers]
    count = len(_elements([v for v in description.modelVariables if v.name.startswith("state.speed")]))
    whats = ("position", chosen), ("velocity", chosen[:count])
    names = [f"joint.{a}.{what}{b}" for what, those in whats for a, _, b in those]
    inner = next((v for v in description.modelVariables if v.name.startswith("state.internal")), None)
    return names + (inner.description.partition(": ")[2].split(", ") if inner else [])


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
    count = (len(_elements(rows)),) if is3 else ()
    seeds = np.eye(len(_elements(columns))).tolist()
    return np.array([fmu.getDirectionalDerivative(unknowns, knowns, seed, *count) for seed in seeds]).T


def _elements(variables: list[Any]) -> list[str]:
    """Names of the elements of some variables, one after another."""
    return [name for v in variables for name in elements(v.name, [int(d.start) for d in v.dimensions])]
