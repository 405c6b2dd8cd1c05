"""What a device can tell the native loop: motions, stops, a reset; once, and by whoever may."""

from __future__ import annotations

import itertools
import math
import os
import random
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from cutjoint import Simulation, load
from cutjoint.model.control import packets
from cutjoint.model.control.command_law import FORCE, POSITION, VELOCITY
from cutjoint.model.control.command_policy import FREQUENCY
from cutjoint.model.control.computed_torque import CommandPath, Drives, Wanted
from cutjoint.model.control.joint_values import JointValues
from cutjoint.model.control.packets import BRAKE, BRAKED, FAULT, MOTION, RESET, RESUME, STATE, STOP, STOPPED
from cutjoint.model.control.shared_memory import SharedBlock, SharedLoop
from loop_tools import PATIENCE, Device, built, running, said_by

H = 1e-3
UDP = ["--mode", "lock_step", "--udp", "127.0.0.1:0"]
START = {"motor1": 0.2, "motor2": 0.1, "motor3": 0.15}
STARTS = [word for name, value in START.items() for word in ("--start", f"{name}={value}")]
NAN = math.nan
KEY = b"0123456789abcdef0123"


def key_file(where: Path) -> list[str]:
    file = where / "key"
    file.write_bytes(KEY)
    file.chmod(0o600)
    return ["--key", str(file)]


# -- said once, done once ----------------------------------------------------------------------------------


@pytest.mark.parametrize("key", [b"", KEY], ids=["open", "key"])
def test_a_command_said_again_after_silence_is_answered_and_not_done_twice(
    key: bytes, tmp_path: Path
) -> None:
    """Answers that are lost, pauses shorter and longer than the timeout: as many periods as commands."""
    options = [*UDP, "--timeout", "0.02", *(key_file(tmp_path) if key else [])]
    chance = random.Random(5)
    with running(built("stewart"), *options) as loop, Device(loop.port(), 3, key) as device:
        if key:
            device.hello()
        for n in range(1, 41):
            device.number += 1
            data = device.packet([0.1] * 3)
            for again in range(chance.choice((1, 1, 2, 3))):
                time.sleep(chance.choice((0.0, 0.05)) if again else 0.0)
                device.send(data)
                state = packets.unpack(device.line.recv(4096), STATE, key)
                assert state is not None and (state.answer, round(state.time / H)) == (device.number, n)
            device.state = state
        report = loop.stop()
    assert report["steps"] == report["commands"] == 40 and report["udp"]["lost"] == 0
    assert report["udp"]["reordered"] > 5 and report["udp"]["forged"] == 0


def test_a_device_that_starts_anew_is_heard_again() -> None:
    """Its numbers begin where they did, from the same port: after the timeout they are its first."""
    with (
        running(built("stewart"), *UDP, "--timeout", "0.05") as loop,
        Device(loop.port(), 3, start=50) as device,
    ):
        device.step([0.0] * 3)
        device.number = 0
        time.sleep(0.1)
        assert device.step([0.0] * 3).time == pytest.approx(2 * H)
        loop.stop()


def test_sent_is_the_number_of_states_with_a_key_too(tmp_path: Path) -> None:
    with running(built("stewart"), *UDP, *key_file(tmp_path)) as loop, Device(loop.port(), 3, KEY) as device:
        device.hello()
        for _ in range(20):
            device.step([0.0] * 3)
        assert 21 <= loop.stop()["udp"]["sent"] <= 60


# -- two ways in, the same commands -----------------------------------------------------------------------


class Line:
    """A device in lock-step over UDP or over shared memory: the same commands, the same answers."""

    def __init__(self, way: str, joints: Sequence[str] = tuple(START)):
        self.shared, self.joints = way == "shared", joints
        self.name = f"/cutjoint-line-{os.getpid()}"
        self.options = ["--mode", "lock_step", "--shared", self.name] if self.shared else UDP
        self.sent = 0

    def open(self, loop: object) -> None:
        self.device = None if self.shared else Device(loop.port(), len(self.joints))  # type: ignore[attr-defined]
        self.memory = SharedLoop(self.name, wait=PATIENCE) if self.shared else None

    def tell(self, values: list[float], flags: int = 0) -> tuple[float, int, tuple[float, ...]]:
        """Simulated time, flags and positions that answer a command."""
        if self.device is not None:
            state = self.device.step(values, flags)
            return state.time, state.flags, state.parts[0]
        assert self.memory is not None
        self.sent += 1
        self.memory.command(values, flags=flags)
        end = time.monotonic() + PATIENCE
        while (block := self.memory.state()).answer != self.sent:
            assert time.monotonic() < end
        at = [self.memory.outputs.index(f"joint.{name}.position") for name in self.joints]
        return block.time, block.flags, tuple(block.values[k] for k in at)

    def close(self) -> None:
        for end in (self.device, self.memory):
            if end is not None:
                end.line.close() if isinstance(end, Device) else end.close()


class Twin:
    """The same mechanism in this process."""

    def __init__(self) -> None:
        self.simulation = Simulation("stewart", start=START)
        self.values = JointValues(self.simulation)
        self.values.read()
        self.drives = Drives(self.simulation, self.values, FREQUENCY)

    def step(self, wanted: Wanted) -> np.ndarray:
        self.simulation.set_inputs(self.drives.forces(wanted, FREQUENCY))
        self.simulation.step(H)
        self.values.read()
        return self.drives.position


def order(kind: list[int], value: list[float], rate: list[float] | None = None) -> Wanted:
    return Wanted(np.array(kind, float), np.array(value), np.array(rate or [0.0] * 3), np.zeros(3))


@pytest.mark.parametrize("way", ["udp", "shared"])
def test_positions_and_velocities_are_followed_as_by_the_node(way: str) -> None:
    line, twin = Line(way), Twin()
    told = [NAN, NAN, 5.0, 0.3, NAN, NAN, 0.1, -0.2, NAN, NAN, NAN, NAN]
    goal = order([POSITION, VELOCITY, FORCE], [0.3, -0.2, 5.0], [0.1, 0.0, 0.0])
    silent, still = [NAN] * 12, goal._replace(rate=np.zeros(3))  # nothing is told: what was told stays
    with running(built("stewart"), *line.options, *STARTS) as loop:
        line.open(loop)
        for n in range(200):
            _, flags, found = line.tell(told if n % 3 == 0 else silent, MOTION)
            assert np.allclose(found, twin.step(goal if n % 3 == 0 else still), rtol=0, atol=1e-9), n
        _, _, found = line.tell([1.0, 2.0, 3.0])  # and torques again
        assert np.allclose(found, twin.step(Wanted.forces(np.array([1.0, 2.0, 3.0]))), rtol=0, atol=1e-9)
        line.close()
        report = loop.stop()
    assert flags == 0 and report["refused"] == 0


@pytest.mark.parametrize("way", ["udp", "shared"])
def test_stops_last_until_resumed_whatever_else_is_told(way: str) -> None:
    """Every pair of flags: coasting, held, or obeying, as the same law does it in Python."""
    line, twin, path = Line(way), Twin(), CommandPath(load("stewart"))
    torques = [4.0, -3.0, 2.0]
    kinds = {STOP: (STOPPED, False), BRAKE: (BRAKED, True)}
    with running(built("stewart"), *line.options, *STARTS) as loop:
        line.open(loop)
        for first, second in itertools.product((STOP, BRAKE), repeat=2):
            now, halt = 0, Wanted.forces(np.zeros(3))
            for flags in (0, first, 0, second, MOTION, RESUME, 0):
                if flags in kinds and kinds[flags][0] != now:
                    now, brake = kinds[flags]
                    halt = path.stop_order(twin.drives.position, brake)
                now = 0 if flags == RESUME else now
                values = [NAN] * 3 if flags in kinds else torques
                values = [NAN] * 3 + [0.2] + [NAN] * 8 if flags == MOTION else values
                for _ in range(5):
                    _, shown, found = line.tell(values, flags)
                    wanted = halt if now else order([FORCE] * 3, torques)
                    assert shown == now
                    assert np.allclose(found, twin.step(wanted), rtol=0, atol=1e-9), (first, second, flags)
        line.close()
        report = loop.stop()
    assert report["stops"] == 6 and report["stopped"] is False and report["refused"] == 0


def test_a_brake_holds_and_a_stop_lets_it_fall() -> None:
    ends = {}
    for flags in (BRAKE, STOP):
        line = Line("udp")
        with running(built("stewart"), *line.options, *STARTS) as loop:
            line.open(loop)
            for _ in range(500):
                found = line.tell([NAN] * 3, flags)[2]
            line.close()
            ends[flags] = np.abs(np.array(found) - list(START.values())).max()
            assert loop.stop()["stopped"] == ("brake" if flags == BRAKE else "stop")
    assert ends[BRAKE] < 1e-6 and ends[STOP] > 0.05


def unlimited(way: str) -> tuple[Line, list[str]]:
    """A line to a mechanism whose drive can be told absurd torques, and its options."""
    (motor,) = load("fourbar").motors
    (name,) = load("fourbar").inputs()
    return Line(way, [motor.joint]), ["--range", f"{name}=1e300", "--start", f"{motor.joint}=0.9"]


@pytest.mark.parametrize("way", ["udp", "shared"])
def test_a_reset_starts_anew_out_of_faults_and_stops(way: str) -> None:
    line, options = unlimited(way)
    with running(built("fourbar", parameters=("gravity",)), *line.options, *options) as loop:
        line.open(loop)
        first = [line.tell([0.1]) for _ in range(20)]
        line.tell([NAN], BRAKE)
        at, flags, found = line.tell([0.1], RESET)
        assert (at, flags) == (0.0, 0) and found == pytest.approx((0.9,), abs=1e-9)
        assert [line.tell([0.1]) for _ in range(20)] == first
        assert line.tell([1e250])[1] == FAULT
        assert line.tell([0.0])[0] == first[-1][0]  # time stands still
        assert line.tell([NAN], RESET | BRAKE)[:2] == (0.0, BRAKED)
        assert line.tell([0.1], RESUME) == first[0]
        line.close()
        report = loop.stop()
    assert (report["resets"], report["fault"]) == (2, False)


def test_the_last_fault_is_the_one_that_is_said() -> None:
    """It was the first sentence that the core ever said."""
    line, options = unlimited("udp")
    with running(built("fourbar", parameters=("gravity",)), *line.options, *options) as loop:
        line.open(loop)
        for steps in (3, 7):
            line.tell([0.0], RESET)
            for _ in range(steps):
                line.tell([0.0])
            assert line.tell([1e250])[1] == FAULT
        line.close()
        loop.stop(code=4)
    assert "0.007" in loop.said and "0.003" not in loop.said


def test_a_force_for_a_servo_and_a_flag_that_nobody_knows_are_refused() -> None:
    """An effort told to a servo's position would be taken for an angle."""
    n = len(load("servo_stewart").inputs())
    with running(built("servo_stewart"), *UDP) as loop, Device(loop.port(), n) as device:
        device.number += 1
        device.send(device.packet([1.0, *[NAN] * (4 * n - 1)], flags=MOTION))
        device.number += 1
        device.send(device.packet([0.0] * n, flags=packets.ORDERS + 1))
        told = [*[NAN] * n, *[0.1] * n, *[NAN] * (2 * n)]
        for _ in range(200):
            state = device.step(told, MOTION)
        report = loop.stop()
    assert (report["refused"], report["udp"]["malformed"], report["steps"]) == (1, 1, 200)
    assert np.abs(np.array(state.parts[0]) - 0.1).max() < 0.05


def test_devices_of_older_versions_are_answered_as_they_were() -> None:
    with running(built("stewart"), *UDP) as loop, Device(loop.port(), 3) as device:
        for version, parts in ((1, 2), (2, 3), (3, 3)):
            device.version = version
            state = device.step([1.0, 2.0, 3.0])
            assert (state.version, len(state.parts)) == (version, parts)
        loop.stop()


# -- shared memory has one owner ---------------------------------------------------------------------------


def test_a_second_loop_does_not_take_the_memory_of_the_first() -> None:
    name, program = f"/cutjoint-two-{os.getpid()}", built("stewart")
    with running(program, "--mode", "lock_step", "--shared", name) as loop:
        memory = SharedLoop(name, wait=PATIENCE)
        for _ in range(2):
            code, said = said_by(program, "--seconds", "0.01", "--shared", name)
            assert code == 2 and "another loop runs as" in said and said.count("\n") == 1
        memory.command([1.0, 2.0, 3.0])
        wait_for(lambda: memory.state().answer == 1)
        memory.close()
        loop.popen.send_signal(signal.SIGKILL)
        loop.popen.wait()
    with running(program, "--mode", "lock_step", "--shared", name) as loop:  # what a killed one left is free
        wait_for(lambda: SharedLoop(name, wait=PATIENCE).state().number == 1)  # no longer the killed one's
        loop.stop()
    path = Path("/dev/shm", name[1:])
    assert not path.exists()
    path.write_bytes(b"somebody else's")
    code, said = said_by(program, "--seconds", "0.01", "--shared", name)
    assert code == 2 and "is something else" in said and path.read_bytes() == b"somebody else's"
    path.unlink()


@pytest.mark.parametrize("mode, bits", [(None, 0o600), ("0660", 0o660), ("666", 0o666)])
def test_the_memory_is_open_to_whom_it_should_be(mode: str | None, bits: int) -> None:
    name = f"/cutjoint-mode-{os.getpid()}"
    options = ["--shared-mode", mode] if mode else []
    with running(built("stewart"), "--mode", "lock_step", "--shared", name, *options) as loop:
        SharedLoop(name, wait=PATIENCE).close()
        assert Path("/dev/shm", name[1:]).stat().st_mode & 0o777 == bits
        loop.stop()


def wait_for(true: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < end


# -- files of settings -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "line, periods",
    [("wait 0", 20), ("wait = false", 20), ("wait off", 20), ("wait", 0), ("wait 1", 0), ("wait yes", 0)],
)
def test_a_flag_in_a_file_is_what_it_says(line: str, periods: int, tmp_path: Path) -> None:
    file = tmp_path / "loop.conf"
    file.write_text(f"{line}\nudp 127.0.0.1:0\n")
    limit = ["--seconds", "0.02"] if periods else []
    with running(built("stewart"), "--config", str(file), *limit) as loop:
        loop.port()
        report = loop.end() if periods else loop.stop()
    assert report["periods"] == periods


def test_a_flag_that_is_neither_is_a_mistake(tmp_path: Path) -> None:
    file = tmp_path / "loop.conf"
    file.write_text("wait maybe\n")
    code, said = said_by(built("stewart"), "--config", str(file))
    assert code == 2 and "wait is 0 or 1, not 'maybe'" in said and "line 1 of" in said


def test_comments_may_be_as_long_as_they_like(tmp_path: Path) -> None:
    """The rest of a line of more than a thousand characters was taken for an option."""
    file, table = tmp_path / "loop.conf", tmp_path / "table"
    long = f"# {'seconds 1000 ' * 500}"
    file.write_text(f"mode fast {long}\n{long}\nseconds 0.01\n")
    with running(built("stewart"), "--config", str(file)) as loop:
        assert loop.end()["periods"] == 10
    table.write_text(f"{long}\n0x201 command motor1 int16 0 1 {long}\n0x201 command motor9 int16 0 1\n")
    code, said = said_by(built("stewart"), "--can", "nocan", "--can-table", str(table))
    assert code == 2 and "line 3: there is no such input" in said


@pytest.mark.parametrize(
    "options, sentence",
    [
        (["--shared-mode", "0660"], "name the memory"),
        (["--shared", "/cutjoint-x", "--shared-mode", "rw"], "no mode such as 0660"),
        (["--shared", "/cutjoint-x", "--shared-mode", "0440"], "no mode such as 0660"),
        (["--frequency", "0"], "frequency must be a number from 0.1 to 1000"),
        (["--seconds", "0.01", "--report", "/dev/full"], "can't write '/dev/full'"),
    ],
)
def test_mistakes_get_one_sentence(options: list[str], sentence: str) -> None:
    done = subprocess.run([built("stewart"), "--priority", "0", "--lock", "0", *options], capture_output=True)
    said = done.stderr.decode()
    assert done.returncode == 2 and sentence in said and said.count("\n") == 1, said


def test_the_word_for_a_fault_is_a_flag_in_memory_too() -> None:
    assert SharedBlock(1, 0, FAULT | STOPPED, 0.0, 0.0, ()).fault
    assert not SharedBlock(1, 0, STOPPED, 0.0, 0.0, ()).fault


def test_a_stop_is_obeyed_in_real_time_and_the_state_says_so() -> None:
    """Beside torques that are not numbers, which are refused without it."""
    with (
        running(built("stewart"), "--udp", "127.0.0.1:0", *STARTS, "--timeout", "0") as loop,
        Device(loop.port(), 3) as device,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM),
    ):
        device.number += 1
        device.send(device.packet([NAN] * 3))
        device.step([5.0] * 3)
        device.step([NAN] * 3, STOP)
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            state = packets.unpack(device.line.recv(4096), STATE)
            assert state is not None
            if state.flags == STOPPED and state.parts[2] == (0.0, 0.0, 0.0):
                break
        report = loop.stop()
    assert state.flags == STOPPED and report["udp"]["malformed"] == 1 and report["stops"] == 1
