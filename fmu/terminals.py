"""Terminals and icons of FMI 3.0: a flange per driven joint and a frame per body around the icon."""

import struct
import zlib
from collections.abc import Iterable, Mapping
from xml.etree import ElementTree as ET

from ..model.describe.inputs import EFFORT_ROLES
from ..model.equations.frame_motion import MOTION
from ..native.plan import Plan
from .xml_common import element, xml_text

FOLDER = "terminalsAndIcons"
SIDE = 100.0  # half of the icon, in its own units, of which ten are a millimetre
HALF = 6.0  # of a terminal
COLOURS = {"flange": (90, 90, 90), "frame": (149, 149, 255)}
FRAME = ("position", "orientation", "velocity", "angular_velocity")


def terminals(plan: Plan) -> str:
    """The text of terminalsAndIcons.xml."""
    root = ET.Element("fmiTerminalsAndIcons", {"fmiVersion": "3.0"})
    graphics = element(root, "GraphicalRepresentation")
    corners = _corners(0.0, 0.0, SIDE)
    element(graphics, "CoordinateSystem", **corners, suggestedScalingFactorTo_mm="0.1")
    element(graphics, "Icon", **corners)
    names: dict[str, list[str]] = {}  # of a variable: those of its elements, or its own
    for part in plan.shown():
        if part.variable.kind in ("input", "output"):
            names.setdefault(part.variable.name, []).append(part.name)
    group = element(root, "Terminals")
    for kind, x, found in (("flange", -SIDE, _flanges(plan)), ("frame", SIDE, _frames(plan))):
        some = {name: [m for m in members if m[1] in names] for name, members in found.items()}
        some = {name: members for name, members in some.items() if members}
        for k, (name, members) in enumerate(some.items()):
            item = element(
                group, "Terminal", name=name, matchingRule="plug", terminalKind=f"org.cutjoint.{kind}"
            )
            for member, variable, how in members:
                for own in names[variable]:
                    called = f"{member}{own.removeprefix(variable)}"
                    what = {"variableName": own, "memberName": called, "variableKind": how}
                    element(item, "TerminalMemberVariable", **what)
            y = SIDE * (1 - 2 * (k + 1) / (len(some) + 1))
            element(item, "TerminalGraphicalRepresentation", **_corners(x, y, HALF), iconBaseName=kind)
    if not len(group):
        root.remove(group)
    return xml_text(root)


Members = list[tuple[str, str, str]]  # member, variable, kind


def _flanges(plan: Plan) -> Mapping[str, Members]:
    """Of every motor: what turns or slides, and what drives it."""
    result = {}
    for row, variable in zip(plan.mechanism.input_table, plan.of("input", "hidden"), strict=True):
        if row.joint and row.role in EFFORT_ROLES and not row.follows:  # what is wanted of a servo is no flow
            angle, speed, force = ("phi", "w", "tau") if row.role == "torque" else ("s", "v", "f")
            result[f"flange.{row.name}"] = [
                (angle, f"joint.{row.joint}.position", "signal"),
                (speed, f"joint.{row.joint}.velocity", "signal"),
                (force, variable.name, "inflow"),
            ]
    return result


def _frames(plan: Plan) -> Mapping[str, Members]:
    """Of every body, and of frames that are ports: where it is and how it moves, what acts on it."""
    ports = [frame for frame in plan.mechanism.frames if frame.port != "none"]
    named = {
        f"port.{frame.name}": [
            *((what, f"frame.{frame.name}.{what}", "signal") for what in MOTION),
            *((what, f"frame.{frame.name}.{what}", "inflow") for what in ("force", "torque")),
        ]
        for frame in ports
    }
    return named | {
        f"frame.{body.name}": [(what, f"body.{body.name}.{what}", "signal") for what in FRAME]
        for body in plan.mechanism.bodies
    }


def _corners(x: float, y: float, half: float) -> dict[str, str]:
    return {"x1": f"{x - half:g}", "y1": f"{y - half:g}", "x2": f"{x + half:g}", "y2": f"{y + half:g}"}


def icons() -> dict[str, bytes]:
    """Pictures of the terminals by their path in the FMU."""
    return {f"{FOLDER}/{kind}.png": square(colour) for kind, colour in COLOURS.items()}


def square(colour: Iterable[int], size: int = 16) -> bytes:
    """A PNG of one colour."""
    row = b"\0" + bytes(colour) * size
    parts = {
        b"IHDR": struct.pack(">2I5B", size, size, 8, 2, 0, 0, 0),
        b"IDAT": zlib.compress(row * size, 9),
        b"IEND": b"",
    }
    chunks = (
        struct.pack(">I", len(x)) + k + x + struct.pack(">I", zlib.crc32(k + x)) for k, x in parts.items()
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)
