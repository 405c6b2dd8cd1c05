"""The native loop: the same numbers as the FMU, in the loop with devices, safe whatever they send."""

from __future__ import annotations

import math
import struct
import subprocess
from pathlib import Path

import numpy as np
import pytest
from cutjoint import load
from cutjoint.model.base.thresholds import FMU_SUBSTEPS
from cutjoint.model.cli.main import main
from cutjoint.model.control.packets import WINDOW
from fmu_tools import exported, get, initialize, instance, names, put
from loop_tools import Device, built, running, said_by

H = 1e-3
OUTPUTS = ("joint.*.position", "joint.*.velocity")


def inputs(count: int, steps: int) -> np.ndarray:
    random = np.random.default_rng(17)
    return np.cumsum(random.normal(0.0, 0.3, (steps, count)), axis=0) % 6.0 - 3.0


def as_the_fmu(steps: int, tmp_path: Path) -> None:
    """Drive the loop in lock-step and the FMU by FMPy with the same numbers, and compare every step."""
    motors = len(load("stewart").inputs())
    torques = inputs(motors, steps)
    program = built("stewart")
    with (
        running(program, "--mode", "lock_step", "--udp", "127.0.0.1:0") as loop,
        instance(exported("stewart", optimize=1, outputs=OUTPUTS, substeps=FMU_SUBSTEPS)) as fmu,
        Device(loop.port(), motors) as device,
    ):
        initialize(fmu)
        driven = names(fmu, "input")
        shown = [f"joint.motor{k + 1}.{what}" for what in ("position", "velocity") for k in range(motors)]
        for n, u in enumerate(torques):
            put(fmu, dict(zip(driven, u.tolist(), strict=True)))
            fmu.doStep(n * H, H)
            state = device.step(u.tolist())
            *motion, force = state.parts
            assert np.array_equal(np.ravel(motion), get(fmu, shown)), n
            assert force == tuple(u), n
            assert state.time == pytest.approx((n + 1) * H, rel=1e-12)
        report = loop.stop()
    assert report["steps"] == steps and np.abs(state.parts[0]).max() > 0.01
    assert report["udp"]["received"] - report["udp"]["reordered"] == steps


def test_lock_step_gives_the_fmu_s_bits(tmp_path: Path) -> None:
    as_the_fmu(10_000, tmp_path)


@pytest.mark.study
def test_lock_step_gives_the_fmu_s_bits_for_a_million_steps(tmp_path: Path) -> None:
    as_the_fmu(1_000_000, tmp_path)


# -- safety --------------------------------------------------------------------------------------------


def test_what_no_drive_gives_is_refused_and_limits_cut(tmp_path: Path) -> None:
    program = built("stewart")
    with (
        running(program, "--mode", "lock_step", "--udp", "127.0.0.1:0") as loop,
        Device(loop.port(), 3) as device,
    ):
        first = device.step([1.0, 2.0, 3.0])
        for bad in (1e308, math.nan, math.inf, -1e7):
            device.number += 1
            device.send(device.packet([0.0, bad, 0.0]))
        device.send(device.packet([0.0, 0.0]))
        second = device.step([0.0, 0.0, 0.0])
        report = loop.stop()
    assert second.time - first.time == pytest.approx(H)
    counts = report["udp"]
    assert (counts["beyond"], counts["malformed"]) == (2, 3)
    assert not report["fault"] and report["steps"] == 2


def test_a_jump_of_numbers_counts_no_losses() -> None:
    program = built("stewart")
    with (
        running(program, "--mode", "lock_step", "--udp", "127.0.0.1:0", "--timeout", "3600") as loop,
        Device(loop.port(), 3, start=0xFFFFFFF0) as device,
    ):
        for _ in range(30):  # across the wrap
            device.step([0.0] * 3)
        number = device.number
        for flipped in (number ^ 1 << 24, number + WINDOW + 1, number - WINDOW - 1):
            device.send(device.packet([9.0] * 3, sequence=flipped % (1 << 32)))
        device.number += 2  # two are lost, and one of them comes late
        device.step([0.0] * 3)
        device.send(device.packet([9.0] * 3, sequence=device.number - 1))
        device.step([0.0] * 3)
        counts = loop.stop()["udp"]
    assert (counts["outside"], counts["lost"], counts["reordered"]) == (3, 1, 1)


@pytest.mark.parametrize("watchdog, torque", [("zero", 0.0), ("hold", 2.0)])
def test_the_watchdog_takes_torques_to_zero_or_holds_them(
    watchdog: str, torque: float, tmp_path: Path
) -> None:
    file = tmp_path / "run.npy"
    options = ["--watchdog", watchdog, "--timeout", "0.05", "--seconds", "1.5", "--record", str(file)]
    with (
        running(built("stewart"), "--udp", "127.0.0.1:0", *options) as loop,
        Device(loop.port(), 3) as device,
    ):
        device.number += 1
        device.send(device.packet([2.0] * 3))
        report = loop.end()
    applied = np.load(file)["input.motor1"]
    assert report["commands"] == 1 and report["watchdog"] == 1
    assert applied.max() == 2.0 and applied[-1] == torque


def test_a_state_that_is_not_finite_stops_time_at_the_last_finite_one(tmp_path: Path) -> None:
    """An absurd range lets an absurd force through, to see what the step does with it."""
    (name,) = load("fourbar").inputs()
    program = built("fourbar", parameters=("gravity",))
    options = ["--range", f"{name}=1e300", "--mode", "lock_step", "--udp", "127.0.0.1:0"]
    with running(program, *options) as loop, Device(loop.port(), 1) as device:
        before = device.step([0.0])
        states = [device.step([1e250]) for _ in range(3)]
        report = loop.stop(code=4)
    assert all(s.time == before.time and s.values == before.values for s in states)
    assert report["fault"] and "time stood still" in loop.said


def test_a_loop_that_catches_up_ends_where_it_was_asked() -> None:
    """A period owed from an overrun is not one more than `--seconds`: too fast a rate always owes some."""
    program, rate = built("fourbar", parameters=("gravity",)), 100_000
    for asked in range(1000, 1006):
        with running(program, "--rate", f"{rate}", "--steps", "20", "--seconds", f"{asked / rate}") as loop:
            report = loop.end()
        assert (report["periods"], report["steps"]) == (asked, 20 * asked) and report["overruns"] > 0


# -- what it is told ---------------------------------------------------------------------------------------


def test_settings_come_from_the_command_line_and_a_file(tmp_path: Path) -> None:
    program = built("fourbar", parameters=("gravity",))
    settings = tmp_path / "loop.conf"
    settings.write_text("rate = 500 # slower\nsteps 2\nmode fast\nseconds 0.2\n\nparameter gravity[3]=0\n")
    file = tmp_path / "run.npy"
    with running(program, "--config", str(settings), "--record", str(file)) as loop:
        report = loop.end()
    motion = np.load(file)
    assert (report["periods"], report["steps"], report["rate"]) == (100, 200, 500.0)
    assert motion["time"][-1] == pytest.approx(0.2) and np.ptp(motion["energy"]) < 1e-12
    with running(
        program, "--config", str(settings), "--parameter", "gravity[3]=-9.81", "--record", str(file)
    ) as loop:
        loop.end()
    assert np.abs(np.load(file)["energy"] - motion["energy"][0]).max() > 0.01


@pytest.mark.parametrize(
    "arguments, sentence",
    [
        (["--rate", "0"], "rate must be a number from 1 to 100000, not '0'"),
        (["--rate"], "rate needs a value"),
        (["--speed", "3"], "there is no option 'speed'"),
        (["--mode", "warp"], "mode is real_time, lock_step or fast"),
        (["--mode", "lock_step"], "lock_step waits for commands"),
        (["--start", "motor9=1"], "start: there is no 'motor9'"),
        (["--start", "motor1=x"], "not a finite number"),
        (
            [x for k in (1, 2, 3) for j in ("motor", "hinge") for x in ("--start", f"{j}{k}={0.3 * k}")],
            "can't be assembled",
        ),
        (["--parameter", "gravity=0"], "parameter: there is no 'gravity'"),
        (["--udp", "there:1"], "no address in numbers"),
        (["--udp", "127.0.0.1:99999"], "is not HOST:PORT"),
        (["--udp", "127.0.0.1:0", "--key", "/nowhere"], "can't read '/nowhere'"),
        (["--shared", "name"], "no name such as /stewart"),
        (["--output", "joints"], "no output of that name"),
        (["--config", "/nowhere"], "can't read '/nowhere'"),
        (["--can", "can7"], "can-table FILE"),
        (["--record", "/nowhere/a.npy", "--seconds", "1"], "can't write '/nowhere/a.npy'"),
        (["extra"], "'extra' is no option"),
    ],
)
def test_mistakes_get_one_sentence(arguments: list[str], sentence: str) -> None:
    code, said = said_by(built("stewart"), *arguments)
    assert code in (2, 3) and sentence in said and said.count("\n") == 1, said


def test_a_key_that_others_can_read_is_refused(tmp_path: Path) -> None:
    key = tmp_path / "key"
    key.write_bytes(bytes(32))
    key.chmod(0o644)
    code, said = said_by(built("stewart"), "--udp", "127.0.0.1:0", "--key", str(key))
    assert code == 2 and "others may read" in said
    key.chmod(0o600)
    key.write_bytes(b"short")
    code, said = said_by(built("stewart"), "--udp", "127.0.0.1:0", "--key", str(key))
    assert code == 2 and "holds 5 bytes" in said


def test_a_refused_right_is_said_in_one_line() -> None:
    command = [built("stewart"), "--seconds", "0.01", "--cpu", "1000"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and "refused: processor 1000 alone" in done.stderr


def test_it_starts_where_it_is_told_and_in_range_of_a_struct() -> None:
    with (
        running(
            built("stewart"), "--mode", "lock_step", "--udp", "127.0.0.1:0", "--start", "motor1=0.2"
        ) as loop,
        Device(loop.port(), 3) as device,
    ):
        data = device.packet([0.0] * 3, sequence=1)
        assert struct.unpack_from("<I", data, 4) == (3,)
        assert device.step([0.0] * 3).values[0] == pytest.approx(0.2, abs=1e-4)
        loop.stop()


def test_the_command_writes_what_a_device_needs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The program, its settings, headers and Python files; what can be set at the start is set by name."""
    monkeypatch.chdir(tmp_path)
    command = ["realtime", "fourbar", "-o", "bench", "--parameter", "gravity", "--output", "energy"]
    assert main([*command, "--no-library"]) == 0 and "wrote bench/fourbar" in capsys.readouterr().out
    written = {path.name for path in Path("bench").iterdir()}
    device = {f"cutjoint_{what}.{kind}" for what in ("packets", "shared") for kind in ("h", "py")}
    assert written == {"fourbar", "fourbar.conf", "native.h", "cutjoint_key.h", *device}
    done = subprocess.run(["bench/fourbar", "--help"], capture_output=True, text=True, timeout=60)
    assert "parameters: gravity[1] gravity[2] gravity[3]\noutputs: energy\n" in done.stdout
    assert main(["realtime", "fourbar"]) == 2 and "-o FOLDER" in capsys.readouterr().err
    assert main(["realtime", "fourbar", "-o", "b", "--platform", "win64"]) == 2
    assert main(["realtime", "fourbar", "-o", "b", "--output", "singularity.distance"]) == 2
    assert "found by iteration" in capsys.readouterr().err
