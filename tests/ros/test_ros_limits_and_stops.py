"""Stops, speed limits, an emergency stop and a wrench: what the node keeps, and what it says of it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy can't be imported: no ROS 2, and no wheels for this platform")

from cutjoint import CutjointError, Simulation
from cutjoint.model.loading import load
from cutjoint.model.urdf.write_urdf import urdf
from cutjoint.ros.diagnostics import Health
from cutjoint.ros.loop import Loop
from cutjoint.ros.settings import Settings
from cutjoint.ros.trajectory_interpolation import Point
from ros_client import Client, new_domain, node
from silent_outlet import Silent
from std_msgs.msg import Bool

LINK = """<link name="{0}"><inertial><origin xyz="0 0 0.2"/><mass value="{1}"/>
  <inertia ixx="0.02" iyy="0.02" izz="0.002" ixy="0" ixz="0" iyz="0"/></inertial></link>"""
JOINT = """<joint name="{0}" type="revolute"><parent link="{1}"/><child link="{2}"/><origin xyz="0 0 {3}"/>
  <axis xyz="0 1 0"/><limit lower="-2" upper="2" effort="60" velocity="3"/></joint>
  <transmission name="{0}_motor"><joint name="{0}"/></transmission>"""
PARTS = [LINK.format("upper", 3), LINK.format("lower", 2)]
PARTS += [JOINT.format("shoulder", "base", "upper", 0.3), JOINT.format("elbow", "upper", "lower", 0.4)]
ROBOT = f'<robot name="my_robot"><link name="base"/>{"".join(PARTS)}</robot>'


def looped(path: Path | str, **settings: Any) -> Loop:
    given = {"mechanism": str(path), "mode": "fast", "command_timeout": 0.0, **settings}
    return Loop(Simulation(str(path), compile=False), Settings.read(given), Silent())


@pytest.fixture
def robot(tmp_path: Path) -> Path:
    path = tmp_path / "my_robot.urdf"
    path.write_text(ROBOT)
    return path


def command(loop: Loop, *names: str, **fields: list[float]) -> None:
    given = {"effort": [], **fields}
    wanted = loop.commands.from_names(list(names), given.pop("effort"), loop.values.names, **given)
    assert wanted is not None
    loop.obey(wanted, 1.0)


def run(loop: Loop, periods: int) -> np.ndarray:
    """Positions and speeds of what is driven, after every period, and inputs during it."""
    seen = []
    for _ in range(periods):
        loop.advance()
        loop.values.read()
        seen.append([loop.drives.position, loop.drives.velocity, loop.simulation.u.copy()])
    assert not loop.fault
    return np.array(seen)


def test_limits_of_a_file_are_kept_and_published(robot: Path) -> None:
    """A velocity limit of 3 was lost, and robot_description said 1000."""
    mechanism = load(str(robot))
    assert [(m.limit, mechanism.joint(m.joint).speed_limit) for m in mechanism.motors] == [(60.0, 3.0)] * 2
    limits = re.findall(r"<limit [^>]*>", urdf(mechanism))
    assert len(limits) == 2 and all('velocity="3' in x and 'effort="60' in x for x in limits)


@pytest.mark.parametrize("order", ["position", "velocity", "effort"])
def test_no_motion_passes_a_stop_or_the_speed_limit(robot: Path, order: str) -> None:
    """It turned at 21.6 rad/s, and beyond its stop with full torque."""
    loop = looped(robot)
    health = Health(loop)
    command(loop, "elbow", **{order: [{"position": 50.0, "velocity": 20.0, "effort": 100.0}[order]]})
    seen = run(loop, 20)
    notes = health.look(loop)[1]
    seen = np.concatenate([seen, run(loop, 1480)])
    at = loop.drives.names.index("elbow")
    if order == "effort":  # a force keeps neither place nor speed, which is said
        assert np.abs(seen[:, 2, at]).max() == 60.0 and re.search(
            "faster than its speed limit: .*elbow", notes
        )
    else:
        assert np.abs(seen[:, 0, at]).max() < 2.0 + 1e-9 and np.abs(seen[:, 1, at]).max() < 3.01
    (said,) = loop.outlet.warnings  # type: ignore[attr-defined]
    assert "'elbow' is beyond its limits (position -2 to 2, speed -3 to 3, torque -60 to 60)" in said
    assert loop.commands.saturated == 1
    command(loop, "elbow", position=[0.5])
    assert loop.commands.saturated == 1 and len(loop.outlet.warnings) == 1  # type: ignore[attr-defined]
    run(loop, 1500)
    assert loop.drives.position[at] == pytest.approx(0.5, abs=1e-4)


def test_a_trajectory_beyond_a_stop_or_too_fast_is_refused(robot: Path) -> None:
    loop = looped(robot)
    with pytest.raises(
        CutjointError, match=r"'elbow' would be at 2.5 rad after 2 s, beyond its limit of 2 rad"
    ):
        loop.trajectories.take(["elbow"], [Point(2.0, [2.5])])
    with pytest.raises(
        CutjointError, match=r"'elbow' would be at 6 rad/s after 0.* s, beyond its limit of 3 rad/s"
    ):
        loop.trajectories.take(["elbow"], [Point(0.25, [1.0])])
    with pytest.raises(CutjointError, match=r"'shoulder' would be at -8.* rad/s"):
        loop.trajectories.take(["elbow", "shoulder"], [Point(1.0, [0.5, 0.5], [0.0, -9.0])])
    assert loop.commands.holding
    loop.trajectories.take(["elbow"], [Point(2.0, [2.0])])
    assert run(loop, 2500)[-1, 0, 1] == pytest.approx(2.0, abs=1e-4)


def test_what_stands_beyond_its_stop_is_held_there_and_not_pulled_back(tmp_path: Path) -> None:
    path = tmp_path / "leans.yaml"
    path.write_text(LEANS)
    loop = looped(path)
    before = loop.drives.position.copy()
    assert run(loop, 300)[:, 0] == pytest.approx(np.repeat([before], 300, 0), abs=1e-9)


LEANS = """
name: leans
bodies:
  link: {mass: 1, com: [0.2, 0, 0]}
joints:
  hinge: {type: revolute, parent: ground, child: link, at: [0, 0, 0], axis: y,
          limits: [-1, -0.001], speed_limit: 3}
motors:
  turn: {joint: hinge, limit: 60}
"""


# -- emergency stop ----------------------------------------------------------------------------------


@pytest.mark.parametrize("stop", ["brake", "coast"])
def test_an_emergency_stop_brakes_or_lets_coast_and_obeys_nobody(robot: Path, stop: str) -> None:
    loop = looped(robot, emergency_stop=stop)
    health = Health(loop)
    loop.trajectories.take(["elbow"], [Point(1.0, [1.0])])
    run(loop, 500)
    moving = loop.drives.position.copy(), loop.drives.velocity.copy()
    assert loop.emergency_stop(True) == ("it is held" if stop == "brake" else "it coasts")
    with pytest.raises(CutjointError, match="the emergency stop is on; release it first"):
        command(loop, "elbow", position=[0.0])
    seen = run(loop, 800)
    level, text, values = health.look(loop)
    assert level == 1 and values["emergency stop"] in text
    if stop == "brake":  # on by v/ω, never back
        rest = moving[0] + moving[1] / 20.0
        assert seen[-1, 0] == pytest.approx(rest, abs=2e-3) and np.abs(seen[-1, 1]).max() < 1e-3
        assert np.diff(seen[:, 0, 1]).min() > -1e-6
    else:
        assert loop.simulation.u.tolist() == [0.0, 0.0]
    loop.put(loop.simulation.reset)  # which releases nothing
    assert loop.stopped
    loop.emergency_stop(False)
    assert health.look(loop)[2]["emergency stop"] == "released"
    command(loop, "shoulder", "elbow", position=[0.0, 0.2])
    run(loop, 1500)
    assert loop.drives.position == pytest.approx([0.0, 0.2], abs=1e-3)


def test_a_stop_by_topic_and_service_is_said_and_refuses_commands() -> None:
    domain = new_domain()
    words = ["fourbar", "--no-compile", "--param", "diagnostics_rate=20"]
    with node(domain, *words) as process, Client(domain) as client:
        client.ready(process)
        publisher = client.node.create_publisher(Bool, "emergency_stop", 1)
        client.until(publisher.get_subscription_count, "the node")
        publisher.publish(Bool(data=True))
        client.until(lambda: client.diagnostics()["emergency stop"] == "it is held", "the stop")
        refused = int(client.diagnostics()["commands refused"])
        client.commands.publish(float_array(1.0))
        client.until(lambda: int(client.diagnostics()["commands refused"]) > refused, "a refusal")
        assert "emergency stop" in client.diagnostics()["message"]
        answer = client.call("emergency_stop", False)
        assert answer.success and answer.message == "released"
        assert client.diagnostics()["emergency stop"] == "released"
        assert process.stop() == 0, process.output


def float_array(*values: float) -> Any:
    from array import array

    from std_msgs.msg import Float64MultiArray

    return Float64MultiArray(data=array("d", values))


# -- what the watchdog says --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("field", "watchdog", "said"),
    [
        ("position", "zero", "positions are held"),
        ("velocity", "zero", "velocities are zero"),
        ("effort", "zero", "torques are zero"),
        ("effort", "hold", "torques stay as they were"),
    ],
)
def test_the_watchdog_says_what_is_done(robot: Path, field: str, watchdog: str, said: str) -> None:
    """It said "torques are zero" while positions were held with 60 N·m."""
    loop = looped(robot, command_timeout=0.01, watchdog=watchdog)
    command(loop, "elbow", "shoulder", **{field: [0.1, 0.1]})
    loop.advance()
    (text,) = loop.outlet.warnings  # type: ignore[attr-defined]
    assert text == f"no command for 0.01 s: {said} until the next one"
    if watchdog == "zero":
        assert np.any(loop.simulation.u) == (field != "effort")


# -- a wrench on what is held ------------------------------------------------------------------------


def test_what_is_held_gives_way_to_a_wrench_as_a_servo_does(robot: Path) -> None:
    """It was compensated exactly, so that a disturbance moved nothing."""
    from cutjoint.ros.start_node import loop_of

    moved = {}
    for compensate in (False, True):
        given = {"mechanism": str(robot), "mode": "fast", "wrench_on": "lower", "compile": False}
        loop = loop_of(Settings.read({**given, "compensate_wrench": compensate}), {})
        loop.outlet = Silent()
        assert loop.push is not None
        loop.set_parameters(loop.push.values([20.0, 0.0, 0.0], [0.0, 0.0, 0.0]))
        run(loop, 1000)
        moved[compensate] = float(np.abs(loop.drives.position).max())
        loop.set_parameters(loop.push.values([0.0] * 3, [0.0] * 3))
        run(loop, 1000)
        assert np.abs(loop.drives.position).max() < 1e-4  # and comes back
    assert moved[False] > 0.01 and moved[True] < 1e-9
