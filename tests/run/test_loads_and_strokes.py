"""What one asks of a result: which joint carries most, what holds it over a stroke, how large vectors are."""

from __future__ import annotations

import csv
import json
from math import hypot, pi, radians, sin, sqrt, tan
from pathlib import Path

import numpy as np
import pytest
from cutjoint import Simulation
from cutjoint.model.base.errors import CutjointError, UnknownName
from cutjoint.model.cli import main as command
from cutjoint.model.loading import read
from cutjoint.model.run.loads import joint_loads, load_outputs
from cutjoint.model.run.stroke import statics_over

Capture = pytest.CaptureFixture[str]
GALLERY = Path(__file__).resolve().parents[2] / "docs" / "gallery"
BOOM = """
bodies: {boom: {mass: 10, com: [1, 0, 0], inertia: [0.1, 3, 3]}}
joints: {pin: {type: revolute, parent: ground, child: boom, at: [0, 0, 0], axis: -y}}
cylinders: {ram: {body1: ground, body2: boom, point1: [0, 0, -1], point2: [1, 0, 0], limit: 900}}
"""


def test_magnitudes_are_outputs_in_python() -> None:
    s = Simulation("fourbar", compile=False)
    names = ["reaction.crank_pin.force.norm", "reaction.*.moment.norm", "energy", "reaction.crank_pin.force"]
    motion = s.run(0.02, record=names)
    assert motion.names[0] == names[0] and "reaction.ground_pin.moment.norm" in motion
    assert motion.units[0] == "N" and motion.units[motion.names.index("energy")] == "J"
    force = np.linalg.norm(motion["reaction.crank_pin.force"], axis=1)
    np.testing.assert_array_equal(motion["reaction.crank_pin.force.norm"], force)
    assert s.outputs()["reaction.crank_pin.force.norm"] == pytest.approx(force[-1], rel=1e-12)
    np.testing.assert_array_equal(
        s.run(0.01, record=["reaction.crank_pin.force"])["reaction.crank_pin.force.norm"].shape, (11,)
    )
    with pytest.raises(UnknownName, match="is no vector"):
        s.run(0.01, record=["energy.norm"])


def test_joints_are_ranked_by_what_they_carry() -> None:
    s = Simulation("fourbar", compile=False)
    s.set_inputs({"crank": 2.0})
    motion = s.run(0.3, record=load_outputs(s.variables()))
    ranked = joint_loads(motion)
    peaks = {
        joint: np.linalg.norm(motion[f"reaction.{joint}.force"], axis=1)
        for joint in ("crank_pin", "coupler_pin", "rocker_pin", "ground_pin")
    }
    assert [x.joint for x in ranked] == sorted(peaks, key=lambda joint: -peaks[joint].max())
    first = ranked[0]
    assert first.force.value == peaks[first.joint].max()
    assert first.force.time == motion.time[peaks[first.joint].argmax()]


def test_loads_of_the_command_line(capsys: Capture, tmp_path: Path) -> None:
    words = ["simulate", "fourbar", "--torque", "crank=2", "--time", "0.1", "--no-compile", "--loads"]
    path = tmp_path / "path.png"
    pair = f"{path}=joint.crank_pin.position:reaction.crank_pin.force.norm"
    assert command.main([*words, "--plot", pair]) == 0
    said = capsys.readouterr().out
    assert "peak force (N)" in said and "pose at the peak of" in said and path.exists()
    assert command.main([*words, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["loads"]
    assert found["drives"]["crank"]["value"] == 2.0 and set(found["joints"]["crank_pin"]["pose"]) == {
        "joint.crank_pin.position"
    }


def test_the_force_of_a_cylinder_over_its_stroke() -> None:
    """By hand: the ram's arm about the pin is its foot's distance times the sine of the angle to it."""
    s = Simulation(read(BOOM), compile=False)
    lengths = [1.2, sqrt(2), 1.6]
    for point, length in zip(statics_over(s, "ram", lengths), lengths, strict=True):
        between = np.arccos(1 - length**2 / 2)  # at the pin, of a triangle with two sides of 1 m
        lever = sin(between) / length
        lift = between - pi / 2
        assert point.efforts["ram"] == pytest.approx(10 * 9.81 * np.cos(lift) / lever, rel=1e-9)


def test_a_lift_over_its_stroke_and_a_pendulum_that_swings(capsys: Capture, tmp_path: Path) -> None:
    table, plot = tmp_path / "lift.csv", tmp_path / "lift.png"
    words = ["statics", str(GALLERY / "scissor_lift.yaml"), "--over", "cylinder=-0.5:0:0.25"]
    assert command.main([*words, "--csv", str(table), "--plot", str(plot)]) == 0
    with table.open(newline="") as file:
        head, *rows = csv.reader(file)
    assert head[:2] == ["cylinder", "cylinder.effort"] and len(rows) == 3 and plot.exists()
    for row in rows:
        lean = np.arccos((1.2 + float(row[0])) / hypot(1.2, 0.7))
        assert float(row[1]) == pytest.approx(-(200 + 2 + 30) * 9.81 / tan(lean), rel=1e-9)
    text = BOOM.replace("limit: 900", "stiffness: 1000, length: 1").replace("cylinders", "springs")
    text += "motors: {pin: {joint: pin}}\n"
    s = Simulation(read(text), compile=False)
    (point,) = statics_over(s, "pin", [radians(-90)])
    assert len(point.frequencies) in (0, 1)
    with pytest.raises(CutjointError, match="did you mean 'pin'"):
        statics_over(s, "pim", [0.0])


def test_where_a_stroke_ends_is_said(capsys: Capture, tmp_path: Path) -> None:
    path = tmp_path / "boom.yaml"
    path.write_text(BOOM)
    assert command.main(["statics", str(path), "--over", "ram=1.2:2.4:0.6"]) == 0
    assert "2.4" in capsys.readouterr().out
    assert command.main(["statics", str(path), "--over", "ram"]) == 2
    assert "FIRST:LAST" in capsys.readouterr().err
