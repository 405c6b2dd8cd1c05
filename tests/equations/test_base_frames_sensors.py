"""Ports: a base that moves, frames with wrenches and motions, sensors; each against a formula of its own."""

from dataclasses import replace

import numpy as np
import pytest
from cutjoint import Simulation
from cutjoint.model.base.errors import CutjointError, SimulationError
from cutjoint.model.describe.elements import Load, Strut
from cutjoint.model.describe.mechanism import Body, Frame, Joint, Mechanism
from cutjoint.model.describe.motors import Motor
from cutjoint.model.describe.sensors import Sensor
from cutjoint.model.describe.visuals import NamedFrame
from cutjoint.model.loading import load
from cutjoint.model.run.equilibrium import hold
from cutjoint.model.run.steppers import STEPPERS
from cutjoint.native.variable_layout import plan
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

HALF = 0.5**0.5
ABOUT_Y = Frame(orientation=(HALF, -HALF, 0.0, 0.0))
TURNED = (0.9, 0.1, -0.3, 0.3)
GRAVITY = np.array([0.0, 0.0, -9.81])


def pendulum(base: tuple[str, ...]) -> Mechanism:
    """A point on a thread of 0.7 m that swings in the plane of x and z."""
    pin = Joint("pin", "revolute", "ground", "bob", ABOUT_Y, ABOUT_Y, start=(0.3,))
    return Mechanism("pendulum", (Body("bob", 2.0, (0.0, 0.0, -0.7)),), (pin,), base=base)


def test_pendulum_on_an_accelerated_base_swings_about_the_apparent_vertical() -> None:
    """φ̈ = −(g sin φ − a cos φ)/l, and its energy integral in the base's own frame is the closed form."""
    s = Simulation(pendulum(("surge", "heave")), compile=False)
    ax, az = 2.0, 1.5
    s.set_inputs({"base_surge.acceleration": ax, "base_heave.acceleration": az})
    seen = s.run(1.0, method="variable", record=["joint.pin.*", "body.base.position"], tolerance=1e-12)
    phi, rate = seen["joint.pin.position"], seen["joint.pin.velocity"]
    g, tilt = np.hypot(9.81 + az, ax), np.arctan2(ax, 9.81 + az)
    closed = 2 * g / 0.7 * (np.cos(phi - tilt) - np.cos(0.3 - tilt))  # φ̇² of a pendulum under g at that tilt
    assert rate**2 == pytest.approx(closed, abs=1e-9)
    assert seen["body.base.position"][-1] == pytest.approx([ax / 2, 0, az / 2], abs=1e-12)
    other = solve_ivp(
        lambda _, y: [y[1], -g * np.sin(y[0] - tilt) / 0.7],
        (0, 1),
        [0.3, 0],
        method="DOP853",
        rtol=1e-13,
        atol=1e-13,
    )
    assert phi[-1] == pytest.approx(other.y[0, -1], abs=1e-9)
    assert seen.judgement.imbalance < 1e-9 * seen.judgement.scale


@pytest.mark.study
def test_hexapod_on_a_rolling_base_holds_its_platform_level() -> None:
    """Leg lengths from the rolled feet to the balls of a platform that stays: geometry alone."""
    m = load("hexapod")
    motors = tuple(replace(motor, drive="position", limit=np.inf) for motor in m.motors)
    s = Simulation(replace(m, motors=motors, base=("roll",)), compile=False)
    start, points = s.outputs(), s.joint_positions()
    begin = dict(zip(s.inputs, s.u, strict=True))

    def legs(t: float, order: int = 0) -> np.ndarray:
        if order:
            return (legs(t + 1e-3, order - 1) - legs(t - 1e-3, order - 1)) / 2e-3
        turn = Rotation.from_euler("x", 0.08 * np.sin(3 * t)).as_matrix()
        return np.array(
            [
                np.linalg.norm(points[f"ball{k}"][0] - turn @ points[f"foot{k}"][0])
                - np.linalg.norm(points[f"ball{k}"][0] - points[f"foot{k}"][0])
                for k in range(1, 7)
            ]
        )

    for t in np.arange(0, 0.2, 5e-3):
        roll = 0.08 * np.array([np.sin(3 * t), 3 * np.cos(3 * t), -9 * np.sin(3 * t)])
        told = dict(zip(("base_roll", "base_roll.velocity", "base_roll.acceleration"), roll, strict=True))
        for k, (x, v, a) in enumerate(zip(legs(t), legs(t, 1), legs(t, 2), strict=True), start=1):
            told |= {f"leg{k}": begin[f"leg{k}"] + x, f"leg{k}.velocity": v, f"leg{k}.acceleration": a}
        s.set_inputs(told)
        now = s.outputs()
        assert now["body.platform.position"] == pytest.approx(start["body.platform.position"], abs=1e-9)
        assert now["body.platform.orientation"] == pytest.approx(start["body.platform.orientation"], abs=1e-9)
        s.step(5e-3)
    assert abs(s.outputs()["joint.base_roll.position"]) > 0.03


def with_frames(*frames: NamedFrame, **more: object) -> Mechanism:
    m = load("slider_crank")
    return replace(m, frames=frames, joints=tuple(replace(j, damping=(0.5,) * 0) for j in m.joints), **more)


@pytest.mark.parametrize("axes", ["world", "body"])
def test_a_wrench_input_is_the_constant_load_it_equals(axes: str) -> None:
    at, force, torque = (-1.0, 0.1, 0.2), (3.0, -40.0, 12.0), (0.3, 0.2, -1.0)
    loaded = replace(load("slider_crank"), loads=(Load("push", "rod", at, force, torque, axes),))
    frame = NamedFrame("tool", "rod", at, TURNED, port="force", axes=axes)
    one, other = Simulation(loaded, compile=False), Simulation(with_frames(frame), compile=False)
    other.set_inputs(
        {"tool.force[1]": 3.0, "tool.force[2]": -40.0, "tool.force[3]": 12.0, "tool.torque": torque}
    )
    for s in (one, other):
        s.run(0.3)
    assert other.q == pytest.approx(one.q, abs=1e-12)
    assert other.v == pytest.approx(one.v, abs=1e-12)
    assert other.work == pytest.approx(one.work, rel=1e-12)


def test_a_wrench_may_be_told_in_the_axes_of_another_frame() -> None:
    turned = NamedFrame("bench", "ground", (0.0, 0.0, 0.0), TURNED)
    tool = NamedFrame("tool", "rod", (-1.0, 0.1, 0.2), port="force", axes="bench")
    s = Simulation(with_frames(turned, tool), compile=False)
    w, *xyz = TURNED
    R = Rotation.from_quat([*xyz, w]).as_matrix()
    s.set_inputs({"tool.force": [1.0, 2.0, 3.0]})
    turned_force = R @ [1.0, 2.0, 3.0]
    here = s.outputs()
    other = Simulation(with_frames(replace(tool, axes="world")), compile=False)
    other.set_inputs({"tool.force": turned_force})
    assert here["joint.crank.acceleration"] == pytest.approx(
        other.outputs()["joint.crank.acceleration"], rel=1e-12
    )


def measured() -> Mechanism:
    """The slider-crank in motion, with every kind of sensor."""
    frames = (
        NamedFrame("imu", "rod", (-1.0, 0.1, 0.2), TURNED, port="motion"),
        NamedFrame("bench", "ground", (0.5, 0.2, -0.3), TURNED, port="motion"),
        NamedFrame("load_cell", "rod", (-2.5, 0.0, 0.1), TURNED),
    )
    sensors = (
        Sensor("inertial", "imu", frame="imu"),
        Sensor("cell", "wrench", frame="load_cell", joint="universal"),
        Sensor("wire", "distance", frame="bench", to="imu"),
        Sensor("tilt", "angle", frame="bench", to="imu"),
        Sensor("passive", "encoder", joint="ball"),
    )
    return with_frames(*frames, sensors=sensors)


def test_sensors_measure_what_positions_and_newton_say() -> None:
    s = Simulation(measured(), compile=False)
    s.set_inputs([200.0])
    s.run(0.2)
    now, h = s.outputs(), 1e-3
    places = {0: now}
    start = s.state
    for k in (1, 2, -1, -2):
        s.state = start if k > 0 else replace(start, v=-start.v)  # back in time: forces without losses
        for _ in range(abs(k)):
            s.step(h)
        places[k] = s.outputs()
    s.state = start

    def second(name: str) -> np.ndarray:
        p = {k: np.asarray(places[k][name]) for k in places}
        return (-p[2] + 16 * p[1] - 30 * p[0] + 16 * p[-1] - p[-2]) / (12 * h**2)

    def first(name: str) -> np.ndarray:
        p = {k: np.asarray(places[k][name]) for k in places}
        return (8 * (p[1] - p[-1]) - (p[2] - p[-2])) / (12 * h)

    def axes(name: str) -> np.ndarray:
        w, *xyz = now[name]
        return Rotation.from_quat([*xyz, w]).as_matrix()

    R = axes("frame.imu.orientation")
    a = second("frame.imu.position")
    assert now["frame.imu.acceleration"] == pytest.approx(a, abs=1e-7)
    assert now["frame.imu.velocity"] == pytest.approx(first("frame.imu.position"), abs=1e-8)
    assert now["sensor.inertial.specific_force"] == pytest.approx(R.T @ (a - GRAVITY), abs=1e-7)
    w0, x0, y0, z0 = now["frame.imu.orientation"] * [1, -1, -1, -1]
    dw, dx, dy, dz = first("frame.imu.orientation")
    vector, rate = np.array([x0, y0, z0]), np.array([dx, dy, dz])
    omega = 2 * (w0 * rate + dw * vector + np.cross(vector, rate))  # 2 e* ė: ω in the frame's axes
    assert now["sensor.inertial.angular_rate"] == pytest.approx(omega, abs=1e-7)
    d = now["frame.imu.position"] - now["frame.bench.position"]
    assert now["sensor.wire.distance"] == pytest.approx(np.linalg.norm(d), abs=1e-12)
    turn = Rotation.from_matrix(axes("frame.bench.orientation").T @ R).magnitude()
    assert now["sensor.tilt.angle"] == pytest.approx(turn, abs=1e-9)
    assert now["sensor.passive.position"] == pytest.approx(now["joint.ball.position"], abs=1e-15)

    # Newton and Euler for the rod, cut free at both joints: the load cell carries what the ball does not
    rod = s.mechanism.body("rod")
    body = Rotation.from_quat([*now["body.rod.orientation"][1:], now["body.rod.orientation"][0]]).as_matrix()
    com = now["body.rod.position"] + body @ rod.com
    w, dw = now["body.rod.angular_velocity"], now["body.rod.angular_acceleration"]
    arm = body @ rod.com
    a = second("body.rod.position") + np.cross(dw, arm) + np.cross(w, np.cross(w, arm))
    inertia = body @ np.diag(rod.inertia[:3]) @ body.T
    ball = now["reaction.ball.force"]
    at_ball = s.joint_positions()["ball"][1]
    force = rod.mass * (a - GRAVITY) - ball
    about = inertia @ dw + np.cross(w, inertia @ w) - np.cross(at_ball - com, ball)
    cell = now["body.rod.position"] + body @ [-2.5, 0.0, 0.1]
    w_, *xyz = TURNED
    R = body @ Rotation.from_quat([*xyz, w_]).as_matrix()
    assert now["sensor.cell.force"] == pytest.approx(R.T @ force, rel=1e-7, abs=1e-5)
    torque = about + np.cross(com - cell, force)
    assert now["sensor.cell.torque"] == pytest.approx(R.T @ torque, rel=1e-7, abs=1e-5)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"frames": (NamedFrame("a", "ground", port="force"),)}, "a force on ground does nothing"),
        (
            {"frames": (NamedFrame("a", "rod", port="force", axes="b"),)},
            "axes must be world, body or a frame",
        ),
        ({"frames": (NamedFrame("a", "rod", axes="body"),)}, "are those of a wrench on the frame"),
        ({"sensors": (Sensor("x", "imu"),)}, "needs the field 'frame'"),
        (
            {
                "sensors": (Sensor("x", "encoder", joint="crank", frame="a"),),
                "frames": (NamedFrame("a", "rod"),),
            },
            "of type encoder has no 'frame'",
        ),
        (
            {"sensors": (Sensor("x", "smell"),)},
            "must be imu, wrench, distance, angle or encoder, not 'smell'",
        ),
        ({"base": ("heave", "jump")}, "base has no 'jump'"),
        ({"base": ("heave",), "motors": (Motor("base_heave", "crank"),)}, "needed for the moving base"),
    ],
)
def test_bad_ports_get_one_sentence(change: dict, told: str) -> None:
    with pytest.raises(CutjointError, match=told) as problem:
        Simulation(replace(load("slider_crank"), **change), compile=False)
    assert "\n" not in str(problem.value)


def test_ports_cost_nothing_where_they_are_not_used() -> None:
    """A frame without a port, and a base that stands, leave every operation as it was."""
    m = load("slider_crank")
    plain = Simulation(m, compile=False).engine
    other = Simulation(replace(m, frames=(NamedFrame("tool", "rod"),)), compile=False).engine
    for name in ("dynamics", "rates", "outputs", "project_position", "project_velocity"):
        assert (
            getattr(plain.functions, name).n_instructions() == getattr(other.functions, name).n_instructions()
        )
    steps = [engine.traced(*STEPPERS["runge_kutta"].traced()).sz_w() for engine in (plain, other)]
    assert steps[0] == steps[1]


def test_what_a_motor_gives_is_an_output_beside_what_was_asked_of_it() -> None:
    """Torque of a limited motor, force of a limited cylinder; the motion is that of the limit."""
    m = load("slider_crank")
    ram = Strut("ram", "ground", "rod", (0.0, 0.0, 1.0), actuated=True, limit=4.0)
    limited = replace(m, motors=tuple(replace(x, limit=0.5) for x in m.motors), struts=(ram,))
    s = Simulation(limited, compile=False)
    name = m.motors[0].name
    held = s.state
    s.set_inputs({name: 3.0, "ram": -9.0})
    y = s.outputs()
    assert (y[f"input.{name}"], y["input.ram"]) == (3.0, -9.0)
    assert (y[f"motor.{name}.effort"], y["strut.ram.effort"]) == (0.5, -4.0)
    asked = s.accelerations()[0]
    s.state = held
    s.set_inputs({name: 0.5, "ram": -4.0})
    assert np.array_equal(s.accelerations()[0], asked)
    s.set_inputs({name: 0.2})
    assert s.outputs()[f"motor.{name}.effort"] == 0.2
    with pytest.warns(UserWarning, match=rf"input.{name} is the command, motor.{name}.effort what it gave"):
        s.run(2e-3, 1e-3, inputs={name: 3.0})


def test_no_name_stands_twice_in_an_fmu_of_a_dc_motor() -> None:
    m = load("slider_crank")
    dc = Motor("dc", m.motors[0].joint, resistance=0.4, torque_constant=0.05, supply=48.0)
    names = [v.name for v in plan(replace(m, motors=(dc,))).variables]
    assert len(set(names)) == len(names)
    assert {"motor.dc.wanted_voltage", "motor.dc.voltage", "motor.dc.effort"} <= set(names)


def pushed_arm(limit: float = np.inf, **motor: object) -> Mechanism:
    """A rod of 1 m and 2 kg out along x, a motor at its root, a wrench at its tip."""
    root = Joint("root", "revolute", "ground", "rod", ABOUT_Y, ABOUT_Y)
    drive = Motor("drive", "root", limit, **motor)  # type: ignore[arg-type]
    rod = Body("rod", 2.0, (0.5, 0.0, 0.0), (0.01, 0.2, 0.2, 0.0, 0.0, 0.0))
    tip = NamedFrame("tip", "rod", (1.0, 0.0, 0.0), port="force")
    return Mechanism("arm", (rod,), (root,), (drive,), frames=(tip,))


@pytest.mark.parametrize("motor", [{}, {"lag": 0.02}, {"efficiency": 0.8}])
def test_statics_leave_wrenches_as_they_are(motor: dict[str, float]) -> None:
    """Motors hold; what acts from outside is given, not chosen."""
    s = Simulation(pushed_arm(**motor), compile=False)  # type: ignore[arg-type]
    free = hold(s).inputs
    assert free["drive"] == pytest.approx(-2.0 * 9.81 * 0.5) and not any(list(free.values())[1:])
    s.set_inputs({"tip.force[3]": 5.0})
    held = hold(s)
    assert held.inputs["tip.force[3]"] == 5.0 and held.residual < 1e-9
    assert held.inputs["drive"] == pytest.approx(5.0 - 2.0 * 9.81 * 0.5)


@pytest.mark.parametrize("motor", [{}, {"lag": 0.02}, {"efficiency": 0.8}])
def test_a_pose_that_limits_do_not_let_be_held_is_refused(motor: dict[str, float]) -> None:
    s = Simulation(pushed_arm(9.0, **motor), compile=False)  # type: ignore[arg-type]
    s.set_inputs({"drive": 1.0})
    with pytest.raises(SimulationError, match="unbalanced at joint 'root'"):
        hold(s)
    assert s.u[0] == 1.0


def test_inverse_dynamics_gives_accelerations_to_what_follows_them() -> None:
    described = pushed_arm(drive="acceleration")
    s = Simulation(described, compile=False)
    assert s.inverse_dynamics({"root": 3.0})[0] == pytest.approx(3.0)
    assert hold(s).residual < 1e-9
