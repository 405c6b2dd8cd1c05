"""Tables and figures of the five papers, made again: one module a study.

A module holds `ABOUT` (one line) and `study(args, progress) -> Study`, with `args.seed` and
`args.samples` for random starts. `STUDIES` names them all; `cutjoint reproduce` runs them.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..model.show.table import table

Progress = Callable[[float], None]  # called with the fraction done

# Name on the command line -> module in this package.
STUDIES = {
    "liu-example1": "liu_example1",
    "liu-table2": "liu_table2",
    "tasora-joints": "tasora_joints",
    "spencer-fivebar": "spencer_fivebar",
    "spencer-linear": "spencer_linear",
    "huang-pendulum": "huang_pendulum",
    "huang-stewart": "huang_stewart",
    "zou-slider-crank": "zou_slider_crank",
    "zou-mcpherson": "zou_mcpherson",
    "benchmarks": "benchmarks",
}


@dataclass(frozen=True)
class Verdict:
    """One claim of a paper against what we find."""

    claim: str
    paper: str  # what is printed there
    ours: str  # what comes out here
    reproduces: bool
    why: str = ""  # where it does not, or with which settings it does


@dataclass(frozen=True)
class Study:
    """What a reproduction found: text for people, data for machines, figures by file name."""

    title: str
    text: str
    data: dict[str, Any]
    verdicts: tuple[Verdict, ...] = ()
    figures: Callable[[], dict[str, Any]] = dict  # draws them when asked: name -> matplotlib Figure


def records(rows: Sequence[Mapping[str, Any]]) -> str:
    """A table of rows that have the same keys."""
    return table([list(row.values()) for row in rows], list(rows[0]))
