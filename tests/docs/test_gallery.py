"""The mechanisms of the gallery against what their files say one finds by hand."""

from __future__ import annotations

from math import asin, cos, pi, radians, sin, sqrt, tan
from pathlib import Path

import numpy as np
import pytest
from bulk import bulk
from cutjoint import Simulation

GALLERY = Path(__file__).resolve().parents[2] / "docs" / "gallery"
FREEDOMS = {
    "agile_eye": 3,
    "bucket": 1,
    "core_xy": 2,
    "desk_lamp": 1,
    "planar_platform": 3,
    "scissor_lift": 1,
    "six_bar": 1,
    "straight_line": 1,
    "suspension": 1,
    "three_rpr": 3,
    "walking_leg": 1,
}


EIGHT = ["scissor_lift", "walking_leg", "desk_lamp", "three_rpr"]
EIGHT += ["agile_eye", "suspension", "core_xy", "bucket"]


def simulation(name: str) -> Simulation:
    return Simulation(str(GALLERY / f"{name}.yaml"), compile=False)


def test_every_file_is_tried() -> None:
    assert {path.stem for path in GALLERY.glob("*.yaml")} == set(FREEDOMS)


@pytest.mark.parametrize("name", EIGHT)
def test_a_mechanism_is_described_in_thirty_lines(name: str) -> None:
    """A newcomer's scissor lift, Jansen leg, Watt six-bar, 3-RPR, Agile Eye, wishbone, CoreXY and bucket."""
    assert len((GALLERY / f"{name}.yaml").read_text(encoding="utf-8").splitlines()) <= 30


@pytest.mark.parametrize("name", FREEDOMS)
def test_freedoms_and_motion(name: str) -> None:
    s = simulation(name)
    assert s.topology().mobility == FREEDOMS[name]
    energy = s.energy()
    s.set_inputs([0.3] * len(s.inputs))
    s.run(0.05, record=[])
    scale = max(abs(s.energy()), abs(s.work), 1.0)
    assert abs(s.energy() - energy - s.work) < 1e-6 * scale
    assert s.outputs()["loop.residual"] < 1e-10


def test_the_force_that_holds_a_scissor_lift() -> None:
    s = simulation("scissor_lift")
    for x in (1.2, 1.0, 0.7):
        s.assemble({"roll": x - 1.2})
        lean = np.arccos(x / np.hypot(1.2, 0.7))
        assert s.inverse_dynamics() == pytest.approx([-(200 + 2 + 30) * 9.81 / tan(lean)], rel=1e-9)
        assert s.outputs()["height"] == pytest.approx(np.hypot(1.2, 0.7) * sin(lean), abs=1e-9)


def test_peaucellier_draws_a_straight_line() -> None:
    s = simulation("straight_line")
    heights = []
    for angle in np.linspace(-40, 40, 9):
        s.assemble({"crank": radians(angle)})
        x, _, z = s.outputs()["pen"]
        assert x == pytest.approx(1 / 3, abs=2e-9)  # places in the file have nine digits
        heights.append(z)
    assert np.ptp(heights) > 0.2


def test_a_walking_foot_is_flat_below() -> None:
    """Over a third of the turn the sole stays level to 2 % of a stride four times the crank."""
    s = simulation("walking_leg")
    path = []
    for angle in np.linspace(0, 2 * pi, 61)[:-1]:
        s.assemble({"crank": -angle})
        path.append(s.outputs()["foot"])
    track = np.array(path)
    stride = np.ptp(track[:, 0])
    below = np.sort(track[:, 2])[: len(track) // 3]
    assert stride > 4 * 0.15
    assert np.ptp(below) < 0.02 * stride
    assert np.ptp(track[:, 2]) > 0.2 * stride


def test_the_ram_of_a_shaping_machine() -> None:
    s = simulation("six_bar")
    for angle in np.linspace(0, 2 * pi, 13):
        s.assemble({"crank": angle})
        lean = 0.12 * sin(angle) / (0.3 + 0.12 * cos(angle))
        assert s.outputs()["ram"] == pytest.approx(0.6 * lean, abs=1e-9)
    back = pi - 2 * asin(0.12 / 0.3)
    assert (2 * pi - back) / back == pytest.approx(1.710, abs=5e-4)


def test_torques_of_a_planar_platform_follow_from_its_arms() -> None:
    s = simulation("planar_platform")
    at = s.joint_positions()
    motors, elbows, wrists = (
        [at[f"{what}{k}"][0][:2] for k in (1, 2, 3)] for what in ("motor", "elbow", "wrist")
    )
    n = [(w - e) / np.linalg.norm(w - e) for w, e in zip(wrists, elbows, strict=True)]
    balance = np.array([[*f, w[0] * f[1] - w[1] * f[0]] for f, w in zip(n, wrists, strict=True)]).T
    pushes = np.linalg.solve(balance, [-10.0, 0.0, 0.0])
    arms = [e - m for e, m in zip(elbows, motors, strict=True)]
    torques = [(r[0] * f[1] - r[1] * f[0]) * push for r, f, push in zip(arms, n, pushes, strict=True)]
    assert s.inverse_dynamics() == pytest.approx(torques, rel=1e-9, abs=1e-12)


def test_the_torque_of_a_desk_lamp_whose_head_stays_level() -> None:
    s = simulation("desk_lamp")
    for angle in (60, 40, 80):
        s.assemble({"foot": radians(angle - 60)})
        torque = 9.81 * 0.3 * cos(radians(angle)) * (0.4 / 2 + 0.3 + 0.8 + 1.5 * 0.4 + 2 * 0.9)
        assert s.inverse_dynamics() == pytest.approx([torque], rel=1e-9)
        known = s.outputs()
        assert known["body.head.orientation"] == pytest.approx([1, 0, 0, 0], abs=1e-9)
        assert known["head"][0] == pytest.approx(0.2 + 0.6 * cos(radians(angle)), abs=1e-9)


def test_cylinders_share_a_moment_on_a_3_rpr() -> None:
    s = simulation("three_rpr")
    long = sqrt(0.5**2 + 0.2**2 - 2 * 0.5 * 0.2 * cos(radians(60)))
    push = 3 / (3 * 0.5 * 0.2 * sin(radians(60)) / long)
    assert push == pytest.approx(5.0332, abs=5e-5)
    assert np.abs(s.inverse_dynamics()) == pytest.approx([push] * 3, rel=1e-9)


def test_an_agile_eye_turns_as_its_motors_do() -> None:
    s = simulation("agile_eye")
    assert s.inverse_dynamics() == pytest.approx([-0.1, -0.2, -0.3], rel=1e-9)


def test_the_torques_of_a_core_xy() -> None:
    s = simulation("core_xy")
    assert s.inverse_dynamics() == pytest.approx([-0.04, -0.02], rel=1e-9)
    s.assemble({"x": 0.03, "left_rail": -0.05})
    known = s.outputs()
    assert [known[f"joint.{n}.position"] for n in "ab"] == pytest.approx([-2.0, 8.0], abs=1e-9)


def test_the_cylinder_of_a_bucket() -> None:
    s = simulation("bucket")
    assert s.inverse_dynamics() == pytest.approx([-11036.25], rel=1e-9)
    assert s.outputs()["strut.ram.length"] == pytest.approx(1.2, abs=1e-12)


def test_what_a_wheel_feels_of_its_spring() -> None:
    s = simulation("suspension")
    assert np.abs(s.accelerations()[0]).max() < 1e-6  # the road carries what is calculated by hand
    places, energies = [], []
    for angle in (-0.01, 0.0, 0.01):
        s.assemble({"lower_hinge": angle})
        places.append(s.outputs()["body.upright.position"])
        energies.append(s.energy())
    down, _, up = places
    rise = up[2] - down[2]
    assert rise == pytest.approx(2 * 0.35 * sin(0.01), rel=1e-9)
    assert np.abs((up - down)[:2]).max() < 1e-9  # straight up
    assert (energies[2] - energies[0]) / rise == pytest.approx(1187.292857, rel=1e-4)
    rate = (energies[2] - 2 * energies[1] + energies[0]) / (rise / 2) ** 2
    assert rate == pytest.approx(0.6**2 * 30e3, rel=0.02)


@pytest.mark.parametrize("name", bulk([*FREEDOMS], ["walking_leg", "agile_eye", "suspension"]))
def test_what_the_gallery_shows_moving_is_to_be_trusted(name: str) -> None:
    """The manual could not be built: one passed a pose with two ways to go on, and took the wrong one."""
    motion = Simulation(str(GALLERY / f"{name}.yaml")).run(2.0, record=["energy"])
    assert motion.judgement.trusted and motion.judgement.unsettled == 0
