"""The native loop as a whole: devices hold a platform, attackers get nothing, memory stays flat."""

from __future__ import annotations

import json
import math
import os
import platform
import random
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from cutjoint import load
from cutjoint.model.base.thresholds import FMU_SUBSTEPS
from cutjoint.model.control.packets import BRAKE, MOTION, RESET, RESUME, STOP, WRAP, Packet
from cutjoint.model.control.shared_memory import SharedLoop
from cutjoint.native.c_compile import unit_flags
from cutjoint.native.c_sources import native_sources
from cutjoint.native.variable_layout import plan
from cutjoint.realtime.build import OUTPUTS, PERIOD_MOST, PROGRAM, loop_headers
from every_vector import file
from loop_tools import PATIENCE, Device, Running, built, running, said_by

POSE = 0.2  # rad: at this pose gravity pulls the platform down
START = [word for k in (1, 2, 3) for word in ("--start", f"motor{k}={POSE}")]
SANE = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-g")
LOCK_STEP = ["--mode", "lock_step", "--udp", "127.0.0.1:0"]


def pd(q: tuple[float, ...], v: tuple[float, ...]) -> list[float]:
    return [2000.0 * (POSE - a) - 150.0 * b for a, b in zip(q, v, strict=True)]


# -- devices that hold -------------------------------------------------------------------------------------


def test_a_device_holds_the_platform_over_udp_though_a_tenth_is_lost(tmp_path: Path) -> None:
    """Each way: states that are lost leave the torques as they were, lost commands are said again."""
    chance, torques, file = random.Random(1), [0.0] * 3, tmp_path / "run.npy"
    with (
        running(built("stewart"), *LOCK_STEP, *START, "--record", str(file)) as loop,
        Device(loop.port(), 3) as device,
    ):
        for _ in range(2000):
            if chance.random() < 0.1:
                device.number += 1  # a command that never comes
            state = device.step(torques)
            if chance.random() >= 0.1:
                torques = pd(*state.parts[:2])
        counts = loop.stop()["udp"]
    motion = np.load(file)
    assert 0.05 < counts["lost"] / 2000 < 0.2
    for k in (1, 2, 3):
        assert np.abs(motion[f"joint.motor{k}.position"] - POSE).max() < 0.01
        assert abs(motion[f"joint.motor{k}.velocity"][-1]) < 0.05
    assert np.abs(motion["input.motor1"][-1]) > 1.0 and motion["loop.residual"].max() < 1e-9


def test_the_example_controller_holds_it_in_real_time(tmp_path: Path) -> None:
    """A machine that stalls may let it fall: then it is tried again, from the start."""
    file = tmp_path / "run.npy"
    options = [
        *START,
        "--udp",
        "127.0.0.1:0",
        "--seconds",
        "3",
        "--timeout",
        "1",
        "--wait",
        "--record",
        str(file),
    ]
    for _ in range(5):
        with running(built("stewart"), *options) as loop:
            module = ["-m", "cutjoint.examples.hil_udp_controller", "--motors", "3", "--loss", "0.1"]
            to = ["--to", f"127.0.0.1:{loop.port()}", "--target", *[str(POSE)] * 3]
            with subprocess.Popen(
                [sys.executable, *module, *to], stdout=subprocess.PIPE, text=True
            ) as device:
                report = loop.end()
                device.send_signal(signal.SIGINT)
                said = device.communicate(timeout=PATIENCE)[0]
        last = np.load(file)[-1]
        if all(abs(last[f"joint.motor{k}.position"] - POSE) < 0.01 for k in (1, 2, 3)):
            break
    else:
        raise AssertionError(report)
    assert report["udp"]["lost"] > 0 and report["response_us"]["count"] > 0
    assert json.loads(said.splitlines()[-1])["answered"] > 100


def test_a_device_holds_it_over_shared_memory_from_python() -> None:
    name = f"/cutjoint-test-{os.getpid()}"
    chance, torques = random.Random(2), [0.0] * 3
    with running(built("stewart"), "--mode", "lock_step", "--shared", name, *START) as loop:
        memory = SharedLoop(name, wait=PATIENCE)
        assert memory.inputs == ("motor1", "motor2", "motor3")
        at = [
            [memory.outputs.index(f"joint.motor{k}.{what}") for k in (1, 2, 3)]
            for what in ("position", "velocity")
        ]
        far = 0.0
        for n in range(1000):
            end = time.monotonic() + PATIENCE
            while (state := memory.state()).answer != n:
                assert time.monotonic() < end
            q, v = (tuple(state.values[k] for k in where) for where in at)
            far = max(far, *(abs(x - POSE) for x in q))
            if chance.random() >= 0.1:
                torques = pd(q, v)
            memory.command(torques, state.number)
        end = time.monotonic() + PATIENCE
        while memory.state().answer != 1000 and time.monotonic() < end:
            pass
        memory.close()
        report = loop.stop()
    assert far < 0.01 and report["commands"] == 1000 and not Path("/dev/shm", name[1:]).exists()


def test_a_device_that_spoils_the_memory_can_not_lead_the_loop_astray() -> None:
    """Offsets and counts of the head, and a lock that stays odd: the loop goes on with its own."""
    name = f"/cutjoint-spoilt-{os.getpid()}"
    with running(built("stewart"), "--mode", "lock_step", "--shared", name) as loop:
        memory = SharedLoop(name, wait=PATIENCE)
        path = Path("/dev/shm", name[1:])
        with path.open("r+b") as file:
            file.seek(8)
            file.write(b"\xff" * 56)
        memory.command([0.0, float("nan"), 0.0])
        memory.command([1.0, 2.0, 3.0])
        end = time.monotonic() + PATIENCE
        while memory.state().number < 2 and time.monotonic() < end:
            pass
        report = loop.stop()
    assert report["steps"] == report["commands"] == 1 and report["refused"] <= 1


@pytest.mark.parametrize("compiler, language", [("gcc", "c"), ("g++", "c++")])
def test_a_device_holds_it_over_shared_memory_from_c(compiler: str, language: str, tmp_path: Path) -> None:
    program, name = built("stewart"), f"/cutjoint-c-{os.getpid()}"
    source = Path(__file__).with_name("loop_device.c")
    command = [
        compiler,
        "-x",
        language,
        "-O1",
        "-Wall",
        "-Wextra",
        "-Werror",
        f"-I{program.parent}",
        str(source),
    ]
    subprocess.run([*command, "-o", "device"], cwd=tmp_path, check=True)
    file = tmp_path / "run.npy"
    with running(program, "--mode", "lock_step", "--shared", name, *START, "--record", str(file)) as loop:
        SharedLoop(name, wait=PATIENCE).close()
        device = [tmp_path / "device", name, "1000", "0.1", str(POSE)]
        assert subprocess.run(device, timeout=PATIENCE).returncode == 0
        loop.stop()
    motion = np.load(file)
    assert len(motion) >= 999 and np.abs(motion["joint.motor2.position"] - POSE).max() < 0.01


def can_here() -> str:
    """A virtual bus, where the kernel has one and lets us make it."""
    name = f"vcan{os.getpid() % 1000}"
    made = subprocess.run(["ip", "link", "add", "dev", name, "type", "vcan"], capture_output=True)
    up = subprocess.run(["ip", "link", "set", name, "up"], capture_output=True)
    return name if made.returncode == up.returncode == 0 else ""


def test_a_device_holds_it_on_a_can_bus(tmp_path: Path) -> None:
    if not shutil.which("ip") or not (bus := can_here()):
        pytest.skip("this kernel has no virtual CAN")
    table, chance = tmp_path / "table", random.Random(3)
    lines = [f"0x{0x180 + k:x} state joint.motor{k}.position float32 0 1" for k in (1, 2, 3)]
    lines += [f"0x{0x180 + k:x} state joint.motor{k}.velocity float32 4 1" for k in (1, 2, 3)]
    lines += [f"0x{0x200 + k:x} command motor{k} int16 0 0.05" for k in (1, 2, 3)]
    table.write_text("\n".join(lines) + "\n")
    try:
        with (
            socket.socket(socket.AF_CAN, socket.SOCK_RAW, socket.CAN_RAW) as line,
            running(
                built("stewart"), "--mode", "lock_step", "--can", bus, "--can-table", str(table), *START
            ) as loop,
        ):
            line.bind((bus,))
            line.settimeout(1.0)
            q, v, torques = [POSE] * 3, [0.0] * 3, [0.0] * 3
            for _ in range(1000):
                heard: set[int] = set()
                while len(heard) < 3:
                    for k, torque in enumerate(torques):
                        raw = struct.pack("<h", round(torque / 0.05))
                        line.send(struct.pack("=IB3x8s", 0x201 + k, 2, raw))
                    try:
                        while len(heard) < 3:
                            number, _, data = struct.unpack("=IB3x8s", line.recv(16))
                            if 0x181 <= number <= 0x183:
                                heard.add(number)
                                q[number - 0x181], v[number - 0x181] = struct.unpack("<ff", data)
                    except TimeoutError:
                        continue
                if chance.random() >= 0.1:
                    torques = pd(tuple(q), tuple(v))
            loop.stop()
    finally:
        subprocess.run(["ip", "link", "del", bus], check=False)
    assert max(abs(x - POSE) for x in q) < 0.01


def test_without_a_can_bus_one_sentence_says_so(tmp_path: Path) -> None:
    table = tmp_path / "table"
    table.write_text("0x201 command motor1 int16 0 0.01\n")
    code, said = said_by(built("stewart"), "--can", "nocan", "--can-table", str(table))
    assert code == 2 and said.count("\n") == 1 and ("no SocketCAN" in said or "no interface 'nocan'" in said)
    for line, words in (
        ("0x201 command motor9 int16 0 1", "line 1: there is no such input"),
        ("0x201 state energy int16 7 1", "does not fit into 8 bytes"),
        ("0x201 state energy int12 0 1", "the type is one of"),
        ("0x201 state energy int16 0 0", "the scale is no number but zero"),
        ("0x201 both energy int16 0 1", "the direction is command or state"),
        ("0x201 state energy", "a line is ID DIRECTION NAME TYPE BYTE SCALE"),
    ):
        table.write_text(line + "\n")
        code, said = said_by(built("stewart"), "--can", "nocan", "--can-table", str(table))
        assert code == 2 and words in said


# -- attackers ---------------------------------------------------------------------------------------------


def attacked(packets: int, key: bytes, tmp_path: Path) -> None:
    """A device that is interrupted by forged, replayed, cut and random packets runs as if alone."""
    options = [*LOCK_STEP, "--timeout", "3600"]
    if key:
        file = tmp_path / "key"
        file.write_bytes(key)
        file.chmod(0o600)
        options += ["--key", str(file)]
    chance, each = random.Random(4), 16
    states: list[list[tuple[float, ...]]] = []
    for disturbed in (False, True):
        with (
            running(built("stewart"), *options) as loop,
            Device(loop.port(), 3, key) as device,
            socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger,
        ):
            if key:
                device.hello()
            seen: list[tuple[float, ...]] = []
            kept: list[bytes] = []
            for n in range(packets // each):
                torques = [np.sin(0.1 * n + k) for k in range(3)]
                seen.append(device.step(torques).values)
                kept = [*kept[-50:], device.packet(torques)]
                for _ in range(each if disturbed else 0):
                    data = bytearray(chance.choice(kept[:-1] or kept))
                    kind = chance.randrange(6)
                    if kind == 0:
                        data = data[: chance.randrange(len(data))]
                    elif kind == 1:
                        data[chance.randrange(3)] ^= 1 << chance.randrange(8)
                    elif kind == 2:
                        data = bytearray(chance.randbytes(chance.randrange(100)))
                    elif kind == 3 and key:
                        later = Packet(2, device.number + 1, device.state.sequence, 0.0, 0.0, (9.0,) * 3)  # type: ignore[union-attr]
                        data = bytearray(
                            device.packet((9.0,) * 3, **later._asdict() | {"values": (9.0,) * 3})
                        )
                        data[-1] ^= 1
                    elif kind == 4:
                        later_number = (device.number + 1) % WRAP
                        stranger.sendto(device.packet((9.0,) * 3, sequence=later_number), device.to)
                        continue
                    device.send(bytes(data))
            report = loop.stop()
        states.append(seen)
    assert states[0] == states[1]
    counts = report["udp"]
    assert report["steps"] == packets // each
    assert counts["malformed"] > 0.2 * packets and counts["stranger"] > 0.1 * packets and counts["lost"] == 0
    assert not key or counts["forged"] > 0.1 * packets


@pytest.mark.parametrize("key", [b"", b"0123456789abcdef0123"], ids=["open", "key"])
def test_fuzzed_packets_change_nothing(key: bytes, tmp_path: Path) -> None:
    attacked(10_000, key, tmp_path)


@pytest.mark.study
def test_a_million_fuzzed_packets_change_nothing(tmp_path: Path) -> None:
    attacked(1_000_000, b"0123456789abcdef0123", tmp_path)


def test_a_flood_is_drained_in_bounded_time() -> None:
    """Garbage as fast as it can be sent: a period reads at most 256 packets, and the loop goes on."""
    with (
        running(built("stewart"), "--udp", "127.0.0.1:0", "--seconds", "1") as loop,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as line,
    ):
        to = ("127.0.0.1", loop.port())
        while loop.popen.poll() is None:
            for _ in range(100):
                line.sendto(b"x" * 56, to)
        report = loop.end()
    assert report["periods"] == 1000 and report["udp"]["malformed"] > 1000
    assert report["udp"]["malformed"] <= 256 * 1000


# -- what it costs the machine -----------------------------------------------------------------------------


def test_the_loop_makes_no_system_call_but_for_clock_sending_and_receiving(tmp_path: Path) -> None:
    if not shutil.which("strace"):
        pytest.skip("needs strace")
    log = tmp_path / "calls"
    prefix = ["strace", "-f", "-o", str(log)]
    options = ["--udp", "127.0.0.1:0", "--seconds", "1", "--shared", f"/cutjoint-s-{os.getpid()}"]
    options += ["--record", str(tmp_path / "run.npy"), "--rate", "200"]
    with running(built("stewart"), *options, prefix=prefix) as loop:
        try:
            port = loop.port()
        except AssertionError:
            pytest.skip(f"strace is not allowed here: {loop.said}")
        with Device(port, 3) as device:
            end = time.monotonic() + PATIENCE
            while loop.popen.poll() is None and time.monotonic() < end:
                device.number += 1
                device.send(device.packet([0.0] * 3))
                time.sleep(0.005)
        loop.end()
    lines = [line.split(maxsplit=1) for line in log.read_text().splitlines()]
    main = lines[0][0]
    calls = [found[1] for who, what in lines if who == main and (found := re.match(r"(\w+)\(", what))]
    first = calls.index("clock_nanosleep")
    last = len(calls) - calls[::-1].index("clock_nanosleep")
    inside = calls[first:last]
    assert set(inside) <= {"clock_nanosleep", "clock_gettime", "recvmmsg", "sendto"}
    assert inside.count("clock_nanosleep") > 100 and inside.count("sendto") > 10


def resident(loop: Running) -> int:
    """Kilobytes of memory that a process has touched."""
    text = Path(f"/proc/{loop.popen.pid}/status").read_text()
    return int(re.search(r"VmRSS:\s+(\d+)", text)[1])  # type: ignore[index]


def flat(steps: int) -> None:
    with running(
        built("stewart"), "--mode", "fast", "--udp", "127.0.0.1:0", "--seconds", f"{steps * 1e-3}"
    ) as loop:
        loop.port()
        found = []
        while loop.popen.poll() is None:
            try:
                found.append(resident(loop))
            except (OSError, TypeError):
                break
            time.sleep(0.005)
        report = loop.end()
    assert report["steps"] == steps and len(found) > 8
    # In the end it writes its report; a page or two come and go as the system needs memory elsewhere.
    assert abs(found[len(found) // 4] - found[9 * len(found) // 10]) <= 16


def test_memory_stays_flat() -> None:
    flat(100_000)


@pytest.mark.study
def test_memory_stays_flat_over_ten_million_steps() -> None:
    flat(10_000_000)


def test_it_is_clean_under_the_sanitizers(tmp_path: Path) -> None:
    program = built("fourbar", optimize=0, flags=SANE)
    file, chance = tmp_path / "run.npy", random.Random(6)
    name = f"/cutjoint-a-{os.getpid()}"
    options = [
        *LOCK_STEP,
        "--shared",
        name,
        "--record",
        str(file),
        "--report",
        str(tmp_path / "report"),
        "--live",
    ]
    with running(program, *options) as loop, Device(loop.port(), 1) as device:
        for _ in range(300):
            device.step([chance.uniform(-1, 1)])
            device.send(chance.randbytes(chance.randrange(200)))
        report = loop.stop()
    assert "ERROR" not in loop.said and "runtime error" not in loop.said
    assert len(np.load(file)) == report["steps"] == 300
    assert json.loads((tmp_path / "report").read_text())["steps"] == 300
    code, said = said_by(program, "--measure", "--seconds", "0.05", "--lock", "0", "--priority", "0")
    assert code == 0 and "ERROR" not in said


@pytest.mark.parametrize("described", ["servo_stewart", file()], ids=["servo_stewart", "on_a_carriage"])
def test_starts_are_looked_for_among_those_there_are(described: str) -> None:
    """Drives with states of their own, which have no start value: more coordinates than starts."""
    program = built(described, optimize=0, flags=SANE)
    code, said = said_by(program, "--start", "nobody=1")
    assert code == 2 and said.endswith("start: there is no 'nobody'\n") and "ERROR" not in said
    n = len(load(described).inputs())
    with running(program, *LOCK_STEP, "--start", "motor1=0.1") as loop, Device(loop.port(), n) as device:
        for flags in (0, MOTION, STOP, BRAKE, RESET, RESUME | MOTION) * 5:
            device.step(
                [0.1] * n if not flags & MOTION else [math.nan] * n + [0.1] * n + [math.nan] * 2 * n, flags
            )
        report = loop.stop()
    assert "ERROR" not in loop.said and "runtime error" not in loop.said
    assert (report["steps"], report["resets"], report["fault"]) == (25, 5, False)


# -- other processors ----------------------------------------------------------------------------------------


@pytest.mark.cross
@pytest.mark.study
def test_aarch64_gives_the_same(tmp_path: Path) -> None:
    """To the last bit what this processor gives without its fused operations, which round differently."""
    tools = ("gcc", "aarch64-linux-gnu-gcc", "qemu-aarch64")
    if platform.machine() != "x86_64" or not all(map(shutil.which, tools)):
        pytest.skip(f"needs an x86-64 with {', '.join(tools)}")
    planned = plan(load("fourbar"), step=PERIOD_MOST, outputs=OUTPUTS)
    for name, text in (native_sources(planned) | loop_headers(planned, 1000.0)).items():
        (tmp_path / name).write_text(text)
    motions = []
    for compiler, emulator, options in (
        ("gcc", (), ["-DCJ_PLAIN_STEP"]),
        ("aarch64-linux-gnu-gcc", ("qemu-aarch64",), []),
    ):
        objects = []
        for unit in PROGRAM:
            objects.append(f"{compiler}-{unit}.o")
            flags = [*unit_flags(unit, 0), "-ffunction-sections", *options]
            subprocess.run([compiler, *flags, "-c", unit, "-o", objects[-1]], cwd=tmp_path, check=True)
        link = [
            compiler,
            *objects,
            "-static",
            "-Wl,--gc-sections",
            "-lm",
            "-lpthread",
            "-o",
            f"{compiler}-loop",
        ]
        subprocess.run(link, cwd=tmp_path, check=True)
        file = tmp_path / f"{compiler}.npy"
        with (
            running(
                tmp_path / f"{compiler}-loop", *LOCK_STEP, "--record", str(file), prefix=emulator
            ) as loop,
            Device(loop.port(), 1) as device,
        ):
            for n in range(200):
                device.step([0.3 * np.sin(0.05 * n)])
            loop.stop()
        motions.append(np.load(file))
    assert len(motions[0]) == 200 and np.ptp(motions[0]["energy"]) > 1e-3
    assert motions[0].tobytes() == motions[1].tobytes()


@pytest.mark.cross
@pytest.mark.study
def test_the_cross_compiler_s_aarch64_agrees(tmp_path: Path) -> None:
    """A static program with another C library, whose sines round differently."""
    if not shutil.which("qemu-aarch64"):
        pytest.skip("needs qemu-aarch64")
    motions = []
    for target, emulator in (("", ()), ("aarch64-linux", ("qemu-aarch64",))):
        file = tmp_path / f"run{target}.npy"
        options = ["--mode", "fast", "--seconds", "0.5", "--record", str(file)]
        with running(built("stewart", platform=target), *options, prefix=emulator) as loop:
            loop.end()
        motions.append(np.load(file))
    for name in motions[0].dtype.names:
        assert np.allclose(motions[0][name], motions[1][name], rtol=0, atol=1e-8), name


# -- how fast it may run ------------------------------------------------------------------------------------


def test_measure_tells_steps_latency_and_a_rate() -> None:
    command = [built("stewart"), "--measure", "--seconds", "0.2", "--json", "--priority", "0", "--lock", "0"]
    found = json.loads(subprocess.check_output(command, timeout=PATIENCE))
    assert 0 < found["step_us"]["p50"] <= found["step_us"]["p99"] <= found["worst_step_us"]
    assert found["sub_steps"] == FMU_SUBSTEPS and found["sub_step_us"] > 0
    latency = found["latency_us"]
    assert 0 <= latency["p50"] <= latency["p99"] <= latency["p99.9"] <= latency["max"]
    assert 0 < found["recommended_hz"] <= found["plain_hz"]
