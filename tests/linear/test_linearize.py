"""Linear models: theorems of paper 004, known answers, names, files and refusals.

Agreement with finite differences and with the recursions of paper 004 on random mechanisms is
in test_linear_routes.py.
"""

from __future__ import annotations

import json
from copy import copy
from dataclasses import replace

import numpy as np
import pytest
import scipy.linalg
from bulk import bulk
from cutjoint import Body, Frame, Joint, Mechanism, Simulation, SimulationError, Strut, load
from cutjoint.model.cli.linearize import take_pose
from cutjoint.model.cli.main import main
from cutjoint.model.design.sensitivity import sensitivities
from cutjoint.model.linear.discrete import discretize
from cutjoint.model.linear.linearize import underlying_model
from cutjoint.model.run.equilibrium import hold, settle
from mechanisms import SINGULAR, five_bar

EDGE = Frame((0.0, 0.0, 0.0), (np.sqrt(0.5), -np.sqrt(0.5), 0.0, 0.0))  # z along y: swings in the x-z plane


def pendulum_on_a_constraint(length=0.7, mass=1.3, inertia=0.05, stiffness=40.0):
    """A floating body whose pivot is held by a cut hinge, with a spring from above: all by multipliers."""
    body = Body("rod", mass, (0.0, 0.0, -length), (inertia,) * 3 + (0.0,) * 3)
    joints = (
        Joint("float", "free", "ground", "rod"),
        Joint("pivot", "revolute", "ground", "rod", EDGE, EDGE, cut=True),
    )
    strut = Strut("spring", "ground", "rod", (1.0, 0.0, -length), (0.0, 0.0, -length), stiffness, 0.0, 1.0)
    return Mechanism("held", (body,), joints, struts=(strut,))


def test_multipliers_stiffness():
    """Gravity acts on the pivot's reaction alone; the stiffness must show it: ω² = (mgl + kl²)/(I + ml²)."""
    simulation = Simulation(pendulum_on_a_constraint(), compile=False)
    report = simulation.topology()
    assert report.mobility == 1 and report.rows == 6  # of the cut beside the hinge
    model = simulation.linearize()
    values = model.eigenvalues()
    assert len(values) == 2
    expected = np.sqrt((1.3 * 9.81 * 0.7 + 40 * 0.7**2) / (0.05 + 1.3 * 0.7**2))
    assert np.abs(values.imag).max() == pytest.approx(expected, rel=1e-10)
    assert np.abs(values.real).max() < 1e-8


CASES = ["stewart", "parallel_robot", "loader", "fourbar", "slider_crank", "hexapod", "delta"]


@pytest.mark.parametrize("name", bulk(CASES, {*CASES} - {"hexapod"}))
def test_eigenvalues_do_not_depend_on_the_chart(name):
    simulation = Simulation(name, compile=False)
    (hold if simulation.inputs else settle)(simulation)
    mobility = simulation.topology().mobility
    charts = [simulation.linearize(states=s) for s in ("auto", "partition", "tangent")]
    spectra = [sorted_spectrum(m.A) for m in charts]
    assert all(len(s) == 2 * mobility for s in spectra)
    scale = 1 + np.abs(spectra[0]).max()
    for other in spectra[1:]:
        assert spectrum_distance(spectra[0], other) < 1e-9 * scale
    A, P = underlying_model(simulation.engine, simulation.state)
    nv = simulation.tree.nv
    np.testing.assert_allclose(P @ P, P, atol=1e-9)
    assert np.linalg.matrix_rank(P, tol=1e-8) == 2 * mobility
    everything = np.linalg.eigvals(A)
    # theorem 4.1.2: the same eigenvalues and zeros; a defective zero is found to the root of round-off
    used = [everything[np.argmin(np.abs(everything - value))] for value in spectra[0]]
    assert np.abs(np.array(used) - spectra[0]).max() < 1e-7 * scale
    assert len(everything) == 2 * nv
    assert np.sum(np.abs(everything) > 1e-5 * scale) <= 2 * mobility


def sorted_spectrum(A):
    values = np.linalg.eigvals(A)
    return values[np.lexsort((values.imag.round(6), values.real.round(6)))]


def spectrum_distance(a, b):
    from scipy.optimize import linear_sum_assignment

    cost = np.abs(a[:, None] - b[None, :])
    return cost[linear_sum_assignment(cost)].max()


def test_states_by_joint_names():
    simulation = Simulation("stewart", compile=False)
    model = simulation.linearize(states=["motor3", "motor1", "motor2"])
    assert model.states[0] == "joint.motor3.position" and model.states[3] == "joint.motor3.velocity"
    same = simulation.linearize(states="motor1,motor2,motor3")
    np.testing.assert_allclose(model.A[3, 0], same.A[5, 2], rtol=1e-9)
    assert model.state_units == ("rad",) * 3 + ("rad/s",) * 3
    assert model.input_units == ("N.m",) * 3


def test_outputs_against_differences():
    """C and D of positions, accelerations and reactions against differences along the manifold."""
    simulation = Simulation("stewart", compile=False)
    simulation.set_inputs([12.0, 3.0, -5.0])
    simulation.run(0.2)
    names = ["body.platform.position", "body.platform.angular_acceleration", "reaction.ball2.force", "energy"]
    model = simulation.linearize(outputs=names)
    saved = simulation.state
    y = lambda: np.concatenate([np.atleast_1d(simulation.outputs()[n]) for n in names])  # noqa: E731
    for k in range(3):
        values = []
        for sign in (1, -1):
            simulation.state = saved
            u = saved.u.copy()
            u[k] += sign * 1e-3
            simulation.set_inputs(u)
            values.append(y())
        np.testing.assert_allclose((values[0] - values[1]) / 2e-3, model.D[:, k], atol=1e-6)
    # along the motion itself: dy/dt = C ẋ (the inputs are constant)
    simulation.state = saved
    dv, _ = simulation.accelerations()
    index = [simulation.tree.v[f"motor{k}"].start for k in (1, 2, 3)]
    x_rate = np.concatenate([simulation.state.v[index], dv[index]])
    h = 1e-4
    ahead, behind = [], []
    simulation.step(h)
    ahead = y()
    simulation.state = saved
    simulation.state = replace(saved, v=-saved.v)  # gravity and constant torques: time runs back
    simulation.step(h)
    simulation.state = replace(simulation.state, v=-simulation.state.v)
    behind = y()
    slope = (ahead - behind) / (2 * h)
    np.testing.assert_allclose(model.C @ x_rate, slope, rtol=1e-4, atol=1e-4 * np.abs(slope).max())


def test_discrete_model_is_the_step():
    simulation = Simulation("stewart", compile=False)
    hold(simulation)
    model, step = simulation.linearize(), discretize(simulation.engine, simulation.state, 1e-3)
    whole = scipy.linalg.expm(1e-3 * np.block([[model.A, model.B], [np.zeros((3, 9))]]))
    np.testing.assert_allclose(step.A, whole[:6, :6], atol=1e-11)
    np.testing.assert_allclose(step.B, whole[:6, 6:], atol=1e-11)
    assert step.step == 1e-3 and not step.stable()


def test_accelerations_follow_parameters_as_differences_say():
    """δv̇/δp at constant states, loops closed again after the change of a length."""
    described = load("stewart")
    paths = {"ball": "joint.ball2.on_parent.position", "mass": "body.platform.mass"}
    described = replace(described, parameters=paths, outputs={})
    simulation = Simulation(described, compile=False)
    simulation.set_inputs([4.0, 8.0, -3.0])
    simulation.run(0.3)
    motors = ["motor1", "motor2", "motor3"]
    found = sensitivities(
        simulation, [f"joint.{m}.acceleration" for m in motors], ["ball", "mass"], motors
    ).matrix
    state = simulation.state
    base = np.asarray(described.joint("ball2").on_parent.position)
    index = [simulation.tree.v[m].start for m in motors]

    def rates(values):
        other = copy(simulation)
        other.set_parameters(values)
        other.assemble({m: state.q[simulation.tree.q[m]] for m in motors})
        _, G = other.closure()
        R = np.zeros((3, other.tree.nv))
        R[np.arange(3), index] = 1
        v = np.linalg.lstsq(np.vstack([R, G]), np.concatenate([state.v[index], np.zeros(len(G))]))[0]
        other.state = replace(other.state, v=v)
        return other.accelerations()[0][index]

    h = 1e-5
    for k in range(3):
        d = h * np.eye(3)[k]
        slope = (rates({"ball": base + d}) - rates({"ball": base - d})) / (2 * h)
        np.testing.assert_allclose(found[:, k], slope, atol=1e-6 * (1 + np.abs(slope).max()))
    slope = (rates({"mass": 10 + h}) - rates({"mass": 10 - h})) / (2 * h)
    np.testing.assert_allclose(found[:, 3], slope, atol=1e-6)


def test_equilibria():
    simulation = Simulation("fourbar", compile=False)
    found = settle(simulation)
    assert found.residual < 1e-9 and found.iterations < 50
    assert found.verdict in ("stable", "marginal", "unstable")
    simulation.run(0.5)
    assert np.abs(simulation.state.v).max() < 1e-6
    platform = Simulation("stewart", compile=False)
    report = hold(platform)
    assert report.verdict == "unstable" and set(report.inputs) == {"motor1", "motor2", "motor3"}


def test_conversions_and_files(tmp_path):
    model = Simulation("stewart", compile=False).linearize()
    control = pytest.importorskip("control")
    np.testing.assert_allclose(
        sorted(model.to_control().poles().real), sorted(model.eigenvalues().real), atol=1e-9
    )
    assert control.StateSpace is type(model.to_control())
    np.testing.assert_allclose(model.to_scipy().A, model.A)
    for ending in ("json", "npz"):
        model.save(tmp_path / f"m.{ending}")
    assert json.loads((tmp_path / "m.json").read_text())["states"] == list(model.states)
    np.testing.assert_array_equal(np.load(tmp_path / "m.npz")["A"], model.A)
    np.testing.assert_allclose(
        model.response([2.0])[0], model.C @ np.linalg.solve(2j * np.eye(6) - model.A, model.B) + model.D
    )


def test_refusals():
    simulation = Simulation("stewart", compile=False)
    with pytest.raises(
        SimulationError, match=r"has 3 degree.s. of freedom here, but 2 independent coordinate"
    ):
        simulation.linearize(states=["motor1", "motor2"])
    with pytest.raises(SimulationError, match="joint 'ball2' is cut"):
        simulation.linearize(states=["motor1", "motor2", "ball2"])
    with pytest.raises(SimulationError, match="no input 'engine'; known: motor1, motor2, motor3"):
        simulation.linearize(inputs=["engine"])
    simulation.put(replace(simulation.state, q=simulation.q + 0.01))
    with pytest.raises(SimulationError, match="is not assembled: its loops are open by"):
        simulation.linearize()


def test_singular_pose_is_refused():
    simulation = Simulation(five_bar(SINGULAR), compile=False)
    with pytest.raises(SimulationError, match=r"is at a kinematic singularity .*no coordinates"):
        simulation.linearize()


def test_command(tmp_path, capsys):
    assert main(["linearize", "stewart", "--hold", "--plot", str(tmp_path / "p.png"), "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["verdict"] == "unstable" and len(data["A"]) == 6
    assert (tmp_path / "p.png").stat().st_size > 10_000
    assert main(["linearize", "stewart", "--states", "motor1,nothing"]) == 2
    assert "no joint 'nothing'" in capsys.readouterr().err
    (tmp_path / "bad.json").write_text("[1]")
    assert main(["linearize", "stewart", "--at", str(tmp_path / "bad.json")]) == 2
    assert "is no pose" in capsys.readouterr().err


def test_command_at_a_moving_state(tmp_path, capsys):
    """Coordinates, speeds and inputs of a file are those of the linear model."""
    state = tmp_path / "state.json"
    speeds = {"motor1": 0.3, "motor2": [-0.2], "motor3": 0.1}
    given = {"coordinates": {"motor1": [0.1]}, "speeds": speeds, "inputs": {"motor2": 5.0}}
    state.write_text(json.dumps(given))
    assert main(["linearize", "stewart", "--at", str(state), "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    simulation = Simulation("stewart", compile=False)
    take_pose(simulation, str(state))
    assert simulation.accelerations()[0].any()
    v = {name: simulation.state.v[simulation.tree.v[name]][0] for name in speeds}
    assert v == pytest.approx({"motor1": 0.3, "motor2": -0.2, "motor3": 0.1}, abs=1e-12)
    assert np.abs(simulation.closure()[1] @ simulation.state.v).max() < 1e-12
    assert np.array(data["A"]) == pytest.approx(simulation.linearize().A, abs=1e-12)
    assert not data["at_rest"]
    assert main(["linearize", "stewart", "--at", str(state)]) == 0
    assert "not at rest (hinge3 moves: -0.314" in capsys.readouterr().out
    given["speeds"] = {"motor1": 0.3, "hinge1": 1.0, "motor2": 0.0, "motor3": 0.0, "hinge2": 0.0}
    state.write_text(json.dumps(given))
    assert main(["linearize", "stewart", "--at", str(state)]) == 2
    assert "state.json': the loops do not allow the speeds of motor1, hinge1" in capsys.readouterr().err
    for wrong, words in (
        ({"speeds": {"ball2": [0, 1]}}, "joint 'ball2' takes 3 finite speeds"),
        ({"speeds": {"motor1": [1, 2]}}, "joint 'motor1' takes 1 finite speeds"),
        ({"coordinates": {"ball1": [1, 0]}}, "joint 'ball1' takes 4 finite coordinates"),
        ({"inputs": {"motor1": [1, 2]}}, "state.json': input 'motor1' takes one number"),
        ({"inputs": {"engine": 1}}, "there is no input 'engine'"),
    ):
        state.write_text(json.dumps(wrong))
        assert main(["linearize", "stewart", "--at", str(state)]) == 2
        error = capsys.readouterr().err
        assert words in error and "Traceback" not in error


def test_given_speeds_are_counted_as_the_user_counts_them(tmp_path):
    """A ball that the tree passes from child to parent: its speed comes back as it was given."""
    body = Body("a", 1.0, (0.1, 0.0, 0.0), (1.0, 2.0, 2.5, 0.0, 0.0, 0.0))
    ball = Joint("ball", "spherical", "a", "ground", start=(0.8, 0.6, 0.0, 0.0))
    simulation = Simulation(Mechanism("reversed", (body,), (ball,)), compile=False)
    assert simulation.tree.links[0].reverse
    state = tmp_path / "state.json"
    state.write_text(json.dumps({"speeds": {"ball": [1.0, -2.0, 3.0]}}))
    take_pose(simulation, str(state))
    assert simulation.outputs()["joint.ball.velocity"] == pytest.approx([1.0, -2.0, 3.0], abs=1e-12)
