"""The ros2_control plugin's package: its files and launch descriptions."""
