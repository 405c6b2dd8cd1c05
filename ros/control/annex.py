"""The ros2_control plugin."""

EXTENDS = {"node": "cutjoint.ros.control.node_option"}
