"""What the documents show works: every code block is run, every link leads somewhere."""

from __future__ import annotations

import csv
import functools
import importlib.util
import os
import re
import shlex
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cutjoint import load
from cutjoint.fmu import cli as fmu_command
from cutjoint.model.cli import main as command
from cutjoint.papers import STUDIES
from cutjoint.realtime import cli
from processes import CUTJOINT, Process

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
# Installing, building a workspace and ROS's own tools are for the reader's machine.
OUTSIDE = ("pip ", "make ", "ros2 ", "colcon ", "git ")
# Run until interrupted; what they say first.
SERVERS = {"view": "Ctrl-C ends it", "node": " Hz, inputs", "complete": "may be measured"}


def blocks(text: str) -> list[tuple[str, str]]:
    """(language, code) of every fenced block, in order."""
    return re.findall(r"^```(\w*)\n(.*?)^```", text, flags=re.M | re.S)


@pytest.mark.parametrize(
    "document", [d for d in DOCUMENTS if blocks(d.read_text("utf-8"))], ids=lambda d: d.name
)
def test_code_runs_from_top_to_bottom(
    document: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    quick = functools.partial(fmu_command.export, optimize=0, picture=False)  # the same FMU, compiled faster
    monkeypatch.setattr(fmu_command, "export", quick)
    loops = functools.partial(cli.build_realtime, optimize=0)
    monkeypatch.setattr(cli, "build_realtime", loops)
    monkeypatch.setenv("CUTJOINT_COMPILE", "0")  # what is shown works without; compiling takes the time
    names: dict[str, Any] = {"__name__": "document"}
    for language, code in blocks(document.read_text(encoding="utf-8")):
        if language == "python":
            exec(compile(code, document.name, "exec"), names)
        elif language == "yaml":
            run_yaml(code, tmp_path)
        elif language in ("sh", "bash"):
            for line in code.replace("\\\n", " ").splitlines():
                run_line(line)
        else:
            raise AssertionError(f"what language is this block?\n{code}")


def run_yaml(code: str, folder: Path) -> None:
    """A block that starts with '# name.yaml' is that file; a whole mechanism must load."""
    named = re.match(r"# (\S+\.yaml)\n", code)
    path = folder / (named[1] if named else "block.yaml")
    path.write_text(code, encoding="utf-8")
    if re.search(r"^joints:", code, flags=re.M) and re.search(r"^bodies:", code, flags=re.M):
        assert load(str(path)).bodies


def run_line(line: str) -> None:
    words = shlex.split(line, comments=True)
    if not words or line.startswith(OUTSIDE):
        return
    if words[0] == "python":
        assert words[1] == "-m" and importlib.util.find_spec(words[2]), line
        return
    if words[0].startswith("bench/"):  # a program that the line before has made
        assert subprocess.run([*words, "--priority", "0"], timeout=60).returncode == 0, line
        return
    assert words[0] == "cutjoint", f"what is this line? {line}"
    if "--platform" in words:
        return  # cross compilers are an extra of their own and take minutes; the FMU's tests try one
    if words[1] in SERVERS and "--urdf" not in words:
        run_server(words[1:])
        return
    with pytest.MonkeyPatch.context() as patch:
        if words[1] in ("export", "realtime", "library"):
            patch.delenv("CUTJOINT_COMPILE")
        plotted = words[1] == "simulate" and "--plot" in words and "--csv" not in words
        assert command.main([*words[1:], *(["--csv", "plotted.csv"] if plotted else [])]) == 0, line
    if words[1] == "simulate" and "--plot" in words:
        shows_motion(Path("plotted.csv" if plotted else words[words.index("--csv") + 1]))
    for option in ("--picture", "--plot"):
        if option in words:
            assert Path(words[words.index(option) + 1]).stat().st_size > 10_000


def shows_motion(table: Path) -> None:
    """What is plotted moves: a slider that could not slide was once documented by its round-off."""
    head, *rows = csv.reader(table.read_text(encoding="utf-8").splitlines())
    moved = dict(zip(head, np.ptp(np.array(rows, float), axis=0), strict=True))
    assert max(size for name, size in moved.items() if name not in ("time", "energy")) > 1e-2, moved


def run_server(words: list[str]) -> None:
    """Start it, wait until it says that it runs, interrupt it: it must end well."""
    if importlib.util.find_spec({"view": "viser"}.get(words[0], "rclpy")) is None:
        return
    domain = {"ROS_DOMAIN_ID": str(1 + os.getpid() % 100), "ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST"}
    with Process([*CUTJOINT, *words], os.environ | domain) as process:
        process.says(SERVERS[words[0]])
        assert process.stop() == 0, process.output


def found(pattern: str) -> list[Any]:
    """(document, what matches), over all documents; finding nothing would show that the pattern is wrong."""
    texts = {path: path.read_text(encoding="utf-8") for path in DOCUMENTS}
    matches = [(path, match) for path, text in texts.items() for match in re.findall(pattern, text)]
    assert matches
    return [pytest.param(path, match, id=f"{path.name}: {match}") for path, match in matches]


@pytest.mark.parametrize(("document", "target"), found(r"\[[^\]]*\]\((?!https?:)([^)\s]+)\)"))
def test_links_lead_somewhere(document: Path, target: str) -> None:
    name, _, anchor = target.partition("#")
    path = (document.parent / name).resolve() if name else document
    assert path.exists()
    titles = re.findall(r"^#+ (.*)$", path.read_text(encoding="utf-8"), flags=re.M) if anchor else []
    anchors = {re.sub(r"[^\w\- ]", "", t).strip().lower().replace(" ", "-") for t in titles}
    assert not anchor or anchor in anchors


@pytest.mark.parametrize(("document", "name"), found(r"`cutjoint ([a-z]+)"))
def test_commands_that_are_named_exist(document: Path, name: str) -> None:
    assert name in command.commands()


@pytest.mark.parametrize(("document", "name"), found(r"`cutjoint reproduce ([a-z0-9-]+)"))
def test_studies_that_are_named_exist(document: Path, name: str) -> None:
    assert name in {*STUDIES, "all"}


@pytest.mark.parametrize(
    ("document", "name"),
    found(r"[` ]((?:model|native|fmu|realtime|ros|papers|tests|examples|benchmarks|launch)/[\w/.]*)"),
)
def test_files_that_are_named_exist(document: Path, name: str) -> None:
    assert (ROOT / name.rstrip(".")).exists()


def test_the_page_on_papers_names_every_study() -> None:
    text = (ROOT / "docs" / "papers.md").read_text(encoding="utf-8")
    assert set(re.findall(r"`cutjoint reproduce ([a-z0-9-]+)`", text)) == set(STUDIES)


def test_the_page_on_tasks_names_every_command() -> None:
    text = (ROOT / "docs" / "tasks.md").read_text(encoding="utf-8")
    assert set(re.findall(r"`cutjoint (\w+)", text)) == {*command.commands(), "COMMAND"}
