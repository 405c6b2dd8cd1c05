"""What the README shows works."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from cutjoint.model import command

README = (Path(__file__).resolve().parents[1] / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", README, flags=re.M | re.S)


@pytest.mark.parametrize("code", blocks("python"))
def test_python_blocks_run(code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    exec(compile(code, "README.md", "exec"), {})


@pytest.mark.parametrize("line", re.findall(r"^cutjoint .*", "\n".join(blocks("sh")), flags=re.M))
def test_commands_run(line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    words = shlex.split(line, comments=True)[1:]
    assert command.main(words) == 0
    for option in ("--picture", "--plot"):
        if option in words:
            assert (tmp_path / words[words.index(option) + 1]).stat().st_size > 10_000


def test_every_command_in_the_table_exists() -> None:
    named = set(re.findall(r"^\| `cutjoint (\w+)", README, flags=re.M))
    assert named and named <= set(command.available())
