"""The native loop for hardware in the loop."""
