"""The closed chain as a library: forward and inverse kinematics, Jacobians, transmissions of any frame."""
