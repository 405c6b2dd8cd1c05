"""ros2 launch cutjoint two_robots.launch.py: two platforms and an arm in one world, with one clock."""

from cutjoint.ros.launching import describe_world

ROBOTS = [
    {"mechanism": "stewart", "namespace": "left", "placed_at": "0 0 0"},
    {"mechanism": "stewart", "namespace": "right", "placed_at": "2 0 0"},
    {"mechanism": "arm", "namespace": "arm", "placed_at": "1 1.5 0 0 0 -1.5707963267948966"},
]


def generate_launch_description():
    return describe_world(ROBOTS)
