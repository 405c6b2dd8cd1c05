"""ros2_control: the class behind the plugin is the engine, without ROS; URDF and controllers fit it."""

from __future__ import annotations

import functools
import itertools
import re
import subprocess
import xml.etree.ElementTree as xml
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from cutjoint import Simulation, list_examples, load
from cutjoint.model.base.errors import CutjointError
from cutjoint.model.cli.main import main
from cutjoint.model.control.command_law import POSITION, VELOCITY, input_columns
from cutjoint.model.control.computed_torque import Drives, Wanted
from cutjoint.model.control.frame_readings import Reaction
from cutjoint.model.control.joint_values import JointValues
from cutjoint.model.control.wrench_sensors import with_wrench_sensors
from cutjoint.model.equations.single_joints import value_names
from cutjoint.model.equations.terms import equations
from cutjoint.realtime.build import build_realtime
from cutjoint.ros.control.files import (
    POSE,
    WRENCH,
    built_with,
    control_urdf,
    controllers,
    driven_joints,
    platform,
)
from every_vector import file
from fmu_tools import folder
from ruamel.yaml import YAML

ROOT = Path(__file__).resolve().parents[2]
CONTROL = ROOT / "ros" / "control"
SANE = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
H = 1e-3
START = "motor1=0.2 motor2=0.1 motor3=0.15"


@functools.cache
def host() -> Path:
    """A program around the class, compiled without ROS."""
    where = folder() / "control"
    where.mkdir()
    units = [CONTROL / "src" / unit for unit in ("mechanism.cpp", "motion.cpp")]
    units.append(Path(__file__).with_name("control_host.cpp"))
    command = ["g++", "-std=c++17", "-O0", "-g", "-Wall", "-Wextra", "-Werror", *SANE]
    command += [f"-I{CONTROL / 'include'}", *map(str, units), "-ldl", "-o", str(where / "host")]
    subprocess.run(command, check=True)
    return where / "host"


@functools.cache
def library() -> Path:
    where, words = folder() / "control-library", built_with(load("stewart"), "stewart")
    chosen = {option: [b for a, b in itertools.pairwise(words) if a == option] for option in words}
    outputs, wrenches = chosen["--output"], chosen["--wrench"]
    build_realtime("stewart", where, outputs=outputs, wrenches=wrenches, parameters=("gravity",), optimize=1)
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
    """Wrenches as the node tells them: in the child's axes and about its origin."""
    script = "sensor pose body platform\nsensor wrench joint ball2\n"
    (shown,) = played(f"{script}write {H} 200\nshow\n", "hold=false", f"start={START}")
    simulation, _, _ = engine()
    for _ in range(200):
        simulation.step(H)
    found = simulation.outputs()
    pose = [*found["body.platform.position"], *np.roll(found["body.platform.orientation"], -1)]
    assert [shown[f"pose/{name}"][0] for name in POSE] == pytest.approx(pose, abs=1e-9)
    wrench = np.ravel(Reaction(simulation, "ball2").read(simulation.output_vector()))
    assert [shown[f"wrench/{name}"][0] for name in WRENCH] == pytest.approx(wrench, rel=1e-6, abs=1e-6)
    assert np.abs(wrench[:3] - found["reaction.ball2.force"]).max() > 1e-2  # which is in the world's axes


@pytest.mark.parametrize("name, ground", [("stewart", False), ("arm", False), ("mcpherson", True)])
def test_wrench_sensors_are_the_node_s_reactions(name: str, ground: bool) -> None:
    """Of every joint, tree and cut, also of one whose child is ground."""
    described = load(name)
    if ground:
        turned = [
            replace(j, parent=j.child, child=j.parent, on_parent=j.on_child, on_child=j.on_parent)
            for j in described.joints
            if j.parent == "ground"
        ][:1]
        kept = [j for j in described.joints if j.name != turned[0].name]
        described = replace(described, joints=(*turned, *kept))
    more, names = with_wrench_sensors(described, ["*"])
    simulation = Simulation(more, compile=False)
    simulation.step(H)
    found, y = simulation.outputs(), simulation.output_vector()
    assert len(names) == len(described.joints) and ground == any(
        j.child == "ground" for j in described.joints
    )
    for joint, sensor in zip(described.joints, names, strict=True):
        wrench = [found[f"sensor.{sensor}.{what}"] for what in ("force", "torque")]
        told = np.ravel(Reaction(simulation, joint.name).read(y))
        assert np.ravel(wrench) == pytest.approx(told, rel=1e-6, abs=1e-6 * (1 + np.abs(told).max())), sensor


def test_a_wrench_of_no_joint_and_a_name_that_is_taken_are_mistakes() -> None:
    with pytest.raises(CutjointError, match="there is no joint 'bal1'; did you mean 'ball1'"):
        with_wrench_sensors(load("stewart"), ["bal1"])
    once, _ = with_wrench_sensors(load("stewart"), ["ball1"])
    with pytest.raises(CutjointError, match="'ball1_wrench' is taken"):
        with_wrench_sensors(once, ["ball1"])
    assert with_wrench_sensors(once, []) == (once, [])


def test_controllers_are_obeyed_after_the_hardware_is_activated_again() -> None:
    """What they took before, while it was down, or at all: it is still theirs, and they command anew."""
    told = "take motor1/position motor2/effort motor3/velocity\n"
    orders = "command motor1 position 0.3\ncommand motor2 effort 3\ncommand motor3 velocity 0.1\n"
    (once,) = played(f"{told}{orders}write {H} 100\nshow\n", f"start={START}")
    again, held = f"reset\n{orders}write {H} 100\nshow\n", f"reset\nwrite {H} 100\nshow\n"
    for script in (f"{told}{again}", f"{told}{orders}write {H} 50\n{again}", f"{told}{orders}{again}{again}"):
        assert all(shown == once for shown in played(script, f"start={START}"))
    (still,) = played(f"{told}{orders}write {H} 50\n{held}", f"start={START}")  # no command from before
    assert still["motor1"][0] == pytest.approx(0.2, abs=1e-9)


def test_a_controller_that_ended_while_the_hardware_was_down_gives_way_to_the_next() -> None:
    script = f"take motor1/effort\ncommand motor1 effort 2\nwrite {H} 20\nreset\n"
    script += f"take motor1/position\ncommand motor1 position 0.3\nwrite {H} 1000\nshow\n"
    (shown,) = played(script, f"start={START}")
    assert shown["motor1"][0] == pytest.approx(0.3, abs=1e-6)


@pytest.mark.parametrize(
    "order, word",
    [("effort 1e9", "effort 1e+09"), ("effort inf", "effort inf"), ("position -1e7", "position -1e+07")],
)
def test_what_no_drive_can_do_is_said_once(order: str, word: str) -> None:
    kind = order.split()[0]
    script = (
        f"take motor1/{kind}\ncommand motor1 {order}\nwrite {H} 300\ncommand motor1 {kind} 0.1\nwrite {H} 9\n"
    )
    done = subprocess.run([host(), f"library={library()}"], input=script, capture_output=True, text=True)
    first, last = done.stderr.splitlines()
    assert done.returncode == 0 and f"joint 'motor1' is told the {word}" in first and last == "refused: "


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
        ([], "sensor a joint hinge1\n", "make it with 'cutjoint realtime --wrench hinge1'"),
        ([], "sensor a leg leg1\n", "sensor 'a' has no parameter 'leg'; there is body, joint"),
        (["gravty=0"], "", "the hardware has no parameter 'gravty'; there is library, mode, step"),
        (["sensor="], "", "has no parameter 'sensor'"),
    ],
)
def test_mistakes_are_thrown_as_one_sentence(parameters: list[str], script: str, sentence: str) -> None:
    command = [host(), f"library={library()}", *parameters]
    done = subprocess.run(command, input=script, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2 and sentence in done.stderr and done.stderr.count("\n") == 1


@pytest.mark.parametrize("described", ["servo_stewart", file()], ids=["servo_stewart", "on_a_carriage"])
def test_drives_with_states_of_their_own_move_as_the_engine_s_and_begin_anew(described: str) -> None:
    """They have no start value: more coordinates than starts, among which names are looked for."""
    name = Path(described).stem
    where = folder() / f"control-{name}"
    build_realtime(described, where, optimize=0, flags=SANE)
    command = [host(), f"library={where / name}.so"]
    done = subprocess.run([*command, "start=nobody=1"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 2 and done.stderr.endswith("parameter 'start': there is no joint 'nobody'\n")
    orders = f"command motor1 position 0.15\nwrite {H} 50\nshow\n"
    parameters = f"library={where / name}.so", "start=motor1=0.1"
    first, again = played(f"take motor1/position\n{orders}reset\n{orders}", *parameters)
    assert again == first  # the drives' own states begin anew, too
    simulation = Simulation(described, start={"motor1": 0.1})
    values = JointValues(simulation)
    drives = Drives(simulation, values, 20.0)
    place = [row.joint for row in input_columns(simulation.mechanism)].index("motor1")
    wanted = drives.held().changed(place, POSITION, 0.15)
    for _ in range(50):
        simulation.set_inputs(drives.forces(wanted, 20.0))
        simulation.step(H)
    same(first, values)


@pytest.mark.parametrize("name", ["stewart", "arm", "loader", "delta"])
def test_urdf_and_controllers_name_the_same_joints(name: str) -> None:
    mechanism = load(name)
    root = xml.fromstring(control_urdf(mechanism, f"{name}.so", step="0.001"))
    block = root.find("ros2_control")
    assert block is not None and block.findtext("hardware/plugin") == "cutjoint_control/System"
    given = {p.get("name"): p.text for p in block.findall("hardware/param")}
    assert given["library"] == f"{name}.so" and given["step"] == "0.001"
    parts = {p.get("name"): p for p in [*block.findall("joint"), *block.findall("gpio")]}
    assert set(parts) == set(value_names(equations(mechanism)))
    assert all(len(p.findall("state_interface")) == 4 for p in parts.values())
    commanded = {n for n, p in parts.items() if p.findall("command_interface")}
    assert commanded == set(driven_joints(mechanism)) and len(commanded) == len(mechanism.inputs())
    settings = YAML(typ="safe").load(controllers(mechanism, 250.0))
    managed = settings["controller_manager"]["ros__parameters"]
    assert set(settings["joint_trajectory_controller"]["ros__parameters"]["joints"]) == commanded
    told = settings["joint_trajectory_controller"]["ros__parameters"]["command_interfaces"]
    assert told and all(
        p.find(f"command_interface[@name='{t}']") is not None
        for p in parts.values()
        for t in told
        if p.get("name") in commanded
    )
    assert settings["controller_manager"]["ros__parameters"]["update_rate"] == 250
    sensors = {
        s.get("name"): {i.get("name") for i in s.findall("state_interface")} for s in block.findall("sensor")
    }
    links = {link.get("name") for link in root.findall("link")}
    for kind, key, readings in (("pose", "pose_name", POSE), ("force_torque_sensor", "sensor_name", WRENCH)):
        shown = [
            n
            for n, c in managed.items()
            if n != "update_rate" and c["type"].startswith(f"{kind}_broadcaster/")
        ]
        told = [settings[name]["ros__parameters"] for name in shown]
        assert {t[key] for t in told} == {
            s for s, found in sensors.items() if found == set(readings)
        } and told
        assert {t["frame_id"] for t in told} <= links
    assert {*settings} == {"controller_manager", *managed} - {"update_rate"}
    apart = YAML(typ="safe").load(controllers(mechanism, 250.0, "/left"))
    assert apart == {f"/left/{name}": given for name, given in settings.items()}
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
    sources = "\n".join(path.read_text() for path in (CONTROL / "src").glob("*.cpp"))
    included = set(re.findall(r"#include <(\w+)/", sources))
    assert included == needed == {"hardware_interface", "pluginlib", "rclcpp", "rclcpp_lifecycle"}
    run = {e.text for e in package.findall("exec_depend")}
    made = YAML(typ="safe").load(controllers(load("stewart"), 500.0))["controller_manager"]["ros__parameters"]
    assert run >= {c["type"].split("/")[0] for c in made.values() if isinstance(c, dict)}
    assert not any("pip" in name or "casadi" in name or name == "cutjoint" for name in needed | run)
    build = (CONTROL / "CMakeLists.txt").read_text()
    assert ".." not in build and "ament_target_dependencies" not in build
    assert all(f"find_package({name} " in build and f"{name}::{name}" in build for name in needed)
    own = CONTROL / "include" / "cutjoint_control" / "native.h"
    copied = "cp native/c/native.h ros/control/include/cutjoint_control/"  # a package reaches no other
    assert own.read_bytes() == (ROOT / "native" / "c" / "native.h").read_bytes(), copied
    plugin = xml.parse(CONTROL / "cutjoint_control.xml").getroot().find("class")
    assert plugin is not None and plugin.get("name") == "cutjoint_control/System"
