"""Units, patterns and paths wherever the command line takes numbers and names."""

from __future__ import annotations

import json

import pytest
from cutjoint import DescriptionError, load
from cutjoint.model.base.errors import CutjointError
from cutjoint.model.batch.sweep import sweep
from cutjoint.model.cli import main as command
from cutjoint.model.cli.common import read_gravity, read_joints, read_parameters, read_torques

Capture = pytest.CaptureFixture[str]


def test_gravity() -> None:
    assert read_gravity("9810 mm/s2") == 9.81
    assert read_gravity("0,0,-9.81 m/s²") == (0, 0, -9.81)
    with pytest.raises(CutjointError, match="--gravity can't be in 'kg'"):
        read_gravity("1 kg")


def test_patterns_stand_for_several_names() -> None:
    stewart = load("stewart")
    assert read_torques(["motor*=2 N.m", "motor2=1"], stewart) == {"motor1": 2, "motor2": 1, "motor3": 2}
    held = read_joints(["motor?=180 deg", "hinge[12]=1"], stewart)
    assert (
        list(held) == ["motor1", "motor2", "motor3", "hinge1", "hinge2"]
        and held["motor3"] == 3.141592653589793
    )
    assert read_joints(["motion=1,20 cm,0,1,0,0,0"], load("rolling_disc")) == {
        "motion": [1, 0.2, 0, 1, 0, 0, 0]
    }
    with pytest.raises(CutjointError, match=r"--torque: there is no motor or cylinder 'leg\*'"):
        read_torques(["leg*=1"], stewart)


def test_parameters_by_name_or_by_path() -> None:
    found = read_parameters(
        ["tie_rod=380 mm", "body.wheel.mass=20000 g", "gravity=0,0,-9810 mm/s2", "body.wheel.com[2]=1 cm"],
        load("mcpherson"),
    )
    assert found == {
        "tie_rod": 0.38,
        "body.wheel.mass": 20.0,
        "gravity": [0.0, 0.0, -9.81],
        "body.wheel.com[2]": 0.01,
    }
    for word, sentence in (
        ("body.wheel.mas=1", "did you mean 'body.wheel.mass'"),
        ("gravity=1", r"takes 3 number\(s\), not 1"),
        ("body.wheel.mass=1 m", "can't be in 'm'"),
        ("tie_rd=1", "did you mean 'tie_rod'"),
    ):
        with pytest.raises((CutjointError, DescriptionError), match=sentence):
            read_parameters([word], load("mcpherson"))


def test_a_number_by_its_path_in_a_run(capsys: Capture) -> None:
    """Refused before, although Python took it."""
    words = ["simulate", "fourbar", "--no-compile", "--time", "10 ms", "--json"]
    energies = []
    for mass in ("3 kg", "3500 g"):
        assert command.main([*words, "--parameter", f"body.coupler.mass={mass}"]) == 0
        energies.append(json.loads(capsys.readouterr().out)["energy_start"])
    assert energies[1] - energies[0] == pytest.approx(0.5 * 9.81 * 0.175)


def changes(capsys: Capture, *words: str) -> dict[str, list[float]]:
    assert command.main(["propagate", *words, "--json"]) == 0
    return {change["name"]: change["after"] for change in json.loads(capsys.readouterr().out)["changes"]}


@pytest.mark.parametrize(
    ("plain", "measured"),
    [
        (
            ["mcpherson", "--set", "tie_rod=0.38", "--bound", "q.rack=0.25,0.3"],
            ["mcpherson", "--set", "tie_rod=380 mm", "--bound", "q.rack=250 mm,30cm", "--scale", "0.001 km"],
        ),
        (
            ["stewart", "--stretch", "leg1=0.02", "--free", "s", "--lock", "joint.motor*"],
            ["stewart", "--stretch", "leg1=20 mm", "--free", "s", "--lock", "joint.motor*"],
        ),
        (
            ["slider_crank", "--set", "joint.s21=-2.8,0.2,0.1", "--free", "q,s"],
            ["slider_crank", "--set", "joint.s21=-2800 mm,20 cm,0.1", "--free", "q,s"],
        ),
    ],
    ids=lambda words: words[0],
)
def test_dimensions(plain: list[str], measured: list[str], capsys: Capture) -> None:
    scale = ["--scale", "1"] if "--scale" in measured else []
    assert changes(capsys, *plain, *scale) == changes(capsys, *measured)


def test_a_wrong_unit_of_a_dimension(capsys: Capture) -> None:
    assert command.main(["propagate", "mcpherson", "--set", "tie_rod=3 kg"]) == 2
    assert "--set tie_rod can't be in 'kg'; write a plain number in m" in capsys.readouterr().err


def test_sweeps() -> None:
    vary = ["body.coupler.mass=1000 g:3 kg:1 kg", "joint.rocker_pin.on_child.position[1]~normal(0 mm,2 mm)"]
    vary += ["input.crank=1 N.m,2000 N.mm"]
    planned = sweep("fourbar", vary, 0.1, runs=6)
    assert dict(planned.samples.laws)["joint.rocker_pin.on_child.position[1]"].numbers == (0.0, 0.002)
    assert planned.samples.grids[0][1] == ((1.0,), (2.0,), (3.0,))
    assert planned.samples.grids[1][1] == ((1.0,), (2.0,))
    with pytest.raises(CutjointError, match=r"--vary body\.coupler\.mass=1 m: can't be in 'm'"):
        sweep("fourbar", ["body.coupler.mass=1 m"], 0.1)


def test_starts_of_a_node(capsys: Capture) -> None:
    words = ["node", "--urdf", "--ros2-control", "--start", "crank_pin=-10 deg", "fourbar"]
    assert command.main(words) == 0
    assert '<param name="start">crank_pin=-0.17453292519943295</param>' in capsys.readouterr().out
    assert command.main(["node", "fourbar", "--start", "crank_pin=1 m"]) == 2
    assert "--start crank_pin can't be in 'm'" in capsys.readouterr().err
