"""What made newcomers stumble: numbers that should be refused, results that other tools did not take."""

import csv
import re
from importlib.metadata import metadata
from pathlib import Path

import numpy as np
import pytest
from cutjoint import DescriptionError, Simulation, SimulationError, load
from cutjoint.model.cli.main import main

EXAMPLES = Path(__file__).parents[2] / "examples"


def changed(tmp_path: Path, name: str, old: str, new: str) -> Path:
    """A copy of an example with one thing changed."""
    text = (EXAMPLES / f"{name}.yaml").read_text(encoding="utf-8")
    assert old in text
    path = tmp_path / f"{name}.yaml"
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    return path


def test_numbers_that_nothing_can_be_computed_with_are_refused(tmp_path: Path) -> None:
    """They ended in an OverflowError, or in an energy that is no number."""
    path = changed(tmp_path, "fourbar", "at: [0.4, 0, 0.25]", "at: [1e308, 0, 0.25]")
    with pytest.raises(DescriptionError, match=r"'rocker_pin': at must be smaller than 1e\+50, not 1e\+308"):
        load(path)


def test_angles_without_digits_are_refused(tmp_path: Path) -> None:
    """They ran, stood still since no step could change them, and counted as trusted."""
    path = changed(tmp_path, "fourbar", "at: [0, 0, 0], axis: -y}", "at: [0, 0, 0], axis: -y, start: 1e49}")
    with pytest.raises(DescriptionError, match=r"start of 1e\+49 rad has no digits left"):
        load(path)
    with pytest.raises(SimulationError, match=r"takes angles up to 1e\+08 rad"):
        Simulation("fourbar", compile=False).assemble({"crank_pin": -1e10})


LIMITED = """
name: limited
bodies:
  arm: {mass: 1, com: [0, 0, -0.1], inertia: [0.1, 0.1, 0.1]}
joints:
  pin: {type: revolute, parent: ground, child: arm, at: [0, 0, 0], axis: [0, 1, 0], limits: [-0.5, 0.5]}
"""


def test_a_joint_is_not_held_beyond_its_stops(tmp_path: Path) -> None:
    """Its spring would hurl it off; the description's own start was refused, these were not."""
    file = tmp_path / "limited.yaml"
    file.write_text(LIMITED)
    told = r"joint 'pin': 2 is beyond the limits, -0\.5 to 0\.5; hold it within them"
    with pytest.raises(SimulationError, match=told):
        Simulation(str(file), compile=False).assemble({"pin": 2.0})
    with pytest.raises(SimulationError, match=told):
        Simulation(str(file), start={"pin": 2.0}, compile=False)


def test_an_implicit_step_where_one_half_of_a_matrix_has_more_zeros(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two hinges on one axis: the order of elimination took the other half for granted, exit code 1."""
    old = (
        "hinge2: {type: revolute, parent: shaft2, child: leg2, at: [0.25, -0.14, 0], axis: [-0.5, -0.87, 0]}"
    )
    new = "hinge2: {type: revolute, parent: shaft1, child: leg1, at: [0, 0.29, 0], axis: [1, 0, 0]}"
    path = changed(tmp_path, "servo_stewart", old, new)
    words = ["--time", "0.01", "--step", "0.01", "--no-compile", "--stepper", "implicit"]
    assert main(["simulate", str(path), *words]) in (0, 3, 4), capsys.readouterr().err


@pytest.mark.parametrize("step", ["1e-320", "1e-30"])
@pytest.mark.parametrize("name", ["simulate", "verify"])
def test_more_steps_than_memory_holds_are_refused(
    name: str, step: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """One ended with exit code 1, the other filled the memory."""
    assert main([name, "arm", "--no-compile", "--time", "0.01", "--step", step]) == 4
    assert "are more than 2e+07 steps; take longer steps" in capsys.readouterr().err


def test_a_list_where_a_constraint_has_its_type_gets_a_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It ended with exit code 1: a list can't be looked up."""
    path = tmp_path / "parts.yaml"
    path.write_text("bodies: {a: {}}\nconstraints: {c: {type: [dot1], body1: ground, body2: a}}\n")
    assert main(["assemble", str(path)]) == 2
    assert "there is no type a list of 1; " in capsys.readouterr().err


def test_a_change_of_nothing_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    """It ended in an error of Python's."""
    assert main(["propagate", "fourbar", "--stretch", "crank=0"]) == 0
    assert "nothing changes" in capsys.readouterr().out


def test_a_linear_model_with_outputs_is_one_for_python_control() -> None:
    """A dot in a signal's name was refused."""
    pytest.importorskip("control")
    simulation = Simulation("fourbar", compile=False)
    model = simulation.linearize(outputs=["joint.rocker_pin.position", "body.coupler.position"])
    system = model.to_control()
    assert system.output_labels[:2] == ["joint/rocker_pin/position", "body/coupler/position[1]"]
    np.testing.assert_array_equal(system.C, model.C)


def test_a_trajectory_is_a_mapping() -> None:
    """`len` counted records where `list` gave names."""
    trajectory = Simulation("fourbar", compile=False).run(0.01, record=["energy", "body.coupler.position"])
    assert len(trajectory) == len(list(trajectory)) == 4
    assert [len(column) for column in dict(trajectory).values()] == [11] * 4
    assert "energy" in trajectory and "nothing" not in trajectory


def test_nothing_tells_people_to_install_from_an_index_that_has_no_cutjoint() -> None:
    """Manual and messages said `pip install 'cutjoint[…]'`, which finds nothing."""
    root = EXAMPLES.parent
    rooms = ("model", "native", "fmu", "realtime", "ros", "papers", "examples", "benchmarks")
    paths = [root / "README.md", *(root / "docs").rglob("*.md")]
    paths += [path for room in rooms for path in (root / room).rglob("*.py")]
    texts = {path.name: path.read_text(encoding="utf-8") for path in paths}
    assert not [name for name, text in texts.items() if re.search(r"pip install '?cutjoint\b(?!-)", text)]
    named = {extra for text in texts.values() for extra in re.findall(r"how_to_install\(['\"](\w+)", text)}
    assert named and named <= set(metadata("cutjoint").get_all("Provides-Extra") or ())


def test_the_plot_of_getting_started_shows_a_motion(tmp_path: Path) -> None:
    """The crank's axis lay along the guide: what was plotted was round-off."""
    text = (Path(__file__).parents[2] / "docs" / "getting_started.md").read_text(encoding="utf-8")
    (tmp_path / "crank.yaml").write_text(
        text.split("```yaml\n# crank.yaml\n")[1].split("```")[0], encoding="utf-8"
    )
    words = next(
        line for line in text.splitlines() if line.startswith("cutjoint simulate crank.yaml")
    ).split()
    words[words.index("crank.yaml")] = str(tmp_path / "crank.yaml")
    at = words.index("--plot")
    assert main([*words[1:at], "--csv", str(tmp_path / "crank.csv"), *words[at + 2 :]]) == 0
    with (tmp_path / "crank.csv").open() as file:
        stroke = [float(row["stroke"]) for row in csv.DictReader(file)]
    assert np.ptp(stroke) == pytest.approx(0.4, abs=1e-2)  # twice the crank's 0.2 m
