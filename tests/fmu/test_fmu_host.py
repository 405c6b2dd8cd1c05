"""A C host loads the FMU with dlopen: instances, threads, saved states, misuse, memory."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from bulk import bulk
from cutjoint import list_examples
from cutjoint.fmu.documentation import STACK
from cutjoint.model.compile.kernel import find_compiler
from fmpy import extract
from fmu_tools import exported, folder, host, host_words, run_host, without_limits

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or find_compiler() is None, reason="needs Linux and a C compiler"
)
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def stewart() -> Iterator[list[str]]:
    """The host's words for a stewart FMU that is compiled as users get it."""
    path = exported(without_limits("stewart"), optimize=2)
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
    assert got["memory_after_kb"] - got["memory_before_kb"] < 1024


@pytest.mark.parametrize("name", bulk(list_examples(), ("fourbar", "servo_stewart")))
def test_no_call_takes_more_than_64_kb_of_stack(name: str, record_property: Any) -> None:
    """What threads of real-time systems have; the documentation page promises it."""
    path = exported(name, optimize=2)
    unzipped = extract(str(path))
    got = run_host("stack", *host_words(path, unzipped))
    shutil.rmtree(unzipped)
    record_property("stack", got)
    assert max(got[call] for call in got if call != "thread") <= STACK
