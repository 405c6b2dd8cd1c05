"""What `cutjoint simulate` writes to watch and to read: animations and reports."""

import argparse

from ..base.errors import CutjointError
from ..base.files import write_atomically
from ..cli.common import Options, check_targets, progress_bar, read_view
from ..cli.simulate import FinishedRun
from ..simulation import Simulation

EXAMPLE = """
cutjoint simulate stewart --torque all=10 --animate stewart.gif
cutjoint simulate stewart --torque all=10 --unit deg mm --report run.html
"""


def add_arguments(option: Options) -> None:
    option("--animate", "FILE", "write the motion to watch (gif, mp4 or html)", writes=True)
    option("--report", "FILE", "write a page on the run with all there is (html)", writes=True)
    option("--view")


def check(args: argparse.Namespace) -> None:
    """Refuse files that can't be written before the work starts."""
    read_view(args.view)
    check_targets(args.animate, args.report)
    if args.animate:
        from .film import check_film

        check_film(args.animate)
    if args.report and not args.report.lower().endswith((".html", ".htm")):
        raise CutjointError(f"can't write a report to '{args.report}': the name must end in .html")


def record(args: argparse.Namespace, simulation: Simulation) -> list[str]:
    """Outputs that are recorded beside those asked for."""
    if args.report:
        from .run_report import report_names

        return report_names(simulation)
    if args.animate:
        from .player import frame_names

        return frame_names(simulation)
    return []


def write(run: FinishedRun) -> dict[str, str | None]:
    """Write what was asked for; what it is -> its file."""
    args, angle = run.args, read_view(run.args.view)
    if args.animate:
        from .film import save_film

        with progress_bar(args) as progress:
            save_film(args.animate, run.simulation, run.motion, angle, progress)
    if args.report:
        from .run_report import run_report

        text = run_report(
            run.simulation, run.motion, run.chosen, run.settings, run.summary, run.warnings, angle
        )
        with write_atomically(args.report) as temporary:
            temporary.write_text(text, encoding="utf-8")
    return {"animation": args.animate, "report": args.report}
