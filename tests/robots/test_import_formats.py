"""Robots of other formats: every dialect of the same four-bar moves the same way; reports and refusals."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from cutjoint import Simulation, load
from cutjoint.model.base.errors import DescriptionError
from cutjoint.model.cli.main import main
from cutjoint.model.manifold.gaps import open_loop
from cutjoint.model.robots.load_robot import load_robot
from cutjoint.model.robots.translate import ImportOptions
from robot_files import DIALECTS, DRAWN, LINKS, MJCF, ONE, PAIR, SDF, TWO, frame, hinge, inertial, urdf


def written(folder: Path, name: str, text: str, beside: str = "") -> Path:
    path = folder / name
    path.write_text(text)
    if beside:
        path.with_suffix(".yaml").write_text(beside)
    return path


def motion(path: Path, wishes: ImportOptions | None = None, crank: float = 0.1) -> dict[str, float]:
    """Where the joints that all dialects have are, and how they move, the crank held there and turning."""
    mechanism = load_robot(path, wishes).mechanism
    turning = tuple(replace(j, speed=(1.3,)) if j.name == "turn" else j for j in mechanism.joints)
    s = Simulation(replace(mechanism, joints=turning), start={"turn": crank}, compile=False)
    assert np.abs(s.closure()[0]).max() < 1e-12
    s.set_inputs([0.8])
    found = s.outputs()
    return {
        f"{joint}.{what}": float(found[f"joint.{joint}.{what}"])
        for joint in ("turn", "knee", "swing")
        for what in ("position", "velocity", "acceleration")
    }


def same(one: dict[str, float], other: dict[str, float]) -> None:
    assert other == pytest.approx(one, abs=1e-9)


@pytest.fixture(scope="module")
def reference(tmp_path_factory) -> dict[str, float]:
    return motion(written(tmp_path_factory.mktemp("loop"), "robot.urdf", DIALECTS["loop"][0]))


@pytest.mark.parametrize("dialect", DIALECTS)
def test_dialects_of_urdf_move_alike(dialect: str, reference, tmp_path: Path) -> None:
    same(reference, motion(written(tmp_path, "robot.urdf", *DIALECTS[dialect])))
    assert load(tmp_path / "robot.urdf").inputs() == ("turn",)


@pytest.mark.parametrize("dialect", ["gazebo", "closing_joints"])
def test_dialects_that_draw_the_joint_once_move_alike(dialect: str, tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    wanted = motion(written(tmp_path / "a", "robot.urdf", *DRAWN["loop"]))
    same(wanted, motion(written(tmp_path, "robot.urdf", *DRAWN[dialect])))


def test_six_dimensional_pairs_are_redundant_in_a_plane_and_simply_work(reference, tmp_path: Path) -> None:
    """The coupler in two halves, one on the crank and one on the rocker, kept rigidly together at its tip."""
    near = inertial(0.45, "0.35 0 0", "0.0001 0.02 0.02")
    far = near.replace("0.35 0 0", "-0.35 0 0")
    text = urdf(
        f'<link name="half">{far}</link>'
        + hinge("pin", "rocker", "half", "0 0 0.5")
        + frame("end_A", "coupler", "0.7 0 0")
        + frame("end_B", "half", "0 0 0")
    ).replace(LINKS["coupler"], near)
    path = written(tmp_path, "robot.urdf", text, PAIR.format("6d"))
    same(reference, motion(path))
    found = Simulation(load(path), compile=False).topology()
    assert (found.mobility, found.rows - found.rank) == (1, 3) and len(found.redundant) == 3


@pytest.mark.parametrize(
    "equality", [ONE, ONE + TWO, '<connect body1="coupler" body2="rocker" anchor="0.7 0 0"/>']
)
def test_mjcf_moves_as_urdf(equality: str, reference, tmp_path: Path) -> None:
    pytest.importorskip("mujoco")
    text = MJCF % equality
    if "anchor" in equality:  # connects what coincides as drawn
        text = text.replace('name="rocker" pos="0.6 0 0"', 'name="rocker" pos="0.7 0 -0.2"')
        (tmp_path / "a").mkdir()
        reference = motion(written(tmp_path / "a", "robot.urdf", *DRAWN["loop"]))
    path = written(tmp_path, "robot.xml", text)
    same(reference, motion(path))
    merged = any("are one hinge" in line for line in load_robot(path).report)
    assert merged == (TWO in equality)
    kinds = {joint.type for joint in load(path).joints if joint.name not in ("turn", "knee", "swing")}
    assert kinds == ({"revolute"} if merged else {"spherical"})


def test_mjcf_weld_is_a_rigid_connection(tmp_path: Path) -> None:
    pytest.importorskip("mujoco")
    text = MJCF % '<weld body1="crank" body2="coupler"/>'
    found = Simulation(load(written(tmp_path, "robot.xml", text)), compile=False).topology()
    assert found.mobility == 2  # crank and coupler as one, and the rocker


ROUNDED = {
    "hinge": ("loop", '<axis xyz="0 1 0"/></loop>', '<axis xyz="0 1 4e-6"/></loop>'),
    "ball": ("drake_ball", 'p_AP value="0.7 0 0"', 'p_AP value="0.7 1e-6 0"'),
    "frames": ("closing_frames", "-1.5707963267948966", "-1.5708"),
}


@pytest.mark.parametrize("what", ROUNDED)
def test_rounded_numbers_leave_no_plane_loop_open(what: str, reference, tmp_path: Path) -> None:
    """1.5708 for a right angle: rows that a plane loop does not need would contradict the others."""
    dialect, exact, rounded = ROUNDED[what]
    text = DIALECTS[dialect][0].replace(exact, rounded)
    assert text != DIALECTS[dialect][0]
    path = written(tmp_path, "robot.urdf", text)
    assert motion(path) == pytest.approx(reference, rel=1e-4, abs=1e-4)
    assert any(line.startswith("loosened: ") for line in load_robot(path).report)
    assert Simulation(load_robot(path).mechanism, compile=False).topology().mobility == 1


def test_rounded_rigid_pairs_are_closed_by_another_hinge(tmp_path: Path) -> None:
    """A 6d pair says nothing of an axis: a hinge of its loop that nobody drives is loosened instead."""
    bar = frame("end_A", "tip", "0 0 0", "0.000004 0 0") + frame("end_B", "rocker", "0 0 0.5")
    tip = f'<link name="tip">{inertial(0.01, "0 0 0", "1e-5 1e-5 1e-5")}</link>'
    path = written(
        tmp_path,
        "robot.urdf",
        urdf(tip + hinge("wrist", "coupler", "tip", "0.7 0 0") + bar),
        PAIR.format("6d"),
    )
    s = Simulation(load_robot(path).mechanism, start={"turn": 0.1}, compile=False)
    assert s.topology().mobility == 1 and np.abs(s.closure()[0]).max() < 1e-12


def test_axes_that_meet_but_for_rounding_close_a_spherical_loop(tmp_path: Path) -> None:
    """A spherical four-bar: axes through one point, the closing one off by a micrometre."""
    axes = {"a": (0, 0, 1), "b": (0, 1, 1), "c": (1, 1, 0), "d": (1, 0, 0.2)}
    body = inertial(1.0, "0.1 0.1 0.2", "0.02 0.03 0.03")
    links = "".join(f'<link name="{name}">{body}</link>' for name in ("l1", "l2", "l3"))
    joint = '<joint name="{}" type="continuous"><parent link="{}"/><child link="{}"/><axis xyz="{} {} {}"/>'
    tree = (("a", "base", "l1"), ("b", "l1", "l2"), ("d", "base", "l3"))
    joints = "".join(f"{joint.format(name, near, far, *axes[name])}</joint>" for name, near, far in tree)
    loop = (
        '<loop name="c" type="revolute"><predecessor link="l2"><origin xyz="0.2 0.2 1e-6"/></predecessor>'
        '<successor link="l3"><origin xyz="0.2 0.2 0"/></successor><axis xyz="1 1 0"/></loop>'
    )
    text = f'<robot name="r"><link name="base"/>{links}{joints}{loop}</robot>'
    s = Simulation(load_robot(written(tmp_path, "robot.urdf", text)).mechanism, compile=False)
    assert s.topology().mobility == 1 and np.abs(s.closure()[0]).max() < 1e-12
    energy = s.energy()
    s.run(0.2)
    assert s.energy() == pytest.approx(energy, abs=1e-6) and np.abs(s.v).max() > 0.1


def test_a_gap_that_only_rounding_leaves_is_told_as_such() -> None:
    mechanism = load("fourbar")
    cut = mechanism.joints[-1].name
    assert "write more digits, or hold less" in str(open_loop(mechanism, {cut: 1e-7}))
    assert "nearer to a closed pose" in str(open_loop(mechanism, {cut: 1e-2}))


def test_a_loop_drawn_in_a_line_is_closed_from_beside_it(tmp_path: Path) -> None:
    """All links along x, and open there: no step of Newton's leads out of the line."""
    bar = inertial(1.0, "0.1 0 0", "0.01 0.01 0.01")
    names = ("base", "l1", "l2", "l3", "l4")
    links = "".join(f'<link name="{name}">{bar}</link>' for name in names[1:])
    lengths = (0, 0.2, 0.3, 0.3)
    joints = "".join(
        f'<joint name="j{k}" type="continuous"><parent link="{names[k]}"/><child link="{names[k + 1]}"/>'
        f'<origin xyz="{lengths[k]} 0 0"/><axis xyz="0 0 1"/></joint>'
        for k in range(4)
    )
    loop = (
        '<loop name="pin" type="revolute"><predecessor link="l4"><origin xyz="0.2 0 0"/></predecessor>'
        '<successor link="base"><origin xyz="0.5 0 0"/></successor><axis xyz="0 0 1"/></loop>'
    )
    text = f'<robot name="five"><link name="base"/>{links}{joints}{loop}</robot>'
    path = written(tmp_path, "robot.urdf", text)
    one, other = (Simulation(load_robot(path).mechanism, compile=False) for _ in range(2))
    assert one.topology().mobility == 2 and np.abs(one.closure()[0]).max() < 1e-12
    np.testing.assert_array_equal(one.q, other.q)


DRAKE_SDF = {
    "ball": """<drake:ball_constraint><drake:ball_constraint_body_A>coupler</drake:ball_constraint_body_A>
<drake:ball_constraint_body_B>rocker</drake:ball_constraint_body_B>
<drake:ball_constraint_p_AP>0.7 0 0</drake:ball_constraint_p_AP>
<drake:ball_constraint_p_BQ>0 0 0.5</drake:ball_constraint_p_BQ></drake:ball_constraint>""",
    "bushing": """<frame name="A" attached_to="coupler"><pose>0.7 0 0 0 0 0</pose></frame>
<frame name="C" attached_to="rocker"><pose>0 0 0.5 0 0 0</pose></frame>
<drake:linear_bushing_rpy><drake:bushing_frameA>A</drake:bushing_frameA>
<drake:bushing_frameC>C</drake:bushing_frameC>
<drake:bushing_torque_stiffness>3e4 0 3e4</drake:bushing_torque_stiffness>
<drake:bushing_torque_damping>1 0 1</drake:bushing_torque_damping>
<drake:bushing_force_stiffness>9e3 9e3 9e3</drake:bushing_force_stiffness>
<drake:bushing_force_damping>1 1 1</drake:bushing_force_damping></drake:linear_bushing_rpy>""",
}


@pytest.mark.parametrize("tag", DRAKE_SDF)
def test_drakes_tags_close_loops_of_sdf(tag: str, tmp_path: Path) -> None:
    head, _, _ = SDF.partition('<joint name="pin"')
    path = written(tmp_path, "robot.sdf", f"{head}{DRAKE_SDF[tag]}<drake:other/></model></sdf>")
    wishes = ImportOptions(drive=("turn",))
    same(motion(written(tmp_path, "plain.sdf", SDF), wishes), motion(path, wishes))
    assert "left out: <drake:other>" in load_robot(path).report


def test_sdf_starts_where_it_says(tmp_path: Path) -> None:
    """`initial_position`, as Drake reads it: the pose from which loops are closed."""
    start = "<axis><initial_position>0.25</initial_position><xyz>0 1 0</xyz><dynamics>"
    path = written(tmp_path, "robot.sdf", SDF.replace("<axis><xyz>0 1 0</xyz><dynamics>", start))
    mechanism = load_robot(path).mechanism
    assert mechanism.joint("turn").start == (0.25,)
    assert Simulation(mechanism, compile=False).outputs()["joint.turn.position"] > 0.05


LIMITED = '<limit lower="-1" upper="1.5" effort="3" velocity="9"/><dynamics damping="0.2" friction="0.1"/>'


def test_loop_joints_keep_limits_damping_and_motors(tmp_path: Path) -> None:
    text = DIALECTS["loop"][0].replace("</loop>", f"{LIMITED}</loop>")
    mechanism = load_robot(written(tmp_path, "robot.urdf", text), ImportOptions(drive=("pin",))).mechanism
    pin = mechanism.joint("pin")
    assert (pin.limits, pin.damping, pin.friction) == ((-1.0, 1.5), (0.2,), (0.1,))
    assert [(m.joint, m.limit) for m in mechanism.motors] == [("pin", 3.0)]
    Simulation(mechanism, compile=False).step(1e-3)


def test_gazebo_joints_of_two_axes_and_their_dynamics(tmp_path: Path) -> None:
    """A joint in <gazebo> is one of SDF: both axes, limits and dynamics count, also to the world."""
    axes = "<axis><xyz>0 1 0</xyz></axis><axis2><xyz>{}</xyz></axis2>"
    plain = (
        "<axis><xyz>0 1 0</xyz><limit><lower>-1</lower><upper>2</upper></limit>"
        "<dynamics><damping>0.3</damping><spring_stiffness>4</spring_stiffness></dynamics></axis>"
    )
    for kind, inner in (("universal", axes.format("1 0 0")), ("revolute", plain)):
        pose = "<pose>0 0 0.5 0 0 0</pose>"
        closing = f'<gazebo><joint name="pin" type="{kind}">{{}}{pose}{inner}</joint></gazebo>'
        text = DRAWN["gazebo"][0]
        head, _, rest = text.partition("<gazebo>")
        tail = rest.partition("</gazebo>")[2]
        ends = "<parent>coupler</parent><child>rocker</child>"
        path = written(tmp_path, f"{kind}.urdf", head + closing.format(ends) + tail)
        pin = load_robot(path).mechanism.joint("pin")
        assert pin.type == kind
        if kind == "revolute":
            assert (pin.limits, pin.damping, pin.stiffness) == ((-1.0, 2.0), (0.3,), (4.0,))
    skew = (tmp_path / "universal.urdf").read_text().replace(">1 0 0<", ">1 1 0<")
    refused(written(tmp_path, "skew.urdf", skew), "not at right angles")


def test_a_loops_file_is_for_urdf_alone(tmp_path: Path) -> None:
    loops = written(tmp_path, "loops.yaml", "closed_loop: []")
    refused(written(tmp_path, "robot.sdf", SDF), "leave --loops out", ImportOptions(loops=loops))


def test_what_is_not_read_is_told(tmp_path: Path) -> None:
    text = DIALECTS["loop"][0].replace("</robot>", '<mujoco/><fixed_frame name="f"/></robot>')
    report = load_robot(written(tmp_path, "robot.urdf", text)).report
    assert {"left out: <mujoco>", "left out: <fixed_frame> f"} <= set(report)
    text = '<robot name="post"><link name="a"/></robot>'
    refused(written(tmp_path, "post.urdf", text), "nothing moves in 'post'")


@pytest.mark.parametrize("version", ["1.4", "1.5", "1.7", "1.11"])
def test_sdf_moves_as_urdf(version: str, tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    reference = motion(written(tmp_path / "a", "robot.urdf", *DRAWN["loop"]), ImportOptions(drive=("turn",)))
    path = written(tmp_path, "robot.sdf", SDF.replace("1.7", version))
    same(reference, motion(path, ImportOptions(drive=("turn",))))


# -- what is said and refused -----------------------------------------------------------------------------


def refused(path: Path, sentence: str, wishes: ImportOptions | None = None) -> None:
    with pytest.raises(DescriptionError, match=sentence) as caught:
        load_robot(path, wishes)
    assert str(path) in str(caught.value) and "\n" not in str(caught.value)


BOMB = '<?xml version="1.0"?><!DOCTYPE robot [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">]><robot name="&b;"/>'
OUTSIDE = '<?xml version="1.0"?><!DOCTYPE robot SYSTEM "http://example.com/x.dtd"><robot name="r"/>'


@pytest.mark.parametrize("text", [BOMB, OUTSIDE], ids=["entities", "outside"])
@pytest.mark.parametrize("ending", ["urdf", "sdf", "xml"])
def test_document_types_and_entities_are_refused(text: str, ending: str, tmp_path: Path) -> None:
    refused(written(tmp_path, f"robot.{ending}", text), "document types and entities are refused")


def test_deep_and_huge_files_are_refused(tmp_path: Path) -> None:
    refused(written(tmp_path, "deep.urdf", "<a>" * 300 + "</a>" * 300), "nested too deep")
    refused(written(tmp_path, "many.urdf", "<a>" + "<b/>" * 300_000 + "</a>"), "too many elements")
    refused(written(tmp_path, "huge.urdf", "<a>" + " " * 10_000_001 + "</a>"), "larger than 10 MB")


def test_files_outside_the_folder_are_refused(tmp_path: Path) -> None:
    pytest.importorskip("mujoco")
    (tmp_path / "in").mkdir()
    (tmp_path / "secret.xml").write_text("<mujoco/>")
    text = '<mujoco><include file="../secret.xml"/></mujoco>'
    refused(written(tmp_path / "in", "robot.xml", text), "outside the folder")
    text = '<mujoco><worldbody><geom type="hfield" hfield="h"/></worldbody><asset>{}</asset></mujoco>'
    text = text.format('<hfield name="h" file="/etc/passwd" size="1 1 1 1"/>')
    refused(written(tmp_path / "in", "robot.xml", text), "outside the folder")


CUBE = "\n".join(
    ["v {} {} {}".format(*(0.1 * (k >> i & 1) for i in range(3))) for k in range(8)]
    + [f"f {a} {b} {c}" for a, b, c in ((1, 3, 4), (1, 4, 2), (5, 6, 8), (5, 8, 7), (1, 2, 6), (1, 6, 5))]
    + [f"f {a} {b} {c}" for a, b, c in ((3, 7, 8), (3, 8, 4), (1, 5, 7), (1, 7, 3), (2, 4, 8), (2, 8, 6))]
)


def test_meshes_of_mjcf_may_lie_beside_its_folder_and_are_not_opened_elsewhere(tmp_path: Path) -> None:
    """`meshdir="../meshes"` is usual; from a mesh that is farther away no mass is taken."""
    pytest.importorskip("mujoco")
    for folder in ("a/robot", "a/meshes", "far"):
        (tmp_path / folder).mkdir(parents=True)
    for folder in ("a/meshes", "far"):
        (tmp_path / folder / "cube.obj").write_text(CUBE)
    text = (
        '<mujoco><compiler meshdir="{}"/><asset><mesh name="m" file="cube.obj"/></asset><worldbody>'
        '<body name="b"><joint name="j"/><geom type="mesh" mesh="m"/>'
        '<geom size="0.1" mass="1" pos="1 0 0"/></body></worldbody></mujoco>'
    )
    near = load_robot(written(tmp_path / "a/robot", "near.xml", text.format("../meshes")))
    assert near.mechanism.body("b").mass == pytest.approx(1 + 1000 * 0.1**3)
    for where in ("../../far", str(tmp_path / "far")):
        far = load_robot(written(tmp_path / "a/robot", "far.xml", text.format(where)))
        assert far.mechanism.body("b").mass == 1.0
        assert any("files are missing" in line for line in far.report)


def test_missing_meshes_are_no_obstacle_where_inertia_is_given(tmp_path: Path) -> None:
    pytest.importorskip("mujoco")
    asset = '<asset><mesh name="m" file="nowhere.stl"/></asset><worldbody>'
    text = (
        (MJCF % ONE)
        .replace("<worldbody>", asset)
        .replace('<joint name="turn"', '<geom type="mesh" mesh="m"/><joint name="turn"')
    )
    assert len(load(written(tmp_path, "robot.xml", text)).bodies) == 3


def test_inertias_that_no_body_has(tmp_path: Path) -> None:
    """Off by rounding: repaired and told. By more: refused, with the link and the option that accepts it."""
    spin = '<joint name="ball" type="floating"><parent link="base"/><child link="b"/></joint>'

    def one(moments: str) -> str:
        body = f'<link name="b">{inertial(1.0, "0 0 0", moments)}</link>'
        return f'<robot name="r"><link name="base"/>{body}{spin}</robot>'

    path = written(tmp_path, "near.urdf", one("0.01 0.01 0.0201"))
    mechanism, report = load_robot(path)
    assert any("repaired" in line and "0.498 %" in line and " b " in line for line in report)
    xx, yy, zz, *_ = mechanism.body("b").inertia
    assert xx + yy == pytest.approx(zz) and zz == pytest.approx(0.0201)
    path = written(tmp_path, "far.urdf", one("0.01 0.01 0.1"))
    refused(path, "link 'b' has the principal moments.*--accept-inertia")
    assert load_robot(path, ImportOptions(accept_inertia=True)).mechanism.body("b").inertia[
        0
    ] == pytest.approx(0.05)


def test_in_a_plane_other_moments_have_no_effect(reference, tmp_path: Path) -> None:
    """Planar models say the moment about their normal and anything of the others."""
    text = DIALECTS["loop"][0]
    for link in LINKS.values():
        moments = link.partition('iyy="')[2].partition('"')[0]
        text = text.replace(link.partition("<inertia ")[2], f'ixx="0" iyy="{moments}" izz="0"/></inertial>')
    same(reference, motion(written(tmp_path, "robot.urdf", text)))


def test_names_that_are_no_identifiers_are_mapped(tmp_path: Path) -> None:
    text = DIALECTS["loop"][0].replace('"crank"', '"left-crank"').replace('"knee"', '"left knee/1"')
    mechanism, report = load_robot(written(tmp_path, "robot.urdf", text))
    assert "left_crank" in [b.name for b in mechanism.bodies]
    assert any("left-crank → left_crank" in line and "left knee/1 → left_knee_1" in line for line in report)


def test_three_hinges_without_mass_between_them_are_a_ball(tmp_path: Path) -> None:
    """Joints that meet at right angles; a spinning top hung so moves as on a ball."""
    body = inertial(2.0, "0 0 0.1", "0.03 0.02 0.01")
    axes = ("1 0 0", "0 1 0", "0 0 1")
    links = '<link name="base"/><link name="m1"/><link name="m2"/>' + f'<link name="top">{body}</link>'
    names = ("base", "m1", "m2", "top")
    joints = "".join(
        hinge(f"h{k + 1}", names[k], names[k + 1], "0 0 0").replace("0 1 0", axes[k]) for k in range(3)
    )
    mechanism, report = load_robot(
        written(tmp_path, "top.urdf", f'<robot name="top">{links}{joints}</robot>')
    )
    assert [joint.type for joint in mechanism.joints] == ["spherical"]
    assert any("h1, h2, h3 are one spherical joint" in line for line in report)
    apart = joints.replace(
        '<child link="m2"/><origin xyz="0 0 0"/>', '<child link="m2"/><origin xyz="0 0.1 0"/>'
    )
    mechanism = load(written(tmp_path, "apart.urdf", f'<robot name="top">{links}{apart}</robot>'))
    assert [joint.type for joint in mechanism.joints] == ["revolute"] * 3
    assert [body.mass for body in mechanism.bodies] == [0.0, 0.0, 2.0]
    Simulation(mechanism, compile=False).run(0.01)


def test_links_that_move_no_mass_are_left_out(tmp_path: Path) -> None:
    text = DIALECTS["loop"][0].replace(
        "</robot>", '<link name="flag"/>' + hinge("pole", "rocker", "flag", "0 0 0.1") + "</robot>"
    )
    mechanism, report = load_robot(written(tmp_path, "robot.urdf", text))
    assert any("left out: link flag and joint pole" in line for line in report)
    assert len(mechanism.bodies) == 3


def test_a_mimic_joint_is_a_coupling(tmp_path: Path) -> None:
    mimic = '<mimic joint="turn" multiplier="-2" offset="0.25"/>'
    text = urdf().replace(
        '<origin xyz="0.6 0 0"/><axis xyz="0 1 0"/>', f'<origin xyz="0.6 0 0"/><axis xyz="0 1 0"/>{mimic}'
    )
    mechanism = load(written(tmp_path, "robot.urdf", text))
    (tie,) = mechanism.couplings
    assert (tie.joint, tie.follows, tie.ratio, tie.offset) == ("swing", ("turn",), (-2.0,), 0.25)
    s = Simulation(mechanism, compile=False)
    assert s.outputs()["joint.swing.position"] == pytest.approx(0.25 - 2 * s.outputs()["joint.turn.position"])


def test_floating_bases_and_driven_joints_are_chosen(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        "robot.urdf",
        DIALECTS["loop"][0].replace(
            '<link name="base"/>', f'<link name="base">{inertial(1.0, "0 0 0", "1 1 1")}</link>'
        ),
    )
    mechanism = load_robot(path, ImportOptions(base="floating", drive=("t*", "knee"))).mechanism
    assert mechanism.joint("base_base").type == "free" and mechanism.inputs() == ("turn", "knee")
    refused(path, "there is no joint 'turm'.*did you mean 'turn'", ImportOptions(drive=("turm",)))
    refused(path, "start: there is no joint 'x'", ImportOptions(start={"x": 1.0}))
    refused(path, "only MJCF files have keyframes", ImportOptions(start="home"))


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ('<link name="crank">', '<link name="base">', "two links are named 'base'"),
        ('type="continuous"', 'type="wobbly"', "has the type 'wobbly'; known: revolute"),
        ('<parent link="base"/>', "", r"<joint> 'turn' needs a <parent>"),
        ('<parent link="base"/>', '<parent link="nowhere"/>', "there is no link 'nowhere'"),
        ('value="0.4"', 'value="heavy"', "'value' of <mass> must be a number, not 'heavy'"),
        ('value="0.4"', 'value="-4"', "link 'crank' has the mass -4"),
        ('xyz="0 1 0"', 'xyz="0 0 0"', "must not be zero, since it is a direction"),
        ('<successor link="rocker">', '<successor link="moon">', "there is no link 'moon'"),
        ("</robot>", "", "not XML"),
    ],
)
def test_mistakes_are_told_with_file_and_line(old: str, new: str, sentence: str, tmp_path: Path) -> None:
    refused(written(tmp_path, "robot.urdf", DIALECTS["loop"][0].replace(old, new, 1)), sentence)


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        (
            '<link name="base"/>',
            '<include><uri>model://x</uri></include><link name="base"/>',
            "nested models",
        ),
        ('type="revolute"', 'type="elastic"', "has the type 'elastic'"),
        ("<parent>base</parent>", "<parent>mars</parent>", "there is no link 'mars'"),
        ('relative_to="knee_place"', 'relative_to="coupler"', "in a circle"),
        ("<pose>0.7 0 -0.2 0 0 0</pose>", "<pose>0.7 0</pose>", "the pose of <pose> must be 6 numbers"),
        ('version="1.7"', 'version="3.1"', "is not known"),
    ],
)
def test_mistakes_in_sdf_are_told(old: str, new: str, sentence: str, tmp_path: Path) -> None:
    refused(written(tmp_path, "robot.sdf", SDF.replace(old, new, 1)), sentence)


def test_import_writes_our_description_and_tells_the_gap(tmp_path: Path, capsys) -> None:
    path = written(tmp_path, "robot.urdf", DIALECTS["loop"][0])
    out = tmp_path / "robot.yaml"
    assert main(["import", str(path), "-o", str(out)]) == 0
    told = capsys.readouterr().out
    assert "from a gap of" in told and "mobility: 1" in told
    closed = Simulation(str(out), compile=False)
    assert closed.start_report.iterations == 0
    assert main(["import", str(path), "--base", "fixed", "--drive", "knee", "--json"]) == 0
    assert main(["import", str(tmp_path / "none.urdf")]) == 2
    assert main(["show", str(path)]) == 0
    assert main(["assemble", str(path), "-o", str(tmp_path / "other.yaml")]) == 0
