"""The root as a ROS package: colcon builds it, the installed node runs, launch files say what they start."""

from __future__ import annotations

import importlib.util
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
from cutjoint.model import list_examples
from cutjoint.ros import launching
from cutjoint.ros.settings import SETTINGS, Settings

ROOT = Path(__file__).resolve().parents[1]
LAUNCH = sorted((ROOT / "launch").glob("*.launch.py"))


def version_of_package() -> str:
    (found,) = re.findall(r'^version = "(.*)"$', (ROOT / "pyproject.toml").read_text(), re.MULTILINE)
    return found


def test_package_xml_agrees_with_pyproject() -> None:
    package = xml.parse(ROOT / "package.xml").getroot()
    assert package.get("format") == "3"
    assert package.findtext("name") == "cutjoint"
    assert package.findtext("version") == version_of_package()
    assert package.findtext("license") == "MIT"


def test_package_xml_names_every_message_package_the_node_imports() -> None:
    package = xml.parse(ROOT / "package.xml").getroot()
    named = {e.text for e in package.findall("exec_depend")}
    sources = "\n".join(p.read_text() for p in (ROOT / "ros").glob("*.py"))
    used = set(re.findall(r"^from (\w+)\.(?:msg|srv) import", sources, re.MULTILINE)) | {"rclpy"}
    assert "sensor_msgs" in used
    assert used <= named


def test_colcon_builds_it_and_the_installed_node_runs(tmp_path: Path) -> None:
    pytest.importorskip(
        "colcon_ros", reason="colcon can't be imported: no ROS 2 and no wheels for this platform"
    )
    source = tmp_path / "src" / "cutjoint"
    source.mkdir(parents=True)
    for name in ("package.xml", "CMakeLists.txt", "LICENSE"):
        shutil.copy(ROOT / name, source)
    for name in ("model", "fmu", "ros", "examples", "benchmarks", "launch"):
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
    assert installed == {p.name for p in LAUNCH}
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


class Recorded:
    """Stands for any class of the launch system: remembers what it was made with."""

    def __init__(self, *positional: Any, **named: Any):
        self.positional, self.named = positional, named

    def perform(self, context: dict[str, str]) -> str:
        return context[self.positional[0]]


@pytest.fixture
def launch_system(monkeypatch: pytest.MonkeyPatch) -> Iterator[bool]:
    """The real launch system where ROS is sourced; classes that only record elsewhere."""
    if importlib.util.find_spec("launch_ros") is not None:
        yield True
        return
    classes = {
        "launch": ["LaunchDescription"],
        "launch.actions": ["DeclareLaunchArgument", "OpaqueFunction"],
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


@pytest.mark.parametrize("path", LAUNCH, ids=lambda p: p.name)
def test_launch_files_describe_a_node_with_valid_arguments(path: Path, launch_system: bool) -> None:
    description = generate(path)
    if launch_system:
        names = {e.name for e in description.entities if type(e).__name__ == "DeclareLaunchArgument"}
        assert names == {*SETTINGS, "namespace"}
        return
    entities = description.positional[0]
    declared = {e.positional[0]: e.named for e in entities if type(e).__name__ == "DeclareLaunchArgument"}
    assert set(declared) == {*SETTINGS, "namespace"}
    assert all(d["description"] for d in declared.values())
    (node,) = [e for e in entities if type(e).__name__ == "Node"]
    assert (node.named["package"], node.named["executable"]) == ("cutjoint", "node")
    (parameters,) = node.named["parameters"]
    assert set(parameters) == set(SETTINGS)
    # Defaults, read back as the launch system would, are settings the node accepts.
    given = {}
    for name, value in parameters.items():
        assert value.positional[0].positional == (name,)
        text = declared[name]["default_value"]
        kind = value.named["value_type"]
        given[name] = text == "true" if kind is bool else kind(text)
    settings = Settings.read(given)
    assert settings.mechanism in list_examples() and path.name == f"{settings.mechanism}.launch.py"


def test_robot_state_publisher_is_started_only_where_it_is_installed(
    launch_system: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    if launch_system:
        pytest.skip("what is installed can't be changed where ROS 2 is sourced")
    packages = pytest.importorskip("ament_index_python.packages", reason="no ROS 2 here")
    monkeypatch.setenv("AMENT_PREFIX_PATH", str(tmp_path))
    context = {"mechanism": "delta", "publish_clock": "true"}
    assert launching._state_publisher(context) == []
    monkeypatch.setattr(packages, "get_package_prefix", lambda name: "/somewhere")
    (publisher,) = launching._state_publisher(context)
    (parameters,) = publisher.named["parameters"]
    assert parameters["use_sim_time"] is True
    assert '<robot name="delta"' in parameters["robot_description"].positional[0]
