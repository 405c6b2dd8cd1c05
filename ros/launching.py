"""What the files in `launch` share: a mechanism's node, and robot_state_publisher if it is installed."""

from collections.abc import Sequence
from typing import Any

from ..model import load
from ..model.robots.write_urdf import urdf
from .settings import SETTINGS

NO_FILE = ""


def describe(mechanism: str) -> Any:
    """Launch description of a mechanism; every parameter of its node can be set with `name:=value`.

    What is given so is stronger than a parameters file, which is stronger than the defaults.
    """
    from launch.actions import DeclareLaunchArgument, OpaqueFunction

    from launch import LaunchDescription

    arguments = {name: ("", s.about) for name, s in SETTINGS.items()}
    arguments["mechanism"] = (mechanism, arguments["mechanism"][1])
    arguments["namespace"] = (mechanism, "namespace of all topics")
    arguments["params_file"] = (NO_FILE, "YAML file of parameters for the node")
    arguments["use_sim_time"] = ("", "whether the node takes the time from /clock; as publish_clock if empty")
    declared = [
        DeclareLaunchArgument(name, default_value=value, description=about)
        for name, (value, about) in arguments.items()
    ]
    return LaunchDescription([*declared, OpaqueFunction(function=_robot)])


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


def _robot(context: Any) -> list[Any]:
    """The actions of one robot, from the launch arguments."""
    from launch.substitutions import LaunchConfiguration

    def said(name: str) -> str:
        return str(LaunchConfiguration(name).perform(context))

    given = {name: said(name) for name in SETTINGS if name != "mechanism" and said(name) != ""}
    return _started(said("mechanism"), said("namespace"), said("params_file"), said("use_sim_time"), given)


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
    publisher = _state_publisher(mechanism, namespace, values)
    if publisher is None:
        return [node]
    end = EmitEvent(event=ShutdownProcess(process_matcher=matches_action(publisher)))
    return [node, publisher, RegisterEventHandler(OnProcessExit(target_action=node, on_exit=[end]))]


def _state_publisher(mechanism: str, namespace: str, values: dict[str, Any]) -> Any:
    """robot_state_publisher for the same mechanism, None where it is not installed."""
    from ament_index_python.packages import PackageNotFoundError, get_package_prefix
    from launch_ros.actions import Node
    from launch_ros.parameter_descriptions import ParameterValue

    try:
        get_package_prefix("robot_state_publisher")
    except PackageNotFoundError:
        return None
    simulated = bool(values.get("publish_clock") or values.get("use_sim_time"))
    return Node(
        package="robot_state_publisher",
        executable="robot_state_publisher",
        namespace=namespace,
        parameters=[
            {
                "robot_description": ParameterValue(urdf(load(mechanism)), value_type=str),
                "use_sim_time": simulated or values.get("mode") == "follow_clock",
                "frame_prefix": values.get("frame_prefix", ""),
            }
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
