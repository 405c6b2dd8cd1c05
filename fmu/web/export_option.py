"""`cutjoint export stewart --page stewart.html`: a web page that simulates the mechanism."""

import argparse

from ...model.cli.common import Options, load_mechanism
from ..cli import shared_choices
from .web_export import export_page

EXAMPLE = "cutjoint export stewart --page stewart.html"


def add_arguments(option: Options) -> None:
    text = "write a web page that simulates it, with sliders; and an FMU too if -o is given"
    option("--page", "FILE", text, writes=True)


def before(args: argparse.Namespace) -> tuple[str, str, str] | None:
    """Write the page, if one is wanted."""
    if not args.page:
        return None
    (name,) = args.mechanism
    count = len(export_page(load_mechanism(args, name), args.page, **shared_choices(args)).of("input"))
    sentence = f"wrote {args.page}: open it in a browser, {count} input{'' if count == 1 else 's'}"
    return "page", args.page, sentence
