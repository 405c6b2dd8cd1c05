"""The trust report."""

COMMANDS = {
    "verify": ("cutjoint.model.verify.cli", "check a mechanism and say what to trust", 50),
}
