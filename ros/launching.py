"""What the files in `launch` share: a mechanism's node, and robot_state_publisher if it is installed."""

from __future__ import annotations

from typing import Any

from ..model import load
from ..model.robots.write_urdf import urdf
from .settings import BY_NAME

# Launch arguments that are parameters of the node under the same name.
ARGUMENTS = (
    "mechanism",
    "mode",
    "rate",
    "step",
    "gravity",
    "start",
    "command_timeout",
    "joint_state_rate",
    "marker_rate",
    "publish_clock",
    "realtime_priority",
    "udp",
)


def describe(mechanism: str) -> Any:
    """Launch description of a mechanism; every argument can be set with `name:=value`."""
    from launch.actions import DeclareLaunchArgument, OpaqueFunction
    from launch.substitutions import LaunchConfiguration
    from launch_ros.actions import Node
    from launch_ros.parameter_descriptions import ParameterValue

    from launch import LaunchDescription

    declared = [
        DeclareLaunchArgument(
            name,
            default_value=mechanism if name == "mechanism" else _text(BY_NAME[name].default),
            description=BY_NAME[name].about,
        )
        for name in ARGUMENTS
    ]
    declared.append(
        DeclareLaunchArgument("namespace", default_value=mechanism, description="namespace of all topics")
    )
    parameters = {
        name: ParameterValue(LaunchConfiguration(name), value_type=type(BY_NAME[name].default))
        for name in ARGUMENTS
    }
    node = Node(
        package="cutjoint",
        executable="node",
        name="cutjoint",
        namespace=LaunchConfiguration("namespace"),
        parameters=[parameters],
        output="screen",
    )
    return LaunchDescription([*declared, node, OpaqueFunction(function=_state_publisher)])


def _state_publisher(context: Any) -> list[Any]:
    """robot_state_publisher for the same mechanism, nothing where it is not installed."""
    from ament_index_python.packages import PackageNotFoundError, get_package_prefix
    from launch.substitutions import LaunchConfiguration
    from launch_ros.actions import Node
    from launch_ros.parameter_descriptions import ParameterValue

    try:
        get_package_prefix("robot_state_publisher")
    except PackageNotFoundError:
        return []
    text = urdf(load(LaunchConfiguration("mechanism").perform(context)))
    simulated = LaunchConfiguration("publish_clock").perform(context).lower() == "true"
    return [
        Node(
            package="robot_state_publisher",
            executable="robot_state_publisher",
            namespace=LaunchConfiguration("namespace"),
            parameters=[
                {"robot_description": ParameterValue(text, value_type=str), "use_sim_time": simulated}
            ],
            # The node publishes the same description on this topic already.
            remappings=[("robot_description", "robot_state_publisher/robot_description")],
        )
    ]


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
