"""The shipped mechanisms in motion: times, balances and poses that can be known beforehand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from bulk import KINDS, bulk
from cutjoint import Simulation, SimulationError, list_examples, load
from cutjoint.model.cli.main import main


def crossing(trajectory, name):
    """Times at which a column changes sign, by straight lines between samples."""
    x, t = trajectory[name], trajectory.time
    k = np.flatnonzero(np.diff(np.sign(x)))
    return t[k] - x[k] * (t[k + 1] - t[k]) / (x[k + 1] - x[k])


@pytest.fixture(scope="module", params=[(0.0, 1.304), (9.81, 1.0285)], ids=["weightless", "under gravity"])
def platform(request):
    gravity, passes = request.param
    return Simulation("stewart", gravity=gravity), passes


RECORD = ("body.platform.position", "loop.residual", "energy")


def test_stewart_fixed_step(platform):
    simulation, passes = platform
    simulation.reset()
    simulation.set_inputs([10.0, 10.0, 10.0])
    before = simulation.energy()
    trajectory = simulation.run(2.0, 1e-3, record=RECORD)
    assert trajectory["loop.residual"].max() < 1e-10
    imbalance = abs(simulation.energy() - before - simulation.work)
    assert imbalance < 1e-5 * abs(simulation.energy())
    assert crossing(trajectory, "body.platform.position[3]")[0] == pytest.approx(passes, abs=1e-3)


def test_stewart_variable_step(platform):
    simulation, _ = platform
    simulation.reset()
    simulation.set_inputs([10.0, 10.0, 10.0])
    before = simulation.energy()
    trajectory = simulation.run(2.0, 1e-2, method="variable", tolerance=1e-12, record=RECORD)
    imbalance = abs(simulation.energy() - before - simulation.work)
    assert imbalance < 1e-9 * abs(simulation.energy())
    assert trajectory["loop.residual"].max() < 1e-10
    assert len(trajectory.time) == 201 and trajectory.time[-1] == pytest.approx(2.0, abs=1e-12)


def test_hexapod_holds_its_pose():
    simulation = Simulation("hexapod", compile=False)
    assert simulation.topology().mobility == 6
    simulation.set_inputs(simulation.inverse_dynamics())
    start = simulation.outputs()["body.platform.position"]
    simulation.run(1.0, 5e-3, record=["energy"])
    assert np.abs(simulation.outputs()["body.platform.position"] - start).max() < 1e-6
    # and it would not have stayed by itself
    simulation.reset()
    simulation.run(0.1, 5e-3, record=["energy"])
    assert np.abs(simulation.outputs()["body.platform.position"] - start).max() > 1e-3


def test_planar_fourbar_in_space(capsys):
    simulation = Simulation("fourbar", compile=False)
    report = simulation.topology()
    assert report.mobility == 1 and report.freedoms_structural == -2 and len(report.redundant) == 3
    trajectory = simulation.run(1.0, record=["loop.residual", "energy"])
    assert trajectory["loop.residual"].max() < 1e-10
    assert np.ptp(trajectory["energy"]) < 1e-6
    assert main(["show", "fourbar"]) == 0
    page = capsys.readouterr().out
    assert "mobility" in page and all(name in page for name in report.redundant)


@pytest.mark.parametrize("name", bulk(list_examples(), KINDS))
def test_every_example_balances(name):
    """Half a second of free motion: loops closed, energy minus work constant, restore exact."""
    simulation = Simulation(name, compile=False)
    before = simulation.energy()
    saved = simulation.state
    trajectory = simulation.run(0.2, 1e-3, record=["loop.residual", "energy_kinetic"])
    assert trajectory["loop.residual"].max(initial=0) < 1e-9
    scale = 1.0 + abs(before) + trajectory["energy_kinetic"].max()
    assert abs(simulation.energy() - before - simulation.work) < 1e-5 * scale
    first = simulation.state
    simulation.state = saved
    simulation.run(0.2, 1e-3, record=["energy"])
    np.testing.assert_array_equal(simulation.state.q, first.q)
    np.testing.assert_array_equal(simulation.state.v, first.v)


def with_speeds(name, **speeds):
    described = load(name)
    joints = tuple(replace(j, speed=(speeds[j.name],)) if j.name in speeds else j for j in described.joints)
    return Simulation(replace(described, joints=joints), compile=False)


def test_an_initial_speed_is_met_exactly_and_the_others_follow():
    """A four-bar has one freedom: any joint's wanted speed is that speed, not the nearest one."""
    for joint in Simulation("fourbar", compile=False).tree.v:
        simulation = with_speeds("fourbar", **{joint: 6.0})
        assert simulation.v[simulation.tree.v[joint]] == pytest.approx([6.0], abs=1e-12)
        assert np.abs(simulation.closure()[1] @ simulation.v).max() < 1e-10


def test_initial_speeds_that_contradict_are_refused_by_name():
    first, second, *_ = Simulation("fourbar", compile=False).tree.v
    with pytest.raises(SimulationError, match=f"do not allow the speeds of {first}, {second} together"):
        with_speeds("fourbar", **{first: 6.0, second: 6.0})


def test_bad_use_leaves_the_state_alone():
    simulation = Simulation("stewart", compile=False)
    before = simulation.state
    for call, words in (
        (
            lambda: simulation.set_inputs({"motor9": 1}),
            "there is no input 'motor9'; did you mean 'motor3'",
        ),
        (lambda: simulation.set_inputs({"motor1": float("nan")}), "NaN or infinite; the inputs stay"),
        (lambda: simulation.set_inputs([1.0]), "1 inputs given, 'stewart' has 3"),
        (lambda: simulation.step(0.0), "a step must be positive and finite, not 0.0"),
        (lambda: simulation.step(-1e-3), "a step must be positive and finite"),
        (lambda: simulation.run(-1.0), "a duration must be finite and not negative"),
        (lambda: simulation.run(1.0, method="euler"), "there is no method 'euler'; known: fixed, variable"),
        (lambda: simulation.run(1.0, record=["body.nothing"]), "there is no output 'body.nothing'"),
        (lambda: simulation.assemble({"ball2": [1, 0, 0, 0]}), "joint 'ball2' is cut"),
        (lambda: simulation.assemble({"motor1": float("nan")}), "joint 'motor1' takes 1 finite coordinates"),
        (lambda: simulation.inverse_dynamics([1.0]), "1 accelerations given, 'stewart' has 9"),
    ):
        with pytest.raises(SimulationError, match=words.replace("(", r"\(")):
            call()
    assert simulation.state == before
