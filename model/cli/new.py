"""`cutjoint new`: a description to start one's own from."""

import argparse
from pathlib import Path

from ..base.errors import CutjointError
from ..base.files import write_atomically
from ..describe.field_kinds import name as checked_name
from ..describe.template import template
from ..describe.validation import nearest
from ..loading import read
from .common import Options, check_targets

HELP = "Write a description to start your own from: one that ships, with notes and parameters to change."
EXAMPLE = """
cutjoint new my_robot --like hexapod
cutjoint new lift                      # a small four-bar
"""


def add_arguments(option: Options) -> None:
    option("name", "NAME", "what it is to be called: letters, digits and _")
    option(
        "--like",
        "EXAMPLE",
        "the mechanism it starts as, see 'cutjoint list' (default fourbar)",
        default="fourbar",
    )
    option("-o --output", "FILE", "where to write it (default: NAME.yaml)", writes=True)


def run(args: argparse.Namespace) -> int:
    from ..describe.reader import list_examples

    checked_name(args.name, ("name",))
    if args.like not in (known := list_examples()):
        raise CutjointError(f"--like: there is no example '{args.like}'; {nearest(args.like, known)}")
    path = Path(args.output or f"{args.name}.yaml")
    check_targets(str(path))
    if path.exists() and not args.force:
        raise CutjointError(f"'{path}' is there already; choose another name, or add --force to replace it")
    text = template(args.name, args.like, str(path), read)
    with write_atomically(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
    print(f"written: {path}")
    print(
        f"next: cutjoint check {path}; cutjoint show {path} --picture {args.name}.png; cutjoint view {path}"
    )
    return 0
