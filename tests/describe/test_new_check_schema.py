"""Starting one's own: `cutjoint new`, all problems at once by `cutjoint check`, the schema for editors."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from cutjoint import list_examples, load
from cutjoint.model.base.errors import DescriptionError
from cutjoint.model.cli import main as command
from cutjoint.model.describe.all_errors import find_problems
from cutjoint.model.describe.plausibility import implausible
from cutjoint.model.describe.reader import source_of
from cutjoint.model.describe.schema import schema
from cutjoint.model.describe.yaml_text import parse
from cutjoint.model.loading import check_names, read
from test_bad_descriptions import CASES, GOOD

Capture = pytest.CaptureFixture[str]


def cutjoint(capsys: Capture, *words: str) -> tuple[int, str, str]:
    code = command.main(list(words))
    captured = capsys.readouterr()
    assert "Traceback" not in captured.err
    return code, captured.out, captured.err


# -- new -------------------------------------------------------------------------------------


@pytest.mark.parametrize("like", list_examples())
def test_every_example_can_be_started_from(
    like: str, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    code, out, _ = cutjoint(capsys, "new", "my_own", "--like", like)
    assert code == 0 and "written: my_own.yaml" in out
    text = Path("my_own.yaml").read_text()
    mine = load("my_own.yaml")
    assert mine.name == "my_own" and mine.parameters and mine.joints == load(like).joints
    assert f"the example '{like}'" in text and "cutjoint check my_own.yaml" in text
    assert cutjoint(capsys, "new", "my_own")[0] == 2  # nothing is replaced unless told
    assert Path("my_own.yaml").read_text() == text
    assert cutjoint(capsys, "new", "my_own", "--force")[0] == 0


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("3x",), "the name '3x' must be made of letters, digits and _"),
        (("../x",), "must be made of letters"),
        (("x", "--like", "hexapd"), "there is no example 'hexapd'; did you mean 'hexapod'?"),
        (("x", "-o", "nowhere/x.yaml"), "there is no folder 'nowhere'"),
    ],
)
def test_what_can_not_be_started(
    words: tuple[str, ...], sentence: str, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    code, _, err = cutjoint(capsys, "new", *words)
    assert code == 2 and sentence in err and not list(tmp_path.iterdir())


# -- check -----------------------------------------------------------------------------------

MANY = """\
name: bad
bodies:
  arm: {mass: -2, com: [0.5, 0], inertia: [0.01, 0.2, 0.2]}
  ball: {mass: 1 m, com: [1, 0, 0], inertia: [0.1, 0.1, 0.9], colour: red}
  loose: {mass: 1, com: [3, 0, 0]}
joints:
  pin: {type: revolut, parent: ground, child: amr, at: [0, 0, 0], axis: [0, 1, 0]}
  socket: {type: spherical, parent: arm, child: ball}
motors:
  drive: {joint: pni, limit: fast}
outputs:
  height: body.ball.hight
parameters:
  weight: body.ball.mas
"""
TOLD = [
    (3, "mass must not be negative"),
    (3, "com must be a list of 3 numbers"),
    (4, "mass can't be in 'm'"),
    (4, "principal moments of inertia"),
    (4, "there is no field 'colour'"),
    (5, "no joint connects it to ground"),
    (7, "there is no joint type 'revolut'"),
    (7, "there is no body 'amr'"),
    (8, "the field 'at' is missing"),
    (10, "there is no joint 'pni'"),
    (10, "limit must be a number"),
    (12, "there is no output 'body.ball.hight'"),
    (14, "the path 'body.ball.mas' leads to no number"),
]


def test_all_problems_are_told_at_once(tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text(MANY)
    code, out, err = cutjoint(capsys, "check", str(path))
    assert (code, err) == (2, "")
    for line, sentence in TOLD:
        assert re.search(rf"bad\.yaml, line {line}: .*{re.escape(sentence)}", out), (line, sentence)
    assert out.rstrip().endswith(f"{len(TOLD)} problems")  # and nothing that follows from mending
    found = json.loads(cutjoint(capsys, "check", str(path), "--json")[1])
    assert len(found["problems"]) == len(TOLD) and found["complete"]


@pytest.mark.parametrize(("change", "sentence"), CASES, ids=[f"{a[:12]}>{b[-30:]}" for (a, b), _ in CASES])
def test_each_single_problem_is_told_first_and_as_when_loaded(change: tuple[str, str], sentence: str) -> None:
    text = GOOD.replace(*change)
    findings = find_problems(text, "bad.yaml", check_names)
    with pytest.raises(DescriptionError) as caught:
        read(text, "bad.yaml")
    told = [
        f"bad.yaml, line {p.line}: {p.sentence}" if p.line else f"bad.yaml: {p.sentence}"
        for p in findings.problems
    ]
    assert any(
        one in (str(caught.value), str(caught.value).replace("bad.yaml, ", "bad.yaml: ")) for one in told
    )
    # one mistake shows in few places; a wrong type in every field that the right one does not have
    assert len(told) <= (8 if "two ends" in sentence else 3), told


def test_no_yaml_and_no_file_are_told(tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text("bodies: [1, 2\njoints: {")
    code, out, _ = cutjoint(capsys, "check", str(path))
    assert code == 2 and "not YAML" in out and "more may show" in out
    assert cutjoint(capsys, "check", str(tmp_path / "none.yaml"))[0] == 2
    path.write_text("")
    assert cutjoint(capsys, "check", str(path))[0] == 2


ODD = """\
gravity: 9810
bodies:
  arm: {mass: 2, com: [0.5, 0, 0], inertia: [10000, 200000, 200000]}
  ball: {mass: 1, com: [1, 0, 0], inertia: [0.1, 0.1, 0.1]}
  third: {mass: 100000, com: [1.2, 0, 0], inertia: [0.1, 0.1, 0.1]}
joints:
  pin: {type: revolute, parent: ground, child: arm, at: [0, 0, 0], axis: [0, 1, 0], limits: [-90, 90]}
  socket: {type: spherical, parent: arm, child: ball, at: [0.9, 0, 0]}
  last: {type: revolute, parent: ball, child: third, at: [1100, 0, 0], axis: y}
"""


def test_what_looks_odd_is_told_and_is_no_error(tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "odd.yaml"
    path.write_text(ODD)
    code, out, _ = cutjoint(capsys, "check", str(path))
    assert code == 0 and "6 things that look odd" in out
    for sentence in (
        'gravity is 9810 m/s²: is that mm/s2? write "9810 mm/s2"',
        "joint 'last' is 1099 m from the centre of mass of 'ball'",
        "body 'arm': an inertia of 2e+05 kg·m² with 2 kg is that of a body 632 m wide",
        "body 'third' has 1e+05 kg, where others have 2",
        "joint 'pin': limits of -90 rad is 14.3 turns",
    ):
        assert sentence in out


@pytest.mark.parametrize("name", list_examples())
def test_nothing_that_ships_looks_odd(name: str) -> None:
    assert implausible(load(name)) == []


def test_a_good_one_says_how_it_moves(capsys: Capture) -> None:
    code, out, _ = cutjoint(capsys, "check", "fourbar")
    assert (code, out) == (0, "fourbar.yaml: no problems, 1 loop closed, mobility 1\n")


def test_a_loop_that_does_not_close_is_a_problem_of_its_own(tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "open.yaml"
    # a rod that is too short for its loop
    path.write_text(
        "bodies:\n  a: {mass: 1, com: [0.5, 0, 0]}\njoints:\n"
        "  pin: {type: revolute, parent: ground, child: a, at: [0, 0, 0], axis: y}\n"
        "  rod: {type: distance, parent: ground, child: a, point1: [9, 0, 0], point2: [1, 0, 0], length: 1}\n"
    )
    code, out, _ = cutjoint(capsys, "check", str(path))
    assert code == 3 and "1 problem" in out and "rod" in out


# -- schema ----------------------------------------------------------------------------------
jsonschema = pytest.importorskip("jsonschema")
# What a schema can't say: items that are not there, numbers that do not go together, units of a joint's kind.
RELATIONS = re.compile(
    r"there is no (body|joint) '(?!ground)|named '|in no loop|principal|symmetric|parallel|"
    r"connects (it|'arm')|of length 1|not below|beyond the limits|leads to no number; (it counts|give)|"
    r"degrees of freedom|already has|the same number|can't be in 'N(/m)?'|two points kept together"
)


@pytest.fixture(scope="module")
def validator() -> Any:
    found = schema()
    jsonschema.Draft202012Validator.check_schema(found)
    return jsonschema.Draft202012Validator(found)


@pytest.mark.parametrize("name", list_examples())
def test_the_schema_accepts_what_ships(name: str, validator: Any) -> None:
    assert list(validator.iter_errors(parse(source_of(name)[0]).values)) == []


def test_the_schema_accepts_units_forms_and_body_axes(validator: Any) -> None:
    good = parse(GOOD).values
    assert validator.is_valid(good)
    good["bodies"]["arm"] |= {
        "mass": "2000 g",
        "com": ["500 mm", 0, 0],
        "inertia": [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
    }
    good["bodies"]["ball"]["inertia"] = {"axis": "z", "along": "3 kg.cm^2", "across": "0.2 kg*m²"}
    good["joints"]["pin"] |= {
        "damping": "2 N.m.s/rad",
        "start": "30 deg",
        "limits": ["-90 deg", float("inf")],
    }
    assert list(validator.iter_errors(good)) == []
    body = {
        "axes": "body",
        "bodies": {"a": {"mass": 1}},
        "joints": {
            "j": {"type": "revolute", "parent": "ground", "child": "a", "on_parent": {"at": [0, 0, 1]}}
        },
    }
    assert list(validator.iter_errors(body)) == []


@pytest.mark.parametrize(("change", "sentence"), CASES, ids=[f"{a[:12]}>{b[-30:]}" for (a, b), _ in CASES])
def test_the_schema_refuses_the_bad_ones_that_a_schema_can(
    change: tuple[str, str], sentence: str, validator: Any
) -> None:
    try:
        values = parse(GOOD.replace(*change)).values
    except DescriptionError:
        return  # no YAML: an editor says so itself
    assert validator.is_valid(values) == bool(RELATIONS.search(sentence)), sentence


def test_the_command_writes_it(tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "s.json"
    assert cutjoint(capsys, "schema", "-o", str(path))[0] == 0
    written = json.loads(path.read_text())
    assert written.pop("$comment").startswith("written by cutjoint")
    assert written == schema() == json.loads(cutjoint(capsys, "schema")[1])
