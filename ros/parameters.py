"""ROS parameters of the node: its settings, and the mechanism's own parameters under `parameter.`."""

from collections.abc import Mapping
from math import isfinite
from typing import Any

from rcl_interfaces.msg import FloatingPointRange, ParameterDescriptor

from ..model.control.runtime_parameters import FORCE, TORQUE
from ..model.describe.validation import nearest
from ..model.simulation import Simulation
from .settings import SETTINGS, SettingError, Settings

OF_RCLPY = ("use_sim_time", "start_type_description_service", "qos_overrides.")  # parameters of its own
OF_MECHANISM = "parameter."


def declare_parameters(node: Any) -> Settings:
    """Declare all settings on a node that took its overrides as they came; unknown ones are refused."""
    given = node.list_parameters([], 0).names
    known = (*OF_RCLPY, OF_MECHANISM)
    unknown = next((n for n in given if n not in SETTINGS and not n.startswith(known)), None)
    if unknown is not None:
        raise SettingError(f"there is no parameter '{unknown}'; {nearest(unknown, SETTINGS)}")
    raw = {
        name: node.get_parameter(name).value if name in given else s.default for name, s in SETTINGS.items()
    }
    settings = Settings.read(raw)  # before rclpy looks at ranges, which it speaks of in other words
    for name, s in SETTINGS.items():
        about = ParameterDescriptor(description=s.about, dynamic_typing=True, read_only=not s.changeable)
        bounds = getattr(s.check, "bounds", None)
        if bounds is not None:
            about.floating_point_range = [_range(*bounds)]
        _declare(node, name, raw[name], about)
    return settings


def own_overrides(node: Any) -> dict[str, Any]:
    """Values that a node was given for the mechanism's parameters, by their own names."""
    names = [n for n in node.list_parameters([], 0).names if n.startswith(OF_MECHANISM)]
    return {n.removeprefix(OF_MECHANISM): node.get_parameter(n).value for n in names}


def shown_parameters(simulation: Simulation) -> list[Any]:
    """The mechanism's parameters but those of a push, which a topic sets."""
    return [v for v in simulation.variables().parameters if v.name not in (FORCE, TORQUE)]


def declare_own(node: Any, simulation: Simulation) -> None:
    """Declare the mechanism's parameters with the values that they have."""
    p = simulation.p
    for variable in shown_parameters(simulation):
        name, value = f"{OF_MECHANISM}{variable.name}", p[variable.where].tolist()
        about = ParameterDescriptor(description=f"{variable.about}, {variable.unit}", dynamic_typing=True)
        if variable.size == 1 and isfinite(variable.low) and isfinite(variable.high):
            about.floating_point_range = [_range(variable.low, variable.high)]
        _declare(node, name, value[0] if variable.size == 1 else value, about)


def own_values(given: Mapping[str, Any]) -> dict[str, Any]:
    """Of values by ROS name, those of the mechanism by its own names."""
    return {n.removeprefix(OF_MECHANISM): v for n, v in given.items() if n.startswith(OF_MECHANISM)}


def _range(low: float, high: float) -> FloatingPointRange:
    """Messages of C take the memory of a whole number for a double, and Humble refuses it."""
    return FloatingPointRange(from_value=float(low), to_value=float(high))


def _declare(node: Any, name: str, value: Any, about: ParameterDescriptor) -> Any:
    if node.has_parameter(name):
        node.undeclare_parameter(name)
    return node.declare_parameter(name, value, about, ignore_override=True).value
