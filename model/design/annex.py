"""Design changes and sensitivities."""

COMMANDS = {
    "propagate": ("cutjoint.model.design.cli", "carry a design change through the loops", 51),
}
