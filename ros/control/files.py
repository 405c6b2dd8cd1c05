"""A mechanism for ros2_control: its URDF with a `<ros2_control>` block, and a file of controllers.

The hardware is the plugin in `ros/control`, which loads the native library that `cutjoint realtime` makes.
Joints of the URDF are joints there; cut ones and cylinders, which a tree does not have, are `gpio`s with the
same interfaces.
"""

from io import SEEK_END, StringIO
from typing import Any
from xml.etree import ElementTree as xml

from ruamel.yaml import YAML

from ...model.control.command_law import driven_values, input_columns
from ...model.control.command_policy import FREQUENCY
from ...model.control.wrench_sensors import wrench_sensor
from ...model.describe.inputs import EFFORT_ROLES
from ...model.describe.mechanism import GROUND, Joint, Mechanism, outer_name
from ...model.equations.single_joints import single_joints, value_names
from ...model.equations.terms import equations
from ...model.urdf.write_urdf import urdf
from ...model.urdf.writer_common import add_element, document

STATES = ("position", "velocity", "effort", "acceleration")
FOLLOWED = ("position", "velocity", "acceleration")  # each needs those before it
ORDERS = dict.fromkeys(EFFORT_ROLES, ("effort", *FOLLOWED)) | {"position": ("position",)}
POSE = (*(f"position.{x}" for x in "xyz"), *(f"orientation.{x}" for x in "xyzw"))
WRENCH = (*(f"force.{x}" for x in "xyz"), *(f"torque.{x}" for x in "xyz"))
PLUGIN = "cutjoint_control/System"
TRAJECTORY, BROADCASTER = "joint_trajectory_controller", "joint_state_broadcaster"


def platform(mechanism: Mechanism) -> str:
    """The body that most joints meet at: what a parallel robot moves; of a chain the last, an arm's tool."""
    meet = {body.name: 0 for body in mechanism.bodies}
    for joint in mechanism.joints:
        for body in (joint.parent, joint.child):
            if body != GROUND:
                meet[body] += 1
    most = max(meet.values(), default=0)
    ends = [name for name, count in meet.items() if count == most]
    if most <= 2:  # a chain, or a single loop: what was described last
        return list(meet)[-1]
    return ends[-1]


def driven_joints(mechanism: Mechanism) -> dict[str, tuple[str, ...]]:
    """Names in the URDF of what inputs drive -> command interfaces."""
    names = value_names(equations(mechanism))
    joints = [part.joint for part in single_joints(equations(mechanism))]
    found: dict[str, tuple[str, ...]] = {}
    for row, at in zip(input_columns(mechanism), driven_values(mechanism, joints), strict=True):
        if at >= 0 and names[at] not in found:  # the first of each motor and cylinder
            found[names[at]] = ORDERS.get(row.role, ())
    return {name: orders for name, orders in found.items() if orders}


def built_with(mechanism: Mechanism, name: str) -> list[str]:
    """Arguments of `cutjoint` that make the library, with the outputs that the sensors show."""
    body = platform(mechanism)
    joints = [joint.name for joint in _around(mechanism)]
    options = [word for what in ("position", "orientation") for word in ("--output", f"body.{body}.{what}")]
    options += [word for joint in joints for word in ("--wrench", joint)]
    return ["realtime", name, "--parameter", "gravity", *options]


def _around(mechanism: Mechanism) -> list[Joint]:
    """The joints of the platform, whose wrenches are shown."""
    body = platform(mechanism)
    return [joint for joint in mechanism.joints if body in (joint.parent, joint.child)]


def control_urdf(mechanism: Mechanism, library: str, **hardware: str) -> str:
    """URDF of the spanning tree with the block that ros2_control reads; `hardware` are more parameters."""
    root = xml.fromstring(urdf(mechanism))
    in_tree = {joint.get("name") for joint in root.findall("joint") if joint.get("type") != "fixed"}
    block = add_element(root, "ros2_control", name=mechanism.name, type="system")
    plugin = add_element(block, "hardware")
    add_element(plugin, "plugin").text = PLUGIN
    given = {
        "library": library,
        "mode": "lock_step",
        "hold": "true",
        "frequency": f"{FREQUENCY:g}",
    } | hardware
    for name, value in given.items():
        add_element(plugin, "param", name=name).text = value
    driven = driven_joints(mechanism)
    for name in value_names(equations(mechanism)):
        part = add_element(block, "joint" if name in in_tree else "gpio", name=name)
        for order in driven.get(name, ()):
            add_element(part, "command_interface", name=order)
        for state in STATES:
            add_element(part, "state_interface", name=state)
    body = platform(mechanism)
    _sensor(block, f"{body}_pose", "body", body, POSE)
    for joint in _around(mechanism):
        _sensor(block, wrench_sensor(joint.name), "joint", joint.name, WRENCH)
    return document(root)


def _sensor(block: xml.Element, name: str, kind: str, of: str, readings: tuple[str, ...]) -> None:
    sensor = add_element(block, "sensor", name=name)
    add_element(sensor, "param", name=kind).text = of
    for reading in readings:
        add_element(sensor, "state_interface", name=reading)


def sensor_broadcasters(mechanism: Mechanism) -> dict[str, tuple[str, dict[str, str]]]:
    """Controllers that publish what the sensors show: name -> type, parameters."""
    body = platform(mechanism)
    of_pose = {"pose_name": f"{body}_pose", "frame_id": GROUND}
    found = {f"{body}_pose_broadcaster": ("pose_broadcaster/PoseBroadcaster", of_pose)}
    for joint in _around(mechanism):
        sensor = wrench_sensor(joint.name)
        child = GROUND if joint.child == GROUND else outer_name(mechanism.body(joint.child))
        kind = "force_torque_sensor_broadcaster/ForceTorqueSensorBroadcaster"
        found[f"{sensor}_broadcaster"] = kind, {"sensor_name": sensor, "frame_id": child}
    return found


def controllers(mechanism: Mechanism, rate: float, namespace: str = "") -> str:
    """A file of parameters: broadcasters, trajectories of positions, and efforts passed on."""
    driven = driven_joints(mechanism)
    followed = [order for order in FOLLOWED if all(order in orders for orders in driven.values())]
    pushed = [name for name, orders in driven.items() if "effort" in orders]
    shown = sensor_broadcasters(mechanism)
    types = {
        BROADCASTER: "joint_state_broadcaster/JointStateBroadcaster",
        TRAJECTORY: "joint_trajectory_controller/JointTrajectoryController",
        "effort_controller": "forward_command_controller/ForwardCommandController",
    } | {name: kind for name, (kind, _) in shown.items()}
    moved = {"joints": list(driven), "command_interfaces": followed}
    managed = {"update_rate": round(rate)} | {name: {"type": kind} for name, kind in types.items()}
    parameters: dict[str, dict[str, Any]] = {
        "controller_manager": managed,
        BROADCASTER: {"use_urdf_to_filter": False},
        TRAJECTORY: moved | {"state_interfaces": ["position", "velocity"]},
        "effort_controller": {"joints": pushed, "interface_name": "effort"},
        **{name: given for name, (_, given) in shown.items()},
    }
    at = f"/{namespace.strip('/')}/" if namespace.strip("/") else ""
    text = StringIO(f"# Controllers of '{mechanism.name}' for ros2_control.\n")
    text.seek(0, SEEK_END)
    yaml = YAML()
    yaml.indent(sequence=4, offset=2)
    yaml.dump({at + name: {"ros__parameters": given} for name, given in parameters.items()}, text)
    return text.getvalue()
