"""`cutjoint check`: all that is wrong with a description, and what looks odd."""

import argparse
from pathlib import Path
from typing import Any

from ..base import annexes
from ..base.errors import AssemblyError, CutjointError
from ..describe.all_errors import Finding, Findings, find_problems
from ..describe.plausibility import implausible
from ..describe.reader import source_of
from ..loading import check_names
from ..run.mobility import freedom_summary
from .common import Options, load_mechanism, to_json
from .main import NOT_ASSEMBLED, USAGE

HELP = "Say all that is wrong with a description, not the first thing only, and what looks odd in it."
EXAMPLE = """
cutjoint check crank.yaml
cutjoint check stewart --json
"""


def add_arguments(option: Options) -> None:
    option("mechanism")
    option("--json")


def run(args: argparse.Namespace) -> int:
    if annexes.reader(Path(args.mechanism)):
        name, findings = args.mechanism, Findings((), load_mechanism(args), True)
    else:
        text, name = source_of(args.mechanism)
        findings = find_problems(text, name, check_names)
    found: dict[str, Any] = {
        "file": name,
        "problems": [p._asdict() for p in findings.problems],
        "complete": findings.complete,
        "odd": [],
    }
    code = USAGE if findings.problems else 0
    if findings.mechanism is not None and not findings.problems:
        found["odd"] = implausible(findings.mechanism)
        try:
            found |= _movement(findings.mechanism)
        except AssemblyError as error:
            found["problems"], code = [Finding(None, str(error))._asdict()], NOT_ASSEMBLED
        except CutjointError as error:
            found["problems"], code = [Finding(None, str(error))._asdict()], USAGE
    print(to_json(found) if args.json else page(found))
    return code


def _movement(mechanism: Any) -> dict[str, Any]:
    """How it can move, once its loops are closed."""
    from ..simulation import Simulation

    found = Simulation(mechanism, compile=False).topology()
    odd = [] if found.freedoms else ["nothing can move: its joints leave no degree of freedom"]
    return {"mobility": found.freedoms, "driven": found.driven, "loops": len(found.cuts), "still": odd}


def page(found: dict[str, Any]) -> str:
    """The findings as a page for people."""
    lines = []
    for problem in found["problems"]:
        where = f", line {problem['line']}" if problem["line"] is not None else ""
        lines.append(f"{found['file']}{where}: {problem['sentence']}")
    lines += [f"{found['file']}: odd: {sentence}" for sentence in (*found["odd"], *found.get("still", ()))]
    count = len(found["problems"])
    if count:
        more = "" if found["complete"] else "; more may show once these are mended"
        lines.append(f"{count} problem{'s' * (count > 1)}{more}")
    else:
        loops = f"{found['loops']} loop{'s' * (found['loops'] != 1)} closed" if found["loops"] else "no loops"
        odd = len(found["odd"]) + len(found["still"])
        told = f", {odd} thing{'s' * (odd > 1)} that look{'s' * (odd == 1)} odd" if odd else ""
        moves = freedom_summary(found["mobility"], found["driven"])
        lines.append(f"{found['file']}: no problems, {loops}, mobility {moves}{told}")
    return "\n".join(lines)
