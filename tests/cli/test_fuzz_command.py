"""Spoilt descriptions and argument lines, by thousands: a result or a sentence, never exit code 1 or a hang.

A line may take `forked.CPU_LIMIT` seconds of a processor. What failed is told with its seed and its words, so
that it can be run again.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import random
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from cutjoint import list_examples
from cutjoint.model.cli import main as command
from cutjoint.model.describe.reader import source_of
from forked import Ended, cutjoint

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="forks, and looks into /proc")

FEW, MANY = 30, 5000
FINE = (0, 2, 3, 4)  # done, wrong usage or description, loops that can't be closed, not to be trusted
SMALL = ("fourbar", "arm", "fivebar", "slider_crank", "rolling_disc", "gripper")
# These serve until they are stopped, or compute for minutes: they get Ctrl-C after a while.
LONG = ("view", "node", "complete", "bench", "reproduce", "realtime", "replay", "export", "--cluster")
A_WHILE = 1.5

# -- descriptions -----------------------------------------------------------------------------------------

NUMBERS = (
    "0",
    "-1",
    "1e308",
    "-1e308",
    ".nan",
    ".inf",
    "1e-320",
    "1e50",
    "1e-30",
    "99999999",
    "x",
    "[]",
    "-0",
)
WORDS = ("ground", "[1, 2]", "{a: 1}", "true", "30 deg", "~", "''", "[dot1]", "energy", "time", "1 kN", "'é'")
PIECES = (
    "[",
    "]",
    "{",
    "}",
    ":",
    "- ",
    "&a ",
    "*a",
    '"',
    "'",
    "\t",
    "\n",
    "%",
    "|",
    "<<: ",
    "!!x ",
    "#",
    ",",
)
NUMBER = r"(?<![\w.])-?\d+\.?\d*(?:e-?\d+)?(?![\w.])"
TRIED = (
    ["show"],
    ["show", "--json"],
    ["check"],
    ["assemble"],
    ["simulate", "--time", "0.005", "--no-compile"],
    ["simulate", "--time", "0.01", "--no-compile", "--method", "variable"],
    ["simulate", "--time", "0.01", "--step", "0.01", "--no-compile", "--stepper", "implicit"],
    ["linearize"],
    ["linearize", "--settle"],
    ["convert", "-o", "x.urdf"],
    ["convert", "-o", "x.yaml"],
    ["export", "--runtime", "python", "-o", "x.fmu"],
)


def spoilt(text: str, pick: random.Random) -> str:
    """A description with one to three numbers, words, lists or lines changed, exchanged, lost or doubled."""
    for _ in range(pick.randint(1, 3)):
        pattern = pick.choice(
            (NUMBER, NUMBER, NUMBER, r"\b[a-z_]\w*\b", r"\[[^\[\]]*\]", r"\n[^\n]+", r"\{[^{}]*\}")
        )
        found = list(re.finditer(pattern, text))
        if not found:
            continue
        one, other = pick.choice(found), pick.choice(found)
        changes = [other.group(), other.group(), "", one.group() * 2, pick.choice(WORDS)]
        changes.append(one.group() + pick.choice(PIECES))
        if pattern == NUMBER:  # most of these still describe something
            factors = (-1, 0, 1e-9, 1e-3, 0.5, 1.1, 3, 1e3, 1e9)
            changes = [f"{float(one.group()) * pick.choice(factors):.6g}"] * 3
            changes += [other.group(), other.group(), pick.choice(NUMBERS)]
        text = text[: one.start()] + pick.choice(changes) + text[one.end() :]
    return text


def descriptions() -> list[str]:
    """Everything that ships, and an assembly problem: small ones more often."""
    texts = [source_of(name)[0] for name in list_examples()]
    return [*texts, *(source_of(name)[0] for name in SMALL for _ in range(3)), PARTS]


PARTS = (Path(__file__).parents[2] / "docs" / "cartesian.md").read_text(encoding="utf-8")
PARTS = next(iter(re.findall(r"```yaml\n(.*?)```", PARTS, re.S)), "bodies: {}\n")


# -- argument lines ---------------------------------------------------------------------------------------

VALUES = (
    "0",
    "-1",
    "nan",
    "inf",
    "1e308",
    "1e-30",
    "",
    " ",
    "x",
    "0.01",
    "1",
    "2",
    "10 deg",
    "3 kg",
    "1e-320",
    "1,2",
)
NAMES = (
    "all",
    "crank",
    "motor1",
    "body.crank.mass",
    "joint.*.position",
    "energy",
    "*",
    "[",
    "crank_pin",
    "é",
    "a.b[9]",
)
NAMES += (
    "body.coupler.position[3]",
    "gravity",
    "input.crank",
    "crank_pin,ground_pin",
    "auto",
    "tangent",
    "q",
    "s",
)
FILES = (
    "x.png",
    "x.csv",
    "x.json",
    "no/x.png",
    ".",
    "/dev/null",
    "x",
    "pose.json",
    "x.yaml",
    "x.fmu",
    "x.html",
    "-",
)
LAWS = (
    "sine(amplitude=1)",
    "step(to=1)",
    "ramp(",
    "1e308*2",
    "pd(kp=1)",
    "pd()",
    "table.csv:a",
    "((((",
    "1:3:0.5",
)
LAWS += ("~normal(1,0.1)", "~uniform(2,1)", "0.1,0.2")


def arguments(name: str) -> list[argparse.Action]:
    parser = argparse.ArgumentParser()
    command.add_arguments(importlib.import_module(command.commands()[name].module), name, parser)
    return [action for action in parser._actions if action.dest != "help"]


def value(action: argparse.Action, pick: random.Random) -> str:
    """Something for an argument: often of the kind it takes, sometimes of another."""
    meta = str(action.metavar or action.dest)
    if action.choices and pick.random() < 0.8:
        return str(pick.choice(list(action.choices)))
    kinds = [VALUES, NAMES, FILES, LAWS]
    if "=" in meta:
        return f"{pick.choice(NAMES)}{pick.choice(('=', '=', '=', '', '=='))}{pick.choice([*VALUES, *LAWS])}"
    if meta in ("FILE", "FOLDER") and pick.random() < 0.9:
        return pick.choice(FILES)
    if meta in ("S", "T", "H", "N", "X", "HZ", "G", "M", "A,E") and pick.random() < 0.9:
        return pick.choice(VALUES)
    return pick.choice(pick.choice(kinds))


def line(pick: random.Random) -> list[str]:
    """A command with some of its options, most of them once."""
    name = pick.choice(list(command.commands()))
    known = arguments(name)
    words = [name]
    for action in (a for a in known if not a.option_strings):
        if pick.random() < 0.95:
            good = pick.choice(SMALL) if action.dest in ("mechanism", "file") else value(action, pick)
            words.append(good if pick.random() < 0.9 else value(action, pick))
    options = [a for a in known if a.option_strings]
    for action in pick.sample(options, min(len(options), pick.randint(0, 4))):
        words.append(pick.choice(action.option_strings))
        if action.nargs != 0:
            count = pick.randint(1, 3) if action.nargs in ("+", "*") else 1
            words += [value(action, pick) for _ in range(count)]
    if name in ("simulate", "verify", "sweep") and "--time" not in words:
        words += ["--time", "0.01"]
    if pick.random() < 0.1:
        words.append(pick.choice(("--nothing", "--json", "extra", "--time")))
    return words


# -- both -------------------------------------------------------------------------------------------------


class Runs:
    """Lines in a folder of their own, with a count of how they ended; `faults` tells what must not be."""

    def __init__(self, folder: Path):
        self.work, self.scratch = folder / "work", folder / "scratch"
        for path in (self.work, self.scratch):
            path.mkdir()
        self.env = {
            "CUTJOINT_COMPILE": "0",  # compilers are slow, and have tests of their own
            "CUTJOINT_CACHE": str(folder / "cache"),
            "TMPDIR": str(self.scratch),
            "MPLCONFIGDIR": str(folder),
            "OMP_NUM_THREADS": "1",
        }
        self.ends: Counter[int] = Counter()
        self.faults: list[str] = []
        self.longest = (0.0, "")

    def run(self, label: str, words: list[str], given: dict[str, str]) -> Ended:
        for name, text in given.items():
            (self.work / name).write_text(text, encoding="utf-8", errors="surrogateescape")
        long = any(word in LONG for word in words)
        ended = cutjoint(words, self.work, self.env, A_WHILE if long else None)
        self.ends[ended.code] += 1
        self.longest = max(self.longest, (ended.seconds, f"{label}: {words}"))
        left = {path.name for path in self.work.iterdir()} - set(given)
        asked = {Path(word).name for word in words} | {f"{words[1]}.yaml" if len(words) > 1 else ""}
        asked |= {f"{Path(word).stem}.fmu" for word in words}
        asked |= {
            Path(word).parts[0] for word in words if "/" in word
        }  # folders of figures, with those above
        if words[:2] == ["reproduce", "all"]:  # figures of the studies that ended stay
            left -= asked
        asked |= {f"{Path(word).stem}.loops.yaml" for word in words if word.endswith(".urdf")}
        wrong = []
        if ended.left:
            wrong.append(f"left {ended.left} processes")
        if ended.code not in (*FINE, *((5, 130) if long else ())):
            wrong.append(f"exit code {ended.code}")
        if "Traceback" in ended.err or "cutjoint: unexpected" in ended.err:
            wrong.append("a traceback")
        if left and (ended.code not in (0, 4) or not left <= asked):
            wrong.append(f"left {sorted(left)}")
        if rest := os.listdir(self.scratch):
            wrong.append(f"left {rest} among temporary files")
        if re.search(r"(?<![\w.'])nan(?![\w'])", ended.out) and ended.code == 0:
            wrong.append("nan")
        if wrong:
            said = " | ".join(ended.err.strip().splitlines()[-3:])
            self.faults.append(f"{label}: {words}: {', '.join(wrong)}: {said}")
        for path in (*self.work.iterdir(), *self.scratch.iterdir()):
            path.unlink() if path.is_file() else _remove(path)
        return ended

    def told(self) -> str:
        counts = ", ".join(f"{count} with {code}" for code, count in sorted(self.ends.items()))
        seconds, which = self.longest
        return f"{self.ends.total()} lines ended: {counts}; the longest took {seconds:.1f} s: {which}"


def _remove(folder: Path) -> None:
    import shutil

    shutil.rmtree(folder)


def warm() -> None:
    """What every child would import by itself."""
    for name in command.commands():
        if name not in ("node", "replay", "view", "complete"):
            importlib.import_module(command.commands()[name].module)
    for module in ("cutjoint.model.batch.executors", "cutjoint.model.show.picture", "scipy.optimize"):
        importlib.import_module(module)


def numbers(count: int) -> Iterator[int]:
    """Seeds; a part of them, or one, if the environment says so (FUZZ=300:400)."""
    first, _, last = os.environ.get("FUZZ", f"0:{count}").partition(":")
    return iter(range(int(first), int(last or int(first) + 1)))


def spoil_descriptions(folder: Path, count: int) -> Runs:
    runs, texts = Runs(folder), descriptions()
    warm()
    for seed in numbers(count):
        pick = random.Random(f"description {seed}")
        text, tried = spoilt(pick.choice(texts), pick), pick.choice(TRIED)
        runs.run(f"description {seed}", [tried[0], "x.yml", *tried[1:]], {"x.yml": text})
    return runs


def spoil_lines(folder: Path, count: int) -> Runs:
    runs = Runs(folder)
    warm()
    pose = json.dumps({"coordinates": {"crank_pin": [0.1]}})
    for seed in numbers(count):
        pick = random.Random(f"line {seed}")
        runs.run(f"line {seed}", line(pick), {"pose.json": pose})
    return runs


@pytest.mark.parametrize("spoil", [spoil_descriptions, spoil_lines])
def test_some(spoil, tmp_path: Path) -> None:
    runs = spoil(tmp_path, FEW)
    assert not runs.faults, "\n".join(runs.faults)


@pytest.mark.study
@pytest.mark.timeout(4 * 3600)
@pytest.mark.parametrize("spoil", [spoil_descriptions, spoil_lines])
def test_five_thousand(spoil, tmp_path: Path) -> None:
    runs = spoil(tmp_path, MANY)
    print(f"\n{spoil.__name__}: {runs.told()}")
    print("\n".join(runs.faults))
    assert not runs.faults
