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

from ... import native
from ...model.base.files import check_writable, write_atomically
from ...model.describe.mechanism import Mechanism
from ...model.loading import load
from ...model.show.measures import drive_range
from ...model.view.player import STYLE, data, frame_names, scene, script
from ...native.c_compile import PAGE, compile_for, compilers
from ...native.c_sources import c_files, fit_sources, generate_c
from ...native.functions import functions
from ...native.plan import Plan
from ...native.variable_layout import plan

STEPPED = ("core.c", "values.c", "samples.c", "linear.c", "svd.c")  # of the core: a page only steps and draws
DRAWN = (
    *("cj_outputs", "cj_jacobian", "cj_allowed", "cj_open_loops", "cj_inputs_after"),
    *("cj_sample_values", "cj_upcoming", "cj_project_to_motion"),
)
SPEEDS = ("0.05", "0.1", "0.25", "0.5", "1")
# Whatever the names in a description hold: nothing is fetched, and no other code runs.
POLICY = "default-src 'none'; script-src 'unsafe-inline' 'wasm-unsafe-eval'; style-src 'unsafe-inline'"


def export_page(mechanism: Mechanism | str, path: str | os.PathLike[str], **choices: Any) -> Plan:
    """Write a web page that simulates a mechanism in the browser.

    Parameters
    ----------
    mechanism : Mechanism, or the name of an example, or the path of a description.
    path : the file to write, usually ending in `.html`.
    choices : `step`, `stepper`, `substeps` and `inputs`, as of `export`.
    """
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


def page_sources(plan: Plan) -> tuple[dict[str, str], list[str]]:
    """The same for a web page, and which of the files are compiled; the linker drops what refers to more."""
    groups = functions(plan, adjoint=False)
    written = c_files(native.__name__, *STEPPED, "core.h")
    written["page.c"] = (files(__package__) / "page.c").read_text("utf-8")
    texts = fit_sources(plan, written, groups, 2)
    texts["step.c"] = generate_c("step.c", groups["step.c"])
    texts["kernels.c"] = generate_c("kernels.c", [f for f in groups["kernels.c"] if f.name() in DRAWN])
    return texts, [name for name in texts if name.endswith(".c")]


def _sliders(plan: Plan, size: float, start: Mapping[str, float]) -> str:
    rows = []
    slots = {slot: v for v in plan.of("input", "hidden") for slot in range(v.slot, v.where.stop)}
    for (slot, v), name in zip(slots.items(), plan.mechanism.inputs(), strict=True):
        if v.kind == "hidden":
            continue
        value, unit = start.get(name, v.start[slot - v.slot]), escape(v.unit.replace(".", "·"))
        low, high = drive_range(plan.mechanism, slot - plan.first["input"], size, value)
        rows.append(
            f"<label><span>{escape(name)}</span><input type='range' min='{low:g}' max='{high:g}' "
            f"step='{(high - low) / 400:g}' value='{value:g}' data-unit='{unit}' "
            f"data-input='{slot - plan.first['input']}'><output></output></label>"
        )
    return "".join(rows)
