"""The node's parts without ROS: pacing, jitter, commands, trajectories, packets, settings."""

from __future__ import annotations

import socket
import threading
import time
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from cutjoint import CutjointError, Simulation, load
from cutjoint.model.cli.main import main
from cutjoint.model.control.command_law import FORCE, POSITION, VELOCITY
from cutjoint.model.control.computed_torque import Drives, Wanted, input_places
from cutjoint.model.control.joint_values import JointValues
from cutjoint.model.control.packets import (
    COMMAND,
    ORDERS,
    STATE,
    STOP,
    WRAP,
    Counts,
    Gate,
    Packet,
    Sequence32,
    pack,
    unpack,
)
from cutjoint.ros.histogram import Jitter
from cutjoint.ros.loop import Loop
from cutjoint.ros.motor_commands import Commands, Refused
from cutjoint.ros.rate import FORGIVEN, Pace
from cutjoint.ros.settings import SETTINGS, Settings
from cutjoint.ros.trajectory_interpolation import Follower, Point
from cutjoint.ros.udp import UdpLink
from silent_outlet import Silent


def test_jitter_agrees_with_percentiles_of_the_intervals() -> None:
    random = np.random.default_rng(1)
    intervals = 1e-3 + random.exponential(1e-4, 5000)
    jitter = Jitter(1e-3)
    for x in intervals:
        jitter.add(float(x))
    report = jitter.report()
    assert report.mean == pytest.approx(intervals.mean(), rel=1e-9)
    assert report.p99 == pytest.approx(np.percentile(intervals, 99), abs=1e-5)
    assert report.longest == intervals.max()
    assert report.missed == (intervals > 1.5e-3).sum()


def test_a_stall_is_counted_and_repaid_without_bursts() -> None:
    pace = Pace(1e-3)
    pace.start()
    now = pace._next
    steps = [pace.tick(now)]
    now += 8.3e-3  # a stall: seven whole periods are missed
    steps.append(pace.tick(now))
    assert (pace.overruns, pace.owed) == (1, 7)
    for k in range(80):
        steps.append(pace.tick(now + (k + 0.7) * 1e-3))
    assert pace.owed == 0 and pace.lag == 0
    twos = np.flatnonzero(np.array(steps) == 2)
    assert len(twos) == 7 and np.diff(twos).min() >= 4
    # steps taken = periods that passed
    assert sum(steps) == pace.steps == 1 + 8 + 80
    assert pace.drift(now + 79.7e-3) == pytest.approx(0.0, abs=1e-9)


def test_a_long_stall_is_dropped_and_said() -> None:
    pace = Pace(1e-3)
    pace.start()
    pace.tick(pace._next + 2 * FORGIVEN)
    assert pace.owed == 0
    assert pace.lag == pytest.approx(2 * FORGIVEN, rel=1e-2)


@pytest.fixture(scope="module")
def arm() -> Simulation:
    return Simulation("arm")


def test_commands_by_name(arm: Simulation) -> None:
    commands = Commands(arm.mechanism, 1e-3, 0.2)
    known = [j.name for j in arm.mechanism.joints] + ["tail"]

    def told(*given: Any, **more: Any) -> list[float]:
        wanted = commands.from_names(*given, known, **more)
        assert wanted is not None
        return wanted.value.tolist()

    assert told(["axis2", "motor4"], [3.0, 4.0]) == [0, 3, 0, 4, 0, 0]
    # All joints named, one without a motor: NaN or nothing for it.
    names = [*(j.name for j in arm.mechanism.joints), "tail"]
    six = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    nan = float("nan")
    assert told(names, six) == told(names, [*six, nan]) == six
    # NaN is "no command": for one joint, or for all before a controller is active.
    commands.accept(commands.from_vector(six), now=1.0)
    assert told(names[:6], [nan, 9.0, nan, nan, nan, nan]) == [1, 9, 3, 4, 5, 6]
    assert commands.from_names(names, [nan] * 7, known) is None
    # Positions and velocities are followed where no effort is given.
    both = commands.from_names(
        ["axis1", "axis2", "axis3"], [nan, nan, 5.0], known, [0.5, nan, 1.0], [0.1, 0.2, nan]
    )
    assert both is not None and both.kind.tolist() == [POSITION, VELOCITY, FORCE, FORCE, FORCE, FORCE]
    assert both.value.tolist() == [0.5, 0.2, 5, 4, 5, 6] and both.rate.tolist() == [0.1, 0, 0, 0, 0, 0]
    with pytest.raises(Refused, match="the position of 'axis1' is not finite"):
        commands.from_names(["axis1"], [], known, [float("inf")])
    with pytest.raises(Refused, match="are empty"):
        commands.from_names(["axis1"], [], known)
    with pytest.raises(Refused, match="no motor"):
        commands.from_names(names, [*six, 1.0], known)
    with pytest.raises(Refused, match="there is no joint 'axis9'"):
        commands.from_names(["axis9"], [1.0], known)


def test_stamps_are_respected(arm: Simulation) -> None:
    """Older than what a joint obeys already, or not about now: refused; each joint has its own newest."""
    commands = Commands(arm.mechanism, 1e-3, timeout=0.2)
    one, two = ([name] for name in arm.inputs[:2])
    second = 10**9
    commands.in_time(one, 0, 5 * second, paced=True)  # 0: now
    commands.in_time(one, 5 * second - second // 10, 5 * second, paced=True)
    commands.stamped(one, 5 * second - second // 10)
    commands.in_time(two, 5 * second - second // 6, 5 * second, paced=True)
    commands.in_time(one, 5 * second - second // 10, 5 * second, paced=True)  # not older
    for names, stamp, reason in (
        (one, 5 * second - second // 6, "0.0667 s older than that of a command obeyed already"),
        ([*two, *one], 5 * second - second // 6, "older"),
        (two, 4 * second, "by its stamp it is 1 s old, more than command_timeout"),
        (two, 6 * second, "by its stamp it is 1 s ahead"),
    ):
        with pytest.raises(Refused, match=reason):
            commands.in_time(names, stamp, 5 * second, paced=True)
    assert commands.stale == 4
    commands.in_time(two, 4 * second, 5 * second, paced=False)  # time waits for commands: only order counts
    commands.forget_stamps()  # time has jumped back
    commands.in_time(one, second, second, paced=True)


def test_a_winch_that_is_to_push_is_saturated() -> None:
    """The node counts by the table of inputs, as the native loop does: what only pulls gives no push."""
    platform = load("cable_platform")
    commands = Commands(platform, 1e-3, 0.2)
    pull = [row.low / 2 if np.isfinite(row.low) else -1.0 for row in platform.input_table]
    commands.accept(commands.from_vector(pull))
    assert commands.saturated == 0
    commands.accept(commands.from_vector([-x for x in pull]))
    assert commands.saturated == 1


def test_torque_limits_and_watchdog(arm: Simulation) -> None:
    commands = Commands(arm.mechanism, 1e-3, 0.2)
    with pytest.raises(Refused, match="more than any drive of this mechanism gives"):
        commands.from_vector([0, 1e308, 0, 0, 0, 0])
    given = commands.accept(commands.from_vector([1e5, 0, 0, 0, 0, -1e5]), now=1.0)
    assert given.value.tolist() == [1e5, 0, 0, 0, 0, -1e5] and commands.saturated == 1
    drives = Drives(arm, JointValues(arm), 20.0)  # the one place where orders are cut to what motors give
    assert drives.forces(given, 20.0).tolist() == [1800.0, 0, 0, 0, 0, -90.0]
    assert commands.present(1.1).value.tolist() == given.value.tolist()
    assert commands.present(1.3).value.tolist() == [0.0] * 6 and commands.silent
    commands.timeout = 0.0
    commands.accept(given, now=2.0)
    assert commands.present(1e6).value.tolist() == given.value.tolist()
    # Who was told a position keeps it; a velocity ends.
    commands.timeout = 0.2
    commands.accept(given.changed(0, POSITION, 0.3, 0.1).changed(1, VELOCITY, 0.2), now=3.0)
    relaxed = commands.present(4.0)
    assert relaxed.kind.tolist() == [POSITION, VELOCITY, 0, 0, 0, 0]
    assert relaxed.value.tolist() == [0.3, 0, 0, 0, 0, 0] and not relaxed.rate.any()


def driven(simulation: Simulation) -> tuple[Drives, Wanted]:
    """Drives of a simulation, and orders that ask for nothing."""
    values = JointValues(simulation)
    values.read()
    return Drives(simulation, values, 20.0), Wanted.forces(np.zeros(len(simulation.inputs)))


@pytest.mark.parametrize("given", ["positions", "velocities", "accelerations"])
def test_computed_torque_follows_the_path_itself(given: str) -> None:
    """With exact inverse dynamics the error along the path is that of holding torque for a period."""
    simulation = Simulation("stewart", start={f"motor{k}": 0.2 for k in (1, 2, 3)})
    goal = [0.3, 0.25, 0.35]
    joints = ["motor1", "motor2", "motor3"]
    rest = [0.0] * 3
    more = {"positions": (), "velocities": (rest,), "accelerations": (rest, rest)}[given]
    drives, none = driven(simulation)
    follower = Follower(drives, input_places(simulation.mechanism), joints, [Point(0.5, goal, *more)], none)
    worst = 0.0
    for _ in range(700):
        orders = follower.orders(simulation.time)
        assert orders is not None
        simulation.set_inputs(drives.forces(orders, 20.0))
        simulation.step(1e-3)
        wanted = follower.wanted(simulation.state.time)[0]
        here = [simulation.outputs()[f"joint.{name}.position"] for name in joints]
        worst = max(worst, np.abs(wanted - here).max())
    assert worst < 2e-4
    assert here == pytest.approx(goal, abs=2e-5)


def test_a_torque_feed_interpolates_and_ends(arm: Simulation) -> None:
    arm.reset()
    joints = [m.joint for m in arm.mechanism.motors][::-1]
    drives, none = driven(arm)
    points = [Point(0.0, effort=[0.0] * 6), Point(0.01, effort=[6, 5, 4, 3, 2, 1])]
    feed = Follower(drives, input_places(arm.mechanism), joints, points, none)
    arm.step(0.005)
    orders = feed.orders(arm.time)
    assert orders is not None and orders.value == pytest.approx([0.5, 1, 1.5, 2, 2.5, 3])
    arm.step(0.006)
    assert feed.orders(arm.time) is None


@pytest.mark.parametrize(
    "points, reason",
    [
        ([], "needs a point"),
        ([Point(0.1, [0.0] * 5)], "5 positions for 6 joints"),
        ([Point(0.1, [float("nan")] * 6)], "must be finite"),
        ([Point(0.1, [0.0] * 6), Point(0.1, [0.0] * 6)], "must grow"),
        ([Point(0.1, [0.0] * 6), Point(0.2, [0.0] * 6, [0.0] * 6)], "all points have velocities"),
        ([Point(0.1)], "positions to follow or effort"),
    ],
)
def test_bad_trajectories_are_refused(arm: Simulation, points: list[Point], reason: str) -> None:
    with pytest.raises(Refused, match=reason):
        drives, none = driven(arm)
        Follower(drives, input_places(arm.mechanism), [m.joint for m in arm.mechanism.motors], points, none)


def test_when_the_engine_can_not_go_on_time_stands_still_with_a_finite_state() -> None:
    settings = Settings.read({"mechanism": "fourbar", "mode": "fast", "command_timeout": 0.0})
    outlet = Silent()
    loop = Loop(Simulation("fourbar"), settings, outlet)
    stop = threading.Event()
    thread = threading.Thread(target=loop.run, args=(stop,))
    thread.start()
    try:
        loop.commands.accept(Wanted.forces(np.array([1e300])))
        end = time.monotonic() + 30
        while not loop.fault and time.monotonic() < end:
            time.sleep(0.01)
        assert settings.mode == "paused" and "infinite" in outlet.warnings[0]
        state = loop.ask(lambda: loop.simulation.state).result(10)
        assert np.isfinite(state.q).all() and np.isfinite(state.v).all()
        with pytest.raises(ZeroDivisionError):  # what goes wrong in a job belongs to whoever asked
            loop.ask(lambda: 1 / 0).result(10)
        loop.ask(lambda: loop.put(loop.simulation.reset)).result(10)
        assert settings.mode == "fast" and not loop.fault  # as it ran before
    finally:
        stop.set()
        thread.join(10)
    assert not thread.is_alive()


def test_packets_survive_the_round_trip_and_nothing_else_is_taken() -> None:
    packet = Packet(STATE, WRAP - 1, 7, 1.5, 2.5, (1.0, 2.0, 3.0, 4.0, 5.0, 6.0))
    data = pack(packet)
    assert len(data) == 40 + 6 * 8 and unpack(data, STATE) == packet
    assert packet.parts == [(1.0, 2.0), (3.0, 4.0), (5.0, 6.0)]
    first = packet._replace(values=packet.values[:4], version=1)
    assert unpack(pack(first), STATE) == first and first.parts == packet.parts[:2]
    assert unpack(pack(first)[:2] + b"\4" + pack(first)[3:], STATE) is None  # of a version yet to come
    assert unpack(data, COMMAND) is None
    for k in range(len(data)):
        assert unpack(data[:k], STATE) is None
    assert unpack(data + b"x", STATE) is None
    assert unpack(pack(Packet(COMMAND, 1, 0, 0.0, 0.0, (float("inf"),))), COMMAND) is None
    random = np.random.default_rng(2)
    for _ in range(2000):
        assert unpack(random.bytes(int(random.integers(0, 80))), COMMAND) is None


def test_a_flag_that_is_not_obeyed_makes_a_packet_malformed() -> None:
    """A stop that nobody heeds must not look like one that is."""
    for flags, obeyed in ((STOP | ORDERS + 1, False), (STOP, True)):
        stop = pack(Packet(COMMAND, 1, 0, 0.0, 0.0, (float("nan"),), flags=flags))
        gate = Gate(1, (100.0,), 0.2)
        assert (gate.accept(stop, ("127.0.0.1", 5000), 1.0, 0) is not None) == obeyed
        assert gate.counts.malformed == (not obeyed)


def test_sequence_numbers_tell_lost_from_late_across_the_wrap() -> None:
    counts = Counts()
    follow = Sequence32(counts)
    start = WRAP - 3
    order = [0, 1, 4, 3, 4, 5, 9]  # 2 is lost, 3 comes late, 4 twice, 6 to 8 lost
    news = [follow.news((start + k) % WRAP) for k in order]
    assert news == [True, True, True, False, False, True, True]
    assert (counts.received, counts.lost, counts.reordered) == (7, 1 + 3, 2)


def test_udp_link_counts_everything_and_forgives_a_restart() -> None:
    link = UdpLink("127.0.0.1:0", (100.0, 100.0), 1e-3, 0.2)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as device:
        device.settimeout(10)

        def command(number: int, *torques: float, answer: int = 0, version: int = 2) -> None:
            device.sendto(pack(Packet(COMMAND, number, answer, 0.0, 0.0, torques, version)), link.address)

        def receive(now: float) -> Any:
            """What the next packet that is no garbage brings; the loopback needs a moment."""
            heard = link.counts.received
            while link.counts.received == heard:
                got = link.receive(now)
            return list(got[-1].values) if got else None

        link.send(0.0, [[0.0, 0.0]] * 3)  # nobody there yet
        assert link.receive(0.0) == [] and link.counts.missing == 0
        device.sendto(b"hello", link.address)
        command(1, 1.0)  # one torque for two motors
        command(1, 1.0, 2.0, version=1)
        assert receive(1.0) == [1.0, 2.0]
        assert link.counts.malformed == 2
        told = [0.1, 0.2], [0.3, 0.4], [5.0, 6.0]
        link.send(0.5, told)
        state = unpack(device.recv(2048), STATE)
        assert state is not None and state.answer == 1
        assert state.version == 1 and state.parts == [(0.1, 0.2), (0.3, 0.4)]  # as it speaks
        link.send(0.501, told)
        device.recv(2048)
        command(5, 5.0, 5.0, answer=state.sequence)  # answers the state before the last one
        assert receive(1.01) == [5.0, 5.0]
        link.send(0.502, told)
        state = unpack(device.recv(2048), STATE)
        assert state is not None and state.version == 2 and state.parts[2] == (5.0, 6.0)
        assert (link.counts.lost, link.counts.late) == (3, 1)
        command(1, 9.0, 9.0)  # old: not used
        assert receive(1.02) is None and link.counts.reordered == 1
        command(1, 7.0, 7.0)  # after a silence: the device was restarted
        assert receive(2.0) == [7.0, 7.0]
    link.close()


def test_a_flood_leaves_nothing_old_behind() -> None:
    """What does not fit into the queue is lost at once; one look reads no more than it should."""
    link = UdpLink("127.0.0.1:0", (100.0,), 1e-3, 0.2)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as device:
        for number in range(1, 3001):
            device.sendto(pack(Packet(COMMAND, number, 0, 0.0, 0.0, (1.0,))), link.address)
        looks = 0
        while link.receive(1.0):
            looks += 1
    assert 0 < link.counts.received < 1000 and looks > 0
    link.close()


@pytest.mark.parametrize(
    "values, reason",
    [
        ({}, "say which mechanism"),
        ({"rate": 0}, "rate must be from 1 to 10000"),
        ({"rate": "fast"}, "rate must be a number"),
        ({"rate": True}, "rate must be a number"),
        ({"step": 3e-4}, "does not divide the period"),
        ({"step": -1e-3}, "step must be from"),
        ({"mode": "warp"}, "mode must be one of real_time"),
        ({"gravity": [1.0, 2.0]}, "one number g"),
        ({"gravity": "up"}, "three numbers"),
        ({"start": "motor1"}, "JOINT=VALUE"),
        ({"publish_clock": 1}, "true or false"),
        ({"mode": "lock_step", "udp": "127.0.0.1:1"}, "udp needs time"),
    ],
)
def test_settings_refuse_what_makes_no_sense(values: dict[str, Any], reason: str) -> None:
    with pytest.raises(CutjointError, match=reason):
        Settings.read({"mechanism": "stewart", **values} if values else {})


def test_settings_accept_what_users_write() -> None:
    given = {
        "mechanism": "arm",
        "rate": 500,
        "step": 1e-3,
        "gravity": "[0.0, 0.0, -1.62]",
        "start": "a=1 b=1,2",
    }
    settings = Settings.read(given)
    assert settings.steps == 2 and settings.gravity == (0.0, 0.0, -1.62)
    assert settings.start == {"a": [1.0], "b": [1.0, 2.0]}
    assert Settings.read({"mechanism": "arm", "gravity": 0}).gravity == 0.0
    assert all(s.about for s in SETTINGS.values())


@pytest.mark.parametrize(
    "words, reason",
    [
        (["--param", "rat=5"], "there is no parameter 'rat'; did you mean 'rate'"),
        (["--param", "rate"], "--param takes NAME=VALUE"),
        (["--rate", "quick"], "--rate: 'quick' is not a number"),
        (["--gravity", "1,2"], "--gravity takes one number or three"),
        (["--urdf"], "say which mechanism"),
    ],
)
def test_the_command_line_says_what_is_wrong(
    words: list[str], reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["node", *words]) == 2
    assert reason in capsys.readouterr().err


def test_joints_without_a_motor_tell_what_their_springs_and_dampers_do() -> None:
    """In the tree and cut; a driven joint tells what its motor does, without its own spring."""
    mechanism = load("fourbar")
    springs = {"coupler_pin": 3.0, "rocker_pin": 2.0, "crank_pin": 5.0}
    joints = tuple(
        replace(j, stiffness=(springs[j.name],), damping=(0.2,)) if j.name in springs else j
        for j in mechanism.joints
    )
    simulation = Simulation(replace(mechanism, joints=joints), compile=False)
    assert {cut.name for cut in simulation.tree.cuts} & set(springs)
    simulation.set_inputs([1.5])
    simulation.run(0.1)
    values, y = JointValues(simulation), simulation.outputs()
    values.read()
    effort = dict(zip(values.names, values.effort, strict=True))
    assert effort["crank_pin"] == 1.5 and effort["ground_pin"] == 0.0
    for name in ("coupler_pin", "rocker_pin"):
        q, v = y[f"joint.{name}.position"], y[f"joint.{name}.velocity"]
        assert effort[name] == pytest.approx(-springs[name] * q - 0.2 * v, rel=1e-12)
        assert abs(effort[name]) > 1e-3
