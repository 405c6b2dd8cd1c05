"""Paper 000, Table 2: how often and how fast Newton's method converges with either derivative.

Settings the paper does not state, found by reproducing it: stop at ‖Φ‖₂ < 1e-10 with the row of
unit length, at most 100 iterations, count steps plus one; LU with the pseudo-inverse where a matrix
can't be inverted. The box is [0, 1]⁴ for Example 1 and [−1, 1]⁴ elsewhere. The "hyper sphere" is ZYX
Euler angles, each uniform on (0, 2π), which is not uniform on the sphere. The rows "Exam. 3" and
"Exam. 4" are swapped against Table 1. Body 2 moves where the table does not say.
"""

import argparse
import os
from concurrent.futures import ThreadPoolExecutor
from math import sqrt
from typing import Any, NamedTuple

import numpy as np

from ..model.base.errors import CutjointError
from ..model.cartesian.constraints import exact, virtual_rotation
from ..model.joints import euler
from ..model.show.table import table
from . import Progress, Study, Verdict
from .liu import example
from .liu_newton import newton

ABOUT = "000, Table 2: convergence of Newton's method with the exact and with Peng's derivative"
PAPER_STARTS = 10_000
TOLERANCE, MOST = 1e-10, 100
FORMULAS = {"Proposed": exact, "Peng's": virtual_rotation}
WITHIN = 3.0  # standard errors


class Cell(NamedTuple):
    """One row of the printed table, and the example of Table 1 that it is."""

    experiment: str
    region: str
    formula: str
    converged: int
    iterations: float
    number: int
    movable: int


def _cells() -> list[Cell]:
    printed = {
        ("Exam. 1, body 2 movable", 1, 2): ((10000, 9.43), (9919, 23.38), (10000, 10.65), (9824, 27.19)),
        ("Exam. 1, body 1 movable", 1, 1): ((3439, 10.98), (30, 12.77), (2666, 10.07), (238, 10.83)),
        ("Exam. 2", 2, 2): ((8120, 8.92), (651, 58.74), (6446, 7.42), (1252, 62.76)),
        ("Exam. 3", 4, 2): ((1592, 8.88), (1681, 13.65), (1311, 8.49), (1531, 13.63)),
        ("Exam. 4", 3, 2): ((8250, 8.42), (7748, 10.94), (8547, 8.43), (8082, 10.99)),
    }
    kinds = [(region, formula) for region in ("hyper box", "hyper sphere") for formula in FORMULAS]
    return [
        Cell(name, region, formula, *values, number, movable)
        for (name, number, movable), four in printed.items()
        for (region, formula), values in zip(kinds, four, strict=True)
    ]


CELLS = _cells()


def starts(cell: Cell, count: int, seed: int) -> np.ndarray:
    """Initial Euler parameters, (count, 4); the same for both formulas."""
    random = np.random.default_rng([seed, cell.number, cell.movable, len(cell.region)])
    if cell.region == "hyper box":
        return random.uniform(0.0 if cell.number == 1 else -1.0, 1.0, (count, 4))
    half = random.uniform(0, np.pi, (3, count))
    turns = np.zeros((3, count, 4))
    turns[:, :, 0] = np.cos(half)
    for k, axis in enumerate((3, 2, 1)):  # z, then y, then x
        turns[k, :, axis] = np.sin(half[k])
    return euler.multiply(turns[0], euler.multiply(turns[1], turns[2]))


def converging(cell: Cell, count: int, seed: int, singular: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """Which starts converge, and the iterations of those."""
    system = example(cell.number, cell.movable).system(FORMULAS[cell.formula])
    outcome = newton(system, starts(cell, count, seed), TOLERANCE, MOST, singular)
    return outcome.converged, outcome.steps[outcome.converged] + 1


def run_cell(cell: Cell, count: int, seed: int) -> dict[str, Any]:
    """Our figures for one row, with the standard errors of the difference from the paper's."""
    done, iterations = converging(cell, count, seed)
    found = int(done.sum())
    share = (found / count + cell.converged / PAPER_STARTS) / 2
    share_error = sqrt(share * (1 - share) * (1 / count + 1 / PAPER_STARTS))
    mean = float(iterations.mean()) if found else None
    error = float(iterations.std()) * sqrt(1 / found + 1 / cell.converged) if found else None
    same_share = abs(found / count - cell.converged / PAPER_STARTS) <= WITHIN * share_error
    # the printed mean is rounded to two digits
    same_mean = mean is not None and abs(mean - cell.iterations) <= WITHIN * (error or 0.0) + 0.005
    row = {
        "experiment": cell.experiment,
        "region": cell.region,
        "formula": cell.formula,
        "starts": count,
        "converged_paper": cell.converged,
        "converged": found,
        "converged_error": share_error * count,
        "iterations_paper": cell.iterations,
        "iterations": mean,
        "iterations_error": error,
        "reproduces": bool(same_share and same_mean),
        "why": WHY_NOT if cell.number == 2 else "",
    }
    if cell.number == 2:
        row["pseudo_inverse"] = by_pseudo_inverse(cell, max(1, count // 10), seed)
    return row


WHY_NOT = (
    "P1 = 0 makes the first distance hold at every orientation, so J has rank 3 everywhere and the result "
    "hangs on when a solver calls it invertible"
)
SINGULAR = 1e-10  # of the second run of Example 2


def by_pseudo_inverse(cell: Cell, count: int, seed: int) -> dict[str, Any]:
    """Example 2 with the pseudo-inverse wherever the rank is lost: share that converges, and how fast."""
    done, iterations = converging(cell, count, seed, SINGULAR)
    mean = float(iterations.mean()) if done.any() else None
    return {"converged_share": float(done.mean()), "iterations": mean, "starts": count}


def study(args: argparse.Namespace, progress: Progress) -> Study:
    count, seed = PAPER_STARTS if args.samples is None else args.samples, args.seed
    if count < 1:
        raise CutjointError(f"--samples must be 1 or more, not {count}")
    rows: list[dict[str, Any]] = []
    # NumPy lets go of the interpreter inside its loops, so threads use both cores.
    with ThreadPoolExecutor(min(4, os.cpu_count() or 1)) as pool:
        for k, row in enumerate(pool.map(lambda cell: run_cell(cell, count, seed), CELLS)):
            rows.append(row)
            progress((k + 1) / len(CELLS))
    good = sum(row["reproduces"] for row in rows)
    verdicts = tuple(
        Verdict(
            f"{row['experiment']}, {row['region']}, {row['formula']}",
            f"{row['converged_paper']} converge in {row['iterations_paper']:.2f}",
            f"{row['converged']} converge in {_number(row['iterations'])}",
            row["reproduces"],
            row["why"],
        )
        for row in rows
    )
    text = "\n".join(
        [
            _table(rows),
            "",
            f"{good} of {len(rows)} rows agree within {WITHIN:g} standard errors (±) of the difference.",
            f"Example 2 does not: {WHY_NOT}.",
            f"There, with the pseudo-inverse wherever the rank is lost: {_pseudo(rows)}.",
            'The rows "Exam. 3" and "Exam. 4" are examples 4 and 3 of Table 1: the paper swapped them.',
        ]
    )
    data = {"starts": count, "seed": seed, "rows": rows, "reproduced": good}
    return Study("Liu, Song, Yong: Table 2", text, data, verdicts)


def _pseudo(rows: list[dict[str, Any]]) -> str:
    parts = []
    for row in rows:
        if "pseudo_inverse" in row:
            share = row["pseudo_inverse"]["converged_share"]
            iterations = _number(row["pseudo_inverse"]["iterations"])
            parts.append(f"{row['region']}, {row['formula']} {share:.0%} in {iterations}")
    return "; ".join(parts)


def _table(rows: list[dict[str, Any]]) -> str:
    header = ["experiment", "region", "formula", "paper", "ours", "±", "paper steps", "ours", "±", "same"]
    lines = []
    for row in rows:
        words = [row["experiment"], row["region"], row["formula"]]
        converged = [row["converged_paper"], row["converged"], f"{row['converged_error']:.0f}"]
        names = ("iterations_paper", "iterations", "iterations_error")
        same = "yes" if row["reproduces"] else "no"
        lines.append([*words, *converged, *(_number(row[name]) for name in names), same])
    return table(lines, header)


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"
