"""A changed mechanism is written into the description it came from: only its numbers change."""

from __future__ import annotations

import random
import re
from dataclasses import replace
from math import pi
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cutjoint import Body, Joint, Mechanism, list_examples, load, save
from cutjoint.model.cli.main import main
from cutjoint.model.describe import parameters
from cutjoint.model.describe.check import check
from cutjoint.model.describe.reader import source_of
from cutjoint.model.describe.rewrite import rewritten
from cutjoint.model.design.propagate import propagate, stretch
from cutjoint.model.loading import read

EXAMPLES = list_examples()


def comments(text: str) -> list[str]:
    return re.findall(r"#.*", text)


def as_typed(changed: str, text: str) -> None:
    """Every comment is there, and every key in its order; only the form of an inertia may go."""
    assert comments(changed) == comments(text)
    inertia = ("axis", "along", "across")
    before, after = (re.findall(r"([A-Za-z_]\w*):", re.sub(r"#.*", "", t)) for t in (text, changed))
    rest = iter(after)
    assert [key for key in before if key not in inertia and key not in rest] == []


def same(a: Mechanism, b: Mechanism) -> None:
    """Equal numbers to a few roundings, everything else exactly."""
    assert [p.whole for p in parameters.paths(a)] == [p.whole for p in parameters.paths(b)]
    for path in parameters.paths(a):
        values = [np.array(parameters.lookup(m, path.whole), float) for m in (a, b)]
        np.testing.assert_allclose(*values, rtol=1e-13, atol=1e-13, err_msg=path.whole)
    for x, y in zip(a.joints, b.joints, strict=True):
        assert (x.name, x.type, x.parent, x.child, x.cut) == (y.name, y.type, y.parent, y.child, y.cut)
        np.testing.assert_allclose(x.start, y.start, rtol=1e-13)
        np.testing.assert_allclose(x.limits, y.limits, rtol=1e-13)
    assert (a.outputs, a.parameters, a.description) == (b.outputs, b.parameters, b.description)


def shaken(mechanism: Mechanism, seed: int, share: float) -> Mechanism:
    """Some of the numbers changed by up to a tenth, orientations turned a little."""
    rng = random.Random(seed)
    for at in parameters.paths(mechanism):
        if rng.random() > share:
            continue
        value = np.array(parameters.lookup(mechanism, at.whole), float)
        if at.whole.endswith("inertia"):
            value = value * rng.uniform(0.9, 1.1)
        else:
            value = value + 0.1 * np.abs(value) * np.array(
                [rng.uniform(-1, 1) for _ in range(value.size)]
            ).reshape(value.shape)
            value = value + (0.01 * rng.random() if at.whole.endswith(("position", "com", "point")) else 0)
        if at.whole.endswith("orientation"):
            value = value / np.linalg.norm(value)
        mechanism = parameters.replace_value(mechanism, at.whole, value.item() if at.alone else value)
    starts = {j.name: [x + rng.uniform(-1e-3, 1e-3) for x in j.start] for j in mechanism.joints if j.start}
    return check(mechanism.with_start({k: v for k, v in starts.items() if rng.random() < share}))


@pytest.mark.parametrize("name", EXAMPLES)
def test_without_a_change_not_a_character_changes(name: str) -> None:
    text, file = source_of(name)
    assert rewritten(text, file, load(name)) == text


@pytest.mark.parametrize("share", [0.05, 0.3, 1.0])
@pytest.mark.parametrize("name", [name for name in EXAMPLES if "\npatterns:" not in source_of(name)[0]])
def test_any_numbers_are_written_in_place(name: str, share: float) -> None:
    """In world and in body axes: what is read again is the new mechanism, the rest is as it was."""
    text, file = source_of(name)
    new = shaken(load(name), 7, share)
    changed = rewritten(text, file, new)
    assert changed is not None
    same(read(changed, file), new)
    as_typed(changed, text)
    assert rewritten(changed, file, new) is not None


LAYOUTS = """\
# a crank, typed by hand
name: crank   # its name
axes: AXES

bodies:
  bar: {mass: 2 kg,   com: [50 cm, 0, 0], inertia: [0.1, 0.2, 0.2]}  # steel
  slide:
    mass: 500 g
    com: [1, 0, 0]   # at its end

joints:
  pin:  # the first
    type: revolute
    parent: ground
    child: bar
    FIRST
    start: 45 deg # up
    limits: [-90 deg, 90 deg]
  rail:
    {type: prismatic, parent: bar, child: slide,
     SECOND,   # typed over two lines
     stiffness: 2 kN/m}
# the end
parameters: {reach: 'body.bar.com[1]'}"""
WORLD = (
    LAYOUTS.replace("AXES", "world")
    .replace("FIRST", "at: [0, 0, 0]\n    axis: y")
    .replace("SECOND", "at: [1, 0, 0], axis: x")
)
IN_BODIES = (
    LAYOUTS.replace("AXES", "body")
    .replace("FIRST", "on_parent: {at: [0, 0, 0], axis: y}")
    .replace("SECOND", "axis: x")
)


@pytest.mark.parametrize("text", [WORLD, IN_BODIES], ids=["world", "body"])
def test_units_layout_and_remarks_stay(text: str) -> None:
    old = read(text, "crank.yaml")
    new = replace(
        old,
        bodies=tuple(replace(b, mass=1.25 * b.mass) for b in old.bodies),
        joints=(
            replace(old.joints[0], start=(pi / 3,), limits=(-pi / 2, pi), damping=(0.5,)),
            replace(old.joints[1], stiffness=(2500.0,), start=(0.1,)),
        ),
    )
    wanted = (
        text.replace("mass: 2 kg", "mass: 2.5 kg")
        .replace("500 g", "625 g")
        .replace("45 deg # up", "60 deg # up")
        .replace("[-90 deg, 90 deg]", "[-90 deg, 180 deg]\n    damping: 0.5")
        .replace("2 kN/m}", "2.5 kN/m, start: 0.1}")
    )
    # 60 deg in radians and back may differ in the last digit
    changed = re.sub(r"\b(59\.9999999\d+|60\.00000000\d+)", "60", rewritten(text, "crank.yaml", new) or "")
    assert changed == wanted


def test_a_joint_moved_on_one_body_says_so_beside_its_place() -> None:
    old = read(WORLD, "crank.yaml")
    rail = old.joints[1]
    moved = replace(rail, on_parent=replace(rail.on_parent, position=(0.75, 0.0, 0.0)))
    changed = rewritten(WORLD, "crank.yaml", replace(old, joints=(old.joints[0], moved)))
    assert changed == WORLD.replace("stiffness: 2 kN/m}", "stiffness: 2 kN/m, on_parent: {at: [1.25, 0, 0]}}")
    both = replace(moved, on_child=replace(rail.on_child, position=(0.25, 0.0, 0.0)))
    changed = rewritten(WORLD, "crank.yaml", replace(old, joints=(old.joints[0], both)))
    assert changed == WORLD.replace("at: [1, 0, 0], axis: x", "at: [1.25, 0, 0], axis: x")


def test_more_than_numbers_is_written_anew(tmp_path: Path) -> None:
    (tmp_path / "old.yaml").write_text(WORLD)
    old = load(tmp_path / "old.yaml")
    more = replace(
        old,
        bodies=(*old.bodies, Body("third", 1.0)),
        joints=(*old.joints, Joint("weld", "fixed", "slide", "third")),
    )
    save(more, tmp_path / "new.yaml", like=tmp_path / "old.yaml")
    assert load(tmp_path / "new.yaml") == check(more)


def test_repeated_values() -> None:
    """An alias is replaced by its own number; what others repeat is written anew."""
    text = WORLD.replace("mass: 2 kg", "mass: &m 2").replace("mass: 500 g", "mass: *m")
    old = read(text, "crank.yaml")
    alias = replace(old, bodies=(old.bodies[0], replace(old.bodies[1], mass=3.0)))
    assert rewritten(text, "crank.yaml", alias) == text.replace("*m", "3")
    anchor = replace(old, bodies=(replace(old.bodies[0], mass=3.0), old.bodies[1]))
    assert rewritten(text, "crank.yaml", anchor) is None


@pytest.mark.parametrize("text", [WORLD, IN_BODIES], ids=["world", "body"])
def test_assemble_keeps_the_users_file(text: str, tmp_path: Path, capsys: Any) -> None:
    old, new = tmp_path / "old.yaml", tmp_path / "new.yaml"
    old.write_text(text)
    assert main(["assemble", str(old), "--set", "rail=0.25", "-o", str(new)]) == 0
    kept, mark = new.read_text().rstrip("\n").rsplit("\n", 1)
    assert kept == text.replace("2 kN/m}", "2 kN/m, start: 0.25}").rstrip("\n")
    assert mark.startswith("# written by cutjoint")
    capsys.readouterr()


@pytest.mark.parametrize(
    ("name", "body", "free"),
    [
        ("stewart", "leg1", "q"),
        ("stewart", "leg1", "q,s"),
        ("stewart", "leg1", "q,C"),
        ("fourbar", "coupler", "q,s"),
        ("slider_crank", "crank", "q"),
        ("slider_crank", "crank", "q,s,C"),
    ],
)
def test_propagate_keeps_the_users_file(name: str, body: str, free: str, tmp_path: Path, capsys: Any) -> None:
    new = tmp_path / "new.yaml"
    assert main(["propagate", name, "--stretch", f"{body}=0.002", "--free", free, "-o", str(new)]) == 0
    capsys.readouterr()
    as_typed(new.read_text().rsplit("# written by", 1)[0], source_of(name)[0])
    old = load(name)
    assert "across" in source_of(name)[0] or "across: " not in new.read_text()  # no axis changed by rounding
    same(load(new), propagate(old, stretch(old, body, 0.002), free).mechanism)
