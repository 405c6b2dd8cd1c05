"""Cartesian simulation (paper 001, Eq. 27) against the engine in joint coordinates."""

from __future__ import annotations

from dataclasses import replace

import casadi as ca
import numpy as np
import pytest
from bulk import bulk
from cutjoint import Simulation, load
from cutjoint.model.base.errors import AssemblyError, DescriptionError, SimulationError
from cutjoint.model.cartesian import CartesianSimulation, Lock, Marker, laws
from cutjoint.model.cartesian.lock import marker
from cutjoint.model.describe.mechanism import Body, Frame, Joint, Mechanism
from cutjoint.model.joints import euler
from cutjoint.model.joints.types import TYPES
from cutjoint.model.loading import read
from random_mechanisms import Maker, random_loop, random_tree
from scipy.spatial.transform import Rotation

# Crank, rod and a piston that may turn in its bore (R-S-R-C): 1 freedom, nothing redundant.
CYLINDRICAL_CRANK = """
name: cylindrical_crank
bodies:
  crank: {mass: 2, com: [0.03, 0.04, 0], inertia: [0.01, 0.01, 0.02]}
  rod: {mass: 1, com: [0.2, 0.04, 0.025], inertia: [0.02, 0.02, 0.02]}
  piston: {mass: 0.5, com: [0.35, 0, 0.05], inertia: [0.002, 0.001, 0.001]}
joints:
  bearing: {type: revolute, parent: ground, child: crank, at: [0, 0, 0], axis: z}
  pin: {type: spherical, parent: crank, child: rod, at: [0.06, 0.08, 0]}
  wrist: {type: revolute, parent: rod, child: piston, at: [0.34, 0, 0.05], axis: [0, 0.05, 0.08]}
  bore: {type: cylindrical, parent: ground, child: piston, at: [0.34, 0, 0.05], axis: x}
motors:
  drive: {joint: bearing}
"""

MECHANISMS = {  # name -> inputs for the run
    "double_pendulum": {},
    "fourbar": {"crank": 0.2},
    "stewart": {"motor1": 10.0, "motor2": 12.0, "motor3": 8.0},
    "slider_crank": {"crank": 30.0},
    "cylindrical_crank": {"drive": 0.2},
}


def mechanism(name: str) -> Mechanism:
    return read(CYLINDRICAL_CRANK) if name == "cylindrical_crank" else load(name)


@pytest.mark.parametrize("name", MECHANISMS)
def test_same_motion_and_reactions_as_in_joint_coordinates(name):
    """All of position, orientation, velocity, acceleration and reaction over 1 s, to 1e-6."""
    described = mechanism(name)
    ours = CartesianSimulation(described)
    engine = Simulation(described, compile=False)
    inputs = {key: value for key, value in MECHANISMS[name].items() if key in engine.inputs}
    assert len(inputs) == len(MECHANISMS[name])
    ours.set_inputs(inputs)
    engine.set_inputs(inputs)
    names = [n for n in ours.system.variables.named if not n.startswith("joint.")]
    cartesian = ours.run(1.0, 0.1, 1e-11, names)
    joint = engine.run(1.0, 0.1, "variable", 1e-12, names)
    assert {"body", "reaction"} <= {n.split(".")[0] for n in names}
    assert np.array_equal(cartesian.names, joint.names)
    moved = np.ptp(joint.values, axis=0).max()
    assert moved > 0.1, "something happens"
    assert np.abs(cartesian.values - joint.values).max() < 1e-6
    assert ours.residual() < 1e-9


@pytest.mark.parametrize("seed", bulk(range(8), 2))
def test_random_trees_with_every_force(seed):
    """Springs, dampers, friction, stops, rotors, struts, loads, motors: accelerations and reactions."""
    agree(random_tree(seed, bodies=3), seed, reactions=True)


@pytest.mark.parametrize("seed", bulk([0, 2, 4, 11, 15, 18], 2))
def test_random_loops_with_every_force(seed):
    described = random_loop(seed, bodies=4)
    redundant = Simulation(described, compile=False).topology().redundant
    agree(described, seed, reactions=not redundant)  # redundant rows leave reactions open


def agree(described: Mechanism, seed: int, reactions: bool) -> None:
    random = np.random.default_rng(seed)
    moving = Simulation(described, compile=False)
    v = moving.engine.kernels.project_velocity(
        moving.q, random.normal(size=moving.tree.nv), moving.s, moving.p
    )
    moving.state = replace(moving.state, v=v)
    y = moving.outputs()
    velocities = {name: y.get(f"joint.{name}.velocity", ()) for name in moving.tree.v}
    speeds = {name: tuple(np.atleast_1d(v)) for name, v in velocities.items()}
    described = replace(
        described, joints=tuple(replace(j, speed=speeds.get(j.name, ())) for j in described.joints)
    )
    engine, ours = Simulation(described, compile=False), CartesianSimulation(described)
    inputs = {name: float(random.normal()) for name in described.inputs()}
    engine.set_inputs(inputs)
    ours.set_inputs(inputs)
    expected, found = engine.outputs(), ours.outputs()
    for name, value in found.items():
        if name.startswith("reaction.") and not reactions:
            continue
        wanted = np.asarray(expected[name])
        assert np.abs(value - wanted).max(initial=0.0) < 1e-9 * (1 + np.abs(wanted).max(initial=0.0)), name


# -- motion laws -----------------------------------------------------------------------------


def driven(engine: Simulation, joint: str, angle: float, speed: float, acceleration: float):
    """The engine at the same position, speed and acceleration, by inverse dynamics: outputs and torque."""
    engine.assemble({joint: angle})
    G = engine.closure()[1]
    known = np.zeros(engine.tree.nv, bool)
    known[engine.tree.v[joint]] = True
    v = np.where(known, speed, 0.0)
    v[~known] = np.linalg.lstsq(G[:, ~known], -G[:, known] @ v[known], rcond=1e-10)[0]
    engine.state = replace(engine.state, v=v)
    torque = engine.inverse_dynamics({joint: acceleration})
    engine.set_inputs(torque)
    return engine.outputs(), torque


@pytest.mark.parametrize("name, joint", [("slider_crank", "crank"), ("cylindrical_crank", "bearing")])
def test_a_crank_at_constant_speed_takes_what_inverse_dynamics_says(name, joint):
    described = mechanism(name)
    engine = Simulation(described, compile=False)
    begin = float(engine.outputs()[f"joint.{joint}.position"])
    ours = CartesianSimulation(described, drives={joint: laws.ramp(5.0, begin)})
    assert ours.freedom() == 0
    times = np.linspace(0, 1.2, 7)
    motion = ours.kinematics(times)
    for k, t in enumerate(times):
        outputs, torque = driven(engine, joint, begin + 5 * t, 5.0, 0.0)
        for key in ours.system.variables.named:
            if key.startswith(("body.", "reaction.")):
                value, wanted = motion[key][k], outputs[key]
                if key.endswith("orientation"):
                    value = value * np.sign(value @ wanted)
                assert np.abs(value - wanted).max() < 1e-8 * (1 + np.abs(wanted).max()), (key, t)
        assert abs(motion[f"drive.{joint}"][k] - torque[0]) < 1e-8 * (1 + abs(torque[0]))


def test_accelerating_laws_and_rotors():
    """A sine on the crank of the slider-crank with a rotor on it: Q_c's second derivatives count."""
    described = load("slider_crank")
    crank = replace(described.joint("crank"), armature=(3.0,), damping=(0.4,))
    described = replace(described, joints=(crank, *(j for j in described.joints if j.name != "crank")))
    engine = Simulation(described, compile=False)
    law = laws.sine(0.7, 0.8, 0.3, 0.6)
    motion = CartesianSimulation(described, drives={"crank": law}).kinematics([0.0, 0.4, 0.9])
    for k, t in enumerate(motion.time):
        (x,), (dx,), (ddx,) = law(t)
        outputs, torque = driven(engine, "crank", x, dx, ddx)
        for key in ("reaction.crank.moment", "reaction.ball.force", "body.slider.acceleration"):
            assert np.abs(motion[key][k] - outputs[key]).max() < 1e-8 * (1 + np.abs(outputs[key]).max())
        assert abs(motion["drive.crank"][k] - torque[0]) < 1e-8 * (1 + abs(torque[0]))


def test_a_driven_run_follows_its_law():
    """Integrating (27) with the law in it ends where inverse kinematics says."""
    drives = {"pin1": laws.sine(0.3, 1.0), "pin2": laws.polynomial([0, 0, 0.2])}
    run = CartesianSimulation("double_pendulum", drives=drives).run(0.5, 0.25, 1e-11)
    kinematic = CartesianSimulation("double_pendulum", drives=drives).kinematics(run.time)
    assert np.abs(run.values - kinematic.values).max() < 1e-6


def test_one_coordinate_of_a_cylindrical_joint_can_be_driven():
    bodies = (Body("plug", 1.0, (0.1, 0, 0), (0.1, 0.1, 0.1, 0, 0, 0)),)
    described = Mechanism("plug", bodies, (Joint("bore", "cylindrical", "ground", "plug"),))
    spun = CartesianSimulation(described, drives={"bore": [laws.ramp(3.0), None]})
    assert spun.freedom() == 1
    end = spun.run(1.0, 1.0, 1e-11)
    assert abs(end["body.plug.position[3]"][-1] + 9.81 / 2) < 1e-8, "it falls freely"
    assert abs(end["body.plug.angular_velocity[3]"][-1] - 3.0) < 1e-10
    pulled = CartesianSimulation(described, drives={"bore": [None, laws.sine(0.1, 2.0)]})
    assert abs(pulled.run(0.3, 0.3)["body.plug.position[3]"][-1] - 0.1 * np.sin(1.2 * np.pi)) < 1e-9


@pytest.mark.parametrize("kind", [name for name, kind in TYPES.items() if kind.moves])
def test_joints_of_every_type_follow_laws_and_say_what_that_takes(kind):
    """Every coordinate driven: motion as told, and `drive` is what inverse dynamics asks for."""
    make, moves = Maker(5), TYPES[kind].moves
    joint = make.joint("j", kind, "ground", "b", False)
    described = Mechanism("driven", (make.body("b"),), (joint,), gravity=make.point(9))
    t = ca.SX.sym("t")
    x = ca.vertcat(1, ca.sin(t), ca.sin(2 * t), 0.3 * t)
    turning = laws.function(ca.Function("turning", [t], [x / ca.norm_2(x)]))
    given = [laws.sine(0.3 + 0.1 * k, 0.5, k) if m.plain else turning for k, m in enumerate(moves)]
    times = [0.0, 0.3, 0.7]
    ours = CartesianSimulation(described, drives={"j": given}).kinematics(times)
    engine = Simulation(described, compile=False)
    for n, time in enumerate(times):
        jets = [law(time) for law in given]
        q = np.concatenate([jet.x for jet in jets])
        # ω = 2 G ė and α = 2 G ë of Euler parameters of length one
        N = [np.eye(1) if len(jet.x) == 1 else 2 * euler.body_matrix(jet.x) for jet in jets]
        v, dv = (np.concatenate([a @ jet[k] for a, jet in zip(N, jets, strict=True)]) for k in (1, 2))
        assert np.abs(np.abs(ours["joint.j.position"][n]) - np.abs(q)).max() < 1e-10  # −e turns as e does
        assert np.abs(ours["joint.j.velocity"][n] - v).max() < 1e-9
        M, _, right, _, _ = engine.engine.kernels.coefficients(q, v, engine.z, engine.u, engine.p)
        wanted = M @ dv - right
        assert np.abs(ours["drive.j"][n] - wanted).max() < 1e-8 * (1 + np.abs(wanted).max())


def test_laws_are_counted_and_measured():
    bodies = (Body("b", 1.0, (0, 0, 0), (1, 1, 1, 0, 0, 0)),)
    described = Mechanism("b", bodies, (Joint("j", "universal", "ground", "b"),))
    for given, sentence in (
        ([laws.ramp(1.0)], r"joint 'j' \(universal\) takes 2 motion laws, not 1"),
        ([laws.ramp(1.0), None], r"joint 'j' \(universal\) needs a motion law for every coordinate"),
        ([laws.ramp(1.0), laws.ramp([1.0, 2.0])], "must give 1 numbers, not 2"),
    ):
        with pytest.raises(DescriptionError, match=sentence):
            CartesianSimulation(described, drives={"j": given})
    rigid = replace(described, joints=(Joint("j", "fixed", "ground", "b"),))
    with pytest.raises(DescriptionError, match=r"joint 'j' \(fixed\) can't follow a motion law"):
        CartesianSimulation(rigid, drives={"j": laws.ramp(1.0)})


def test_a_lock_leads_a_body_along_a_trajectory():
    """The tip of a double pendulum follows a path: a marker with a law of its own, two rows kept."""
    pendulum = load("double_pendulum")
    bent = {"pin1": 0.5, "pin2": -1.2}
    tip = laws.constant((0.3, 0.1, 0.0))
    engine = Simulation(pendulum, compile=False, start=bent)
    A, r = engine.body_poses()["bar2"]
    x, _, z = A @ (0.3, 0.1, 0.0) + r
    t = ca.SX.sym("t")
    path = ca.vertcat(x - 0.1 * t, 0.0, z + 0.05 * ca.sin(3 * t))
    law = laws.function(ca.Function("path", [t], [path]))
    hand = Lock("hand", "bar2", "ground", Marker(tip), Marker(law), mask="xz")
    assert CartesianSimulation(pendulum).freedom() == 2
    ours = CartesianSimulation(pendulum, locks=[hand], start=bent)
    assert ours.freedom() == 0
    run = ours.run(0.4, 0.1, 1e-11)
    motion = CartesianSimulation(pendulum, locks=[hand], start=bent).kinematics(run.time)
    assert np.abs(run.values - motion.values).max() < 1e-6
    for k, at in enumerate(run.time):
        w, *v = run["body.bar2.orientation"][k]
        where = Rotation.from_quat([*v, w]).apply((0.3, 0.1, 0.0)) + run["body.bar2.position"][k]
        assert np.abs(where[[0, 2]] - np.array(ca.Function("p", [t], [path])(at))[[0, 2], 0]).max() < 1e-9
    force = run["reaction.hand.force"]
    assert np.abs(force[:, 1]).max() < 1e-8 < np.abs(force).max(), "no force along the row left out"


def test_baumgarte_brings_a_disturbed_pose_back():
    def residual(baumgarte):
        ours = CartesianSimulation("double_pendulum", baumgarte=baumgarte)
        ours.q[7] += 1e-3
        ours.run(1.0, 1.0, 1e-8)
        return ours.residual()

    assert residual((10.0, 10.0)) < 1e-5
    assert residual((0.0, 0.0)) > 5e-4


def test_euler_parameters_stay_at_length_one():
    ours = CartesianSimulation("double_pendulum")
    motion = ours.run(0.5, 0.1, 1e-6)
    for body in ours.system.at:
        assert np.abs(np.linalg.norm(motion[f"body.{body}.orientation"], axis=1) - 1).max() < 1e-14


def test_the_starting_pose_obeys_the_law():
    ours = CartesianSimulation("fourbar", drives={"crank_pin": laws.ramp(2.0, 1.1)})
    assert ours.residual() < 1e-12
    assert abs(ours.outputs()["joint.crank_pin.position"] - 1.1) < 1e-12
    assert abs(ours.outputs()["joint.crank_pin.velocity"] - 2.0) < 1e-12


# -- mistakes --------------------------------------------------------------------------------


def test_a_law_that_turns_nan_names_itself_and_its_joint():
    t = ca.SX.sym("t")
    root = laws.function(ca.Function("root", [t], [ca.if_else(t < 0.25, t, ca.sqrt(-1 - t))]))
    ours = CartesianSimulation("fourbar", drives={"crank_pin": root})
    with pytest.raises(SimulationError, match="motion law 'root of joint crank_pin' gives nan"):
        ours.run(1.0, 0.1)
    ours = CartesianSimulation("fourbar", drives={"crank_pin": root})
    with pytest.raises(SimulationError, match="motion law 'root of joint crank_pin' gives nan"):
        ours.kinematics([0.1, 0.5])


def test_laws_that_leave_freedom_are_refused():
    with pytest.raises(SimulationError, match="leave 'double_pendulum' 1 degree of freedom"):
        CartesianSimulation("double_pendulum", drives={"pin1": laws.ramp(0.1)}).kinematics([0.1])


def test_laws_that_the_loop_can_not_follow_are_refused():
    described = load("fourbar")
    both = {"crank_pin": laws.ramp(1.0), "ground_pin": laws.ramp(1.0)}
    ours = CartesianSimulation(described, drives=both)
    with pytest.raises(AssemblyError, match="'fourbar' can't follow its motion laws at t = "):
        ours.kinematics([0.5])


def test_names_are_checked():
    with pytest.raises(DescriptionError, match="there is no joint named 'crnk'"):
        CartesianSimulation("fourbar", drives={"crnk": laws.ramp(1.0)})
    with pytest.raises(DescriptionError, match="a lock names the body 'hand'"):
        CartesianSimulation("fourbar", locks=[Lock("l", "hand", "ground")])
    with pytest.raises(DescriptionError, match="two joints or locks are named 'crank_pin'"):
        CartesianSimulation("fourbar", locks=[Lock("crank_pin", "crank", "ground", marker(Frame()))])
    with pytest.raises(SimulationError, match="there is no output"):
        CartesianSimulation("fourbar").run(0.1, record=["body.crank.colour"])
    with pytest.raises(SimulationError, match="takes finite values for its inputs"):
        CartesianSimulation("fourbar").set_inputs({"crank": float("nan")})


def test_a_body_without_inertia_that_can_spin_is_refused():
    ball = Mechanism("ball", (Body("bead", 1.0, (0.1, 0, 0)),), (Joint("j", "spherical", "ground", "bead"),))
    with pytest.raises((SimulationError, AssemblyError), match="inertia"):
        CartesianSimulation(ball).run(0.1)
