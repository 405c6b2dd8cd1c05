"""Python's edges: units and nearest names as on the command line, inputs by both of their names."""

from __future__ import annotations

import json
from collections.abc import Callable
from math import pi
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cutjoint import CutjointError, Simulation, SimulationError, UnknownName, export, linear_model
from cutjoint.model.cli.main import main

PORT = "motor.motor1.torque"


@pytest.fixture
def platform() -> Simulation:
    return Simulation("stewart", compile=False)


def test_coordinates_may_bring_units(platform: Simulation) -> None:
    assert platform.assemble({"motor1": "-10 deg"}).coordinates["motor1"] == [-pi / 18]
    assert Simulation("stewart", compile=False, start={"motor1": "-10 deg"}).q[0] == -pi / 18


def test_times_may_bring_units(platform: Simulation) -> None:
    platform.step("1 ms")
    assert platform.time == 1e-3
    assert len(platform.run("10 ms", step="5 ms").time) == 3


def test_inputs_parameters_and_gravity_may_bring_units(platform: Simulation) -> None:
    platform.set_inputs({"motor1": "2000 N.mm"})
    assert platform.u[0] == 2.0
    platform.set_inputs(["1 N.m", 2, 3.0])
    assert platform.u.tolist() == [1.0, 2.0, 3.0]
    robot = Simulation("delta", compile=False, parameters={"payload": "500 g"}, gravity="981 cm/s2")
    assert robot.p[0] == 0.5 and robot.mechanism.gravity == (0.0, 0.0, -9.81)


WRONG: dict[str, tuple[Callable[[Simulation], Any], str]] = {
    "a word for an angle": (
        lambda s: s.assemble({"motor1": "x"}),
        "joint 'motor1' must be a number, not 'x'",
    ),
    "a length for an angle": (
        lambda s: s.assemble({"motor1": "3 mm"}),
        "joint 'motor1' can't be in 'mm'; .* rad",
    ),
    "nothing for an angle": (
        lambda s: s.assemble({"motor1": {}}),
        "joint 'motor1' takes 1 number, not a mapping",
    ),
    "a word for a step": (lambda s: s.step("a"), "a step must be a number, not 'a'"),
    "a length for a step": (lambda s: s.step("1 m"), "a step can't be in 'm'"),
    "nothing for a step": (lambda s: s.step(None), "a step must be a number, not nothing"),
    "a word for a duration": (lambda s: s.run("long"), "a duration must be a number, not 'long'"),
    "nothing for a step of a run": (lambda s: s.run(1.0, step=None), "a step must be a number, not nothing"),
    "a word for an input": (
        lambda s: s.set_inputs({"motor1": "x"}),
        "input 'motor1' must be a number, not 'x'",
    ),
    "a force for a torque": (
        lambda s: s.set_inputs({"motor1": "2 N"}),
        "input 'motor1' can't be in 'N'; .* N.m",
    ),
    "two numbers for one": (
        lambda s: s.set_inputs({"motor1": [1, 2]}),
        "input 'motor1' takes 1 number, not a list of 2",
    ),
    "words for all inputs": (
        lambda s: s.set_inputs(["a", "b", "c"]),
        "input 'motor1' must be a number, not 'a'",
    ),
    "one number for all": (lambda s: s.set_inputs(5), "by name, or all of them in a list, not '5'"),
    "too many": (lambda s: s.set_inputs([1, 2, 3, 4]), "4 inputs given, 'stewart' has 3"),
    "a word for an acceleration": (
        lambda s: s.inverse_dynamics({"motor1": "x"}),
        "joint 'motor1' must be a number",
    ),
}


@pytest.mark.parametrize("what", WRONG)
def test_a_wrong_value_is_named_in_one_sentence(platform: Simulation, what: str) -> None:
    call, sentence = WRONG[what]
    before = platform.state
    with pytest.raises(SimulationError, match=sentence):
        call(platform)
    assert platform.state == before


def test_a_wrong_value_of_the_mechanism_is_named_too() -> None:
    with pytest.raises(CutjointError, match="gravity must be a number, not 'x'"):
        Simulation("fourbar", gravity="x")
    with pytest.raises(CutjointError, match=r"payload.* must be a number, not 'x'"):
        Simulation("delta", parameters={"payload": "x"})
    with pytest.raises(CutjointError, match=r"a mechanism is .* not '5'"):
        Simulation(5)  # type: ignore[arg-type]


def test_outputs_suggest_the_nearest_name_and_know_components(platform: Simulation) -> None:
    found = platform.outputs()
    with pytest.raises(UnknownName, match=r"'joint.motr1.position'; did you mean 'joint.motor1.position'"):
        _ = found["joint.motr1.position"]
    with pytest.raises(KeyError):
        _ = found["nothing of the kind"]
    assert found["body.platform.position[3]"] == found["body.platform.position"][2]
    with pytest.raises(UnknownName, match=r"position\[4\]"):
        _ = found["body.platform.position[4]"]
    assert isinstance(found, dict) and json.dumps({**found, **dict.fromkeys(found, 0)})


# -- inputs by the name of their port ------------------------------------------------------------


def test_python_takes_an_input_by_its_port(platform: Simulation) -> None:
    platform.set_inputs({PORT: 2.0})
    assert platform.u[0] == 2.0
    platform.run(0.01, inputs={PORT: 5.0})
    assert platform.u[0] == 5.0
    model = platform.linearize(inputs=[PORT])
    assert model.inputs == ("motor1",)
    np.testing.assert_array_equal(model.B, platform.linearize(inputs=["motor1"]).B)
    with pytest.raises(UnknownName, match=r"did you mean 'motor.motor1.torque'"):
        platform.set_inputs({"motor.motr1.torque": 2.0})


def test_the_command_line_takes_an_input_by_its_port(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CUTJOINT_COMPILE", "0")
    words = ["simulate", "stewart", "--time", "0.01", "--csv"]
    assert main([*words, "a.csv", "--torque", f"{PORT}=2 N.m"]) == 0
    assert main([*words, "b.csv", "--torque", "motor1=2 N.m"]) == 0
    assert main([*words, "c.csv", "--input", f"{PORT}=2"]) == 0
    assert Path("a.csv").read_text() == Path("b.csv").read_text() == Path("c.csv").read_text()


@pytest.mark.compiler
def test_an_fmu_is_asked_for_an_input_by_both_names(tmp_path: Path) -> None:
    fmu = tmp_path / "fourbar.fmu"
    export("fourbar", fmu, inputs=["motor.crank.torque"], optimize=0, picture=False)
    one, other = (
        linear_model(fmu, inputs={name: 2.0}, time=0.01) for name in ("crank", "motor.crank.torque")
    )
    np.testing.assert_array_equal(one.A, other.A)
    with pytest.raises(CutjointError, match="no variable 'crunk'"):
        linear_model(fmu, inputs={"crunk": 2.0})


@pytest.mark.compiler
@pytest.mark.parametrize("version", ["3.0", "3", 3])
def test_versions_of_fmi_are_read_as_people_write_them(version: Any, tmp_path: Path) -> None:
    export("fourbar", tmp_path / "a.fmu", fmi=version, optimize=0, picture=False)
    assert linear_model(tmp_path / "a.fmu").A.shape == (2, 2)


def test_the_command_reads_versions_of_fmi(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["export", "fourbar", "--fmi", "2.0", "--runtime", "python"]) == 0
    assert "FMI 2.0" in capsys.readouterr().out
    assert main(["export", "fourbar", "--fmi", "1.0"]) == 2
    assert "--fmi 1.0" in capsys.readouterr().err
