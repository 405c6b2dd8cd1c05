"""Bad descriptions: each gets one sentence that says what is wrong, where, and what to do."""

from __future__ import annotations

import random
import re
from dataclasses import replace
from math import inf, nan
from pathlib import Path
from typing import Any

import pytest
from cutjoint import Body, DescriptionError, Frame, Joint, Load, Mechanism, Motor, Strut, load
from cutjoint.model.describe.check import check
from cutjoint.model.joints.types import TYPES
from cutjoint.model.loading import read

# A pendulum with everything a description can have; each case below spoils one line of it.
GOOD = """\
name: good
description: a pendulum that carries a ball
gravity: 9.81
axes: world
bodies:
  arm: {mass: 2, com: [0.5, 0, 0], inertia: [0.01, 0.2, 0.2]}
  ball: {mass: 1, com: [1, 0, 0], inertia: [0.1, 0.1, 0.1]}
joints:
  pin: {type: revolute, parent: ground, child: arm, at: [0, 0, 0], axis: [0, 1, 0]}
  socket: {type: spherical, parent: arm, child: ball, at: [1, 0, 0]}
motors:
  drive: {joint: pin, limit: 50}
springs:
  coil: {body1: ground, body2: ball, point1: [0, 0, 1], point2: [1, 0, 0], stiffness: 10}
cylinders:
  jack: {body1: ground, body2: arm, point1: [0, 0, -1], point2: [0.5, 0, 0]}
loads:
  push: {body: ball, force: [1, 0, 0]}
outputs:
  height: body.ball.position[3]
parameters:
  weight: body.ball.mass
"""
PIN = "{type: revolute, parent: ground, child: arm, at: [0, 0, 0], axis: [0, 1, 0]}"
SOCKET = "{type: spherical, parent: arm, child: ball, at: [1, 0, 0]}"


def pin(**changes: str) -> tuple[str, str]:
    """The line of the pin with some fields changed or added."""
    fields = dict(re.findall(r"(\w+): (\[.*?\]|[\w.]+)", PIN)) | changes
    return PIN, "{" + ", ".join(f"{k}: {v}" for k, v in fields.items()) + "}"


def socket(**extra: str) -> tuple[str, str]:
    return SOCKET, SOCKET[:-1] + "".join(f", {k}: {v}" for k, v in extra.items()) + "}"


CASES: list[tuple[tuple[str, str], str]] = [
    # together
    (
        pin(limits="[-1, 1]", start="2"),
        "bad.yaml, line 9: joint 'pin': start 2 is beyond the limits, -1 to 1; move one of them",
    ),
    # names
    (
        ("child: arm", "child: amr"),
        "bad.yaml, line 9: joint 'pin': there is no body 'amr'; did you mean 'arm'?",
    ),
    (
        ("body: ball", "body: hull"),
        "bad.yaml, line 18: load 'push': there is no body 'hull'; known: arm, ball",
    ),
    (
        ("body: ball", "body: ground"),
        "bad.yaml, line 18: load 'push': there is no body 'ground'; known: arm, ball",
    ),
    (
        ("body2: ball", "body2: bal"),
        "bad.yaml, line 14: spring 'coil': there is no body 'bal'; did you mean 'ball'?",
    ),
    (
        ("  ball: {mass", "  arm: {mass"),
        "bad.yaml, line 7: two bodies are named 'arm'; rename one (first in line 6)",
    ),
    (
        ("  socket:", "  pin:"),
        "bad.yaml, line 10: two joints are named 'pin'; rename one (first in line 9)",
    ),
    (("  jack:", "  coil:"), "bad.yaml, line 16: two springs or cylinders are named 'coil'; rename one"),
    (("  jack:", "  drive:"), "bad.yaml, line 16: a motor and a cylinder are both named 'drive'; rename one"),
    (
        ("  ball: {mass", "  ground: {mass"),
        "bad.yaml, line 7: 'ground' is the fixed frame every mechanism has; rename that body",
    ),
    (
        ("  pin:", "  pin-1:"),
        "bad.yaml, line 9: the name 'pin-1' must be made of letters, digits and _, such as 'pin_1'",
    ),
    (
        ("name: good", "name: 3-RRS"),
        "bad.yaml, line 1: the name '3-RRS' must be made of letters, digits and _, such as '_3_RRS'",
    ),
    # fields
    (
        ("{mass: 2", "{mas: 2"),
        "bad.yaml, line 6: body 'arm': there is no field 'mas'; did you mean 'mass'?",
    ),
    (
        ("gravity:", "gravitation:"),
        "bad.yaml, line 3: there is no field 'gravitation'; did you mean 'gravity'?",
    ),
    (
        ("{mass: 2", "{mass: 2, colour: red"),
        "bad.yaml, line 6: body 'arm': there is no field 'colour'; known: mass, com, inertia, label, origin",
    ),
    (("{mass: 2, ", "{"), "bad.yaml, line 6: body 'arm': the field 'mass' is missing"),
    ((", com: [1, 0, 0]", ""), "bad.yaml, line 7: body 'ball': the field 'com' is missing"),
    ((", axis: [0, 1, 0]", ""), "bad.yaml, line 9: joint 'pin': the field 'axis' is missing"),
    (("type: revolute, ", ""), "bad.yaml, line 9: joint 'pin': the field 'type' is missing"),
    (pin(type="universal"), "bad.yaml, line 9: joint 'pin': the field 'across' is missing"),
    (
        pin(type="distance"),
        "bad.yaml, line 9: joint 'pin': there is no field 'at'; "
        "a distance joint has two ends, 'point1' and 'point2'",
    ),
    (
        pin(point1="[0, 0, 0]"),
        "bad.yaml, line 9: joint 'pin': there is no field 'point1'; a revolute joint has one place, 'at'",
    ),
    (
        (SOCKET, "{type: distance, parent: arm, child: ball, point1: [1, 0, 0], point2: [2, 0, 0], axis: x}"),
        "bad.yaml, line 10: joint 'socket': there is no field 'axis'; "
        "the ends of a distance joint have no direction",
    ),
    (
        pin(on_parent="{angle: 3}"),
        "bad.yaml, line 9: joint 'pin': there is no field 'angle'; known: at, orientation, axis, across",
    ),
    (
        ("axes: world", "axes: body"),
        "bad.yaml, line 9: joint 'pin': there is no field 'at'; "
        "it is for 'axes: world'; write on_parent: {at: ...}, on_child: {at: ...}",
    ),
    (("axes: world", "axes: local"), "bad.yaml, line 4: axes must be world or body, not 'local'"),
    (
        ("mass: 2,", "mass: 2, mass: 3,"),
        "bad.yaml, line 6: the field 'mass' is given twice; remove one (first in line 6)",
    ),
    # types
    (("mass: 2", "mass: heavy"), "bad.yaml, line 6: body 'arm': mass must be a number, not 'heavy'"),
    (("mass: 2", "mass: [2]"), "bad.yaml, line 6: body 'arm': mass must be a number, not a list of 1"),
    (("mass: 2", "mass: true"), "bad.yaml, line 6: body 'arm': mass must be a number, not 'true'"),
    (
        ("com: [0.5, 0, 0]", "com: [0.5, 0]"),
        "bad.yaml, line 6: body 'arm': com must be a list of 3 numbers, not a list of 2",
    ),
    (
        ("com: [0.5, 0, 0]", "com: 0.5"),
        "bad.yaml, line 6: body 'arm': com must be a list of 3 numbers, not '0.5'",
    ),
    (("parent: ground", "parent: 3"), "bad.yaml, line 9: joint 'pin': parent must be a word, not '3.0'"),
    (("name: good", "name: [good]"), "bad.yaml, line 1: name must be a word, not a list of 1"),
    (
        ("{joint: pin, limit: 50}", "pin"),
        "bad.yaml, line 12: motor 'drive': it must be a mapping of fields, not 'pin'",
    ),
    (
        ("motors:\n  drive: {joint: pin, limit: 50}", "motors: [pin]"),
        "bad.yaml, line 11: motors must be a mapping of names, not a list of 1",
    ),
    (pin(cut="maybe"), "bad.yaml, line 9: joint 'pin': cut must be true or false, not 'maybe'"),
    (
        pin(cut="true"),
        "bad.yaml, line 9: joint 'pin' says cut: true, but it is in no loop; remove 'cut'",
    ),
    # numbers
    (("mass: 2", "mass: .nan"), "bad.yaml, line 6: body 'arm': mass must be a finite number, not nan"),
    (
        ("com: [0.5, 0, 0]", "com: [0.5, .inf, 0]"),
        "bad.yaml, line 6: body 'arm': com must be a finite number, not inf",
    ),
    (
        ("gravity: 9.81", "gravity: 1e999"),
        "bad.yaml, line 3: gravity must be a finite number, not inf",
    ),
    (("mass: 2", "mass: -2"), "bad.yaml, line 6: body 'arm': mass must not be negative, but is -2"),
    (
        ("[0.01, 0.2, 0.2]", "[0.01, 0.2, 0.3]"),
        "bad.yaml, line 6: body 'arm': no body has the principal moments of inertia 0.01, 0.2, 0.3: "
        "the largest exceeds the sum of the others",
    ),
    (
        ("[0.01, 0.2, 0.2]", "[0.2, 0.2, 0.2, 0.3, 0, 0]"),
        "bad.yaml, line 6: body 'arm': no body has a negative moment of inertia; "
        "the principal ones are -0.1, 0.2, 0.5",
    ),
    (
        ("[0.01, 0.2, 0.2]", "[0.01, 0.2]"),
        "bad.yaml, line 6: body 'arm': inertia must be 3 or 6 numbers, a 3 by 3 matrix, "
        "or {axis, along, across}, not a list of 2",
    ),
    (
        ("[0.01, 0.2, 0.2]", "[[1, 0.1, 0], [0.2, 1, 0], [0, 0, 1]]"),
        "bad.yaml, line 6: body 'arm': inertia must be a symmetric matrix",
    ),
    # units
    (
        ("mass: 2", "mass: 2 m"),
        "bad.yaml, line 6: body 'arm': mass can't be in 'm'; "
        "write a plain number in kg, or another unit of that kind",
    ),
    (
        ("mass: 2", "mass: 2 stone"),
        "bad.yaml, line 6: body 'arm': mass has the unknown unit 'stone'; "
        "write a plain number in kg, or another unit of that kind",
    ),
    (
        ("com: [0.5, 0, 0]", "com: [30 deg, 0, 0]"),
        "bad.yaml, line 6: body 'arm': com can't be in 'deg'; "
        "write a plain number in m, or another unit of that kind",
    ),
    (
        pin(stiffness="10 N/m"),
        "bad.yaml, line 9: joint 'pin': stiffness can't be in 'N/m'; "
        "write a plain number in N.m/rad, or another unit of that kind",
    ),
    (
        pin(axis="[0, 1 m, 0]"),
        "bad.yaml, line 9: joint 'pin': axis can't be in 'm'; write a plain number",
    ),
    (
        ("limit: 50", "limit: 50 N"),
        "bad.yaml, line 12: motor 'drive': limit can't be in 'N'; "
        "write a plain number in N.m, or another unit of that kind",
    ),
    (
        pin(type="helical", pitch="5 mm"),
        "bad.yaml, line 9: joint 'pin': pitch can't be in 'mm'; "
        "write a plain number in m/rad, or another unit of that kind",
    ),
    # joints
    (
        pin(axis="[0, 0, 0]"),
        "bad.yaml, line 9: joint 'pin': axis must not be zero, since it is a direction",
    ),
    (pin(across="[0, 2, 0]"), "bad.yaml, line 9: joint 'pin': across must not be parallel to axis"),
    (
        pin(type="hinge"),
        "bad.yaml, line 9: joint 'pin': there is no joint type 'hinge'; known: " + ", ".join(TYPES),
    ),
    (
        pin(type="revolut"),
        "bad.yaml, line 9: joint 'pin': there is no joint type 'revolut'; did you mean 'revolute'?",
    ),
    (
        pin(parent="arm"),
        "bad.yaml, line 9: joint 'pin': it connects 'arm' with itself; name another body",
    ),
    (
        ("parent: ground, child: arm", "parent: ball, child: arm"),
        "bad.yaml, line 6: body 'arm': no joint connects it to ground; add one (type: free if it floats)",
    ),
    (
        (SOCKET, "{type: distance, parent: arm, child: ball, point1: [0, 0, 0], point2: [1, 0, 0]}"),
        "bad.yaml, line 7: body 'ball': no joint but rods connects it to ground; "
        "add one (type: free if it floats)",
    ),
    (
        (SOCKET, "{type: distance, parent: arm, child: ball, point1: [1, 0, 0], point2: [1, 0, 0]}"),
        "bad.yaml, line 10: joint 'socket': length must be positive, not 0; "
        "two points kept together are spherical",
    ),
    (
        pin(start="[0, 1]"),
        "bad.yaml, line 9: joint 'pin': start must be a list of 1 numbers, not a list of 2",
    ),
    (
        socket(start="[0, 0, 0]"),
        "bad.yaml, line 10: joint 'socket': start must be a list of 4 numbers, not a list of 3",
    ),
    (
        socket(start="[2, 0, 0, 0]"),
        "bad.yaml, line 10: joint 'socket': start must be Euler parameters (w, x, y, z) of length 1, "
        "not of length 2",
    ),
    (
        pin(limits="[1, -1]"),
        "bad.yaml, line 9: joint 'pin': limits must be [lowest, highest], but 1 is not below -1",
    ),
    (
        socket(limits="[-1, 1]"),
        "bad.yaml, line 10: joint 'socket': a spherical joint has not one coordinate, so it takes no limits",
    ),
    (
        pin(type="helical"),
        "bad.yaml, line 9: joint 'pin': pitch must not be 0; a screw needs its travel in metres per radian",
    ),
    (
        pin(type="helical", pitch="0.01", lead="0.06"),
        "bad.yaml, line 9: joint 'pin': lead and pitch say the same; remove one",
    ),
    (
        pin(pitch="0.01"),
        "bad.yaml, line 9: joint 'pin': a revolute joint has no pitch; use type helical",
    ),
    (
        pin(length="0.01"),
        "bad.yaml, line 9: joint 'pin': a revolute joint has no length; use type distance",
    ),
    (
        pin(radius="0.1"),
        "bad.yaml, line 9: joint 'pin': a revolute joint has no radius; use type rolling",
    ),
    (
        socket(stiffness="[1, 2]"),
        "bad.yaml, line 10: joint 'socket': stiffness must be a list of 3 numbers, not a list of 2",
    ),
    (
        pin(damping="[1, 2]"),
        "bad.yaml, line 9: joint 'pin': damping must be a list of 1 numbers, not a list of 2",
    ),
    (
        ("weight: body.ball.mass", "weight: joint.pin.limit_damping"),
        "bad.yaml, line 22: parameter 'weight': the path 'joint.pin.limit_damping' leads to no number; "
        "it counts only with 'limits'; give joint 'pin' that first",
    ),
    (pin(stiffness="-1"), "bad.yaml, line 9: joint 'pin': stiffness must not be negative, but is -1"),
    (pin(damping="-1"), "bad.yaml, line 9: joint 'pin': damping must not be negative, but is -1"),
    (
        pin(type="fixed", damping="1"),
        "bad.yaml, line 9: joint 'pin': a fixed joint takes no damping; remove it",
    ),
    (
        pin(friction_speed="0"),
        "bad.yaml, line 9: joint 'pin': friction_speed must be positive, not 0",
    ),
    # motors, springs, loads
    (
        ("joint: pin", "joint: pni"),
        "bad.yaml, line 12: motor 'drive': there is no joint 'pni'; did you mean 'pin'?",
    ),
    (
        ("joint: pin", "joint: socket"),
        "bad.yaml, line 12: motor 'drive': joint 'socket' has 3 degrees of freedom; "
        "a motor needs a joint with exactly one",
    ),
    (
        ("limit: 50}", "limit: 50}\n  second: {joint: pin}"),
        "bad.yaml, line 13: motor 'second': joint 'pin' already has the motor 'drive'",
    ),
    (("limit: 50", "limit: 0"), "bad.yaml, line 12: motor 'drive': limit must be positive, not 0"),
    (
        ("body2: ball", "body2: ground"),
        "bad.yaml, line 14: spring 'coil': it connects 'ground' with itself; name another body",
    ),
    (
        ("stiffness: 10", "stiffness: -10"),
        "bad.yaml, line 14: spring 'coil': stiffness must not be negative, but is -10",
    ),
    (
        ("body: ball,", "body: ball, axes: ball,"),
        "bad.yaml, line 18: load 'push': axes must be world or body, not 'ball'",
    ),
    # outputs and parameters
    (
        ("body.ball.position[3]", "body..position"),
        "bad.yaml, line 20: output 'height': there is no output 'body..position'; "
        "did you mean 'body.arm.position'?",
    ),
    (
        ("height: body.ball.position[3]", "height: 3"),
        "bad.yaml, line 20: output 'height': must be a text such as body.arm.mass, not '3.0'",
    ),
    (
        ("weight: body.ball.mass", "weight: body.ball.mas"),
        "bad.yaml, line 22: parameter 'weight': the path 'body.ball.mas' leads to no number; "
        "did you mean 'body.ball.mass'?",
    ),
    (
        ("weight: body.ball.mass", "weight: body.bull.mass"),
        "bad.yaml, line 22: parameter 'weight': the path 'body.bull.mass' leads to no number; "
        "there is no body 'bull'; did you mean 'ball'?",
    ),
    (
        ("weight: body.ball.mass", "weight: body.ball.com[4]"),
        "bad.yaml, line 22: parameter 'weight': the path 'body.ball.com[4]' leads to no number; "
        "'body.ball.com' has the components 1 to 3",
    ),
    (
        ("weight: body.ball.mass", "weight: joint.pin.damping"),
        "bad.yaml, line 22: parameter 'weight': the path 'joint.pin.damping' leads to no number; "
        "give joint 'pin' a damping first, such as damping: 0",
    ),
    (
        ("weight: body.ball.mass", "weight: heavy"),
        "bad.yaml, line 22: parameter 'weight': the path 'heavy' leads to no number; "
        "paths start with body, joint, motor, strut, load, point_mass, coupling, bushing or are gravity",
    ),
    (
        ("weight: body.ball.mass", "a: body.ball.com\n  b: body.ball.com[2]"),
        "bad.yaml, line 23: parameter 'b': it sets the same number as parameter 'a'; remove one",
    ),
]


def test_the_good_one_is_good() -> None:
    assert read(GOOD).name == "good"


@pytest.mark.parametrize(("change", "message"), CASES, ids=[m.partition(": ")[2][:60] for _, m in CASES])
def test_one_clear_sentence(change: tuple[str, str], message: str) -> None:
    old, new = change
    assert GOOD.count(old) == 1, f"'{old}' must be one place of the good description"
    with pytest.raises(DescriptionError) as caught:
        read(GOOD.replace(old, new), "bad.yaml")
    assert str(caught.value) == message


BOMB = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{b}: &{b} [{', '.join(['*' + a] * 9)}]\n" for a, b in zip("abcdefgh", "bcdefghi", strict=True)
)
TEXTS = {
    "": "bad.yaml: the file is empty; it needs at least 'bodies' and 'joints'",
    "# only a remark\n": "bad.yaml: the file is empty; it needs at least 'bodies' and 'joints'",
    "bodies: [": "bad.yaml, line 1: not YAML: expected the node content, but found '<stream end>'",
    "bodies:\n\tarm: 1": "bad.yaml, line 2: not YAML: found character '\\t' that cannot start any token",
    "a: \x07": "bad.yaml: not YAML: the character U+0007 at position 3 is not allowed",
    "just words": "bad.yaml: a description must be a mapping of fields, not 'just words'",
    "- arm\n- ball": "bad.yaml: a description must be a mapping of fields, not a list of 2",
    "name: x": "bad.yaml: the field 'bodies' is missing",
    "bodies: {}\njoints: {}": "bad.yaml, line 1: there are no bodies; a mechanism needs at least one",
    GOOD + "---\n" + GOOD: "bad.yaml, line 23: a second document starts here; put one mechanism in a file",
    BOMB: "bad.yaml, line 6: aliases (*name) repeat too much; write the values out",
    "a: &a [*a]": "bad.yaml, line 1: aliases (*name) repeat too much; write the values out",
    "a: [" + "1, " * 200_000 + "]": "bad.yaml, line 1: too many values, which no description needs",
    "a: *b": "bad.yaml, line 1: not YAML: found undefined alias 'b'",
    "%YAML 1.1\n---\nname: on": "bad.yaml: the field 'bodies' is missing",
    "[" * 50_000: "bad.yaml, line 1: nested more than 20 deep, which no description needs",
    "name: !!python/object/apply:os.system [ls]": "bad.yaml, line 1: the tag "
    "'tag:yaml.org,2002:python/object/apply:os.system' is not used in descriptions; remove it",
    "? [a, b]\n: 1": "bad.yaml, line 1: a field's name must be a word, not a list or mapping",
}


@pytest.mark.parametrize(("text", "message"), TEXTS.items(), ids=range(len(TEXTS)))
def test_what_is_no_description(text: str, message: str) -> None:
    with pytest.raises(DescriptionError) as caught:
        read(text, "bad.yaml")
    assert str(caught.value) == message


def test_files_that_can_not_be_read(tmp_path: Path) -> None:
    def message(source: str | Path) -> str:
        with pytest.raises(DescriptionError) as caught:
            load(source)
        return str(caught.value)

    assert message("stewrt") == "there is no example or file 'stewrt'; did you mean 'stewart'?"
    assert message("zzz").startswith(
        "there is no example or file 'zzz'; the examples are ankle, arm, belt_picker, "
    )
    assert message(tmp_path).endswith("is a folder; give the path of a description file in it")
    binary = tmp_path / "binary.yaml"
    binary.write_bytes(b"\xff\xfe\x00name")
    assert message(binary) == f"{binary}: not YAML: the file is not text in UTF-8"
    large = tmp_path / "large.yaml"
    large.write_bytes(b"#" * 1_000_001)
    assert message(large) == f"{large} is larger than 1 MB: no description"


def test_an_endless_file_is_refused() -> None:
    if not Path("/dev/zero").exists():
        pytest.skip("no /dev/zero here")
    with pytest.raises(DescriptionError, match="/dev/zero is larger than 1 MB: no description"):
        load("/dev/zero")


BUILT = Mechanism(
    "built",
    (Body("arm", 1.0, inertia=(1.0, 1.0, 1.0, 0.0, 0.0, 0.0)),),
    (Joint("pin", "revolute", "ground", "arm"),),
)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"bodies": (Body("arm", nan),)}, "body 'arm': mass must be a finite number, not nan"),
        ({"bodies": (Body("arm", "1 kg"),)}, "body 'arm': mass must be a number, not '1 kg'"),
        ({"bodies": (Body("arm", 1.0), Body("arm", 2.0))}, "two bodies are named 'arm'; rename one"),
        ({"bodies": (Body("arm", 1.0, inertia=(1, 1, 1)),)}, "list of 6 numbers, not a list of 3"),
        ({"bodies": ()}, "there are no bodies; a mechanism needs at least one"),
        ({"joints": ()}, "body 'arm': no joint connects it to ground"),
        (
            {"joints": (Joint("pin", "revolute", "ground", "arm", Frame((0, 0))),)},
            "joint 'pin': on_parent.position must be a list of 3 numbers, not a list of 2",
        ),
        (
            {"joints": (Joint("pin", "revolute", "ground", "arm", Frame(orientation=(0, 0, 0, 0))),)},
            "joint 'pin': orientation must be Euler parameters (w, x, y, z) of length 1, not of length 0",
        ),
        (
            {"joints": (Joint("pin", "revolute", "ground", "arm", limits=(nan, 1)),)},
            "joint 'pin': limits must be a finite number, not nan",
        ),
        (
            {"joints": (Joint("rod", "distance", "ground", "arm", length=1.0, cut=False),)},
            "joint 'rod': a distance",
        ),
        ({"motors": (Motor("m", "pin", limit=-1),)}, "motor 'm': limit must be positive, not -1"),
        ({"struts": (Strut("s", "ground", "arm", damping=inf),)}, "spring 's': damping must be a finite"),
        ({"loads": (Load("f", "arm", force=(1, 2)),)}, "load 'f': force must be a list of 3 numbers"),
        ({"gravity": 9.81}, "gravity must be a list of 3 numbers, not '9.81'"),
        ({"gravity": (0, 0, nan)}, "gravity must be a finite number, not nan"),
        ({"name": "a b"}, "the name 'a b' must be made of letters, digits and _, such as 'a_b'"),
        ({"description": 3}, "description must be a text, not '3'"),
        ({"outputs": ["energy"]}, "outputs must be a mapping of names, not a list of 1"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_mechanisms_built_in_python_get_the_same_sentences(change: dict[str, Any], message: str) -> None:
    check(BUILT)
    with pytest.raises(DescriptionError) as caught:
        check(replace(BUILT, **change))
    assert message in str(caught.value)


def test_no_text_causes_anything_but_a_sentence() -> None:
    """Hundreds of spoilt descriptions: each is still good or is refused in one line."""
    rng = random.Random(0)
    pieces = [
        "[",
        "]",
        "{",
        "}",
        ":",
        "- ",
        "&a ",
        "*a",
        "~",
        ".nan",
        ".inf",
        "-1",
        "0",
        "1e999",
        '"',
        "'",
        "\t",
    ]
    pieces += [
        "!!float x",
        "ground",
        "[1, 2]",
        "{a: 1}",
        "true",
        "30 deg",
        "\n",
        "é",
        "%",
        "|",
        ">",
        "? ",
        "<<: ",
    ]
    refused = 0
    for _ in range(600):
        text = GOOD
        for _ in range(rng.randint(1, 3)):
            start = rng.randrange(len(text))
            end = start + rng.choice((0, 0, 1, 2, 5, 20))
            text = text[:start] + rng.choice([*pieces, ""]) + text[end:]
        try:
            read(text, "bad.yaml")
        except DescriptionError as error:
            refused += 1
            assert str(error).startswith("bad.yaml") and "\n" not in str(error), text
    assert refused > 300
