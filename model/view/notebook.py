"""What simulations, motions, linear models and reports look like in a notebook: HTML that loads nothing."""

import html
from collections.abc import Callable
from typing import Any

import numpy as np

from ..cartesian.problem import Report
from ..linear.model import LinearModel
from ..run.assembly import AssemblyReport
from ..run.trajectory import Trajectory
from ..show.picture import draw
from ..simulation import Simulation
from ..verify.report import TrustReport
from . import report_parts
from .film import film_page
from .player import frame_names

MOST_ROWS = 30  # of a table in a notebook
MOST_STATES = 12  # of a linear model whose matrices are written out
HIGH = "clamp(440px, 55vw, 520px)"  # of a player
STYLE = """
.cutjoint table { border-collapse: collapse; margin: .3em 0; } .cutjoint .wide { overflow-x: auto; }
.cutjoint td, .cutjoint th { padding: .1em 1em .1em 0; text-align: left; vertical-align: top; }
.cutjoint th { border-bottom: 1px solid #999; font-weight: 600; }
.cutjoint .number { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
.cutjoint img { max-width: min(100%, 44em); height: auto; } .cutjoint figure { margin: .6em 0; }
.cutjoint figcaption { opacity: .7; font-size: 90%; } .cutjoint iframe { width: 100%; border: 0; }
.cutjoint .verdict { padding: .4em .8em; border-left: 4px solid #2e8b57; margin: .4em 0; }
.cutjoint .verdict.bad { border-color: #c0392b; }
"""


def cell_html(item: Any) -> str | None:
    """What a notebook shows of something; None leaves it to its text."""
    for kind, painter in PAINTERS.items():
        if isinstance(item, kind):
            return f"<div class='cutjoint'><style>{STYLE}</style>{painter(item)}</div>"
    return None


def _simulation(simulation: Simulation) -> str:
    mechanism, found = simulation.mechanism, simulation.topology()
    about = html.escape(mechanism.description)
    inputs = zip(simulation.variables().inputs.columns(), simulation.u.tolist(), strict=True)
    facts = [
        ("time", f"{simulation.time:.6g} s"),
        ("energy", f"{simulation.energy():.6g} J"),
        ("bodies, joints", f"{len(found.bodies)}, {len(found.joints)}"),
        ("loops", f"{len(found.cuts)}, closed at {', '.join(found.cuts)}" if found.cuts else "none"),
        ("mobility", found.summary),
        ("inputs", ", ".join(f"{v.name} = {u:.6g} {v.unit}" for v, u in inputs) or "none"),
    ]
    if np.isfinite(distance := simulation.singularity_distance()):
        facts.append(("singularity distance", f"{distance:.4g}"))
    picture = draw(mechanism, simulation.body_poses(), found.cuts)
    return (
        f"<b>{html.escape(mechanism.name)}</b><p>{about}</p>{report_parts.rows(facts)}"
        f"{report_parts.image(picture, f'at {simulation.time:.6g} s')}"
    )


def _trajectory(motion: Trajectory) -> str:
    length = f"{motion.time[0]:.6g} to {motion.time[-1]:.6g} s, {len(motion.time)} records"
    events = "".join(f", {html.escape(name)} at {time:.6g} s" for name, time in motion.events)
    said = report_parts.verdict(motion.judgement) if motion.judgement.judged else ""
    plot = report_parts.plot(motion, "over time")
    return f"<p>{length}{events}</p>{said}{_player(motion)}{plot}{report_parts.ranges(motion, MOST_ROWS)}"


def _player(motion: Trajectory) -> str:
    """The motion itself, in a frame of its own, so that several have room in one notebook."""
    if motion.seen is None or len(motion.seen.states) < 2:
        return ""
    simulation = Simulation(motion.seen.engine)
    names = frame_names(simulation)
    columns = simulation.variables().outputs.columns(names)
    places = np.array([column.where.start for column in columns], int)
    values = []
    for state in motion.seen.states:
        simulation.put(state)
        values.append(simulation.read(places))
    simulation.put(motion.seen.states[0])
    times = np.array([state.time for state in motion.seen.states])
    seen = Trajectory(times, tuple(column.name for column in columns), np.array(values))
    page = html.escape(film_page(simulation, seen, headed=False), quote=True)
    return f'<iframe sandbox="allow-scripts" style="height: {HIGH}" srcdoc="{page}"></iframe>'


def _linear(model: LinearModel) -> str:
    sizes = f"{len(model.states)} states, {len(model.inputs)} inputs, {len(model.outputs)} outputs"
    how = "continuous" if model.step is None else f"sampled every {model.step:g} s"
    settled = "stable" if model.stable() else "not asymptotically stable"
    head = ("eigenvalue", "frequency (Hz)", "damping ratio", "moves most")
    modes = [
        (
            f"{mode.eigenvalue.real:.4g}"
            + (f" ± {mode.eigenvalue.imag:.4g} i" if mode.eigenvalue.imag else ""),
            mode.frequency,
            mode.damping,
            max(mode.shape, key=lambda name: abs(mode.shape[name]), default=""),
        )
        for mode in model.modes()[:MOST_ROWS]
    ]
    text = f"<p>{how}, at {model.time:.6g} s: {sizes}; {settled}</p>{report_parts.grid(head, modes)}"
    if len(model.states) > MOST_STATES:
        return text
    blocks = (
        ("A", model.A, model.states, model.states),
        ("B", model.B, model.states, model.inputs),
        ("C", model.C, model.outputs, model.states),
        ("D", model.D, model.outputs, model.inputs),
    )
    for name, matrix, down, across in blocks:
        if matrix.size:
            lines = [(row, *map(float, line)) for row, line in zip(down, matrix, strict=True)]
            text += f"<details><summary>{name}</summary>{report_parts.grid(('', *across), lines)}</details>"
    return text


def _trust(report: TrustReport) -> str:
    said = "All checks passed." if report.passed else "A check failed: do not trust this motion."
    lines = [(c.name, c.value, c.limit, c.verdict, c.says) for c in report.checks]
    head = ("check", "found", "at most", "verdict", "")
    what = f"{report.mechanism}: {report.time:g} s in steps of {report.step:g} s, {report.stepper}"
    kind = "verdict" if report.passed else "verdict bad"
    return f"<p>{html.escape(what)}</p><div class='{kind}'>{said}</div>{report_parts.grid(head, lines)}"


def _assembly(report: AssemblyReport) -> str:
    facts: list[tuple[str, Any]] = [("iterations", report.iterations), ("residual", f"{report.residual:.2g}")]
    facts += [(f"loop {name}", f"{gap:.2g}") for name, gap in report.loops.items()]
    lines = [(name, q) for name, q in report.coordinates.items()]
    return report_parts.rows(facts) + report_parts.rows(lines[:MOST_ROWS])


PAINTERS: dict[type, Callable[[Any], str]] = {
    Simulation: _simulation,
    Trajectory: _trajectory,
    LinearModel: _linear,
    TrustReport: _trust,
    AssemblyReport: _assembly,
    Report: lambda report: f"<pre>{html.escape(report.text())}</pre>",
}
