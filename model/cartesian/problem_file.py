"""Assembly problems as YAML: `bodies` with their poses, and `constraints` between them.

    name: lid
    bodies:
      box: {move: none}
      lid: {position: [0, 0, 0.2], orientation: [1, 0, 0, 0]}
    constraints:
      hinge: {type: coincident, body1: box, body2: lid, point1: [0, 0, 0.1], point2: [0, 0, 0]}
      open: {type: angle, body1: box, body2: lid, vector1: x, vector2: x, angle: 30 deg}

Points and vectors are in the axes of their own body, metres; `ground` is always there. `move` is
all, turn (about the origin) or none.
"""

import dataclasses
import os
from math import pi
from pathlib import Path
from typing import Any

from ..base.units import kind
from ..describe.field_kinds import Choice, Direction, Reference, Word
from ..describe.fields import ONE, POSITIVE, Around, Quantity
from ..describe.mapping_reader import Entries
from ..describe.mechanism import GROUND
from ..describe.validation import Flaw, nearest
from ..describe.yaml_text import build_from_text, text_of
from .constraints import Angle, Coincident, Constraint, Distance, Dot1, Dot2
from .problem import Part, Problem

CONSTRAINTS = {made.__name__.lower(): made for made in (Dot1, Dot2, Angle, Distance, Coincident)}
POINT = Quantity("a point", "m", 3)
_FLAT = 1e-4  # radians: an angle this near to 0 or π has hardly a gradient


def load_problem(path: str | os.PathLike[str]) -> Problem:
    """The assembly problem in the YAML file `path`."""
    return read_problem(text_of(Path(path)), os.fspath(path))


def read_problem(text: str, file: str = "problem") -> Problem:
    """The assembly problem in `text`; messages name `file` and the line."""
    return build_from_text(text, file, lambda values: _problem(values, Path(file).stem))


def _problem(values: Any, stem: str) -> Problem:
    top = Entries(values, (), ("name", "description", "bodies", "constraints"))
    top.need("bodies", "constraints")
    parts = tuple(_part(name, entry) for name, entry in top.names("bodies").items())
    known = {GROUND, *(part.name for part in parts)}
    constraints = {name: _constraint(name, entry, known) for name, entry in top.names("constraints").items()}
    return Problem(top.read("name", Word("its name"), stem), parts, constraints)


def _part(name: str, entry: Any) -> Part:
    fields = Entries(entry, ("bodies", name), ("position", "orientation", "move"))
    e = fields.read("orientation", Quantity("how it is turned", "1", 4), Part.orientation)
    if not any(e):
        raise fields.flaw("orientation", "must be four Euler parameters (w, x, y, z), not all zero")
    move = fields.read("move", Choice("how it may move", ("all", "turn", "none")), "all")
    return Part(name, fields.read("position", POINT, Part.position), e, move)


def _constraint(name: str, entry: Any, known: set[str]) -> Constraint:
    place = ("constraints", name)
    if not isinstance(entry, dict) or entry.get("type") is None:
        raise Flaw((*place, "type"), "the field 'type' is missing")
    if str(entry["type"]) not in CONSTRAINTS:
        hint = nearest(str(entry["type"]), CONSTRAINTS)
        raise Flaw((*place, "type"), f"there is no type {kind(entry['type'])}; {hint}")
    made = CONSTRAINTS[entry["type"]]
    own = [field.name for field in dataclasses.fields(made)][2:]
    around = Around({"body": dict.fromkeys(known)}, in_file=True)
    fields = Entries(entry, place, ("type", "body1", "body2", *own), around)
    fields.need("body1", "body2", *own)
    body1, body2 = (fields.read(key, Reference("what it is on", "body")) for key in ("body1", "body2"))
    if body1 == body2:
        raise fields.flaw("body2", "must be another body than body1")
    return made(body1, body2, *(_value(fields, key) for key in own))


def _value(fields: Entries, key: str) -> Any:
    if key.startswith("vector"):
        return fields.read(key, Direction("a direction"))
    if key == "angle":
        angle = fields.read(key, Quantity("between the vectors", "rad"))
        if min(abs(angle) % pi, pi - abs(angle) % pi) < _FLAT:
            raise fields.flaw(key, "of 0 or 180 deg has no gradient; make the vectors parallel by two dot1")
        return angle
    if key == "distance":
        advice = "for zero use type: coincident"
        return fields.read(key, Quantity("between the points", "m", ONE, POSITIVE, advice=advice))
    return fields.read(key, POINT)
