"""Every derivative that the description lists, in every phase, against differences of Set and Get there."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from bulk import bulk
from cutjoint import list_examples
from fmpy.fmi1 import FMICallException
from fmu_exchange import events
from fmu_tools import described, exported, get, instance, names, put, size

# A motion that is driven, and sensors that take samples: no example has them.
DRIVEN = """
name: driven
gravity: 9.81
bodies:
  arm: {mass: 2, com: [0.2, 0, 0], inertia: [0.01, 0.02, 0.02]}
  top: {mass: 1, com: [0, 0, 0.1], inertia: [0.002, 0.003, 0.001]}
joints:
  shoulder: {type: revolute, parent: ground, child: arm, at: [0, 0, 0], axis: [0, 1, 0]}
  ball: {type: spherical, parent: arm, child: top, at: [0.4, 0, 0], speed: [1, -2, 3]}
motors:
  turn: {joint: shoulder, drive: position}
sensors:
  fine: {type: encoder, joint: shoulder, period: 0.01}
  rough: {type: encoder, joint: shoulder, period: 0.01, resolution: 0.001}
outputs:
  force: reaction.ball.force
"""
PHASES = ("initialization", "event", "continuous time", "step")
EXAMPLES = [*list_examples(), "tops", "driven"]
# Assembled by iterations from a guess that is open; rolling; a motion that takes the pose along.
EACH_RUN = {*product(("mcpherson", "bicycle", "driven"), (2, 3), PHASES)}
EACH_RUN |= {("rolling_disc", 3, "initialization")}  # described speeds that another radius does not allow
H = 1e-5  # far below the knee of friction


def fmu_of(name: str, fmi: int, folder: Path) -> Path:
    options: dict[str, Any] = {"marked": ("gravity", "s21RS")} if name == "mcpherson" else {}
    if name == "driven":
        file = folder / "driven.yaml"
        file.write_text(DRIVEN)
        return exported(str(file), fmi, outputs=())
    return exported(described(name), fmi, **options)


@contextmanager
def in_phase(path: Path, phase: str) -> Iterator[Any]:
    """An instance that has come so far, with something on its inputs and parameters a little off."""
    with instance(path, exchange=phase in ("event", "continuous time")) as fmu:
        if fmu.is3:
            fmu.enterInitializationMode(startTime=0.0)
        else:
            fmu.setupExperiment(startTime=0.0)
            fmu.enterInitializationMode()
        put(fmu, {name: 0.01 * (k + 1) for k, name in enumerate(names(fmu, "input"))})
        if phase != "initialization":
            fmu.exitInitializationMode()
        if phase == "step":
            fmu.doStep(0.0, 0.005)
        if phase in ("event", "continuous time"):
            events(fmu)
        if phase == "continuous time":
            fmu.enterContinuousTimeMode()
        yield fmu


def listed(fmu: Any, phase: str) -> list[tuple[Any, list[Any]]]:
    """Unknowns with the knowns that they are said to depend on and that can be set in a phase."""
    description = fmu.description
    if phase == "initialization":
        return [(u.variable, list(u.dependencies)) for u in description.initialUnknowns]

    def settable(v: Any) -> bool:
        state = v.name.startswith("state.") and phase != "step"
        return state or v.causality == "input" or v.variability == "tunable"

    found = [*description.outputs, *description.derivatives]
    return [(u.variable, [v for v in u.dependencies if settable(v)]) for u in found]


def difference(fmu: Any, rows: list[Any], known: Any, k: int) -> np.ndarray | None:
    """∂rows/∂known[k] by four values, each from the same state; None where one of them can't be had."""
    base, values = get(fmu, [known.name]), []
    coordinates = numbers_of_states(fmu)
    state = fmu.getFMUState() if fmu.is3 else fmu.getFMUstate()
    step = np.eye(len(base))[k] * H
    try:
        for times in (1, -1, 2, -2):
            put(fmu, {known.name: base + times * step})
            values.append(get(fmu, [v.name for v in rows]))
            if numbers_of_states(fmu) != coordinates:  # other ones are states here
                return None
            (fmu.setFMUState if fmu.is3 else fmu.setFMUstate)(state)
    except FMICallException:
        return None
    finally:
        (fmu.setFMUState if fmu.is3 else fmu.setFMUstate)(state)
        (fmu.freeFMUState if fmu.is3 else fmu.freeFMUstate)(state)
    with np.errstate(invalid="ignore"):
        a, b, c, d = values
        return np.where(np.isfinite(a), (8 * (a - b) - (c - d)) / (12 * H), 0.0)  # a tree is never singular


def numbers_of_states(fmu: Any) -> list[int]:
    found = [v for v in fmu.description.modelVariables if v.name.startswith("state.coordinate")]
    references = [v.valueReference for v in found]
    return list(fmu.getInt32(references, sum(map(size, found))) if fmu.is3 else fmu.getInteger(references))


@pytest.mark.parametrize(("name", "fmi", "phase"), bulk(list(product(EXAMPLES, (2, 3), PHASES)), EACH_RUN))
def test_what_is_listed_is_the_slope_of_what_set_and_get_do(
    name: str, fmi: int, phase: str, tmp_path: Path
) -> None:
    with in_phase(fmu_of(name, fmi, tmp_path), phase) as fmu:
        pairs = listed(fmu, phase)
        knowns = list({v.name: v for _, on in pairs for v in on}.values())
        rows = [u for u, _ in pairs]
        width, count = [size(v) for v in rows], 0
        assert rows
        for known in knowns:
            said = np.repeat([known in on for _, on in pairs], width)
            for k in range(size(known)):
                slope = difference(fmu, rows, known, k)
                if slope is None:
                    continue
                count += 1
                seed = np.eye(size(known))[k].tolist()
                asked = [v.valueReference for v in rows], [known.valueReference]
                exact = np.array(fmu.getDirectionalDerivative(*asked, seed, *([sum(width)] * fmu.is3)))
                scale = np.maximum(1.0, np.abs(slope))
                wrong = np.abs(slope - exact) > 1e-6 * scale.max()
                where = [
                    n for n, bad in zip(np.repeat([v.name for v in rows], width), wrong, strict=True) if bad
                ]
                assert not where, (known.name, k, where, slope[wrong], exact[wrong])
                assert not np.any(slope[~said]), (known.name, "moves what does not list it")
                if fmu.is3:
                    row = np.random.default_rng(k).normal(size=len(exact))
                    back = fmu.getAdjointDerivative(*asked, row.tolist(), size(known))[k]
                    assert back == pytest.approx(row @ exact, rel=1e-9, abs=1e-9 * scale.max())
        assert count or not knowns
