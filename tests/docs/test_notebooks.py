"""Notebooks: each runs from top to bottom, is kept without its results, and things show themselves in it."""

from __future__ import annotations

import html
import os
import pickle
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from browser import Browser
from cutjoint import Simulation
from cutjoint.model.run.equilibrium import hold
from cutjoint.model.run.trajectory import Trajectory
from cutjoint.model.verify import verify

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))
# Of each notebook: what a reader must have seen by its end.
SEEN = {
    "control_engineer": ("closed", "deg with the controller"),
    "designer": ("stride", "lowest point"),
    "fmi_user": ("FMI 2.0", "largest difference"),
    "platform_owner": ("singularity distance", "All checks passed."),
    "ros_user": ("reached to", "<robot"),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder a reader has the notebooks in, with the gallery beside it."""
    target = tmp_path_factory.mktemp("docs")
    shutil.copytree(ROOT / "docs" / "gallery", target / "gallery")
    (target / "notebooks").mkdir()
    return target / "notebooks"


@pytest.fixture(scope="module")
def kernel(folder: Path) -> Iterator[Any]:
    """One kernel for all, emptied before each: starting one takes longer than most notebooks."""
    pytest.importorskip("ipykernel", reason="ipykernel, of the extra 'test', is not installed")
    pytest.importorskip("nbclient", reason="nbclient, of the extra 'test', is not installed")
    from jupyter_client.manager import KernelManager

    manager = KernelManager(kernel_name="python3")
    # What is shown works without a compiler; compiling takes the time.
    manager.start_kernel(cwd=str(folder), env=os.environ | {"CUTJOINT_COMPILE": "0", "MPLBACKEND": "agg"})
    yield manager
    manager.shutdown_kernel(now=True)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_from_top_to_bottom(path: Path, kernel: Any) -> None:
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    kept = [cell for cell in notebook.cells if cell.get("outputs") or cell.get("execution_count")]
    assert not kept, "clear the outputs before committing"
    empty = nbformat.v4.new_code_cell("%reset -f")
    notebook.cells.insert(0, empty)
    client = NotebookClient(notebook, km=kernel, timeout=300)
    with client.setup_kernel(cleanup_kc=False):
        for k, cell in enumerate(notebook.cells):
            client.execute_cell(cell, k)
    said = "".join(_words(output) for cell in notebook.cells for output in cell.get("outputs", ()))
    for words in SEEN[path.stem]:
        assert words in said, f"{path.stem} does not show '{words}'"


def _words(output: Any) -> str:
    data = output.get("data", {})
    return str(output.get("text", "")) + str(data.get("text/plain", "")) + str(data.get("text/html", ""))


def test_every_audience_has_its_notebook() -> None:
    assert {path.stem for path in NOTEBOOKS} == set(SEEN)


# -- how things look ---------------------------------------------------------------------------


@pytest.fixture(scope="module")
def motion() -> Trajectory:
    simulation = Simulation("fourbar", compile=False)
    simulation.set_inputs([2.0])
    return simulation.run(0.2, step=2e-3, record=["joint.crank_pin.position", "energy"])


def test_a_motion_shows_itself(motion: Trajectory) -> None:
    text = motion._repr_html_() or ""
    assert "0 to 0.2 s, 101 records" in text and "can be trusted" in text
    assert "<td>joint.crank_pin.position</td><td>rad</td>" in text and "data:image/png" in text
    page = html.unescape(re.findall(r'srcdoc="([^"]*)"', text)[0])
    assert page.startswith("<!doctype html>") and not re.search(r"https?:|\bsrc=|<link|@import|url\(", page)


def test_a_motion_is_seen_as_it_was(motion: Trajectory) -> None:
    """Its states are those of the run; a copy for another process has the numbers alone."""
    assert motion.seen is not None
    times = [state.time for state in motion.seen.states]
    assert times[0] == 0 and times[-1] == pytest.approx(0.2) and len(times) == 6
    simulation = Simulation(motion.seen.engine)
    for state in motion.seen.states:
        simulation.put(state)
        row = int(np.argmin(np.abs(motion.time - state.time)))
        assert simulation.outputs()["joint.crank_pin.position"] == motion["joint.crank_pin.position"][row]
    copied = pickle.loads(pickle.dumps(motion))
    assert copied.seen is None and "srcdoc" not in (copied._repr_html_() or "")
    np.testing.assert_array_equal(copied.values, motion.values)


def test_long_runs_keep_few_states() -> None:
    simulation = Simulation("double_pendulum", compile=False)
    seen = simulation.run(60.0, step=0.02, record=["energy"]).seen
    assert seen is not None and 300 < len(seen.states) <= 1001
    assert seen.states[0].time == 0 and seen.states[-1].time == simulation.time


def test_simulations_models_and_reports_show_themselves() -> None:
    simulation = Simulation("fourbar", compile=False)
    text = simulation._repr_html_() or ""
    assert "<b>fourbar</b>" in text and "data:image/png" in text and "<td>mobility</td><td>1</td>" in text
    hold(simulation)
    linear = simulation.linearize()._repr_html_() or ""
    assert "2 states, 1 inputs" in linear and "<summary>A</summary>" in linear and "damping ratio" in linear
    report = simulation.assemble({"crank_pin": 0.1})._repr_html_() or ""
    assert "<td>residual</td>" in report and "<td>crank_pin</td><td>0.1</td>" in report
    trust = verify("double_pendulum", time=0.01, compile=False)._repr_html_() or ""
    assert "All checks passed." in trust and "<td>energy</td>" in trust


@pytest.mark.browser
def test_two_motions_play_in_one_notebook(motion: Trajectory, tmp_path: Path) -> None:
    """Each in a frame of its own, without a server; nothing is wider than the page."""
    page = tmp_path / "notebook.html"
    shown = "".join(str(motion._repr_html_()) for _ in range(2))
    page.write_text(f"<!doctype html><meta charset='utf-8'><body>{shown}</body>", encoding="utf-8")
    with Browser(tmp_path / "profile", 1100, 900) as browser:
        browser.open(page.as_uri())
        assert browser.until("document.querySelectorAll('iframe').length") == 2
        for width in (1100, 480):
            browser.resize(width, 900)
            top, bottom = browser.script(
                "(r => [r.top, r.bottom])(document.querySelector('iframe').getBoundingClientRect())"
            )
            frame = browser.picture()[int(max(top, 0)) : int(bottom)]
            assert 0.005 < (frame.min(axis=2) < 0.9).mean() < 0.5, "no picture in the frame"
            assert browser.script("document.documentElement.scrollWidth <= innerWidth")
