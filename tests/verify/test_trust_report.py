"""The trust report: every shipped mechanism passes, and every check can fail."""

import json
from dataclasses import replace
from math import pi
from pathlib import Path

import mechanisms
import numpy as np
import pytest
from bulk import bulk
from cutjoint import Body, Frame, Joint, Mechanism, Simulation, list_examples, load
from cutjoint.model.cli.main import main
from cutjoint.model.describe.mechanism import Load, PointMass
from cutjoint.model.verify import TrustReport, laws, motion, scaling, verify
from cutjoint.model.verify.motion import WatchedMotion, move
from cutjoint.model.verify.scaling import check_scales
from random_mechanisms import random_loop, random_rolling

EDGE = Frame((0.0, 0.0, 0.0), (0.5**0.5, 0.5**0.5, 0.0, 0.0))  # z across gravity
CHECKS = [
    *("start: loops", "start: speeds", "convergence", "energy"),
    *("loops: position", "loops: speed", "loops: acceleration"),
    *("time reversal", "Newton's law", "linear model", "scale invariance"),
]


def failed(report: TrustReport) -> set[str]:
    return {check.name for check in report.checks if check.passed is False}


def quiet(part: float) -> None:
    """Nobody watches."""


def watched(simulation: Simulation) -> WatchedMotion:
    return move(simulation, simulation.state, 20, 1e-3, quiet)


@pytest.mark.parametrize(
    "name",
    bulk(list_examples(), {"cable_platform", "gripper", "rolling_disc", "stewart"}),
)
def test_every_example_is_to_be_trusted(name: str) -> None:
    report = verify(name, time=0.2, inputs=[1.0] * len(load(name).inputs()), compile=False)
    assert [check.name for check in report.checks] == CHECKS
    assert not failed(report), report
    assert sum(check.passed is None for check in report.checks) <= 4


def test_random_mechanisms_with_everything_on_them() -> None:
    for seed in range(2):
        report = verify(random_loop(seed), time=0.05, step=5e-4, compile=False)
        assert not failed(report), (seed, report)


@pytest.mark.parametrize("stepper", bulk(["runge_kutta", "implicit"], 1))
def test_wheels_balls_and_blades_on_running_surfaces(stepper: str) -> None:
    for seed in (1, 6):
        report = verify(random_rolling(seed), time=0.05, step=5e-4, compile=False, stepper=stepper)
        assert not failed(report), (seed, report)


def test_point_masses_have_weight_and_inertia() -> None:
    """Each at its own place: Newton's law is asked of body and masses, not of what the engine lumps."""
    arm = load("arm")
    heavy = tuple(PointMass(f"m{k}", b.name, 2.0, (0.1, 0.2, 0.3)) for k, b in enumerate(arm.bodies))
    s = Simulation(replace(arm, point_masses=heavy), compile=False)
    s.run(0.1, 1e-3)
    found = laws.unbalanced(s.mechanism, s.outputs(), 1.0, 1.0)
    assert found < 1e-12 < 1e-2 < laws.unbalanced(arm, s.outputs(), 1.0, 1.0)


def test_a_mechanism_that_rests_is_to_be_trusted() -> None:
    """No force, no speed, no energy: nothing is divided by nothing."""
    assert not failed(verify("fourbar", time=0.05, gravity=0.0, compile=False))


def test_far_too_coarse_a_step() -> None:
    """A double pendulum at 50 ms, each step whole: neither motion nor energy nor the way back is right."""
    report = verify("double_pendulum", time=3.0, step=5e-2, stepper="single", compile=False)
    assert failed(report) == {"convergence", "energy", "time reversal"}
    assert report["convergence"].value > report["convergence"].limit


def test_a_motion_that_runs_away_is_a_verdict_too() -> None:
    report = verify(mechanisms.stiff_five_bar(), time=0.5, step=1e-3, stepper="single", compile=False)
    assert failed(report) == {"convergence"}
    assert "take smaller steps" in report["convergence"].says


def test_a_start_that_is_not_what_was_asked_for() -> None:
    s = Simulation(mechanisms.four_bars(1), compile=False)
    assert all(check.passed for check in laws.check_start(s))
    s.put(replace(s.state, v=0.5 * s.v))
    loops, speeds = laws.check_start(s)
    assert loops.passed and not speeds.passed and "worst at joint" in speeds.says
    s.put(replace(s.state, q=s.q + np.array([0.0, 1e-6, 0.0])))
    assert not laws.check_start(s)[0].passed


def test_loops_that_are_open_at_one_level() -> None:
    s = Simulation(mechanisms.four_bars(1), compile=False)
    run = watched(s)
    assert all(check.passed for check in motion.check_loops(s, run))
    *rest, last = run.states
    off = np.array([0.0, 0.0, 1e-5])
    for change, name in (({"q": last.q + off}, "position"), ({"v": last.v + off}, "speed")):
        position, speed, _ = motion.check_loops(s, WatchedMotion(run.h, (*rest, replace(last, **change))))
        assert [position.passed, speed.passed] == [name != "position", name != "speed"]


def test_accelerations_that_no_loop_allows() -> None:
    """The five-bar stretched out, moving as it can't go on: no v̇ fits γ there."""
    s = Simulation(mechanisms.five_bar(mechanisms.SINGULAR), compile=False)
    K = np.linalg.svd(s.closure()[1])[2][-2:]
    states = [replace(s.state, v=v, time=float(k)) for k, v in enumerate(K)]
    assert not motion.check_loops(s, WatchedMotion(1.0, tuple(states)))[2].passed


def test_a_force_that_newton_does_not_know() -> None:
    """A millionth of a newton more on one body, in the books but not in the motion."""
    s = Simulation("stewart", compile=False)
    assert laws.unbalanced(s.mechanism, s.outputs(), 1.0, 1.0) < 1e-12
    push = Load("push", "leg2", force=(0.0, 1e-6 * 250, 0.0))
    assert laws.unbalanced(replace(s.mechanism, loads=(push,)), s.outputs(), 1.0, 1.0) > 1e-8


def test_a_linear_model_that_holds_nowhere() -> None:
    """Friction with a knee at a millionth of a radian per second: its slope at rest holds nowhere else."""
    rod = Body("rod", 1.0, (1.0, 0.0, 0.0), (0.1,) * 3 + (0.0,) * 3)
    pin = Joint("pin", "revolute", "ground", "rod", friction=(5.0,), friction_speed=1e-6)
    s = Simulation(Mechanism("sticky", (rod,), (pin,)), compile=False)
    found = laws.check_linear(s, WatchedMotion(1e-3, (s.state, replace(s.state, time=1.0))))
    assert found.passed is False


def test_a_linear_model_beside_a_stop() -> None:
    """Ahead of a stop by less than the first differences are long: the shorter ones do not reach it."""
    rod = Body("rod", 1.0, (1.0, 0.0, 0.0), (0.1,) * 3 + (0.0,) * 3)
    pin = Joint(
        "pin", "revolute", "ground", "rod", limits=(-1.0, 0.5), limit_stiffness=1e4, start=(0.499995,)
    )
    s = Simulation(Mechanism("stopped", (rod,), (pin,)), compile=False)
    assert laws.check_linear(s, WatchedMotion(1e-3, (s.state, replace(s.state, time=1.0)))).passed


def test_a_fall_onto_stops_owes_no_order() -> None:
    """The delta robot hits its stops: steps are done again in shorter ones, and errors do not follow h."""
    found = verify("delta", time=0.7, compile=False)["convergence"]
    assert found.passed and "shorter" in found.says


def test_other_units_start_where_this_one_is() -> None:
    """The start may be one that round-off chose among several."""
    s = Simulation("slider_crank", compile=False)
    s.run(0.1, 1e-3, record=[])
    here = np.concatenate([s.q, s.v])
    there = scaling.motion(s.mechanism, list(s.u), 1e-3, 0, 1e6, 1e-3, 1e2, start=s.state)
    assert np.abs(there - here).max() < 1e-14


def test_a_motion_that_round_off_decides() -> None:
    """A double pendulum over 20 s: in other units it rounds otherwise, and ends elsewhere."""
    s = Simulation("double_pendulum", compile=False)
    assert check_scales(s, 1e-3).passed
    assert check_scales(s, 1.0).passed is False


def test_losses_and_singular_poses_are_not_asked_to_go_back() -> None:
    bob = Body("bob", 1.0, (0.0, 0.0, -1.0))
    pin = Joint("pin", "revolute", "ground", "bob", EDGE, EDGE, start=(pi / 2,), damping=(0.1,))
    s = Simulation(Mechanism("damped", (bob,), (pin,)), compile=False)
    found = motion.check_reversal(s, watched(s), quiet, {})
    assert found.passed is None and "dampers" in found.says
    s = Simulation(mechanisms.five_bar(mechanisms.SINGULAR), compile=False)
    found = motion.check_reversal(s, watched(s), quiet, {})
    assert found.passed is None and "singular" in found.says


CRANK = """
name: crank
bodies:
  rod: {mass: 2, com: [0.1, 0, 0], inertia: [0.01, 0.02, 0.02]}
joints:
  pin: {type: revolute, parent: ground, child: rod, at: [0, 0, 0], axis: y, speed: 200 rad/s}
motors:
  motor: {joint: pin}
"""


def test_the_command_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "crank.yaml"
    file.write_text(CRANK)
    options = [str(file), "--time", "0.2", "--torque", "motor=1", "--no-compile"]
    assert main(["verify", *options]) == 0
    said = capsys.readouterr().out
    assert all(name in said for name in CHECKS) and said.rstrip().endswith("crank: all checks passed")
    assert main(["verify", *options, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["passed"] and [check["name"] for check in found["checks"]] == CHECKS
    coarse = [*options, "--step", "0.02", "--stepper", "single", "--gravity", "500"]
    assert main(["verify", *coarse]) == 4
    assert "crank: FAILED: convergence" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--time", "0"], "--time must be more than zero"),
        (["--step", "x"], "--step: 'x' is not a number"),
        (["--torque", "motr=1"], "did you mean"),
        (["--stepper", "magic"], "there is no stepper 'magic'"),
    ],
)
def test_mistakes_get_a_sentence(
    words: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "crank.yaml"
    file.write_text(CRANK)
    assert main(["verify", str(file), "--no-compile", *words]) in (2, 4)
    assert said in capsys.readouterr().err


def test_an_input_is_told_by_the_name_of_its_port_too() -> None:
    one, other = (
        verify("fourbar", inputs={name: 1.0}, time=0.02, compile=False)
        for name in ("motor.crank.torque", "crank")
    )
    assert one.data() == other.data()
