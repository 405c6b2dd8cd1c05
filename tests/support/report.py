"""What is said at the end of a run: seconds by folder, the slowest tests, how many passed and failed.

Tests that failed are written to `FAILED`, with their output: `make again` tries them once more, alone.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

FAILED = Path(__file__).resolve().parents[2] / "build" / "failed.json"
MANY = 100  # tests from which on a run is worth a table
SLOWEST = 10


def seconds_by_test(reports: list[pytest.TestReport]) -> Counter[str]:
    """Set-up, call and tear-down together."""
    total: Counter[str] = Counter()
    for report in reports:
        total[report.nodeid] += report.duration
    return total


def folder_of(test: str) -> str:
    """`tests/run/test_inputs.py::test_x` lies in `run`."""
    return Path(test.partition("::")[0]).parent.name


def table(seconds: Counter[str]) -> list[str]:
    folders: Counter[str] = Counter()
    counts: Counter[str] = Counter()
    for test, taken in seconds.items():
        folders[folder_of(test)] += taken
        counts[folder_of(test)] += 1
    rows = [f"{taken:8.1f} s {counts[name]:6} tests  {name}" for name, taken in folders.most_common()]
    slowest = [f"{taken:8.1f} s  {test}" for test, taken in seconds.most_common(SLOWEST)]
    return ["", "Seconds by folder:", *rows, "", "The slowest tests:", *slowest]


def count(stats: dict[str, list[Any]]) -> str:
    """The plain line that closes a run, in words that no runner of tests spells otherwise."""
    passed, skipped = (len(stats.get(kind, ())) for kind in ("passed", "skipped"))
    failed = {report.nodeid for report in stats.get("failed", []) + stats.get("error", [])}
    return f"{passed} passed, {len(failed)} failed, {skipped} skipped"


def failures(stats: dict[str, list[Any]]) -> dict[str, str]:
    """Test -> all that it said when it failed: the traceback and what it printed."""
    found: dict[str, str] = {}
    for report in stats.get("failed", []) + stats.get("error", []):
        printed = [f"--- {title}\n{text}" for title, text in report.sections]
        found[report.nodeid] = "\n".join(
            filter(None, [found.get(report.nodeid), report.longreprtext, *printed])
        )
    return found


def remember_failures(stats: dict[str, list[Any]]) -> None:
    FAILED.parent.mkdir(exist_ok=True)
    unfinished = FAILED.with_suffix(f".{os.getpid()}")
    unfinished.write_text(json.dumps(failures(stats), indent=1), encoding="utf-8")
    unfinished.replace(FAILED)


def pytest_sessionstart(session: pytest.Session) -> None:
    if session.config.getoption("remember_failures"):
        FAILED.unlink(missing_ok=True)


def pytest_terminal_summary(terminalreporter: Any, exitstatus: int) -> None:
    stats = terminalreporter.stats
    reports = [x for kind in stats.values() for x in kind]
    seconds = seconds_by_test([x for x in reports if isinstance(x, pytest.TestReport)])
    if len(seconds) >= MANY:
        for line in table(seconds):
            terminalreporter.write_line(line)
    # What a run did not come to, or could not collect, can't be made up for.
    whole = not any(isinstance(x, pytest.CollectReport) and x.failed for x in reports)
    wanted = terminalreporter.config.getoption("remember_failures")
    if wanted and whole and exitstatus == pytest.ExitCode.TESTS_FAILED:
        remember_failures(stats)


def pytest_unconfigure(config: pytest.Config) -> None:
    """After everything else; workers have no terminal."""
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    if reporter and not hasattr(config, "workerinput"):
        print(f"\n{count(reporter.stats)}", flush=True)


def pytest_addoption(parser: pytest.Parser) -> None:
    text = f"write the tests that failed to {FAILED.relative_to(FAILED.parents[1])}, for `make again`"
    parser.addoption("--remember-failures", action="store_true", help=text)
