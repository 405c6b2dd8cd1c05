"""Sensitivities against central differences of mechanisms built anew with the changed number."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from cutjoint import Body, Joint, Simulation, load
from cutjoint.model.base.errors import SimulationError
from cutjoint.model.describe.mechanism import Mechanism
from cutjoint.model.describe.parameters import default_vector, lookup, replace_value
from cutjoint.model.design.eigenvalue_sensitivity import eigenvalue_sensitivities
from cutjoint.model.design.sensitivity import motion_sensitivities, sensitivities
from cutjoint.model.run.equilibrium import settle
from random_mechanisms import random_loop


class Twin:
    """The same mechanism with numbers that can be set; it shares no derivative with `sensitivities`."""

    def __init__(self, mechanism: Mechanism, paths):
        self.names = {path: f"p{k}" for k, path in enumerate(paths)}
        self.mechanism = replace(mechanism, parameters={name: path for path, name in self.names.items()})
        self.simulation = Simulation(self.mechanism, compile=False)

    def at(self, path: str, change: float, q, v, u, held: list[int]) -> Simulation:
        """One number changed; the loops closed by dependent coordinates and speeds alone."""
        s = self.simulation
        p = default_vector(replace_value(self.mechanism, path, lookup(self.mechanism, path) + change))
        follow = [k for k in range(s.tree.nv) if k not in held]
        for _ in range(20):
            g, G = s.engine.closure(q, s.s, p)
            delta = np.zeros(s.tree.nv)
            delta[follow] = np.linalg.lstsq(G[:, follow], -g, rcond=1e-9)[0]
            q = s.engine.kernels.retraction(q, delta)
            if np.abs(g).max() < 1e-14:
                break
        G, v = s.engine.closure(q, s.s, p)[1], v.copy()
        v[follow] = np.linalg.lstsq(G[:, follow], -G[:, held] @ v[held], rcond=1e-9)[0]
        s.state = replace(s.state, q=q, v=v, u=np.asarray(u), p=p)
        return s

    def differences(self, path: str, size: float, read, *state) -> np.ndarray:
        """Fourth-order central difference of read(simulation)."""
        at = {k: read(self.at(path, k * size, *state)) for k in (-2, -1, 1, 2)}
        return (8 * (at[1] - at[-1]) - (at[2] - at[-2])) / (12 * size)


def values(simulation: Simulation, names) -> np.ndarray:
    found = simulation.outputs()
    return np.concatenate([np.ravel(found[name]) for name in names])


OUTPUTS = ["height", "joint.hinge1.velocity", "body.platform.velocity", "body.platform.acceleration"]
OUTPUTS += ["joint.ball2.acceleration", "reaction.ball1.force", "reaction.hinge2.moment", "energy"]
PATHS = {
    "joint.ball1.on_parent.position[3]": 1e-4,
    "joint.hinge2.on_parent.position[1]": 1e-4,
    "body.leg1.mass": 1e-2,
    "body.platform.inertia[2]": 1e-2,
    "gravity[3]": 1e-2,
}


@pytest.fixture(scope="module")
def moving():
    simulation = Simulation("stewart", compile=False)
    simulation.set_inputs([10.0, 9.0, 8.0])
    for _ in range(150):
        simulation.step(1e-3)
    return simulation


def test_platform_height_position_velocity_acceleration_and_reactions(moving):
    result = sensitivities(moving, OUTPUTS, PATHS)
    assert result.held == ("motor1", "motor2", "motor3")
    state, u = moving.state, moving.state.u
    held = [moving.tree.v[name].start for name in result.held]
    twin = Twin(moving.mechanism, PATHS)
    for k, (path, size) in enumerate(PATHS.items()):
        numeric = twin.differences(path, size, lambda s: values(s, OUTPUTS), state.q, state.v, u, held)
        assert abs(result.of("height", path) - numeric[0]) < 1e-7
        assert np.abs(result.matrix[:, k] - numeric).max() < 1e-7 * (1 + np.abs(numeric).max())
    # a longer leg lifts the platform, mass and gravity leave it where the motors hold it
    assert result.of("height", "joint.ball1.on_parent.position[3]") > 0.2
    assert result.of("height", "gravity[3]") == 0.0


def test_height_at_rest_with_the_lengthened_leg():
    """The 20 mm of the propagation example, to first order: the slope is that of re-assembly."""
    from cutjoint.model.design.propagate import propagate, stretch

    mechanism = load("stewart")
    simulation = Simulation(mechanism, compile=False)
    path = "joint.ball1.on_parent.position"
    slope = sensitivities(simulation, "height", path).of("height", path)[0]
    for by in (1e-4, -1e-4):
        change = stretch(mechanism, "leg1", by)
        moved = np.subtract(change[path], lookup(mechanism, path))
        held = ["q.motor1", "q.motor2", "q.motor3"]
        new = propagate(mechanism, change, "q", locked=held).mechanism
        rise = Simulation(new, compile=False).outputs()["height"] - simulation.outputs()["height"]
        assert abs(rise - slope @ moved) < 5e-8  # second order in 1e-4


@pytest.mark.parametrize("seed", [17, 26, 28, 37, 57])
def test_random_loops_with_balls_and_reversed_joints(seed):
    mechanism = random_loop(seed, 4)
    simulation = Simulation(mechanism, compile=False)
    state = simulation.state
    G = simulation.closure()[1]
    K = np.linalg.svd(G)[2][np.linalg.matrix_rank(G, tol=1e-7) :].T
    v = K @ np.random.default_rng(seed).normal(size=K.shape[1])
    simulation.state = replace(state, v=v)
    u = np.random.default_rng(seed).normal(size=len(simulation.inputs))
    simulation.set_inputs(u)
    cut = simulation.tree.cuts[0].name
    tree = next(iter(simulation.tree.q))
    outputs = ["body.b1.position", "body.b2.velocity", "body.b1.acceleration", f"reaction.{cut}.force"]
    paths = [f"joint.{cut}.on_child.position[1]", f"joint.{tree}.on_parent.position[2]", "body.b1.mass"]
    result = sensitivities(simulation, outputs, paths)
    held = _places(simulation, result.held)
    twin = Twin(mechanism, paths)
    for k, path in enumerate(paths):
        numeric = twin.differences(path, 1e-4, lambda s: values(s, outputs), state.q, v, u, held)
        assert np.abs(result.matrix[:, k] - numeric).max() < 1e-7 * (1 + np.abs(numeric).max()), path


def _places(simulation: Simulation, names) -> list[int]:
    places = []
    for name in names:
        joint, _, index = name.rstrip("]").partition("[")
        places.append(simulation.tree.v[joint].start + (int(index) - 1 if index else 0))
    return places


def test_held_coordinates_can_be_chosen(moving):
    path = "joint.ball1.on_parent.position[3]"
    chosen = sensitivities(moving, ["height", "joint.hinge1.position"], path, ["hinge1", "hinge2", "hinge3"])
    assert chosen.held == ("hinge1", "hinge2", "hinge3")
    assert chosen.of("joint.hinge1.position", path) == 0.0
    assert abs(chosen.of("height", path) - sensitivities(moving, "height", path).of("height", path)) > 1e-5


def test_along_a_motion_it_is_the_derivative_of_the_simulated_motion():
    mechanism = load("stewart")
    simulation = Simulation(mechanism, compile=False)
    simulation.set_inputs([10.0, 9.0, 8.0])
    paths = {"joint.ball1.on_parent.position[3]": 1e-4, "body.leg1.mass": 1e-2, "gravity[3]": 1e-3}
    outputs = ["body.platform.position", "body.platform.velocity", "reaction.motor1.force"]
    before = simulation.state
    result = motion_sensitivities(simulation, 0.1, outputs, paths, step=2e-3, every=25)
    assert simulation.state.time == before.time and np.array_equal(simulation.state.q, before.q)
    assert result.matrix.shape == (3, 9, 3) and result.time[-1] == pytest.approx(0.1)

    def end(other: Simulation) -> np.ndarray:
        for _ in range(50):
            other.step(2e-3)
        return values(other, outputs)

    held = [simulation.tree.v[name].start for name in result.held]
    start = (before.q, before.v, [10.0, 9.0, 8.0], held)
    twin = Twin(mechanism, paths)
    assert np.abs(end(twin.at("gravity[3]", 0.0, *start)) - result.values[-1]).max() < 1e-9
    for k, (path, size) in enumerate(paths.items()):
        numeric = twin.differences(path, size, end, *start)
        assert np.abs(result.matrix[-1, :, k] - numeric).max() < 1e-6 * (1 + np.abs(numeric).max()), path


def test_a_planar_loop_can_not_follow_a_number_that_leaves_the_plane():
    simulation = Simulation("fourbar", compile=False)
    cut = simulation.tree.cuts[0].name
    with pytest.raises(SimulationError, match="can't follow a change of"):
        sensitivities(simulation, "energy", f"joint.{cut}.on_child.position")


def test_the_same_question_is_traced_once(monkeypatch):
    """At other states and with other values of parameters too; each call wrote all equations anew."""
    mechanism, asked = load("fourbar"), ["body.coupler.mass", "gravity[3]", "tip"]
    mechanism = replace(mechanism, parameters={"tip": "body.rocker.com", "down": "gravity[3]"})
    simulation = Simulation(mechanism, compile=False)
    sensitivities(simulation, "energy", asked)
    motion_sensitivities(simulation, 0.01, "energy", asked)
    simulation.run(0.1)
    simulation.set_parameters(tip=[0.05, 0.0, 0.01], down=-3.7)
    built = []
    monkeypatch.setattr("cutjoint.model.compile.cache.LOG.info", lambda *what: built.append(what))
    found = sensitivities(simulation, "energy", asked)
    along = motion_sensitivities(simulation, 0.01, "energy", asked)
    assert not built
    anew = Simulation(mechanism, compile=False)
    anew.set_parameters(tip=[0.05, 0.0, 0.01], down=-3.7)
    anew.state = simulation.state
    assert np.array_equal(found.matrix, sensitivities(anew, "energy", asked).matrix)
    assert np.array_equal(along.matrix, motion_sensitivities(anew, 0.01, "energy", asked).matrix)
    assert built and found.parameters == ("body.coupler.mass", "gravity[3]", "tip[1]", "tip[2]", "tip[3]")


def test_a_vector_and_its_components_can_be_asked_for_together():
    simulation = Simulation("fourbar", compile=False)
    found = sensitivities(simulation, "energy", ["gravity[3]", "gravity", "gravity[3]"])
    assert found.parameters == ("gravity[3]", "gravity[1]", "gravity[2]", "gravity[3]", "gravity[3]")
    assert found.matrix[0, 0] == found.matrix[0, 3] == found.matrix[0, 4] != 0


@pytest.mark.parametrize(
    ("outputs", "paths", "independent", "sentence"),
    [
        ("hight", "body.leg1.mass", None, "did you mean 'height'"),
        ("body.platform.position[4]", "body.leg1.mass", None, "components 1 to 3"),
        ("height", "body.leg1.mas", None, "did you mean 'body.leg1.mass'"),
        ("height", "body.leg1.mass", ["motor1"], "has 3 degree"),
        ("height", "body.leg1.mass", ["motor9"], "there is no joint 'motor9'"),
    ],
)
def test_unknown_names_are_refused(moving, outputs, paths, independent, sentence):
    with pytest.raises(Exception, match=sentence.replace("[", r"\[")):
        sensitivities(moving, outputs, paths, independent)


@pytest.mark.parametrize("follow", [False, True])
def test_eigenvalues_move_as_the_linear_model_does(follow):
    """Independent coordinates held, or the mechanism at the equilibrium that moves with the number."""
    mechanism = load("mcpherson")
    paths = {
        "joint.tie_rod.length": 1e-4,
        "joint.arm.on_parent.position[3]": 1e-4,
        "strut.coil.stiffness": 1.0,
        "body.wheel.mass": 1e-2,
    }
    simulation = Simulation(mechanism, compile=False)
    settle(simulation)
    state, u = simulation.state, simulation.state.u
    result = eigenvalue_sensitivities(simulation, paths, ["rack", "arm"], follow)
    assert np.allclose(result.eigenvalues, simulation.linearize().eigenvalues(), atol=1e-8)
    held = _places(simulation, result.held)
    twin = Twin(mechanism, paths)

    def spectrum(other: Simulation) -> np.ndarray:
        if follow:
            settle(other)
        return other.linearize(states=["rack", "arm"]).eigenvalues()

    for k, (path, size) in enumerate(paths.items()):
        numeric = twin.differences(path, size, spectrum, state.q, state.v, u, held)
        assert np.abs(result.matrix[:, k] - numeric).max() < 1e-6 * (1 + np.abs(numeric).max()), path


def test_a_mechanism_in_motion_has_no_equilibrium_to_follow(moving):
    with pytest.raises(SimulationError, match="not at rest"):
        eigenvalue_sensitivities(moving, "body.leg1.mass", follow=True)


def test_a_repeated_eigenvalue_does_not_hide_the_others():
    """Two equal pendulums, and a third: all were refused, or arbitrary, because two are the same."""
    bodies = tuple(Body(f"b{k}", 1.0, (0.0, -length, 0.0)) for k, length in enumerate((1.0, 1.0, 0.5)))
    joints = tuple(Joint(f"j{k}", "revolute", "ground", body.name) for k, body in enumerate(bodies))
    s = Simulation(Mechanism("three", bodies, joints, gravity=(0.0, -9.81, 0.0)), compile=False)
    found = eigenvalue_sensitivities(s, "gravity[2]")
    assert found.simple.sum() == 2 and np.isnan(found.matrix[~found.simple]).all()
    for value, slope in zip(found.eigenvalues[found.simple], found.matrix[found.simple, 0], strict=True):
        assert slope == pytest.approx(-0.5 * value / 9.81)  # λ² = g₂/l
