"""ros2_control: the class behind the plugin is the engine, without ROS; URDF and controllers fit it."""

from __future__ import annotations

import functools
import shutil
import subprocess
import xml.etree.ElementTree as xml
from pathlib import Path

import numpy as np
import pytest
from cutjoint.fmu.realtime import build_realtime
from cutjoint.model import Simulation, list_examples, load
from cutjoint.model.cli.main import main
from cutjoint.model.equations.single_joints import value_names
from cutjoint.model.equations.terms import equations
from cutjoint.model.run.drives import POSITION, VELOCITY, Drives, Wanted
from cutjoint.model.run.joint_values import JointValues
from cutjoint.ros.control_files import POSE, built_with, control_urdf, controllers, driven_joints, platform
from fmu_tools import folder
from ruamel.yaml import YAML

ROOT = Path(__file__).resolve().parents[1]
CONTROL = ROOT / "ros" / "control"
SANE = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
H = 1e-3
START = "motor1=0.2 motor2=0.1 motor3=0.15"


@functools.cache
def host() -> Path:
    """A program around the class, compiled without ROS."""
    where = folder() / "control"
    (where / "cutjoint_control").mkdir(parents=True)
    shutil.copy(ROOT / "fmu" / "c" / "native.h", where / "cutjoint_control")
    units = [CONTROL / "src" / unit for unit in ("mechanism.cpp", "motion.cpp")]
    units.append(Path(__file__).with_name("control_host.cpp"))
    command = ["g++", "-std=c++17", "-O0", "-g", "-Wall", "-Wextra", "-Werror", *SANE]
    command += [f"-I{CONTROL / 'include'}", f"-I{where}", *map(str, units), "-ldl", "-o", str(where / "host")]
    subprocess.run(command, check=True)
    return where / "host"


@functools.cache
def library() -> Path:
    outputs = [word for word in built_with(load("stewart"), "stewart") if "." in word]
    where = folder() / "control-library"
    build_realtime("stewart", where, outputs=outputs, parameters=("gravity",), optimize=1)
    return where / "stewart.so"


def played(script: str, *parameters: str) -> list[dict[str, list[float]]]:
    """What the class shows at each `show` of a script."""
    command = [host(), f"library={library()}", *parameters]
    done = subprocess.run(command, input=script, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    shown: list[dict[str, list[float]]] = []
    for line in done.stdout.splitlines():
        name, *words = line.split()
        assert name != "fault", line
        if name == "time":
            shown.append({})
        shown[-1][name] = [float.fromhex(word) for word in words]
    return shown


def engine() -> tuple[Simulation, JointValues, Drives]:
    start = {name: float(value) for name, value in (word.split("=") for word in START.split())}
    simulation = Simulation("stewart", start=start)
    values = JointValues(simulation)
    values.read()
    return simulation, values, Drives(simulation, values, 20.0)


def same(shown: dict[str, list[float]], values: JointValues) -> None:
    """Positions, speeds and torques of all joints, tree and cut."""
    values.read()
    for k, name in enumerate(values.names):
        wanted = (values.position[k], values.velocity[k], values.effort[k])
        assert np.allclose(shown[name][:3], wanted, rtol=1e-9, atol=1e-9), name


def test_efforts_give_the_engine_s_motion() -> None:
    script = "".join(f"take motor{k}/effort\ncommand motor{k} effort {5 - k}\n" for k in (1, 2, 3))
    (shown,) = played(f"{script}write {H} 200\nshow\n", f"start={START}")
    simulation, values, _ = engine()
    simulation.set_inputs([4.0, 3.0, 2.0])
    for _ in range(200):
        simulation.step(H)
    same(shown, values)
    assert shown["time"] == [pytest.approx(0.2)]


def test_accelerations_are_the_slopes_of_the_speeds() -> None:
    small = 1e-6
    script = f"write {H} 100\nshow\nwrite {small} 1\nshow\nwrite {small} 1\nshow\n"
    before, now, after = played(script, "hold=false", f"start={START}")
    joints = [name for name in now if name != "time"]
    assert len(joints) == 15
    for name in joints:
        slope = (after[name][1] - before[name][1]) / (2 * small)
        assert now[name][3] == pytest.approx(slope, rel=1e-5, abs=1e-4), name


def test_positions_and_velocities_are_followed_as_by_the_node() -> None:
    script = "take motor1/position motor2/velocity motor3/position\n"
    script += "command motor1 position 0.3\ncommand motor2 velocity -0.2\ncommand motor3 position 0.15\n"
    (shown,) = played(f"{script}write {H} 300\nshow\n", f"start={START}")
    simulation, values, drives = engine()
    kinds = np.array([POSITION, VELOCITY, POSITION])
    wanted = Wanted(kinds, np.array([0.3, -0.2, 0.15]), np.zeros(3), np.zeros(3))
    for _ in range(300):
        simulation.set_inputs(drives.forces(wanted, 20.0))
        simulation.step(H)
    same(shown, values)


def test_a_trajectory_with_its_derivatives_is_followed_without_lag() -> None:
    """A position alone trails by 2/frequency."""
    rate, swing, lead = 2.0, 0.1, 0.15
    script = "".join(f"take motor{k}/position motor{k}/velocity motor{k}/acceleration\n" for k in (1, 2, 3))
    alone = "take motor1/position motor2/position motor3/position\n"
    for n in range(500):
        angle = rate * n * H
        place = lead + swing * (1 - np.cos(angle))
        told = (("position", place), ("velocity", swing * rate * np.sin(angle)))
        told += (("acceleration", swing * rate**2 * np.cos(angle)),)
        words = "".join(f"command motor{k} {kind} {x:.17g}\n" for k in (1, 2, 3) for kind, x in told)
        script, alone = script + words + f"write {H} 1\n", alone + words + f"write {H} 1\n"
    start = "start=motor1=0.15 motor2=0.15 motor3=0.15"
    (followed,), (trailing,) = played(script + "show\n", start), played(alone + "show\n", start)
    wanted, speed = lead + swing * (1 - np.cos(rate * 500 * H)), swing * rate * np.sin(rate * 500 * H)
    for name in ("motor1", "motor2", "motor3"):
        assert followed[name][0] == pytest.approx(wanted, abs=2e-4)
        assert wanted - trailing[name][0] == pytest.approx(speed * 2 / 20.0, rel=0.3)


def test_a_manager_that_stalls_loses_nothing() -> None:
    script = "take motor1/position\ncommand motor1 position 0.3\n"
    (stalled,) = played(f"{script}write 0.6 5\nshow\n", f"start={START}")
    (shown,) = played(f"{script}write 0.012 250\nshow\n", f"start={START}")
    assert stalled["time"] == [pytest.approx(3.0)]
    assert stalled["motor1"][0] == pytest.approx(0.3, abs=1e-6)
    assert stalled["hinge1"][0] == pytest.approx(shown["hinge1"][0], abs=1e-6)


def test_what_a_controller_gives_back_stays_where_it_is() -> None:
    script = f"take motor1/position\ncommand motor1 position 0.3\nwrite {H} 1000\nshow\n"
    script += f"give motor1/position\nwrite {H} 1000\nshow\ntake motor1/position\nwrite {H} 1000\nshow\n"
    for shown in played(script, f"start={START}"):
        assert shown["motor1"][0] == pytest.approx(0.3, abs=1e-6)


def test_the_start_is_held_until_the_first_command() -> None:
    silent = "take motor1/effort\ncommand motor1 effort nan\n"
    script = f"write {H} 500\nshow\n{silent}write {H} 500\nshow\nreset\nshow\n"
    for shown in played(script, f"start={START}"):
        assert shown["motor1"][0] == pytest.approx(0.2, abs=1e-9) and abs(shown["motor1"][1]) < 1e-9
    (fallen,) = played(f"write {H} 500\nshow\n", "hold=false", f"start={START}")
    assert abs(fallen["motor1"][0] - 0.2) > 0.01


def test_gravity_and_step_come_from_parameters() -> None:
    (still,) = played(f"write {H} 100\nshow\n", "gravity=0", "hold=false", f"start={START}")
    assert still["motor1"][0] == pytest.approx(0.2, abs=1e-12)
    (shown,) = played("write 0.01 10\nshow\n", "step=0.001", "hold=false", f"start={START}")
    simulation, values, _ = engine()
    for _ in range(100):
        simulation.step(H)
    same(shown, values)


def test_sensors_show_pose_and_wrench() -> None:
    script = "sensor pose body platform\nsensor wrench joint ball2\n"
    (shown,) = played(f"{script}write {H} 50\nshow\n", "hold=false", f"start={START}")
    simulation, _, _ = engine()
    for _ in range(50):
        simulation.step(H)
    found = simulation.outputs()
    pose = [*found["body.platform.position"], *np.roll(found["body.platform.orientation"], -1)]
    assert [shown[f"pose/{name}"][0] for name in POSE] == pytest.approx(pose, abs=1e-9)
    force = [shown[f"wrench/force.{x}"][0] for x in "xyz"]
    assert force == pytest.approx(list(found["reaction.ball2.force"]), rel=1e-6, abs=1e-6)


@pytest.mark.parametrize(
    "parameters, script, sentence",
    [
        (["library=/nowhere.so"], "", "can't be loaded"),
        (["library="], "", "say which mechanism"),
        (["library=libm.so.6"], "", "no library of this version"),
        (["start=motor9=1"], "", "there is no joint 'motor9'"),
        (["start=motor1"], "", "JOINT=VALUE"),
        (["start=motor1=x"], "", "is not a finite number"),
        (["gravity=1,2"], "", "one number g"),
        (["step=-1"], "", "must not be negative"),
        (["mode=warp"], "", "lock_step or real_time"),
        (["hold=maybe"], "", "true or false"),
        ([], "command motor9 effort 1\n", "has no joint 'motor9'"),
        (
            [],
            "take motor1/effort\ntake motor2/effort motor1/position\n",
            "'motor1' can't follow a motion and",
        ),
        ([], "sensor a body leg1\n", "has no output 'body.leg1.position[1]'"),
        ([], "sensor a leg leg1\n", "needs a parameter 'body'"),
    ],
)
def test_mistakes_are_thrown_as_one_sentence(parameters: list[str], script: str, sentence: str) -> None:
    command = [host(), f"library={library()}", *parameters]
    done = subprocess.run(command, input=script, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2 and sentence in done.stderr and done.stderr.count("\n") == 1


@pytest.mark.parametrize("name", ["stewart", "arm", "loader", "delta"])
def test_urdf_and_controllers_name_the_same_joints(name: str) -> None:
    mechanism = load(name)
    block = xml.fromstring(control_urdf(mechanism, f"{name}.so", step="0.001")).find("ros2_control")
    assert block is not None and block.findtext("hardware/plugin") == "cutjoint_control/System"
    given = {p.get("name"): p.text for p in block.findall("hardware/param")}
    assert given["library"] == f"{name}.so" and given["step"] == "0.001"
    parts = {p.get("name"): p for p in [*block.findall("joint"), *block.findall("gpio")]}
    assert set(parts) == set(value_names(equations(mechanism)))
    assert all(len(p.findall("state_interface")) == 4 for p in parts.values())
    commanded = {n for n, p in parts.items() if p.findall("command_interface")}
    assert commanded == set(driven_joints(mechanism)) and len(commanded) == len(mechanism.inputs())
    settings = YAML(typ="safe").load(controllers(mechanism, 250.0))
    assert set(settings["joint_trajectory_controller"]["ros__parameters"]["joints"]) == commanded
    told = settings["joint_trajectory_controller"]["ros__parameters"]["command_interfaces"]
    assert told and all(
        p.find(f"command_interface[@name='{t}']") is not None
        for p in parts.values()
        for t in told
        if p.get("name") in commanded
    )
    assert settings["controller_manager"]["ros__parameters"]["update_rate"] == 250
    assert block.find(f"sensor[@name='{platform(mechanism)}_pose']") is not None


def test_every_example_has_a_platform() -> None:
    assert {platform(load(name)) for name in ("stewart", "hexapod", "delta")} == {"platform"}
    for name in list_examples():
        assert platform(load(name)) in {body.name for body in load(name).bodies}


def test_the_command_prints_both(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "controllers.yaml"
    assert main(["node", "arm", "--urdf", "--ros2-control", "--controllers", str(file)]) == 0
    out, said = capsys.readouterr()
    assert "<ros2_control" in out and "cutjoint realtime arm" in said
    assert "JointTrajectoryController" in file.read_text()
    assert main(["node", "arm", "--ros2-control"]) == 2
    assert "--urdf --ros2-control" in capsys.readouterr().err


def test_the_package_of_the_plugin_says_what_it_needs() -> None:
    package = xml.parse(CONTROL / "package.xml").getroot()
    assert package.findtext("version") == xml.parse(ROOT / "package.xml").getroot().findtext("version")
    needed = {e.text for e in package.findall("depend")}
    assert needed == {"hardware_interface", "pluginlib", "rclcpp_lifecycle"}
    plugin = xml.parse(CONTROL / "cutjoint_control.xml").getroot().find("class")
    assert plugin is not None and plugin.get("name") == "cutjoint_control/System"
