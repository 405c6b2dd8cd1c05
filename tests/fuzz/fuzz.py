"""`make fuzz`: inputs that reach ever more code, for readers by atheris and for C by libFuzzer.

    python tests/fuzz/fuzz.py [--seconds 60] [--work build/fuzz] [TARGET ...]

What is found is kept in the work folder as `TARGET/crash-*`, with the report in `TARGET/log`. Once mended, it
goes to `corpus/TARGET`, where `test_corpus.py` tries it every day. Inputs that reached new code stay for the
next run.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).resolve().parent
ROOT, CORPUS = HERE.parents[1], HERE / "corpus"
IN_C = ("gate", "fmu2", "fmu3")
BINARY = ("mesh", "recording", "sweep", "packets", "archive")
ODD = (
    b"0",
    b"-1",
    b"1e308",
    b"nan",
    b"-inf",
    b"1e-320",
    b"99999999999",
    b"*",
    b"..",
    b"/",
    b"${",
    b"}",
    b"__class__",
)
LIMITS = (
    "-timeout=1200",
    "-rss_limit_mb=3000",
    "-malloc_limit_mb=2500",
    "-max_len=16384",
    "-print_final_stats=1",
)
EXECUTED, COVERED = re.compile(rb"number_of_executed_units: (\d+)"), re.compile(rb"cov: (\d+)")


class Outcome(NamedTuple):
    """What a target went through."""

    executions: int
    minutes: float
    covered: int
    found: list[str]


def processor_seconds(process: subprocess.Popen[bytes]) -> float:
    """What it and its ended children computed: a busy machine makes a run longer, not poorer."""
    fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def run_target(words: list[str], work: Path, corpus: Path, seconds: float) -> Outcome:
    """Fuzz until the processor's time is used up; after a finding, go on."""
    grown = work / "corpus"
    grown.mkdir(parents=True, exist_ok=True)
    before = set(work.iterdir())
    spent, executions, covered = 0.0, 0, 0
    with (work / "log").open("a+b") as log:
        while spent < seconds - 1:
            begin, used = log.seek(0, os.SEEK_END), 0.0
            options = [*LIMITS, f"-artifact_prefix={work}/", grown, corpus]
            with subprocess.Popen([*words, *options], stdout=log, stderr=log) as process:
                while process.poll() is None:
                    used = processor_seconds(process)
                    if spent + used >= seconds:
                        process.send_signal(signal.SIGUSR1)  # ends after the input at hand
                    time.sleep(0.5)
            log.seek(begin)
            said = log.read()
            latest = int((EXECUTED.findall(said) or [0])[-1])
            executions, spent = executions + latest, spent + used
            covered = max([covered, *map(int, COVERED.findall(said))])
            if not latest:
                raise SystemExit(f"{words[-1]}: it did not start; see {work / 'log'}")
    found = sorted(path.name for path in set(work.iterdir()) - before if path.name not in ("log", "corpus"))
    return Outcome(executions, spent / 60, covered, found)


def with_words_exchanged(data: bytes, most: int, seed: int) -> bytes:
    """Text with words, marks or runs of them lost, doubled or exchanged: still nearly what a reader knows."""
    pick = random.Random(seed)
    pieces = re.findall(rb"[\w.]+|\s+|.", data, re.DOTALL) or [b""]
    for _ in range(pick.randint(1, 4)):
        at, to = pick.randrange(len(pieces)), pick.randrange(len(pieces))
        run = pieces[to : to + pick.choice((1, 1, 1, 5, 20))]
        pieces[at : at + pick.randint(0, len(run))] = pick.choice((run, run, [pick.choice(ODD)], []))
        pieces = pieces or [b""]
    return b"".join(pieces)[:most]


def fuzz_reader(name: str, options: list[str]) -> None:
    """In a process of its own: a reader, with the code that it runs watched."""
    import atheris

    with atheris.instrument_imports(include=["cutjoint"]):
        from readers import try_target

    def mutated(data: bytes, most: int, seed: int) -> bytes:
        return with_words_exchanged(data, most, seed) if seed % 4 else atheris.Mutate(data, most)

    with tempfile.TemporaryDirectory(prefix="cutjoint-fuzz-") as folder:
        mutate = {} if name in BINARY else {"custom_mutator": mutated}
        atheris.Setup([name, *options], lambda data: try_target(name, data, Path(folder)), **mutate)
        atheris.Fuzz()


def words_for(name: str, work: Path) -> list[str]:
    """The program of a target; an empty list, after saying why, if it can't be had here."""
    if name not in IN_C:
        if find_spec("atheris") is not None:
            return [sys.executable, str(Path(__file__)), "--inside", name]
        print(f"{name}: needs atheris, which has no wheel for this Python; skipped")
    elif shutil.which("clang") is None:
        print(f"{name}: needs clang with libFuzzer; skipped")
    else:
        from targets_in_c import build

        return [str(build(name, work))]
    return []


def main() -> int:
    from readers import TARGETS

    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--work", type=Path, default=Path("build/fuzz"))
    parser.add_argument("targets", nargs="*", default=[*TARGETS, *IN_C])
    args = parser.parse_args()
    found = 0
    for name in args.targets:
        work = args.work.resolve() / name
        work.mkdir(parents=True, exist_ok=True)
        if words := words_for(name, work):
            seeds = ROOT / "examples" if name == "description" else CORPUS / name
            done = run_target(words, work, seeds, args.seconds)
            what = f"{len(done.found)} findings: {', '.join(done.found)}" if done.found else "no finding"
            print(
                f"{name}: {done.executions} executions in {done.minutes:.1f} min of the processor, ", end=""
            )
            print(f"{done.covered} places reached, {what}", flush=True)
            found += len(done.found)
    return int(found > 0)


if __name__ == "__main__":
    sys.path[:0] = [str(HERE), str(HERE.parent / "support")]
    if sys.argv[1:2] == ["--inside"]:
        fuzz_reader(sys.argv[2], sys.argv[3:])
    else:
        sys.exit(main())
