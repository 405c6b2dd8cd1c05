"""Inputs that are kept, starts of fuzzing and what it found: a result or a sentence."""

from __future__ import annotations

import random
import shutil
import subprocess
from pathlib import Path

import pytest
from fuzz import CORPUS, IN_C, with_words_exchanged
from readers import TARGETS, try_target

KEPT = sorted(path for path in CORPUS.glob("*/*") if path.parent.name not in IN_C)


@pytest.mark.parametrize("path", KEPT, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_a_kept_input_ends_well(path: Path, tmp_path: Path) -> None:
    """And so do a few inputs that are nearly the same, and its beginning."""
    name, data = path.parent.name, path.read_bytes()
    for given in (
        data,
        data[: len(data) // 2],
        *(with_words_exchanged(data, 9999, seed) for seed in range(3)),
    ):
        try_target(name, given, tmp_path)


@pytest.mark.parametrize("name", TARGETS)
def test_bytes_of_no_format_end_well(name: str, tmp_path: Path) -> None:
    for size in (0, 1, 100):
        try_target(name, random.Random(size).randbytes(size), tmp_path)


@pytest.mark.study
@pytest.mark.compiler
@pytest.mark.skipif(shutil.which("clang") is None, reason="needs clang with libFuzzer")
@pytest.mark.parametrize("name", IN_C)
def test_kept_inputs_of_c_end_well(name: str, tmp_path: Path) -> None:
    """Under sanitizers; without clang, `test_realtime_parts.py` and `make memcheck` hold much of it."""
    from targets_in_c import build

    subprocess.run([build(name, tmp_path), "-runs=0", CORPUS / name], check=True)


def test_every_target_has_a_start() -> None:
    """Descriptions start with the examples that ship."""
    there = {path.name for path in CORPUS.iterdir()}
    assert there >= {*TARGETS, *IN_C} - {"description"}
    assert sum(path.stat().st_size for path in CORPUS.glob("*/*")) < 200_000


def test_what_is_no_sentence_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(data: bytes, folder: Path) -> None:
        raise KeyError("it")

    monkeypatch.setitem(TARGETS, "law", broken)
    with pytest.raises(KeyError):
        try_target("law", b"", tmp_path)
