"""A short experiment inside the FMU, and what comes of it: an importer can try itself and the FMU on it.

Laid out as the layered standard FMI-LS-REF 1.0.0-beta.1 asks, in its folder under `extra/`, with a manifest
that says what each file is for; the files are those of the FMI cross-check: inputs, reference results,
options.
"""

from collections.abc import Iterable
from dataclasses import replace
from xml.etree import ElementTree as ET

import numpy as np

from ..model.base.errors import SimulationError
from ..model.base.thresholds import IMPORTER_TRUSTED
from ..model.run.integrate import step_plan
from ..native.c_sources import identifier
from ..native.plan import FmuVariable, Plan
from .xml_common import element, xml_text

NAME, VERSION = "org.fmi-standard.fmi-ls-ref", "1.0.0-beta.1"
ABOUT = "Layered Standard providing information on related files included in an FMU."  # the standard's words
MANIFEST = "http://fmi-standard.org/fmi-ls-manifest"
ROWS, STEPS = 10, 4  # communication steps, and steps inside each
INPUT = 1.0  # N·m or N on every input: whatever is driven moves a little


def reference_files(plan: Plan) -> dict[str, str]:
    """Path in the FMU -> text; nothing where a step is too long for the mechanism."""
    shown = [v for v in plan.of("output") if v.size == 1 and v.differentiable]
    inputs = plan.of("input")
    try:
        table = _motion(plan, [row for v in shown for row in v.rows])
    except SimulationError:
        return {}
    end = ROWS * STEPS * plan.step
    options = {"StartTime": 0.0, "StopTime": end, "StepSize": STEPS * plan.step, "RelTol": IMPORTER_TRUSTED}
    stem = identifier(plan.mechanism.name)
    driven = [[t, *map(_held, inputs)] for t in (0.0, end)]
    files = {
        f"{stem}_in.csv": _csv([v.name for v in inputs], driven),
        f"{stem}_ref.csv": _csv([v.name for v in shown], table),
        f"{stem}_ref.opt": "".join(f"{name}, {value!r}\n" for name, value in options.items()),
    }
    uses = (
        ("text/csv", "experiment/smoke-test", "inputs of a short experiment, constant"),
        ("text/csv", "result", "what comes of it, as the engine has it"),
        ("text/plain", "configuration", "its times, step and tolerance, as the FMI cross-check writes them"),
    )
    files["fmi-ls-manifest.xml"] = _manifest(zip(files, uses, strict=True))
    return {f"extra/{NAME}/{name}": text for name, text in files.items()}


def _held(v: FmuVariable) -> float:
    """What an input is during the experiment: motions stay where they start."""
    return INPUT if v.unit in ("N", "N.m") else v.start[0]


def _motion(plan: Plan, rows: list[int]) -> list[list[float]]:
    """Time and outputs at every communication point, as the engine has them."""
    s = plan.simulation
    start, u = s.state, s.u.copy()
    for v in plan.of("input"):
        u[v.slot - plan.first["input"]] = _held(v)
    try:
        s.put(replace(start, u=u))
        table = []
        for k in range(ROWS + 1):
            table.append([s.time, *s.read(np.array(rows, int)).tolist()])
            for h, end in step_plan(s.time, STEPS * plan.step, plan.step) if k < ROWS else ():
                s.step(h, end)
        return table
    finally:
        s.put(start)


def _csv(names: list[str], rows: Iterable[Iterable[float]]) -> str:
    head = ",".join(f'"{name}"' for name in ("time", *names))
    return "\n".join([head, *(",".join(f"{x:.12g}" for x in row) for row in rows), ""])


def _manifest(uses: Iterable[tuple[str, tuple[str, str, str]]]) -> str:
    what = {"name": NAME, "version": VERSION, "description": ABOUT}
    attributes = {f"fmi-ls:fmi-ls-{key}": value for key, value in what.items()}
    root = ET.Element("fmiReferences", {"xmlns:fmi-ls": MANIFEST} | attributes)
    for source, (type_, role, about) in uses:
        element(root, "Related", type=type_, source=source, role=role, description=about)
    return xml_text(root)
