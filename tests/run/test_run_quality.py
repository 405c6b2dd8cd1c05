"""Runs know how far they can be trusted: one judge for all steps, counts, warnings, exit codes."""

from __future__ import annotations

import json
from math import inf, nan, pi
from pathlib import Path

import mechanisms
import numpy as np
import pytest
from bulk import bulk
from cutjoint import Body, Frame, Joint, Mechanism, Simulation, SimulationError
from cutjoint.model.cli import main as command
from cutjoint.model.cli.main import main
from cutjoint.model.describe.writer import write
from cutjoint.model.manifold import step_error
from cutjoint.model.run.run_quality import RunQuality

RAIL = Frame((0.0, 0.0, 0.0), (0.5**0.5, 0.0, 0.5**0.5, 0.0))
PIN = Frame((0.0, 0.0, 0.0), (0.5**0.5, 0.5**0.5, 0.0, 0.0))


def block(friction: float) -> Mechanism:
    """0.1 kg that slides at 1 m/s and is braked."""
    rail = Joint("rail", "prismatic", "ground", "block", RAIL, RAIL, speed=(1.0,), friction=(friction,))
    return Mechanism("block", (Body("block", 0.1),), (rail,))


def pendulum(stiffness: float) -> Mechanism:
    pin = Joint("pin", "revolute", "ground", "bob", PIN, PIN, start=(1.0,), stiffness=(stiffness,))
    return Mechanism("pendulum", (Body("bob", 1.0, (0.0, 0.0, -1.0)),), (pin,))


def cart() -> Mechanism:
    """A cart of 1 mg under a pole of 1 kg: the mass matrix is nearly singular where the pole is upright."""
    joints = (
        Joint("rail", "prismatic", "ground", "cart", RAIL, RAIL),
        Joint("pin", "revolute", "cart", "pole", PIN, PIN, start=(pi / 2,)),
    )
    return Mechanism("cart", (Body("cart", 1e-6), Body("pole", 1.0, (0.0, 0.0, -1.0))), joints)


# First angle of a row of four-bars after 10 s: fixed steps of 1 ms and variable ones to 1e-12 agree in it.
TURNED = {1: -30.34394497, 10: -30.05093350, 40: -30.02663742}

# -- variable steps are judged, too ------------------------------------------------------------------


def test_variable_steps_pass_the_five_bars_singularities() -> None:
    """They lost 2.7 J without a word; where it is after the fourth depends on the tolerance."""
    told = Simulation("fivebar").run(5.0, 1e-2, method="variable", record=[]).judgement
    assert told.imbalance + told.made_up < 1e-4 and not told.trusted
    assert 50 < told.judged < 1000


def test_variable_steps_where_the_parallel_robot_lines_up() -> None:
    """11.5 J were lost within half a second, at the strictest tolerance, in 21 s."""
    s = Simulation("parallel_robot")
    s.set_inputs([5.0] * len(s.inputs))
    told = s.run(0.5, 1e-2, method="variable", tolerance=1e-13, record=[]).judgement
    assert told.imbalance < 1e-6 and told.judged < 1000


@pytest.mark.parametrize("loops", bulk([1, 10, 40], 2))
def test_variable_steps_keep_rows_of_four_bars(loops: int) -> None:
    """Ten line-ups in ten seconds; 40 loops lost 0.014 J and 3e-4 rad."""
    s = Simulation(mechanisms.four_bars(loops))
    parts = step_error.energy(s.equations)  # all outputs of 40 loops would take long to compile

    def energy() -> float:
        return float(sum(float(x) for x in parts(s.q, s.v, s.z, s.p)))

    solver, start = s._solver("variable", 10.0, 1e-12), energy()
    while solver.time < 10.0:
        solver.advance()
        s.go(solver.time, *solver.at(solver.time))
        rods = s.q[[s.tree.q[f"base{k}"].start for k in range(loops + 1)]]
        assert np.ptp(rods) < 1e-9
        assert abs(energy() - start) < 1e-7
    assert rods[0] == pytest.approx(TURNED[loops], abs=1e-7)


@pytest.mark.parametrize("tolerance", [0, nan, -1, inf])
@pytest.mark.parametrize("method", ["variable", "local"])
def test_a_tolerance_must_be_one(method: str, tolerance: float) -> None:
    """Zero and NaN never ended, -1 ended in SciPy's own words."""
    with pytest.raises(SimulationError, match="a tolerance must be between 0 and 1"):
        Simulation("fourbar", compile=False).run(0.1, method=method, tolerance=tolerance)


@pytest.mark.parametrize("stiff", [block(1e6), pendulum(1e14)], ids=lambda m: m.name)
def test_a_run_that_gets_nowhere_ends(stiff: Mechanism) -> None:
    with pytest.raises(SimulationError, match="too short to get anywhere"):
        Simulation(stiff, compile=False).run(1.0, method="variable")


# -- what a run says of itself -----------------------------------------------------------------------


def test_steps_are_counted() -> None:
    s = Simulation(mechanisms.five_bar(), compile=False)
    told = s.run(2.0, 2e-3, record=[]).judgement
    assert told.judged == 1000 and 0 < told.refined < 10 and told.unsettled == 0
    assert Simulation("fourbar", stepper="implicit", compile=False).run(0.01).judgement.judged == 10


def test_nothing_that_rests_is_refined() -> None:
    """Nothing moves and no energy is there: 0/0 counted as infinitely wrong, and every step took long."""
    s = Simulation("fourbar", gravity=0.0, compile=False)
    told = s.run(0.01).judgement
    assert told.trusted and told.refined == told.unsettled == 0


def test_a_block_with_friction_stops_where_it_should() -> None:
    """½ m v² = F x at 0.01 m; it stopped at 0.0042 m."""
    s = Simulation(block(5.0), compile=False)
    told = s.run(0.1).judgement
    assert s.q[0] == pytest.approx(0.01, rel=1e-3)
    assert told.trusted
    assert told.undecided == 0  # a block on a guide has no singular pose; it was told of 24


@pytest.mark.parametrize(("duration", "step"), [(5.0, 1.0), (1.0, 1e9)])
def test_steps_far_too_long_are_made_short(duration: float, step: float) -> None:
    """1e133 J came of steps of a second, without a word; 1e9 s gave a record at 0 s and a time of 1 s."""
    s, exact = Simulation("fourbar"), Simulation("fourbar")
    t = s.run(duration, step)
    exact.run(duration, 1e-3)
    assert t.judgement.trusted and t.time[-1] == s.time == duration
    assert np.abs(s.q - exact.q).max() < 1e-3


@pytest.mark.parametrize("h", bulk([1e-4, 2e-4, 1e-3, 1e-2, 1e-1], [2e-4, 1e-2]))
def test_a_light_cart_at_any_step(h: float) -> None:
    """Steps of 0.2 ms and more ran out of tries, and went wrong silently."""
    s, exact = Simulation(cart()), Simulation(cart())
    told = s.run(5.0, h, record=[]).judgement
    exact.run(5.0, 1e-2, method="variable", tolerance=1e-12)
    assert np.abs(s.q - exact.q).max() < 1e-3
    assert told.trusted and told.refined > 0


def test_doubtful_runs_warn_and_trusted_ones_do_not(recwarn: pytest.WarningsRecorder) -> None:
    Simulation(pendulum(100.0), compile=False).run(0.1)
    assert not recwarn
    with pytest.warns(UserWarning, match=r"'pendulum': the energy is wrong by .* J.*do not trust this run"):
        told = Simulation(pendulum(1e10)).run(1.0).judgement
    assert not told.trusted and told.part > 1e-3
    with pytest.warns(UserWarning, match="100 of 100 steps did not settle"):
        Simulation(block(1e6)).run(0.1)


def test_what_is_made_up_for_counts() -> None:
    """Speeds that are scaled to the energy they should have hide how wrong they were."""
    assert not RunQuality(100, 5, 5, 0, made_up=1.0, imbalance=0.0, scale=10.0).trusted
    assert RunQuality(100, 5, 5, 0, made_up=1e-3, imbalance=0.0, scale=10.0).trusted


@pytest.mark.parametrize(("stiffness", "code"), [(10.0, 0), (1e10, 4)])
def test_exit_code(stiffness: float, code: int, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file, table = tmp_path / "pendulum.yaml", tmp_path / "table.csv"
    file.write_text(write(pendulum(stiffness)))
    words = ["simulate", str(file), "--time", "0.05", "--no-compile", "--csv", str(table)]
    assert command.main([*words, "--json"]) == code
    said = capsys.readouterr()
    summary = json.loads(said.out)
    assert summary["steps_judged"] == 50 and summary["trusted"] is (code == 0)
    assert ("do not trust" in said.err) is (code == 4)
    assert table.exists()  # what was asked for is written all the same
    assert command.main(words) == code
    page = capsys.readouterr().out
    assert "50 judged" in page and ("take smaller steps" in page) is (code == 4)


# -- singular poses ------------------------------------------------------------------------------------


def test_where_steps_cannot_tell_momentum_decides() -> None:
    """Five-bar, 6 ms: round its second crossing it took a turn that 1e-5 rad decided, silently."""
    s = Simulation(mechanisms.five_bar())
    record = ["joint.left.position", "joint.right.position"]
    with pytest.warns(UserWarning, match="whether it goes straight on, as it did, or turns"):
        t = s.run(2.5, 6e-3, record=record)
    asymmetry = (t[record[0]] + t[record[1]] + pi) % (2 * pi) - pi
    assert np.abs(asymmetry).max() < 1e-3
    assert t.judgement.undecided == 1 and t.judgement.part < 1e-3
    assert not t.judgement.trusted  # other steps turn


def test_a_miss_that_steps_can_tell_is_turned_round() -> None:
    """Off the symmetric motion by 1e-4 rad/s: it turns, and nobody is in doubt."""
    s = Simulation(mechanisms.five_bar())
    v = s.state.v
    v[0] += 1e-4
    v = s.engine.kernels.project_velocity(s.q, v, s.s, s.p)
    s.go(0.0, s.q, v, s.z, 0.0)
    t = s.run(1.0, 1e-3, record=["joint.left.position", "joint.right.position"])
    asymmetry = (t["joint.left.position"] + t["joint.right.position"] + pi) % (2 * pi) - pi
    assert abs(asymmetry[-1]) > 0.1
    assert t.judgement.undecided == 0


# Acceleration of the five-bar from rest in (π, 0, π, 0): the point of the cone G a = 0, nᵀH[a, a] = 0 that is
# nearest to M⁻¹F in the mass metric. First order alone gives 8.24 for the first of them.
LEAVING = (5.38554, -9.78282, 8.79455, -9.78282)


def test_the_acceleration_from_rest_in_a_singular_pose_lies_in_the_tangent_cone() -> None:
    s = Simulation(mechanisms.five_bar(mechanisms.SINGULAR))
    a, parted = s.engine.kernels.from_rest(s.q, s.z, s.u, s.p)
    assert parted[0] == 1 and a == pytest.approx(LEAVING, abs=1e-5)
    assert s.accelerations()[0] == pytest.approx(a, abs=1e-12)
    M, G, F, _, _ = s.engine.kernels.coefficients(*s.at)
    assert np.abs(G @ a).max() < 1e-6
    n = np.linalg.svd(G)[0][:, 1]  # the row that is lost; the rest of G is zero in a plane

    def lost(d: np.ndarray) -> float:
        return float(n @ s.engine.closure(s.engine.retract(s.q, d), s.s, s.p)[0])

    e = 1e-3  # nᵀH[x, y] by differences: g has no first order along n
    size = np.linalg.norm(a)
    assert abs(lost(e * a / size) + lost(-e * a / size)) < 1e-6 * e**2
    normal = np.array([lost(e * (a / size + x)) - lost(e * (a / size - x)) for x in np.eye(4)])
    rest = F - M @ a  # must be a force of the loops: of G's rows and of the cone's normal
    rows = np.vstack([G, normal / np.linalg.norm(normal)]).T
    miss = rest - rows @ np.linalg.lstsq(rows, rest, rcond=1e-9)[0]
    assert np.abs(miss).max() < 1e-3 * np.abs(rest).max()


def test_regular_poses_are_left_as_ever() -> None:
    for name in ("fourbar", "stewart", "delta", "fivebar"):
        s = Simulation(name, compile=False)
        a, parted = s.engine.kernels.from_rest(s.q, s.z, s.u, s.p)
        assert parted[0] == 0 and np.array_equal(a, s.accelerations()[0])


@pytest.mark.parametrize(("h", "error"), [(5e-3, 1e-8), (1e-3, 1e-8), (2e-4, 1e-4)])
def test_a_singular_pose_is_left_by_the_right_way(h: float, error: float) -> None:
    """Half a second from rest: 4e-3, 9e-4 and 2e-4 rad or rad/s off."""
    s = Simulation(mechanisms.five_bar(mechanisms.SINGULAR))
    exact = Simulation(s.engine)
    exact.run(0.5, 1e-2, method="variable", tolerance=1e-12)
    s.run(0.5, h)
    assert np.abs(np.concatenate([s.q - exact.q, s.v - exact.v])).max() < error
    assert abs(s.energy() - exact.energy()) < 1e-6


def test_a_stiff_run_to_a_tolerance_is_given_up_soon_by_the_command_too(tmp_path: Path) -> None:
    """Before the run that was asked for, a millisecond of it was tried unseen: half a million steps."""
    text = Path(__file__).parents[2].joinpath("examples", "loader.yaml").read_text(encoding="utf-8")
    assert "damping: 20 kN.s/m" in text
    (tmp_path / "stiff.yaml").write_text(text.replace("damping: 20 kN.s/m", "damping: 2e+10 kN.s/m", 1))
    words = [
        "simulate",
        str(tmp_path / "stiff.yaml"),
        "--time",
        "0.01",
        "--no-compile",
        "--method",
        "variable",
    ]
    assert main(words) == 4
