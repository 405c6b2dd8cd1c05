"""Visuals: triangles of plain shapes and meshes, where meshes are looked for, what is shown of them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from cutjoint import Body, Joint, Mechanism, Simulation, load
from cutjoint.model.base.errors import AssemblyError, DescriptionError
from cutjoint.model.describe.visuals import NamedFrame, Visual
from cutjoint.model.loading import read
from cutjoint.model.show.picture import draw
from cutjoint.model.urdf.surfaces import mesh_path, outline, relocate_meshes, surface, surfaces
from cutjoint.model.view.player import scene

TETRAHEDRON = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 1 4 3\n"


def mechanism(*visuals: Visual, folder: str = "") -> Mechanism:
    body = Body("arm", 1.0, (0.1, 0, 0), (0.1, 0.1, 0.1, 0, 0, 0))
    return Mechanism("m", (body,), (Joint("j", "revolute", "ground", "arm"),), visuals=visuals, folder=folder)


def volume(triangles: tuple[np.ndarray, np.ndarray]) -> float:
    """Of what triangles enclose, by the divergence theorem: positive if all are seen from outside."""
    a, b, c = (triangles[0][triangles[1][:, k]] for k in range(3))
    return float(np.einsum("ij,ij->i", a, np.cross(b, c)).sum() / 6)


@pytest.mark.parametrize(
    ("shape", "size", "wanted"),
    [
        ("box", (0.1, 0.2, 0.3), 0.006),
        ("sphere", (0.2,), 4 / 3 * np.pi * 0.2**3),
        ("cylinder", (0.1, 0.5), np.pi * 0.01 * 0.5),
        ("capsule", (0.1, 0.5), np.pi * 0.01 * 0.5 + 4 / 3 * np.pi * 0.001),
    ],
)
def test_shapes_enclose_their_volumes_where_they_are(
    shape: str, size: tuple[float, ...], wanted: float
) -> None:
    at, turned = (1.0, 2.0, 3.0), (np.sqrt(0.5), np.sqrt(0.5), 0.0, 0.0)
    visual = Visual("v", "arm", shape, size, at=at, orientation=turned)
    found = surface(mechanism(visual), visual)
    assert volume(found) == pytest.approx(wanted, rel=0.05)
    np.testing.assert_allclose((found[0].max(axis=0) + found[0].min(axis=0)) / 2, at, atol=1e-12)
    if shape == "box":
        np.testing.assert_allclose(np.ptp(found[0], axis=0), (0.1, 0.3, 0.2), atol=1e-12)
    assert 4 <= len(outline(found)) <= 110


def test_meshes_are_read_and_scaled(tmp_path: Path) -> None:
    trimesh = pytest.importorskip("trimesh")
    (tmp_path / "t.obj").write_text(TETRAHEDRON)
    trimesh.load(tmp_path / "t.obj").export(tmp_path / "t.stl")
    for file in ("t.obj", "t.stl"):
        visual = Visual("v", "arm", "mesh", (2.0, 1.0, 1.0), file)
        found = surface(mechanism(visual, folder=str(tmp_path)), visual)
        assert volume(found) == pytest.approx(2 / 6)


def test_meshes_that_can_not_be_shown_say_why(tmp_path: Path) -> None:
    pytest.importorskip("trimesh")
    (tmp_path / "bad.stl").write_text("no mesh")
    (tmp_path / "notes.txt").write_text(TETRAHEDRON)
    files = ("bad.stl", "none.stl", "notes.txt")
    visuals = [Visual(f"v{k}", "arm", "mesh", (1.0,) * 3, file) for k, file in enumerate(files)]
    found, missing = surfaces(mechanism(*visuals, folder=str(tmp_path)))
    assert not found and len(missing) == 3
    assert "'bad.stl' is no mesh" in missing[0] or "has no triangles" in missing[0]
    assert all("is not beside the description" in line for line in missing[1:])


def test_meshes_are_looked_for_where_they_may_be(tmp_path: Path) -> None:
    package = tmp_path / "ws" / "arm_description"
    for folder in ("urdf", "meshes"):
        (package / folder).mkdir(parents=True)
    (package / "meshes" / "a.stl").write_text("x")
    (tmp_path / "secret.stl").write_text("x")
    there = mechanism(folder=str(package / "urdf"))
    for name in ("package://arm_description/meshes/a.stl", "../meshes/a.stl", "package://other/meshes/a.stl"):
        assert mesh_path(there, name) == (package / "meshes" / "a.stl").resolve()
    outside = ("../../../secret.stl", str(tmp_path / "secret.stl"), f"file://{tmp_path}/secret.stl", "\0")
    # A package's name that leads up reached three folders further.
    outside += tuple(
        f"{scheme}://{'../' * up}secret.stl" for scheme in ("package", "model") for up in range(1, 6)
    )
    for name in (*outside, "package://.ssh/a.stl", "package://../ws/../../secret.stl"):
        assert mesh_path(there, name) is None
    moved = replace(there, visuals=(Visual("v", "arm", "mesh", (1.0,) * 3, "../meshes/a.stl"),))
    moved = relocate_meshes(moved, tmp_path)
    assert moved.visuals[0].file == "ws/arm_description/meshes/a.stl"


TEXT = """
bodies:
  arm: {mass: 1, com: [0.1, 0, 0], inertia: [1, 1, 1]}
joints:
  j: {type: revolute, parent: ground, child: arm, at: [0, 0, 0], axis: z}
visuals:
  v: {body: arm, %s}
"""


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ("shape: ball, size: 1", "shape must be box, sphere, cylinder, capsule or mesh"),
        ("shape: box, size: [1, 2]", r"size of a box is \[edge along x, edge along y, edge along z\]"),
        ("shape: sphere, size: -1", "size of a sphere must be positive"),
        ("shape: mesh", "a mesh needs its 'file'"),
        ("shape: box, size: [1, 1, 1], file: a.stl", "a box has no file"),
        ("shape: sphere, size: 1, colour: [2, 0, 0]", "must be red, green, blue and opacity"),
        ("shape: sphere, size: 1, orientation: [1, 0, 0, 0], axis: x", "orientation and axis say the same"),
    ],
)
def test_a_visual_that_makes_no_sense_is_refused(fields: str, sentence: str) -> None:
    with pytest.raises(DescriptionError, match=sentence):
        read(TEXT % fields)


def test_drawn_visuals_are_placed_on_their_bodies() -> None:
    text = TEXT % "shape: cylinder, size: [0.1, 1], at: [0.3, 0, 0], axis: x, colour: [1, 0, 0]"
    found = read(text).visuals[0]
    assert found.at == pytest.approx((0.2, 0, 0)) and found.colour == (1.0, 0.0, 0.0, 1.0)
    assert surface(mechanism(found), found)[0][:, 0].max() == pytest.approx(0.7)


def test_pictures_and_pages_show_visuals_and_draw_the_rest_as_before() -> None:
    picker = Simulation("belt_picker", compile=False)
    bare = replace(picker.mechanism, visuals=())
    poses = picker.body_poses()
    with_, without = (draw(m, poses).axes[0] for m in (picker.mechanism, bare))
    outlines = [p for p in with_.patches if np.allclose(p.get_facecolor()[:3], (0.90, 0.55, 0.20))]
    assert len(outlines) == 2 and len(with_.patches) > len(without.patches)
    seen = scene(picker, {})
    assert len(seen["visuals"]) == len(picker.mechanism.visuals)
    assert all(not body["corners"] for body in seen["bodies"])  # all of them are solid
    assert scene(Simulation(bare, compile=False), {})["visuals"] == []


def test_markers_are_the_visuals() -> None:
    markers = pytest.importorskip("cutjoint.ros.markers", exc_type=ImportError)
    made = markers.Markers(Simulation("gripper", compile=False)).message.markers
    assert [m.ns for m in made] == ["visuals"] * 5
    assert all(len(m.points) % 3 == 0 and m.points for m in made)


def test_frames_are_written_and_read(tmp_path: Path) -> None:
    described = replace(mechanism(), frames=(NamedFrame("tool", "arm", (0.1, 0, 0), label="tool-0"),))
    from cutjoint.model.robots.convert_cli import convert

    convert(described, tmp_path / "x.urdf")
    again = load(tmp_path / "x.urdf")
    assert [(f.label, f.body, f.at) for f in again.frames] == [("tool-0", "arm", (0.1, 0.0, 0.0))]


# -- bodies without mass ---------------------------------------------------------------------------------


def test_a_forgotten_mass_is_told_with_its_body_and_joint() -> None:
    heavy = Body("heavy", 1.0, (0.1, 0, 0), (0.1, 0.1, 0.1, 0, 0, 0))
    light = Body("light", 0.0)
    hinge, end = Joint("hinge", "revolute", "ground", "heavy"), Joint("end", "revolute", "heavy", "light")
    with pytest.raises(AssemblyError, match="end can move while no mass does; give light a mass"):
        Simulation(Mechanism("m", (heavy, light), (hinge, end)), compile=False)
    first = Joint("first", "prismatic", "ground", "light")
    second = Joint("second", "revolute", "light", "heavy")
    carried = Simulation(Mechanism("m", (heavy, light), (first, second)), compile=False)
    carried.step(1e-3)
    assert np.isfinite(carried.q).all()


def test_a_cut_joint_starts_where_told_though_a_rigid_joint_is_in_the_tree() -> None:
    """A four-bar whose coupler is two bodies, one fixed to the other."""
    described = load("fourbar")
    closed = Simulation(described, compile=False)
    cut = closed.tree.cuts[0]
    whole = described.body(cut.child)
    half = replace(whole, name="half", mass=whole.mass / 2, inertia=tuple(x / 2 for x in whole.inertia))
    joints = tuple(replace(j, child="half") if j.name == cut.name else j for j in described.joints)
    weld = Joint("weld", "fixed", whole.name, "half")
    start = float(closed.outputs()[f"joint.{cut.name}.position"])
    started = tuple(replace(j, start=(start,)) if j.name == cut.name else j for j in (*joints, weld))
    s = Simulation(replace(described, bodies=(*described.bodies, half), joints=started), compile=False)
    assert s.outputs()[f"joint.{cut.name}.position"] == pytest.approx(start, abs=1e-9)


def test_hulls_are_closed_convex_and_as_large_as_scipys() -> None:
    from cutjoint.model.urdf.hulls import hull_faces
    from cutjoint.model.urdf.solids import hull_of_balls
    from scipy.spatial import ConvexHull

    random = np.random.default_rng(3)
    box = np.array([(x, y, z) for x in (0, 1) for y in (0, 2) for z in (0, 3)], float)
    rod = hull_of_balls(np.array([(0.0, 0, 0), (1, 0, 0)]), 0.1)[0]
    plate = hull_of_balls(np.array([(0.0, 0, 0), (1, 0, 0), (0, 1, 0), (1, 1, 0)]), 0.05)[0]
    for cloud in (box, rod, plate, random.normal(size=(60, 3))):
        faces = hull_faces(cloud)
        a, b, c = cloud[faces.T]
        volume = np.einsum("ij,ij->", a, np.cross(b, c)) / 6  # positive: seen from outside
        assert volume == pytest.approx(ConvexHull(cloud).volume, rel=1e-9)
        edges = [(f[i - 1], f[i]) for f in faces.tolist() for i in range(3)]
        assert len(set(edges)) == len(edges) and {e[::-1] for e in edges} == set(edges)
