"""Mechanisms as ROS 2 nodes; holds no physics."""
