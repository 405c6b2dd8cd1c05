"""What the files in `launch` share: a mechanism's node, and robot_state_publisher if it is installed."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..model.loading import load
from ..model.urdf.write_urdf import urdf
from .settings import SETTINGS, SettingError

NO_FILE = ""


def describe(mechanism: str | None = None) -> Any:
    """Launch description of a mechanism; every parameter of its node can be set with `name:=value`.

    What is given so is stronger than a parameters file, which is stronger than the defaults, `mechanism`
    among them. Without a default, one of the other two has to name a mechanism.
    """
    from launch.actions import DeclareLaunchArgument, OpaqueFunction

    from launch import LaunchDescription

    arguments: dict[str, tuple[str | None, str]] = {name: ("", s.about) for name, s in SETTINGS.items()}
    otherwise = f"; {mechanism} if nobody says" if mechanism else ""
    arguments["mechanism"] = ("", arguments["mechanism"][1] + otherwise)
    arguments["namespace"] = ("", "namespace of all topics; the mechanism's name if empty")
    arguments["params_file"] = (NO_FILE, "YAML file of parameters for the node")
    arguments["use_sim_time"] = ("", "whether the node takes the time from /clock; as publish_clock if empty")
    declared = [
        DeclareLaunchArgument(name, default_value=value, description=about)
        for name, (value, about) in arguments.items()
    ]
    return LaunchDescription([*declared, OpaqueFunction(function=lambda context: _robot(context, mechanism))])


def describe_world(robots: Sequence[dict[str, str]]) -> Any:
    """Launch description of several robots in one world, with namespaces and frames of their own, one clock.

    Each is told by its parameters and a `namespace`, which is also in front of its frames.
    """
    from launch.actions import OpaqueFunction

    from launch import LaunchDescription

    def start(context: Any) -> list[Any]:
        actions: list[Any] = []
        for k, robot in enumerate(robots):
            clock = {"publish_clock": "true"} if k == 0 else {"mode": "follow_clock"}
            given = clock | {"frame_prefix": f"{robot['namespace']}/", **robot}
            actions += _started(given.pop("mechanism"), given.pop("namespace"), "", "", given)
        return actions

    return LaunchDescription([OpaqueFunction(function=start)])


def _robot(context: Any, default: str | None) -> list[Any]:
    """The actions of one robot, from the launch arguments."""
    from launch.substitutions import LaunchConfiguration

    def said(name: str) -> str:
        return str(LaunchConfiguration(name).perform(context))

    given = {name: said(name) for name in SETTINGS if name != "mechanism" and said(name) != ""}
    file, namespace = said("params_file"), said("namespace")
    mechanism = said("mechanism") or _in_file(file, namespace).get("mechanism") or default
    if not mechanism:
        raise SettingError("say which mechanism: mechanism:=NAME, or 'mechanism' in params_file")
    namespace = namespace or re.sub(r"\W", "_", Path(mechanism).stem, flags=re.ASCII)
    return _started(mechanism, namespace, file, said("use_sim_time"), given)


def _in_file(file: str, namespace: str) -> dict[str, Any]:
    """What a parameters file says for the node, as ROS reads it."""
    if not file:
        return {}
    if not Path(file).is_file():
        raise SettingError(f"params_file: there is no file '{file}'")
    from .start_node import given_parameters

    return given_parameters(["--ros-args", "-r", f"__ns:=/{namespace}", "--params-file", file])


def _started(mechanism: str, namespace: str, file: str, sim_time: str, given: dict[str, str]) -> list[Any]:
    """The node, and robot_state_publisher, which ends when the node does."""
    from launch.actions import EmitEvent, RegisterEventHandler
    from launch.event_handlers import OnProcessExit
    from launch.events import matches_action
    from launch.events.process import ShutdownProcess
    from launch_ros.actions import Node
    from launch_ros.parameter_descriptions import ParameterValue

    values = {name: _typed(name, text) for name, text in given.items()}
    if sim_time:
        values["use_sim_time"] = sim_time.lower() == "true"
    # Texts would be read as YAML, where '*' is an alias and 'on' is true.
    told = {
        name: ParameterValue(value, value_type=str) if isinstance(value, str) else value
        for name, value in {"mechanism": mechanism, **values}.items()
    }
    node = Node(
        package="cutjoint",
        executable="node",
        name="cutjoint",
        namespace=namespace,
        parameters=[*([file] if file else []), told],
        output="screen",
    )
    publisher = _state_publisher(mechanism, namespace, file, _in_file(file, namespace) | values)
    if publisher is None:
        return [node]
    end = EmitEvent(event=ShutdownProcess(process_matcher=matches_action(publisher)))
    return [node, publisher, RegisterEventHandler(OnProcessExit(target_action=node, on_exit=[end]))]


def _state_publisher(mechanism: str, namespace: str, file: str, values: dict[str, Any]) -> Any:
    """robot_state_publisher for the same mechanism, None where it is not installed."""
    from ament_index_python.packages import PackageNotFoundError, get_package_prefix
    from launch_ros.actions import Node
    from launch_ros.parameter_descriptions import ParameterValue

    try:
        get_package_prefix("robot_state_publisher")
    except PackageNotFoundError:
        return None
    text = urdf(load(mechanism, *(bool(values.get(key)) for key in ("trust", "accept_inertia"))))
    simulated = bool(values.get("publish_clock") or values.get("use_sim_time"))
    return Node(
        package="robot_state_publisher",
        executable="robot_state_publisher",
        namespace=namespace,
        parameters=[
            *([file] if file else []),
            {
                "robot_description": ParameterValue(text, value_type=str),
                "use_sim_time": simulated or values.get("mode") == "follow_clock",
                "frame_prefix": values.get("frame_prefix", ""),
            },
        ],
        # The node publishes the same description on this topic already.
        remappings=[("robot_description", "robot_state_publisher/robot_description")],
    )


def _typed(name: str, text: str) -> Any:
    """A launch argument, which is a text, as the parameter's type; what does not fit the node refuses."""
    default = SETTINGS[name].default
    if isinstance(default, bool):
        return text.lower() == "true" if text.lower() in ("true", "false") else text
    if isinstance(default, int | float):
        try:
            return float(text)
        except ValueError:
            return text
    return text
