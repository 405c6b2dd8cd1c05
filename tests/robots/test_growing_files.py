"""A few words of a robot's file that ask for any amount of memory or time get none."""

from pathlib import Path

import pytest
from bulk import bulk
from cutjoint.model.base.errors import DescriptionError
from cutjoint.model.laws.tables import _name_and_unit
from cutjoint.model.robots import read_mjcf as reading
from cutjoint.model.robots.expand_xacro import expand_xacro
from cutjoint.model.urdf.packages import _name_of

ROBOT = '<robot name="r" xmlns:xacro="http://www.ros.org/wiki/xacro">{}</robot>'
LIST = '<xacro:property name="x" value="${[0]}"/>'
GROWING = {
    "ranges in a list": ("${python.map(python.sum, [range(10000)] * 40000)}", "too large"),  # 50 s
    "long integers": ("${[2**1000] * 40000}", "too large"),  # 12 MB of text a time
    "a set of many": ("${len(python.set(range(5000)))}", "set or dictionary that is too large"),
    "a dictionary of many": ("${len(dict(python.enumerate(range(5000))))}", "too large"),
    "a list that grows by itself": ("${map(x.extend, [x] * 40)}", "too large"),  # 4 TB
    "the same, filtered": ("${python.filter(x.extend, [x] * 40)}", "too large"),
    "the same, mapped twice": ("${map(map, [x.extend], [[x] * 40])}", "too large"),
    "a list in itself": ("${map(x.append, [x] * 9)}", "nested too deep"),
    "methods that look at much": ("${map((x * 40000).count, range(10000))}", "more steps"),
    "lists as text": ("${[1 / 3] * 40000}" * 100, "more steps"),  # 2 GB
}


@pytest.mark.parametrize(
    "case", bulk([*GROWING], {*GROWING} - {"methods that look at much"})
)  # which is slow
def test_expressions_that_make_much_of_little(case: str, tmp_path: Path) -> None:
    text, sentence = GROWING[case]
    path = tmp_path / "it.xacro"
    path.write_text(ROBOT.format(f'{LIST}<a v="{text}"/>'))
    with pytest.raises(DescriptionError, match=sentence):
        expand_xacro(path)


def test_sets_and_dictionaries_of_few_are_made(tmp_path: Path) -> None:
    path = tmp_path / "it.xacro"
    made = "${[len(python.set([1, 1, 2])), dict([(1, 2)]), dict(a=1), dict(dict(a=1), b=3), len(dict())]}"
    path.write_text(ROBOT.format(f'<a v="{made}"/>'))
    assert expand_xacro(path).need("a").get("v") == "[2, {1: 2}, {'a': 1}, {'a': 1, 'b': 3}, 0]"


def test_parameters_whose_quotes_do_not_end(tmp_path: Path) -> None:
    """Each looked at all others: 100 kB took a minute."""
    path = tmp_path / "it.xacro"
    parameters = "a=' '" * 20_000 + "&quot;"
    path.write_text(ROBOT.format(f'<xacro:macro name="m" params="{parameters}"/>'))
    with pytest.raises(DescriptionError, match="more steps"):
        expand_xacro(path)


def test_texts_that_took_the_square_of_their_length(tmp_path: Path) -> None:
    """A package's name took 14 s, the title of a column minutes."""
    (tmp_path / "package.xml").write_text("<name>" * 16_000)
    assert _name_of(tmp_path) == tmp_path.name
    assert _name_and_unit("x" + " " * 100_000 + "(") == ("x" + " " * 100_000 + "(", None)
    for title, found in {" torque (N.mm) ": ("torque", "N.mm"), "a": ("a", None), "(s)": ("", "s")}.items():
        assert _name_and_unit(title) == found


BODY = '<body name="b"><joint/><inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>{}</body>'
GROWN = {
    "hfield": ('<asset><hfield name="h" nrow="60000" ncol="60000" size="1 1 1 1"/></asset>', ""),  # 14 GB
    "size": ('<size nuserdata="900000000"/>', ""),
    "flexcomp": ("", '<flexcomp name="f" type="grid" count="3000 3000 3000" spacing="1 1 1" dim="3"/>'),
    "replicate": ("", '<replicate count="30000000"><body><geom size="1"/></body></replicate>'),  # minutes
}


@pytest.mark.parametrize("tag", bulk([*GROWN], ["hfield", "replicate"]))
def test_an_mjcf_that_grows_is_tried_elsewhere(
    tag: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All of it was made in this process, and whatever C++ raised then was unexpected."""
    pytest.importorskip("mujoco")
    monkeypatch.setattr(reading, "SECONDS", 2)
    path = tmp_path / "it.xml"
    first, inner = GROWN[tag]
    path.write_text(f"<mujoco>{first}<worldbody>{BODY.format(inner)}</worldbody></mujoco>")
    with pytest.raises(DescriptionError, match="takes too much memory or time"):
        reading.read_mjcf(path)
    few = "<worldbody><replicate count='2'>" + BODY.format("") + "</replicate></worldbody>"
    path.write_text(f"<mujoco>{few}</mujoco>")
    assert len(reading.read_mjcf(path).links) == 2


def test_meshes_of_an_mjcf_are_found_from_its_own_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file named without its folder had none: they were looked for one folder up."""
    pytest.importorskip("mujoco")
    faces = "f 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"
    (tmp_path / "m.obj").write_text(f"v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\n{faces}")
    body = '<body><joint/><geom type="mesh" mesh="m"/></body>'
    asset = '<asset><mesh name="m" file="m.obj"/></asset>'
    (tmp_path / "it.xml").write_text(f"<mujoco>{asset}<worldbody>{body}</worldbody></mujoco>")
    monkeypatch.chdir(tmp_path)
    (link,) = reading.read_mjcf(Path("it.xml")).links
    assert link.mass == pytest.approx(1000 / 6, rel=1e-3)
