"""The browser view, films, reports, notebooks."""

COMMANDS = {
    "view": ("cutjoint.model.view.cli", "move a mechanism in the browser", 80),
}
EXTENDS = {"simulate": "cutjoint.model.view.simulate_outputs"}
PAINTERS = {"notebook": "cutjoint.model.view.notebook"}
