"""The papers' studies and formulations."""

COMMANDS = {
    "reproduce": ("cutjoint.papers.cli", "tables and figures of the papers", 91),
}
EXTENDS = {"simulate": "cutjoint.papers.methods.simulate_methods"}
