"""A C host loads the FMU with dlopen: instances, threads, saved states, misuse, speed, memory."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cutjoint.fmu.export import export
from cutjoint.model import Simulation, step
from cutjoint.model.compile import build, find_compiler
from fmpy import extract
from fmu_tools import SOME, exported, folder, host, host_words, run_host

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or find_compiler() is None, reason="needs Linux and a C compiler"
)
ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def stewart() -> Iterator[list[str]]:
    """The host's words for a stewart FMU that is compiled as users get it."""
    path = exported("stewart", optimize=2)
    unzipped = extract(str(path))
    yield host_words(path, unzipped)
    shutil.rmtree(unzipped)


def test_instances_threads_states_and_misuse(stewart: list[str]) -> None:
    done = subprocess.run([host(), "check", *stewart], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and "checks passed" in done.stdout, done.stderr


def test_a_state_on_disk_goes_on_in_another_process_with_the_same_bits(stewart: list[str]) -> None:
    saved = folder() / "state.bin"
    texts = [
        subprocess.run([host(), what, *stewart, saved], capture_output=True, text=True, check=True).stdout
        for what in ("save", "resume")
    ]
    assert texts[0] == texts[1] and len(texts[0].splitlines()) > 20
    spoiled = bytearray(saved.read_bytes())
    spoiled[3] ^= 1
    saved.write_bytes(bytes(spoiled))
    done = subprocess.run([host(), "resume", *stewart, saved], capture_output=True, text=True)
    assert done.returncode == 1 and "not a state of this FMU" in done.stderr


def test_speed_memory_and_the_cost_of_the_boundary(stewart: list[str], record_property: Any) -> None:
    simulation = Simulation("stewart")
    engine = build(step.runge_kutta(simulation._equations), str(find_compiler()))
    numbers = folder() / "engine.txt"
    values = [*simulation._q, *simulation._v, *([10.0] * len(simulation.inputs)), *simulation._p]
    sizes = [simulation._q.size, simulation._v.size, len(simulation.inputs), simulation._p.size]
    numbers.write_text(" ".join(map(str, sizes)) + "\n" + " ".join(repr(float(x)) for x in values))
    got = run_host("bench", *stewart, 100_000, engine, numbers)
    python = python_host(500)
    record_property("stewart", got | {"python_median_us": python["median_us"]})
    print(got, python)
    assert got["memory_after_kb"] - got["memory_before_kb"] < 1024
    # Ratios with room for a busy machine; the measured ones are in docs/fmu.md. Another processor
    # setting (AVX2 and FMA against the native one) is part of the first difference.
    assert got["fmu_us"] < 1.3 * got["engine_us"]
    # The bare step, and what a master does each time: set inputs, step, get outputs.
    assert python["median_us"] > 3 * got["median_us"]
    assert python["exchange_us"] > 4 * got["exchange_us"]


def python_host(steps: int) -> dict[str, float]:
    """The pythonfmu FMU in the same host, with Python loaded first and the packages on its path."""
    library = Path(sysconfig.get_config_var("LIBDIR") or "", sysconfig.get_config_var("INSTSONAME") or "")
    if library.suffix == ".a" or not library.is_file():
        pytest.skip("this Python has no shared library, so a C host can't load it")
    path = folder() / "python.fmu"
    export("stewart", path, runtime="python", outputs=SOME, picture=False)
    unzipped = extract(str(path))
    packages = folder() / "packages"
    packages.mkdir(exist_ok=True)
    if not (packages / "cutjoint").exists():
        (packages / "cutjoint").symlink_to(ROOT, target_is_directory=True)
    where = os.pathsep.join([str(packages), *(p for p in sys.path if p)])
    words = host_words(path, unzipped)
    result = run_host(
        "python",
        *words,
        steps,
        library,
        Path(unzipped, "resources").as_uri(),
        env={**os.environ, "PYTHONPATH": where},
    )
    shutil.rmtree(unzipped)
    return result
