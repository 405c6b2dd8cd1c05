"""Every parameter that says it changed has changed: each by what it does, from the table of all of them."""

from __future__ import annotations

import time
from array import array
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

pytest.importorskip("rclpy", reason="rclpy can't be imported: no ROS 2, and no wheels for this platform")

from builtin_interfaces.msg import Time
from cutjoint.model.base.errors import CutjointError
from cutjoint.ros.settings import SETTINGS
from cutjoint.ros.trajectory_interpolation import Point
from geometry_msgs.msg import WrenchStamped
from inside_node import inside
from rcl_interfaces.msg import ParameterDescriptor
from rclpy.parameter import Parameter
from rclpy.serialization import deserialize_message, serialize_message
from sensor_msgs.msg import JointState

WAIT = 60.0
JOINT = "crank"  # of fourbar


def do(node: Any, job: Callable[[], Any]) -> Any:
    return node.loop.ask(job).result(WAIT)


def advance(node: Any, periods: int) -> list[float]:
    """Inputs after some periods."""

    def run() -> list[float]:
        for _ in range(periods):
            node.loop.advance()
        return list(node.loop.simulation.u)

    return list(do(node, run))


def command(node: Any, stamp: int = 0, **fields: float) -> None:
    """A message on joint_commands."""
    message = JointState(name=[JOINT], **{k: array("d", [x]) for k, x in fields.items()})
    message.header.stamp = Time(nanosec=stamp)
    node.orders._on_joint_commands(message)


def told(node: Any, what: str, periods: int = 200) -> int:
    """How often the loop tells something in some periods."""
    count = 0
    tell = getattr(node.loop.outlet, what)

    def counting(loop: Any) -> None:
        nonlocal count
        count += 1
        tell(loop)

    def run() -> None:
        setattr(node.loop.outlet, what, counting)
        for _ in range(periods):
            node.loop.advance()
        setattr(node.loop.outlet, what, tell)

    do(node, run)
    return count


def comes_soon(node: Any, what: str) -> bool:
    """Whether something that goes by the wall's clock comes within a second; patient where it does."""
    came: list[float] = []
    tell = getattr(node.loop.outlet, what)
    do(node, lambda: setattr(node.loop.outlet, what, lambda loop: (came.append(0.0), tell(loop))))
    end = time.monotonic() + (WAIT if getattr(node.settings, RATES[what]) > 1 else 1.0)
    while len(came) < 2 and time.monotonic() < end:
        time.sleep(0.01)
    do(node, lambda: setattr(node.loop.outlet, what, tell))
    return len(came) >= 2


RATES = {"diagnostics": "diagnostics_rate", "markers": "marker_rate"}


def runs(node: Any) -> bool:
    before = node.loop.periods
    time.sleep(0.2)
    return bool(node.loop.periods > before)


def torque_after_silence(node: Any) -> bool:
    command(node, effort=1.0)
    assert advance(node, 1) == [1.0]
    time.sleep(0.1)
    return advance(node, 1) == [1.0]


def pushed(node: Any) -> bool:
    """Whether a wrench moves what is held."""
    message = WrenchStamped()
    message.wrench.force.x, message.wrench.force.z = 20.0, 20.0
    node.orders._on_wrench(message)
    advance(node, 600)
    return bool(do(node, lambda: abs(node.loop.drives.position[0])) > 1e-3)


def obeys_old_stamps(node: Any) -> bool:
    refused = node.loop.commands.refused
    do(node, lambda: setattr(node.loop.simulation, "time", 5.0))
    do(node, node.loop.began)
    command(node, stamp=10**9 - 1, effort=2.0)
    command(node, stamp=5 * 10**8, effort=1.0)  # older than the one before
    return do(node, lambda: node.loop.commands.refused) == refused


def stops_with_torque(node: Any) -> bool:
    do(node, lambda: node.loop.emergency_stop(True))
    found = advance(node, 5) != [0.0]
    do(node, lambda: node.loop.emergency_stop(False))
    return found


def takes_what_it_can_not_follow(node: Any) -> bool:
    try:
        do(node, lambda: node.loop.trajectories.take([JOINT], [Point(0.01, [3.0])]))
    except CutjointError:
        return False
    return True


def stiffness(node: Any) -> int:
    """Torque for an error of 0.01 rad, less what holds it, over what it was at first."""
    do(node, lambda: node.loop.put(node.loop.simulation.reset))
    hold = advance(node, 1)[0]
    command(node, position=0.01)
    found = advance(node, 1)[0] - hold
    node.first = getattr(node, "first", found)
    return round(found / node.first)


def jumps(node: Any) -> bool:
    """Whether a position is taken at once."""
    do(node, lambda: node.loop.put(node.loop.simulation.reset))
    hold = advance(node, 1)
    command(node, position=0.01)
    return bool(abs(advance(node, 1)[0] - hold[0]) > 1e-3)


class Effect(NamedTuple):
    """A new value, what is observed, and what that gives before and after the change."""

    new: Any
    look: Callable[[Any], Any]
    before: Any
    after: Any
    settings: dict[str, Any] = {"mode": "paused"}  # noqa: RUF012  never changed


PAUSED: dict[str, Any] = {"mode": "paused"}
FAST: dict[str, Any] = {"mode": "fast"}
EFFECTS = {
    "mode": Effect("fast", runs, False, True),
    "hold": Effect(False, lambda node: advance(node, 1) != [0.0], True, False),
    "compensate_wrench": Effect(True, pushed, True, False, PAUSED | {"wrench_on": "coupler"}),
    "command_timeout": Effect(0.05, torque_after_silence, True, False, PAUSED | {"command_timeout": 0.0}),
    "watchdog": Effect("hold", torque_after_silence, False, True, PAUSED | {"command_timeout": 0.05}),
    "interpolation_period": Effect(0.01, jumps, True, False),
    "command_stamps": Effect(False, obeys_old_stamps, False, True),
    "emergency_stop": Effect("coast", stops_with_torque, True, False),
    "joint_state_rate": Effect(0.0, lambda node: told(node, "joint_states"), 20, 200, FAST),
    "clock_rate": Effect(50.0, lambda node: told(node, "clock"), 20, 10, FAST | {"publish_clock": True}),
    "diagnostics_rate": Effect(
        50.0, lambda node: comes_soon(node, "diagnostics"), False, True, PAUSED | {"diagnostics_rate": 0.01}
    ),
    "marker_rate": Effect(
        50.0, lambda node: comes_soon(node, "markers"), False, True, PAUSED | {"marker_rate": 0.01}
    ),
    "rehearse": Effect(False, takes_what_it_can_not_follow, False, True),
    "tracking_frequency": Effect(40.0, stiffness, 1, 4),
}
CHANGEABLE = [name for name, setting in SETTINGS.items() if setting.changeable]


def test_the_table_is_whole() -> None:
    assert set(EFFECTS) == set(CHANGEABLE)


@pytest.mark.parametrize("name", CHANGEABLE)
def test_a_change_does_what_it_says(name: str) -> None:
    effect = EFFECTS[name]
    with inside("fourbar", **effect.settings) as node:
        assert effect.look(node) == effect.before
        (result,) = node.set_parameters([Parameter(name, value=effect.new)])
        assert result.successful, result.reason
        assert node.get_parameter(name).value == effect.new
        assert effect.look(node) == effect.after


def test_ranges_arrive_as_they_were_declared() -> None:
    """Whole numbers arrived as 5e-324, and on Humble the node did not start."""
    ranges = {name: s.check.bounds for name, s in SETTINGS.items() if hasattr(s.check, "bounds")}
    assert any(isinstance(x, int) for bounds in ranges.values() for x in bounds)
    with inside("rolling_disc", mode="paused") as node:
        own = list(node.list_parameters(["parameter"], 0).names)
        for told in node.describe_parameters([*ranges, *own]):
            came = deserialize_message(serialize_message(told), ParameterDescriptor)
            found = [(x.from_value, x.to_value) for x in came.floating_point_range]
            assert found == [(x.from_value, x.to_value) for x in told.floating_point_range]
            assert told.name not in ranges or found == [ranges[told.name]]


def test_a_change_that_can_not_be_is_refused_and_stays_so() -> None:
    with inside("fourbar", mode="paused") as node:
        for name in set(SETTINGS) - set(CHANGEABLE):
            before = node.get_parameter(name).value
            try:
                (result,) = node.set_parameters([Parameter(name, value=SETTINGS[name].default)])
                assert not result.successful and result.reason, name
            except Exception as problem:  # rclpy refuses what is read-only by itself
                assert "read-only" in str(problem) or "ReadOnly" in type(problem).__name__, name
            assert node.get_parameter(name).value == before
