"""Cylinders whose length follows an input: against inverse dynamics, differences, FMU and node."""

from __future__ import annotations

import functools
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cutjoint import Simulation, load, save
from cutjoint.model.base.errors import AssemblyError, CutjointError
from cutjoint.model.control.computed_torque import CommandPath
from cutjoint.model.describe.elements import Strut
from cutjoint.model.describe.mechanism import Mechanism
from cutjoint.model.describe.motors import MOTIONS, Motor
from cutjoint.model.laws import sine
from cutjoint.model.run.assembly import consistent_speeds
from cutjoint.model.verify.laws import unbalanced
from cutjoint.ros.loop import Loop
from cutjoint.ros.settings import Settings
from fmu_exchange import exchange
from fmu_tools import exported, folder, get, initialize, instance
from silent_outlet import Silent

RAM = Strut("ram", "link1", "link3", (0.3, 0.1, 0.0), (0.5, 0.2, 0.1), damping=3.0, actuated=True)
WANTED = ["joint.q1.position", "joint.q2.velocity", "strut.ram.length", "strut.ram.effort", "energy"]
MOTION = {"ram.velocity": -0.3, "ram.acceleration": 0.8}


def driven(drive: str = "position") -> Mechanism:
    """The five-bar of two freedoms, a cylinder between two of its links."""
    bar = replace(load("fivebar"), motors=(), outputs={})
    return replace(bar, name="fivebar_ram", struts=(replace(RAM, drive=drive),))


@functools.cache
def file() -> Path:
    path = folder() / "fivebar_ram.yaml"
    save(driven(), path)
    return path


def test_the_force_is_that_of_inverse_dynamics_and_its_work_is_in_the_balance() -> None:
    s, free = (Simulation(driven(drive), compile=False) for drive in ("position", "force"))
    length = float(s.u[0])
    assert s.inputs == ("ram", "ram.velocity", "ram.acceleration")
    s.set_inputs(MOTION)
    before, most = s.energy() - s.work, 0.0
    for k in range(1, 5):
        s.run(0.05, step=1e-3)
        t, seen = 0.05 * k, s.outputs()
        assert seen["strut.ram.length"] == pytest.approx(length - 0.3 * t + 0.4 * t**2, abs=1e-12)
        assert seen["strut.ram.speed"] == pytest.approx(-0.3 + 0.8 * t, abs=1e-12)
        free.state = replace(free.state, q=s.q.copy(), v=s.v.copy())
        free.set_inputs({"ram": seen["strut.ram.effort"]})
        there = free.outputs()
        for name, value in there.items():
            if name.startswith(("joint", "reaction", "body", "power")):
                assert seen[name] == pytest.approx(value, rel=1e-9, abs=1e-8), name
        assert unbalanced(s.mechanism, seen, 1.0, 1.0) < 1e-11
        most = max(most, abs(s.work))
        assert abs(s.energy() - s.work - before) < 1e-9 * most


@pytest.mark.parametrize("method", ["variable", "local"])
def test_other_solvers_and_other_drives_follow_the_same_motion(method: str) -> None:
    ends = []
    for drive, how in [("position", "fixed"), *((drive, method) for drive in MOTIONS)]:
        s = Simulation(driven(drive), compile=False)
        names = {"position": ("ram.acceleration",), "velocity": ("ram.acceleration",)}.get(drive, ("ram",))
        s.set_inputs(dict.fromkeys(names, -0.6))
        s.run(0.1, step=1e-3, method=how, tolerance=1e-11)
        y = s.outputs()
        ends.append([y[name] for name in WANTED])
    for end in ends[1:]:
        assert end == pytest.approx(ends[0], abs=1e-8)


def test_a_law_is_followed_with_its_derivatives() -> None:
    s = Simulation(driven(), compile=False)
    law = sine(0.1, 2.0, offset=float(s.u[0]))
    seen = s.run(0.1, 1e-3, inputs={"ram": law}, record=["strut.ram.length"])
    assert seen["strut.ram.length"] == pytest.approx([law.evaluate(t)[0] for t in seen.time], abs=1e-12)
    assert seen.judgement.imbalance < 1e-7


def test_the_linear_model_has_the_length_and_its_derivatives_as_inputs() -> None:
    """Fourth-order differences over closed poses with the length told, the other freedom held by name."""
    s = Simulation(driven(), compile=False)
    s.set_inputs(MOTION)
    s.run(0.05)
    model = s.linearize(states=["q2"], outputs=["strut.ram.effort"])
    assert model.inputs == s.inputs
    out = s.outputs()
    x0 = np.array([out["joint.q2.position"], out["joint.q2.velocity"], *s.u])
    state = s.state

    def f(x: np.ndarray) -> list[float]:
        s.put(state)
        s.set_inputs(x[2:])
        s.assemble({"q2": [x[0]]})
        s.put(replace(s.state, v=consistent_speeds(s.engine, s.state, {"q2": [x[1]]})))
        y = s.outputs()
        return [y["joint.q2.velocity"], y["joint.q2.acceleration"], y["strut.ram.effort"]]

    h, slopes = 1e-4, []
    for e in h * np.eye(5):
        a, b, c, d = (np.array(f(x0 + k * e)) for k in (1, -1, 2, -2))
        slopes.append((8 * (a - b) - (c - d)) / (12 * h))
    table = np.array(slopes).T
    assert np.vstack([model.A, model.C]) == pytest.approx(table[:, :2], rel=1e-7, abs=1e-7)
    assert np.vstack([model.B, model.D]) == pytest.approx(table[:, 2:], rel=1e-7, abs=1e-6)


def test_two_drives_on_one_freedom_are_named() -> None:
    bar = load("fourbar")
    ram = Strut("ram", "ground", "rocker", (0.9, 0.0, 0.1), actuated=True, drive="velocity")
    twice = replace(bar, motors=(Motor("crank", "crank_pin", drive="position"),), struts=(ram,), outputs={})
    with pytest.raises(
        AssemblyError, match="'crank' and 'ram' of 'fourbar' drive the same degree of freedom"
    ):
        Simulation(twice, compile=False)


def test_a_length_out_of_reach_is_refused_and_nothing_moves() -> None:
    s = Simulation(driven(), compile=False)
    before = s.state
    with pytest.raises(
        AssemblyError, match="can't reach what 'ram' commands: the commanded length of cylinder 'ram'"
    ):
        s.set_inputs({"ram": 9.0})
    assert s.state == before


@pytest.mark.compiler
def test_an_fmu_moves_as_python_does() -> None:
    inputs = {f"strut.{name if '.' in name else 'ram.position'}": x for name, x in MOTION.items()}
    s = Simulation(driven())
    s.assemble()
    with instance(exported(str(file()), 2, outputs=tuple(WANTED))) as fmu:
        initialize(fmu, inputs)
        s.set_inputs(MOTION)
        s.put(replace(s.state, v=consistent_speeds(s.engine, s.state, {})))  # an FMU starts in motion
        for k in range(50):
            fmu.doStep(currentCommunicationPoint=k * 1e-3, communicationStepSize=1e-3)
            s.step(1e-3)
        wanted = s.read(s.variables().outputs.rows(WANTED))
        assert get(fmu, WANTED) == pytest.approx(wanted, rel=1e-11, abs=1e-11)


@pytest.mark.compiler
def test_model_exchange_has_the_length_told_at_every_time() -> None:
    """Held still: the rest swings."""
    got = exchange(exported(str(file()), 2, outputs=tuple(WANTED)), 0.05, {}, WANTED, 5e-4)
    s = Simulation(driven(), compile=False)
    s.run(0.05, method="variable", tolerance=1e-11)
    assert got == pytest.approx(s.read(s.variables().outputs.rows(WANTED)), rel=1e-8, abs=1e-8)


def test_the_node_drives_a_cylinder() -> None:
    settings = Settings.read({"mechanism": str(file()), "mode": "lock_step", "hold": False})
    loop = Loop(Simulation(str(file())), settings, Silent())
    s = Simulation(str(file()))
    for k in range(20):
        t = k / settings.rate
        told = [s._initial.u[0] - 0.1 * t**2, -0.2 * t, -0.2]
        loop.advance(CommandPath(s.mechanism).order_of_values(told))
        s.set_inputs(told)
        for _ in range(settings.steps):
            s.step(settings.period / settings.steps)
        assert not loop.fault
    assert loop.simulation.q == pytest.approx(s.q, abs=1e-13)
    names = loop.values.names
    assert loop.values.position[names.index("ram")] == pytest.approx(
        s.outputs()["strut.ram.length"], abs=1e-6
    )


def test_unused_it_costs_nothing() -> None:
    named, plain = (
        Simulation(replace(driven("force"), struts=(strut,)), compile=False).engine
        for strut in (RAM, replace(RAM, drive="force"))
    )
    for name in ("dynamics", "rates", "project_position"):
        assert (
            getattr(plain.functions, name).n_instructions() == getattr(named.functions, name).n_instructions()
        )


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"drive": "speed"}, "must be force, position, velocity or acceleration, not 'speed'"),
        ({"drive": "position", "limit": 3.0}, "with whatever force that takes"),
        ({"drive": "velocity", "acts": "pulls"}, "remove 'acts', or drive a force"),
        ({"drive": "velocity", "actuated": False}, "a spring has no input"),
    ],
)
def test_bad_drives_get_one_sentence(change: dict[str, Any], told: str) -> None:
    with pytest.raises(CutjointError, match=told) as problem:
        Simulation(replace(driven(), struts=(replace(RAM, **change),)), compile=False)
    assert "\n" not in str(problem.value)
