"""`cutjoint propagate`: change a dimension, let what is free follow, and write the new mechanism."""

import argparse
from collections.abc import Sequence
from dataclasses import replace
from itertools import zip_longest
from typing import Any

import numpy as np

from ..base.errors import CutjointError
from ..cli.common import (
    MANY,
    Options,
    check_targets,
    form_to_keep,
    load_mechanism,
    number,
    read_pairs,
    read_view,
    tell_written,
    to_json,
)
from ..describe.mechanism import Mechanism
from ..describe.parameters import locate
from ..describe.writer import save
from ..show.table import table
from .dimensions import GROUPS, path_of
from .propagate import Change, Propagation, propagate, stretch, stretched_body

HELP = "Change dimensions of a mechanism and close its loops again by moving what is left free."
EXAMPLE = """
cutjoint propagate slider_crank --set joint.s21=-2.8,0.2,0.1 --free q,s --picture change.png
cutjoint propagate stewart --stretch leg1=0.02 --free s --lock 'joint.motor*' -o longer.yaml
cutjoint propagate mcpherson --set tie_rod=0.38 --free q --bound q.rack=0.25,0.3
"""


def add_arguments(option: Options) -> None:
    option("mechanism")
    option(
        "--set", "NAME=VALUE", "new value of a dimension, numbers with commas (m, rad or with a unit)", **MANY
    )
    text = "make a link longer between its two joints (BODY:JOINT1:JOINT2 if it has more)"
    option("--stretch", "BODY=METRES", text, **MANY)
    text = "of stretched links: keep mass, com and inertia (default), spread the same mass, or its density"
    option("--inertia", "{keep,mass,density}", text, choices=("keep", "mass", "density"), default="keep")
    groups = "; ".join(f"{key}: {about}" for key, about in GROUPS.items())
    text = f"what follows, with commas; {groups}; or names, patterns"
    option("--free", "NAMES", text, default="q")
    option("--lock", "NAMES", "what stays although it is in a free group", default="")
    option("--weight", "NAME=NUMBER", "2 moves half as readily as 1", **MANY)
    option("--bound", "NAME=LOW,HIGH", "keep it between two values", **MANY)
    option("--scale", "M", "metres that count as one radian (the mechanism's size)")
    option("--picture", "FILE", "draw the mechanism before and after (png, svg, pdf)", writes=True)
    option("--view")
    option("-o --output", "FILE", "write the new description", writes=True)
    option("--json")


def run(args: argparse.Namespace) -> int:
    check_targets(args.output, picture=args.picture)
    angle = read_view(args.view)
    mechanism = load_mechanism(args)
    stretched = _stretched(args.stretch)
    change = _changes(args, mechanism, stretched)
    if not change:
        raise CutjointError("say what to change: --set NAME=VALUE or --stretch BODY=METRES")
    bounds = {}
    for name, value in _words(args.bound, "--bound"):
        joint = name.split(".")[1].partition("[")[0] if name.startswith("q.") else ""
        unit = _joint_unit(mechanism, joint) if joint else _units(mechanism, name)[0]
        bounds[name] = _numbers(value, f"--bound {name}", [unit] * 2)
        if len(bounds[name]) != 2:
            raise CutjointError(f"--bound {name} takes 2 numbers with a comma, not '{value}'")
    result = propagate(
        mechanism,
        change,
        args.free,
        weights={name: number(value, f"--weight {name}") for name, value in _words(args.weight, "--weight")},
        scale=None if args.scale is None else number(args.scale, "--scale", "m"),
        bounds=bounds,
        locked=args.lock,
    )
    result = _with_bodies(result, mechanism, stretched, args.inertia)
    print(to_json(_report(result)) if args.json else page(result))
    if stretched and args.inertia == "keep" and not args.json:
        names = ", ".join(body for body, _, _ in stretched)
        print(f"mass, com and inertia of {names} stay; --inertia mass or density stretches them too")
    if args.output:
        save(
            replace(result.mechanism, name=mechanism.name),
            args.output,
            like=form_to_keep(args.mechanism),
        )
    if args.picture:
        from ..show.plot import save_figure
        from ..view.picture_change import change_figure

        save_figure(args.picture, change_figure(result, angle), tight=True)
    for path in (args.output, args.picture):
        tell_written(args, written=path)
    return 0


def page(result: Propagation) -> str:
    """The table of what changed, for people."""
    steps = f"{result.iterations} iteration{'s' * (result.iterations != 1)}"
    rows = []
    for c in result.changes:
        unit, how = "" if c.unit == "1" else c.unit, "set" if c.wanted else "follows"
        rows.append((c.name, c.before.round(12), c.after.round(12), unit, how))
    head = f"{result.mechanism.name}: closed again in {steps}, residual {result.residual:.2g}"
    if not rows:
        return f"{head}\n  nothing changes"
    return "\n".join([head, table(rows, ("", "before", "after", "unit", ""))])


def _report(result: Propagation) -> dict[str, Any]:
    return {
        "mechanism": result.mechanism.name,
        "iterations": result.iterations,
        "residual": result.residual,
        "history": result.history,
        "loops": {name: gap for name, (gap, _) in result.loops.items()},
        "changes": [vars(c) for c in result.changes],
    }


Stretched = tuple[str, float, tuple[str, str] | None]  # body, by, joints


def _stretched(words: Sequence[str]) -> list[Stretched]:
    """What `--stretch` gives."""
    found: list[Stretched] = []
    for word in words:
        body, *joints = word.partition("=")[0].split(":")
        ((by,),) = read_pairs([word], {word.partition("=")[0]: ["m"]}, "--stretch", "body").values()
        if len(joints) not in (0, 2):
            raise CutjointError(f"--stretch takes BODY=METRES or BODY:JOINT1:JOINT2=METRES, not '{word}'")
        found.append((body, by, (joints[0], joints[1]) if joints else None))
    return found


def _with_bodies(
    result: Propagation, mechanism: Mechanism, stretched: Sequence[Stretched], how: str
) -> Propagation:
    """The result with masses, centres of mass and inertias of stretched links, as they are wanted."""
    if how == "keep":
        return result
    bodies, changes = {body.name: body for body in result.mechanism.bodies}, list(result.changes)
    for body, by, joints in stretched:
        old, new = bodies[body], stretched_body(mechanism, body, by, joints, how == "density")
        bodies[body] = new
        for field, unit in (("mass", "kg"), ("com", "m"), ("inertia", "kg.m2")):
            before, after = (np.atleast_1d(np.asarray(getattr(x, field), float)) for x in (old, new))
            if not np.array_equal(before, after):
                changes.append(Change(f"body.{body}.{field}", unit, before, after, False))
    new_mechanism = replace(result.mechanism, bodies=tuple(bodies.values()))
    return replace(result, mechanism=new_mechanism, changes=tuple(changes))


def _changes(
    args: argparse.Namespace, mechanism: Mechanism, stretched: Sequence[Stretched]
) -> dict[str, Any]:
    change: dict[str, Any] = {}
    for name, value in _words(args.set, "--set"):
        numbers = _numbers(value, f"--set {name}", _units(mechanism, name))
        change[name] = numbers[0] if len(numbers) == 1 else numbers
    for body, by, joints in stretched:
        change |= stretch(mechanism, body, by, joints)
    return change


def _words(words: list[str], option: str) -> list[tuple[str, str]]:
    pairs = [word.partition("=") for word in words]
    for word, (name, equals, value) in zip(words, pairs, strict=True):
        if not (name and equals and value):
            raise CutjointError(f"{option} takes NAME=VALUE, not '{word}'")
    return [(name, value) for name, _, value in pairs]


def _numbers(text: str, option: str, units: Sequence[str | None]) -> Any:
    pairs = zip_longest(text.split(","), units)
    return tuple(number(part, option, unit) for part, unit in pairs if part is not None)


def _units(mechanism: Mechanism, name: str) -> Sequence[str | None]:
    """Of a dimension by name or path; what is none is said where it is looked up."""
    try:
        return locate(mechanism, path_of(mechanism, name)).units
    except CutjointError:
        return [None]


def _joint_unit(mechanism: Mechanism, name: str) -> str | None:
    found = [mechanism.joint_type(joint) for joint in mechanism.joints if joint.name == name]
    units = found[0].position_units if found and found[0] else ()
    return units[0] if len(set(units)) == 1 else None
