"""The C library of a chain: the same numbers as Python, refused calls that change nothing, any number in."""

from __future__ import annotations

import ctypes
import importlib.util
import math
import shutil
import subprocess
import threading
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from cutjoint import Chain, CutjointError, Engine, Target, build_library
from cutjoint.model.cli.main import main
from cutjoint.native.c_compile import find_compiler
from made_once import made_once

pytestmark = pytest.mark.compiler
MECHANISM, FRAME = "delta", "platform"


def folder() -> Path:
    return made_once(
        lambda path: build_library(MECHANISM, path, frames=[FRAME]), "-library", MECHANISM, FRAME
    )


def reader() -> ModuleType:
    spec = importlib.util.spec_from_file_location("delta_chain", folder() / "delta_chain.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_it_says_the_same_as_python() -> None:
    own, native = Chain(Engine(MECHANISM, compile=False)), reader().Chain()
    home = own.pose(FRAME).position
    twist, more = [0.1, -0.2, 0.3, 0, 0, 0], [1.0, 2.0, -1.0, 0, 0, 0]
    state = own.start
    for step in ([0.01, 0, 0], [0.02, 0.01, -0.01], [0.02, 0.03, -0.02]):
        there = home + step
        target = Target(FRAME, there, (1, 0, 0, 0), velocity=twist[:3], acceleration=more[:3])
        found = own.inverse(target, start=state)
        state = found.state
        x, dx, ddx = native.inverse([*there, 1, 0, 0, 0], twist, more)
        assert pytest.approx(np.array(list(found.actuators.values())), abs=1e-11) == np.array([x, dx, ddx]).T
        forces = own.inverse_dynamics(target, wrench=(1, 2, -3, 0, 0, 0), start=state)
        assert native.efforts([1, 2, -3, 0, 0, 0]) == pytest.approx(list(forces.values()), abs=1e-9)
        assert np.array(native.jacobian()) == pytest.approx(own.jacobian(FRAME, at=state).matrix, abs=1e-11)
        pose, rate = native.pose()
        assert pose[:3] == pytest.approx(there, abs=1e-12) and rate[:3] == pytest.approx(twist[:3], abs=1e-12)
    other = reader().Chain()
    assert max(map(abs, other.complete(x, dx))) < 1e-9
    assert other.pose()[0] == pytest.approx(pose, abs=1e-12)
    assert native.actuators == ["motor1", "motor2", "motor3"] and len(native.rows) == 6


def test_refused_calls_say_why_and_change_nothing() -> None:
    module = reader()
    native = module.Chain()
    before = native.pose()
    nan, codes = math.nan, module.NUMBERS
    cases = {
        "NOT_FINITE": [(0, 0, nan, 1, 0, 0, 0), (0, 0, -0.66, 0, 0, 0, 0), (0, 0, math.inf, 1, 0, 0, 0)],
        "NOT_MET": [(0, 0, 5, 1, 0, 0, 0), (0, 0, -0.66, 1, 0.1, 0, 0)],
        "TOO_FAR": [(0.2, 0.1, -0.5, 1, 0, 0, 0)],
    }
    for name, poses in cases.items():
        for pose in poses:
            with pytest.raises(module.ChainError) as problem:
                native.inverse(pose)
            assert problem.value.code == codes[name], (pose, str(problem.value))
            assert native.pose() == before
    with pytest.raises(module.ChainError) as problem:
        native.inverse((0, 0, -0.66, 1, 0, 0, 0), twist=(0, 0, 0, 1, 0, 0))
    assert problem.value.code == codes["NO_RATES"]
    with pytest.raises(module.ChainError):
        native.complete((nan, 0, 0))
    for _ in range(60):  # up to the arms' limit, in steps that are followed
        pose = native.pose()[0]
        pose[2] += 0.005
        try:
            native.inverse(pose)
        except module.ChainError as limit:
            assert limit.code == codes["LIMIT"]
            break
    else:
        raise AssertionError("it went through its limits")


def fuzz(count: int) -> None:
    """Whatever is given, an instance stays a closed pose, or says no."""
    module = reader()
    native, random = module.Chain(), np.random.default_rng(0)
    done = 0
    for _ in range(count):
        pose = np.array(native.pose()[0])
        size = 10.0 ** random.uniform(-6, 3)
        pose += size * random.normal(size=7) * (random.random(7) < 0.5)
        if random.random() < 0.1:
            pose[random.integers(7)] = random.choice([math.nan, math.inf, -math.inf, 1e308, 0.0])
        try:
            native.inverse(pose, *(random.normal(size=(2, 6)) * [1, 1, 1, 0, 0, 0]))
            done += 1
        except module.ChainError:
            pass
        assert np.isfinite(native.pose()[0]).all()
    x = native.inverse(native.pose()[0])[0]
    assert done and np.abs(module.Chain().complete(x) if abs(max(x)) < 0.05 else [0.0]).max() < 1e-6


def test_any_numbers_leave_a_closed_pose() -> None:
    fuzz(3000)


@pytest.mark.study
@pytest.mark.timeout(3600)
def test_a_million_calls_leave_a_closed_pose() -> None:
    fuzz(1_000_000)


def test_instances_of_several_threads_do_not_meet() -> None:
    module = reader()
    results: dict[int, list[float]] = {}

    def work(k: int) -> None:
        native = module.Chain()
        for n in range(200):
            pose = [0.0, 0.0, -0.66, 1.0, 0.0, 0.0, 0.0]
            pose[k % 3] += 0.0001 * n
            results[k] = native.inverse(pose)[0]

    threads = [threading.Thread(target=work, args=(k,)) for k in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results[0] == results[3] and results[1] == results[4] and results[0] != results[1]


@pytest.mark.parametrize("flags", [(), ("-fsanitize=address,undefined", "-fno-sanitize-recover=all")])
def test_the_example_is_compiled_and_runs(flags: tuple[str, ...], tmp_path: Path) -> None:
    compiler = find_compiler()
    assert compiler is not None
    place = folder()
    if flags:
        try:
            place = build_library(MECHANISM, tmp_path / "san", frames=[FRAME], flags=flags).parent
        except CutjointError as problem:
            pytest.skip(f"no sanitizers here: {problem}")
    program = tmp_path / "example"
    build = [
        *compiler,
        "-std=c99",
        "-Wall",
        "-Wextra",
        "-Werror",
        *flags,
        str(place / "example.c"),
        f"-I{place}",
    ]
    subprocess.run([*build, str(place / "libdelta_chain.a"), "-lm", "-o", str(program)], check=True)
    done = subprocess.run([str(program)], capture_output=True, text=True, check=True)
    lines = done.stdout.splitlines()
    assert len(lines) == 102 and lines[0].startswith("t,motor1,motor1 effort")
    first, last = (np.array(line.split(","), float)[1:] for line in (lines[1], lines[-1]))
    assert last == pytest.approx(first, abs=1e-9)


def test_nothing_is_allocated() -> None:
    if not shutil.which("nm"):
        pytest.skip("no nm here")
    done = subprocess.run(
        ["nm", "-u", str(folder() / "libdelta_chain.a")], capture_output=True, text=True, check=True
    )
    assert not {"malloc", "calloc", "realloc", "free"} & set(done.stdout.split())


def test_an_instance_is_as_large_as_it_says() -> None:
    library = ctypes.CDLL(str(folder() / "libdelta_chain.so"))
    library.delta_chain_size.restype = ctypes.c_ulong
    assert library.delta_chain_size() % 8 == 0 and library.delta_chain_size() > 8 * 19


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["fourbar"], "name one, or describe 'targets'"),
        (["delta", "--frame", "plate"], "there is no body or frame 'plate'"),
        (["delta", "--frame", "platform", "--measured", "motor1"], "does not determine its pose"),
        (["delta", "--frame", "platform", "--platform", "vax"], "'vax' is not known"),
        (["double_pendulum", "--frame", "bar2"], "does not determine its pose"),
    ],
)
def test_what_has_no_library_is_told(
    words: list[str], says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["library", *words, "-o", str(tmp_path / "lib")]) in (2, 4)
    assert says in capsys.readouterr().err
