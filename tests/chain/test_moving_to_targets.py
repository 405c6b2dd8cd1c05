"""Commands by pose: ways that are smooth, bounded and checked before anything moves; described targets."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from cutjoint import Chain, DescriptionError, Engine, Simulation, SimulationError, Target, load, save
from cutjoint.model.chain.plan import Bounds, FrameWay, quintic
from cutjoint.model.cli.main import main

WATCHED = ["body.platform.position", "body.platform.velocity", "body.platform.acceleration"]


def test_a_polynomial_meets_both_ends() -> None:
    random = np.random.default_rng(0)
    x0, v0, a0, x1, v1, a1 = random.normal(size=(6, 3))
    c = quintic(x0, v0, a0, x1, v1, a1, 0.7)
    powers = 0.7 ** np.arange(6)
    assert powers @ c == pytest.approx(x1) and c[0] == pytest.approx(x0)
    assert (np.arange(1, 6) * powers[:-1]) @ c[1:] == pytest.approx(v1)
    assert (np.arange(2, 6) * np.arange(1, 5) * powers[:-2]) @ c[2:] == pytest.approx(a1)


def test_it_goes_there_within_its_bounds_and_stays() -> None:
    simulation = Simulation("delta", compile=False)
    home = Chain(simulation).pose("platform").position
    goal = home + np.array([0.04, 0.02, -0.03])
    bounds = {"speed": 0.15, "acceleration": 0.8, "jerk": 15.0}
    motion = simulation.move_to(Target("platform", goal), bounds=bounds, settle=0.1, record=WATCHED)
    assert simulation.outputs()["body.platform.position"] == pytest.approx(goal, abs=1e-6)
    v, a = (np.linalg.norm(np.asarray(motion)[:, k : k + 3], axis=1) for k in (3, 6))
    assert 0.1 < v.max() <= 0.15 * 1.001 and a.max() <= 0.8 * 1.01
    jerk = np.linalg.norm(np.diff(np.asarray(motion)[:, 6:9], axis=0), axis=1)[1:-102] / 1e-3
    assert jerk.max() <= 15.0 * 1.05


def test_a_new_target_blends_from_the_present_motion() -> None:
    simulation = Simulation("delta", compile=False)
    chain = Chain(simulation)
    home = chain.pose("platform").position
    first = chain.plan(Target("platform", home + np.array([0.05, 0, -0.03])))
    from cutjoint.model.chain.follow import PlanFollower

    simulation.run(first.duration / 2, controller=PlanFollower(simulation, first), record=WATCHED)
    moving = chain.pose("platform", simulation.state)
    assert np.linalg.norm(moving.velocity) > 0.05
    before = np.array(simulation.outputs()["body.platform.acceleration"])
    motion = simulation.move_to(
        Target("platform", home + np.array([0, 0.04, -0.02])), settle=0.1, record=WATCHED
    )
    v, a = (np.asarray(motion)[:, k : k + 3] for k in (3, 6))
    assert v[0] == pytest.approx(moving.velocity, abs=1e-9)
    assert np.abs(a[1] - before).max() < 0.1 and np.linalg.norm(a, axis=1).max() < 1.2
    assert simulation.outputs()["body.platform.position"] == pytest.approx(
        home + np.array([0, 0.04, -0.02]), abs=1e-6
    )


def test_turns_follow_the_shorter_way_with_exact_rates() -> None:
    chain = Chain(Engine("hexapod", compile=False))
    home = chain.pose("platform").position
    way = FrameWay(chain, Target("platform", home, (1, 0.1, -0.05, 0.08)), chain.released(None), None, {})
    assert isinstance(way.bounds, Bounds)
    h, T = 1e-4, 0.8
    for t in (0.2, 0.5):
        e = [np.array(way.target_at(T, t + k * h).orientation) for k in (-1, 0, 1)]
        w = np.array(way.target_at(T, t).angular_velocity)
        from cutjoint.model.joints.euler import conjugate, multiply

        rate = 2 * multiply((e[2] - e[0]) / (2 * h), conjugate(e[1]))[1:]
        assert rate == pytest.approx(w, abs=1e-7)


def test_what_cant_be_reached_moves_nothing() -> None:
    simulation = Simulation("delta", compile=False)
    before = simulation.state
    for target in (
        Target("platform", (0, 0, 0.5)),
        Target("platform", (0, 0, float("nan"))),
        Target("arm9", (0, 0, 0)),
    ):
        with pytest.raises((SimulationError, DescriptionError)):
            simulation.move_to(target)
        assert simulation.state == before
    with pytest.raises(SimulationError, match="there is no bound 'sped'; did you mean 'speed'"):
        simulation.move_to(Target("platform", (0, 0, -0.7)), bounds={"sped": 1.0})
    with pytest.raises(SimulationError, match="comes to rest at a target"):
        simulation.move_to(Target("platform", (0, 0, -0.7), velocity=(1, 0, 0)))


def test_a_path_of_poses_is_followed() -> None:
    simulation = Simulation("delta", compile=False)
    chain = Chain(simulation)
    home = chain.pose("platform").position

    def circle(t: float) -> list[Target]:
        s, way, turn = 0.02 * (1 - np.cos(10 * t)), np.array([1.0, 0.5, 0.0]), 0.02 * np.sin(10 * t)
        more = {"velocity": 10 * turn * way, "acceleration": 2 * np.cos(10 * t) * way}
        return [Target("platform", home + s * way, **more)]

    motion = simulation.follow(chain.follow(circle, 0.3), record=WATCHED)
    wanted = np.array([circle(t)[0].position for t in motion.time])
    assert np.abs(np.asarray(motion)[:, :3] - wanted).max() < 1e-5  # inputs are held for a millisecond


# -- described targets ---------------------------------------------------------------------------------


def described(tmp_path: Path, text: str) -> str:
    path = tmp_path / "picker.yaml"
    save(replace(load("delta"), targets=()), path)
    path.write_text(path.read_text(encoding="utf-8") + text, encoding="utf-8")
    return str(path)


def test_a_described_target_says_rows_and_bounds(tmp_path: Path) -> None:
    path = described(tmp_path, "targets:\n  tool: {frame: platform, rows: [x, z], speed: 50 mm/s}\n")
    chain = Chain(path)
    home = chain.pose("platform").position
    found = chain.inverse(Target("tool", home + np.array([0.02, 5.0, -0.01])))  # y is not asked for
    assert chain.pose("platform", found.state).position[[0, 2]] == pytest.approx(
        (home + np.array([0.02, 0, -0.01]))[[0, 2]]
    )
    assert chain.plan(Target("tool", home + np.array([0.02, 0, 0]))).speeds.max() < 0.5
    slow, fast = (
        chain.plan(Target(x, home + np.array([0.05, 0, 0]), rows=("x",))).duration
        for x in ("tool", "platform")
    )
    assert slow > 2 * fast
    with pytest.raises(SimulationError, match="target 'tool' has the rows x, z; y is none of them"):
        chain.inverse(Target("tool", home, rows=("y",)))
    again = tmp_path / "again.yaml"
    save(load(path), again)
    assert load(str(again)).targets == load(path).targets


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("tool: {frame: platfrom}", "must be a body or a frame: did you mean 'platform'"),
        ("tool: {frame: platform, base: platform}", "must be another"),
        ("tool: {frame: platform, rows: [u]}", "it may have x, y, z, rx, ry, rz"),
        ("tool: {frame: platform, rows: []}", "must have one"),
        ("tool: {frame: platform, speed: -1}", "speed"),
    ],
)
def test_bad_targets_of_descriptions_are_told(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(DescriptionError) as problem:
        load(described(tmp_path, f"targets:\n  {text}\n"))
    assert says in str(problem.value) and "picker.yaml" in str(problem.value)


# -- command line ----------------------------------------------------------------------------------------


def test_reach_prints_joints_limits_and_forces(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    words = ["reach", "delta", "--pose", "platform=x:100mm,y:0.05,z:-0.7", "-o", str(tmp_path / "there.yaml")]
    assert main([*words, "--json", "--picture", str(tmp_path / "there.png")]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["residual"] <= 1e-12 and set(found["forces"]) == {"motor1", "motor2", "motor3"}
    assert found["limits_left"]["motor1"][0] > 0 and (tmp_path / "there.png").stat().st_size > 1000
    there = Chain(str(tmp_path / "there.yaml")).pose("platform").position
    assert there == pytest.approx([0.1, 0.05, -0.7], abs=1e-9)
    assert main(["reach", "delta", "--pose", "platform=x:100mm,y:0.05,z:-0.7"]) == 0
    assert "above its lower limit" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (["platform=z:0.5"], 4, "meets its lower limit"),
        (["platform=roll:10deg"], 4, "do not let platform.rx be chosen"),
        (["platfrom=z:-0.7"], 2, "did you mean 'platform'"),
        (["platform=up:-0.7"], 2, "known: x, y, z, roll, pitch, yaw"),
        (["platform=z:much"], 2, "'much' is not a number"),
        (["platform"], 2, "takes NAME=PART:VALUE"),
        (["platform=z"], 2, "takes PART:VALUE"),
        (["platform=z:1,z:2"], 2, "gives z twice"),
        (["platform=z:nan"], 2, "not a finite number"),
    ],
)
def test_reach_refuses_with_a_sentence(
    words: list[str], code: int, says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["reach", "delta", "--pose", *words]) == code
    assert says in capsys.readouterr().err


def test_simulate_goes_to_a_target(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    words = ["simulate", "delta", "--target", "platform=x:0.02,y:0,z:-0.68", "--no-compile", "--time", "0.8"]
    table = tmp_path / "motion.csv"
    assert main([*words, "--output", "body.platform.position", "--csv", str(table)]) == 0
    last = np.array(table.read_text(encoding="utf-8").splitlines()[-1].split(","), float)
    assert last[1:4] == pytest.approx([0.02, 0.0, -0.68], abs=1e-6)
    assert main([*words, "--torque", "all=1"]) == 2
    assert "leave out --torque" in capsys.readouterr().err
