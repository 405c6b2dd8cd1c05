"""The browser view: its time line and controls, and a real browser that must show the mechanism."""

from __future__ import annotations

import contextlib
import socket
import sys
import threading
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from browser import Browser
from bulk import KINDS, bulk
from cutjoint import Engine, Simulation, list_examples, load
from cutjoint.model.base.errors import CutjointError, how_to_install
from cutjoint.model.cli import main as command
from cutjoint.model.joints.euler import rotation
from cutjoint.model.show.measures import LONGEST, arrow_newtons, round_up
from cutjoint.model.urdf.solids import hull_of_balls
from cutjoint.model.view.camera import FILLED, PRESETS, filled
from cutjoint.model.view.cli import find_port
from cutjoint.model.view.pull import grab, held_point, own_inputs, with_handles
from cutjoint.model.view.station import wrapped
from cutjoint.model.view.timeline import FRAME, STEP, TimeLine
from cutjoint.model.view.view import Viewer

Capture = pytest.CaptureFixture[str]
TORQUE = 10.0
TWO_BARS = """
bodies:
  base: {mass: 50, com: [0, 0, 0.5], inertia: [5, 5, 5]}
  tip: {mass: 0.001, com: [0, 0, 1.1], origin: [0, 0, 1.2], inertia: [1e-6, 1e-6, 1e-6]}
joints:
  foot: {type: revolute, parent: ground, child: base, at: [0, 0, 0], axis: y}
  pin: {type: revolute, parent: base, child: tip, at: [0, 0, 1], axis: y}
"""


@cache
def engine(name: str, gravity: float | None) -> Engine:
    """Traced once for all tests that show it."""
    return Engine(with_handles(load(name)), gravity=gravity, compile=False)


@contextlib.contextmanager
def viewing(*names: str, seconds: float = 0.0, gravity: float | None = 0.0, **how: Any) -> Iterator[Viewer]:
    pytest.importorskip("viser", reason="viser, of the extra 'view', is not installed")
    found = [Simulation(engine(name, gravity)) for name in names]
    for simulation in found:
        simulation.set_inputs(dict.fromkeys(own_inputs(simulation), TORQUE))
    viewer = Viewer(found, find_port(None), seconds, **how)
    try:
        yield viewer
    finally:
        viewer.close()


def by_hand(**what: Any) -> SimpleNamespace:
    """An event that a person causes."""
    return SimpleNamespace(client_id=1, **what)


# -- the time line -------------------------------------------------------------------------


@pytest.fixture
def line() -> TimeLine:
    simulation = Simulation(engine("stewart", 0.0))
    simulation.set_inputs(dict.fromkeys(own_inputs(simulation), TORQUE))
    return TimeLine(simulation)


def test_the_past_is_kept_and_the_future_is_simulated(line: TimeLine) -> None:
    line.go(5)
    ahead = line.simulation.state
    assert ahead.time == pytest.approx(5 * FRAME) and line.length == pytest.approx(5 * FRAME)
    line.go(2)
    assert line.simulation.state.time == pytest.approx(2 * FRAME) and len(line.frames) == 6
    line.go(5)
    np.testing.assert_array_equal(line.simulation.state.q, ahead.q)


def test_other_torques_keep_the_past_and_change_the_future(line: TimeLine) -> None:
    line.go(6)
    before, old = line.frames[3].q, line.frames[6].q
    line.go(3)
    line.drive({"motor1": -TORQUE})
    assert len(line.frames) == 4
    np.testing.assert_array_equal(line.frames[3].q, before)
    line.go(6)
    assert np.abs(line.frames[6].q - old).max() > 1e-4


def test_a_new_pose_starts_at_rest_with_closed_loops(line: TimeLine) -> None:
    line.go(4)
    line.pose({"motor1": 0.2, "motor2": 0.1, "motor3": 0.1})
    state, outputs = line.simulation.state, line.simulation.outputs()
    assert len(line.frames) == 1 and state.time == 0 and not state.v.any()
    assert outputs["joint.motor1.position"] == 0.2 and outputs["loop.residual"] < 1e-12


# -- the page ------------------------------------------------------------------------------


SHOWN = [name for name in list_examples() if name != "stewart"]


@pytest.mark.parametrize("name", bulk(SHOWN, {*KINDS} & {*SHOWN}))
def test_every_example_can_be_shown(name: str) -> None:
    with viewing(name) as viewer:
        (station,) = viewer.stations
        assert set(station.torques) == set(load(name).inputs())
        assert "time" in viewer.controls.numbers.content
        places = [handle.position for handle in station.scene.bodies.values()]
        outputs = station.simulation.outputs()
        wanted = [outputs[f"body.{b.name}.position"] for b in station.simulation.mechanism.bodies]
        np.testing.assert_allclose(places, wanted, atol=1e-12)
        assert not any("hand_" in name for name in [*station.outputs, *station.places])
        for preset in PRESETS:
            for aspect in (0.6, 1.6):
                check_filled(viewer, preset, aspect)


def check_filled(viewer: Viewer, preset: str, aspect: float) -> None:
    """A window is filled up to its margin one way, and all is within it the other way."""
    position, _ = viewer.cameras.place(preset, aspect)
    (station,) = viewer.stations
    parts = filled(station.scene.cloud(), position, viewer.cameras.axes(preset), aspect)
    assert 0.6 * FILLED < max(parts) < 1.0, f"{preset}: {parts}"


def test_controls_do_what_they_say() -> None:
    with viewing("stewart", seconds=0.2) as viewer:
        (station,) = viewer.stations
        controls, simulation = viewer.controls, station.simulation
        assert viewer.length == pytest.approx(0.2) and viewer.now == 0
        viewer.locked(lambda: viewer.scrub(0.1))
        assert simulation.state.time == pytest.approx(0.1)
        station.torques["motor1"].value = 50.0
        controls.hand(lambda _: station.drive())(by_hand())
        assert viewer.length == pytest.approx(0.1) and simulation.u[0] == 50.0
        viewer.play(True)
        viewer.tick(2 * FRAME + 1e-9)
        assert simulation.state.time == pytest.approx(0.1 + 2 * FRAME)
        viewer.locked(lambda: viewer.pose(station, "motor1", 0.3))
        assert not viewer.playing
        assert simulation.outputs()["joint.motor1.position"] == pytest.approx(0.3)
        assert "singularity distance" in controls.numbers.content
        viewer.locked(viewer.reset)
        assert simulation.state.time == 0
        assert simulation.outputs()["joint.motor1.position"] == 0


def test_arrows_stay_at_their_joints_and_on_the_screen() -> None:
    with viewing("stewart", seconds=0.3) as viewer:
        (station,) = viewer.stations
        scene, simulation = station.scene, station.simulation
        for frame in range(0, 16, 5):
            viewer.go(frame)
            viewer.refresh()
            joints, outputs = simulation.joint_positions(), simulation.outputs()
            seen = 0
            for name, arrow in scene._arrows.items():
                force = outputs[f"reaction.{name}.force"]
                if arrow.visible:
                    seen += 1
                    np.testing.assert_allclose(arrow.position, joints[name][1], atol=1e-12)
                    along = rotation(arrow.wxyz)[:, 2] @ force / np.linalg.norm(force)
                    assert along == pytest.approx(1) and arrow.scale[2] <= LONGEST * scene.size
                else:
                    assert np.linalg.norm(force) < 0.1 * scene.newtons
            assert seen >= 6


def test_what_floats_is_followed() -> None:
    """A bicycle is as large in the window after a second as at first, and leaves nothing of itself behind."""
    with viewing("bicycle", seconds=1.0, gravity=None) as viewer:
        (station,) = viewer.stations
        first = station.scene.cloud()
        viewer.locked(lambda: viewer.scrub(1.0))
        now = station.scene.cloud()
        gone = station.simulation.outputs()["body.rear_wheel.position"][0]
        assert abs(gone) > 2 and np.abs(now.mean(axis=0) - first.mean(axis=0)).max() < 0.2
        spots = [handle.position for handle in station.scene._joints.values() if handle.visible]
        assert np.abs(np.add(spots, station.scene.origin) - now.mean(axis=0)).max() < 1.5


def test_a_blow_does_not_make_all_other_arrows_vanish() -> None:
    usual = [90.0] * 95
    assert arrow_newtons(usual, 50.0) == arrow_newtons([*usual, 1e6, 2e6], 50.0) == 100.0
    assert arrow_newtons([], 50.0) == arrow_newtons([1e-12], 50.0) == pytest.approx(0.05)


def test_a_joint_that_turns_on_does_not_stick_at_half_a_turn() -> None:
    with viewing("double_pendulum") as viewer:
        (station,) = viewer.stations
        slider = station.poses["pin1"]
        for angle in (3.0, 3.3, 4.0, 6.0, 7.0):
            viewer.locked(lambda angle=angle: station.line.pose({"pin1": angle}))
            here = station.simulation.outputs()["joint.pin1.position"]
            assert here == pytest.approx(angle)
            assert slider.value == pytest.approx(wrapped(angle)) and slider.max == pytest.approx(np.pi)
        viewer.locked(lambda: viewer.pose(station, "pin1", 0.8))  # the slider is at 7 − 2π
        assert station.simulation.outputs()["joint.pin1.position"] == pytest.approx(0.8 + 2 * np.pi)


def test_paths_and_plots_are_the_outputs(leg: str) -> None:
    names = {"trace": ["foot"], "plot": ["body.foot.velocity", "energy"]}
    with viewing(leg, seconds=0.2, gravity=None, **names) as viewer:
        (station,) = viewer.stations
        viewer.locked(lambda: viewer.scrub(0.2))
        simulation = Simulation(leg, compile=False)
        simulation.set_inputs([TORQUE])
        same = simulation.run(0.2, record=["body.foot.position", "body.foot.velocity", "energy"])
        frames = slice(None, None, 20)
        drawn = station.scene._traces["body.foot"].points
        np.testing.assert_allclose(drawn[0, 0], same["body.foot.position"][0], atol=1e-6)
        np.testing.assert_allclose(drawn[:, 1], same["body.foot.position"][frames][1:], atol=1e-6)
        (_, _, speed), (_, _, energy) = viewer.controls.plots.shown.values()
        np.testing.assert_allclose(speed.data[0], same.time[frames], atol=1e-12)
        np.testing.assert_allclose(
            np.transpose(speed.data[1:]), same["body.foot.velocity"][frames], atol=1e-6
        )
        np.testing.assert_allclose(energy.data[1], same["energy"][frames], atol=1e-6)
        assert viewer.controls.plots.panel.visible
        viewer.controls.plots.clear()
        station.untrace()
        viewer.refresh()
        assert not viewer.controls.plots.panel.visible and not station.scene._traces


@pytest.fixture
def leg() -> str:
    return str(Path(__file__).parents[2] / "docs" / "gallery" / "walking_leg.yaml")


def test_a_body_is_pulled_and_the_work_is_accounted_for() -> None:
    """The hand's spring draws the point to it, and energy changes by the work of motors and hand alone."""
    with viewing("stewart") as viewer:
        (station,) = viewer.stations
        simulation, line = station.simulation, station.line
        viewer.locked(lambda: line.drive(dict.fromkeys(station.inputs, 0.0)))
        place = simulation.body_poses()["platform"][1] + (0.1, 0.2, 0.0)
        begin, first = simulation.energy() - simulation.work, simulation.energy()
        event = {"start_position": place, "end_position": np.add(place, (0.0, 0.15, 0.0))}
        for phase in ("start", "update"):
            pulled = by_hand(phase=phase, **event)
            viewer.locked(lambda pulled=pulled: viewer.pull(station, "platform", pulled))
        assert viewer.playing and line.hand is not None
        for _ in range(15):
            viewer.tick(2 * FRAME)
        assert "pull" in viewer.controls.numbers.content and not viewer.problem
        assert 0.05 < held_point(simulation, line.hand)[1] - place[1] < 0.2
        assert (
            max(row[simulation.variables().outputs.find("energy").where][0] for row in line.rows)
            > first + 0.5
        )
        assert simulation.energy() - simulation.work == pytest.approx(begin, abs=1e-6)
        ends = station.scene._pull.points[0]
        np.testing.assert_allclose(ends[1], event["end_position"], atol=1e-6)
        viewer.locked(lambda: viewer.pull(station, "platform", by_hand(phase="end")))
        assert not viewer.playing and line.hand is None
        viewer.play(True)
        viewer.tick(2 * FRAME)
        assert not simulation.u.any(), "let go"


def test_a_light_body_can_be_pulled(light: str) -> None:
    """A spring as stiff as the whole mechanism is heavy would throw a rod of a gram about."""
    simulation = Simulation(with_handles(load(light)), compile=False)
    line = TimeLine(simulation)
    line.hand = grab(simulation, "tip", simulation.body_poses()["tip"][1], 1.0, STEP).at((0.3, 0.0, 1.0))
    line.go(25)
    assert np.abs(simulation.v).max() < 50 and simulation.outputs()["loop.residual"] < 1e-9


def test_named_frames_have_a_path(tmp_path: Path) -> None:
    """Also those without a port, which tell nothing elsewhere."""
    path = tmp_path / "tool.yaml"
    path.write_text(f"{TWO_BARS}frames:\n  nose: {{body: tip, at: [0, 0, 1.5]}}\n")
    simulation = Simulation(with_handles(load(str(path))), compile=False)
    np.testing.assert_allclose(simulation.outputs()["frame.nose.position"], (0, 0, 1.5), atol=1e-12)


def test_the_grid_lies_under_what_ground_looks_like(tmp_path: Path) -> None:
    path = tmp_path / "based.yaml"
    shape = "{body: ground, shape: cylinder, size: [0.1, 0.4], at: [0, 0, -0.2]}"
    path.write_text(f"{TWO_BARS}visuals:\n  base: {shape}\n")
    with viewing(str(path)) as viewer:
        scene = viewer.stations[0].scene
        assert scene._grid.position[2] == pytest.approx(-0.4)
        assert scene.cloud()[:, 2].min() == pytest.approx(-0.4)


@pytest.fixture
def light(tmp_path: Path) -> str:
    path = tmp_path / "light.yaml"
    path.write_text(TWO_BARS)
    return str(path)


def test_it_is_said_when_the_clock_is_faster() -> None:
    with viewing("double_pendulum") as viewer:
        viewer.play(True)
        for _ in range(60):
            viewer.tick(FRAME)
        assert not viewer.slow
        for _ in range(20):
            viewer.tick(0.1)  # no more than two frames of what has passed are caught up with
        assert "Slower than real time: 0.4 × on this machine" in viewer.controls.numbers.content
        viewer.locked(lambda: viewer.play(False))
        assert "Slower" not in viewer.controls.numbers.content


def test_mechanisms_stand_side_by_side() -> None:
    with viewing("fourbar", "double_pendulum", seconds=0.1, trace=["coupler"]) as viewer:
        left, right = (station.scene.cloud() @ viewer.cameras.axes("home")[0] for station in viewer.stations)
        assert right.min() > left.max()
        words = viewer.controls.numbers.content
        assert "**fourbar**" in words and "**double_pendulum**" in words
        assert [bool(station.traced) for station in viewer.stations] == [True, False]
        viewer.locked(lambda: viewer.scrub(0.1))
        assert [station.simulation.time for station in viewer.stations] == pytest.approx([0.1, 0.1])
        assert [name for name, _ in viewer.save("html")] == ["fourbar.html", "double_pendulum.html"]


def test_the_time_line_is_saved_as_a_film() -> None:
    with viewing("fourbar", seconds=0.2) as viewer:
        for ending, start in (("html", b"<!doctype html>"), ("gif", b"GIF8")):
            ((name, content),) = viewer.save(ending)
            assert name == f"fourbar.{ending}" and content.startswith(start)


def test_what_the_engine_refuses_is_said_on_the_page() -> None:
    with viewing("fourbar") as viewer:
        (station,) = viewer.stations
        name = next(iter(station.poses))
        held = dict.fromkeys(station.simulation.tree.q, 2.5)
        before = station.simulation.state.q.copy()
        viewer.locked(lambda: station.line.pose(held))
        assert "can't be assembled" in viewer.controls.numbers.content
        np.testing.assert_array_equal(station.simulation.state.q, before)
        viewer.locked(lambda: viewer.pose(station, name, 0.05))
        assert "can't be assembled" not in viewer.controls.numbers.content


def purple(image: np.ndarray) -> np.ndarray:
    r, g, b = np.moveaxis(image, 2, 0)
    return np.asarray((b > g + 0.08) & (r > g + 0.04))  # the platform's colour, light or dark


@pytest.mark.browser
def test_a_real_browser_shows_the_mechanism_and_its_motion(tmp_path: Path) -> None:
    """It fills the window; a mouse on the platform pulls it."""
    with viewing("stewart", seconds=1.0) as viewer, Browser(tmp_path / "profile", 800, 560) as browser:
        stop = threading.Event()
        clock = threading.Thread(target=viewer.run, args=(stop,), daemon=True)
        clock.start()
        browser.open(viewer.address)
        first = _settled(browser, lambda image: purple(image).mean() > 0.01)
        words = browser.until(
            "document.body.innerText.includes('largest reaction') && document.body.innerText"
        )
        assert "singularity distance" in words and "motor3 (N.m)" in words
        rows, columns = np.nonzero(purple(first))
        middle = np.argmin(np.abs(rows - np.median(rows)) + np.abs(columns - np.median(columns)))
        x, y = float(columns[middle]), float(rows[middle])
        browser.mouse("mousePressed", x, y)
        station = viewer.stations[0]
        for k in range(200):
            browser.mouse("mouseMoved", x, y - min(2.0 * k, 60.0))
            if station.line.hand is not None and station.line.length > 1.2:
                break
            time.sleep(0.1)
        assert station.line.hand is not None and station.line.hand.frame == "hand_platform"
        browser.mouse("mouseReleased", x, y - 60)
        browser.until("[...document.querySelectorAll('button')].some(b => b.innerText.trim() === 'Play')")
        browser.click("Play")
        browser.until("[...document.querySelectorAll('button')].some(b => b.innerText.trim() === 'Pause')")
        moved = _settled(browser, lambda image: (purple(image) ^ purple(first)).mean() > 0.002)
        assert purple(moved).any() and viewer.stations[0].simulation.state.time > 0
        stop.set()
        clock.join()
        (client,) = viewer.server.get_clients().values()
        seen = filled(
            station.scene.cloud(), client.camera.position, viewer.cameras.axes("home"), client.camera.aspect
        )
        assert 0.4 < max(seen) < 1.1, "the camera does not show the mechanism"


def _settled(browser: Browser, good: object) -> np.ndarray:
    """A picture that passes; a blank page never does."""
    assert callable(good)
    end = time.monotonic() + 60
    while time.monotonic() < end:
        image = browser.picture()
        if good(image):
            return image
        time.sleep(0.3)
    raise AssertionError(f"nothing to see: colours spread by {image.std():.3f}")


# -- mistakes ------------------------------------------------------------------------------


def test_a_port_in_use_is_one_sentence(capsys: Capture) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        assert command.main(["view", "stewart", "--port", str(port)]) == command.USAGE
    err = capsys.readouterr().err
    assert err.startswith(f"cutjoint: --port: {port} is in use") and err.count("\n") == 1


@pytest.mark.parametrize("text", ["http", "0", "65536", "-1"])
def test_what_is_no_port_is_refused(text: str) -> None:
    with pytest.raises(CutjointError, match="is not a port; give a number from 1024 to 65535"):
        find_port(text)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["fourbar", "--trace", "nose"], "there is no body or frame 'nose' to trace in 'fourbar'; "),
        (["fourbar", "--plot", "body.nose.position"], "there is no output 'body.nose.position'; "),
        (
            ["fourbar", "slider_crank", "--torque", "nose=1"],
            "--torque: there is no motor or cylinder 'nose'; ",
        ),
    ],
)
def test_names_that_no_mechanism_has_are_one_sentence(
    words: list[str], sentence: str, capsys: Capture
) -> None:
    pytest.importorskip("viser", reason="viser, of the extra 'view', is not installed")
    assert command.main(["view", *words, "--no-compile", "--time", "0"]) == command.USAGE
    err = capsys.readouterr().err
    assert sentence in err and err.count("\n") == 1


def test_without_viser_it_says_what_to_install(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "viser", None)
    assert command.main(["view", "stewart"]) == command.USAGE
    err = capsys.readouterr().err
    assert how_to_install("view") in err and err.count("\n") == 1


# -- parts ---------------------------------------------------------------------------------


def test_hulls_are_closed_and_seen_from_outside() -> None:
    middle = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0]])
    vertices, faces = hull_of_balls(middle, 0.1)
    a, b, c = (vertices[faces[:, k]] for k in range(3))
    volume = np.einsum("ij,ij->i", a, np.cross(b, c)).sum() / 6  # by the divergence theorem
    assert 0.08 < volume < 0.5 * 0.2 + 3.5 * np.pi * 0.1**2 / 2 + 4.2e-3
    for p in middle:
        assert np.isclose(np.linalg.norm(vertices - p, axis=1).min(), 0.1)


def test_ranges_are_round_numbers() -> None:
    assert [round_up(x) for x in (0.3, 1.0, 140.0, 600.0)] == [0.5, 1.0, 200.0, 1000.0]
