"""Named numbers and arithmetic, standard solids, patterns: what they mean, and what is said of mistakes."""

from __future__ import annotations

from math import atan2, cos, pi, radians, sin

import numpy as np
import pytest
from cutjoint import Simulation, load
from cutjoint.model.base.errors import DescriptionError
from cutjoint.model.describe.arithmetic import Measure, evaluate
from cutjoint.model.describe.writer import write
from cutjoint.model.loading import read

LENGTH = (1, 0, 0, 0, 0)
KNOWN = {
    "arm": Measure(0.35, LENGTH),
    "n": Measure(6.0),
    "m": Measure(2.0, (0, 1, 0, 0, 0)),
    "lean": Measure(radians(30), (0, 0, 0, 1, 0)),
}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("arm / 2 + 10 mm", Measure(0.185, LENGTH)),
        ("-arm^2 * (1 + n)", Measure(-(0.35**2) * 7, (2, 0, 0, 0, 0))),
        ("sqrt(arm^2 + (0.2 m)**2)", Measure(np.hypot(0.35, 0.2), LENGTH)),
        ("arm * cos(lean)", Measure(0.35 * cos(radians(30)), LENGTH)),
        ("360 deg / n", Measure(pi / 3, (0, 0, 0, 1, 0))),
        ("m * 9.81 m/s2 * arm", Measure(2 * 9.81 * 0.35, (2, 1, -2, 0, 0))),
        ("atan2(arm, 0.35 m) * 2", Measure(pi / 2, (0, 0, 0, 1, 0))),
        ("2 * pi - -1", Measure(2 * pi + 1)),
        ("3 mm/arm", Measure(0.003 / 0.35)),
    ],
)
def test_arithmetic_keeps_units(text: str, value: Measure) -> None:
    found = evaluate(text, KNOWN)
    assert found.value == pytest.approx(value.value, rel=1e-14) and found.powers == value.powers


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("arm + m", "adds a quantity in m\\^1 and a quantity in kg\\^1"),
        ("arm + 1", "adds a quantity in m\\^1 and a plain number"),
        ("sin(arm)", "no angle"),
        ("am / 2", "did you mean 'arm'"),
        ("arm / 0", "divides by zero"),
        ("(arm", "closing bracket"),
        ("arm arm", "can't be read from"),
        ("__import__('os')", "which is not among the numbers"),
        ("sqrt(-1)", "has none"),
        ("9^9^9^9", "has no value|no finite"),
        ("(" * 50 + "1" + ")" * 50, "nested too deep"),
        ("1" * 300, "longer than"),
        ("", "ends too early"),
    ],
)
def test_what_is_wrong_with_an_expression_is_said(text: str, sentence: str) -> None:
    with pytest.raises(DescriptionError, match=sentence):
        evaluate(text, KNOWN)


BARS = """
numbers: {arm: 400 mm, thick: =arm / 10, heavy: 2}
bodies:
  bar: {mass: =heavy, com: [=arm / 2, 0, 0], inertia: {solid: %s}}
joints:
  pin: {type: revolute, parent: ground, child: bar, at: [0, 0, 0], axis: y}
"""


@pytest.mark.parametrize(
    ("solid", "moments"),
    [
        ("rod, length: =arm, axis: x", (0, 2 * 0.16 / 12, 2 * 0.16 / 12)),
        ("box, size: [=thick, =thick, =arm], axis: x", None),
        ("cylinder, length: =arm, radius: =thick, axis: x", (0.0016, *2 * [2 * (3 * 0.0016 + 0.16) / 12])),
        (
            "tube, length: =arm, radius: =thick, inner_radius: 30 mm, axis: x",
            (0.0025, *2 * [2 * (3 * 0.0025 + 0.16) / 12]),
        ),
        ("sphere, radius: 0.1", (0.008,) * 3),
    ],
)
def test_inertia_of_solids(solid: str, moments: tuple[float, ...] | None) -> None:
    """From the tables of any textbook."""
    (bar,) = read(BARS % solid).bodies
    flat, long = 2 * 2 * 0.04**2 / 12, 2 * (0.04**2 + 0.4**2) / 12
    assert bar.inertia == pytest.approx((*(moments or (flat, long, long)), 0, 0, 0), abs=1e-15)
    assert bar.com == (0.0, 0.0, 0.0) and bar.mass == 2.0


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("rod, length: =arm, axis: x", "rood, length: 1", "there is no solid 'rood'; did you mean 'rod'"),
        ("rod, length: =arm, axis: x", "rod, length: 1", "the field 'axis' is missing"),
        ("rod, length: =arm, axis: x", "rod, axis: x, length: 2 kg", "can't be in 'kg'"),
        ("com: [=arm / 2", "com: [=arm * arm", "com can't be in"),
        ("=arm / 10", "=arm / ten", "line 2: number 'thick': it uses 'ten'"),
        ("=arm / 2", "=am / 2", "line 4: body 'bar': com uses 'am'"),
    ],
)
def test_mistakes_of_solids_and_numbers_name_their_line(old: str, new: str, sentence: str) -> None:
    with pytest.raises(DescriptionError, match=sentence):
        read((BARS % "rod, length: =arm, axis: x").replace(old, new))


def test_a_pattern_is_what_it_is_written_out() -> None:
    """One leg turned six times: every copy is the first, turned; the motion is that of the whole text."""
    text = """
    bodies: {plate: {mass: 3, com: [0, 0, 0.5], inertia: [0.1, 0.1, 0.2]}}
    patterns:
      legs:
        copies: 6
        bodies: {leg: {mass: 1, com: [0.5, 0, 0.25], inertia: [0.01, 0.02, 0.03]}}
        joints: {foot: {type: revolute, parent: ground, child: leg, at: [0.5, 0, 0], axis: y}}
        springs:
          hold: {body1: leg, body2: plate, point1: [0.5, 0, 0.5], point2: [0.1, 0, 0.5], stiffness: 500}
    joints: {guide: {type: prismatic, parent: ground, child: plate, at: [0, 0, 0.5], axis: z}}
    """
    mechanism = read(text)
    assert [b.name for b in mechanism.bodies] == [*(f"leg{k}" for k in range(1, 7)), "plate"]
    for k in range(6):
        a = k * pi / 3
        leg, foot, hold = mechanism.bodies[k], mechanism.joint(f"foot{k + 1}"), mechanism.struts[k]
        R = np.array([[cos(a), -sin(a), 0], [sin(a), cos(a), 0], [0, 0, 1]])
        xx, yy, zz, xy, xz, yz = leg.inertia
        tensor = R @ np.diag([0.01, 0.02, 0.03]) @ R.T
        np.testing.assert_allclose([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]], tensor, atol=1e-14)
        assert (foot.child, hold.body1, hold.body2) == (leg.name, leg.name, "plate")
        place = np.array(foot.on_parent.position)
        assert atan2(place[1], place[0]) % (2 * pi) == pytest.approx(a % (2 * pi), abs=1e-12)
    ends = [Simulation(m, compile=False).run(0.1).values[-1] for m in (mechanism, read(write(mechanism)))]
    np.testing.assert_allclose(*ends, rtol=0, atol=1e-12)


def test_the_hexapod_is_one_pair_of_legs_turned_three_times() -> None:
    mechanism = load("hexapod")
    assert [m.name for m in mechanism.motors] == [f"leg{k}" for k in range(1, 7)]
    for name in ("foot", "leg", "ball"):
        places = [np.array(mechanism.joint(f"{name}{k}").on_parent.position) for k in (1, 3, 5)]
        first = mechanism.joint(f"{name}1")
        if first.parent == "ground":
            assert np.ptp([np.hypot(*p[:2]) for p in places]) < 1e-12
    ends = []
    for described in (mechanism, read(write(mechanism))):
        s = Simulation(described, compile=False)
        s.set_inputs({f"leg{k}": 90.0 + k for k in range(1, 7)})
        ends.append(s.run(0.2, step=2e-3, record=["body.platform.position", "joint.*.position"]).values)
    np.testing.assert_allclose(*ends, rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("pattern", "sentence"),
    [
        ("{bodies: {}}", "the field 'copies' is missing"),
        ("{copies: 2.5}", "whole number"),
        ("{copies: 1000}", "up to 100"),
        ("{copies: 2, bodies: 3}", "must be a group"),
        ("{copies: 2, wheels: {a: {}}}", "there is no field 'wheels'"),
        (
            "{copies: 2, bodies: {bar: {mass: 1, com: [1, 0, 0]}}, motors: {pin: {joint: pin}}}",
            "nothing holds|connected|joint",
        ),
    ],
)
def test_mistakes_of_patterns(pattern: str, sentence: str) -> None:
    with pytest.raises(DescriptionError, match=sentence):
        read(BARS % "sphere, radius: 0.1" + f"patterns: {{some: {pattern}}}\n")
