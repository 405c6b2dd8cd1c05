"""What single calls do and leave alone: refused ones, states one by one, reading in a singular pose."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cutjoint import CutjointError, load
from fmpy.fmi1 import FMICallException
from fmu_exchange import begin, pointer, rates, read, states, write
from fmu_tools import exported, get, initialize, instance, names, put

# A parallelogram whose links lie on one line: the loop's Jacobian has lost its rank.
FLAT = """
name: flat
gravity: 9.81
bodies:
  left: {mass: 1, com: [0.5, 0, 0], inertia: [0.01, 0.1, 0.1]}
  coupler: {mass: 1, com: [2, 0, 0], inertia: [0.01, 0.1, 0.1]}
  right: {mass: 1, com: [2.5, 0, 0], inertia: [0.01, 0.1, 0.1]}
joints:
  crank: {type: revolute, parent: ground, child: left, at: [0, 0, 0], axis: [0, 0, 1], speed: 1}
  first: {type: revolute, parent: left, child: coupler, at: [1, 0, 0], axis: [0, 0, 1]}
  rocker: {type: revolute, parent: ground, child: right, at: [2, 0, 0], axis: [0, 0, 1]}
  second: {type: revolute, parent: coupler, child: right, at: [3, 0, 0], axis: [0, 0, 1]}
motors:
  turn: {joint: crank}
"""
EVERY = ("joint.*.position", "energy", "singularity.distance")


def saved(fmu: Any) -> bytes:
    state = fmu.getFMUState() if fmu.is3 else fmu.getFMUstate()
    data = (fmu.serializeFMUState if fmu.is3 else fmu.serializeFMUstate)(state)
    (fmu.freeFMUState if fmu.is3 else fmu.freeFMUstate)(state)
    return bytes(data)


def misuse(fmu: Any, exchange: bool) -> dict[str, Any]:
    """Calls that are refused in any phase, behind values that are worked out first."""
    good = fmu.refs[names(fmu, "output")[0]]
    state = next(v for n, v in fmu.refs.items() if n.startswith("state.position"))
    (number,) = {v for n, v in fmu.refs.items() if n in ("state.coordinate", "state.coordinate[1]")}
    get_ = fmu.getFloat64 if fmu.is3 else fmu.getReal
    whole = fmu.getInt32 if fmu.is3 else fmu.getInteger
    set_ = fmu.setFloat64 if fmu.is3 else fmu.setReal
    motor = fmu.refs[names(fmu, "input")[0]]
    count = {"nValues": 3} if fmu.is3 else {}
    slope = ([good], [4_000_000], [1.0], *([1] * fmu.is3))
    calls = {
        "unknown behind a state": lambda: get_([state, good, 4_000_000], **count),
        "an output is set": lambda: set_([motor, good], [1.0, 1.0]),
        "not a number": lambda: set_([motor, motor], [1.0, np.nan]),
        "an integer that is none": lambda: whole([number, 4_000_000], **({"nValues": 2} if fmu.is3 else {})),
        "slope by nothing": lambda: fmu.getDirectionalDerivative(*slope),
    }
    if not exchange:
        calls["a state in co-simulation"] = lambda: set_([motor, state], [2.0, 0.1])
        calls["a step back"] = lambda: fmu.doStep(0.0, -1.0)
    else:
        x = np.zeros(9)
        calls["too many states"] = lambda: fmu.setContinuousStates(pointer(x), 9)
        calls["a state that is none"] = lambda: set_([motor, state], [2.0, np.inf])
        calls["indicators of another"] = lambda: fmu.getEventIndicators(pointer(x), 9)
    return calls


@pytest.mark.parametrize(("fmi", "exchange"), product((2, 3), (False, True)))
def test_a_refused_call_changes_no_byte(fmi: int, exchange: bool) -> None:
    """Whatever was still to be worked out: a start that is not assembled, states not lifted, no chart yet."""
    with instance(exported("fourbar", fmi), exchange=exchange) as fmu:
        what = misuse(fmu, exchange)

        def refuse_all() -> None:
            before = saved(fmu)
            for word, call in what.items():
                with pytest.raises(FMICallException):
                    call()
                assert saved(fmu) == before, word

        if fmu.is3:
            fmu.enterInitializationMode(startTime=0.0)
        else:
            fmu.setupExperiment(startTime=0.0)
            fmu.enterInitializationMode()
        put(fmu, {names(fmu, "input")[0]: 1.0, "start.crank_pin.position": 0.9})
        refuse_all()
        fmu.exitInitializationMode()
        refuse_all()
        if exchange:
            fmu.enterContinuousTimeMode()
            x = states(fmu)
            write(fmu, x + 0.01)
        else:
            fmu.doStep(0.0, 0.01)
        refuse_all()


@pytest.mark.parametrize(("name", "fmi"), product(("stewart", "bicycle", "servo_stewart"), (2, 3)))
def test_states_can_be_set_one_by_one(name: str, fmi: int) -> None:
    """As FMI 3.0.2 allows and CasADi does: the same numbers as all at once, in any order."""
    with instance(exported(name, fmi), exchange=True) as fmu:
        x = begin(fmu, dict.fromkeys(names(fmu, "input"), 0.5))
        x += 0.01 * np.random.default_rng(3).normal(size=len(x))
        wanted = rates(fmu, x)
        fmu.setContinuousStates(pointer(states(fmu) * 0.99), len(x))
        where, at = [n for n in fmu.refs if n.startswith("state.") and "[" in n], 0
        if fmu.is3:
            where = [n for n in ("state.position", "state.speed", "state.internal") if n in fmu.refs]
        values = {}
        for n in (n for n in where if "coordinate" not in n):
            values[n] = x[at : at + fmu.sizes[n]]
            at += fmu.sizes[n]
        assert at == len(x)
        for n in reversed(list(values)):
            put(fmu, {n: values[n]})
        found, dx = np.zeros(len(x)), np.zeros(len(x))
        read(fmu, found)
        assert np.array_equal(found, x)
        (fmu.getContinuousStateDerivatives if fmu.is3 else fmu.getDerivatives)(pointer(dx), len(x))
        assert np.allclose(dx, wanted, rtol=1e-12, atol=1e-12)
        assert np.array_equal(get(fmu, list(values)), x)


@pytest.mark.parametrize("fmi", [2, 3])
def test_co_simulation_reads_every_variable_in_a_singular_pose(fmi: int, tmp_path: Path) -> None:
    file = tmp_path / "flat.yaml"
    file.write_text(FLAT)
    with instance(exported(str(file), fmi, outputs=EVERY, linear=True)) as fmu:
        initialize(fmu)
        real = [v.name for v in fmu.description.modelVariables if v.type in ("Real", "Float64")]
        for k in range(20):
            assert np.isfinite(get(fmu, real)).all(), k
            fmu.doStep(k * 0.01, 0.01)


def test_a_character_that_no_xml_has_is_refused_when_it_is_read(tmp_path: Path) -> None:
    file = tmp_path / "bell.yaml"
    file.write_text(FLAT.replace("name: flat", 'name: flat\ndescription: "a \\a bell"'))
    with pytest.raises(CutjointError, match=r"bell\.yaml, line 3: description has the character U\+0007"):
        load(str(file))
