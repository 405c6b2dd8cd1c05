"""`cutjoint assemble` of parts under geometric constraints instead of joints: docs/cartesian.md."""

import argparse
import re
from pathlib import Path

from ..base.errors import CutjointError
from ..base.untrusted import read_bytes
from ..cli.common import Options, to_json
from ..describe.yaml_text import LARGEST_FILE

EXAMPLE = "cutjoint assemble parts.yaml   # an assembly problem: bodies and constraints, docs/cartesian.md"


def add_arguments(option: Options) -> None:
    """None of its own."""


def instead(args: argparse.Namespace) -> int | None:
    """Solve it, if the file holds an assembly problem: `cutjoint assemble parts.yaml`."""
    if not _holds_parts(args.mechanism):
        return None
    from .problem_file import load_problem

    if args.set or args.output:
        raise CutjointError("--set and --output are for mechanisms; this file holds an assembly problem")
    problem = load_problem(args.mechanism)
    report = problem.solve()
    found = {"problem": problem.name, **vars(report)}
    print(to_json(found) if args.json else f"{problem.name}: {report.text()}")
    return 0


def _holds_parts(source: str) -> bool:
    """Whether this is the file of an assembly problem: it has `constraints` at its top level."""
    path = Path(source)
    if not path.is_file():
        return False
    return re.search(rb"^constraints\s*:", read_bytes(path, LARGEST_FILE), re.M) is not None
