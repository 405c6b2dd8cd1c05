"""Clocks of FMI 3.0: sensors with a period tell something new when the host ticks them."""

from __future__ import annotations

import zipfile
from ctypes import byref, c_bool, c_double, c_int, c_uint32
from functools import cache
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from cutjoint import CutjointError, Simulation, export
from cutjoint.fmu.xml_fmi3 import description
from cutjoint.model.loading import load
from cutjoint.native.variable_layout import plan
from fmpy.validation import validate_fmu
from fmu_exchange import begin, motion
from fmu_tools import exported, folder, get, instance

SENSED = """
name: sensed
gravity: 9.81
bodies:
  arm: {mass: 2, com: [0.2, 0, 0], inertia: [0.01, 0.02, 0.02]}
joints:
  shoulder: {type: revolute, parent: ground, child: arm, at: [0, 0, 0], axis: [0, 1, 0]}
sensors:
  fine: {type: encoder, joint: shoulder, period: 0.01}
  rough: {type: encoder, joint: shoulder, period: 0.01, resolution: 0.01}
  late: {type: encoder, joint: shoulder, period: 0.02, delay: 0.03}
"""
FINE, ROUGH, LATE = (f"sensor.{name}.position" for name in ("fine", "rough", "late"))
CLOCKS = ["clock.tick1", "clock.tick2"]
UNCHANGED = 1


@cache
def described() -> str:
    file = folder() / "sensed.yaml"
    file.write_text(SENSED)
    return str(file)


def fmu() -> Path:
    return exported(described(), 3, outputs=("sensor.*", "joint.*.position"), clocks=True)


def call(fmu: Any, function: str, clocks: list[str], *rest: Any) -> int:
    references = (c_uint32 * len(clocks))(*(fmu.refs[name] for name in clocks))
    return int(getattr(fmu.dll, function)(fmu.component, references, len(clocks), *rest))


def tick(fmu: Any, *clocks: str) -> None:
    assert call(fmu, "fmi3SetClock", list(clocks), (c_bool * len(clocks))(*[True] * len(clocks))) == 0


def active(fmu: Any) -> list[bool]:
    found = (c_bool * 2)()
    assert call(fmu, "fmi3GetClock", CLOCKS, found) == 0
    return list(found)


def test_clocks_stand_in_the_description_and_are_told() -> None:
    """Two sensors with one period share a clock; a delay shifts it by what is left of it."""
    assert validate_fmu(str(fmu())) == []
    with zipfile.ZipFile(fmu()) as archive:
        root = ET.fromstring(archive.read("modelDescription.xml"))
    variables = {v.get("name"): v for v in root.findall("ModelVariables/*")}
    references = {name: variables[name].get("valueReference") for name in CLOCKS}
    assert [variables[name].tag for name in CLOCKS] == ["Clock"] * 2
    told = [[variables[x].get(f"{what}Decimal") for what in ("interval", "shift")] for x in CLOCKS]
    assert np.array(told, float) == pytest.approx(np.array([[0.01, 0.0], [0.02, 0.01]]))
    outputs = {x.get("valueReference"): x for x in root.findall("ModelStructure/Output")}
    for name, clock in ((FINE, "clock.tick1"), (ROUGH, "clock.tick1"), (LATE, "clock.tick2")):
        assert variables[name].get("clocks") == references[clock]
        on = outputs[variables[name].get("valueReference")].get("dependencies", "").split()
        assert references[clock] in on
    with instance(fmu()) as running:
        running.enterInitializationMode(startTime=0.0)
        every, after, qualifiers = (c_double * 2)(), (c_double * 2)(), (c_int * 2)()
        assert call(running, "fmi3GetIntervalDecimal", CLOCKS, every, qualifiers) == 0
        assert call(running, "fmi3GetShiftDecimal", CLOCKS, after) == 0
        assert pytest.approx(np.array(told, float)) == np.array([list(every), list(after)]).T
        assert list(qualifiers) == [UNCHANGED] * 2
        assert call(running, "fmi3GetIntervalDecimal", [FINE], every, qualifiers) == 3


def samples(at: list[float]) -> dict[float, np.ndarray]:
    """What sensors tell at times, by the engine."""
    engine, found = Simulation(described(), compile=False), {}
    rows = engine.variables().outputs.rows([FINE, ROUGH, LATE])
    for k in range(round(max(at) / 1e-3) + 1):
        if any(abs(engine.time - t) < 1e-9 for t in at):
            found[round(engine.time, 6)] = engine.read(rows)
        engine.step(1e-3, (k + 1) * 1e-3)
    return found


@pytest.mark.parametrize("early", [False, True])
def test_co_simulation_tells_by_ticks(early: bool) -> None:
    """Steps of the host end at ticks; in the event the new sample is there before the event is over."""
    wanted = samples([0.01 * k for k in range(1, 9)])
    with instance(fmu(), eventModeUsed=True, earlyReturnAllowed=early) as running:
        running.enterInitializationMode(startTime=0.0)
        running.exitInitializationMode()
        running.updateDiscreteStates()
        running.enterStepMode()
        for k in range(8):
            held = get(running, [FINE, ROUGH, LATE])
            needed = running.doStep(0.01 * k, 0.01)[0]
            assert needed and np.array_equal(get(running, [FINE, ROUGH, LATE]), held)  # until it ticks
            running.enterEventMode()
            now = ["clock.tick1"] if k % 2 else CLOCKS
            tick(running, *now)
            assert active(running) == [True, not k % 2]
            at = wanted[round(0.01 * (k + 1), 6)]
            assert get(running, [FINE, ROUGH, LATE]) == pytest.approx(at, abs=1e-9)
            running.updateDiscreteStates()
            assert active(running) == [False, False]  # a tick is over with its event
            assert get(running, [FINE, ROUGH, LATE]) == pytest.approx(at, abs=1e-9)
            running.enterStepMode()


def test_model_exchange_tells_by_ticks() -> None:
    wanted = samples([0.01 * k for k in range(1, 5)])
    with instance(fmu(), exchange=True) as running:
        x = begin(running, {})
        for k, _ in enumerate(motion(running, x, 0.04, 1e-3), 1):
            if k % 10:
                continue
            running.enterEventMode()
            tick(running, *(["clock.tick1"] if k % 20 == 0 else CLOCKS))
            at = wanted[round(1e-3 * k, 6)]
            assert get(running, [FINE, ROUGH, LATE]) == pytest.approx(at, abs=1e-6)
            assert not running.updateDiscreteStates()[0]
            assert active(running) == [False, False]
            assert get(running, [FINE, ROUGH, LATE]) == pytest.approx(at, abs=1e-6)
            running.enterContinuousTimeMode()


def test_ticks_belong_to_events_and_to_saved_states() -> None:
    with instance(fmu(), eventModeUsed=True) as running:
        running.enterInitializationMode(startTime=0.0)
        assert call(running, "fmi3SetClock", ["clock.tick1"], byref(c_bool(True))) == 3
        running.exitInitializationMode()
        tick(running, "clock.tick2")
        state = running.getFMUState()
        running.updateDiscreteStates()
        assert active(running) == [False, False]
        running.setFMUState(state)
        running.freeFMUState(state)
        assert active(running) == [False, True]
        running.enterStepMode()
        assert call(running, "fmi3SetClock", ["clock.tick1"], byref(c_bool(True))) == 3


def test_nothing_is_clocked_unless_it_is_asked_for(tmp_path: Path) -> None:
    """A clocked variable may be read at ticks alone, which many hosts know nothing of."""
    text = description(plan(load(described())))
    assert "<Clock" not in text and "clocks=" not in text
    with pytest.raises(CutjointError, match="FMI 2 has none"):
        export(described(), tmp_path / "a.fmu", clocks=True)
    with pytest.raises(CutjointError, match="no sensor that is shown has a period"):
        export("fourbar", tmp_path / "a.fmu", fmi=3, clocks=True)
