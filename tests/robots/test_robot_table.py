"""Robots of others, a line each: whether the file is loaded, assembled and run for 0.1 s, and if not, why.

The files are those of `shared/robots` beside the project, or of the folder that CUTJOINT_ROBOTS names, as
a checkout of MuJoCo's menagerie; `make study` prints the table of all. Where a reason names an option, the
robot is tried again with it.
"""

from __future__ import annotations

import os
import re
import warnings
from pathlib import Path

import pytest
from cutjoint import Simulation, load
from cutjoint.model.base.errors import CutjointError

OWN = Path(__file__).parents[3] / "shared" / "robots"
FOLDER = Path(os.environ.get("CUTJOINT_ROBOTS") or OWN)
CHEAP = ("four_bar.urdf", "2f85.xml", "planar_leg_linkage.urdf", "5bar_linkage_iso6d/robot.urdf")
ROBOT = re.compile(r"<robot\b|<sdf\b|<worldbody\b|<include\b")
OPTIONS = {  # words of a reason -> what it asks for
    "--stepper implicit": ("implicit steps", {}, {"stepper": "implicit"}),
    "--accept-inertia": ("repaired inertias", {"accept_inertia": True}, {}),
    "take a smaller step": ("quarter steps", {}, {"step": "0.25 ms"}),
}


def robots() -> list[Path]:
    """Whole robots: no scenes around them, and no files that others include."""
    found = (p for p in FOLDER.rglob("*") if p.suffix in (".urdf", ".xml", ".sdf"))
    whole = (p for p in found if "scene" not in p.name and "assets" not in p.parts)
    return sorted(p for p in whole if ROBOT.search(p.read_text(errors="replace")))


def cases() -> list[object]:
    cheap = [p for p in robots() if FOLDER == OWN and str(p).endswith(CHEAP)]
    marked = [pytest.param(p, marks=() if p in cheap else pytest.mark.study) for p in robots()]
    return marked or [pytest.param(None, marks=pytest.mark.skip(reason="no robots beside the project"))]


def outcome(path: Path, loading: dict[str, bool], how: dict[str, str]) -> tuple[str, str]:
    """How far a robot comes, and the sentence that stops it."""
    stage = "not loaded"
    try:
        mechanism = load(path, **loading)
        stage = "not assembled"
        step = how.pop("step", "1 ms")
        simulation = Simulation(mechanism, compile=False, **how)
        stage = "not run"
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            trusted = simulation.run(0.1, step, record=[]).judgement.trusted
        return ("runs", "") if trusted else ("doubted", str(said[0].message))
    except CutjointError as error:
        return stage, str(error)


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("path", cases(), ids=lambda p: str(p.relative_to(FOLDER)) if p else "none")
def test_robots_run_or_say_why_not(path: Path) -> None:
    stage, reason = outcome(path, {}, {})
    asked = next((words for words in OPTIONS if words in reason), None)
    if asked:
        name, loading, how = OPTIONS[asked]
        stage, more = outcome(path, loading, dict(how))
        stage, reason = f"{stage} with {name}", more or reason
    print(f"\n{path.relative_to(FOLDER)!s:60} {stage:30} {reason}")
    assert stage.startswith("runs") or re.search(r"'|\.(xml|urdf|sdf)", reason), (stage, reason)
    if FOLDER == OWN:
        assert stage.startswith("runs"), reason
