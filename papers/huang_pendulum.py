"""Paper 002, sections 2 and 11: the double pendulum, and what becomes of the matrix at a singularity."""

import argparse
from dataclasses import replace
from math import pi
from typing import Any

import numpy as np

from ..model.describe.mechanism import Mechanism
from ..model.loading import load
from ..model.manifold.rank import rank_of
from ..model.simulation import Simulation
from . import Progress, Study, Verdict, records
from .methods import MethodSimulation
from .methods.huang import Taylor

ABOUT = "double pendulum by the Taylor stepper: order, reactions, and its matrix at a singularity"
DURATION = 1.0
STEPS = (8e-3, 4e-3, 2e-3, 1e-3)
SINGULAR = {"q1": pi, "q2": 0.0, "q3": pi, "q4": 0.0}


def solid(mechanism: Mechanism) -> Mechanism:
    """Bars with some inertia about their own axis, which the method needs and a plane motion ignores."""
    bodies = tuple(replace(b, inertia=(0.01, *b.inertia[1:])) for b in mechanism.bodies)
    return replace(mechanism, bodies=bodies)


def planar_determinant(theta1: float, theta2: float) -> float:
    """Determinant of ∂f/∂Q over Δt⁸ (Eqs. 37 to 40, corrected) in slugs and feet: m = J = 1, d = 2.

    It is (½)⁴ det(Φq M⁻¹Φqᵀ) for the two pins, angles counterclockwise from +x.
    """
    c1, s1, c2, s2 = np.cos(theta1), np.sin(theta1), np.cos(theta2), np.sin(theta2)
    # pin 1: r1 − d u1 = 0; pin 2: r1 + d u1 − (r2 − d u2) = 0
    Phi = np.array(
        [
            [1, 0, 2 * s1, 0, 0, 0],
            [0, 1, -2 * c1, 0, 0, 0],
            [1, 0, -2 * s1, -1, 0, -2 * s2],
            [0, 1, 2 * c1, 0, -1, 2 * c2],
        ]
    )
    return float(np.linalg.det(0.5 * Phi @ Phi.T))


def stepper_values(simulation: Simulation) -> np.ndarray:
    """Singular values of the stepper's matrix over the largest."""
    values = np.linalg.svd(
        Taylor(simulation).reactions(simulation.q, simulation.v, 1e-3).matrix, compute_uv=False
    )
    return np.asarray(values / values[0])


def study(args: argparse.Namespace, progress: Progress) -> Study:
    pendulum = solid(load("double_pendulum"))
    exact = Simulation(pendulum)
    exact.run(DURATION, DURATION, method="variable", tolerance=1e-12, record=["energy"])
    rows: list[dict[str, Any]] = []
    motions = {}
    for k, h in enumerate(STEPS):
        s = MethodSimulation(pendulum, stepper="taylor")
        motions[h] = s.run(DURATION, h, record=["joint.pin1.position", "joint.pin2.position", "energy"])
        rows.append(
            {
                "step s": h,
                "angle error rad": float(np.abs(s.q - exact.q).max()),
                "speed error rad/s": float(np.abs(s.v - exact.v).max()),
                "energy drift J": float(np.abs(motions[h]["energy"] - motions[h]["energy"][0]).max()),
            }
        )
        progress(0.8 * (k + 1) / len(STEPS))
    errors = np.array([row["angle error rad"] for row in rows])
    order = float(np.log2(errors[-2] / errors[-1]))
    # Reactions at the end of the reference motion, by the method and by our engine.
    y = exact.outputs()
    found = Taylor(exact).reactions(exact.q, exact.v, 1e-5)
    apart = max(float(np.abs(found.forces[n] - y[f"reaction.{n}.force"]).max()) for n in ("pin1", "pin2"))
    size = max(float(np.abs(found.forces[n]).max()) for n in ("pin1", "pin2"))
    inline_value = stepper_values(Simulation(pendulum)).min()
    determinants = [planar_determinant(0.3, 0.3), planar_determinant(0.3, 0.3 + pi / 2)]
    # The paper's claim in general: the matrix stays regular where Φq is not. The five-bar refutes it.
    five = solid(load("fivebar"))
    regular = stepper_values(Simulation(five))
    place = rank_of(regular) - 1
    away, at = regular[place], stepper_values(Simulation(five, start=SINGULAR))[place]
    progress(1.0)
    text = "\n".join(
        [
            f"Double pendulum from level rest, {DURATION:g} s, Taylor stepper against a tight reference:",
            records(rows),
            f"  order from the last two: {order:.3f}",
            "",
            f"Reactions at the end: {apart:.1e} N apart from ours, of {size:.0f} N (step 1e-5 s).",
            f"det(∂f/∂Q)/Δt⁸ with bars in line {determinants[0]:.6g} (41/16 = {41 / 16:.6g}), "
            f"across {determinants[1]:.6g}: in line is no singularity of the constraints.",
            f"Five-bar: smallest singular value of the matrix over its largest {away:.1e} at a regular pose, "
            f"{at:.1e} at (π, 0, π, 0).",
        ]
    )
    verdicts = _verdicts(determinants[0], inline_value, order, away, at)
    data = {"steps": rows, "order": order, "reactions_apart": apart, "regular": away, "singular": at}
    return Study("Huang 2000, 11: double pendulum", text, data, verdicts, lambda: _figures(motions))


def _verdicts(
    determinant: float, inline_value: float, order: float, away: float, at: float
) -> tuple[Verdict, ...]:
    """What the paper says beside what was found."""
    return (
        Verdict(
            "det of the matrix at θ1 = θ2",
            "9/2 Δt²",
            f"{determinant:.4f} Δt⁸",
            False,
            "a 4 × 4 matrix of Δt²/2 times numbers can't have Δt²; 41/16 with the signs put right",
        ),
        Verdict(
            "θ1 = θ2 is a kinematic singularity",
            "yes",
            f"smallest singular value {inline_value:.2g} of the largest there",
            False,
            "an open chain's pins are independent at every pose",
        ),
        Verdict(
            "the matrix is regular where Φq is singular",
            "yes",
            f"{at:.1e} at the five-bar's singular pose, {away:.1e} elsewhere",
            at > 1e-9,
            "for pins and balls it is (Δt²/2) Φq M⁻¹Φqᵀ, so it has the rank of Φq",
        ),
        Verdict(
            "error of the method",
            "O(Δt²) of the expansion",
            f"global order {order:.2f}",
            False,
            "speeds take one Euler step each time; the expansion's order is local",
        ),
    )


def _figures(motions: dict[float, Any]) -> dict[str, Any]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 3.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    for h, t in motions.items():
        left.plot(t.time, t["joint.pin1.position"] + t["joint.pin2.position"], label=f"{h * 1e3:g} ms")
        right.plot(t.time, t["energy"] - t["energy"][0], label=f"{h * 1e3:g} ms")
    left.set(title="angle of link 2 (Fig. 9)", xlabel="s", ylabel="rad")
    right.set(title="change of energy", xlabel="s", ylabel="J")
    left.legend(title="step")
    return {"link2": figure}
