"""MuJoCo's actuators against MuJoCo itself: the same acceleration at any state and control, or a sentence."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from bulk import bulk
from cutjoint import Simulation
from cutjoint.model.base.errors import SimulationError
from cutjoint.model.robots.convert_cli import convert
from cutjoint.model.robots.load_robot import load_robot
from test_import_peers import placed

mujoco = pytest.importorskip("mujoco")

# What drives the joint x, or the tendon t of x and y; each is met by a motor of the same force.
SAME = {
    "motor": "<motor {at} {gear}/>",
    "motor within its control range": '<motor {at} {gear} ctrlrange="-0.6 0.6"/>',
    "motor within its force range": '<motor {at} {gear} forcerange="-0.5 0.5"/>',
    "motor within both": '<motor {at} {gear} ctrlrange="-0.6 0.6" forcerange="-0.3 0.3"/>',
    "position": '<position {at} {gear} kp="7"/>',
    "position, damped": '<position {at} {gear} kp="7" kv="0.5"/>',
    "position, damped in part": '<position {at} {gear} kp="7" dampratio="0.7"/>',
    "position within its force range": '<position {at} {gear} kp="70" kv="0.5" forcerange="-2 2"/>',
    "velocity": '<velocity {at} {gear} kv="0.4"/>',
    "general gain": '<general {at} {gear} gainprm="3"/>',
    "general servo": '<general {at} {gear} gainprm="3" biastype="affine" biasprm="0.4 -5 -0.2"/>',
    "general push": '<general {at} {gear} gainprm="3" biastype="affine" biasprm="0.4 0 -0.2"/>',
    "general servo within its force range": '<general {at} {gear} gainprm="30" biastype="affine" '
    'biasprm="0.4 -50 -2" forcerange="-1.5 1.5"/>',
    "gain called affine": '<general {at} {gear} gaintype="affine" gainprm="3 0 0"/>',
    "filtered": '<general {at} {gear} dyntype="filterexact" dynprm="0.1" gainprm="3"/>',
    "integrated": '<intvelocity {at} {gear} kp="5" kv="0.2" actrange="-9 9"/>',
    "cylinder": '<cylinder {at} {gear} timeconst="0.1" area="0.3" bias="0.1 -2 -0.3"/>',
}
# What we have no motor for, and the words of the report.
TOLD = {
    "damper": ('<damper {at} {gear} kv="1" ctrlrange="0 1"/>', "not affine"),
    "muscle": ('<muscle {at} {gear} lengthrange="0.1 1"/>', "not affine"),
    "rising": ('<general {at} {gear} biastype="affine" biasprm="0 2 0"/>', "grows with position"),
    "negative damper": ('<general {at} {gear} biastype="affine" biasprm="0 -2 1"/>', "or speed"),
    "uneven force": ('<position {at} {gear} kp="7" forcerange="-1 3"/>', "symmetric now"),
    "uneven control": ('<motor {at} {gear} ctrlrange="0 1"/>', "symmetric now"),
    "limited velocity": ('<velocity {at} {gear} kv="1" forcerange="-1 1"/>', "force limit"),
    "no gear": ('<motor {at} gear="0"/>', "gear is zero"),
}
JOINTS = {
    "hinge": '<joint name="x" axis="0 1 0" {more}/>',
    "slide": '<joint name="x" type="slide" axis="1 0 1" {more}/>',
    "hinge with a reference": '<joint name="x" axis="0 1 0" ref="0.3" damping="0.1" {more}/>',
    "one of two": '<joint name="w" type="slide"/><joint name="x" axis="0 1 0" armature="0.2" {more}/>',
    "sprung": '<joint name="x" axis="0 1 0" stiffness="3" springref="0.4" {more}/>',
}
WHERE = {"joint": 'joint="x"', "parent": 'jointinparent="x"', "tendon": 'tendon="t"'}
GEARS = {"plain": "", "geared": 'gear="2"', "turned": 'gear="-1.5"'}


def model(joint: str, actuator: str, at: str, gear: str, more: str = "") -> str:
    """A bar on a joint, another beside it that is coupled to the first where a tendon is driven."""
    element = actuator.format(at=WHERE[at], gear=GEARS[gear]).replace(" ", ' name="a" ', 1)
    tied = (
        '<equality><joint joint1="y" joint2="x" polycoef="0.1 0.5 0 0 0" solimp="0.9999 0.9999 1"/>'
        "</equality>"
        '<tendon><fixed name="t"><joint joint="x" coef="1"/><joint joint="y" coef="-0.6"/></fixed></tendon>'
    )
    return (
        f'<mujoco><compiler angle="radian"/><worldbody><body name="b">{JOINTS[joint].format(more=more)}'
        '<geom type="cylinder" size="0.05 0.2" pos="0.2 0 0"/></body><body name="c" pos="0 1 0">'
        '<joint name="y" axis="0 1 0"/><geom type="box" size="0.1 0.1 0.2" pos="0 0 0.1"/></body></worldbody>'
        f"{tied if at == 'tendon' else ''}<actuator>{element}</actuator></mujoco>"
    )


def told_input(report: tuple[str, ...]) -> tuple[float, float]:
    """Scale and shift of the input over ctrl, as the report says it; the same number if it says nothing."""
    line = next((line for line in report if "× ctrl" in line), "1 × ctrl")
    scale, shift = re.search(r"([-\d.e+]+) × ctrl(?: ([+−] [\d.e-]+))?", line).groups()
    return float(scale), float((shift or "0").replace("− ", "-").replace("+ ", ""))


def compared(text: str, folder: Path) -> float:
    """The largest difference of an acceleration from MuJoCo's, of the largest acceleration."""
    path = folder / "robot.xml"
    path.write_text(text)
    m = mujoco.MjModel.from_xml_path(str(path))
    d = mujoco.MjData(m)
    mechanism, report = load_robot(path)
    scale, shift = told_input(report)
    s = Simulation(mechanism, compile=False)
    names = [m.joint(j).name for j in range(m.njnt)]
    random, worst, size = np.random.default_rng(3), 0.0, 0.0
    for ctrl in random.uniform(-1, 1, 6):
        d.qpos[:], d.qvel[:] = random.uniform(-0.7, 0.7, m.nq), random.normal(size=m.nv)
        if m.neq:
            x = [names.index(n) for n in ("x", "y")]
            d.qpos[x[1]] = m.qpos0[x[1]] + 0.1 + 0.5 * (d.qpos[x[0]] - m.qpos0[x[0]])
            d.qvel[x[1]] = 0.5 * d.qvel[x[0]]
        d.ctrl[:], d.act[:] = ctrl, ctrl
        mujoco.mj_forward(m, d)
        placed(s, names, d.qpos, d.qvel)
        s.set_inputs({"a": scale * ctrl + shift})
        found = np.array([float(s.outputs()[f"joint.{n}.acceleration"]) for n in names])
        worst, size = max(worst, np.abs(found - d.qacc).max()), max(size, np.abs(d.qacc).max())
    return worst / size


CASES = [(a, j, g) for a in SAME for j in JOINTS for g in GEARS]
EACH_RUN = [case for n, case in enumerate(CASES) if n % 7 == 0]  # every actuator, joint and gear among them


@pytest.mark.parametrize("actuator, joint, gear", bulk(CASES, EACH_RUN))
def test_actuators_push_as_mujocos(actuator: str, joint: str, gear: str, tmp_path: Path) -> None:
    assert compared(model(joint, SAME[actuator], "joint", gear), tmp_path) < 2e-6  # reports have six digits


@pytest.mark.parametrize("actuator", ["motor", "general servo", "position within its force range"])
def test_actuators_of_coupled_sums_push_as_mujocos(actuator: str, tmp_path: Path) -> None:
    """Within the softness of MuJoCo's equality."""
    assert compared(model("hinge", SAME[actuator], "tendon", "geared"), tmp_path) < 1e-3
    assert compared(model("hinge", SAME[actuator], "parent", "geared"), tmp_path) < 2e-6


@pytest.mark.parametrize(
    "more", ['actuatorfrcrange="-0.8 0.8"', 'actuatorfrcrange="-0.8 0.8" damping="0.3" armature="0.1"']
)
def test_force_ranges_of_joints_bound_their_servos(more: str, tmp_path: Path) -> None:
    for actuator in ("motor", "position, damped", "position within its force range"):
        assert compared(model("hinge", SAME[actuator], "joint", "geared", more), tmp_path) < 2e-6


@pytest.mark.parametrize("actuator", TOLD)
def test_what_is_no_motor_of_ours_is_told(actuator: str, tmp_path: Path) -> None:
    element, words = TOLD[actuator]
    path = tmp_path / "robot.xml"
    path.write_text(model("hinge", element, "joint", "geared"))
    assert any("actuator a" in line or "servo a" in line for line in load_robot(path).report if words in line)


@pytest.mark.parametrize("joint", ["ball", "free"])
def test_actuators_of_joints_with_several_freedoms_are_told(joint: str, tmp_path: Path) -> None:
    path = tmp_path / "robot.xml"
    text = model("hinge", '<motor {at} gear="1 2 3 0 0 0"/>', "joint", "plain")
    path.write_text(text.replace('axis="0 1 0"', f'type="{joint}"', 1))
    (line,) = [line for line in load_robot(path).report if "actuator a" in line]
    assert "no joint of one degree of freedom" in line


def test_a_servo_with_a_force_range_comes_to_its_setpoint(tmp_path: Path) -> None:
    """Also after it was written as MJCF again."""
    path = tmp_path / "robot.xml"
    path.write_text(model("hinge", '<position {at} kp="100" kv="5" forcerange="-9 9"/>', "joint", "plain"))
    again = tmp_path / "again.xml"
    convert(load_robot(path).mechanism, again)
    m = mujoco.MjModel.from_xml_path(str(path))
    d = mujoco.MjData(m)
    m.opt.timestep, d.ctrl[:] = 1e-4, 0.5
    mujoco.mj_step(m, d, 20000)
    for file in (path, again):
        s = Simulation(load_robot(file).mechanism, compile=False)
        s.set_inputs({"a": 0.5})
        s.run(2.0)
        np.testing.assert_allclose(float(s.outputs()["joint.x.position"]), d.joint("x").qpos[0], atol=1e-4)
    assert abs(d.joint("x").qpos[0] - 0.5) < 0.2


STIFF = {
    "servo of motor 'a'": '<position {at} kp="9" kv="20"/>',
    "damping of joint 'x', which motor 'a' drives": '<velocity {at} kv="20"/>',
    "friction of joint 'x'": "<motor {at}/>",
}


@pytest.mark.parametrize("words", STIFF)
def test_what_is_too_stiff_for_explicit_steps_is_named(words: str, tmp_path: Path) -> None:
    """A joint of a gram's inertia under a servo, a damper or friction; the implicit step takes it."""
    path = tmp_path / "robot.xml"
    more = 'frictionloss="1"' if "friction" in words else ""
    text = model("hinge", STIFF[words], "joint", "plain", more)
    path.write_text(text.replace("<worldbody>", "<default><geom density='1e-4'/></default><worldbody>"))
    mechanism = load_robot(path).mechanism
    said = pytest.raises(SimulationError) if "friction" not in words else pytest.warns(UserWarning)
    with said as heard:
        Simulation(mechanism, start={"x": 0.5}).run(0.2)
    found = str(heard.value if "friction" not in words else heard[0].message)
    assert re.search(f"{words}.*--stepper implicit", found), found
    s = Simulation(mechanism, start={"x": 0.5}, compile=False, stepper="implicit")
    s.run(0.2)
    assert abs(s.outputs()["joint.x.position"]) < 1.0
