"""What the launch files `*_control.launch.py` share: ros2_control's manager, broadcaster, trajectories."""

import atexit
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ...model.base.errors import CutjointError
from ...model.control.command_policy import FREQUENCY
from ...model.loading import load
from .files import BROADCASTER, TRAJECTORY, built_with, control_urdf, controllers, sensor_broadcasters

ARGUMENTS = {
    "library": ("", "native library of the mechanism; made by 'cutjoint realtime' if empty"),
    "rate": ("500", "updates of the controllers a second"),
    "step": ("0", "integration step, s; 0: one for each update, more where it stalled"),
    "mode": ("lock_step", "lock_step: an update's period for each update; real_time: as the clock goes"),
    "gravity": ("", "m/s²: g for (0, 0, -g), or three numbers with commas; the description's if empty"),
    "start": ("", "coordinates held at the start, such as 'motor1=0.1 motor2=0.2'"),
    "hold": ("true", "hold the start until the first command"),
    "frequency": (f"{FREQUENCY:g}", "rad/s: how stiffly positions and velocities are followed"),
}
PLACES = {
    "namespace": ("", "namespace of the manager, its controllers and their topics; none if empty"),
    "use_sim_time": ("", "true: the manager goes by /clock, which somebody else publishes"),
}


def describe_control(mechanism: str) -> Any:
    """Launch description of a mechanism under ros2_control."""
    from launch.actions import DeclareLaunchArgument, OpaqueFunction

    from launch import LaunchDescription

    about = "name of an example or path of a description file"
    arguments = {"mechanism": (mechanism, about)} | ARGUMENTS | PLACES
    declared = [
        DeclareLaunchArgument(name, default_value=value, description=about)
        for name, (value, about) in arguments.items()
    ]
    return LaunchDescription([*declared, OpaqueFunction(function=_nodes)])


def _nodes(context: Any) -> list[Any]:
    from launch.substitutions import LaunchConfiguration
    from launch_ros.actions import Node
    from launch_ros.parameter_descriptions import ParameterValue

    def said(names: Iterable[str]) -> dict[str, str]:
        return {name: LaunchConfiguration(name).perform(context) for name in names}

    given, (namespace, sim_time) = said(["mechanism", *ARGUMENTS]), said(PLACES).values()
    name = given.pop("mechanism")
    text, file = prepared_control(name, float(given.pop("rate")), namespace, **given)
    shared: dict[str, Any] = {"robot_description": ParameterValue(text, value_type=str)}
    clock = {"use_sim_time": sim_time.lower() == "true"} if sim_time else {}

    def node(package: str, executable: str, **more: Any) -> Any:
        return Node(package=package, executable=executable, namespace=namespace, **more)

    parameters = [shared, file, *([clock] if clock else [])]
    manager = node("controller_manager", "ros2_control_node", parameters=parameters, output="screen")
    publisher = node("robot_state_publisher", "robot_state_publisher", parameters=[shared | clock])
    spawned = [[BROADCASTER], [TRAJECTORY], list(sensor_broadcasters(load(name)))]
    spawners = [node("controller_manager", "spawner", arguments=[*x, "--param-file", file]) for x in spawned]
    return [manager, publisher, *spawners]


def prepared_control(
    name: str, rate: float, namespace: str = "", library: str = "", **hardware: str
) -> tuple[str, str]:
    """URDF and the path of a file of controllers, for a library that is made if none is given.

    What is made lasts as long as this process.
    """
    mechanism = load(name)
    folder = Path(tempfile.mkdtemp(prefix="cutjoint-control-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)  # the launch ends after all that it started
    if not library:
        command = [sys.executable, "-m", "cutjoint", *built_with(mechanism, name)]
        done = subprocess.run([*command, "-o", str(folder)], capture_output=True, text=True, check=False)
        made = sorted(folder.glob("*.so"))
        if done.returncode or not made:
            raise CutjointError(f"the library of '{name}' could not be made: {done.stderr.strip()}")
        library = str(made[0])
    file = folder / "controllers.yaml"
    file.write_text(controllers(mechanism, rate, namespace), encoding="utf-8")
    given = {key: value for key, value in hardware.items() if value}
    return control_urdf(mechanism, str(Path(library).resolve()), **given), str(file)
