"""The root as a ROS package: colcon builds it, the installed node runs, launch files say what they start."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import types
import xml.etree.ElementTree as xml
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cutjoint import CutjointError, list_examples, load
from cutjoint.ros.control import launching
from cutjoint.ros.control.files import platform
from cutjoint.ros.settings import SETTINGS, Settings

ROOT = Path(__file__).resolve().parents[2]
LAUNCH = sorted((ROOT / "launch").glob("*.launch.py"))
CONTROL = [path for path in LAUNCH if path.name.endswith("_control.launch.py")]


def version_of_package() -> str:
    (found,) = re.findall(r'^version = "(.*)"$', (ROOT / "pyproject.toml").read_text(), re.MULTILINE)
    return found


def test_package_xml_agrees_with_pyproject() -> None:
    package = xml.parse(ROOT / "package.xml").getroot()
    assert package.get("format") == "3"
    assert package.findtext("name") == "cutjoint"
    assert package.findtext("version") == version_of_package()
    assert package.findtext("license") == "MIT"


KEYS = {"numpy": "python3-numpy", "scipy": "python3-scipy", "mcap": "mcap-ros2-support"}
KEYS |= dict.fromkeys(("mcap_ros2", "zstandard"), "mcap-ros2-support") | {"ruamel": "python3-ruamel.yaml"}
OPTIONAL = {"simulation_interfaces"}  # used where it is installed


def test_package_xml_names_every_package_the_node_imports() -> None:
    package = xml.parse(ROOT / "package.xml").getroot()
    named = {e.text for e in package.findall("exec_depend")}
    sources = "\n".join(p.read_text() for p in (ROOT / "ros").rglob("*.py"))
    used = set(re.findall(r"^ *(?:from|import) (\w+)(?:\.\w+)*(?: import|$)", sources, re.MULTILINE))
    others = used - sys.stdlib_module_names - OPTIONAL - {"cutjoint"}
    assert {"rclpy", "sensor_msgs", "launch_ros", "mcap"} <= others
    assert {KEYS.get(name, name) for name in others} <= named
    tools = {e.text for e in package.findall("buildtool_depend")}
    assert tools == set(re.findall(r"find_package\((\w+) REQUIRED", (ROOT / "CMakeLists.txt").read_text()))


def test_colcon_builds_it_and_the_installed_node_runs(tmp_path: Path) -> None:
    pytest.importorskip(
        "colcon_ros", reason="colcon can't be imported: no ROS 2 and no wheels for this platform"
    )
    source = tmp_path / "src" / "cutjoint"
    source.mkdir(parents=True)
    for name in (
        "package.xml",
        "CMakeLists.txt",
        "LICENSE",
        "__init__.py",
        "__init__.pyi",
        "__main__.py",
        "py.typed",
    ):
        shutil.copy(ROOT / name, source)
    for name in ("model", "native", "fmu", "realtime", "ros", "papers", "examples", "benchmarks", "launch"):
        shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path}
    done = subprocess.run(
        [sys.executable, "-m", "colcon", "build", "--paths", "src/cutjoint"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    prefix = tmp_path / "install" / "cutjoint"
    installed = {p.name for p in (prefix / "share" / "cutjoint" / "launch").iterdir()}
    assert installed == {p.name for p in (ROOT / "launch").iterdir() if p.is_file()}
    # Run what was installed, not the sources: only the sourced environment finds it.
    check = "import cutjoint.ros.cli as c; print(c.__file__)"
    script = f". install/setup.sh && python3 -c '{check}' && {prefix}/lib/cutjoint/node stewart --urdf"
    ran = subprocess.run(
        ["sh", "-c", script], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120
    )
    assert ran.returncode == 0, ran.stderr
    where, _, text = ran.stdout.partition("\n")
    assert where.startswith(str(prefix))
    assert xml.fromstring(text).get("name") == "stewart"


def test_the_plugin_s_package_is_built_by_itself(tmp_path: Path) -> None:
    """Nothing beside it: its folder is all that a release of it would have."""
    pytest.importorskip(
        "colcon_ros", reason="colcon can't be imported: no ROS 2 and no wheels for this platform"
    )
    shutil.copytree(
        ROOT / "ros" / "control", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__", "*.py")
    )
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        [sys.executable, "-m", "colcon", "build", "--paths", "src"],
        cwd=tmp_path,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "install" / "cutjoint_control" / "share" / "cutjoint_control" / "package.xml").exists()


class Recorded:
    """Stands for any class of the launch system: remembers what it was made with."""

    def __init__(self, *positional: Any, **named: Any):
        self.positional, self.named = positional, named

    def perform(self, context: dict[str, str]) -> str:
        return context[self.positional[0]]


@pytest.fixture
def launch_system(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[bool]:
    """The real launch system where ROS is sourced; classes that only record elsewhere."""
    if importlib.util.find_spec("launch_ros") is not None:
        yield True
        return
    monkeypatch.setenv("AMENT_PREFIX_PATH", str(tmp_path))  # no package is installed
    classes = {
        "launch": ["LaunchDescription"],
        "launch.actions": ["DeclareLaunchArgument", "EmitEvent", "OpaqueFunction", "RegisterEventHandler"],
        "launch.event_handlers": ["OnProcessExit"],
        "launch.events": ["matches_action"],
        "launch.events.process": ["ShutdownProcess"],
        "launch.substitutions": ["LaunchConfiguration"],
        "launch_ros": [],
        "launch_ros.actions": ["Node"],
        "launch_ros.parameter_descriptions": ["ParameterValue"],
    }
    for module, names in classes.items():
        made = types.ModuleType(module)
        for name in names:
            setattr(made, name, type(name, (Recorded,), {}))
        monkeypatch.setitem(sys.modules, module, made)
    yield False


def generate(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location(path.name.split(".")[0], path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.generate_launch_description()


def started(description: Any, context: dict[str, str]) -> list[Any]:
    """The actions that the launch file's function makes of its arguments."""
    (function,) = [e for e in description.positional[0] if type(e).__name__ == "OpaqueFunction"]
    return list(function.named["function"](context))


def defaults(description: Any) -> dict[str, str]:
    entities = description.positional[0]
    declared = {e.positional[0]: e.named for e in entities if type(e).__name__ == "DeclareLaunchArgument"}
    assert all(d["description"] for d in declared.values())
    return {name: d["default_value"] for name, d in declared.items()}


def plain(parameters: dict[str, Any]) -> dict[str, Any]:
    """Values that a node is started with; texts must be marked as such, or they are read as YAML."""
    assert not any(isinstance(value, str) for value in parameters.values())
    marked = {n: v for n, v in parameters.items() if isinstance(v, Recorded)}
    assert all(v.named == {"value_type": str} for v in marked.values())
    return parameters | {n: v.positional[0] for n, v in marked.items()}


SINGLE = [path for path in LAUNCH if path not in CONTROL and path.name != "two_robots.launch.py"]
MORE = {"namespace", "params_file", "use_sim_time"}


def test_one_launch_file_starts_any_mechanism(launch_system: bool) -> None:
    description = generate(ROOT / "launch" / "mechanism.launch.py")
    if launch_system:
        pytest.skip("what it starts is seen where nothing is started")
    with pytest.raises(CutjointError, match="say which mechanism: mechanism:=NAME"):
        started(description, defaults(description))
    for name in (*list_examples(), "robots/my-arm.urdf"):
        node, *_ = started(description, defaults(description) | {"mechanism": name})
        (told,) = node.named["parameters"]
        assert plain(told) == {"mechanism": name}
        assert node.named["namespace"] == name.replace("robots/my-arm.urdf", "my_arm")


@pytest.mark.parametrize("path", SINGLE, ids=lambda p: p.name)
def test_launch_files_describe_a_node_with_valid_arguments(
    path: Path, launch_system: bool, tmp_path: Path
) -> None:
    pytest.importorskip("rclpy", reason="no ROS 2 here")
    description = generate(path)
    if launch_system:
        names = {e.name for e in description.entities if type(e).__name__ == "DeclareLaunchArgument"}
        assert names == {*SETTINGS, *MORE}
        return
    context = defaults(description)
    assert set(context) == {*SETTINGS, *MORE}
    context["mechanism"] = context["mechanism"] or "hexapod"
    given = {
        "rate": "500",
        "hold": "false",
        "diagnostics": "energy",
        "gravity": "0.0",
        "poses": "*",
        "params_file": str(written(tmp_path, {"/**": {"step": 0.001}})),
    }
    node, *_ = started(description, {**context, **given, "use_sim_time": "true"})
    assert (node.named["package"], node.named["executable"]) == ("cutjoint", "node")
    file, told = node.named["parameters"]
    parameters = plain(told)
    assert file == given["params_file"] and parameters.pop("use_sim_time") is True
    # What is not given is left to the file, and to the node.
    assert set(parameters) == {"mechanism", "rate", "hold", "diagnostics", "gravity", "poses"}
    settings = Settings.read(parameters)
    assert (settings.rate, settings.hold, settings.gravity) == (500.0, False, 0.0)
    assert settings.mechanism in list_examples()


def test_robot_state_publisher_is_started_only_where_it_is_installed_and_ends_with_the_node(
    launch_system: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if launch_system:
        pytest.skip("what is installed can't be changed where ROS 2 is sourced")
    packages = pytest.importorskip("ament_index_python.packages", reason="no ROS 2 here")
    description = generate(ROOT / "launch" / "mechanism.launch.py")
    context = defaults(description) | {"mechanism": "delta", "publish_clock": "true", "frame_prefix": "left/"}
    assert len(started(description, context)) == 1
    monkeypatch.setattr(packages, "get_package_prefix", lambda name: "/somewhere")
    node, publisher, handler = started(description, context)
    (parameters,) = publisher.named["parameters"]
    assert parameters["use_sim_time"] is True and parameters["frame_prefix"] == "left/"
    assert '<robot name="delta"' in parameters["robot_description"].positional[0]
    (at_exit,) = handler.positional
    assert at_exit.named["target_action"] is node
    matches = at_exit.named["on_exit"][0].named["event"].named["process_matcher"]
    assert matches.positional == (publisher,)


def written(folder: Path, parameters: dict[str, dict[str, Any]]) -> Path:
    """A parameters file."""
    file = folder / "my.yaml"
    file.write_text(json.dumps({node: {"ros__parameters": values} for node, values in parameters.items()}))
    return file


def test_a_parameters_file_reaches_both_nodes_and_names_the_mechanism(
    launch_system: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """It told the node alone, and its mechanism was ignored."""
    if launch_system:
        pytest.skip("what is installed can't be changed where ROS 2 is sourced")
    packages = pytest.importorskip("ament_index_python.packages", reason="no ROS 2 here")
    monkeypatch.setattr(packages, "get_package_prefix", lambda name: "/somewhere")
    file = written(
        tmp_path,
        {
            "/**": {"mechanism": "delta", "publish_clock": True},
            "/delta/cutjoint": {"frame_prefix": "left/"},
            "/other/cutjoint": {"frame_prefix": "wrong/"},
        },
    )
    for launch in ("mechanism", "stewart"):  # a file is stronger than a default
        description = generate(ROOT / "launch" / f"{launch}.launch.py")
        node, publisher, _ = started(description, defaults(description) | {"params_file": str(file)})
        assert node.named["namespace"] == "delta" and node.named["parameters"][0] == str(file)
        assert plain(node.named["parameters"][1]) == {"mechanism": "delta"}
        told_file, parameters = publisher.named["parameters"]
        assert told_file == str(file) and parameters["frame_prefix"] == "left/"
        assert parameters["use_sim_time"] is True
        assert '<robot name="delta"' in parameters["robot_description"].positional[0]
        # An argument is stronger than the file.
        more = {"params_file": str(file), "mechanism": "fourbar", "frame_prefix": "right/"}
        node, publisher, _ = started(description, defaults(description) | more)
        assert plain(node.named["parameters"][1])["mechanism"] == "fourbar"
        parameters = publisher.named["parameters"][1]
        assert '<robot name="fourbar"' in parameters["robot_description"].positional[0]
        assert parameters["frame_prefix"] == "right/"
        with pytest.raises(CutjointError, match=r"params_file: there is no file 'no\.yaml'"):
            started(description, defaults(description) | {"params_file": "no.yaml"})


# What the layouts use: displays of rviz_default_plugins, panels of Foxglove, and the types that these show.
RVIZ = {
    "Grid": None,
    "RobotModel": "std_msgs/msg/String",
    "MarkerArray": "visualization_msgs/msg/MarkerArray",
}
RVIZ |= {"TF": None}
FOXGLOVE = {"3D", "Plot", "DiagnosticSummary", "Parameters"}


def layout_topics() -> dict[str, str]:
    """Topics that the layouts show -> message type."""
    from ruamel.yaml import YAML

    shown = YAML(typ="safe").load(ROOT / "launch" / "cutjoint.rviz")["Visualization Manager"]
    found: dict[str, str] = {}
    for display in shown["Displays"]:
        kind = RVIZ[display["Class"].removeprefix("rviz_default_plugins/")]
        place = display.get("Description Topic") or display.get("Topic")
        assert (kind is None) == (place is None)
        if kind:
            found[place["Value"]] = kind
    layout = json.loads((ROOT / "launch" / "cutjoint.foxglove.json").read_text())["configById"]
    for panel, config in layout.items():
        assert panel.partition("!")[0] in FOXGLOVE
        for layer in config.get("layers", {}).values():
            found[layer["topic"]] = "std_msgs/msg/String"
        found |= dict.fromkeys(config.get("topics", {}), "visualization_msgs/msg/MarkerArray")
        for path in config.get("paths", []):
            topic, field = path["value"].split(".")
            assert re.fullmatch(r"(position|effort)\[[012]\]", field)
            found[topic] = "sensor_msgs/msg/JointState"
        if "topicToRender" in config:
            found[config["topicToRender"]] = "diagnostic_msgs/msg/DiagnosticArray"
    return found


def test_layouts_are_what_their_programs_read() -> None:
    """YAML and JSON whose panels all have a place; test_ros_launch holds topics against a node's."""
    from ruamel.yaml import YAML

    shown = YAML(typ="safe").load(ROOT / "launch" / "cutjoint.rviz")["Visualization Manager"]
    assert shown["Global Options"]["Fixed Frame"] == "ground"
    layout = json.loads((ROOT / "launch" / "cutjoint.foxglove.json").read_text())
    panels = re.findall(r'"(?:first|second)": "([^"]+)"', json.dumps(layout["layout"]))
    assert sorted(panels) == sorted(layout["configById"])
    assert layout["configById"]["3D!robot"]["followTf"] == "ground"
    own = {f"/stewart/{name}" for name in ("robot_description", "markers", "joint_states")}
    assert set(layout_topics()) == own | {"/diagnostics"}


def test_two_robots_have_names_and_frames_of_their_own_and_one_clock(launch_system: bool) -> None:
    description = generate(ROOT / "launch" / "two_robots.launch.py")
    if launch_system:
        return
    nodes = [n for n in started(description, {}) if n.named.get("executable") == "node"]
    read = [Settings.read(plain(n.named["parameters"][-1])) for n in nodes]
    assert [s.publish_clock for s in read] == [True, False, False]
    assert [s.mode for s in read] == ["real_time", "follow_clock", "follow_clock"]
    assert [n.named["namespace"] + "/" for n in nodes] == [s.frame_prefix for s in read]
    assert len({tuple(s.placed_at) for s in read}) == 3


@pytest.mark.parametrize("path", CONTROL, ids=lambda p: p.name)
def test_launch_files_of_ros2_control_start_its_manager(
    path: Path, launch_system: bool, tmp_path: Path
) -> None:
    if launch_system:
        pytest.skip("what is started can't be looked at where ROS 2 is sourced")
    entities = generate(path).positional[0]
    declared = {e.positional[0]: e.named["default_value"] for e in entities[:-1]}
    assert path.name == f"{declared['mechanism']}_control.launch.py"
    nodes = launching._nodes(declared | {"library": str(tmp_path / "made.so"), "start": "a=1"})
    started = [(n.named["package"], n.named["executable"], *n.named.get("arguments", [])[:1]) for n in nodes]
    assert started == [
        ("controller_manager", "ros2_control_node"),
        ("robot_state_publisher", "robot_state_publisher"),
        ("controller_manager", "spawner", "joint_state_broadcaster"),
        ("controller_manager", "spawner", "joint_trajectory_controller"),
        ("controller_manager", "spawner", f"{platform(load(declared['mechanism']))}_pose_broadcaster"),
    ]
    description, file = nodes[0].named["parameters"]
    assert f"{tmp_path}/made.so" in description["robot_description"].positional[0]
    assert "update_rate: 500" in Path(file).read_text()
    assert {n.named["namespace"] for n in nodes} == {""}
    apart = {"library": str(tmp_path / "made.so"), "namespace": "left", "use_sim_time": "true"}
    nodes = launching._nodes(declared | apart)
    assert {n.named["namespace"] for n in nodes} == {"left"}
    _, file, clock = nodes[0].named["parameters"]
    assert clock == {"use_sim_time": True} and "\n/left/controller_manager:\n" in Path(file).read_text()
    assert nodes[1].named["parameters"][0]["use_sim_time"] is True
