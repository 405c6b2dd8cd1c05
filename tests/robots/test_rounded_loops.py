"""Loops that hold more than they need to, in files with few digits: they close, and move without chatter."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from bulk import bulk
from cutjoint import Simulation
from cutjoint.model.robots.load_robot import load_robot
from robot_files import hinge, inertial

BAR = inertial(0.5, "0 0 0.1", "0.004 0.004 0.0005")


def three_parallel_links(digits: int, damped: bool, seed: int) -> str:
    """A plate on three links of one length, rounded; the second and third close loops at the ground."""
    random = np.random.default_rng(seed)
    link = random.uniform(0.1, 0.3, 2)
    feet = [np.zeros(2), random.uniform(0.1, 0.4, 2), random.uniform(-0.4, -0.1, 2)]

    def at(p: np.ndarray) -> str:
        return f"{p[0]:.{digits}f} 0 {p[1]:.{digits}f}"

    more = '<dynamics damping="0.01"/>' if damped else ""
    links = "".join(f'<link name="{name}">{BAR}</link>' for name in ("one", "plate", "two", "three"))
    text = hinge("a", "base", "one", at(feet[0]), more) + hinge("b", "one", "plate", at(link), more)
    for name, foot in zip(("two", "three"), feet[1:], strict=True):
        text += hinge(f"on_{name}", "plate", name, at(foot), more)
        text += (
            f'<loop name="foot_{name}" type="revolute"><predecessor link="{name}"><origin xyz="{at(-link)}"/>'
            f'</predecessor><successor link="base"><origin xyz="{at(foot)}"/>'
            '</successor><axis xyz="0 1 0"/></loop>'
        )
    # what an exporter's own rounding leaves between numbers that should agree
    last = f"{link[0] + 2 * 10.0**-digits:.{digits}f}"
    text = text.replace(f"{-link[0]:.{digits}f}", f"-{last}", 1)
    return f'<robot name="plate"><link name="base"/>{links}{text}</robot>'


CASES = [(digits, damped, seed) for digits in (6, 7, 8) for damped in (False, True) for seed in range(3)]


@pytest.mark.parametrize("digits, damped, seed", bulk(CASES, 3))
def test_three_parallel_links_with_few_digits_close_and_move(
    digits: int, damped: bool, seed: int, tmp_path: Path
) -> None:
    path = tmp_path / "robot.urdf"
    path.write_text(three_parallel_links(digits, damped, seed))
    mechanism, report = load_robot(path)
    (line,) = [line for line in report if line.startswith("mended:")]
    assert "open by" in line and "foot_two, foot_three" in line
    s = Simulation(mechanism, compile=False)
    assert s.topology().mobility == 1 and s.start_report.residual < 1e-12
    motion = s.run(0.3)
    assert motion.judgement.trusted and not motion.judgement.unsettled
    assert abs(s.v).max() > 0.3 and np.abs(s.closure()[0]).max() < 1e-11


def test_links_that_differ_by_more_than_digits_stay_as_they_are(tmp_path: Path) -> None:
    path = tmp_path / "robot.urdf"
    path.write_text(three_parallel_links(3, False, 0))
    mechanism, report = load_robot(path)
    assert not any(line.startswith("mended:") for line in report)
    assert Simulation(mechanism, compile=False).topology().mobility == 0
