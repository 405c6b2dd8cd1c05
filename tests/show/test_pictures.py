"""Pictures and plots show what they should."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from bulk import KINDS, bulk
from cutjoint import Simulation, list_examples, load
from cutjoint.model.batch.results import in_lines
from cutjoint.model.joints.types import TYPES
from cutjoint.model.loading import read
from cutjoint.model.show.measures import drive_range
from cutjoint.model.show.picture import draw, save_picture
from cutjoint.model.show.plot import draw_plot, group
from cutjoint.model.show.sketch import around, body_points, choose_view, family, joint_frame, rod_ends

LOOKS = {  # marker, filled, with a line between its ends, axes drawn
    "revolute": ("o", False, False, (2,)),
    "prismatic": ("s", False, True, (2,)),
    "cylindrical": ("D", False, True, (2,)),
    "helical": ("d", False, True, (2,)),
    "planar": ("h", False, False, (2,)),
    "pin-in-slot": ("H", False, False, (2, 0)),
    "universal": ("P", False, False, (2, 0)),
    "spherical": ("o", True, False, ()),
    "fixed": ("s", True, False, ()),
    "distance": ("o", True, True, ()),
    "revolute-spherical": ("o", False, True, (2,)),
    "spherical-translational": ("D", True, True, (2,)),
    "translational-distance": ("s", False, True, (2,)),
    "rolling": ("o", False, False, (2,)),
    "rolling-ball": ("o", False, False, (2,)),
    "knife-edge": ("|", False, False, (2,)),
}


@pytest.mark.parametrize("name", LOOKS)
def test_a_joint_type_looks_like_what_it_does(name: str) -> None:
    kind = TYPES[name]
    assert (kind.marker, kind.filled, kind.stretched, kind.ticks) == LOOKS[name]


ROD = """
bodies: {arm: {mass: 1, com: [0.5, 0, 0]}}
joints:
  hinge: {type: revolute, parent: ground, child: arm, at: [0, 0, 0], axis: y}
  rod: {type: %s, parent: ground, child: arm, point1: [0.2, 0, -0.7], point2: [1, 0, 0]%s}
"""


@pytest.mark.parametrize("name", [name for name, kind in TYPES.items() if "length" in kind.fields])
def test_what_spans_a_distance_is_drawn_as_a_rod_of_its_length(name: str) -> None:
    kind = TYPES[name]
    more = ", axis: y" * kind.directed + ", travel: 0.1" * ("travel" in kind.fields)
    simulation = Simulation(read(ROD % (name, more)), compile=False)
    poses = simulation.body_poses()
    ((start, end),) = rod_ends(simulation.mechanism, poses)
    assert np.linalg.norm(end - start) == pytest.approx(simulation.mechanism.joint("rod").length, rel=1e-12)


@pytest.mark.parametrize("name", bulk(list_examples(), KINDS))
def test_every_example_is_drawn_with_its_joints_where_they_are(name: str) -> None:
    simulation = Simulation(load(name), compile=False)
    mechanism, poses = simulation.mechanism, simulation.body_poses()
    view = choose_view(mechanism, poses, body_points(mechanism, poses))
    np.testing.assert_allclose(view.axes @ view.axes.T, np.eye(3), atol=1e-12)
    assert np.linalg.det(view.axes) > 0, "a mirrored picture"
    axes = draw(mechanism, poses, [cut.name for cut in simulation.tree.cuts]).axes[0]
    marked = [line.get_xydata() for line in axes.lines if line.get_marker() not in ("None", "+", "|")]
    drawn = np.vstack([np.zeros((0, 2)), *marked])
    for joint in mechanism.joints:
        if joint.type != "free":
            rides = TYPES[joint.type].rides  # where its child is
            side, body = (joint.on_child, joint.child) if rides else (joint.on_parent, joint.parent)
            place = view.flat(joint_frame(side, poses[body])[1])
            assert np.min(np.linalg.norm(drawn - place, axis=1)) < 1e-9, joint.name


def test_planar_mechanisms_are_seen_straight_on_and_gravity_pulls_down() -> None:
    seen = {}
    for name in ("fivebar", "stewart"):
        simulation = Simulation(load(name), compile=False)
        poses = simulation.body_poses()
        seen[name] = choose_view(simulation.mechanism, poses, body_points(simulation.mechanism, poses))
        down = seen[name].axes @ np.array([float(x) for x in simulation.mechanism.gravity])
        assert down[1] < 0 and abs(down[0]) < 1e-9
    assert seen["fivebar"].planar and not seen["stewart"].planar


def test_names_of_motors_are_written(tmp_path: Path) -> None:
    simulation = Simulation(load("stewart"), compile=False)
    figure = draw(simulation.mechanism, simulation.body_poses())
    words = {text.get_text() for text in figure.axes[0].texts}
    assert {"motor1", "motor2", "motor3"} <= words
    save_picture(tmp_path / "a.svg", simulation.mechanism, simulation.body_poses())
    assert "<svg" in (tmp_path / "a.svg").read_text(encoding="utf-8")


def test_bodies_that_differ_by_a_number_are_one_family() -> None:
    assert [family(n) for n in ("leg1", "leg_12", "rod1a", "7", "platform")] == [
        "leg",
        "leg",
        "roda",
        "7",
        "platform",
    ]


def test_a_plot_has_a_panel_for_each_kind_and_unit() -> None:
    time = np.linspace(0, 1, 5)
    names = [
        "joint.a.position",
        "joint.b.position",
        "joint.slide.position",
        "body.p.position[1]",
        "loop.residual",
    ]
    units = {"joint.a.position": "rad", "joint.b.position": "rad", "joint.slide.position": "m"}
    assert list(group(names, units).values()) == [names[:2], names[2:3], names[3:4], names[4:]]
    columns = {name: time + k for k, name in enumerate(names)}
    panels = draw_plot(time, columns, "title", units).axes
    assert [panel.get_ylabel() for panel in panels][:2] == ["joint position\n(rad)", "joint position\n(m)"]
    assert [line.get_label() for line in panels[0].lines] == ["a", "b"]
    assert panels[2].lines[0].get_label() == "p x"
    np.testing.assert_array_equal(panels[0].lines[1].get_ydata(), time + 1)
    assert panels[3].get_yscale() == "log"


@pytest.mark.parametrize("angle", [(0.0, 0.0), (-1.3, 0.4), (2.0, np.pi / 2), (0.5, -np.pi / 2)])
@pytest.mark.parametrize("name", ["stewart", "fourbar"])
def test_one_can_look_from_any_angle(name: str, angle: tuple[float, float]) -> None:
    simulation = Simulation(name, compile=False)
    poses = simulation.body_poses()
    points = body_points(simulation.mechanism, poses)
    view = choose_view(simulation.mechanism, poses, points, angle)
    np.testing.assert_allclose(view.axes @ view.axes.T, np.eye(3), atol=1e-12)
    assert view.axes[2] @ view.up == pytest.approx(np.sin(angle[1]), abs=1e-12)
    assert abs(view.axes[0] @ view.up) < 1e-12  # what is level stays level


def test_phases_go_on_without_jumps() -> None:
    from cutjoint.model.show.linear_plot import phase_degrees

    omega = np.geomspace(0.01, 100, 400)
    lag = phase_degrees(1 / ((1j * omega) ** 2 + 0.2j * omega + 1) ** 2)
    assert lag[0] == pytest.approx(0, abs=0.5) and lag[-1] == pytest.approx(-360, abs=0.5)
    assert np.abs(np.diff(lag)).max() < 60


def test_outlines_are_convex_hulls() -> None:
    from scipy.spatial import ConvexHull

    random = np.random.default_rng(1)
    for points in (random.normal(size=(40, 2)), random.integers(0, 4, size=(60, 2)).astype(float)):
        corners, wanted = around(points), ConvexHull(points)
        assert {tuple(x) for x in corners} == {tuple(x) for x in points[wanted.vertices]}
        assert len(corners) == len(wanted.vertices)
    for few in (np.zeros((0, 2)), np.ones((3, 2)), np.array([[0.0, 0], [1, 1], [2, 2]])):
        assert len(around(few)) <= 2


def test_a_needle_can_be_drawn(tmp_path: Path) -> None:
    """A mechanism that is ever so much higher than wide ended in a singular matrix."""
    text = Path(__file__).parents[2].joinpath("examples", "gripper.yaml").read_text(encoding="utf-8")
    assert "[0.012, 0.03, 0.07]" in text
    (tmp_path / "needle.yaml").write_text(text.replace("[0.012, 0.03, 0.07]", "[0.012, 0.03, 1e49]", 1))
    mechanism = load(tmp_path / "needle.yaml")
    save_picture(tmp_path / "needle.png", mechanism, Simulation(mechanism, compile=False).body_poses())
    assert (tmp_path / "needle.png").stat().st_size > 1000


DRIVES = """
bodies:
  car: {mass: 40, com: [0, 0, 0]}
  arm: {mass: 2, com: [0.5, 0, 0]}
joints:
  rail: {type: prismatic, parent: ground, child: car, at: [0, 0, 0], axis: x%s}
  pin: {type: revolute, parent: car, child: arm, at: [0, 0, 0], axis: y}
motors:
  rack: {joint: rail, drive: %s}
cylinders:
  ram: {body1: car, body2: arm, point1: [0, 0, 0.5], point2: [0.5, 0, 0], drive: position}
"""


@pytest.mark.parametrize(
    ("limits", "drive", "range_"),
    [
        ("", "position", (-1.0, 1.0)),
        (", limits: [-0.2, 0.7]", "position", (-0.2, 0.7)),
        ("", "velocity", (-1.0, 1.0)),
        ("", "torque", (-500.0, 500.0)),
    ],
)
def test_sliders_go_as_far_as_makes_sense_in_their_unit(
    limits: str, drive: str, range_: tuple[float, float]
) -> None:
    """Half of the weight in newtons was taken for metres: a rack's slider went to 200 m."""
    mechanism = read(DRIVES % (limits, drive))
    first = {row.name: row.first for row in mechanism.input_table}
    assert drive_range(mechanism, first["rack"], 0.8) == pytest.approx(range_)
    assert drive_range(mechanism, first["ram"], 0.8, 0.7) == pytest.approx((0.35, 1.05))


def test_of_many_lines_the_largest_have_names_and_the_rest_are_counted() -> None:
    """Thirteen lines had no legend at all: which joint carries most could not be seen."""
    time = np.linspace(0, 1, 5)
    columns = {f"reaction.pin{k}.force.norm": k * time for k in range(20)}
    (axes,) = draw_plot(time, columns, units=dict.fromkeys(columns, "N")).axes
    names = [text.get_text() for text in axes.get_legend().get_texts()]
    assert names[:2] == ["pin19", "pin18"] and names[-1] == "8 smaller ones" and len(names) == 13
    assert axes.get_ylabel() == "reaction force\n(N)"


def test_components_of_a_named_vector_are_x_y_z() -> None:
    time = np.linspace(0, 1, 5)
    columns = {f"foot[{k}]": k * time for k in (1, 2, 3)}
    (axes,) = draw_plot(time, columns).axes
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["foot x", "foot y", "foot z"]


def test_an_output_is_drawn_over_another() -> None:
    time = np.linspace(0, 1, 5)
    columns = {"stroke": 2 * time, "force": 3 * time}
    (axes,) = draw_plot(time, columns, "", {"stroke": "m", "force": "N"}, over="stroke").axes
    np.testing.assert_array_equal(axes.lines[0].get_xydata(), np.column_stack([2 * time, 3 * time]))
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("stroke (m)", "force (N)")


def test_long_names_of_a_sweep_are_broken() -> None:
    name = "change of joint.crank_pin.on_child.position[1] with one standard deviation"
    lines = in_lines(name).split("\n")
    assert "".join(lines) == name and max(map(len, lines)) <= 30
