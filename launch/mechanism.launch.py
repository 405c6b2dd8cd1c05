"""ros2 launch cutjoint arm.launch.py [mode:=lock_step] [rate:=500] [params_file:=my.yaml] ..."""

from cutjoint.ros.launching import describe


def generate_launch_description():
    return describe("arm")
