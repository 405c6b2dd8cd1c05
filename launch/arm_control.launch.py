"""ros2 launch cutjoint arm_control.launch.py [library:=FILE.so] [rate:=500] [gravity:=9.81] ..."""

from cutjoint.ros.control.launching import describe_control


def generate_launch_description():
    return describe_control("arm")
