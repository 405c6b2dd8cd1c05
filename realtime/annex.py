"""The native loop."""

COMMANDS = {
    "realtime": ("cutjoint.realtime.cli", "make a native loop for hardware in the loop", 61),
}
