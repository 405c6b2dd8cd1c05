"""`cutjoint show`: what a mechanism consists of and how it can move."""

import argparse
from typing import Any

from ..describe.mechanism import Mechanism
from ..describe.motors import TORQUE, tells_motion
from ..equations.spatial import lumped
from ..loading import load
from ..show.table import table
from ..simulation import Simulation
from .common import Options, check_targets, read_view, tell_written, to_json

HELP = "Show bodies, joints, loops, coordinates, rank and mobility of a mechanism."
EXAMPLE = """
cutjoint show stewart
cutjoint show hexapod --picture hexapod.png --view=-30,50
"""


def add_arguments(option: Options) -> None:
    option("mechanism")
    option("--picture", "FILE", "draw the mechanism (png, svg or pdf)")
    option("--view")
    option("--outputs", text="list everything that can be recorded")
    option("--json")


def run(args: argparse.Namespace) -> int:
    check_targets(picture=args.picture)
    angle = read_view(args.view)
    mechanism = load(args.mechanism)
    simulation = Simulation(mechanism, compile=False)
    report = simulation.topology().as_dict()
    outputs = simulation.variables().outputs
    if args.json:
        report["outputs"] = list(outputs.named)
        print(to_json(report))
    else:
        print(page(mechanism, report))
        if args.outputs:
            rows = [(v.name, v.size, ", ".join(dict.fromkeys(v.units)), v.about) for v in outputs]
            print("\n" + table(rows, ("output", "size", "unit", "")))
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
            f"drives its {s.drive}" if tells_motion(s) else "",
        )
        for s in mechanism.struts
    ]
    joints = [(j.name, j.type, f"{j.parent} – {j.child}", marks.get(j.name, "")) for j in mechanism.joints]
    masses = [(b.name, float(b.mass)) for b in lumped(mechanism).bodies]
    redundant = report["redundant"]
    moving = f"; {report['driven']} driven beside" if report["driven"] else ""
    facts = [
        ("loops", _count(report["cuts"], "none", "closed at")),
        ("couplings", _count([tie.name for tie in mechanism.couplings], "none", "named")),
        ("coordinates", f"{report['coordinates']} of the tree, {report['speeds']} speeds"),
        ("constraints", f"{report['rows']} rows, rank {report['rank']}"),
        ("redundant", redundant[0] if redundant else "none"),
        *(("", name) for name in redundant[1:]),
        *_not_unique(report),
        ("mobility", _mobility(report) + moving),
        ("places", f"{report['places']} independent coordinates, since some constraints hold speeds alone"),
        ("singular value", f"{report['singular_value']:.4g} (smallest; 0 at a singularity)"),
        ("inputs", ", ".join(mechanism.inputs()) or "none"),
    ]
    if report["places"] == report["mobility"]:
        facts = [fact for fact in facts if fact[0] != "places"]
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


def _count(names: list[str], none: str, what: str) -> str:
    return f"{len(names)}, {what} {', '.join(names)}" if names else none


def _mobility(report: dict[str, Any]) -> str:
    """Freedoms, and why counting rows says otherwise where it does."""
    found, counted, rows = (report[name] for name in ("mobility", "freedoms_structural", "rows"))
    if found == counted:
        return f"{found} by rank and by counting"
    follow = rows - report["rank"]
    return (
        f"{found}: {report['speeds']} speeds less rank {report['rank']}; "
        f"to count all {rows} rows would say {counted}, but {follow} follow{'s' * (follow == 1)} from others"
    )


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
