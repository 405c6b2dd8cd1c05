"""How subcommands declare their arguments: common ones by name, others as rows of name, value and text."""

from typing import Any

MANY: dict[str, Any] = {"nargs": "+", "action": "extend", "default": []}
# What several subcommands take, and how it is told.
COMMON: dict[str, dict[str, Any]] = {
    "mechanism": {"metavar": "MECHANISM", "help": "name of an example, or a description file"},
    "--torque": {**MANY, "metavar": "NAME=VALUE"},
    "--gravity": {
        "metavar": "G",
        "help": "gravity in m/s² instead of the description's: a number for -z, or X,Y,Z",
    },
    "--no-compile": {"action": "store_true", "help": "do not use a C compiler"},
    "--progress": {"action": "store_true", "help": "show progress even if this is no terminal"},
    "--json": {"action": "store_true", "help": "print JSON for another program"},
}


class Options:
    """Declares the arguments of a subcommand: common ones by name, flags by a text, others by a value too."""

    def __init__(self, parser: Any):
        self.parser = parser

    def __call__(self, names: str, value: str = "", text: str = "", **how: Any) -> None:
        known = COMMON.get(names, {} if value or how else {"action": "store_true"})
        given = {key: x for key, x in (("metavar", value), ("help", text)) if x}
        self.parser.add_argument(*names.split(), **(known | how | given))
