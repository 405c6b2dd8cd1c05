"""Laws over time: exact derivatives, breaks where they jump, texts and tables that are never code."""

from __future__ import annotations

from math import inf, nextafter
from pathlib import Path

import numpy as np
import pytest
from cutjoint import laws
from cutjoint.model.base.errors import CutjointError, DescriptionError, SimulationError
from cutjoint.model.laws.tables import INTERPOLATIONS, read_table
from cutjoint.model.laws.texts import FORMS, law, parse_law

TEXTS = [
    "5 N.m",
    "sine(amplitude=5, frequency=2)",
    "sine(5, 2 Hz, phase=90 deg, offset=-1)",
    "step(at=0.5, to=300)",
    "step(to=3, at=0.2, rise=0.7)",
    "ramp(rate=2, start=1, at=0.3, until=1.1)",
    "polynomial([1, 2 N.m/s, 0.5 N.m/s2])",
    "chirp(amplitude=2, begin=1 Hz, end=9 Hz, over=1.2)",
    "trapezoid(to=5, at=0.1, rise=0.3, hold=0.4, fall=0.2, start=1)",
    "sum(sine(1, 2), step(to=3, at=1, rise=0.2), -4)",
]


@pytest.mark.parametrize("text", TEXTS)
def test_derivatives_are_exact_between_breaks_and_nothing_jumps_elsewhere(text: str) -> None:
    found, h = law(text, "N.m"), 1e-5
    assert found.name == text and found.size == 1
    times = np.linspace(-0.3, 2.0, 172)
    for t in times:
        if any(abs(t - at) <= 2 * h for at in found.breaks):
            continue
        before, here, after = (found(x) for x in (t - h, t, t + h))
        for k in (0, 1):
            slope = (after[k] - before[k]) / (2 * h)
            assert abs(slope - here[k + 1]) < 1e-5 * (1 + abs(here[k + 1]) + abs(here[2])), (t, k)


def test_a_law_goes_on_from_its_value_at_a_break() -> None:
    jump = laws.step(to=3.0, at=0.5)
    assert jump(0.5).x == 3 and jump(nextafter(0.5, -inf)).x == 0
    box = laws.trapezoid(to=2.0, at=1.0, hold=0.5)
    assert [float(box(t).x.item()) for t in (0.999, 1.0, 1.499, 1.5)] == [0, 2, 2, 0]
    smooth = laws.step(to=3.0, at=0.5, rise=0.2)
    assert smooth(0.6).x == pytest.approx(1.5) and smooth(0.7).x == 3 and smooth(0.7).ddx == 0


def test_units_are_converted_and_the_same_law_is_read_in_any() -> None:
    plain = law("sine(amplitude=0.005, frequency=2, phase=1.5707963267948966)", "N.m")
    other = law("sine(amplitude=5 N.mm, frequency=120 min-1, phase=90 deg)", "N.m")
    np.testing.assert_allclose(plain(0.3), other(0.3), rtol=1e-14)


@pytest.mark.parametrize("kind", INTERPOLATIONS)
def test_tables_are_held_straight_or_smooth(kind: str) -> None:
    t = np.array([0.0, 0.4, 1.0, 1.3, 2.0])
    x = np.column_stack([np.sin(t), t**2])
    found = laws.table(t, x, kind)
    for k, at in enumerate(t[:-1]):
        np.testing.assert_allclose(found(at).x, x[k], atol=1e-15)
    middle = {"held": x[1], "linear": (x[1] + x[2]) / 2, "cubic": [np.sin(0.7), 0.49]}[kind]
    np.testing.assert_allclose(found(0.7).x, middle, atol=2e-3)
    assert (found.breaks == tuple(t)) == (kind != "cubic") and found.span == (0, 2)
    with pytest.raises(SimulationError, match="from 0 to 2 s and says nothing at t = 3 s"):
        found(3.0)
    kept = laws.table(t, x, kind, outside="kept")
    np.testing.assert_allclose([kept(-1.0).x, kept(9.0).x], x[[0, -1]])


def test_cubic_tables_are_those_of_the_lock_constraint() -> None:
    from scipy.interpolate import CubicSpline

    t, x = np.linspace(0, 2, 9), np.cos(np.linspace(0, 5, 9))
    mine, known = laws.table(t, x), CubicSpline(t, x)
    for at in (0.0, 0.1, 1.9999, 2.0):
        np.testing.assert_allclose(np.ravel(mine(at)), [known(at), known(at, 1), known(at, 2)], atol=1e-13)


def written(folder: Path, text: str) -> str:
    path = folder / "t.csv"
    path.write_text(text)
    return str(path)


def test_columns_of_a_file_by_name_with_their_units(tmp_path: Path) -> None:
    path = written(tmp_path, "time (ms),torque (N.mm),other\n0,1000,1\n500,3000,2\n\n1000,2000,5\n")
    found = law(f"{path}:torque", "N.m")
    assert found(0.25).x == pytest.approx(2.0) and found.breaks == (0.0, 0.5, 1.0)
    assert law(f"table({path}, other, interpolation=held)", "N.m")(0.7).x == 2
    assert law(f"table('{path}', column=other, time='time (ms)', outside=kept)", "N.m")(7.0).x == 5


WRONG = {
    "time,a\n0,1\n1,nan\n": "line 3: column 'a' must be finite, not nan",
    "time,a\n0,1\n1,\n": "line 3: '' in column 'a' is not a number",
    "time,a\n0,1\n1,x y\n": "line 3: 'x y' in column 'a' is not a number",
    "time,a\n1,1\n0.5,2\n": "line 3: times must increase, but 0.5 s follows 1 s",
    "time,a\n0,1\n0,2\n": "line 3: times must increase, but 0 s follows 0 s",
    "time,a\n0,1\ninf,2\n": "line 3: column 'time' must be finite, not inf",
    "time,a\n0,1\n": "has 1 row(s) of numbers; a table needs two or more",
    "time,a\n0,1\n1,2,3\n": "line 3: it has 3 cells, but there are 2 columns",
    "time,b\n0,1\n1,2\n": "has no column 'a'; known: time, b",
    "time,a (mm)\n0,1\n1,2\n": "column 'a (mm)' can't be in 'mm'; write a plain number in N.m",
    "time,a (parsec)\n0,1\n1,2\n": "column 'a (parsec)' has the unknown unit 'parsec'",
    "time (m),a\n0,1\n1,2\n": "column 'time (m)' can't be in 'm'",
    "a,b\n0,1\n1,2\n": "column 'a' holds the times; name another",
    "": "is empty; a table begins with a line of names",
    "\0\x01,a": "",
}


@pytest.mark.parametrize("text", WRONG)
def test_a_bad_table_is_refused_in_one_sentence(text: str, tmp_path: Path) -> None:
    path = written(tmp_path, text)
    with pytest.raises(DescriptionError) as caught:
        read_table(path, "a", "N.m")
    assert WRONG[text] in str(caught.value) and path in str(caught.value)


def test_a_file_that_is_no_text_or_not_there(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(b"\xff\xfe\x00a,b\n1,2")
    for name in (path, tmp_path / "none.csv", tmp_path):
        with pytest.raises(DescriptionError, match=r"can't read '|is no table of text|not CSV"):
            read_table(str(name), "a", "N.m")


BAD = {
    "": "something is missing",
    "sine(": "something is missing after 'sine('",
    "sine()": "the argument 'amplitude' is missing: sine(amplitude=…, frequency=…, [phase=…], [offset=…])",
    "sin(1, 2)": "there is no law 'sin'; did you mean 'sine'?",
    "__import__('os')": "there is no law '__import__'; known: constant, sine",
    "sine(1, 2, 3, 4, 5)": "sine takes 4 argument(s) at most",
    "sine(amplitude=1, amplitude=2)": "the argument 'amplitude' is given twice",
    "sine(amplitude=1 mm, frequency=2)": "amplitude can't be in 'mm'",
    "sine(amplitude=1, frequency=2 rad/s)": "frequency can't be in 'rad/s'",
    "sine(amplitude=1, frequncy=2)": "there is no argument 'frequncy'; did you mean 'frequency'?",
    "sine(amplitude=1 2, frequency=3)": "amplitude has the unknown unit '2'",
    "sine(amplitude=nan, frequency=3)": "amplitude must be a number, not 'nan'",
    "step(to=[1, 2])": "to must be a number",
    "[1, 2]": "not a list",
    "sum()": "a sum of laws needs one or more",
    "sum(a=1)": "there is no argument 'a'; give laws, without names",
    "sine(1, 2) x": "is followed by 'x'",
    "sine(1,, 2)": "something is missing after 'sine(1,'",
    "sine(1, 2": "a ')' or a comma is missing",
    "sine(1, 2,)": "something is missing",
    "table.csv": "name the column of the table as well, such as 'table.csv:torque'",
    "polynomial([])": "needs one coefficient or more",
    "step(to=1, rise=-1)": "needs a 'rise' that is not negative",
    "trapezoid(to=1)": "one of them above zero",
    "ramp(1, at=2, until=1)": "must end after it begins",
    "chirp(1, 1, 2, 0)": "the time it sweeps, above zero",
    "table(t.csv, a, interpolation=fast)": "",
    "sum(" * 50: "laws are within laws more than 20 times",
    "1" * 5000: "is too long",
}


@pytest.mark.parametrize("text", BAD, ids=[text[:30] for text in BAD])
def test_a_bad_text_is_refused_in_one_sentence(text: str) -> None:
    with pytest.raises(DescriptionError) as caught:
        law(text, "N.m")
    assert BAD[text] in str(caught.value) and "\n" not in str(caught.value)


def test_mutated_texts_are_laws_or_sentences() -> None:
    random = np.random.default_rng(4)
    marks = [*"()[],= '\"e1.-+*5", "sine", "nan", "N.m", "\0", "é", "table(", ".csv:"]
    for _ in range(3000):
        text = list(str(random.choice(TEXTS)))
        for _ in range(random.integers(1, 4)):
            text[random.integers(len(text))] = str(random.choice(marks))
        try:
            found = law("".join(text), "N.m")
            assert np.isfinite(found.evaluate(0.37)[0])
        except CutjointError as error:
            assert "\n" not in str(error) and len(str(error)) < 400


def test_every_law_says_how_it_is_written() -> None:
    for name, form in FORMS.items():
        assert form.usage(name).startswith(f"{name}(")
    assert parse_law(" sum( 1 , sine(a=2)) ").name == "sum"
