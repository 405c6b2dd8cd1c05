"""Tolerances: what is varied around its nominal value, and commands that show nominal values."""

from __future__ import annotations

import json

import numpy as np
import pytest
from cutjoint import CutjointError, Simulation, load, sweep
from cutjoint.model.batch.parameter_samples import SAMPLINGS, variation
from cutjoint.model.cli.main import main
from cutjoint.model.describe.parameters import lookup, paths

PLACE = "joint.crank_pin.on_child.position[1]"
LAWS = ("normal(0, 0.5 mm)", "uniform(-1 mm, 1 mm)", "triangular(-1 mm, 0, 2 mm)", "lognormal(1 mm, 0.1)")


@pytest.mark.parametrize("law", LAWS[:3])
@pytest.mark.parametrize("sampling", SAMPLINGS)
def test_laws_are_added_to_the_nominal_value(law: str, sampling: str) -> None:
    """`~normal(0, 0.5 mm)` put the joint at 0; there was no way to say "around where it is"."""
    nominal = lookup(load("fourbar"), PLACE)
    how = {"runs": 16, "sampling": sampling, "seed": 4}
    around, plain = (sweep("fourbar", [f"{PLACE}{sign}{law}"], 0.01, **how) for sign in ("~+", "~"))  # type: ignore[arg-type]
    gap = around.samples.values(0, 16) - plain.samples.values(0, 16)
    assert gap == pytest.approx(nominal, abs=1e-15) and nominal != 0
    assert around.told() != plain.told()


@pytest.mark.parametrize(
    ("word", "wanted"),
    [
        ("body.coupler.mass+=-0.1,0,0.1", [-0.1, 0.0, 0.1]),
        ("body.coupler.mass += 0:0.2:0.1", [0.0, 0.1, 0.2]),
        ("body.coupler.mass += 100 g, 0 kg", [0.1, 0.0]),
    ],
)
def test_points_are_added_to_the_nominal_value(word: str, wanted: list[float]) -> None:
    found = sweep("fourbar", [word], 0.01).samples.values(0, len(wanted)).ravel()
    assert found == pytest.approx(lookup(load("fourbar"), "body.coupler.mass") + np.array(wanted))


def test_inputs_are_varied_around_what_they_are_held_at() -> None:
    found = sweep("fourbar", ["input.crank+=-1,1"], 0.01, inputs={"crank": 3.0})
    assert found.samples.values(0, 2).ravel().tolist() == [2.0, 4.0]


@pytest.mark.parametrize("word", ["a+1", "a~+", "a~+nothing(1)", "body.coupler.mass~+normal(0)"])
def test_what_makes_no_sense_is_refused(word: str) -> None:
    with pytest.raises(CutjointError, match="--vary"):
        variation(word)


def test_nominal_values_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    mechanism = load("stewart")
    assert main(["show", "stewart", "--parameters"]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    for at in paths(mechanism):
        value = np.ravel(lookup(mechanism, at.whole))
        (line,) = [line for line in lines if line and line[0] == at.whole]
        numbers = [float(word.strip(",")) for word in line[1 : 1 + len(value)]]
        assert numbers == pytest.approx(value, rel=1e-5, abs=1e-12)
        assert at.unit == "1" or at.unit in line
    assert main(["show", "stewart", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)["parameters"]
    assert told["body.platform.mass"] == {"value": 10.0, "unit": "kg"}


def test_the_lengths_of_cylinders_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", "cable_platform"]) == 0
    told = {line.split()[0]: line for line in capsys.readouterr().out.splitlines() if "m long" in line}
    found = Simulation("cable_platform", compile=False).outputs()
    for winch in load("cable_platform").struts:
        length = float(told[winch.name].split(" m long")[0].split()[-1])
        assert length == pytest.approx(found[f"strut.{winch.name}.length"], rel=1e-5)
