"""Assembly problems: solved, reported, refused (paper 000, Algorithm 1)."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from cutjoint.model.base.errors import AssemblyError, DescriptionError
from cutjoint.model.cartesian import (
    Angle,
    Coincident,
    Distance,
    Dot1,
    Dot2,
    Part,
    Problem,
    load_problem,
    read_problem,
)
from cutjoint.model.cli.main import main
from cutjoint.model.joints import euler
from cutjoint.papers.liu_newton import newton

X, Y, Z, O = (1.0, 0, 0), (0, 1.0, 0), (0, 0, 1.0), (0.0, 0, 0)  # noqa: E741
ARM = Part("arm", (0.1, 0.2, 0.3), (1, 0.1, 0.2, 0.3))
HINGE = {
    "pin": Coincident("ground", "arm", O, (1, 0, 0)),
    "square1": Dot1("ground", "arm", X, Z),
    "square2": Dot1("ground", "arm", Y, Z),
}


def test_well_constrained():
    report = Problem("arm", (ARM,), {**HINGE, "tilt": Angle("ground", "arm", X, X, 0.5)}).solve()
    assert report.residual < 1e-10 and not report.searched
    assert report.rows == report.unknowns == report.rank == 7
    assert report.freedom == 0 and not report.redundant and not report.free
    r, p = report.poses["arm"]
    A = euler.rotation(p)
    assert np.abs(r + A @ X).max() < 1e-9, "the pin is closed"
    assert abs(A[0, 0] - np.cos(0.5)) < 1e-9
    assert "well constrained" in report.text()


def test_under_constrained_parts_are_named_with_their_freedoms():
    parts = (ARM, Part("slider", (0, 0, 1)), Part("base", move="none"))
    constraints = {
        **HINGE,
        "guide1": Dot2("base", "slider", X, O, O),
        "guide2": Dot2("base", "slider", Y, O, O),
    }
    report = Problem("two", parts, constraints).solve()
    assert report.freedom == 5
    assert set(report.free) == {(("arm",), 1), (("slider",), 4)}
    assert "under-constrained, 1 degree of freedom: arm" in report.text()
    tied = {**constraints, "rod": Distance("arm", "slider", (0.5, 0, 0.2), (0.3, 0, 0), 0.9)}
    report = Problem("tied", parts, tied).solve()
    assert report.free == ((("arm", "slider"), 4),), "a rod makes them one group"


def test_over_constrained_groups_are_told_apart():
    extra = {
        "again": Dot2("ground", "arm", Z, O, (1, 0, 0)),  # follows from the pin
        "tilt": Angle("ground", "arm", X, X, 0.5),
        "third": Dot1("ground", "arm", Z, Y),  # follows from the two squares
    }
    report = Problem("over", (ARM,), {**HINGE, **extra}).solve()
    assert report.residual < 1e-10
    assert report.rows - report.rank == 2
    groups = {frozenset(names): count for names, count in report.redundant}
    assert groups == {frozenset({"pin", "again"}): 1, frozenset({"square1", "square2", "third"}): 1}
    assert "tilt" not in report.text().replace("tilted", "")


def test_square_but_singular():
    """Seven rows on seven unknowns, one of them repeated: one freedom is left, and Newton does not mind."""
    report = Problem("arm", (ARM,), {**HINGE, "again": Dot1("ground", "arm", Z, Y)}).solve()
    assert report.rows == report.unknowns == 7 and report.rank == 6 and not report.searched
    assert report.iterations < 10 and report.residual < 1e-10
    assert report.free == ((("arm",), 1),) and len(report.redundant) == 1


def test_many_bodies():
    """A chain of six bars on pins, its end held: rank and freedom of a linkage."""
    bars = tuple(
        Part(f"bar{k}", (k + 0.5, 0.1 * k, 0.05), (1, 0.01, 0.02, 0.1 * (-1) ** k)) for k in range(6)
    )
    constraints = {}
    for k in range(6):
        before = f"bar{k - 1}" if k else "ground"
        constraints[f"pin{k}"] = Coincident(before, f"bar{k}", (0.5, 0, 0) if k else O, (-0.5, 0, 0))
        constraints[f"flat{k}"] = Dot1(before, f"bar{k}", X, Z)
        constraints[f"level{k}"] = Dot1(before, f"bar{k}", Y, Z)
    constraints["end"] = Coincident("ground", "bar5", (3.0, 1.0, 0), (0.5, 0, 0))
    report = Problem("chain", bars, constraints).solve()
    assert report.residual < 1e-10
    assert report.freedom == 4, "six hinges, two rows of the end in the plane"
    assert [count for _, count in report.redundant] == [1], "the end's third row is already met"


CONFLICTS = [
    (  # the other constraints have no part in it
        {
            **HINGE,
            "near": Distance("ground", "arm", (3, 0, 0), O, 1.0),
            "far": Distance("ground", "arm", (3, 0, 0), (2, 0, 0), 10.0),
        },
        {"near", "far"},
    ),
    (
        {**HINGE, "tilt": Dot1("ground", "arm", X, X), "twist": Dot1("ground", "arm", Y, X)},
        {"square", "tilt", "twist"},
    ),
    ({**HINGE, "long": Distance("ground", "arm", O, O, 3.0)}, {"pin", "long"}),
]


@pytest.mark.parametrize("constraints, culprits", CONFLICTS)
def test_an_unsolvable_problem_names_what_conflicts(constraints, culprits):
    with pytest.raises(AssemblyError, match="assembly 'bad' can't be solved") as failure:
        Problem("bad", (ARM,), constraints).solve()
    named = {name for name in constraints if f"'{name}'" in str(failure.value)}
    assert {name.rstrip("12") for name in named} == culprits, failure.value
    assert "\n" not in str(failure.value)


def test_a_single_impossible_constraint_is_named():
    fixed = (Part("a", move="none"), Part("b", (1, 0, 0)))
    impossible = {"gap": Distance("a", "ground", O, O, 0.5), "fine": Dot1("a", "b", X, Y)}
    with pytest.raises(AssemblyError, match="constraint 'gap' can't be met"):
        Problem("bad", fixed, impossible).solve()


def test_a_wider_search_helps_where_newton_does_not():
    """At the start the angle's row has no gradient at all."""
    flat = Part("arm", (0.3, 0, 0))
    report = Problem("lid", (flat,), {**HINGE, "tilt": Angle("ground", "arm", X, X, 2.5)}).solve()
    assert report.residual < 1e-10
    assert abs(euler.rotation(report.poses["arm"][1])[0, 0] - np.cos(2.5)) < 1e-9


# -- Algorithm 1 -----------------------------------------------------------------------------


def circle(x):
    """x² + y² = 1 and x = y, for many starts at once."""
    phi = np.stack([(x**2).sum(-1) - 1, x[:, 0] - x[:, 1]], axis=-1)
    J = np.stack([2 * x, np.broadcast_to([1.0, -1.0], x.shape)], axis=1)
    return phi, J


def test_newton_runs_until_the_residual_is_small():
    starts = np.random.default_rng(0).uniform(0.1, 2, (50, 2))
    outcome = newton(circle, starts, 1e-12)
    assert outcome.converged.all() and (outcome.residual < 1e-12).all()
    assert (outcome.steps > 0).all()
    # the loop as printed, "while ‖Φ‖ < ε", would not take a single step from any of these
    assert (np.linalg.norm(circle(starts)[0], axis=-1) >= 1e-12).all()
    one = newton(circle, starts[:1], 1e-12)
    assert np.array_equal(one.q[0], outcome.q[0]) and one.steps[0] == outcome.steps[0]


def test_newton_takes_the_pseudo_inverse_where_the_matrix_is_singular():
    starts = np.array([[0.0, 0.0], [0.5, -0.5], [2.0, 1.0]])  # J is singular at the first two
    outcome = newton(circle, starts, 1e-12)
    assert not outcome.converged[0] and outcome.steps[0] == 100, "no gradient at the centre"
    assert outcome.converged[1:].all()


def test_newton_reports_what_blows_up():
    def exploding(x):
        return np.exp(x), -np.exp(x)[..., None] * 1e-300

    outcome = newton(exploding, np.array([[1.0]]), 1e-12)
    assert not outcome.converged[0] and outcome.residual[0] == np.inf and outcome.steps[0] == 1


# -- files -----------------------------------------------------------------------------------

LID = """
name: lid
bodies:
  box: {move: none}
  lid: {position: [0.02, 0, 0.2], orientation: [1, 0.1, 0.2, 0]}
constraints:
  hinge: {type: coincident, body1: box, body2: lid, point1: [0, 0, 10 cm], point2: [0, 0, 0]}
  level1: {type: dot1, body1: box, body2: lid, vector1: x, vector2: y}
  level2: {type: dot1, body1: box, body2: lid, vector1: z, vector2: y}
  open: {type: angle, body1: box, body2: lid, vector1: x, vector2: x, angle: 30 deg}
"""


def test_a_file_reads_as_the_same_problem(tmp_path):
    path = tmp_path / "lid.yaml"
    path.write_text(LID)
    problem = load_problem(path)
    assert problem == read_problem(LID)
    assert problem.constraints["open"].angle == pytest.approx(np.pi / 6)
    assert problem.constraints["hinge"].point1 == (0, 0, 0.1)
    report = problem.solve()
    assert report.freedom == 0 and report.residual < 1e-10
    assert np.abs(report.poses["lid"][0] - [0, 0, 0.1]).max() < 1e-9


@pytest.mark.parametrize(
    "old, new, sentence",
    [
        ("30 deg", "0", "line 10: constraint 'open': angle of 0 or 180 deg has no gradient"),
        ("30 deg", "30 mm", "line 10: constraint 'open': angle can't be in 'mm'"),
        ("30 deg", ".nan", "line 10: constraint 'open': angle must be a finite number"),
        (
            "type: angle",
            "type: angel",
            "line 10: constraint 'open': there is no type 'angel'; did you mean 'angle'?",
        ),
        ("body2: lid, vector1: z", "body2: lit, vector1: z", "constraint 'level2': there is no body 'lit'"),
        ("body2: lid, vector1: z", "body2: box, vector1: z", "'level2': body2 must be another body"),
        ("point2", "pont2", "constraint 'hinge': there is no field 'pont2'; did you mean 'point2'?"),
        (", angle: 30 deg", "", "constraint 'open': the field 'angle' is missing"),
        ("move: none", "move: no", "body 'box': move must be all, turn or none"),
        ("[1, 0.1, 0.2, 0]", "[0, 0, 0, 0]", "body 'lid': orientation must be four Euler parameters"),
        ("constraints:", "constrains:", "there is no field 'constrains'; did you mean 'constraints'?"),
        ("bodies:", "bodies: 3\nothers:", "there is no field 'others'"),
    ],
)
def test_mistakes_in_a_file_are_named_with_line_and_fix(old, new, sentence):
    with pytest.raises(DescriptionError) as failure:
        read_problem(LID.replace(old, new), "lid.yaml")
    assert str(failure.value).startswith("lid.yaml") and sentence in str(failure.value)
    assert "\n" not in str(failure.value)


def test_problems_built_in_python_are_checked_too():
    with pytest.raises(DescriptionError, match="there is no part 'leg'"):
        Problem("p", (ARM,), {"c": Dot1("ground", "leg", X, X)})
    with pytest.raises(DescriptionError, match="two parts are named 'arm'"):
        Problem("p", (ARM, ARM), {})
    with pytest.raises(DescriptionError, match="needs a constraint and a part that moves"):
        Problem("p", (Part("a", move="none"),), {"c": Dot1("ground", "a", X, X)}).solve()
    with pytest.raises(DescriptionError, match="can't read"):
        load_problem("nowhere.yaml")


# -- command and manual ----------------------------------------------------------------------


def test_the_command_assembles_parts(tmp_path, capsys):
    path = tmp_path / "lid.yaml"
    path.write_text(LID)
    assert main(["assemble", str(path)]) == 0
    text = capsys.readouterr().out
    assert text.startswith("lid: ") and "well constrained" in text and "position (0, 0, 0.1)" in text
    assert main(["assemble", str(path), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["problem"] == "lid" and found["rank"] == 7 and found["freedom"] == 0
    far = "{type: distance, body1: box, body2: lid, point1: [0, 0, 0], point2: [0, 0, 0], distance: 1}"
    path.write_text(f"{LID}  far: {far}")
    assert main(["assemble", str(path)]) == 3, "can't be assembled"
    assert "'hinge' and 'far' exclude one another" in capsys.readouterr().err
    assert main(["assemble", str(path), "--set", "a=1"]) == 2
    assert "are for mechanisms" in capsys.readouterr().err


def test_the_manual_runs(tmp_path, monkeypatch, capsys):
    page = (Path(__file__).resolve().parents[2] / "docs" / "cartesian.md").read_text(encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    codes = re.findall(r"^```python\n(.*?)^```", page, flags=re.M | re.S)
    (yaml,) = re.findall(r"^```yaml\n(.*?)^```", page, flags=re.M | re.S)
    assert len(codes) == 3
    for code in codes:
        exec(compile(code, "cartesian.md", "exec"), {})
    Path("lid.yaml").write_text(yaml)
    assert main(["assemble", "lid.yaml"]) == 0
    assert "well constrained" in capsys.readouterr().out
