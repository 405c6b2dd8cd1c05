"""Speed beside other engines."""

COMMANDS = {
    "bench": ("cutjoint.benchmarks.cli", "measure speed beside other engines", 90),
}
