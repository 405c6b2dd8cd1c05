"""A field of the description is defined once: reading, checks, parameters, writing and manual follow."""

from __future__ import annotations

import dataclasses
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from math import inf
from pathlib import Path
from typing import Any

import casadi as ca
import pytest
from cutjoint import (
    Body,
    Bushing,
    Coupling,
    DescriptionError,
    Frame,
    Joint,
    Load,
    Mechanism,
    Motor,
    PointMass,
    Simulation,
    Strut,
    load,
)
from cutjoint.model.base.units import parse_unit
from cutjoint.model.describe import parameters
from cutjoint.model.describe.check import check
from cutjoint.model.describe.field_kinds import Group, PartField
from cutjoint.model.describe.fields import Quantity, fields_of
from cutjoint.model.describe.manual import update_tables
from cutjoint.model.describe.sensors import Sensor
from cutjoint.model.describe.targets import NamedTarget
from cutjoint.model.describe.visuals import NamedFrame, Visual
from cutjoint.model.equations.terms import at_rest, equations
from cutjoint.model.joints.types import TYPES
from cutjoint.model.loading import read

ROOT = Path(__file__).resolve().parents[2]
DESCRIBED = (
    Frame,
    Body,
    Joint,
    Motor,
    Strut,
    Load,
    PointMass,
    Coupling,
    Visual,
    NamedFrame,
    Bushing,
    Sensor,
    NamedTarget,
    Mechanism,
)
# what it is called; which group of the file it is in; where it was; items of groups that were added
NO_KIND = {"name", "actuated", "folder", "more"}


@pytest.mark.parametrize("described", DESCRIBED, ids=lambda d: d.__name__)
def test_every_field_says_what_it_is(described: type) -> None:
    names = {f.name for f in dataclasses.fields(described)} - NO_KIND
    assert set(fields_of(described)) == names
    for field in fields_of(described).values():
        assert field.help and field.values()
        if isinstance(field, Quantity):
            assert all(parse_unit(unit) is not None for unit in field.unit.split(" or "))


def test_groups_cover_everything_that_is_described() -> None:
    parts = [f for d in DESCRIBED for f in fields_of(d).values() if isinstance(f, Group | PartField)]
    assert {f.described for f in parts} | {Mechanism} == set(DESCRIBED)


# The whole of what it takes to give bodies and joints another number, and mechanisms another group.
NEW_LINES = {
    "@dataclass(frozen=True)\nclass Mechanism:": """\
@dataclass(frozen=True)
class Lamp:
    name: str
    body: Annotated[str, Reference("what carries it", "body")]
    place: Annotated[Vector, Quantity("where", "m", 3, on="body")] = ORIGIN
    light: Annotated[Number, Quantity("how bright", "N.m/s", ONE, POSITIVE)] = 1.0


""",
    "    gravity: Annotated": "    lamps: Annotated[tuple[Lamp, ...], "
    'Group("lights", Lamp, "lamp", ("lamps",))] = ()\n',
    "    mass: Annotated": '    heat: Annotated[Number, Quantity("stored heat", "N.m", ONE, '
    "POSITIVE, changes_geometry=True)] = 1.0\n",
    "    cut: Annotated": '    backlash: Annotated[Vector, Quantity("play", "rad or m", PER_FREEDOM, '
    "NOT_NEGATIVE)] = ()\n",
}
TRIAL = '''
from pathlib import Path
from cutjoint.model.describe import manual, parameters
from cutjoint.model.describe.mechanism import Body, Joint
from cutjoint.model.loading import read
from cutjoint.model.describe.rewrite import rewritten
from cutjoint.model.describe.writer import write

text = """
axes: body
bodies: {a: {mass: 1, heat: HEAT}}
joints: {j: {type: prismatic, parent: ground, child: a, backlash: BACKLASH}}
parameters: {warm: body.a.heat, play: joint.j.backlash}
"""
good = read(text.replace("HEAT", "2 kN.mm").replace("BACKLASH", "3 mm"))
assert (good.bodies[0].heat, good.joints[0].backlash) == (2.0, (0.003,))
assert read(write(good)) == good
warm, play = parameters.layout(good)
assert (warm.at.unit, warm.at.bounds[0][0], warm.at.field.changes_geometry) == ("N.m", 0.0, True)
assert (play.at.unit, play.at.bounds[0][0], play.at.field.changes_geometry) == ("m", 0.0, False)
assert parameters.parameter_vector(good, {"warm": 7.0}).tolist() == [7.0, 0.003]
for heat, backlash, sentence in (
    ("0", "0", "body 'a': heat must be positive, not 0"),
    ("1 m", "0", "body 'a': heat can't be in 'm'"),
    ("1", "-1", "joint 'j': backlash must not be negative, but is -1"),
    ("1", "1 deg", "joint 'j': backlash can't be in 'deg'"),
):
    try:
        read(text.replace("HEAT", heat).replace("BACKLASH", backlash))
    except Exception as problem:
        assert sentence in str(problem), problem
    else:
        raise AssertionError(sentence)
lamps = """
bodies: {a: {mass: 1, com: [1, 2, 3]}}
joints: {j: {type: free, parent: ground, child: a, at: [0, 0, 0]}}
lamps: {red: {body: a, place: [1, 2, 3.5], light: 3 kN.m/s}, white: {body: ground}}
parameters: {bright: lamp.red.light}
"""
lit = read(lamps)
assert (lit.lamps[0].place, lit.lamps[0].light, lit.lamps[1].place) == ((0, 0, 0.5), 3000.0, (0, 0, 0))
assert read(write(lit)) == lit
brighter = parameters.replace_value(lit, "lamp.red.light", 4000.0)
assert rewritten(lamps, "lamps.yaml", brighter) == lamps.replace("3 kN.m/s", "4 kN.m/s")
moved = parameters.replace_value(lit, "lamp.red.place[1]", 0.25)
assert rewritten(lamps, "lamps.yaml", moved) == lamps.replace("[1, 2, 3.5]", "[1.25, 2, 3.5]")
try:
    read(lamps.replace("body: a,", "body: b,"))
except Exception as problem:
    assert "lamp 'red': there is no body 'b'" in str(problem), problem
else:
    raise AssertionError("a lamp on no body")
assert "| `light` | how bright | N·m/s | positive | 1 |" in manual.tables()["lamps"]
manual = manual.update_tables(Path("manual.md").read_text(encoding="utf-8"))
assert "| `heat` | stored heat | N·m | positive | 1 |" in manual
values = "one per degree of freedom, or one for all, not negative"
assert f"| `backlash` | play | rad or m | {values} | none |" in manual
assert "`backlash`" in manual.split("joint.<name>.")[1].splitlines()[0]
'''


def test_a_new_field_or_group_is_written_once(tmp_path: Path) -> None:
    """In a copy of the package with these lines in two files, they do all that fields do."""
    for folder in ("model", "examples"):
        ignored = shutil.ignore_patterns("__pycache__", "*.so")
        shutil.copytree(ROOT / folder, tmp_path / "cutjoint" / folder, ignore=ignored)
    folder = tmp_path / "cutjoint" / "model" / "describe"
    texts = {
        file: file.read_text(encoding="utf-8") for file in (folder / "mechanism.py", folder / "joint.py")
    }
    for anchor, line in NEW_LINES.items():
        (file,) = (file for file, text in texts.items() if anchor in text)
        text = texts[file]
        assert text.count(anchor) == 1
        at = text.index(anchor)
        # A field with a default comes after those without.
        at = text.index("    com: ", at) if "heat" in line else at
        texts[file] = text[:at] + line + text[at:]
    for file, text in texts.items():
        file.write_text(text, encoding="utf-8")
    shutil.copy(ROOT / "docs" / "describing.md", tmp_path / "manual.md")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", TRIAL], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


def test_the_manual_has_the_tables_of_today() -> None:
    text = (ROOT / "docs" / "describing.md").read_text(encoding="utf-8")
    assert update_tables(text) == text, "run 'make docs-tables'"
    marks = {"file", "types", "paths", *(k for k, f in fields_of(Mechanism).items() if isinstance(f, Group))}
    assert {mark for mark in marks if f"<!-- table: {mark} -->" in text} == marks


# -- values of parameters ---------------------------------------------------------------------------

SWING = """
axes: body
bodies: {bar: {mass: 2, com: [0.5, 0, 0], inertia: [0.2, 0.2, 0.2]}}
joints:
  pin: {type: revolute, parent: ground, child: bar, damping: 1, stiffness: 2, friction: 1, limits: [-1, 1]}
springs: {coil: {body1: ground, body2: bar, point1: [0, 0, 1], stiffness: 10, length: 1}}
parameters:
  mass: body.bar.mass
  inertia: body.bar.inertia
  reach: body.bar.com[1]
  turned: joint.pin.on_parent.orientation
  damping: joint.pin.damping
  stiffness: joint.pin.stiffness
  knee: joint.pin.friction_speed
  stop: joint.pin.limit_damping
  coil: strut.coil.stiffness
"""
REFUSED: dict[str, tuple[Any, str]] = {
    "mass": (-1.0, "parameter 'mass': mass must be positive, not -1"),
    "inertia": (
        (1, 1, 3, 0, 0, 0),
        "parameter 'inertia': no body has the principal moments of inertia 1, 1, 3",
    ),
    "reach": (inf, "parameter 'reach': body.bar.com[1] must be a finite number, not inf"),
    "turned": ((2, 0, 0, 0), "parameter 'turned': orientation must be Euler parameters"),
    "damping": ((-1,), "parameter 'damping': damping must not be negative, but is -1"),
    "stiffness": ((-1,), "parameter 'stiffness': stiffness must not be negative, but is -1"),
    "knee": (0, "parameter 'knee': friction_speed must be positive, not 0"),
    "stop": (-2, "parameter 'stop': limit_damping must not be negative, but is -2"),
    "coil": (-10, "parameter 'coil': stiffness must not be negative, but is -10"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_parameters_are_refused_where_a_description_would_be(name: str) -> None:
    mechanism = read(SWING)
    value, sentence = REFUSED[name]
    with pytest.raises(DescriptionError) as caught:
        parameters.parameter_vector(mechanism, {name: value})
    assert str(caught.value).startswith(sentence)


def test_a_simulation_refuses_a_payload_below_zero() -> None:
    with pytest.raises(DescriptionError, match="parameter 'payload': mass must be positive, not -1"):
        Simulation("delta", parameters={"payload": -1}, compile=False)


def test_parameters_of_one_tensor_are_judged_together() -> None:
    """Neither number alone would make a body with the other as described."""
    mechanism = replace(read(SWING), parameters={"xx": "body.bar.inertia[1]", "yy": "body.bar.inertia[2]"})
    assert parameters.parameter_vector(mechanism, {"xx": 5.0, "yy": 5.0}).tolist() == [5.0, 5.0]
    with pytest.raises(DescriptionError, match="parameter 'xx': no body has the principal moments"):
        parameters.parameter_vector(mechanism, {"xx": 5.0})


def test_rounded_euler_parameters_are_made_unit_length() -> None:
    p = parameters.parameter_vector(read(SWING), {"turned": (0.7071, 0.7071, 0, 0)})
    where = next(item.slice for item in parameters.layout(read(SWING)) if item.name == "turned")
    assert (p[where] ** 2).sum() == pytest.approx(1, abs=1e-15)


def test_bounds_of_each_component() -> None:
    bounds = {item.name: item.at.bounds for item in parameters.layout(read(SWING))}
    assert bounds["mass"] == ((0, inf),)
    assert bounds["inertia"] == ((0, inf),) * 3 + ((-inf, inf),) * 3
    assert bounds["reach"] == ((-inf, inf),)
    assert bounds["turned"] == ((-1, 1),) * 4


@pytest.mark.parametrize("name", [name for name, kind in TYPES.items() if kind.rows])
def test_loops_read_only_what_is_said_to_change_the_geometry(name: str) -> None:
    kind = TYPES[name]
    numbers = dict.fromkeys(kind.fields, 0.7) | dict.fromkeys(("damping", "friction"), (1.0,) * kind.nv)
    numbers |= {"belt": (0.7, 0.7)} if "belt" in kind.fields else {}
    frames = Frame((1.0, 2.0, 3.0)), Frame((3.0, 2.0, 1.0), (0.8, 0.6, 0.0, 0.0))
    cut = Joint("cut", name, "ground", "a", *frames, cut=True, **numbers)
    body = Body("a", 1.0, inertia=(1.0, 1.0, 1.0, 0.0, 0.0, 0.0))
    mechanism = check(Mechanism("loop", (body,), (Joint("tree", "free", "ground", "a"), cut)))
    listed = [at for at in parameters.paths(mechanism) if at.whole.startswith("joint.cut.")]
    eq = equations(replace(mechanism, parameters={f"p{k}": at.whole for k, at in enumerate(listed)}))
    at = at_rest(eq)
    rows = ca.vertcat(at.g, ca.vec(at.G), at.b)
    read_by_loops = {item.path for item in eq.parameters if ca.depends_on(rows, eq.p[item.slice])}
    geometry = {at.whole for at in listed if at.field.changes_geometry}
    assert read_by_loops <= geometry
    assert {f"joint.cut.{field}" for field in kind.fields} <= read_by_loops
    places = {"joint.cut.on_parent.position", "joint.cut.on_child.position"}
    assert places - read_by_loops == ({"joint.cut.on_parent.position"} if name == "knife-edge" else set())


def test_a_path_is_found_without_listing_all(monkeypatch: pytest.MonkeyPatch) -> None:
    mechanism = load("hexapod")
    monkeypatch.setattr(parameters, "paths", lambda mechanism: pytest.fail("listed every path"))
    assert parameters.lookup(mechanism, "body.platform.mass") == 20
    assert parameters.lookup(mechanism, "joint.leg6.on_child.position[2]") == pytest.approx(0.08587, abs=1e-6)
    assert parameters.lookup(mechanism, "gravity[3]") == -9.81
