"""The demo: its page holds everything, loads nothing, and shows what it says."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import numpy as np
import pytest
from browser import Browser
from cutjoint.examples import demo
from cutjoint.model.compile import kernel as compiling

Capture = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("demo") / "out"
    assert demo.main([str(target)]) == 0
    return target


def row(page: str, name: str) -> str:
    found = re.search(rf"<td>{re.escape(name)}</td><td>(.*?)</td>", page)
    assert found, f"no row '{name}'"
    return found[1]


def test_the_page_says_what_happened(folder: Path) -> None:
    page = (folder / "index.html").read_text(encoding="utf-8")
    assert row(page, "mobility") == "3"
    assert float(row(page, "largest loop residual").split()[0]) < 1e-12
    assert float(row(page, "differs from Python by").split()[0]) < 1e-9
    assert row(page, "so the pose is") == "unstable"
    if importlib.util.find_spec("rclpy"):
        assert row(page, "joint positions differ from Python by").startswith("0 rad")
    for command in re.findall(r"<code>cutjoint (\w+) ", page):
        assert command in ("show", "assemble", "simulate", "linearize", "export", "node", "view")


def test_every_file_is_there_and_the_page_loads_none(folder: Path) -> None:
    page = (folder / "index.html").read_text(encoding="utf-8")
    listed = re.findall(r"<a href='([^']+)'", page)
    assert {"motion.csv", "linear.json", "stewart.svg"} <= set(listed)
    assert sorted(path.name for path in folder.iterdir()) == sorted([*listed, "index.html"])
    sources = re.findall(r"(?:src|srcset|@import|url)[=(]\s*['\"]?([^'\" >)]+)", page)
    assert sources and all(source.startswith("data:image/") for source in sources)
    assert "<link" not in page and "https:" not in page


@pytest.mark.browser
def test_a_real_browser_shows_it(folder: Path, tmp_path: Path) -> None:
    with Browser(tmp_path / "profile", 1000, 900) as browser:
        browser.open((folder / "index.html").as_uri())
        widths = browser.script("[...document.images].map(i => i.naturalWidth)")
        assert len(widths) >= 4 and min(widths) > 300
        browser.until("mechanism !== null")
        browser.script("play(false), reset(), canvas.scrollIntoView()")
        first = browser.picture()
        assert 0.02 < (first.min(axis=2) < 0.9).mean() < 0.9, "blank"
        assert browser.script("sliders.map(s => +s.value)") == [demo.TORQUE] * 3
        browser.script("play(true)")
        browser.until("mechanism.time() > 0.4")
        second = browser.picture()
        assert (np.abs(first - second).max(axis=2) > 0.2).mean() > 0.005, "the mechanism does not move"
        _assert_loads_nothing(browser)


def _assert_loads_nothing(browser: Browser) -> None:
    loaded = "performance.getEntriesByType('resource').filter(e => !/^data:/.test(e.name)).length"
    assert browser.script(loaded) == 0


@pytest.mark.browser
@pytest.mark.study
def test_without_compilers_it_works_and_says_what_is_slower_and_what_is_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    there = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "ziglang" else there(name))
    monkeypatch.setattr(compiling, "find_compiler", lambda: None)
    monkeypatch.setattr(demo, "find_compiler", lambda: None)
    monkeypatch.setattr(demo, "SECONDS", 0.2)
    monkeypatch.setattr(demo.Demo, "ros", lambda self: demo.Chapter("ROS 2 node", "", ""))
    target = tmp_path / "out"
    assert demo.main([str(target)]) == 0
    page = (target / "index.html").read_text(encoding="utf-8")
    assert row(page, "code") == "virtual machine" and "a step takes roughly ten times as long" in page
    said = capsys.readouterr().out
    assert "no C compiler found" in said and "the motion is recorded" in said
    assert float(row(page, "differs from Python by").split()[0]) < 1e-9
    with Browser(tmp_path / "profile", 1000, 900) as browser:
        browser.open((target / "index.html").as_uri())
        browser.script("document.getElementById('motion').scrollIntoView()")
        first = browser.picture()
        assert 0.02 < (first.min(axis=2) < 0.9).mean() < 0.9, "blank"
        browser.script("slider.value = 100; slider.oninput()")
        second = browser.picture()
        assert (np.abs(first - second).max(axis=2) > 0.2).mean() > 0.001, "the mechanism does not move"
        assert "0.20 s" in browser.script("says.textContent")
        browser.script("button.click()")
        browser.until("!says.textContent.startsWith('0.20 s')")
        _assert_loads_nothing(browser)


def test_a_place_that_cannot_be_written_is_one_sentence(tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "taken").write_text("")
    assert demo.main([str(tmp_path / "taken")]) == 2
    assert capsys.readouterr().err.count("\n") == 1
