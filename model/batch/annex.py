"""Many mechanisms at once."""

COMMANDS = {
    "sweep": ("cutjoint.model.batch.cli", "many runs with different numbers, a row each", 52),
}
