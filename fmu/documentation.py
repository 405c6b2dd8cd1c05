"""The FMU's documentation page, with a picture of the mechanism, and its icon."""

import tempfile
from html import escape
from pathlib import Path

from ..model.show.picture import save_picture
from .plan import FmuVariable, Plan

STYLE = (
    "body{font:15px sans-serif;max-width:60em;margin:2em auto}td{padding:.1em .8em .1em 0}img{max-width:100%}"
)
KINDS = {
    "input": "Inputs",
    "parameter": "Parameters of the design",
    "start": "Start pose and speeds",
    "output": "Outputs",
    "state": "States of model exchange",
    "linear": "Linear model",
}


def documentation(plan: Plan, fmi: int, picture: bool) -> tuple[dict[str, bytes], str]:
    """Pictures by their path in the FMU, and the text of the page."""
    pictures = {}
    if picture:
        image = drawn_mechanism(plan)
        icon = "model.png" if fmi == 2 else "terminalsAndIcons/icon.png"
        pictures = {"documentation/mechanism.png": image, icon: image}
    return pictures, html(plan, picture)


def drawn_mechanism(plan: Plan) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "mechanism.png")
        cuts = [cut.name for cut in plan.simulation.tree.cuts]
        save_picture(path, plan.mechanism, plan.simulation.body_poses(), cuts)
        return path.read_bytes()


def html(plan: Plan, picture: bool) -> str:
    mechanism = plan.mechanism
    speeds = plan.simulation.variables().speeds.columns()
    order = ", ".join(f"{k + 1} {speed.name}" for k, speed in enumerate(speeds))
    tables = "".join(_table(title, plan.of(kind)) for kind, title in KINDS.items())
    return f"""<!DOCTYPE html>
<html><head><meta charset="utf-8"><title>{escape(mechanism.name)}</title><style>{STYLE}</style></head><body>
<h1>{escape(mechanism.name)}</h1>
<p>{escape(mechanism.description)}</p>
{'<img src="mechanism.png" alt="the mechanism at its start">' if picture else ""}
<p>{plan.freedoms} degrees of freedom, {len(plan.simulation.tree.cuts)} loops. SI units.
Co-simulation steps inside by {plan.step:g} s and projects onto closed loops; inputs are held between
communication points. Model exchange shows independent coordinates and their speeds as states; which ones
may change at a step event, and <code>state.coordinate</code> tells: {escape(order)}. Geometry and start
values may be set until initialization ends; the loops are then closed anew. NaN and infinity are refused.</p>
{tables}
</body></html>
"""


def _table(title: str, variables: list[FmuVariable]) -> str:
    if not variables:
        return ""
    rows = "".join(
        f"<tr><td><code>{escape(v.name)}{escape(str(list(v.shape))) if v.shape else ''}</code></td>"
        f"<td>{escape(v.unit) if v.unit != '1' else ''}</td><td>{escape(v.about)}</td></tr>\n"
        for v in variables
    )
    return f"<h2>{title}</h2>\n<table>{rows}</table>\n"
