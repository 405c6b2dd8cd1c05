"""Sentences quote what strangers wrote: no terminal obeys it, and each stays on its line."""

from __future__ import annotations

from pathlib import Path

import pytest
from cutjoint.model.base.errors import CutjointError, UnknownName, inert
from cutjoint.model.cli.main import main

NAMES = {"\x1b[2Jgone": "\\x1b[2Jgone", "\x9b31m": "\\x9b31m", "a\u202eb": "a\\u202eb", "a\n\tb\r": "a b "}


@pytest.mark.parametrize("name", NAMES)
def test_what_a_sentence_quotes_is_inert(name: str) -> None:
    for kind in (CutjointError, UnknownName):
        assert str(kind(f"no '{name}' here")) == f"no '{NAMES[name]}' here"
    assert inert("é, °, λ and ✓ stay") == "é, °, λ and ✓ stay"


def test_a_sentence_about_what_is_endless_ends() -> None:
    said = str(CutjointError(f"the links {'a, ' * 100_000} have no parent"))
    assert len(said) < 2000 and said.startswith("the links a, a,") and said.endswith(" have no parent")


@pytest.mark.parametrize("command", ["check", "show", "simulate"])
def test_a_hostile_name_does_not_reach_the_terminal(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A description that cleared the screen, and wrote what it liked there."""
    path = tmp_path / "it.yaml"
    path.write_text('bodies: {"a\\e[2J\\nb": {mass: 1}}\njoints: {}\n')
    assert main([command, str(path)]) == 2
    out, err = capsys.readouterr()
    assert "\\x1b[2J b" in out + err and "\x1b" not in out + err
