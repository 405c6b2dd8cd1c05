"""What the files in `launch` share: a mechanism's node, and robot_state_publisher if it is installed."""

from typing import Any

from ..model import load
from ..model.robots.write_urdf import urdf
from .settings import SETTINGS


def describe(mechanism: str) -> Any:
    """Launch description of a mechanism; every parameter of its node can be set with `name:=value`."""
    from launch.actions import DeclareLaunchArgument, OpaqueFunction
    from launch.substitutions import LaunchConfiguration
    from launch_ros.actions import Node
    from launch_ros.parameter_descriptions import ParameterValue

    from launch import LaunchDescription

    arguments = {name: (_text(s.default), s.about) for name, s in SETTINGS.items()}
    arguments["mechanism"] = (mechanism, arguments["mechanism"][1])
    arguments["namespace"] = (mechanism, "namespace of all topics")
    declared = [
        DeclareLaunchArgument(name, default_value=value, description=about)
        for name, (value, about) in arguments.items()
    ]
    parameters = {
        name: ParameterValue(LaunchConfiguration(name), value_type=type(s.default))
        for name, s in SETTINGS.items()
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
