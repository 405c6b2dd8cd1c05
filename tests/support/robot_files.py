"""One four-bar in every dialect, so that all of them can be compared.

Link lengths 0.3 (crank), 0.7 (coupler), 0.5 (rocker), 0.6 (ground), in the x-z plane, hinges about y. As
drawn at zero coordinates it is open: the crank and the rocker stand upright, and the coupler lies along x.
"""

from __future__ import annotations

CRANK, COUPLER, ROCKER, GROUND = 0.3, 0.7, 0.5, 0.6


def inertial(mass: float, com: str, moments: str) -> str:
    ixx, iyy, izz = moments.split()
    return (
        f'<inertial><origin xyz="{com}"/><mass value="{mass}"/>'
        f'<inertia ixx="{ixx}" iyy="{iyy}" izz="{izz}" ixy="0" ixz="0" iyz="0"/></inertial>'
    )


LINKS = {
    "crank": inertial(0.4, "0 0 0.15", "0.003 0.003 0.0001"),
    "coupler": inertial(0.9, "0.35 0 0", "0.0002 0.04 0.04"),
    "rocker": inertial(0.6, "0 0 0.25", "0.0125 0.0125 0.0002"),
}


def hinge(name: str, parent: str, child: str, xyz: str, more: str = "") -> str:
    return (
        f'<joint name="{name}" type="continuous"><parent link="{parent}"/><child link="{child}"/>'
        f'<origin xyz="{xyz}"/><axis xyz="0 1 0"/>{more}</joint>'
    )


def urdf(more: str = "", links: str = "", inside: str = "") -> str:
    """The tree of the four-bar as URDF, with what closes it."""
    own = "".join(f'<link name="{name}">{text}</link>' for name, text in LINKS.items())
    return (
        f'<?xml version="1.0"?>\n<robot name="fourbar">\n<link name="base"/>{own}{links}'
        + hinge("turn", "base", "crank", "0 0 0", '<dynamics damping="0.01"/>')
        + hinge("knee", "crank", "coupler", f"0 0 {CRANK}")
        + hinge("swing", "base", "rocker", f"{GROUND} 0 0")
        + '<transmission name="t"><joint name="turn"/><actuator name="m"/></transmission>'
        + f"{more}\n</robot>\n"
    )


def frame(name: str, link: str, xyz: str, rpy: str = "0 0 0") -> str:
    """A link without mass, fixed to another."""
    return (
        f'<link name="{name}"/><joint name="{name}_fixed" type="fixed"><parent link="{link}"/>'
        f'<child link="{name}"/><origin xyz="{xyz}" rpy="{rpy}"/></joint>'
    )


TIP, TOP = f"{COUPLER} 0 0", f"0 0 {ROCKER}"
QUARTER = "-1.5707963267948966 0 0"  # turns z to y
FRAMES = frame("end_A", "coupler", TIP) + frame("end_B", "rocker", TOP)
PAIR = "closed_loop: [[end_A, end_B]]\ntype: ['{}']\nname_mot: [turn]\n"

LOOP = (
    f'<loop name="pin" type="revolute"><predecessor link="coupler"><origin xyz="{TIP}"/></predecessor>'
    f'<successor link="rocker"><origin xyz="{TOP}"/></successor><axis xyz="0 1 0"/></loop>'
)

# Dialect -> the URDF, and the YAML beside it.
DIALECTS: dict[str, tuple[str, str]] = {
    "loop": (
        urdf(LOOP),
        "",
    ),
    "loop_joint": (
        urdf(
            f'<loop_joint name="pin" type="revolute"><link1 link="coupler" xyz="{TIP}"/>'
            f'<link2 link="rocker" xyz="{TOP}"/><axis xyz="0 1 0"/></loop_joint>'
        ),
        "",
    ),
    "constraint": (
        urdf(
            '<constraint name="pin" type="revolute">'
            f'<parent link="coupler"/><parent_origin xyz="{TIP}"/><parent_axis xyz="0 1 0"/>'
            f'<child link="rocker"/><child_origin xyz="{TOP}"/><child_axis xyz="0 1 0"/></constraint>'
        ),
        "",
    ),
    "yaml_3d": (urdf(FRAMES), PAIR.format("3d")),
    "drake_ball": (
        urdf(
            '<drake:ball_constraint><drake:ball_constraint_body_A name="coupler"/>'
            '<drake:ball_constraint_body_B name="rocker"/>'
            f'<drake:ball_constraint_p_AP value="{TIP}"/><drake:ball_constraint_p_BQ value="{TOP}"/>'
            "</drake:ball_constraint>"
        ),
        "",
    ),
    "drake_bushing": (
        urdf(
            f'<frame name="A" link="coupler" xyz="{TIP}"/><frame name="C" link="rocker" xyz="{TOP}"/>'
            '<drake:linear_bushing_rpy><drake:bushing_frameA name="A"/><drake:bushing_frameC name="C"/>'
            '<drake:bushing_torque_stiffness value="300 0 300"/><drake:bushing_torque_damping value="1 0 1"/>'
            '<drake:bushing_force_stiffness value="9e3 9e3 9e3"/><drake:bushing_force_damping value="1 1 1"/>'
            "</drake:linear_bushing_rpy>"
        ),
        "",
    ),
    "closing_frames": (
        urdf(
            frame("closing_pin_1", "coupler", TIP, QUARTER) + frame("closing_pin_2", "rocker", TOP, QUARTER)
        ),
        "",
    ),
}
# The rocker drawn where it meets the coupler: dialects that say where the joint is on one link only.
MEETING = (
    urdf()
    .replace(f'<origin xyz="{GROUND} 0 0"/>', f'<origin xyz="{COUPLER} 0 {CRANK - ROCKER}"/>')
    .replace("</robot>", "{}</robot>")
)
DRAWN: dict[str, tuple[str, str]] = {
    "loop": (
        MEETING.format(LOOP),
        "",
    ),
    "gazebo": (
        MEETING.format(
            '<gazebo><joint name="pin" type="revolute"><parent>coupler</parent><child>rocker</child>'
            f"<pose>{TOP} 0 0 0</pose><axis><xyz>0 1 0</xyz></axis></joint></gazebo>"
        ),
        "",
    ),
    "closing_joints": (
        MEETING.format(""),
        "closing_joints:\n- name: pin\n  type: revolute\n  parent: coupler\n  child: rocker\n"
        f"  origin_xyz_m: [{COUPLER}, 0, 0]\n  origin_rpy_rad: [0, 0, 0]\n  axis: [0, 1, 0]\n",
    ),
}

MJCF = """<mujoco model="fourbar"><compiler angle="radian"/><worldbody>
<body name="crank">
  <inertial pos="0 0 0.15" mass="0.4" diaginertia="0.003 0.003 0.0001"/>
  <joint name="turn" axis="0 1 0" damping="0.01"/>
  <body name="coupler" pos="0 0 0.3">
    <inertial pos="0.35 0 0" mass="0.9" diaginertia="0.0002 0.04 0.04"/>
    <joint name="knee" axis="0 1 0"/>
    <site name="tip" pos="0.7 0 0"/><site name="tip2" pos="0.7 0.1 0"/>
  </body>
</body>
<body name="rocker" pos="0.6 0 0">
  <inertial pos="0 0 0.25" mass="0.6" diaginertia="0.0125 0.0125 0.0002"/>
  <joint name="swing" axis="0 1 0"/>
  <site name="top" pos="0 0 0.5"/><site name="top2" pos="0 0.1 0.5"/>
</body></worldbody>
<equality>%s</equality>
<actuator><motor name="m" joint="turn"/></actuator></mujoco>
"""
ONE, TWO = '<connect site1="tip" site2="top"/>', '<connect site1="tip2" site2="top2"/>'

SDF = """<sdf version="1.7"><model name="fourbar"><link name="base"/>
<link name="crank"><inertial><pose>0 0 0.15 0 0 0</pose><mass>0.4</mass>
  <inertia><ixx>0.003</ixx><iyy>0.003</iyy><izz>0.0001</izz></inertia></inertial></link>
<link name="coupler"><pose relative_to="knee_place">0 0 0 0 0 0</pose>
  <inertial><pose>0.35 0 0 0 0 0</pose><mass>0.9</mass>
  <inertia><ixx>0.0002</ixx><iyy>0.04</iyy><izz>0.04</izz></inertia></inertial></link>
<frame name="knee_place" attached_to="crank"><pose>0 0 0.3 0 0 0</pose></frame>
<link name="rocker"><pose>0.7 0 -0.2 0 0 0</pose><inertial><pose>0 0 0.25 0 0 0</pose><mass>0.6</mass>
  <inertia><ixx>0.0125</ixx><iyy>0.0125</iyy><izz>0.0002</izz></inertia></inertial></link>
<joint name="turn" type="revolute"><parent>base</parent><child>crank</child>
  <axis><xyz>0 1 0</xyz><dynamics><damping>0.01</damping></dynamics></axis></joint>
<joint name="knee" type="revolute"><parent>crank</parent><child>coupler</child>
  <axis><xyz>0 1 0</xyz></axis></joint>
<joint name="swing" type="revolute"><parent>base</parent><child>rocker</child>
  <axis><xyz>0 1 0</xyz></axis></joint>
<joint name="pin" type="revolute"><parent>coupler</parent><child>rocker</child>
  <pose>0 0 0.5 0 0 0</pose><axis><xyz>0 1 0</xyz></axis></joint>
</model></sdf>
"""
