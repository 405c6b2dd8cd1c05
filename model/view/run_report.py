"""One run as a file to hand over: pictures, motion, plots, energy, residuals, reactions, settings, verdict.

The page holds everything it shows and loads nothing. All texts in it are escaped.
"""

import html
import platform
from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import version
from typing import Any

import numpy as np

from ..run.trajectory import Trajectory
from ..show.picture import draw
from ..show.plot import draw_plot
from ..show.sketch import Angle
from ..simulation import Simulation
from . import player, report_parts
from .film import film, poses_of

MOST_FORCES = 6  # joints whose reactions are drawn; the table has all

STYLE = """
h2 { margin-top: 2rem; border-bottom: 1px solid #ddd; }
.wide { overflow-x: auto; } table { border-collapse: collapse; }
td, th { padding: .15rem 1.2rem .15rem 0; vertical-align: top; text-align: left; }
td:last-child { overflow-wrap: anywhere; } td:first-child { white-space: nowrap; }
th { color: #666; font-weight: 600; border-bottom: 1px solid #ddd; }
td.number, th.number { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
img { max-width: 100%; height: auto; } figure { margin: 1rem 0; } figcaption { color: #666; font-size: 90%; }
.pair { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 22rem), 1fr)); gap: 1rem; }
.verdict { padding: .6rem .9rem; border-left: 5px solid #2e8b57; background: #eef8f1; }
.verdict.bad { border-color: #c0392b; background: #fdeeec; }
@media print { canvas, .controls { display: none; } figure { break-inside: avoid; } }
"""


def report_names(simulation: Simulation) -> list[str]:
    """The outputs that a report needs beside those that were asked for."""
    known = simulation.variables().outputs.named
    reactions = [name for name in known if name.startswith("reaction.")]
    inputs = [f"input.{name}" for name in simulation.inputs]
    return [*player.frame_names(simulation), *reactions, *inputs, "loop.residual", "singularity.distance"]


def run_report(
    simulation: Simulation,
    motion: Trajectory,
    chosen: Trajectory,
    settings: Mapping[str, Any],
    summary: Sequence[tuple[str, str]],
    warnings: Iterable[str] = (),
    angle: Angle | None = None,
) -> str:
    """The page. `motion` has the outputs of `report_names`, `chosen` those the user wants, in his units."""
    name = html.escape(simulation.mechanism.name)
    about = html.escape(simulation.mechanism.description)
    page = [
        f"<h1>{name}</h1><p>{about}</p>",
        report_parts.verdict(motion.judgement)
        + "".join(f"<p class='note'>{html.escape(text)}</p>" for text in warnings),
        f"<h2>Run</h2>{report_parts.rows(summary)}",
        f"<h2>Motion</h2>{_pictures(simulation, motion, angle)}{film(simulation, motion, angle)}",
        f"<h2>Outputs</h2>{report_parts.plot(chosen, 'outputs over time')}{report_parts.ranges(chosen)}",
        f"<h2>Inputs</h2>{_inputs(simulation, motion)}",
        f"<h2>Energy</h2>{_energy(motion)}",
        f"<h2>Loops</h2>{_loops(motion)}",
        f"<h2>Reactions</h2>{_reactions(simulation, motion)}",
        f"<h2>Settings</h2>{report_parts.rows([*settings.items(), *_versions()])}",
    ]
    return (
        "<!doctype html><html lang='en'><head><meta charset='utf-8'>"
        "<meta name='viewport' content='width=device-width, initial-scale=1'>"
        f"<title>{name}: a run</title><style>{player.STYLE}{STYLE}</style></head><body>"
        + "".join(page)
        + "</body></html>\n"
    )


def _versions() -> list[tuple[str, str]]:
    return [("cutjoint", version("cutjoint")), *_machine()]


def _machine() -> list[tuple[str, str]]:
    return [("Python", f"{platform.python_version()}, {platform.system()} {platform.machine()}")]


def _pictures(simulation: Simulation, motion: Trajectory, angle: Angle | None) -> str:
    cuts = simulation.tree.cut_names
    both = []
    for k, when in ((0, "at the start"), (-1, "at the end")):
        figure = draw(simulation.mechanism, poses_of(simulation.mechanism, motion, k), cuts, angle)
        both.append(report_parts.image(figure, f"{when}, {motion.time[k]:.6g} s"))
    return f"<div class='pair'>{''.join(both)}</div>"


def _inputs(simulation: Simulation, motion: Trajectory) -> str:
    if not simulation.inputs:
        return "<p>None.</p>"
    cut = [(x.name, x.unit, most, x.high if most > x.high else x.low) for x, most in motion.cut_off]
    head = ("cut off at its limit", "unit", "asked for at most", "given at most")
    plot = report_parts.plot(motion.part([f"input.{name}" for name in simulation.inputs]), "inputs over time")
    return plot + (report_parts.grid(head, cut) if cut else "")


def _energy(motion: Trajectory) -> str:
    if motion.energies is None:
        return "<p>Not recorded.</p>"
    kinetic, potential, work = motion.energies.T
    lost = kinetic + potential - work
    columns = {
        "energies.kinetic.since start": kinetic - kinetic[0],
        "energies.potential.since start": potential - potential[0],
        "energies.work.since start": work - work[0],
        "imbalance": lost - lost[0],
    }
    about = (
        "what kinetic energy, potential energy and work have changed by; below, what is left of their "
        "balance. Work is what motors and loads put in, less what dampers took."
    )
    return report_parts.image(draw_plot(motion.time, columns, "", dict.fromkeys(columns, "J")), about)


def _loops(motion: Trajectory) -> str:
    columns = {"loop.residual": motion["loop.residual"]}
    distance = motion["singularity.distance"]
    if not np.isfinite(distance).all():
        return "<p>None.</p>"
    columns["singularity.distance"] = distance
    about = "what is left of closure (m or rad), and the smallest singular value, zero at a singularity"
    return report_parts.image(draw_plot(motion.time, columns, "", {}), about)


def _reactions(simulation: Simulation, motion: Trajectory) -> str:
    rows = []
    for joint in simulation.mechanism.joints:
        name = f"reaction.{joint.name}"
        if f"{name}.force[1]" in motion.names:
            force, moment = (np.linalg.norm(motion[f"{name}.{x}"], axis=1) for x in ("force", "moment"))
            k, m = int(force.argmax()), int(moment.argmax())
            rows.append((joint.name, force[k], motion.time[k], moment[m], motion.time[m], force))
    if not rows:
        return "<p>None.</p>"
    largest = sorted(rows, key=lambda row: -row[1])[:MOST_FORCES]
    columns = {f"reaction.{row[0]}.force": row[-1] for row in largest}
    plot = draw_plot(motion.time, columns, "", dict.fromkeys(columns, "N"))
    head = ("joint", "largest force (N)", "at (s)", "largest moment (N·m)", "at (s)")
    about = "size of the largest reaction forces over time"
    return report_parts.image(plot, about) + report_parts.grid(head, [row[:-1] for row in rows])
