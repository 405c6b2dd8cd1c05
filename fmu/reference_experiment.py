"""A short experiment inside the FMU, and what comes of it: an importer can try itself and the FMU on it.

Laid out as FMI 3.0 asks of layered standards, in a folder of its own under `extra/`, with a manifest; the
files are those of the FMI cross-check: inputs, reference results, options.
"""

from collections.abc import Iterable
from dataclasses import replace
from xml.etree import ElementTree as ET

import numpy as np

from ..model.errors import SimulationError
from ..model.run.integrate import step_plan
from ..model.thresholds import IMPORTER_TRUSTED
from .plan import FmuVariable, Plan
from .xml_common import identifier, xml_text

NAME = "org.cutjoint.reference"
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
    stem = f"extra/{NAME}/{identifier(plan.mechanism.name)}"
    driven = [[t, *map(_held, inputs)] for t in (0.0, end)]
    return {
        f"extra/{NAME}/fmi-ls-manifest.xml": _manifest(),
        f"{stem}_in.csv": _csv([v.name for v in inputs], driven),
        f"{stem}_ref.csv": _csv([v.name for v in shown], table),
        f"{stem}_ref.opt": "".join(f"{name}, {value!r}\n" for name, value in options.items()),
    }


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


def _manifest() -> str:
    about = "A short experiment and its results, as files of the FMI cross-check"
    what = {"name": NAME, "version": "1.0.0", "description": about}
    attributes = {f"fmi-ls:fmi-ls-{key}": value for key, value in what.items()}
    return xml_text(ET.Element("fmi-ls:fmiLayeredStandardManifest", {"xmlns:fmi-ls": MANIFEST} | attributes))
