"""ros2 launch cutjoint mechanism.launch.py mechanism:=hexapod [mode:=lock_step] [params_file:=my.yaml] ..."""

from cutjoint.ros.launching import describe


def generate_launch_description():
    return describe()
