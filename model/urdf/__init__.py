"""A mechanism as URDF, and the shapes of its bodies."""
