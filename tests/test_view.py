"""The browser view: its time line and controls, and a real browser that must show the mechanism."""

from __future__ import annotations

import contextlib
import socket
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from browser import Browser
from cutjoint.model import Simulation, list_examples
from cutjoint.model.cli import main as command
from cutjoint.model.cli.view import find_port
from cutjoint.model.errors import CutjointError
from cutjoint.model.show.measures import round_up
from cutjoint.model.show.view import FRAME, TimeLine, Viewer
from cutjoint.model.show.view_scene import swollen

Capture = pytest.CaptureFixture[str]
TORQUE = 10.0


@contextlib.contextmanager
def viewing(name: str, seconds: float) -> Iterator[Viewer]:
    pytest.importorskip("viser", reason="viser, of the extra 'view', is not installed")
    simulation = Simulation(name, gravity=0.0, compile=False)
    viewer = Viewer(simulation, find_port(None), dict.fromkeys(simulation.inputs, TORQUE), seconds)
    try:
        yield viewer
    finally:
        viewer.close()


# -- the time line -------------------------------------------------------------------------


@pytest.fixture
def line() -> TimeLine:
    simulation = Simulation("stewart", gravity=0.0, compile=False)
    simulation.set_inputs([TORQUE] * 3)
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


@pytest.mark.parametrize("name", [name for name in list_examples() if name != "stewart"])
def test_every_example_can_be_shown(name: str) -> None:
    with viewing(name, 0.0) as viewer:
        assert set(viewer.torques) == set(viewer.simulation.inputs)
        assert "time" in viewer.numbers.content
        places = [handle.position for handle in viewer.scene._bodies.values()]
        outputs = viewer.simulation.outputs()
        wanted = [outputs[f"body.{b.name}.position"] for b in viewer.simulation.mechanism.bodies]
        np.testing.assert_allclose(places, wanted, atol=1e-12)


def test_controls_do_what_they_say() -> None:
    hand = SimpleNamespace(client_id=1)
    with viewing("stewart", 0.2) as viewer:
        assert viewer.line.length == pytest.approx(0.2) and viewer.line.now == 0
        viewer.scrub.value = 0.1
        viewer._hand(viewer._scrub)(hand)
        assert viewer.simulation.state.time == pytest.approx(0.1)
        arrows = viewer.scene._arrows.points
        joint = viewer.simulation.joint_positions()["ball1"][1]
        k = [j.name for j in viewer.simulation.mechanism.joints].index("ball1")
        np.testing.assert_allclose(arrows[k, 0], joint, atol=1e-6)
        force = viewer.simulation.outputs()["reaction.ball1.force"]
        along = arrows[k, 1] - arrows[k, 0]
        assert along @ force > 0.999 * np.linalg.norm(along) * np.linalg.norm(force) > 0
        viewer.torques["motor1"].value = 50.0
        viewer._hand(lambda _: viewer._drive())(hand)
        assert viewer.line.length == pytest.approx(0.1) and viewer.simulation.u[0] == 50.0
        viewer._play(True)
        viewer.tick(3 * FRAME + 1e-9)
        assert viewer.simulation.state.time == pytest.approx(0.1 + 3 * FRAME)
        viewer._locked(lambda: viewer._pose("motor1", 0.3))
        assert not viewer.playing
        assert viewer.simulation.outputs()["joint.motor1.position"] == pytest.approx(0.3)
        assert "singularity distance" in viewer.numbers.content
        viewer._locked(viewer._reset)
        assert viewer.simulation.state.time == 0
        assert viewer.simulation.outputs()["joint.motor1.position"] == 0


def test_what_the_engine_refuses_is_said_on_the_page() -> None:
    with viewing("fourbar", 0.0) as viewer:
        name = next(iter(viewer.poses))
        held = dict.fromkeys(viewer.simulation.tree.q, 2.5)
        before = viewer.simulation.state.q.copy()
        viewer._locked(lambda: viewer.line.pose(held))
        assert "can't be assembled" in viewer.numbers.content
        np.testing.assert_array_equal(viewer.simulation.state.q, before)
        viewer._locked(lambda: viewer._pose(name, 0.05))
        assert "can't be assembled" not in viewer.numbers.content


def test_a_real_browser_shows_the_mechanism_and_its_motion(tmp_path: Path) -> None:
    def purple(image: np.ndarray) -> np.ndarray:
        r, g, b = np.moveaxis(image, 2, 0)
        return (b > g + 0.08) & (r > g + 0.04)  # the platform's colour, light or dark

    with viewing("stewart", 1.0) as viewer, Browser(tmp_path / "profile", 800, 560) as browser:
        stop = threading.Event()
        clock = threading.Thread(target=viewer.run, args=(stop,), daemon=True)
        clock.start()
        browser.open(viewer.address)
        first = _settled(browser, lambda image: purple(image).mean() > 0.005)
        words = browser.until(
            "document.body.innerText.includes('largest reaction') && document.body.innerText"
        )
        assert "singularity distance" in words and "motor3 (N.m)" in words
        browser.click("Play")
        browser.until("[...document.querySelectorAll('button')].some(b => b.innerText.trim() === 'Pause')")
        moved = _settled(browser, lambda image: (purple(image) ^ purple(first)).mean() > 0.002)
        assert purple(moved).any() and viewer.simulation.state.time > 0
        stop.set()
        clock.join()


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


def test_without_viser_it_says_what_to_install(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "viser", None)
    assert command.main(["view", "stewart"]) == command.USAGE
    err = capsys.readouterr().err
    assert "run 'pip install cutjoint[view]'" in err and err.count("\n") == 1


# -- parts ---------------------------------------------------------------------------------


def test_hulls_are_closed_and_seen_from_outside() -> None:
    middle = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0]])
    vertices, faces = swollen(middle, 0.1)
    a, b, c = (vertices[faces[:, k]] for k in range(3))
    volume = np.einsum("ij,ij->i", a, np.cross(b, c)).sum() / 6  # by the divergence theorem
    assert 0.08 < volume < 0.5 * 0.2 + 3.5 * np.pi * 0.1**2 / 2 + 4.2e-3
    for p in middle:
        assert np.isclose(np.linalg.norm(vertices - p, axis=1).min(), 0.1)


def test_ranges_are_round_numbers() -> None:
    assert [round_up(x) for x in (0.3, 1.0, 140.0, 600.0)] == [0.5, 1.0, 200.0, 1000.0]
