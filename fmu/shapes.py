"""Shapes of the bodies for viewers: Wavefront OBJ files in `resources/`, and a table of what moves them."""

import json

import numpy as np

from ..model.urdf.solids import body_solid
from ..model.urdf.surfaces import Triangles, surfaces
from ..native.c_sources import identifier
from ..native.plan import Plan

FOLDER = "resources/shapes"


def shape_files(plan: Plan) -> dict[str, str]:
    """Path in the FMU -> text. As described, or else as the browser draws it; metres in the body's frame."""
    table, files = {}, {}
    found, _ = surfaces(plan.mechanism)
    for body in plan.mechanism.bodies:
        file = f"{identifier(body.name)}.obj"
        files[f"{FOLDER}/{file}"] = _obj(
            body.name,
            [x for visual, x in found if visual.body == body.name] or [body_solid(plan.mechanism, body.name)],
        )
        pose = {what: f"body.{body.name}.{what}" for what in ("position", "orientation")}
        table[body.name] = {"file": file, **pose}
    return files | {f"{FOLDER}/shapes.json": json.dumps({"unit": "m", "bodies": table}, indent=1) + "\n"}


def _obj(name: str, solids: list[Triangles]) -> str:
    """Faces with corners of their own share those that are the same."""
    places: dict[tuple[str, ...], int] = {}
    lines = []
    for vertices, faces in solids:
        corners = [tuple(f"{x + 0.0:.6g}" for x in vertex) for vertex in np.round(vertices, 9).tolist()]
        at = [places.setdefault(corner, len(places) + 1) for corner in corners]
        lines += [f"f {' '.join(str(at[k]) for k in face)}" for face in faces.tolist()]
    return "\n".join([f"o {identifier(name)}", *(f"v {' '.join(corner)}" for corner in places), *lines, ""])
