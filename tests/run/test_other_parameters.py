"""Every shipped parameter can be changed before the start: loops close, speeds are consistent."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from cutjoint import Simulation, SimulationError, list_examples, load
from cutjoint.fmu.export import export
from cutjoint.model.cli.main import main

PARAMETERS = [(name, key) for name in list_examples() for key in load(name).parameters]


@pytest.mark.parametrize(("name", "key"), PARAMETERS, ids=str)
def test_each_can_be_changed(name: str, key: str) -> None:
    """The radius of `rolling_disc` contradicted all its start speeds."""
    s = Simulation(name, compile=False)
    where = next(item.slice for item in s.equations.parameters if item.name == key)
    value = s.p[where] * 1.02
    value = value if value.size > 1 else value.item()
    changed = Simulation(s.engine, parameters={key: value})
    slip, size = s.engine.slip(changed.q, changed.v, s.engine.motions(changed.u), changed.p)
    assert np.linalg.norm(slip) <= 1e-12 * max(size, 1.0)
    assert (
        np.abs(s.engine.closure(changed.q, s.engine.motions(changed.u), changed.p)[0]).max(initial=0) < 1e-9
    )


def test_start_speeds_are_the_nearest() -> None:
    """As if the parameter had changed right after the start."""
    begun, changed = (
        Simulation("rolling_disc", compile=False, parameters={"radius": 0.31}),
        Simulation("rolling_disc"),
    )
    changed.set_parameters({"radius": 0.31})
    assert np.abs(begun.v - changed.v).max() < 1e-12 and np.abs(begun.v[4]) < 1e-12


def test_speeds_that_the_description_itself_does_not_allow_are_refused() -> None:
    disc = load("rolling_disc")
    speed = (0.0, 1.5, 0.3, -5.3, 0.0, -0.4)
    wrong = replace(disc, joints=(replace(disc.joints[0], speed=speed), disc.joints[1]))
    with pytest.raises(SimulationError, match="do not allow the speeds of motion"):
        Simulation(wrong, compile=False)


def test_commands_take_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        main(["simulate", "rolling_disc", "--parameter", "radius=0.31", "--time", "0.01", "--no-compile"])
        == 0
    )
    rows = ["--time", "0.002", "-o", str(tmp_path / "rows")]
    assert main(["sweep", "rolling_disc", "--vary", "radius=0.29,0.31", *rows]) == 0
    assert "2 runs: 2 done" in capsys.readouterr().out


@pytest.mark.compiler
def test_an_fmu_takes_them(tmp_path: Path) -> None:
    fmpy = pytest.importorskip("fmpy")
    path = tmp_path / "disc.fmu"
    export("rolling_disc", path)
    how = {"stop_time": 0.01, "output_interval": 0.001, "fmi_type": "CoSimulation", "output": ["x", "y"]}
    y = fmpy.simulate_fmu(str(path), start_values={"parameter.radius": 0.31}, **how)
    s = Simulation("rolling_disc", parameters={"radius": 0.31})
    right = s.run(0.01, 1e-3, record=["x", "y"])
    assert np.abs(y["y"] - right["y"]).max() < 1e-12 and np.abs(y["x"] - right["x"]).max() < 1e-12
