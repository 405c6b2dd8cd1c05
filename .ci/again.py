"""Try the tests that failed once more, one by one; `make again`, after a `make test` that failed.

What then passes was unsteady: it is listed with its first failure in full, and is to be mended the day it is
met. What fails twice fails the run. More than a few failures are no unsteadiness, and are not tried again.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

FEW = 25
ROOT = Path(__file__).resolve().parents[1]
FAILED = ROOT / "build" / "failed.json"  # written by tests/support/report.py


class Passed:
    """Collects the tests of which every part passed: one that is skipped now has not."""

    def __init__(self) -> None:
        self.good: set[str] = set()
        self.bad: set[str] = set()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        (self.good if report.passed else self.bad).add(report.nodeid)

    @property
    def tests(self) -> set[str]:
        return self.good - self.bad


def main() -> int:
    if not FAILED.exists():
        print("again: no list of failed tests; a run that did not come to its end can't be made up for")
        return 1
    failed: dict[str, str] = json.loads(FAILED.read_text(encoding="utf-8"))
    if len(failed) > FEW:
        print(f"again: {len(failed)} tests failed, more than {FEW}: that is no unsteadiness")
        return 1
    print(f"== once more, alone: {len(failed)} of the tests, which failed beside the others")
    seen = Passed()
    code = pytest.main(
        ["-q", "-n", "0", "-p", "no:cacheprovider", "--rootdir", str(ROOT), *failed], plugins=[seen]
    )
    unsteady = sorted(seen.tests & set(failed))
    print(f"\n== unsteady: {len(unsteady)}")
    for test in unsteady:
        print(f"\n{test} failed at first:\n\n{failed[test]}")
    twice = sorted(set(failed) - seen.tests)
    print(f"\n== failed twice: {len(twice)}", *twice, sep="\n")
    print(f"\n{len(unsteady)} passed, {len(twice)} failed")
    return int(code) or int(bool(twice))


if __name__ == "__main__":
    sys.exit(main())
