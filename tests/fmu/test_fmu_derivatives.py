"""Derivatives of the FMU against its own differences; against the engine's: test_fmu_linear_model.py."""

from __future__ import annotations

from itertools import cycle, product
from typing import Any

import numpy as np
import pytest
from bulk import bulk
from cutjoint import Simulation
from cutjoint.fmu import linear_model
from cutjoint.fmu.linear import jacobian
from fmu_exchange import read, write
from fmu_tools import described, exported, get, initialize, instance, names, put, size

# One mechanism with loops in space and balls in the tree, one with redundant rows and a parameter, one with
# fewer independent speeds than coordinates.
NAMES = ("stewart", "fourbar", "mcpherson", "tops", "bicycle")
OPTIONS: dict[str, dict[str, Any]] = {
    "fourbar": {"marked": ("body.coupler.mass", "joint.coupler_pin.on_child.position"), "linear": True},
    "bicycle": {"marked": ("body.frame.mass", "joint.front_contact.radius")},
    "mcpherson": {"marked": ("gravity", "s21RS")},
}


def fmu_of(name: str, fmi: int) -> Any:
    return exported(described(name), fmi, **OPTIONS.get(name, {}))


EACH_RUN = {*zip(NAMES, cycle((2, 3)), strict=False), ("stewart", 3)}


@pytest.mark.parametrize(("name", "fmi"), bulk(list(product(NAMES, (2, 3))), EACH_RUN))
def test_derivatives_are_the_slopes_of_the_fmu_itself(name: str, fmi: int) -> None:
    """Model exchange: outputs and state derivatives along random directions of states, inputs, parameters."""
    random = np.random.default_rng(1)
    with instance(fmu_of(name, fmi), exchange=True) as fmu:
        initialize(fmu, dict.fromkeys(names(fmu, "input"), 1.0))
        fmu.enterContinuousTimeMode()
        description = fmu.description
        states = [d.variable.derivative for d in description.derivatives]
        tunable = [v for v in description.modelVariables if v.variability == "tunable"]
        inputs = [v for v in description.modelVariables if v.causality == "input"]
        n = sum(size(v) for v in states)
        x = np.zeros(n)
        read(fmu, x)
        x += 0.05 * random.normal(size=n)
        knowns = [*states, *inputs, *tunable]
        unknowns = [
            *(d.variable for d in description.derivatives),
            *(o.variable for o in description.outputs),
        ]
        write(fmu, x)
        base = get(fmu, [v.name for v in knowns[len(states) :]])
        J = jacobian(fmu, fmu.is3, unknowns, knowns)
        direction = random.normal(size=J.shape[1])
        h, ends = 1e-6, []
        for sign in (1, -1):
            write(fmu, x + sign * h * direction[:n])
            at = 0
            for v in knowns[len(states) :]:
                width = size(v)
                put(fmu, {v.name: base[at : at + width] + sign * h * direction[n + at : n + at + width]})
                at += width
            ends.append(get(fmu, [v.name for v in unknowns]))
        # a tree stays infinitely far from singularities
        rise = np.subtract(*ends, where=np.isfinite(ends[0]), out=np.zeros(len(ends[0])))
        slope, exact = rise / (2 * h), J @ direction
        assert np.abs(slope - exact).max() <= 1e-6 * max(1.0, np.abs(exact).max())


def test_fixed_geometry_has_derivatives_too() -> None:
    """How outputs change with a joint's place at constant independent coordinates, by re-assembling."""
    name = "parameter.joint_coupler_pin_on_child_position"
    with instance(fmu_of("fourbar", 3)) as fmu:
        initialize(fmu)
        description = fmu.description
        (known,) = (v for v in description.modelVariables if v.name == name)
        rows = [v for v in description.modelVariables if v.name == "singularity.distance"]
        exact = jacobian(fmu, True, rows, [known])[0]
        place, state = get(fmu, [name]), get(fmu, ["state.position"])
        moved = fmu.getInt32([fmu.refs["state.coordinate"]])
    joint = Simulation("fourbar", compile=False).tree
    held = next(n for n, at in joint.v.items() if at.start == moved[0] - 1)
    values = []
    for sign in (1, -1):
        with instance(fmu_of("fourbar", 3)) as fmu:
            # a start value must differ from its default to be held
            initialize(
                fmu, {name: place + np.array([sign * 1e-5, 0, 0]), f"start.{held}.position": state + 1e-13}
            )
            values.append(get(fmu, ["singularity.distance"])[0])
    assert (values[0] - values[1]) / 2e-5 == pytest.approx(exact[0], rel=1e-5, abs=1e-7)


@pytest.mark.parametrize("name", NAMES)
def test_adjoint_products_are_the_transpose(name: str) -> None:
    random = np.random.default_rng(2)
    with instance(fmu_of(name, 3)) as fmu:
        initialize(fmu, dict.fromkeys(names(fmu, "input"), 1.0))
        fmu.doStep(0.0, 0.02)
        description = fmu.description
        states = [d.variable.derivative for d in description.derivatives]
        knowns = [*states, *(v for v in description.modelVariables if v.causality == "input")]
        knowns += [v for v in description.modelVariables if v.name.startswith("parameter.")]
        unknowns = [
            *(d.variable for d in description.derivatives),
            *(o.variable for o in description.outputs),
        ]
        rows, columns = sum(size(v) for v in unknowns), sum(size(v) for v in knowns)
        a, b = random.normal(size=rows), random.normal(size=columns)
        references = [v.valueReference for v in unknowns], [v.valueReference for v in knowns]
        forward = np.array(fmu.getDirectionalDerivative(*references, b.tolist(), rows))
        backward = np.array(fmu.getAdjointDerivative(*references, a.tolist(), columns))
        scale = np.abs(a) @ np.abs(forward)
        assert abs(a @ forward - backward @ b) <= 1e-12 * scale


def test_linear_variables_hold_the_same_numbers() -> None:
    path = fmu_of("fourbar", 2)
    model = linear_model(path, time=0.01)
    with instance(path) as fmu:
        initialize(fmu)
        fmu.doStep(0.0, 0.01)
        A = [get(fmu, [f"linear.A[{i + 1},{j + 1}]"])[0] for i in range(2) for j in range(2)]
        B = [get(fmu, [f"linear.B[{i + 1},1]"])[0] for i in range(2)]
    assert np.array_equal(np.reshape(A, (2, 2)), model.A)
    assert np.array_equal(np.reshape(B, (2, 1)), model.B)
