"""Parts of the native loop against Python's, under sanitizers: gate, keys, frames, histograms, headers."""

from __future__ import annotations

import functools
import hashlib
import hmac
import math
import random
import socket
import struct
import subprocess
from dataclasses import astuple, replace
from pathlib import Path

import numpy as np
import pytest
from cutjoint import load
from cutjoint.model.control.command_policy import BUSY
from cutjoint.model.control.packets import (
    BRAKE,
    COMMAND,
    HEAD,
    MOTION,
    ORDERS,
    RESET,
    STATE,
    STOP,
    TAG,
    VERSION,
    WINDOW,
    WRAP,
    Gate,
    Packet,
    pack,
)
from cutjoint.model.describe.visuals import NamedFrame
from cutjoint.native.variable_layout import plan
from cutjoint.realtime.build import device_headers, loop_headers
from cutjoint.ros.histogram import Jitter
from cutjoint.ros.rate import Pace
from fmu_tools import folder, planned

ROOT = Path(__file__).resolve().parents[2]
PARTS = ("loop_gate.c", "loop_can.c", "loop_histogram.c", "loop_time.c")
WARNINGS = ["-Wall", "-Wextra", "-Werror"]
SANE = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
PEER, OTHER, THIRD = ("127.0.0.1", 5000), ("127.0.0.1", 5001), ("127.0.0.2", 5000)
KEY = b"a key of more than sixteen bytes"


@functools.cache
def driver() -> Path:
    where = folder() / "driver"
    where.mkdir()
    for name, text in loop_headers(planned("fourbar"), 1000.0).items():
        (where / name).write_text(text)
    program = where / "driver"
    units = [Path(__file__).with_name("loop_driver.c"), *(ROOT / "realtime" / "c" / part for part in PARTS)]
    # Ours lie beside a template of the header: the fitted one is found first.
    command = ["gcc", "-std=c99", "-O1", "-g", *WARNINGS, *SANE, f"-I{where}", f"-I{where}/c"]
    (where / "c").mkdir()
    for name in ("loop.h", "native.h", *PARTS):
        room = "native" if name == "native.h" else "realtime"
        (where / "c" / name).write_text((ROOT / room / "c" / name).read_text())
    units = [units[0], *(where / "c" / part for part in PARTS)]
    subprocess.run([*command, *map(str, units), "-lm", "-o", str(program)], check=True)
    return program


def drive(data: bytes, *words: str) -> list[str]:
    done = subprocess.run([driver(), *words], input=data, capture_output=True, timeout=300)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode().splitlines()


def noise(count: int, key: bytes, seed: int) -> list[tuple[float, int, tuple[str, int], bytes]]:
    """A device's packets with time, sent states and sender, among all that could go wrong on the way."""
    chance = random.Random(seed)
    now, sent, number = 1.0, chance.randrange(WRAP), chance.randrange(WRAP)
    found: list[tuple[float, int, tuple[str, int], bytes]] = []
    for _ in range(count):
        pause = 0.3 if chance.random() < 0.02 else chance.choice((1e-4, 1e-3, 1e-3, 1e-3, 0.053))
        now += pause + 1e-6 * chance.random()  # never a round sum: Python's times are rounded, C's are whole
        sent = (sent + 1) % WRAP or 1
        number = (number + chance.choice((1, 1, 1, 1, 2, 5))) % WRAP
        sender, values = PEER, (chance.uniform(-60, 60), chance.uniform(-60, 60))
        answer = (sent - chance.choice((0, 0, 1, 3))) % WRAP
        packet = Packet(COMMAND, number, answer, now, 0.0, values, chance.choice((1, 2, VERSION)))
        if packet.version == VERSION and chance.random() < 0.5:
            packet = packet._replace(flags=chance.choice((STOP, BRAKE, RESET, MOTION, MOTION | STOP)))
            told = (*values, math.nan, *(chance.uniform(-1e3, 1e3) for _ in range(5)))
            packet = packet._replace(values=told if packet.flags & MOTION else values)
        data = pack(packet, key)
        kind = chance.randrange(16)
        if kind == 0:
            sender = chance.choice((OTHER, THIRD))
        elif kind == 1:
            data = data[: chance.randrange(len(data) + 1)]
        elif kind == 2:
            data += bytes(chance.randrange(1, 9))
        elif kind == 3:
            at = chance.randrange(len(data))
            data = data[:at] + bytes([data[at] ^ 1 << chance.randrange(8)]) + data[at + 1 :]
        elif kind == 4 and found:
            data = found[chance.randrange(len(found))][3]
        elif kind == 5:
            data = pack(packet, b"another key that nobody knows" if key else b"")
        elif kind == 6:
            bad = chance.choice((math.nan, math.inf, 1e308, 101.0, -101.0))
            data = pack(packet._replace(values=(bad, *packet.values[1:])), key)
        elif kind == 7:
            jump = chance.choice((WINDOW, WINDOW + 1, -WINDOW, -WINDOW - 1, 1 << 24, -3, 0))
            data = pack(packet._replace(sequence=(number + jump) % WRAP), key)
        elif kind == 8:
            data = pack(packet._replace(answer=chance.choice((0, sent + 1, sent - WINDOW - 1)) % WRAP), key)
        elif kind == 9:
            data = chance.randbytes(chance.randrange(200))
        elif kind == 10:
            flags = chance.choice((ORDERS + 1, 1 << 63, MOTION, STOP | BRAKE))
            data = pack(
                packet._replace(version=VERSION, flags=flags, values=chance.choice((values, values * 4)))
            )
        elif kind == 11 and found:  # once more, at once or after a while
            sender, data = found[-1][2:]
        found.append((now, sent, sender, data))
    return found


def both(count: int, key: bytes, peer: tuple[str, int | None] | None, seed: int, lock_step: bool) -> None:
    gate = Gate(2, (100.0, 100.0), 0.2, peer, key, lock_step)
    stream, verdicts = [], []
    for now, sent, sender, data in noise(count, key, seed):
        ns = round(now * 1e9)
        host = int.from_bytes(socket.inet_aton(sender[0]), "little")
        stream.append(struct.pack("<QIIHHI", ns, sent, host, socket.htons(sender[1]), len(data), 0) + data)
        verdicts.append("0" if gate.accept(data, sender, ns * 1e-9, sent) is None else "1")
    host = int.from_bytes(socket.inet_aton(peer[0]), "little") if peer else 0
    port = socket.htons(peer[1]) if peer and peer[1] else 0
    said, counts = drive(b"".join(stream), "gate", key.decode(), str(host), str(port), str(int(lock_step)))
    assert said == "".join(verdicts)
    assert tuple(map(int, counts.split())) == astuple(gate.counts)
    assert verdicts.count("1") > 0.2 * count
    met = {name for name, n in vars(gate.counts).items() if n}
    assert met >= {"lost", "reordered", "malformed", "outside", "stranger", "beyond", "late"}
    assert ("forged" in met) == bool(key)


@pytest.mark.parametrize("key", [b"", KEY], ids=["open", "key"])
@pytest.mark.parametrize("peer", [None, PEER, (PEER[0], None)], ids=["anybody", "peer", "host"])
@pytest.mark.parametrize("lock_step", [False, True], ids=["real_time", "lock_step"])
def test_the_loop_and_the_node_obey_the_same_packets(
    key: bytes, peer: tuple[str, int | None] | None, lock_step: bool
) -> None:
    both(10_000, key, peer, 1, lock_step)


@pytest.mark.study
@pytest.mark.parametrize("key", [b"", KEY], ids=["open", "key"])
def test_the_same_for_a_million_packets(key: bytes) -> None:
    for seed in range(10):
        both(100_000, key, None, seed, lock_step=seed % 2 == 1)


def test_keys_give_python_s_checksums() -> None:
    chance = random.Random(3)
    sizes = [(16, n) for n in range(150)] + [(n, 40) for n in range(16, 140)]
    pairs = [(chance.randbytes(a), chance.randbytes(b)) for a, b in sizes]
    lines = drive(b"".join(struct.pack("<II", len(k), len(d)) + k + d for k, d in pairs), "tags")
    assert lines == [hmac.new(k, d, hashlib.sha256).digest()[:TAG].hex() for k, d in pairs]


def test_a_wrench_among_the_inputs_drives_no_joint() -> None:
    """A frame with a port has six inputs that move nothing of their own."""
    mechanism = load("double_pendulum")
    tool = NamedFrame("tool", mechanism.bodies[-1].name, at=(0.1, 0.0, 0.0), port="force")
    made = plan(replace(mechanism, frames=(tool,)), outputs=["energy"])
    lines = loop_headers(made, 1000.0)["items.h"].splitlines()
    first = lines.index("static const cutjoint_item inputs[] = {") + 1
    names = made.mechanism.inputs()
    joints = [line.split(", ")[-2] for line in lines[first : first + len(names)]]  # its role stands last
    assert len(names) >= 6 and joints[-6:] == ["-1"] * 6 and "-1" not in joints[:-6]


TYPES = {"int8": "<b", "int16": "<h", "int32": "<i", "uint8": "<B", "uint16": "<H", "uint32": "<I"}
TYPES |= {"float32": "<f", "float64": "<d"}


@pytest.mark.parametrize("kind", TYPES)
def test_frames_hold_numbers_as_the_table_says(kind: str, tmp_path: Path) -> None:
    form, whole = TYPES[kind], not kind.startswith("float")
    size, scale = struct.calcsize(form), 0.25 if whole else 1.0
    at = min(2, 8 - size)
    table = tmp_path / "table"
    table.write_text(
        f"# comment\n0x101 state a {kind} {at} {scale}\n0x201 command one {kind} {at} {scale}\n"
        f"0x12345 state b {kind} 0 {-scale}\n0x12445 command two {kind} 0 {-scale}\n"
    )
    bits = 8 * size - (not kind.startswith("u"))
    low, high = (0 if kind.startswith("u") else -(2**bits), 2**bits - 1) if whole else (-math.inf, math.inf)
    rows = [(0.0, 0.0), (3.0, -3.0), (20.25, -7.75), (-20.25, 7.75), (99.0, -99.0), (101.0, 5.0)]
    lines = drive(b"".join(struct.pack("<dd", *row) for row in rows), "can", str(table))
    kept = [0.0, 0.0]
    for (a, b), line in zip(rows, lines, strict=True):
        x, y = (min(max(v, low), high) for v in (a / scale, b / -scale))
        frames = [bytes(at) + struct.pack(form, round(x) if whole else x)]
        frames.append(struct.pack(form, round(y) if whole else y))
        for k, (number, worth) in enumerate(((x, scale), (y, -scale))):
            back = (round(number) if whole else struct.unpack(form, struct.pack(form, number))[0]) * worth
            kept[k] = back if abs(back) <= 100 else kept[k]
        words = line.split()
        assert words[:4] == ["101", frames[0].hex(), "12345", frames[1].hex()]
        assert [float.fromhex(w) for w in words[4:6]] == kept
    assert int(words[7]) == (0 if kind in ("int8", "uint8") else 1)


def test_quantiles_are_those_of_the_times() -> None:
    times = np.random.default_rng(5).lognormal(10, 1, 20_000).astype("u8")
    half, most, longest = map(int, drive(times.tobytes(), "histogram")[0].split())
    assert half == pytest.approx(np.quantile(times, 0.5), rel=0.02)
    assert most == pytest.approx(np.quantile(times, 0.99), rel=0.02)
    assert longest == times.max()


@pytest.mark.parametrize("seed", range(3))
def test_the_node_s_histogram_and_the_loop_s_tell_the_same(seed: int) -> None:
    """Bins of a 200th of a period there, of 1.6 % here."""
    chance = np.random.default_rng(seed)
    times = (1e6 + chance.exponential(1e5, 4000) + 3e7 * (chance.random(4000) < 1e-3)).astype(np.uint64)
    jitter = Jitter(1e-3)
    for ns in times.tolist():
        jitter.add(ns / 1e9)
    _, most, longest = map(int, drive(times.tobytes(), "histogram")[0].split())
    told = jitter.report()
    assert most == pytest.approx(1e9 * told.p99, rel=0.02)
    assert longest == round(1e9 * told.longest)


@pytest.mark.parametrize("seed", range(3))
def test_the_node_and_the_loop_keep_the_same_pace(seed: int) -> None:
    """Overruns, steps owed and paid back, stalls that are forgiven, of the same random ticks."""
    chance = random.Random(seed)
    pace, period, now, times, steps = Pace(1e-3), 10**6, 10**6, [], []
    pace._next = pace.period
    for _ in range(5000):
        late = chance.choice((0, 0, 0, 0, 5, 300)) if chance.random() < 0.02 else 0
        late += 10**4 if chance.random() < 5e-4 else 0
        now = max(now, round(pace._next * 1e9)) + round((late + 0.1 + 0.8 * chance.random()) * period)
        times.append(now)
        steps.append(pace.tick(now / 1e9))
    told, counts = drive(struct.pack(f"<{len(times) + 1}Q", period, *times), "pace")
    assert told == "".join(map(str, steps)) and "2" in told
    assert counts.split() == [str(x) for x in (pace.overruns, pace.owed, pace.dropped)] and pace.dropped


def test_what_is_measured_a_little_longer_makes_the_rate_a_little_lower() -> None:
    """It fell to half at some times, so that two measurements of one machine recommended 1000 and 2000 Hz."""
    busy = np.geomspace(2e3, 5e8, 5000)
    rates = np.array([float(line) for line in drive(busy.tobytes(), "rates")])
    assert (np.diff(rates) <= 0).all() and (rates[1:] / rates[:-1]).min() > 0.9
    assert (rates * busy <= BUSY * 1e9 * (1 + 1e-12)).all() and (rates * busy).min() > 0.9 * BUSY * 1e9


@pytest.mark.parametrize("compiler, standard", [("gcc", "c99"), ("g++", "c++11")])
def test_the_device_s_headers_are_what_python_says(compiler: str, standard: str, tmp_path: Path) -> None:
    for name, text in device_headers().items():
        (tmp_path / name).write_text(text)
    (tmp_path / "size.c").write_text(
        '#include "cutjoint_packets.h"\n#include "cutjoint_shared.h"\n#include <stdio.h>\n'
        "int main(int argc, char** argv) { unsigned char bytes[200]; const double u[] = {1, -2, 0.5};\n"
        "cutjoint_head state = {{'C', 'J'}, 1, 1, 3, 77, 5, 0.25, 1}, head; double q[3], v[3], f[3];\n"
        f'cutjoint_key key; cutjoint_key_set(&key, "{KEY.decode()}", {len(KEY)});\n'
        "if (argc == 1) {\n"
        "size_t n = cutjoint_command(bytes, 9, &state, u, 3);\n"
        'for (size_t k = 0; k < n; ++k) printf("%02x", bytes[k]);\n'
        "if (cutjoint_state(bytes, n, &head, q, v, 3) || cutjoint_forces(bytes, n, f, 3)) return 1;\n"
        'printf(" %zu %zu ", sizeof(cutjoint_shared_head), sizeof(cutjoint_shared_block));\n'
        "n = cutjoint_sign(&key, bytes, n);\n"
        "if (!cutjoint_genuine(&key, bytes, n) || cutjoint_genuine(&key, bytes, n - 1)) return 2;\n"
        'for (size_t k = 0; k < n; ++k) printf("%02x", bytes[k]);\n'
        "const double told[] = {1, 2, 3, 4, 5, 6, 7, 8};\n"
        "n = cutjoint_command_flags(bytes, 9, 0, CUTJOINT_MOTION | CUTJOINT_BRAKE, told, 2); putchar(' ');\n"
        'for (size_t k = 0; k < n; ++k) printf("%02x", bytes[k]);\n'
        "return 0; }\n"
        'FILE* file = fopen(argv[1], "rb"); size_t n = fread(bytes, 1, sizeof bytes, file); fclose(file);\n'
        "if (!cutjoint_state(bytes, n, &head, q, v, 2)) return 1;\n"
        'printf("%u %u ", head.version, (unsigned)cutjoint_flags(bytes, n));\n'
        'printf("%g %g %g %g", q[0], q[1], v[0], v[1]);\n'
        'if (cutjoint_forces(bytes, n, f, 2)) printf(" %g %g", f[0], f[1]);\n'
        "return 0; }\n"
    )
    language = ["-x", "c++" if compiler == "g++" else "c"]
    command = [compiler, f"-std={standard}", *WARNINGS, *language, "size.c", "-o", "size"]
    subprocess.run(command, cwd=tmp_path, check=True)
    data, *sizes, signed, motion = subprocess.check_output([tmp_path / "size"], text=True).split()
    command_of = Packet(COMMAND, 9, 77, 0.25, 0.0, (1.0, -2.0, 0.5))
    assert bytes.fromhex(data) == pack(command_of) and bytes.fromhex(signed) == pack(command_of, KEY)
    told = Packet(COMMAND, 9, 0, 0.0, 0.0, (1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0), VERSION, MOTION | BRAKE)
    assert bytes.fromhex(motion) == pack(told)
    assert sizes == ["64", "48"] and HEAD.size == 32
    whole = (1.0, 2.0, 3.0, 4.0, -5.0, 6.5)
    for version, flags, values in ((1, 0, whole[:4]), (2, 0, whole), (3, 5, whole)):
        (tmp_path / "state").write_bytes(pack(Packet(STATE, 1, 0, 0.0, 0.0, values, version, flags)))
        read = subprocess.check_output([tmp_path / "size", tmp_path / "state"], text=True)
        assert tuple(map(float, read.split())) == (version, flags, *values)
