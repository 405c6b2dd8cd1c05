"""Paper 002, section 12: the 3-leg platform under constant torques (Fig. 11)."""

import argparse
from typing import Any

import numpy as np

from ..model.run.events import Event
from ..model.simulation import Simulation
from . import Progress, Study, Verdict, records
from .methods import MethodSimulation
from .methods.huang import Taylor

ABOUT = "3-leg platform: v_z, when it passes z = 0, rank of the 45 × 45 matrix, reactions"
PRINTED = (0.76, 1.32, 1.72)  # s: "kinematic singularity occurs"
DURATION = 2.0
H = 2e-3  # the paper's step
# Torque of each motor, N·m, and gravity, m/s².
CASES = ((10.0, 0.0), (10.0, 9.81), (30.0, 0.0))
RECORD = ["body.platform.velocity", "height", "singularity.distance", "energy"]


def run(torque: float, gravity: float, stepper: str = "runge_kutta") -> tuple[Simulation, Any]:
    s = MethodSimulation("stewart", gravity=gravity, stepper=stepper)
    s.set_inputs([torque] * 3)
    return s, s.run(DURATION, H, record=RECORD, events=[Event("z = 0", "height")])


def study(args: argparse.Namespace, progress: Progress) -> Study:
    runs = {}
    rows: list[dict[str, Any]] = []
    for k, (torque, gravity) in enumerate(CASES):
        s, t = run(torque, gravity)
        runs[torque, gravity] = t
        rows.append(
            {
                "torque N·m": torque,
                "gravity m/s²": gravity,
                "platform passes z = 0 at s": ", ".join(f"{time:.3f}" for _, time in t.events),
                "smallest σ of G": float(t["singularity.distance"].min()),
            }
        )
        progress(0.15 * (k + 1))
    _, taylor = run(10.0, 0.0, "taylor")
    ours = runs[10.0, 0.0]
    apart = float(np.abs(taylor["height"] - ours["height"]).max())
    progress(0.9)
    s = Simulation("stewart", gravity=0.0)
    s.set_inputs([10.0] * 3)
    s.run(0.5, H, record=["energy"])
    found = Taylor(s).reactions(s.q, s.v, 1e-5)
    printed = np.delete(found.matrix, found.released, axis=0)
    rank, bare = int(np.linalg.matrix_rank(found.matrix)), int(np.linalg.matrix_rank(printed))
    y = s.outputs()
    names = [j.name for j in s.mechanism.joints]
    difference = max(float(np.abs(found.forces[n] - y[f"reaction.{n}.force"]).max()) for n in names)
    size = max(float(np.abs(found.forces[n]).max()) for n in names)
    progress(1.0)
    text = "\n".join(
        [
            f"The platform from its drawn pose at rest, {DURATION:g} s at {H * 1e3:g} ms, our default:",
            records(rows),
            "",
            f"Taylor stepper, 10 N·m, no gravity: {apart:.1e} m apart from ours in height.",
            f"Its matrix: 45 × 45 of rank {rank}; without the rows that release the axes, rank {bare}.",
            f"Reactions after 0.5 s: {difference:.1e} N apart from ours, of {size:.0f} N (step 1e-5 s).",
        ]
    )
    least = min(row["smallest σ of G"] for row in rows)
    verdicts = (*_of_the_motion(runs, least), *_of_the_reactions(rank, bare, difference, size))
    data = {"cases": rows, "taylor_apart": apart, "rank": rank, "rank_as_printed": bare}
    return Study("Huang 2000, 12: 3-leg platform", text, data, verdicts, lambda: _figures(runs, taylor))


def _of_the_motion(runs: dict[tuple[float, float], Any], least: float) -> tuple[Verdict, ...]:
    crossings = [time for _, time in runs[10.0, 0.0].events]
    hard = [time for _, time in runs[30.0, 0.0].events]
    return (
        Verdict(
            "singularities at",
            ", ".join(f"{x} s" for x in PRINTED),
            ", ".join(f"{x:.3f} s" for x in crossings) + " with 10 N·m, no gravity",
            False,
            f"the platform passes z = 0 then; with 30 N·m at {', '.join(f'{x:.3f}' for x in hard)} s",
        ),
        Verdict(
            "the constraints lose rank there",
            "rank deficiency surpassed",
            f"smallest singular value of G never below {least:.2f}",
            False,
            "the motion is regular throughout",
        ),
    )


def _of_the_reactions(rank: int, bare: int, difference: float, size: float) -> tuple[Verdict, ...]:
    return (
        Verdict(
            "a 45 × 45 system gives all reactions",
            "45 × 45",
            f"rank {rank} with two rows and no axial moment per revolute, {bare} as printed",
            False,
            "Eq. 27 has rank 2 for each of the six revolutes",
        ),
        Verdict(
            "corrected, the method gives the joint reactions",
            "yes",
            f"{difference:.1e} N apart from ours, of {size:.0f} N",
            difference < 1e-4 * size,
        ),
    )


def _figures(runs: dict[tuple[float, float], Any], taylor: Any) -> dict[str, Any]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 3.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    for (torque, gravity), t in runs.items():
        label = f"{torque:g} N·m, g = {gravity:g}"
        left.plot(t.time, t["body.platform.velocity[3]"], label=label)
        right.plot(t.time, t["singularity.distance"], label=label)
    left.plot(taylor.time, taylor["body.platform.velocity[3]"], "k:", label="10 N·m, g = 0, Taylor stepper")
    left.set(title="v_z of the platform (Fig. 11)", xlabel="s", ylabel="m/s")
    right.set(title="smallest singular value of G", xlabel="s", ylim=(0, None))
    left.legend(fontsize="small")
    return {"platform": figure}
