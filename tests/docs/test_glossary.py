"""The glossary: every word is found in the file that it names, so that who searches for it finds the code."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ROWS = [
    [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
    for line in (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8").splitlines()
    if line.startswith("| ") and "`" in line
]


def stems(word: str) -> list[str]:
    """Ways to say a word: any of those between commas, without an ending."""
    return [
        re.escape(part.strip().lower().rstrip("s")).replace(r"\ ", r"[\s\W]+") for part in word.split(",")
    ]


@pytest.mark.parametrize("row", ROWS, ids=[row[0] for row in ROWS])
def test_a_word_is_found_where_the_glossary_says(row: list[str]) -> None:
    word, _, meaning, _, file = row
    text = (ROOT / file.strip("`")).read_text(encoding="utf-8").lower().replace("-", " ")
    assert meaning
    assert any(re.search(stem.replace(r"\-", " "), text) for stem in stems(word)), (
        f"{file} does not say '{word}'"
    )


def test_the_glossary_has_the_words_one_searches_for() -> None:
    words = " ".join(row[0] for row in ROWS).lower()
    for word in ("schur", "regulariz", "simd", "computed torque", "lagrange", "holonomic", "index reduction"):
        assert word in words
