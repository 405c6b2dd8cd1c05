"""The linear model of the FMU, in motion, is the engine's: same states, every entry, balls included."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from bulk import bulk
from cutjoint import Simulation, list_examples, load
from cutjoint.fmu import linear_model
from cutjoint.fmu.python_export import write_python_fmu
from cutjoint.model.compile.kernel import find_compiler
from cutjoint.model.linear.model import LinearModel
from cutjoint.native.variable_layout import plan
from fmu_tools import described, exported, get, initialize, instance, names

EXAMPLES = sorted(list_examples())
EACH_RUN = {"bicycle", "servo_stewart", "stewart", "tops"}
INPUT, STEP = 1.5, 1e-3
TIMES = {"fivebar": (0.05, 0.3)}  # seconds; its singular pose is at 0.65
EXACT = 1e-10


def moved(name: str, time: float) -> Simulation:
    """The engine after some time under inputs, in motion."""
    simulation = Simulation(described(name), compile=False)
    simulation.set_inputs([INPUT] * len(simulation.inputs))
    for _ in range(round(time / STEP)):
        simulation.step(STEP)
    assert np.abs(simulation.v).max() > 1e-3
    return simulation


def same(found: Mapping[str, np.ndarray], wanted: LinearModel) -> None:
    for letter in "ABCD":
        ours, theirs = found[letter], getattr(wanted, letter)
        assert ours.shape == theirs.shape
        assert np.abs(ours - theirs).max(initial=0) <= EXACT * max(1.0, np.abs(theirs).max(initial=0)), letter


@pytest.mark.skipif(find_compiler() is None, reason="a native FMU needs a C compiler")
@pytest.mark.parametrize(
    ("name", "fmi"),
    bulk([*product([*EXAMPLES, "tops"], (2, 3))], {(name, 2) for name in EACH_RUN} | {("stewart", 3)}),
)
def test_native_fmu(name: str, fmi: int) -> None:
    path = exported(described(name), fmi)
    with instance(path) as fmu:
        inputs = dict.fromkeys(names(fmu, "input"), INPUT)
        shown = names(fmu, "output")
    outputs = [n for n in shown if n != "singularity.distance"]  # no traced output, so no row of C
    for time in TIMES.get(name, (0.05, 0.2)):
        simulation = moved(name, time)
        found = linear_model(path, time=time, inputs=inputs, outputs=outputs)
        whole = list(dict.fromkeys(n.split("[")[0] for n in outputs))
        wanted = simulation.linearize(states="partition", outputs=whole)
        assert len(found.C) == len(wanted.outputs) >= len(outputs)
        assert found.states == wanted.states
        same(vars(found), wanted)
        n = len(found.A) // 2
        assert name != "tops" or np.abs(found.A[:n, :n]).max() > 5  # balls turn their own displacements


@pytest.mark.parametrize("name", bulk([*EXAMPLES, "tops"], {"servo_stewart", "tops"}))
def test_pythonfmu(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its matrices are variables."""
    monkeypatch.setenv("CUTJOINT_COMPILE", "0")
    path = tmp_path / "linear.fmu"
    laid_out = plan(load(described(name)), outputs=("joint.*.position",), linear=True)
    write_python_fmu(laid_out, path, picture=False)
    outputs = [v.name for v in laid_out.of("output")]
    wanted = moved(name, 0.05).linearize(states="partition", outputs=outputs)
    with instance(path) as fmu:
        initialize(fmu, dict.fromkeys(names(fmu, "input"), INPUT))
        for k in range(50):
            fmu.doStep(k * STEP, STEP)
        found = {}
        for letter in "ABCD":
            shape = getattr(wanted, letter).shape
            elements = [f"linear.{letter}[{i + 1},{j + 1}]" for i, j in np.ndindex(*shape)]
            found[letter] = get(fmu, elements).reshape(shape)
    same(found, wanted)
