"""Inputs between communication points, along lines instead of held, and derivatives of outputs."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from cutjoint import Simulation, SimulationError
from cutjoint.model.equations import terms
from cutjoint.model.manifold import step
from fmpy.fmi1 import FMICallException
from fmu_tools import exported, get, initialize, instance, names, planned, put

OMEGA, AMPLITUDE = 3.0, 2.0  # rad/s, N·m
LONG, SHORT = 1e-2, 1e-3  # communication step and inner step, s
TORQUE, ANGLE = "motor.crank.torque", "joint.crank_pin.position"
END = 0.5


def torque(t: Any) -> Any:
    return AMPLITUDE * np.sin(OMEGA * t)


@cache
def exact() -> float:
    """The crank's angle under the sine itself: inputs along lines over steps of a tenth of a millisecond."""
    s = Simulation("fourbar")
    for k in range(round(END / 1e-4)):
        t = k * 1e-4
        s.set_inputs([torque(t)])
        s.step(1e-4, input_rates=[(torque(t + 1e-4) - torque(t)) / 1e-4])
    return float(s.outputs()[ANGLE])


def test_fmi_2_inputs_go_along_lines_where_the_host_says_so() -> None:
    """Without derivatives the inputs of 10 ms are held."""
    errors = []
    for along in (False, True):
        with instance(exported("fourbar")) as fmu:
            initialize(fmu)
            for k in range(round(END / LONG)):
                t = k * LONG
                put(fmu, {TORQUE: torque(t)})
                if along:
                    rate = (torque(t + LONG) - torque(t)) / LONG
                    fmu.setRealInputDerivatives([fmu.refs[TORQUE]], [1], [rate])
                fmu.doStep(t, LONG)
            errors.append(abs(get(fmu, [ANGLE])[0] - exact()))
    assert errors[0] > 1e-2 and errors[1] < 1e-2 * errors[0]


def between(name: str, update: Any) -> dict[str, Any]:
    """How to instantiate with a callback that is asked for the torque."""
    shown = [v.name for v in planned(name).variables]
    return {"intermediateUpdate": update, "requiredIntermediateVariables": [shown.index(TORQUE)]}


def test_fmi_3_asks_for_inputs_before_every_step_inside() -> None:
    asked: list[float] = []

    def update(environment: Any, time: float, set_requested: bool, *more: Any) -> None:
        if set_requested:
            asked.append(time)
            put(fmu, {TORQUE: torque(time)})

    with instance(exported("fourbar", 3), **between("fourbar", update)) as fmu:
        initialize(fmu)
        for k in range(round(END / LONG)):
            fmu.doStep(k * LONG, LONG)
        assert len(asked) == round(END / SHORT)
        assert np.allclose(asked, SHORT * np.arange(1, len(asked) + 1), rtol=0, atol=1e-12)
        assert get(fmu, [ANGLE])[0] == pytest.approx(exact(), abs=1e-5)


def test_during_a_step_nothing_but_inputs_can_be_set_and_no_step_be_taken() -> None:
    refused: list[str] = []

    def update(environment: Any, time: float, *more: Any) -> None:
        for what in (
            lambda: put(fmu, {"parameter.body_coupler_mass": 2.0}),
            lambda: fmu.doStep(time, SHORT),
            fmu.getFMUState,
            fmu.reset,
            fmu.terminate,
        ):
            with pytest.raises(FMICallException):
                what()
            refused.append("")

    path = exported("fourbar", 3, marked=("body.coupler.mass",))
    with instance(path, **between("fourbar", update)) as fmu:
        initialize(fmu)
        fmu.doStep(0.0, SHORT)
        assert len(refused) == 5


def test_python_and_both_fmus_take_the_same_line() -> None:
    engine = Simulation("fourbar", compile=False)
    engine.set_inputs([1.0])
    for _ in range(20):
        engine.step(SHORT, input_rates={"crank": 30.0})
    assert engine.u[0] == pytest.approx(1.6, abs=1e-12)
    wanted = engine.outputs()[ANGLE]
    with instance(exported("fourbar")) as fmu:
        initialize(fmu)
        put(fmu, {TORQUE: 1.0})
        fmu.setRealInputDerivatives([fmu.refs[TORQUE]], [1], [30.0])
        fmu.doStep(0.0, LONG)
        saved = fmu.getFMUState()
        fmu.doStep(LONG, LONG)  # the line goes on
        assert get(fmu, [ANGLE])[0] == pytest.approx(wanted, abs=1e-12)
        assert get(fmu, [TORQUE])[0] == pytest.approx(1.6, abs=1e-12)
        fmu.setFMUState(saved)
        fmu.doStep(LONG, LONG)
        assert get(fmu, [ANGLE])[0] == pytest.approx(wanted, abs=1e-12)


@pytest.mark.parametrize("stepper", ["runge_kutta", "implicit"])
def test_the_error_of_a_line_is_of_second_order_at_least(stepper: str) -> None:
    ends = []
    for n in (5, 10, 160):
        s = Simulation("fourbar", stepper=stepper, substeps=1, compile=False)
        for _ in range(n):
            s.step(0.1 / n, input_rates=[100.0])
        ends.append(s.outputs()[ANGLE])
    assert abs(ends[1] - ends[2]) < 0.3 * abs(ends[0] - ends[2])


def test_held_inputs_cost_nothing_more() -> None:
    eq = terms.equations(Simulation("stewart", compile=False).mechanism)
    held, along = (step.single(eq, inputs) for inputs in (step.HELD, step.ALONG))
    assert held.size1_in(4) == 3 and along.size1_in(4) == 6
    assert held.n_instructions() < along.n_instructions()


def test_outputs_have_derivatives_in_co_simulation() -> None:
    """Of positions and speeds they are outputs themselves; of all others, differences over a short time."""
    with instance(exported("fourbar", outputs=("joint.*", "energy"), step=1e-4)) as fmu:
        initialize(fmu, {"start.crank_pin.speed": 2.0})
        put(fmu, {TORQUE: 1.0})
        shown = [n for n in names(fmu, "output") if n != "step.tries"]
        fmu.setRealInputDerivatives([fmu.refs[TORQUE]], [1], [20.0])
        values = []
        for k in range(3):
            values.append(np.array(get(fmu, shown)))
            if k == 1:
                rates = fmu.getRealOutputDerivatives([fmu.refs[n] for n in shown], [1] * len(shown))
            fmu.doStep(k * 1e-4, 1e-4)
        assert np.allclose(rates, (values[2] - values[0]) / 2e-4, rtol=1e-4, atol=1e-4)
        at = dict(zip(shown, rates, strict=True))
        speed = dict(zip(shown, values[1], strict=True))
        assert at["joint.crank_pin.position"] == pytest.approx(speed["joint.crank_pin.velocity"], abs=1e-12)
        with pytest.raises(FMICallException):
            fmu.getRealOutputDerivatives([fmu.refs["energy"]], [2])


def test_derivatives_that_make_no_sense_are_refused() -> None:
    with instance(exported("fourbar")) as fmu:
        initialize(fmu)
        for reference, order, value in (
            (fmu.refs[TORQUE], 2, 1.0),
            (fmu.refs[TORQUE], 1, np.nan),
            (fmu.refs["energy"], 1, 1.0),
        ):
            with pytest.raises(FMICallException):
                fmu.setRealInputDerivatives([reference], [order], [value])
    with pytest.raises(SimulationError, match="NaN or infinite"):
        Simulation("fourbar", compile=False).step(1e-3, input_rates=[np.inf])
