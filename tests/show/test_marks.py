"""Frames, loads, couplings and their wheels are drawn, in pictures and in the browser's view."""

from __future__ import annotations

import numpy as np
import pytest
from cutjoint import Simulation
from cutjoint.model.loading import read
from cutjoint.model.show.marks import LONG, TIE
from cutjoint.model.show.picture import draw
from cutjoint.model.urdf.shapes import points, pulleys
from cutjoint.model.view.cli import find_port
from cutjoint.model.view.view import Viewer

STAGE = """
bodies:
  gantry: {mass: 2, com: [0, 0, 0], inertia: [0.1, 0.02, 0.1]}
  pulley: {mass: 0.1, com: [-0.2, 0.25, 0], inertia: [1e-5, 1e-5, 2e-5]}
  small: {mass: 0.1, com: [0.1, 0.25, 0], inertia: [1e-5, 1e-5, 2e-5]}
joints:
  y: {type: prismatic, parent: ground, child: gantry, at: [0, 0, 0], axis: y}
  turn: {type: revolute, parent: ground, child: pulley, at: [-0.2, 0.25, 0], axis: z}
  pinion: {type: revolute, parent: ground, child: small, at: [0.1, 0.25, 0], axis: z}
couplings:
  belt: {joint: turn, follows: y, ratio: 50}
  gears: {joint: pinion, follows: turn, ratio: -2}
motors: {a_motor_with_a_long_name: {joint: turn}, drive_of_the_gantry: {joint: y}}
frames: {nozzle: {body: gantry, at: [0.1, 0, -0.05]}}
loads: {push: {body: gantry, force: [5, 0, 0]}, pull: {body: gantry, point: [0.2, 0, 0], force: [0, 10, 0]}}
"""


def test_wheels_of_couplings_have_the_radius_of_their_ratio() -> None:
    found = {pulley.joint.name: pulley.radius for pulley in pulleys(read(STAGE))}
    assert found == pytest.approx({"turn": 1 / 50, "pinion": 0.1})  # the gears share 0.3 m as 1 to 2


def test_what_a_frame_or_a_load_is_on_reaches_there() -> None:
    reached = np.array(points(read(STAGE))["gantry"])
    for point in ([0.1, 0, -0.05], [0.2, 0, 0]):
        assert np.min(np.linalg.norm(reached - point, axis=1)) < 1e-12


def test_a_picture_shows_them_and_no_name_runs_over_the_legend() -> None:
    simulation = Simulation(read(STAGE), compile=False)
    figure = draw(simulation.mechanism, simulation.body_poses())
    (axes,) = figure.axes
    colours = [line.get_color() for line in axes.lines]
    assert colours.count(TIE) == 4  # two couplings, two wheels
    arrows = [t for t in axes.texts if t.arrow_patch is not None and t.get_text() == ""]
    assert len(arrows) == 2
    words = {text.get_text() for text in axes.texts} | {t.get_text() for t in axes.get_legend().get_texts()}
    assert {"nozzle", "pull", "coupling", "load", "frame (x, y, z)"} <= words
    figure.draw_without_rendering()
    edge = axes.get_legend().get_window_extent().x0
    for text in axes.texts:
        if text.get_text() not in ("", "x", "y", "z"):
            assert text.get_window_extent().x1 <= edge, text.get_text()


def test_the_scene_shows_them_and_leads_the_loads() -> None:
    pytest.importorskip("viser", reason="viser, of the extra 'view', is not installed")
    viewer = Viewer([Simulation(read(STAGE), compile=False)], find_port(None), 0.0)
    try:
        marks = viewer.stations[0].scene._marks
        assert marks._ties.points.shape == (2, 2, 3)
        tail = np.array(marks._loads["pull"].position)
        np.testing.assert_allclose(tail, [0.2, -LONG * marks.size, 0.0], atol=1e-6)
        names = list(viewer.server.scene._handle_from_node_name)
        assert any("frame nozzle" in name for name in names) and any("wheel turn" in name for name in names)
    finally:
        viewer.close()
