"""Paper 000, the worked example: Peng's matrix, the first step, and where either formula leads."""

import argparse
from typing import Any

import numpy as np

from ..model.cartesian.constraints import exact, virtual_rotation
from ..model.joints import euler
from . import Progress, Study, Verdict
from .liu import example
from .liu_newton import newton

ABOUT = "000, Example 1: one Newton step by virtual rotation leaves the rotations; the exact one converges"
START = np.array([0.5, -0.5, -0.5, 0.5])
PRINTED_A0 = np.array([[0.0, 0.0, -1.0], [1.0, 0.0, 0.0], [0.0, -1.0, 0.0]])
PRINTED_MATRIX = np.array(
    [
        [1.0, -1.0, -1.0, 1.0],
        [6.9282, 1.1547, 0.0, -5.7735],
        [-1.7889, -2.6833, -3.5777, -4.4721],
        [2.8284, 1.4142, -2.8284, -4.2426],
    ]
)
PRINTED_STEP = np.array([0.375, -0.625, -0.875, 0.125])
PRINTED_A = np.array([[-0.25, 1.0, -0.8125], [1.1875, 0.5, 0.25], [0.5, -0.6875, -1.0]])
TOLERANCE = 1e-14


def study(args: argparse.Namespace, progress: Progress) -> Study:
    problem = example(1, movable=1)
    matrix = np.roll(
        problem.system(virtual_rotation)(START[None])[1][0], 1, axis=0
    )  # unit length comes first there
    peng = newton(problem.system(virtual_rotation), START[None], TOLERANCE, 1)
    ours = newton(problem.system(exact), START[None], TOLERANCE, 1)
    A = euler.rotation(peng.q[0])
    peng_end = newton(problem.system(virtual_rotation), START[None], TOLERANCE, 100)
    exact_end = newton(problem.system(exact), START[None], TOLERANCE, 100)
    progress(1.0)
    steps = int(exact_end.steps[0])
    verdicts = (
        _digits("A(q0), a rotation", PRINTED_A0, euler.rotation(START), 4),
        _digits("Peng's matrix at the start", PRINTED_MATRIX, matrix, 4),
        _digits("the first iterate q1", PRINTED_STEP, peng.q[0], 4),
        _digits("A(q1), which is no rotation", PRINTED_A, A, 4),
        Verdict(
            "Peng's formula fails to converge from there",
            "fails",
            "converges"
            if peng_end.converged[0]
            else f"fails in 100 iterations, ‖Φ‖ = {peng_end.residual[0]:.3g}",
            not bool(peng_end.converged[0]),
        ),
        Verdict(
            "the exact formula converges in about 10 iterations to 1e-14",
            "about 10",
            f"{steps} steps, ‖Φ‖ = {exact_end.residual[0]:.1g}",
            bool(exact_end.converged[0]) and abs(steps - 10) <= 2,
        ),
    )
    off = np.abs(A @ A.T - np.eye(3)).max()
    text = "\n".join(
        [
            f"Peng's matrix at q0 = {START.tolist()}, rows: unit length, then the three dot-2",
            _show(matrix),
            "\nq1 by Peng's matrix",
            _show(peng.q),
            f"\nA(q1), not a rotation: AAᵀ is off by {off:.3g}",
            _show(A),
            f"\nby the exact matrix q1 differs by {np.abs(ours.q - peng.q).max():.0e}: at a unit start both",
            "have the same tangent; they part at the second step",
            f"\nexact: {steps} steps to ‖Φ‖ = {exact_end.residual[0]:.1g}, q =",
            _show(exact_end.q),
            f"\nPeng's: after {int(peng_end.steps[0])} steps ‖Φ‖ = {peng_end.residual[0]:.3g}, not converged",
        ]
    )
    data: dict[str, Any] = {
        "matrix": matrix.tolist(),
        "q1": peng.q[0].tolist(),
        "A": A.tolist(),
        "steps": steps,
        "solution": exact_end.q[0].tolist(),
        "peng_converges": bool(peng_end.converged[0]),
    }
    return Study("Liu, Song, Yong: Example 1", text, data, verdicts)


def _digits(claim: str, printed: np.ndarray, ours: np.ndarray, digits: int) -> Verdict:
    miss = float(np.abs(np.round(ours, digits) - printed).max())
    return Verdict(claim, f"{digits} digits", f"largest difference {miss:.1g}", miss < 0.5 * 10**-digits)


def _show(m: np.ndarray) -> str:
    return "\n".join("  " + "  ".join(f"{x + 0.0:9.4f}" for x in row) for row in np.atleast_2d(m))
