"""`cutjoint schema`: a JSON Schema of descriptions, for editors."""

import argparse

from ..base.files import write_atomically
from ..describe.schema import schema
from .common import Options, check_targets, to_json

HELP = "Write the JSON Schema of descriptions: editors complete and check with it while one types."
EXAMPLE = """
cutjoint schema -o cutjoint.schema.json
# in VS Code, with the YAML extension, begin a description with:
# yaml-language-server: $schema=cutjoint.schema.json
"""


def add_arguments(option: Options) -> None:
    option("-o --output", "FILE", "where to write it (default: print it)", writes=True)


def run(args: argparse.Namespace) -> int:
    check_targets(args.output)
    text = to_json(schema())
    if args.output:
        with write_atomically(args.output) as temporary:
            temporary.write_text(text + "\n", encoding="utf-8")
        print(f"written: {args.output}")
    else:
        print(text)
    return 0
