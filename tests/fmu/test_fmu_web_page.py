"""The web page that simulates a mechanism: in a real browser it does what the native FMU does."""

from __future__ import annotations

import importlib.util
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from browser import Browser
from cutjoint import Simulation, load
from cutjoint.fmu.web.web_export import export_page, plan_page
from cutjoint.model.base.errors import how_to_install
from cutjoint.model.cli.main import USAGE, main
from cutjoint.model.view import player
from fmu_tools import exported, initialize, instance, without_limits

Capture = pytest.CaptureFixture[str]
NAME = without_limits("stewart")
STEPS, STEP = 1500, 1e-3
pytestmark = pytest.mark.cross

# Torques that change all the time: N·m at step k of motor j.
PUSH = "8 * Math.sin(0.004 * k + j)"
READ = ("body.*.position", "body.*.orientation", "reaction.*.force")
# Names are words; the text of a description may be anything.
NASTY = "</script><img src=x onerror=bad()><script>bad()</script> 'quoted\" & {0} ${bad()}"


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("ziglang", reason="ziglang, of the extra 'cross', is not installed")
    path = tmp_path_factory.mktemp("page") / "stewart.html"
    export_page(NAME, path, step=STEP)
    return path


@pytest.fixture
def browser(page: Path, tmp_path: Path) -> Iterator[Browser]:
    with Browser(tmp_path / "profile", 1000, 900) as found:
        found.open(page.as_uri())
        found.until("mechanism !== null")
        yield found


@pytest.mark.browser
def test_the_page_computes_what_the_native_fmu_computes(browser: Browser) -> None:
    theirs = browser.script(
        f"play(false), reset(), Array.from({{length: {STEPS}}}, (_, k) => {{"
        f"[0, 1, 2].forEach(j => mechanism.drive(j, {PUSH}));"
        "if (mechanism.step() !== 0) throw Error(problem); return [...frame().y]; })"
    )
    with instance(exported(NAME, outputs=READ, step=STEP, optimize=1)) as fmu:
        initialize(fmu)
        inputs = [fmu.refs[f"motor.motor{j + 1}.torque"] for j in range(3)]
        shown = [v for v in plan_page(NAME).of("output") if v.differentiable]
        outputs = [fmu.refs[name] for v in shown for name in v.elements()]
        ours = []
        for k in range(STEPS):
            fmu.setReal(inputs, [8 * np.sin(0.004 * k + j) for j in range(3)])
            fmu.doStep(currentCommunicationPoint=k * STEP, communicationStepSize=STEP)
            ours.append(fmu.getReal(outputs))
    ours, theirs = np.array(ours), np.array(theirs)
    print(f"largest difference {np.abs(ours - theirs).max():.1e} of {np.abs(ours).max():.3g}")
    assert np.ptp(ours, axis=0).max() > 1, "nothing moved"
    # Round-off: another library's sine, and no fused operations.
    np.testing.assert_allclose(theirs, ours, rtol=1e-10, atol=1e-10 * np.abs(ours).max())


@pytest.mark.browser
def test_it_runs_by_itself_and_its_controls_do_what_they_say(browser: Browser) -> None:
    browser.until("mechanism.time() > 0.2")
    assert re.match(
        r"\d\.\d\d s simulated in .* s, [\d.]+ × real time, a step of 1 ms takes \d+ µs", says(browser)
    )
    browser.click("Pause")
    here = browser.script("mechanism.time()")
    first = browser.picture()
    assert 0.01 < (first.min(axis=2) < 0.9).mean() < 0.9, "blank"
    assert browser.script("new Promise(r => setTimeout(() => r(mechanism.time()), 200))") == here
    browser.click("Reset")
    assert browser.script("mechanism.time()") == 0 and says(browser).startswith("0.00 s simulated")
    assert (np.abs(first - browser.picture()).max(axis=2) > 0.2).mean() > 0.002, "the picture did not change"
    after = "reset(), [...Array(11)].forEach(() => mechanism.step()), [...frame().y]"
    still = browser.script(after)
    browser.script("sliders[1].value = 50; sliders[1].oninput()")
    assert browser.script("sliders[1].parentElement.innerText.split('\\n').map(x => x.trim()).join('|')") == (
        "motor2|50 N·m"
    )
    pushed = browser.script(after)
    assert np.abs(np.subtract(still, pushed)).max() > 1, "the slider drives nothing"
    browser.click("Play")
    browser.until("mechanism.time() > 0.1")


def says(browser: Browser) -> str:
    return str(browser.script("says.textContent"))


@pytest.mark.browser
@pytest.mark.parametrize("width, height", [(1000, 900), (500, 800)])
def test_nothing_leaves_the_page_and_no_text_lies_on_another(
    page: Path, tmp_path: Path, width: int, height: int
) -> None:
    with Browser(tmp_path / "profile", width, height) as found:
        found.open(page.as_uri())
        found.until("mechanism !== null")
        boxes = json.loads(
            found.script(
                "JSON.stringify([...document.querySelectorAll('h1, p, canvas, button, .controls label, "
                ".drives span, .drives input, output')].map(e => e.getBoundingClientRect()))"
            )
        )
        assert len(boxes) > 12
        for k, a in enumerate(boxes):
            assert a["left"] >= 0 and a["right"] <= width and a["width"] > 0 and a["height"] > 0
            for b in boxes[:k]:
                apart = a["left"] >= b["right"] or b["left"] >= a["right"]
                assert apart or a["top"] >= b["bottom"] or b["top"] >= a["bottom"], (a, b)


@pytest.mark.browser
def test_what_the_step_refuses_is_said(browser: Browser) -> None:
    browser.script("play(false), reset(), mechanism.drive(0, 1e250), play(true)")
    browser.until("!playing")
    browser.script("picture()")
    assert says(browser).startswith("the state becomes infinite between 0 s and 0.001 s")
    browser.click("Reset")
    assert says(browser).startswith("0.00 s simulated")


@pytest.mark.browser
@pytest.mark.parametrize("name, followed", [("bicycle", True), ("fourbar", False)])
def test_what_floats_is_followed(name: str, followed: bool, tmp_path: Path) -> None:
    """A bicycle a hundred metres further on is drawn as large as before; what stands would make all small."""
    simulation = Simulation(name, compile=False)
    names, outputs = player.frame_names(simulation), simulation.outputs()
    sizes = [np.size(outputs[n]) for n in names]
    scene = player.scene(simulation, dict(zip(names, np.cumsum([0, *sizes]).tolist(), strict=False)))
    here = [float(x) for n in names for x in np.ravel(outputs[n])]
    gone = [float(x) for n in names for x in np.ravel(outputs[n]) + (100 if n.endswith(".position") else 0)]
    path = tmp_path / "player.html"
    path.write_text(
        f"<style>{player.STYLE}</style><canvas id='c'></canvas><input id='a' type='checkbox'>"
        f"{player.data('scene', scene)}<script>{player.script()}"
        "const show = player(JSON.parse(document.getElementById('scene').textContent), c, a);</script>",
        encoding="utf-8",
    )
    with Browser(tmp_path / "profile", 600, 500) as found:
        found.open(path.as_uri())
        drawn = []
        for y in (here, gone):
            found.script(f"show.draw({{y: {json.dumps(y)}}})")
            drawn.append((found.picture().min(axis=2) < 0.9).sum())
    assert (drawn[1] > 0.8 * drawn[0]) == followed, drawn


@pytest.mark.browser
def test_nothing_is_loaded_and_texts_stay_texts(tmp_path: Path) -> None:
    pytest.importorskip("ziglang", reason="ziglang, of the extra 'cross', is not installed")
    path = tmp_path / "nasty.html"
    export_page(replace(load("double_pendulum"), description=NASTY), path)
    data = player.data("other", {"x": NASTY})
    text = path.read_text(encoding="utf-8")
    assert not re.search(r"https?:|\bsrc=[^x]|<link|@import|url\(", text)
    path.write_text(text.replace("</body>", f"{data}</body>"), encoding="utf-8")
    with Browser(tmp_path / "profile") as found:
        found.open(path.as_uri())
        found.until("mechanism !== null")
        assert found.script("document.querySelector('p').textContent") == NASTY
        assert found.script("JSON.parse(document.getElementById('other').textContent).x") == NASTY
        assert found.script("document.images.length + performance.getEntriesByType('resource').length") == 0


def test_the_command_writes_a_page_and_an_fmu_only_if_asked(tmp_path: Path, capsys: Capture) -> None:
    pytest.importorskip("ziglang", reason="ziglang, of the extra 'cross', is not installed")
    target = tmp_path / "p.html"
    assert main(["export", "double_pendulum", "--page", str(target), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"page": str(target)}
    assert [path.name for path in tmp_path.iterdir()] == ["p.html"]


def test_without_a_compiler_for_it_the_page_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    there = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "ziglang" else there(name))
    assert main(["export", NAME, "--page", str(tmp_path / "p.html")]) == USAGE
    assert capsys.readouterr().err == (
        f"cutjoint: compiling for a web page needs a cross compiler; {how_to_install('cross')}\n"
    )
    assert not list(tmp_path.iterdir())
