"""`cutjoint list`: the mechanisms that come with the package."""

import argparse

from ..describe.reader import list_examples
from ..show.table import table
from .common import Options, to_json

HELP = "List the mechanisms that come with cutjoint, each with a line on what it is."
EXAMPLE = "cutjoint list"


def add_arguments(option: Options) -> None:
    option("--json")


def run(args: argparse.Namespace) -> int:
    examples = list_examples()
    print(to_json(examples) if args.json else table(examples.items(), indent=""))
    return 0
