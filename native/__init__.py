"""The C core that FMU, native loop and plugin share, and how it is generated and compiled."""
