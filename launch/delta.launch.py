"""ros2 launch cutjoint delta.launch.py [mode:=lock_step] [rate:=500] [gravity:=0.0] ..."""

from cutjoint.ros.launching import describe


def generate_launch_description():
    return describe("delta")
