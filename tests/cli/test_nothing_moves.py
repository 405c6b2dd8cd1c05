"""Mechanisms without a freedom: every command says what there is, none ends unexpectedly."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from cutjoint import Simulation
from cutjoint.model.cli.main import main
from cutjoint.model.loading import read
from cutjoint.native.variable_layout import plan

FIXED = """
name: bracket
bodies: {plate: {mass: 1, com: [0.5, 0, 0]}}
joints: {bolt: {type: fixed, parent: ground, child: plate, at: [0, 0, 0]}}
"""
TRUSS = """
name: truss
bodies:
  lower: {mass: 1, com: [0.5, 0, 0], inertia: [0.01, 0.01, 0.01, 0, 0, 0]}
  upper: {mass: 1, com: [0.75, 0, 0.5], inertia: [0.01, 0.01, 0.01, 0, 0, 0]}
joints:
  foot: {type: revolute, parent: ground, child: lower, at: [0, 0, 0], axis: y}
  knee: {type: revolute, parent: lower, child: upper, at: [1, 0, 0], axis: y}
  head: {type: revolute, parent: ground, child: upper, at: [0.5, 0, 1], axis: y}
motors: {knee: {joint: knee}}
"""


@pytest.fixture(params=[FIXED, TRUSS], ids=["bracket", "truss"])
def path(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    file = tmp_path / "rigid.yaml"
    file.write_text(request.param)
    return str(file)


@pytest.mark.parametrize(
    "words", [["show"], ["linearize"], ["simulate", "--time", "0.01"], ["verify", "--time", "0.02"]]
)
def test_every_command_serves(words: list[str], path: str, capsys: pytest.CaptureFixture[str]) -> None:
    """`linearize` ended with a dimension mismatch, `verify` with a reduction of nothing."""
    assert main([words[0], path, *words[1:]]) == 0
    printed = capsys.readouterr().out
    assert "nan" not in printed
    if words == ["linearize"]:
        assert "no modes: nothing moves freely" in printed


def test_it_is_exported(tmp_path: Path) -> None:
    """Pivots of no columns were asked which is the longest."""
    file = tmp_path / "bracket.yaml"
    file.write_text(FIXED)
    assert main(["export", str(file), "-o", str(tmp_path / "x.fmu"), "--runtime", "python"]) == 0
    plan(read(FIXED))


def test_what_is_left_of_a_linear_model() -> None:
    """D: a torque at the knee of a truss is taken by its other ends at once, here by differences."""
    simulation = Simulation(read(TRUSS), compile=False)
    outputs = ["reaction.foot.force", "reaction.head.force"]
    model = simulation.linearize(outputs=outputs)
    assert model.A.shape == (0, 0) and model.B.shape == (0, 1) and model.C.shape == (6, 0)
    found = []
    for torque in (-1.0, 1.0):
        simulation.set_inputs([torque])
        y = simulation.outputs()
        found.append(np.concatenate([y[name] for name in outputs]))
    assert np.abs(model.D).max() > 0.1
    assert np.abs(model.D[:, 0] - (found[1] - found[0]) / 2).max() < 1e-9


CRANK = """
name: crank
gravity: 0
bodies: {wheel: {mass: 2, com: [0.1, 0, 0], inertia: [0.1, 0.1, 0.2, 0, 0, 0]}}
joints: {axle: {type: revolute, parent: ground, child: wheel, at: [0, 0, 0], axis: z}}
motors: {drive: {joint: axle, drive: DRIVE}}
"""


@pytest.mark.parametrize("drive", ["position", "velocity", "acceleration"])
def test_what_is_driven_moves(drive: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`check` said that nothing can move, `show` mobility 0, `verify` trusted a run with 0 J exchanged."""
    file = tmp_path / "crank.yaml"
    file.write_text(CRANK.replace("DRIVE", drive))
    assert main(["check", str(file)]) == 0
    said = capsys.readouterr().out
    assert "mobility 1, driven" in said and "nothing can move" not in said
    assert main(["show", str(file)]) == 0 and "1, driven" in capsys.readouterr().out
    watched = ["verify", str(file), "--time", "0.2", "--no-compile"]
    assert main(watched) == 0
    said = capsys.readouterr().out
    assert "at rest, so no motion was checked" in said and "mobility 1, driven" in said
    assert main([*watched, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["mobility"] == "1, driven" and not told["moved"]
    assert main([*watched, "--input", "drive=sine(amplitude=3, frequency=2)"]) == 0
    said = capsys.readouterr().out
    assert "all checks passed" in said and "J exchanged" in said
