"""What commands robots: computed torque, commands, limits, packets, readings of frames."""
