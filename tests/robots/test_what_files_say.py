"""What files say of limits, motors and followed joints is in the description, and in what we write."""

from __future__ import annotations

import dataclasses
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from bulk import bulk
from cutjoint import Simulation, list_examples, load
from cutjoint.model.base.errors import AssemblyError
from cutjoint.model.cli.main import main
from cutjoint.model.robots.convert_cli import convert
from cutjoint.model.robots.load_robot import load_robot
from cutjoint.model.robots.translate import ImportOptions
from cutjoint.model.robots.urdf_dialects import DIALECTS
from cutjoint.model.urdf.write_urdf import urdf
from cutjoint.ros.settings import Settings
from robot_files import LOOP, SDF, TIP, TOP, hinge, inertial
from robot_files import urdf as fourbar

BAR = inertial(1.0, "0 0 0.2", "0.02 0.02 0.001")


def arm(first: str = "", second: str = "", kind: str = "continuous") -> str:
    """Two bars in a row; what stands in their joints, and the type of the first."""
    joints = hinge("a", "base", "one", "0 0 0", first).replace("continuous", kind)
    joints += hinge("b", "one", "two", "0 0 0.4", second)
    links = "".join(f'<link name="{name}">{BAR}</link>' for name in ("one", "two"))
    return f'<robot name="arm"><link name="base"/>{links}{joints}</robot>'


def written(folder: Path, text: str, ending: str = "urdf") -> Path:
    path = folder / f"robot.{ending}"
    path.write_text(text)
    return path


def test_motors_are_counted_as_they_are_chosen(tmp_path: Path) -> None:
    limit = '<limit effort="5" velocity="3"/>'
    path = written(tmp_path, arm(limit, limit))
    assert "2 motors" in load_robot(path).report[0]
    assert "1 motors" in load_robot(path, ImportOptions(drive=("a",))).report[0]
    assert "0 motors" in load_robot(written(tmp_path, arm())).report[0]


@pytest.mark.parametrize("offset", [0.0, 0.3])
def test_what_mimics_a_fixed_joint_is_held(offset: float, tmp_path: Path) -> None:
    mimic = f'<mimic joint="a" multiplier="2" offset="{offset}"/>'
    mechanism, report = load_robot(written(tmp_path, arm(second=mimic, kind="fixed")))
    assert any("held: joint b" in line for line in report)
    s = Simulation(mechanism, compile=False)
    assert s.topology().mobility == 0
    s.run(0.1)
    assert s.outputs()["joint.b.position"] == pytest.approx(offset, abs=1e-12)
    # What is fixed itself holds nothing by what it mimics.
    other = arm(first='<mimic joint="b"/>', kind="fixed")
    assert Simulation(load(written(tmp_path, other)), compile=False).topology().mobility == 1


@pytest.mark.parametrize("ending", ["urdf", "sdf", "yaml"])
def test_speed_and_effort_limits_go_through(ending: str, tmp_path: Path) -> None:
    limits = [f'<limit effort="{e}" velocity="{v}"/>' for e, v in ((7, 3), (9, 4000))]
    mechanism = load(written(tmp_path, arm(*limits)))
    target = tmp_path / f"again.{ending}"
    convert(mechanism, target)
    again = load(target)
    for found in (mechanism, again):
        assert [joint.speed_limit for joint in found.joints] == [3.0, 4000.0]
    if ending != "sdf":  # which names no motors
        assert [motor.limit for motor in again.motors] == [7.0, 9.0]
    assert 'effort="7.0" velocity="3.0"' in urdf(mechanism)  # what ROS calls robot_description


def test_speed_limits_of_sdf_are_read_and_mjcf_tells_of_them(tmp_path: Path) -> None:
    text = SDF.replace("<dynamics>", "<limit><velocity>2.5</velocity></limit><dynamics>", 1)
    mechanism = load(written(tmp_path, text, "sdf"))
    assert mechanism.joint("turn").speed_limit == 2.5
    assert mechanism.joint("knee").speed_limit == np.inf
    notes = convert(mechanism, tmp_path / "robot.xml")[1]
    assert "left out: speed_limit of turn" in notes


def test_impossible_inertias_are_repaired_wherever_a_file_is_named(tmp_path: Path, capsys) -> None:
    text = arm().replace('ixx="0.02"', 'ixx="0.2"')
    path = str(written(tmp_path, "1 0 0".join(text.rsplit("0 1 0", 1))))  # not in a plane
    for command in (["show"], ["simulate", "--time", "0.01"], ["check"], ["assemble"]):
        capsys.readouterr()
        assert main([command[0], path, *command[1:]]) != 0
        assert "--accept-inertia" in capsys.readouterr().err
        assert main([command[0], path, *command[1:], "--accept-inertia"]) == 0, command
    assert load(path, accept_inertia=True).body("one").mass == 1.0
    known = {"trust", "accept_inertia"}
    assert known <= {field.name for field in dataclasses.fields(Settings)}  # of the node


def test_a_loop_that_no_start_closes_says_what_was_tried(tmp_path: Path) -> None:
    """The rocker is too short to meet the coupler."""
    path = written(tmp_path, fourbar(LOOP).replace(TOP, "0 0 0.001").replace(TIP, "0.05 0 0"))
    with pytest.raises(
        AssemblyError, match=r"open by .*; none of \d+ other starts up to 3 rad.*; even alone .* wrong: '"
    ):
        Simulation(load(path), compile=False)


# -- a parser that is not ours ------------------------------------------------------------------------


EXAMPLES = sorted(list_examples())
WRITTEN = [(name, dialect) for name in EXAMPLES for dialect in ("", *DIALECTS)]
EACH_RUN = [pair for pair in WRITTEN if not pair[1] or pair[0] == "gripper"]


@pytest.mark.skipif(shutil.which("check_urdf") is None, reason="check_urdf (liburdfdom-tools) is absent")
@pytest.mark.parametrize("name, dialect", bulk(WRITTEN, EACH_RUN))
def test_urdfdom_reads_our_urdf_without_complaint(name: str, dialect: str, tmp_path: Path) -> None:
    """What ROS gets as robot_description, and what says loops in a dialect."""
    target = tmp_path / "robot.urdf"
    if dialect:
        convert(load(name), target, dialect)
    else:
        target.write_text(urdf(load(name)))
    done = subprocess.run(["check_urdf", target], capture_output=True, text=True, check=False, timeout=60)
    said = done.stdout + done.stderr
    assert done.returncode == 0 and "Successfully" in said, said
    assert not [line for line in said.splitlines() if line.startswith(("Error", "Warning"))], said


def test_capsules_are_a_cylinder_between_two_balls() -> None:
    text = urdf(load("gripper"))
    shapes = [visual.shape for visual in load("gripper").visuals]
    count = shapes.count("capsule")
    assert count and "<capsule" not in text
    assert text.count("<cylinder") == count + shapes.count("cylinder")
    assert text.count("<sphere") == 2 * count + shapes.count("sphere")
