"""A mechanism for ros2_control: its URDF with a `<ros2_control>` block, and a file of controllers.

The hardware is the plugin in `ros/control`, which loads the native library that `cutjoint realtime` makes.
Joints of the URDF are joints there; cut ones and cylinders, which a tree does not have, are `gpio`s with the
same interfaces.
"""

from xml.etree import ElementTree as xml

from ..model import Mechanism
from ..model.describe.mechanism import GROUND
from ..model.describe.motors import FORCE, signals
from ..model.equations.single_joints import single_joints, value_names
from ..model.equations.terms import equations
from ..model.robots.outgoing import document, put
from ..model.robots.write_urdf import urdf

STATES = ("position", "velocity", "effort", "acceleration")
FOLLOWED = ("position", "velocity", "acceleration")  # each needs those before it
ORDERS = {"torque": ("effort", *FOLLOWED), "position": ("position",)}
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
    found = {}
    for motor in mechanism.motors:
        orders = ORDERS.get(signals(motor)[0].what, ())
        if orders:
            found[names[joints.index(motor.joint)]] = orders
    cylinders = [strut for strut in mechanism.struts if strut.actuated]
    for name, strut in zip(names[len(joints) :], cylinders, strict=True):
        what = signals(strut)[0].what
        orders = ORDERS.get("torque" if what == FORCE else what, ())
        if orders:
            found[name] = orders
    return found


def built_with(mechanism: Mechanism, name: str) -> list[str]:
    """Arguments of `cutjoint` that make the library, with the outputs that the sensors show."""
    body = platform(mechanism)
    joints = [j.name for j in mechanism.joints if body in (j.parent, j.child)]
    outputs = [f"body.{body}.position", f"body.{body}.orientation"]
    outputs += [f"reaction.{joint}.{what}" for joint in joints for what in ("force", "moment")]
    options = [word for output in outputs for word in ("--output", output)]
    return ["realtime", name, "--parameter", "gravity", *options]


def control_urdf(mechanism: Mechanism, library: str, **hardware: str) -> str:
    """URDF of the spanning tree with the block that ros2_control reads; `hardware` are more parameters."""
    root = xml.fromstring(urdf(mechanism))
    in_tree = {joint.get("name") for joint in root.findall("joint") if joint.get("type") != "fixed"}
    block = put(root, "ros2_control", name=mechanism.name, type="system")
    plugin = put(block, "hardware")
    put(plugin, "plugin").text = PLUGIN
    given = {"library": library, "mode": "lock_step", "hold": "true", "frequency": "20"} | hardware
    for name, value in given.items():
        put(plugin, "param", name=name).text = value
    driven = driven_joints(mechanism)
    for name in value_names(equations(mechanism)):
        part = put(block, "joint" if name in in_tree else "gpio", name=name)
        for order in driven.get(name, ()):
            put(part, "command_interface", name=order)
        for state in STATES:
            put(part, "state_interface", name=state)
    body = platform(mechanism)
    _sensor(block, f"{body}_pose", "body", body, POSE)
    for joint in mechanism.joints:
        if body in (joint.parent, joint.child):
            _sensor(block, f"{joint.name}_wrench", "joint", joint.name, WRENCH)
    return document(root)


def _sensor(block: xml.Element, name: str, kind: str, of: str, readings: tuple[str, ...]) -> None:
    sensor = put(block, "sensor", name=name)
    put(sensor, "param", name=kind).text = of
    for reading in readings:
        put(sensor, "state_interface", name=reading)


def controllers(mechanism: Mechanism, rate: float) -> str:
    """A file of parameters: broadcaster, trajectories of positions, and efforts passed on."""
    driven = driven_joints(mechanism)
    names = "".join(f"\n      - {_quoted(name)}" for name in driven)
    followed = [order for order in FOLLOWED if all(order in orders for orders in driven.values())]
    told = "".join(f"\n      - {order}" for order in followed)
    pushed = "".join(f"\n      - {_quoted(name)}" for name, orders in driven.items() if "effort" in orders)
    text = f"""# Controllers of '{mechanism.name}' for ros2_control.
controller_manager:
  ros__parameters:
    update_rate: {rate:g}
    {BROADCASTER}:
      type: joint_state_broadcaster/JointStateBroadcaster
    {TRAJECTORY}:
      type: joint_trajectory_controller/JointTrajectoryController
    effort_controller:
      type: forward_command_controller/ForwardCommandController

{BROADCASTER}:
  ros__parameters:
    use_urdf_to_filter: false

{TRAJECTORY}:
  ros__parameters:
    joints:{names or " []"}
    command_interfaces:{told}
    state_interfaces:
      - position
      - velocity

effort_controller:
  ros__parameters:
    joints:{pushed or " []"}
    interface_name: effort
"""
    return text


def _quoted(name: str) -> str:
    """A name as YAML takes it, whatever it holds."""
    return "'" + name.replace("'", "''") + "'"
