"""Descriptions: what is written in a file becomes the mechanism it says, and back again."""

from __future__ import annotations

import random
import re
from dataclasses import fields, replace
from math import hypot, inf, pi
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
import pytest
from cutjoint import (
    Body,
    CutjointError,
    DescriptionError,
    Frame,
    Joint,
    Load,
    Mechanism,
    Motor,
    PointMass,
    Simulation,
    Strut,
    list_examples,
    load,
    save,
)
from cutjoint.model.base.units import quantity
from cutjoint.model.describe import parameters as parameters_of
from cutjoint.model.describe import reader
from cutjoint.model.describe.check import check
from cutjoint.model.describe.drawing import orientation
from cutjoint.model.describe.fields import PER_FREEDOM, fields_of
from cutjoint.model.describe.shorthand import written_out
from cutjoint.model.describe.writer import write
from cutjoint.model.describe.yaml_text import Values, dump, parse
from cutjoint.model.joints.types import TYPES
from cutjoint.model.loading import read

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
MOBILITY = {
    "arm": 6,
    "belt_picker": 2,
    "cable_platform": 6,
    "delta": 3,
    "double_pendulum": 2,
    "fivebar": 2,
    "fourbar": 1,
    "gripper": 1,
    "hexapod": 6,
    "loader": 2,
    "mcpherson": 2,
    "parallel_robot": 2,
    "servo_stewart": 3,
    "slider_crank": 1,
    "stewart": 3,
}


def rotation(e: Any) -> np.ndarray:
    """Rotation matrix of Euler parameters, written independently of the engine."""
    w, v = e[0], np.array(e[1:])
    skew = np.cross(v, np.eye(3)).T  # skew @ a == v × a
    return (w * w - v @ v) * np.eye(3) + 2 * np.outer(v, v) + 2 * w * skew


# -- the examples ------------------------------------------------------------------------------


def test_every_example_is_listed_with_a_line() -> None:
    assert set(list_examples()) >= set(MOBILITY)
    assert all(line and "\n" not in line for line in list_examples().values())


@pytest.mark.parametrize("name", list_examples())
def test_examples_say_who_they_are(name: str) -> None:
    assert load(name).name == name
    assert (EXAMPLES / f"{name}.yaml").read_text(encoding="utf-8").startswith("# ")


@pytest.mark.parametrize("name", MOBILITY)
def test_examples_assemble_and_move_as_they_should(name: str) -> None:
    simulation = Simulation(load(name), compile=False)
    assert max(simulation.start_report.loops.values(), default=0.0) < 1e-9
    assert simulation.topology().mobility == MOBILITY[name]


DRAWN = [
    n for n in list_examples() if parse((EXAMPLES / f"{n}.yaml").read_text()).values.get("axes") != "body"
]


@pytest.mark.parametrize("name", DRAWN)
def test_drawn_joints_meet_where_they_are_drawn(name: str) -> None:
    """Both frames of a joint lie at `at`, with z along `axis`, when every body is where it is drawn."""
    drawing = written_out(parse((EXAMPLES / f"{name}.yaml").read_text()).values)
    mechanism = load(name)
    origin = {b: np.array(f.get("origin", f["com"]), float) for b, f in drawing["bodies"].items()}
    origin["ground"] = np.zeros(3)
    for body in mechanism.bodies:
        assert origin[body.name] + body.com == pytest.approx(drawing["bodies"][body.name]["com"], abs=1e-15)
    for joint in mechanism.joints:
        drawn = drawing["joints"][joint.name]
        ends = [
            origin[joint.parent] + joint.on_parent.position,
            origin[joint.child] + joint.on_child.position,
        ]
        if joint.type == "distance":
            assert ends[0] == pytest.approx(drawn["point1"], abs=1e-15)
            assert ends[1] == pytest.approx(drawn["point2"], abs=1e-15)
            assert joint.length == pytest.approx(hypot(*(ends[1] - ends[0])), abs=1e-15)
            continue
        if joint.type == "rolling":
            sides = [drawn["on_parent"], drawn["on_child"]]
            assert ends == [pytest.approx(np.array(side["at"]), abs=1e-15) for side in sides]
            continue
        assert ends[0] == pytest.approx(drawn["at"], abs=1e-15)
        assert ends[1] == pytest.approx(drawn["at"], abs=1e-15)
        assert joint.on_parent.orientation == joint.on_child.orientation
        if isinstance(drawn.get("axis"), list):
            axis = np.array(drawn["axis"]) / hypot(*drawn["axis"])
            assert rotation(joint.on_parent.orientation)[:, 2] == pytest.approx(axis, abs=1e-14)


def test_the_fivebar_has_the_angles_of_the_thesis() -> None:
    """φ1 = q1, φ(i+1) = φi + q(i+1) − π, and the links end at the second support."""
    mechanism = load("fivebar")
    q = [mechanism.joint(f"q{i}").start[0] for i in (1, 2, 3, 4)]
    phi = [q[0]]
    for angle in q[1:]:
        phi.append(phi[-1] + angle - pi)
    lengths = (1, 1.5, 1.5, 1)
    end = [sum(a * f(p) for a, p in zip(lengths, phi, strict=True)) for f in (np.cos, np.sin)]
    assert end == pytest.approx([1, 0], abs=1e-15)
    simulation = Simulation(mechanism, compile=False)
    assert simulation.start_report.iterations == 0
    for i, p in enumerate(phi):
        e = simulation.outputs()[f"body.link{i + 1}.orientation"]
        assert rotation(e)[:, 0] == pytest.approx([np.cos(p), 0, np.sin(p)], abs=1e-12)


def test_the_parallelogram_stays_one() -> None:
    """q3 = q1 − q2 and q4 = q2 − q1 − π (thesis, Eq. 2.48), also after it has moved."""
    simulation = Simulation(load("parallel_robot"), compile=False)
    simulation.set_inputs({"shoulder": 30.0, "elbow": -10.0})
    for _ in range(200):
        simulation.step(1e-3)
    q = [simulation.outputs()[f"joint.q{i}.position"] for i in (1, 2, 3, 4)]
    assert abs(q[0] - pi / 3) > 1e-3
    assert q[2] == pytest.approx(q[0] - q[1], abs=1e-9)
    assert q[3] == pytest.approx(q[1] - q[0] - pi, abs=1e-9)


def test_the_delta_robot_keeps_its_platform_level() -> None:
    simulation = Simulation(load("delta"), compile=False)
    simulation.set_inputs({"motor1": -8.0, "motor2": -5.0})
    for _ in range(100):
        simulation.step(1e-3)
    outputs = simulation.outputs()
    assert hypot(outputs["body.platform.position"][0], outputs["body.platform.position"][1]) > 0.01
    assert rotation(outputs["body.platform.orientation"]) == pytest.approx(np.eye(3), abs=1e-9)


# -- what a file says --------------------------------------------------------------------------

HEAD = """\
bodies: {a: {mass: 1, com: [1, 2, 3], inertia: %s}}
joints: {j: {type: free, parent: ground, child: a, at: [0, 0, 0]}}"""


@pytest.mark.parametrize(
    ("text", "six"),
    [
        ("[1, 2, 3]", (1, 2, 3, 0, 0, 0)),
        ("[2, 2, 3, 0.1, 0.2, 0.3]", (2, 2, 3, 0.1, 0.2, 0.3)),
        ("[[2, 0.1, 0.2], [0.1, 2, 0.3], [0.2, 0.3, 3]]", (2, 2, 3, 0.1, 0.2, 0.3)),
        ("{axis: z, along: 1, across: 2}", (2, 2, 1, 0, 0, 0)),
        ("{axis: [1, 1, 0], along: 1, across: 2}", (1.5, 1.5, 2, -0.5, 0, 0)),
        ("[1000 kg.cm2, 0.1, 0.1 kg m^2]", (0.1, 0.1, 0.1, 0, 0, 0)),
        ("~", (0, 0, 0, 0, 0, 0)),
    ],
)
def test_inertia_in_every_form(text: str, six: tuple[float, ...]) -> None:
    assert read(HEAD % text).bodies[0].inertia == pytest.approx(six, abs=1e-15)


def test_defaults_of_a_drawing() -> None:
    mechanism = read(HEAD % "[1, 1, 1]", "my-robot.yaml")
    assert mechanism.name == "my_robot"
    assert mechanism.gravity == (0, 0, -9.81)
    assert mechanism.bodies[0].com == (0, 0, 0)  # the frame's origin is the centre of mass
    assert mechanism.joints[0].on_child.position == (-1, -2, -3)
    given = read((HEAD % "[1, 1, 1]").replace("mass", "origin: [1, 1, 1], mass"))
    assert given.bodies[0].com == (0, 1, 2)
    assert given.joints[0].on_child.position == (-1, -1, -1)


def test_gravity_is_a_number_or_a_vector() -> None:
    assert read("gravity: 0\n" + HEAD % "~").gravity == (0, 0, 0)
    assert read("gravity: 981 cm/s2\n" + HEAD % "~").gravity == (0, 0, -9.81)
    assert read("gravity: [0, -9.81, 0]\n" + HEAD % "~").gravity == (0, -9.81, 0)


def one_joint(fields: str, axes: str = "body") -> Joint:
    joint = f"{{parent: ground, child: a, {fields}}}"
    return read(f"axes: {axes}\nbodies: {{a: {{mass: 1, com: [0, 0, 0]}}}}\njoints: {{j: {joint}}}").joints[0]


def test_numbers_of_joints() -> None:
    assert one_joint("type: revolute, damping: 2").damping == (2.0,)
    assert one_joint("type: cylindrical, damping: 2").damping == (2.0, 2.0)
    assert one_joint("type: cylindrical, friction: [1 N.m, 3 N]").friction == (1.0, 3.0)
    assert one_joint("type: revolute, start: 30 deg").start == (pi / 6,)
    assert one_joint("type: revolute, limits: [-90 deg, 90 deg]").limits == (-pi / 2, pi / 2)
    assert one_joint("type: prismatic, limits: [0, .inf]").limits == (0.0, inf)
    assert one_joint("type: helical, lead: 5 mm").pitch == 0.005 / (2 * pi)
    assert one_joint("type: helical, pitch: 5 mm/turn").pitch == pytest.approx(0.005 / (2 * pi), rel=1e-15)
    assert one_joint("type: revolute, cut: false").cut is False
    assert one_joint("type: spherical, start: [0.7071, 0.7071, 0, 0]").start == pytest.approx(
        (np.sqrt(0.5), np.sqrt(0.5), 0, 0), abs=1e-15
    )


def test_axes_in_every_form() -> None:
    turned = one_joint("type: revolute, axis: y, on_child: {axis: -x, at: [1, 2, 3]}")
    assert rotation(turned.on_parent.orientation)[:, 2].tolist() == [0, 1, 0]
    assert rotation(turned.on_child.orientation)[:, 2].tolist() == [-1, 0, 0]
    assert turned.on_child.position == (1, 2, 3)
    matrix = one_joint("type: revolute, on_parent: {orientation: [[0, 0, 1], [1, 0, 0], [0, 1, 0]]}")
    assert matrix.on_parent.orientation == (0.5, 0.5, 0.5, 0.5)
    four = one_joint("type: revolute, orientation: [0.5, -0.5, 0.5, 0.5]")
    assert four.on_parent.orientation == four.on_child.orientation == (0.5, -0.5, 0.5, 0.5)
    two = one_joint("type: universal, at: [0, 0, 0], axis: [0, 3, 0], across: [2, 0.1, 0]", "world")
    assert rotation(two.on_parent.orientation)[:, 0] == pytest.approx([1, 0, 0], abs=1e-15)


@pytest.mark.parametrize("axis", ["x", "-x", "y", "-y", "z", "-z"])
def test_coordinate_axes_come_out_without_rounding(axis: str) -> None:
    e = one_joint(f"type: revolute, axis: {axis}").on_parent.orientation
    R = rotation(e)
    assert set(R.ravel()) <= {-1.0, 0.0, 1.0}
    assert R[:, 2]["xyz".index(axis[-1])] == (-1 if axis[0] == "-" else 1)


def test_any_two_directions_make_a_frame() -> None:
    rng = np.random.default_rng(3)
    for axis, across in rng.normal(size=(200, 2, 3)):
        R = rotation(orientation(tuple(axis), tuple(across)))
        np.testing.assert_allclose(R.T @ R, np.eye(3), atol=1e-14)
        assert R[:, 2] == pytest.approx(axis / np.linalg.norm(axis), abs=1e-14)
        assert R[:, 0] @ across > 0
        assert R[:, 1] @ across == pytest.approx(0, abs=1e-13)


def test_springs_are_relaxed_as_drawn_unless_told() -> None:
    text = (
        HEAD % "~"
        + "\nsprings: {s: {body1: ground, body2: a, point1: [1, 2, 0], point2: [1, 2, 3], stiffness: 10%s}}"
    )
    spring = read(text % "").struts[0]
    assert (spring.length, spring.point1, spring.point2) == (3.0, (1, 2, 0), (0, 0, 0))
    assert not spring.actuated
    assert read(text % ", length: 20 mm").struts[0].length == 0.02
    assert read(text.replace("springs", "cylinders") % "").struts[0].actuated
    with pytest.raises(DescriptionError, match=r"spring 's': the field 'length' is missing"):
        read("axes: body\n" + (text % "").replace(", at: [0, 0, 0]", ""))


def test_aliases_and_words_of_old_yaml() -> None:
    text = "axes: body\nbodies: {on: {mass: &m 2}, no: {mass: *m}}\njoints:\n"
    text += "  yes: {type: free, parent: ground, child: on}\n  off: {type: free, parent: ground, child: no}"
    mechanism = read(text)
    assert [b.name for b in mechanism.bodies] == ["on", "no"]
    assert [b.mass for b in mechanism.bodies] == [2.0, 2.0]
    assert [j.name for j in mechanism.joints] == ["yes", "off"]


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.yaml")), ids=lambda path: path.stem)
def test_libyaml_reads_what_the_slower_parser_reads(path: Path) -> None:
    """Values, lines and places; both are there, so that neither may lead astray."""
    pytest.importorskip("_ruamel_yaml", reason="needs ruamel.yaml.clib")
    text = path.read_text(encoding="utf-8") + "\nx: &a {°: [1, 'ä'], b: !!str 2}\ny: *a\n"
    assert Values(text, pure=False).parsed() == Values(text, pure=True).parsed()


@pytest.mark.parametrize(
    ("text", "unit", "value"),
    [
        ("35 mm", "m", 0.035),
        ("5cm", "m", 0.05),
        ("1 in", "m", 0.0254),
        ("90 deg", "rad", pi / 2),
        ("90°", "rad", pi / 2),
        ("0.5 turn", "rad", pi),
        ("60 rpm", "rad/s", 2 * pi),
        ("36 km/h", "m/s", 10.0),
        ("1e-3", "m", 0.001),
        ("-.5 kN", "N", -500.0),
        ("2 N·m", "N.m", 2.0),
        ("2 Nm", "N.m/rad", 2.0),
        ("3 N*mm/deg", "N.m/rad", 0.003 * 180 / pi),
        ("4 kg mm²", "kg.m2", 4e-6),
        ("1 slug", "kg", 14.593902937206364),
    ],
)
def test_units(text: str, unit: str, value: float) -> None:
    assert quantity(text, unit) == pytest.approx(value, rel=1e-15)


# -- there and back ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", list_examples())
def test_examples_survive_a_round_trip(name: str, tmp_path: Path) -> None:
    mechanism = load(name)
    save(mechanism, tmp_path / "copy.yaml")
    assert load(tmp_path / "copy.yaml") == mechanism


def random_description(seed: int) -> Mechanism:
    """Every field random, every joint type: consistent enough for `check`, not for assembly."""
    rng = random.Random(seed)

    def x() -> float:
        return rng.choice([0.0, 1.0, rng.gauss(0, 1), rng.gauss(0, 1) * 10 ** rng.randint(-30, 30)])

    def vector(n: int) -> tuple[float, ...]:
        return tuple(x() for _ in range(n))

    def turn() -> tuple[float, ...]:
        e = np.array([rng.gauss(0, 1) for _ in range(4)])
        return tuple((e / np.linalg.norm(e)).tolist())

    def some(value: Any, otherwise: Any) -> Any:
        return value if rng.random() < 0.5 else otherwise

    def inertia() -> tuple[float, ...]:
        points = np.array([[rng.gauss(0, 1) for _ in range(3)] for _ in range(4)])
        moments = (points**2).sum() * np.eye(3) - points.T @ points
        return tuple(moments[i, j].item() for i, j in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)))

    def joint(name: str, kind: str, parent: str, child: str) -> Joint:
        t = TYPES[kind]
        fields: dict[str, Any] = {
            key: some(tuple(abs(a) for a in vector(t.nv)), ())
            for key, field in fields_of(Joint).items()
            if getattr(field, "size", None) == PER_FREEDOM
        }
        if fields["bristle_stiffness"]:  # what sticks has a friction to fall to
            level = tuple(rng.random() + 0.1 for _ in range(t.nv))
            stuck = some(tuple(2 * a for a in level), ())
            fields |= {"friction": level, "stiction": stuck, "bristle_stiffness": level}
        else:
            fields |= {"stiction": (), "bristle_damping": ()}
        start = [a if abs(a) < 1e8 else rng.gauss(0, 1) for a in vector(t.nq)]  # angles have digits left
        for move, q, _ in t.parts:
            if not move.plain:
                start[q] = turn()
        if t.nq == 1:
            low, high = fields["limits"] = some((-rng.random(), some(rng.random(), inf)), (-inf, inf))
            start = [min(max(start[0], low), high)]
        return Joint(
            name,
            kind,
            parent,
            child,
            Frame(vector(3), turn()),
            some(Frame(some(vector(3), (0.0, 0.0, 0.0)), turn()), Frame()),
            pitch=rng.gauss(0, 1) if kind == "helical" else 0.0,
            length=rng.random() + 0.1 if any("Distance" in type(k).__name__ for k in t.locks) else 0.0,
            travel=x() if any("Slide" in type(k).__name__ for k in t.locks) else 0.0,
            radius=rng.random() + 0.1 if "rolling" in kind else 0.0,
            belt=some(vector(2), (0.0, 0.0)) if "rolling" in kind else (0.0, 0.0),
            friction_speed=some(rng.random() + 0.1, 0.01),
            limit_stiffness=some(rng.random(), 1e4),
            start=some(tuple(start), ()),
            speed=some(vector(t.nv), ()),
            cut=some(True, None) if t.moves is None else some(rng.random() < 0.5, None),
            **fields,
        )

    names = [f"b{i}" for i in range(rng.randint(1, 6))]
    movable = [t for t in TYPES if TYPES[t].moves is not None]
    joints = [
        joint(f"j{i}", rng.choice(movable), rng.choice(["ground", *names[:i]]), n)
        for i, n in enumerate(names)
    ]
    joints += [joint(f"c{i}", rng.choice(list(TYPES)), "ground", rng.choice(names)) for i in range(4)]
    driven = [j.name for j in joints if TYPES[j.type].nv == 1]
    mechanism = Mechanism(
        f"random{seed}",
        tuple(Body(n, rng.random() + 0.01, vector(3), some(inertia(), (0.0,) * 6)) for n in names),
        tuple(joints),
        tuple(Motor(f"m_{j}", j, some(rng.random() + 1, inf)) for j in driven),
        tuple(
            Strut(
                f"s{i}",
                "ground",
                rng.choice(names),
                vector(3),
                vector(3),
                abs(x()),
                abs(x()),
                abs(x()),
                i > 1,
            )
            for i in range(rng.randint(0, 4))
        ),
        tuple(Load(f"l{i}", rng.choice(names), vector(3), vector(3), vector(3), "body") for i in range(2)),
        vector(3),
        {"first": "body.b0.position[1]", "all": "energy"},
        {},
        rng.choice(["", "1e-3", "true", "two\nlines\n", " # x: y", "[é…]\t\x85\u2028'\"", "~", "a" * 300]),
        tuple(PointMass(f"pm{i}", rng.choice(names), rng.random(), vector(3)) for i in range(2)),
    )
    paths = [at.whole for at in parameters_of.paths(mechanism)]
    chosen = rng.sample(paths, min(3, len(paths)))
    return check(replace(mechanism, parameters={f"p{i}": path for i, path in enumerate(chosen)}))


@pytest.mark.parametrize("seed", range(60))
def test_random_mechanisms_survive_a_round_trip(seed: int) -> None:
    mechanism = random_description(seed)
    text = write(mechanism)
    again = reader.read_with(
        text, "description", check
    )  # as a text; these mechanisms can't be cut as they say
    assert again == mechanism
    assert write(again) == text


def test_any_text_survives_a_round_trip() -> None:
    rng = random.Random(0)
    odd = [
        "\x00",
        "\x07",
        "\x7f",
        "\x85",
        "\xa0",
        "\u2028",
        "\ud800",
        "\ufeff",
        "\ufffe",
        "é",
        "😀",
        "true",
        "null",
    ]
    characters = [*"ab ~:#-?[]{},&*!|>'\"%@`\\\n\t\r.0123e_()=<", *odd]
    for _ in range(500):
        text = "".join(rng.choice(characters) for _ in range(rng.randint(0, 8)))
        assert parse(dump({"a": text, "b": {"c": {"d": text}}})).values == {
            "a": text,
            "b": {"c": {"d": text}},
        }


def test_numbers_of_any_kind_become_floats() -> None:
    """Lists, arrays and whole numbers are welcome in Python and equal what a file gives."""
    built = Mechanism(
        "built",
        (Body("a", np.float32(2), com=np.array([1, 2, 3]), inertia=[1, 1, 1, 0, 0, 0]),),
        (Joint("j", "cylindrical", "ground", "a", Frame([0, 0, 1]), damping=3, start=np.zeros(2)),),
        gravity=[0, 0, -10],
    )
    checked = check(built)
    assert checked.bodies[0] == Body("a", 2.0, (1.0, 2.0, 3.0), (1.0, 1.0, 1.0, 0.0, 0.0, 0.0))
    assert checked.joints[0].damping == (3.0, 3.0)
    assert check(checked) == checked
    assert read(write(built)) == checked


def test_a_failed_save_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "m.yaml"
    save(load("fourbar"), path)
    before = path.read_text()
    with pytest.raises(CutjointError):
        save(replace(load("fourbar"), gravity=(0, 0, float("nan"))), path)
    assert path.read_text() == before
    assert list(tmp_path.iterdir()) == [path]
    with pytest.raises(CutjointError, match="there is no folder"):
        save(load("fourbar"), tmp_path / "no" / "m.yaml")


def test_a_path_and_a_name_are_told_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    save(replace(load("fourbar"), name="mine"), "stewart")
    assert load("stewart").name == "stewart"
    assert load("./stewart").name == "mine"
    assert load(Path("stewart")).name == "mine"


# -- the manual --------------------------------------------------------------------------------

MANUAL = (EXAMPLES.parent / "docs" / "describing.md").read_text(encoding="utf-8")


WHOLE = [text for text in re.findall(r"```yaml\n(.*?)```", MANUAL, re.DOTALL) if "bodies:" in text]


@pytest.mark.parametrize("text", WHOLE)
def test_descriptions_in_the_manual_are_good(text: str) -> None:
    Simulation(read(text), compile=False)


def test_python_in_the_manual_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    exec(re.findall(r"```python\n(.*?)```", MANUAL, re.DOTALL)[0], names)
    assert load("pendulum.yaml") == check(names["pendulum"])


def test_the_manual_names_every_field() -> None:
    dataclasses = (Body, Frame, Joint, Motor, Strut, Load, Mechanism)
    names = {f.name for d in dataclasses for f in fields(d)}
    names -= {"struts", "actuated", "folder"}  # springs and cylinders in a file, and where that was
    missing = {n for n in names | set(TYPES) if not re.search(rf"`[^`]*\b{n}\b[^`]*`", MANUAL)}
    assert missing == set()


# -- parameters --------------------------------------------------------------------------------


def test_every_path_can_be_read_and_replaced() -> None:
    for seed in range(10):
        mechanism = replace(random_description(seed), parameters={})
        listed = parameters_of.paths(mechanism)
        assert len({at.whole for at in listed}) == len(listed)
        for at in listed:
            path, size = at.whole, len(at.indices)
            value = parameters_of.lookup(mechanism, path)
            assert np.size(value) == size == len(at.units) == len(at.bounds)
            assert parameters_of.locate(mechanism, path) == at
            assert parameters_of.replace_value(mechanism, path, value) == mechanism
            if not isinstance(value, float):
                changed = parameters_of.replace_value(mechanism, f"{path}[{size}]", 7.5)
                assert parameters_of.lookup(changed, f"{path}[{size}]") == 7.5
                assert parameters_of.lookup(changed, path)[:-1] == value[:-1]


def test_symbols_stand_where_the_numbers_were() -> None:
    mechanism = replace(
        load("stewart"),
        parameters={
            "mass": "body.leg1.mass",
            "where": "joint.hinge1.on_parent.position",
            "tall": "body.platform.com[3]",
            "wide": "body.platform.com[1]",
            "g": "gravity",
        },
    )
    symbolic, p, layout = parameters_of.symbolic(mechanism)
    values = parameters_of.default_vector(mechanism)
    assert p.shape == (9, 1) and values.shape == (9,)
    assert [(q.name, q.slice, q.at.unit) for q in layout] == [
        ("mass", slice(0, 1), "kg"),
        ("where", slice(1, 4), "m"),
        ("tall", slice(4, 5), "m"),
        ("wide", slice(5, 6), "m"),
        ("g", slice(6, 9), "m/s2"),
    ]
    for path in ("body.leg1.mass", "joint.hinge1.on_parent.position", "body.platform.com", "gravity"):
        f = ca.Function("f", [p], [parameters_of.lookup(symbolic, path)])
        assert f(values).full().ravel().tolist() == np.ravel(parameters_of.lookup(mechanism, path)).tolist()
    moved = ca.Function("f", [p], [symbolic.body("platform").com])(np.arange(9.0))
    assert moved.full().ravel().tolist() == [5.0, 0.0, 4.0]
    assert symbolic.body("leg2") == mechanism.body("leg2")


def test_some_parameters_or_none() -> None:
    mechanism = load("slider_crank")
    _, p, layout = parameters_of.symbolic(mechanism, ["s12"])
    assert p.shape == (3, 1) and [q.name for q in layout] == ["s12"]
    assert parameters_of.default_vector(mechanism, ["s12"]).tolist() == [2.0, 0.0, 0.0]
    same, p, layout = parameters_of.symbolic(mechanism, [])
    assert same == mechanism and p.shape == (0, 1) and layout == ()
    with pytest.raises(DescriptionError, match="has no parameter 's13'; did you mean 's"):
        parameters_of.symbolic(mechanism, ["s13"])


def test_values_of_the_wrong_size_are_refused() -> None:
    mechanism = load("stewart")
    with pytest.raises(DescriptionError, match=r"gravity must be a list of 3 numbers, not '9.81'"):
        parameters_of.replace_value(mechanism, "gravity", 9.81)
    with pytest.raises(DescriptionError, match=r"body.leg1.mass must be a number, not a list of 2"):
        parameters_of.replace_value(mechanism, "body.leg1.mass", [1, 2])
    with pytest.raises(DescriptionError, match=r"gravity must be a finite number, not nan"):
        parameters_of.replace_value(mechanism, "gravity", [0, 0, float("nan")])
