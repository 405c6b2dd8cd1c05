"""Driven motions: motors whose input is a position, velocity or acceleration."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from cutjoint import Simulation
from cutjoint.model.base.errors import AssemblyError, CutjointError
from cutjoint.model.describe.mechanism import Mechanism
from cutjoint.model.describe.motors import MOTIONS, Motor
from cutjoint.model.design.eigenvalue_sensitivity import eigenvalue_sensitivities
from cutjoint.model.design.propagate import propagate
from cutjoint.model.design.sensitivity import motion_sensitivities, sensitivities
from cutjoint.model.laws import sine
from cutjoint.model.loading import load
from cutjoint.model.run.assembly import consistent_speeds
from cutjoint.model.run.equilibrium import hold
from cutjoint.model.run.steppers import STEPPERS


def driven(
    name: str, drive: str = "position", cut: tuple[str, ...] = (), kept: tuple[str, ...] = ()
) -> Mechanism:
    """An example whose motors drive motions, without limits, cut elsewhere."""
    m = load(name)
    joints = (replace(j, cut=True if j.name in cut else None if j.name in kept else j.cut) for j in m.joints)
    motors = (replace(motor, drive=drive, limit=np.inf) for motor in m.motors)
    return replace(m, joints=tuple(joints), motors=tuple(motors))


def one_driven(joint: str = "q1", drive: str = "position") -> Mechanism:
    """The five-bar of two freedoms, one of them driven."""
    return replace(load("fivebar"), motors=(Motor("arm", joint, drive=drive),))


def test_crank_at_constant_speed_takes_the_torque_of_inverse_dynamics() -> None:
    s = Simulation(driven("slider_crank", "velocity"), compile=False)
    s.set_inputs({"crank": 2.0})
    free = Simulation("slider_crank", compile=False)
    record = ["joint.crank.velocity", "motor.crank.effort", "energy", "reaction.ball.force"]
    worst, most = 0.0, 0.0
    start = s.energy() - s.work
    for _ in range(5):
        s.run(0.1, step=2e-3, record=record)
        seen = s.outputs()
        assert seen["joint.crank.velocity"] == pytest.approx(2.0, abs=1e-12)
        free.state = replace(free.state, q=s.q.copy(), v=s.v.copy())
        torque = free.inverse_dynamics({"crank": [0.0]})
        free.set_inputs(torque)
        there = free.outputs()
        assert seen["motor.crank.effort"] == pytest.approx(torque[0], rel=1e-9)
        for joint in ("ball", "crank", "slider"):
            for what in ("force", "moment"):
                name = f"reaction.{joint}.{what}"
                assert seen[name] == pytest.approx(there[name], rel=1e-9, abs=1e-7)
        most = max(most, abs(s.work))
        worst = max(worst, abs(s.energy() - s.work - start))
    assert worst < 1e-9 * most


@pytest.mark.parametrize("drive", MOTIONS)
def test_a_drive_in_the_tree_and_at_a_cut_joint_agree(drive: str) -> None:
    tree, cut = (
        Simulation(driven("slider_crank", drive, *cuts), compile=False, start={"slider": [0.05]})
        for cuts in ((), (("crank",), ("ball",)))
    )
    assert cut.tree.cut_names == ("crank",)
    inputs = {"crank": 1.2} if drive == "acceleration" else {"crank.acceleration": 1.2}
    seen = []
    for s in (tree, cut):
        s.set_inputs(inputs)
        s.run(0.4, step=2e-3)
        seen.append(s.outputs())
    one, other = seen
    for name in ("joint.slider.position", "joint.crank.acceleration", "motor.crank.effort", "energy"):
        assert one[name] == pytest.approx(other[name], rel=1e-10, abs=1e-10), name
    for name in ("reaction.crank.moment", "reaction.crank.force", "reaction.ball.force"):
        assert one[name] == pytest.approx(other[name], rel=1e-9, abs=1e-8), name


@pytest.mark.parametrize("drive", MOTIONS)
def test_fixed_variable_and_local_runs_follow_the_same_motion(drive: str) -> None:
    ends = []
    for method in ("fixed", "variable", "local"):
        s = Simulation(one_driven(drive=drive), compile=False)
        s.set_inputs({"arm": 0.5} if drive == "acceleration" else {"arm.acceleration": 0.5})
        before = s.outputs()["joint.q1.position"]
        s.run(0.1, step=1e-3, method=method, tolerance=1e-11)
        after = s.outputs()
        assert after["joint.q1.position"] - before == pytest.approx(0.5 * 0.5 * 0.01, abs=1e-10)
        ends.append(np.array([after[f"joint.q{k}.{w}"] for k in (2, 3) for w in ("position", "velocity")]))
    for end in ends[1:]:
        assert end == pytest.approx(ends[0], abs=1e-8)


def test_laws_drive_motions_with_their_derivatives() -> None:
    """A motion by a law: the joint is where the law says, and what moves along agrees between solvers."""
    ends = []
    for method in ("fixed", "variable", "local"):
        s = Simulation(one_driven(), compile=False)
        law = sine(0.2, 2.0, offset=float(s.u[0]))
        seen = s.run(
            0.1, method=method, tolerance=1e-11, inputs={"arm": law}, record=["joint.*.position", "energy"]
        )
        assert seen["joint.q1.position"] == pytest.approx([law.evaluate(t)[0] for t in seen.time], abs=1e-12)
        assert s.outputs()["joint.q1.acceleration"] == pytest.approx(law.evaluate(0.1)[2], abs=1e-9)
        assert seen.judgement.imbalance < 1e-8
        ends.append(s.q)
    assert ends[1] == pytest.approx(ends[2], abs=1e-9)
    assert ends[0] == pytest.approx(ends[1], abs=1e-8)


def undriven() -> Callable[[np.ndarray], np.ndarray]:
    """(q2, s, ṡ, v2, s̈) → rate of q2, its acceleration, and the torque at q1: found by Newton's law alone.

    Accelerations of the five-bar without a drive are affine in the torque, which gives q1 that of the drive.
    """
    sim = Simulation(replace(one_driven(), motors=(Motor("arm", "q1"),)), compile=False)

    def f(x: np.ndarray) -> np.ndarray:
        q2, s, ds, v2, dds = x
        sim.assemble({"q1": [s], "q2": [q2]})
        v = consistent_speeds(sim.engine, sim.state, {"q1": [ds], "q2": [v2]})
        sim.state = replace(sim.state, v=v)
        values = []
        for torque in (0.0, 1.0):
            sim.set_inputs([torque])
            out = sim.outputs()
            values.append([out["joint.q1.acceleration"], out["joint.q2.acceleration"]])
        slope = np.subtract(values[1], values[0])
        torque = (dds - values[0][0]) / slope[0]
        return np.array([v2, values[0][1] + torque * slope[1], torque])

    return f


def test_linear_model_has_the_motion_and_its_derivatives_as_inputs() -> None:
    s = Simulation(one_driven(), compile=False)
    at = {"arm": s.u[0], "arm.velocity": 0.7, "arm.acceleration": -0.4}
    s.set_inputs(at)
    model = s.linearize(states=["q2"], outputs=["motor.arm.effort"])
    assert model.inputs == ("arm", "arm.velocity", "arm.acceleration")
    out = s.outputs()
    x = np.array(
        [out["joint.q2.position"], s.u[0], out["joint.q1.velocity"], out["joint.q2.velocity"], s.u[2]]
    )

    f = undriven()
    h = 1e-4
    table = []
    for k in range(5):
        e = h * np.eye(5)[k]
        table.append((8 * (f(x + e) - f(x - e)) - (f(x + 2 * e) - f(x - 2 * e))) / (12 * h))
    slopes = np.array(table).T  # rows: rate of q2, its acceleration, torque; columns: q2, s, ṡ, v2, s̈
    assert np.vstack([model.A, model.C]) == pytest.approx(slopes[:, [0, 3]], rel=1e-7, abs=1e-7)
    assert np.vstack([model.B, model.D]) == pytest.approx(slopes[:, [1, 2, 4]], rel=1e-7, abs=1e-7)


def test_two_drives_on_one_freedom_are_named() -> None:
    m = load("fourbar")
    motors = (Motor("front", "crank_pin", drive="position"), Motor("rear", "ground_pin", drive="velocity"))
    with pytest.raises(
        AssemblyError, match="motors 'front' and 'rear' of 'fourbar' drive the same degree of freedom"
    ):
        Simulation(replace(m, motors=motors), compile=False)
    motors = (motors[0], replace(motors[1], drive="acceleration"))
    with pytest.raises(AssemblyError, match="'front' and 'rear'"):
        Simulation(replace(m, motors=motors), compile=False)


def test_driven_freedoms_are_counted_apart() -> None:
    found = Simulation(one_driven(), compile=False).topology()
    assert (found.mobility, found.driven, found.redundant) == (
        1,
        1,
        Simulation("fivebar").topology().redundant,
    )


def test_a_motion_out_of_reach_is_refused_and_nothing_moves() -> None:
    m = replace(load("fourbar"), motors=(Motor("rear", "ground_pin", drive="position"),))
    s = Simulation(m, compile=False)
    before = s.state
    with pytest.raises(AssemblyError, match="can't reach what 'rear' commands"):
        s.set_inputs({"rear": s.u[0] + 2.5})
    assert s.state == before


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"drive": "speed"}, "must be torque, position, velocity or acceleration, not 'speed'"),
        ({"drive": "position", "limit": 3.0}, "with whatever torque that takes"),
        (
            {"drive": "velocity", "joint": "universal"},
            "has 2 degrees of freedom; a motor needs a joint with exactly one",
        ),
    ],
)
def test_bad_drives_get_one_sentence(change: dict, told: str) -> None:
    m = load("slider_crank")
    with pytest.raises(CutjointError, match=told) as problem:
        Simulation(replace(m, motors=(replace(m.motors[0], **change),)))
    assert str(problem.value).count("\n") == 0


@pytest.mark.parametrize("by_law", [False, True])
def test_the_implicit_step_follows_with_its_third_order(by_law: bool) -> None:
    def end(stepper: str, h: float) -> np.ndarray:
        s = Simulation(one_driven(), compile=False, stepper=stepper, substeps=1)
        law = sine(0.1, 2.0, offset=float(s.u[0]))
        s.set_inputs({"arm.velocity": -0.3, "arm.acceleration": 0.8})
        s.run(0.16, h, inputs={"arm": law} if by_law else None)
        where = law.evaluate(0.16)[0] if by_law else law.evaluate(0)[0] - 0.3 * 0.16 + 0.4 * 0.16**2
        assert s.outputs()["joint.q1.position"] == pytest.approx(where, abs=1e-12)
        return np.array([*s.q, *s.v, s.work])

    exact = end("runge_kutta", 5e-4)
    errors = [np.abs(end("implicit", h) - exact).max() for h in (8e-3, 4e-3)]
    assert errors[1] < 1e-3 and 6 < errors[0] / errors[1] < 10


def test_methods_without_driven_motions_say_so() -> None:
    with pytest.raises(CutjointError, match="implicit step does not know 'drive: acceleration'"):
        Simulation(driven("fourbar", "acceleration"), stepper="implicit", compile=False).step(1e-3)
    s = Simulation(driven("slider_crank", "velocity"), compile=False)
    with pytest.raises(CutjointError, match="which sensitivities of eigenvalues do not know"):
        eigenvalue_sensitivities(s, "body.rod.mass")


@pytest.mark.study
def test_hexapod_moves_its_platform_along_a_path() -> None:
    """Leg lengths by geometry alone; the platform is then where they were computed for."""
    m = driven("hexapod")
    s = Simulation(m, compile=False)
    feet = [j.on_parent.position for j in m.joints if j.name.startswith("foot")]
    start = s.outputs()

    def legs(t: float, order: int = 0) -> np.ndarray:
        h = 1e-3
        if order:
            return (legs(t + h, order - 1) - legs(t - h, order - 1)) / (2 * h)
        shift = np.array([0.05 * np.sin(2 * t), 0.03 * (1 - np.cos(3 * t)), 0.02 * np.sin(t) ** 2])
        return np.array(
            [
                np.linalg.norm(tops[k] + shift - np.array(feet[k]))
                - np.linalg.norm(tops[k] - np.array(feet[k]))
                for k in range(6)
            ]
        )

    poses = s.joint_positions()
    tops = [poses[f"ball{k}"][0] for k in range(1, 7)]
    for n in range(50):
        t = n * 4e-3
        values = {}
        for k, (x, dx, ddx) in enumerate(zip(*(legs(t, order) for order in range(3)), strict=True)):
            values |= {
                f"leg{k + 1}": s._initial.u[3 * k] + x,
                f"leg{k + 1}.velocity": dx,
                f"leg{k + 1}.acceleration": ddx,
            }
        s.set_inputs(values)
        s.step(4e-3)
    s.set_inputs({f"leg{k + 1}": s._initial.u[3 * k] + x for k, x in enumerate(legs(0.2))})
    moved = s.outputs()["body.platform.position"] - start["body.platform.position"]
    wanted = [0.05 * np.sin(0.4), 0.03 * (1 - np.cos(0.6)), 0.02 * np.sin(0.2) ** 2]
    assert moved == pytest.approx(wanted, abs=1e-9)
    assert s.outputs()["body.platform.orientation"] == pytest.approx(
        start["body.platform.orientation"], abs=1e-9
    )


def test_unused_drives_cost_nothing() -> None:
    """A torque by name is the torque by default, operation by operation."""
    m = load("stewart")
    plain = Simulation(m, compile=False).engine
    named = Simulation(
        replace(m, motors=tuple(replace(x, drive="torque") for x in m.motors)), compile=False
    ).engine
    for name in ("dynamics", "rates", "outputs", "project_position", "project_velocity"):
        assert (
            getattr(plain.functions, name).n_instructions() == getattr(named.functions, name).n_instructions()
        )
    steps = [engine.traced(*STEPPERS["runge_kutta"].traced()).sz_w() for engine in (plain, named)]
    assert steps[0] == steps[1]


def test_holding_still_keeps_what_is_driven_where_it_is() -> None:
    """Equilibrium sets torques; a driven joint stays, its speed becomes zero."""
    m = one_driven()
    s = Simulation(replace(m, motors=(*m.motors, Motor("other", "q2"))), compile=False)
    s.set_inputs({"arm.velocity": 0.5})
    place = s.outputs()["joint.q1.position"]
    hold(s)
    assert (s.u[0], s.u[1]) == (pytest.approx(place, abs=1e-12), 0.0)
    assert np.abs(s.accelerations()[0]).max() < 1e-9


def test_designs_change_whoever_drives() -> None:
    m = driven("slider_crank", "velocity")
    assert propagate(m, {"s12": [1.95, 0.0, 0.0]}).residual < 1e-9


def test_sensitivities_of_a_driven_mechanism_are_differences_of_it() -> None:
    """Mass and length, at a state and along a motion; the motion that is told stays as it is."""
    paths = ["body.link2.mass", "joint.q3.on_parent.position[1]"]
    told = {"arm.velocity": 0.7, "arm.acceleration": -0.4}
    wanted = ["joint.q2.acceleration", "motor.arm.effort", "joint.q3.position"]
    m, h, step, count = one_driven(), 1e-4, 4e-3, 10
    s = Simulation(m, compile=False, stepper="single")
    s.set_inputs(told)
    start = s.outputs()["joint.q2.position"], s.outputs()["joint.q2.velocity"]
    here = sensitivities(s, wanted, paths, independent=["q2"])
    there = motion_sensitivities(s, count * step, wanted, paths, step, count, independent=["q2"])
    values = m.body("link2").mass, m.joint("q3").on_parent.position[0]
    for column, (path, value) in enumerate(zip(paths, values, strict=True)):
        slopes = []
        for change in (h, -h, 2 * h, -2 * h):
            other = Simulation(m, compile=False, stepper="single", parameters={path: value + change})
            other.set_inputs({"arm": s.u[0], **told})
            other.assemble({"q2": [start[0]]})
            v = consistent_speeds(other.engine, other.state, {"q2": [start[1]]})
            other.put(replace(other.state, v=v))
            rows = other.variables().outputs.rows(wanted)
            seen = [other.read(rows)]
            for _ in range(count):
                other.step(step)
            slopes.append(np.array([*seen, other.read(rows)]))
        a, b, c, d = slopes
        difference = (8 * (a - b) - (c - d)) / (12 * h)
        assert here.matrix[:, column] == pytest.approx(difference[0], rel=1e-6, abs=1e-7)
        assert there.matrix[-1, :, column] == pytest.approx(difference[1], rel=1e-6, abs=1e-7)
