"""A C host loads the FMU with dlopen: instances, threads, saved states, misuse, speed, memory."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from cutjoint.fmu.export import export
from cutjoint.model import Simulation
from cutjoint.model.compile.kernel import build, find_compiler
from cutjoint.model.manifold import step
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


def test_memory_stays_flat_over_a_million_steps(stewart: list[str], record_property: Any) -> None:
    got = run_host("bench", *stewart, 1_000_000)
    record_property("stewart", got)
    print(got)
    assert got["memory_after_kb"] - got["memory_before_kb"] < 1024


def test_the_cost_of_the_boundary_and_of_python(stewart: list[str], record_property: Any) -> None:
    """Steps of the engine, of the FMU and of the pythonfmu FMU in one run, bare and with all values."""
    simulation = Simulation("stewart")
    engine = build(step.runge_kutta(simulation.equations), str(find_compiler()))
    numbers = folder() / "engine.txt"
    values = [*simulation.q, *simulation.v, *([10.0] * len(simulation.inputs)), *simulation.p]
    sizes = [simulation.q.size, simulation.v.size, len(simulation.inputs), simulation.p.size]
    numbers.write_text(" ".join(map(str, sizes)) + "\n" + " ".join(repr(float(x)) for x in values))
    with python_words() as (words, environment):
        for _ in range(3):  # a machine that was busy for a moment gets another attempt
            got = run_host("beside", *stewart, engine, numbers, *words, env=environment)
            print(got)
            if got["fmu_over_engine"] < 1.1 and got.get("python_us", 1e9) > 5 * got["fmu_us"]:
                break
    record_property("beside", got)
    assert got["fmu_over_engine"] < 1.1
    if "python_us" not in got:
        pytest.skip("this Python has no shared library, so a C host can't load the pythonfmu FMU")
    assert got["python_us"] > 5 * got["fmu_us"]
    assert got["python_exchange_us"] > 5 * got["exchange_us"]


@contextmanager
def python_words() -> Iterator[tuple[list[str], dict[str, str]]]:
    """The host's words for the pythonfmu FMU and its environment; no words if it can't be loaded."""
    library = Path(sysconfig.get_config_var("LIBDIR") or "", sysconfig.get_config_var("INSTSONAME") or "")
    if library.suffix == ".a" or not library.is_file():
        yield [], dict(os.environ)
        return
    path = folder() / "python.fmu"
    export("stewart", path, runtime="python", outputs=SOME, picture=False)
    unzipped = extract(str(path))
    packages = folder() / "packages"
    packages.mkdir(exist_ok=True)
    if not (packages / "cutjoint").exists():
        (packages / "cutjoint").symlink_to(ROOT, target_is_directory=True)
    where = os.pathsep.join([str(packages), *(p for p in sys.path if p)])
    resources = Path(unzipped, "resources").as_uri()
    yield [*host_words(path, unzipped), str(library), resources], {**os.environ, "PYTHONPATH": where}
    shutil.rmtree(unzipped)
