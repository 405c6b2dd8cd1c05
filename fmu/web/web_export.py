"""A mechanism as a web page that simulates it: one file, no server, nothing loaded from elsewhere.

The page runs the step and the outputs of the FMU, compiled from the same C to WebAssembly, and draws them
with the player of `model/show`. Inputs are on sliders.
"""

import os
from base64 import b64encode
from collections.abc import Mapping
from html import escape
from importlib.resources import files
from typing import Any

from ..model.describe.mechanism import Mechanism
from ..model.files import check_writable, write_atomically
from ..model.loading import load
from ..model.show.measures import most_drive, whole_weight
from ..model.show.player import STYLE, data, frame_names, scene, script
from .c_compile import PAGE, compile_for, compilers
from .c_sources import page_sources
from .plan import Plan, plan

SPEEDS = ("0.05", "0.1", "0.25", "0.5", "1")
# Whatever the names in a description hold: nothing is fetched, and no other code runs.
POLICY = "default-src 'none'; script-src 'unsafe-inline' 'wasm-unsafe-eval'; style-src 'unsafe-inline'"


def export_page(mechanism: Mechanism | str, path: str | os.PathLike[str], **choices: Any) -> Plan:
    """Write a page that simulates a mechanism; choices are `step`, `stepper`, `substeps` and `inputs`."""
    check_writable(path)
    compilers(PAGE)  # before long work: is there a compiler?
    planned = plan_page(mechanism, **choices)
    with write_atomically(path) as temporary:
        temporary.write_text(page(planned, live(planned)), encoding="utf-8")
    return planned


def page(plan: Plan, part: str) -> str:
    """The whole page around the part that simulates."""
    name, about = escape(plan.mechanism.name), escape(plan.mechanism.description)
    return (
        "<!doctype html><html lang='en'><head><meta charset='utf-8'>"
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        "<meta name='viewport' content='width=device-width, initial-scale=1'>"
        f"<title>{name}</title><style>{STYLE}</style></head><body>"
        f"<h1>{name}</h1><p>{about}</p>{part}</body></html>\n"
    )


def plan_page(mechanism: Mechanism | str, **choices: Any) -> Plan:
    """What the page holds: the outputs that its picture needs."""
    described = load(mechanism) if isinstance(mechanism, str) else mechanism
    outputs = ["body.*.position", "body.*.orientation", "reaction.*.force"]
    return plan(described, outputs=outputs, **choices)


def live(plan: Plan, start: Mapping[str, float] | None = None) -> str:
    """The part of a page that simulates; `start` are values of inputs by their names."""
    code = compile_for(PAGE, *page_sources(plan))
    shown = [v for v in plan.of("output") if v.differentiable]
    places = {v.name: v.slot - plan.first["output"] for v in shown}
    drawn = scene(plan.simulation, {name: places[name] for name in frame_names(plan.simulation)})
    content = {
        "scene": drawn,
        "step": plan.step,
        "readings": sum(v.size for v in shown),
        "code": b64encode(code).decode(),
    }
    options = "".join(f"<option{' selected' if s == '1' else ''}>{s}</option>" for s in SPEEDS)
    text = (files(__package__) / "live.js").read_text("utf-8")
    return (
        "<canvas id='motion'></canvas><p id='says' class='says'></p><div class='controls'>"
        "<button id='play'>Play</button><button id='reset'>Reset</button>"
        f"<label>speed <select id='speed'>{options}</select> × real time</label>"
        "<label><input id='arrows' type='checkbox' checked> reactions</label></div>"
        f"<div class='drives'>{_sliders(plan, drawn['size'], start or {})}</div>"
        f"{data('live', content)}<script>{script()}{text}</script>"
    )


def _sliders(plan: Plan, size: float, start: Mapping[str, float]) -> str:
    rows = []
    slots = {slot: v for v in plan.of("input", "hidden") for slot in range(v.slot, v.where.stop)}
    for (slot, v), name in zip(slots.items(), plan.mechanism.inputs(), strict=True):
        if v.kind == "hidden":
            continue
        value, unit = start.get(name, v.start[slot - v.slot]), escape(v.unit.replace(".", "·"))
        most = most_drive(v, whole_weight(plan.mechanism), size, value)
        rows.append(
            f"<label><span>{escape(name)}</span><input type='range' min='{-most:g}' max='{most:g}' "
            f"step='{most / 200:g}' value='{value:g}' data-unit='{unit}' "
            f"data-input='{slot - plan.first['input']}'><output></output></label>"
        )
    return "".join(rows)
