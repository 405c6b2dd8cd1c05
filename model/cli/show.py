"""`cutjoint show`: what a mechanism consists of and how it can move."""

import argparse
from typing import Any

import numpy as np

from ..describe import parameters
from ..describe.elements import GROUND
from ..describe.mechanism import Mechanism
from ..describe.motors import TORQUE, tells_motion
from ..equations.spatial import lump_point_masses
from ..run.mobility import freedom_summary
from ..show.table import table
from ..simulation import Simulation
from .common import Options, check_targets, load_mechanism, read_view, tell_written, to_json

HELP = "Show bodies, joints, loops, coordinates, rank and mobility of a mechanism."
EXAMPLE = """
cutjoint show stewart
cutjoint show fourbar --parameters
cutjoint show hexapod --picture hexapod.png --view=-30,50
"""


def add_arguments(option: Options) -> None:
    option("mechanism")
    option("--picture", "FILE", "draw the mechanism (png, svg or pdf)", writes=True)
    option("--view")
    option("--outputs", text="list everything that can be recorded")
    option("--parameters", text="list every number that can be changed or varied, with its nominal value")
    option("--json")


def run(args: argparse.Namespace) -> int:
    check_targets(picture=args.picture)
    angle = read_view(args.view)
    mechanism = load_mechanism(args)
    simulation = Simulation(mechanism, compile=False)
    report = simulation.topology().as_dict()
    report["lengths"] = _lengths(simulation)
    outputs, numbers = simulation.variables().outputs, _numbers(mechanism)
    if args.json:
        report["outputs"] = list(outputs.named)
        report["parameters"] = {path: {"value": x, "unit": unit} for path, x, unit, _ in numbers}
        print(to_json(report))
    else:
        print(page(mechanism, report))
        if args.outputs:
            rows = [(v.name, v.size, ", ".join(dict.fromkeys(v.units)), v.about) for v in outputs]
            print("\n" + table(rows, ("output", "size", "unit", "")))
        if args.parameters:
            print("\n" + table(numbers, ("number", "nominal", "unit", "named")))
    if args.picture:
        from ..show.picture import save_picture

        save_picture(args.picture, mechanism, simulation.body_poses(), report["cuts"], angle)
    tell_written(args, picture=args.picture)
    return 0


def page(mechanism: Mechanism, report: dict[str, Any]) -> str:
    """The report as a page for people."""
    driven = {
        motor.joint: f"motor {motor.name}{'' if motor.drive == TORQUE else f' drives its {motor.drive}'}"
        for motor in mechanism.motors
    }
    marks = dict.fromkeys(report["cuts"], "cut") | driven
    struts = [
        (
            *(s.name, "cylinder" if s.actuated else "spring/damper", f"{s.body1} – {s.body2}"),
            f"{report['lengths'][s.name]:.6g} m long"
            + (f", drives its {s.drive}" if tells_motion(s) else ""),
        )
        for s in mechanism.struts
    ]
    joints = [(j.name, j.type, f"{j.parent} – {j.child}", marks.get(j.name, "")) for j in mechanism.joints]
    masses = [(b.name, float(b.mass)) for b in lump_point_masses(mechanism).bodies]
    redundant = report["redundant"]
    facts = [
        ("loops", _count(report["cuts"], "none", "closed at")),
        ("couplings", _count([tie.name for tie in mechanism.couplings], "none", "named")),
        ("coordinates", f"{report['coordinates']} of the tree, {report['speeds']} speeds"),
        ("constraints", f"{report['rows']} rows, rank {report['rank']}"),
        ("redundant", redundant[0] if redundant else "none"),
        *(("", name) for name in redundant[1:]),
        *_not_unique(report),
        ("mobility", _mobility(report)),
        ("positions", f"{report['places']} position coordinates; some constraints hold speeds only"),
        ("singular value", f"{report['singular_value']:.4g} (smallest; 0 at a singularity)"),
        ("inputs", ", ".join(mechanism.inputs()) or "none"),
    ]
    if report["places"] == report["mobility"]:
        facts = [fact for fact in facts if fact[0] != "positions"]
    if not mechanism.couplings:
        facts = [fact for fact in facts if fact[0] != "couplings"]
    if not report["rows"]:
        facts = [fact for fact in facts if fact[0] not in ("constraints", "redundant", "singular value")]
    return "\n".join(
        [
            f"{mechanism.name}: {mechanism.description}".rstrip(": "),
            "",
            table(masses, ("body", "mass (kg)")),
            "",
            table(joints + struts, ("joint", "type", "between", "")),
            "",
            table(facts),
        ]
    )


def _lengths(simulation: Simulation) -> dict[str, float]:
    """How long cylinders and springs are at the start, metres."""
    if not simulation.mechanism.struts:
        return {}
    at = simulation.body_poses() | {GROUND: (np.eye(3), np.zeros(3))}
    ends = {
        s.name: [
            at[body][0] @ point + at[body][1] for body, point in ((s.body1, s.point1), (s.body2, s.point2))
        ]
        for s in simulation.mechanism.struts
    }
    return {name: float(np.linalg.norm(b - a)) for name, (a, b) in ends.items()}


def _numbers(mechanism: Mechanism) -> list[tuple[str, Any, str, str]]:
    """Path, nominal value and unit of every number that can be changed, and the parameters named after it."""
    found = []
    for at in parameters.paths(mechanism):
        names = [
            name
            for name, path in mechanism.parameters.items()
            if parameters.split_component(path)[0] == at.whole
        ]
        value = parameters.lookup(mechanism, at.whole)
        value = float(value) if at.alone else [float(x) for x in value]
        found.append((at.whole, value, "" if at.unit == "1" else at.unit, ", ".join(names)))
    return found


def _count(names: list[str], none: str, what: str) -> str:
    return f"{len(names)}, {what} {', '.join(names)}" if names else none


def _mobility(report: dict[str, Any]) -> str:
    """Freedoms, and why counting rows says otherwise where it does."""
    found, counted = report["mobility"], report["freedoms_structural"]
    if report["driven"]:
        return f"{freedom_summary(report['freedoms'], report['driven'])}{_redundant(report)}"
    if found == counted:
        return f"{found}, as Grübler's count gives"
    return f"{found}{_redundant(report)}"


def _redundant(report: dict[str, Any]) -> str:
    """Why counting rows gives another number."""
    counted, rows, more = report["freedoms_structural"], report["rows"], report["rows"] - report["rank"]
    if not more:
        return ""
    are = "constraint rows are" if more > 1 else "constraint rows is"
    return f". Grübler's count gives {counted} because {more} of {rows} {are} redundant."


def _not_unique(report: dict[str, Any]) -> list[tuple[str, str]]:
    """Joints whose reactions are the least of many, and what of them is unique all the same."""
    if not report["not_unique"]:
        return []
    groups: dict[str, list[str]] = {}
    for name, (force, moment) in report["unique"].items():
        kept = [f"{what} {how}" for what, how in (("force", force), ("moment", moment)) if how != "none"]
        groups.setdefault(" and ".join(kept).replace(" all", ""), []).append(name)
    first = ("not unique", f"reactions of {', '.join(report['not_unique'])} (the least are given)")
    texts = [
        f"but {what} {'is' if ' and ' not in what else 'are'} unique"
        + ("" if len(groups) == 1 else f" at {', '.join(names)}")
        for what, names in groups.items()
        if what
    ]
    return [first, *(("", text) for text in texts)]
