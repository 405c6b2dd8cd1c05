"""`cutjoint reproduce`: tables and figures of the five papers, made again."""

import argparse
import importlib
import importlib.util
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..model.base.errors import CutjointError
from ..model.base.files import write_atomically
from ..model.base.marks import check_replaceable
from ..model.cli.common import Options, progress_bar, to_json
from ..model.show.table import table
from . import STUDIES, Study

HELP = "Run a study of the papers and say what reproduces; 'all' runs every one."
EXAMPLE = """
cutjoint reproduce liu-example1
cutjoint reproduce liu-table2 --json
cutjoint reproduce all --figures figures
"""


def add_arguments(option: Options) -> None:
    option("study", choices=[*studies_here(), "all"], text="which study")
    option("--figures", "FOLDER", "write the study's figures there (png)", writes=True)
    option("--seed", type=int, default=0, text="of random starts, where a study has any")
    option("--samples", type=int, default=None, text="random starts a table cell, where it has any")
    option("--progress")
    option("--json")


def studies_here() -> list[str]:
    return [n for n, m in STUDIES.items() if importlib.util.find_spec(f"cutjoint.papers.{m}")]


def run(args: argparse.Namespace) -> int:
    folder = Path(args.figures or ".")
    if folder.exists() and not folder.is_dir():
        raise CutjointError(f"--figures: '{folder}' is a file; give a folder")
    names = studies_here() if args.study == "all" else [args.study]
    collected = {}
    for name in names:
        module = importlib.import_module(f"cutjoint.papers.{STUDIES[name]}")
        with progress_bar(args) as progress:
            found: Study = module.study(args, progress)
        verdicts = [vars(v) for v in found.verdicts]
        collected[name] = {"title": found.title, **found.data, "verdicts": verdicts}
        if not args.json:
            print(f"# {name}: {found.title}\n\n{found.text}\n")
            if verdicts:
                words = {True: "yes", False: "no"}
                rows = [(words[v.reproduces], v.claim, v.paper, v.ours, v.why) for v in found.verdicts]
                print(table(rows, ("reproduces", "claim", "paper", "ours", "why")) + "\n")
        if args.figures:
            from ..model.show.plot import as_png

            drawn = {f"{name}-{of}.png": as_png(figure) for of, figure in found.figures().items()}
            folder.mkdir(parents=True, exist_ok=True)  # not before: who stops the drawing finds nothing
            for file, picture in drawn.items():
                check_replaceable(folder / file, force=args.force)
                with write_atomically(folder / file) as temporary:
                    temporary.write_bytes(picture)
                if not args.json:
                    print(f"figure: {folder / file}")
    if args.json:
        print(to_json(collected if args.study == "all" else collected[args.study]))
    elif args.study == "all":
        print("# all\n\n" + summary({name: study["verdicts"] for name, study in collected.items()}))
    return 0


def summary(verdicts: Mapping[str, Sequence[Mapping[str, Any]]]) -> str:
    """How many claims of each study reproduce, and of all."""
    counts = {name: (sum(v["reproduces"] for v in found), len(found)) for name, found in verdicts.items()}
    good, every = (sum(pair[k] for pair in counts.values()) for k in range(2))
    rows = [(name, f"{a} of {b}") for name, (a, b) in counts.items()]
    counted = table(rows, ("study", "claims that reproduce"))
    return f"{counted}\n\n{good} of {every}; the others say why above."
