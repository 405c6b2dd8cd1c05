"""Mechanisms at the edge: no freedom, all driven, no loops, one body, no mass, in all combinations."""

from __future__ import annotations

from itertools import product

SHAPES = (
    "fixed",
    "hinge",
    "bolted",
    "chain",
    "pinned",
    "truss",
    "fourbar",
)  # pinned: one body in a loop with itself
DRIVES = (
    "none",
    "torque",
    "position",
    "velocity",
    "acceleration",
    "all position",
    "all velocity",
    "cylinder",
)
MASSES = ("heavy", "massless")

_HINGES = {  # name: parent, child, where, axis
    "hinge": {"a": ("ground", "one", [0, 0, 0])},
    "bolted": {"a": ("ground", "one", [0, 0, 0])},  # and a body that is fixed beside it
    "chain": {"a": ("ground", "one", [0, 0, 0]), "b": ("one", "two", [1, 0, 0])},
    "pinned": {"a": ("ground", "one", [0, 0, 0]), "b": ("ground", "one", [0, 0.5, 0])},
    "truss": {
        "a": ("ground", "one", [0, 0, 0]),
        "b": ("one", "two", [1, 0, 0]),
        "c": ("ground", "two", [0.5, 0, 1]),
    },
    "fourbar": {
        "a": ("ground", "one", [0, 0, 0]),
        "b": ("one", "two", [0, 0, 0.5]),
        "c": ("two", "three", [1.2, 0, 0.8]),
        "d": ("ground", "three", [1, 0, 0]),
    },
}


def description(shape: str, drive: str, mass: str) -> str:
    """The YAML of one of them; empty where that is the same as another one."""
    if shape in ("hinge", "bolted") and drive.startswith("all"):
        return ""
    if shape == "fixed":
        if drive != "none":
            return ""
        hinges, joints = {}, {"bolt": "{type: fixed, parent: ground, child: one, at: [0, 0, 0]}"}
    else:
        hinges = _HINGES[shape]
        joints = {
            name: f"{{type: revolute, parent: {parent}, child: {child}, at: {at}, axis: y}}"
            for name, (parent, child, at) in hinges.items()
        }
    bodies = sorted({child for _, child, _ in hinges.values()} | {parent for parent, _, _ in hinges.values()})
    bodies = [name for name in bodies if name != "ground"] or ["one"]
    if shape == "bolted":
        bodies.append("two")
        joints["bolt"] = "{type: fixed, parent: ground, child: two, at: [0, 0, 0]}"
    if mass == "heavy":
        of = "{mass: 1, com: [0.4, 0, 0.1], inertia: [0.01, 0.02, 0.02, 0, 0, 0]}"
    else:
        of = "{mass: 0, com: [0, 0, 0]}"
    motors, cylinders = {}, {}
    if drive.startswith("all"):
        word = drive.split()[1]
        motors = {f"m_{name}": f"{{joint: {name}, drive: {word}}}" for name in list(hinges)[:2]}
    elif drive == "cylinder":
        ends = "body1: ground, body2: one, point1: [0.3, 0, -1], point2: [0.4, 0, 0.1]"
        cylinders = {"c_a": f"{{{ends}, drive: position}}"}
    elif drive != "none":
        motors = {"m_a": f"{{joint: a, drive: {drive}}}"}
    parts = {"bodies": dict.fromkeys(bodies, of), "joints": joints, "motors": motors, "cylinders": cylinders}
    lines = [f"name: {shape}_{drive.replace(' ', '_')}_{mass}"]
    for part, items in parts.items():
        if items:
            lines += [f"{part}:", *(f"  {name}: {value}" for name, value in items.items())]
    return "\n".join(lines) + "\n"


def described() -> dict[str, str]:
    """Name -> YAML of every combination that is one."""
    texts = (description(*combination) for combination in product(SHAPES, DRIVES, MASSES))
    return {text.split()[1]: text for text in texts if text}
