"""A mechanism moving in a web page: what the drawing code (`player.js`) must know of it, and how it looks.

The code is one for recorded motions and for mechanisms that are simulated in the page. It reads a frame,
whose column y holds the readings that `frame_names` lists; `scene` tells where in y they are and all that
never changes. Names come into a page as data or escaped, never as code.
"""

import json
from collections.abc import Mapping
from importlib.resources import files
from math import asin
from typing import Any

import numpy as np

from ..describe.mechanism import GROUND
from ..describe.visuals import Visual
from ..joints.types import TYPES
from ..show.measures import LONGEST, REACH, whole_weight
from ..show.picture import MOTOR, families_of
from ..show.sketch import Angle, at, body_points, choose_view, family
from ..simulation import Simulation
from ..urdf.shapes import corners, rods, ties
from ..urdf.surfaces import outline, surfaces

GROUND_COLOUR, ROD, ARROW = "#bbbbbb", "#6e6e6e", "#dc3c8c"
MARGIN = 1.05  # times the reach of the mechanism at its start

STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; color: #222; max-width: 960px; margin: 0 auto; padding: 1.5rem; }
h1 { margin: 0; overflow-wrap: anywhere; } p { overflow-wrap: anywhere; }
canvas { width: 100%; aspect-ratio: 16/10; max-height: 75vh; border: 1px solid #ddd; border-radius: 4px;
         touch-action: none; }
.note { background: #fff6dd; padding: .5rem .8rem; border-left: 4px solid #f0b400; }
.controls { display: flex; flex-wrap: wrap; gap: .5rem 1rem; align-items: center; margin: .5rem 0; }
.controls input[type=range] { flex: 1; } .says { font-variant-numeric: tabular-nums; min-height: 3em; }
.drives { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 24rem), 1fr));
          gap: .2rem 2rem; }
.drives label { display: grid; grid-template-columns: 6rem 1fr 5.5rem; gap: .8rem; align-items: center; }
.drives span { overflow-wrap: anywhere; } .drives input { width: 100%; margin: 0; }
.drives output { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
"""


def script() -> str:
    """The drawing code."""
    return (files(__package__) / "player.js").read_text("utf-8")


def data(name: str, content: Any) -> str:
    """Data for the scripts of a page; no text in it can end the element or begin another."""
    text = json.dumps(content, separators=(",", ":"), allow_nan=False)
    for mark in "<>&":
        text = text.replace(mark, f"\\u{ord(mark):04x}")
    return f"<script id='{name}' type='application/json'>{text}</script>"


def frame_names(simulation: Simulation) -> list[str]:
    """The outputs that a frame holds."""
    mechanism, known = simulation.mechanism, simulation.variables().outputs.named
    names = [f"body.{b.name}.{what}" for b in mechanism.bodies for what in ("position", "orientation")]
    return [*names, *(name for j in mechanism.joints if (name := f"reaction.{j.name}.force") in known)]


def scene(
    simulation: Simulation,
    places: Mapping[str, int],
    angle: Angle | None = None,
    newtons: float | None = None,
) -> dict[str, Any]:
    """All that stays as it is while the mechanism moves; `places` are those of the readings in y.

    `newtons` is the force whose arrow is as long as arrows usually are, the whole weight if nobody knows.
    """
    mechanism, poses = simulation.mechanism, simulation.body_poses()
    view = choose_view(mechanism, poses, body_points(mechanism, poses), angle)
    right, _, toward = view.axes
    drawn, colours = corners(mechanism), families_of(mechanism)
    seen = surfaces(mechanism)[0]
    solid = {visual.body for visual, _ in seen}
    number = {name: k for k, name in enumerate(drawn)}
    cloud = np.array([at(poses[name], p) for name, found in drawn.items() for p in found])
    middle = (cloud.max(axis=0) + cloud.min(axis=0)) / 2

    def bound(body: str, point: Any) -> dict[str, Any]:
        return {"body": number[body], "point": _numbers(point)}

    floats = any(GROUND in (j.parent, j.child) and not TYPES[j.type].locks for j in mechanism.joints)
    ahead = middle - np.mean([poses[b.name][1] for b in mechanism.bodies], axis=0)
    motors = [mechanism.joint(m.joint) for m in mechanism.motors]
    cylinders = [s for s in mechanism.struts if s.actuated]
    return {
        "bodies": [
            {
                "corners": [] if name in solid else _numbers(found),
                "colour": GROUND_COLOUR if name == GROUND else colours[family(name)],
                "at": places.get(f"body.{name}.position"),
                "turn": places.get(f"body.{name}.orientation"),
            }
            for name, found in drawn.items()
        ],
        "visuals": [
            {
                "body": number[visual.body],
                "corners": _numbers(outline(triangles)),
                "colour": _css(visual) or colours.get(family(visual.body), GROUND_COLOUR),
            }
            for visual, triangles in seen
        ],
        "rods": [[bound(a, p), bound(b, q)] for a, p, b, q in (*rods(mechanism), *ties(mechanism))],
        "driven": [  # where each input acts: at the middle of these points
            *([bound(j.parent, j.on_parent.position)] for j in motors),
            *([bound(s.body1, s.point1), bound(s.body2, s.point2)] for s in cylinders),
        ],
        "joints": [
            {**bound(j.child, j.on_child.position), "at": places[name]}
            for j in mechanism.joints
            if (name := f"reaction.{j.name}.force") in places
        ],
        "size": view.size,
        "middle": _numbers(middle),
        "follows": _numbers(ahead) if floats else None,  # from the mean of the bodies to the picture's middle
        "reach": MARGIN * float(np.linalg.norm(cloud - middle, axis=1).max()),
        "axes": _numbers([right, np.cross(view.up, right), view.up]),
        "elevation": asin(float(np.clip(toward @ view.up, -1, 1))),
        "metres_per_newton": REACH * view.size / (newtons or whole_weight(mechanism) or 1.0),
        "longest": LONGEST * view.size,
        "colours": {"rod": ROD, "arrow": ARROW, "driven": MOTOR},
    }


def _css(visual: Visual) -> str:
    """The colour of a visual as a page has it, empty if it says none."""
    return "#" + "".join(f"{round(255 * x):02x}" for x in visual.colour[:3]) if visual.colour else ""


def _numbers(x: Any) -> Any:
    return np.asarray(x, float).round(9).tolist()
