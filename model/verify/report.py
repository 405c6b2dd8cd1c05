"""What a trust report says: one line a check."""

from dataclasses import dataclass
from math import inf
from typing import Any

from ..base.display import Displayed

WORDS = {True: "ok", False: "FAILED", None: "skipped"}


@dataclass(frozen=True)
class Check:
    """One question to a mechanism: the number found, the most it may be, and what it is.

    `passed` is None where the question makes no sense for this motion; `says` then tells why.
    """

    name: str  # what is checked
    value: float  # what was found
    limit: float  # the most it may be
    says: str
    passed: bool | None

    @property
    def verdict(self) -> str:
        """Its outcome in a word."""
        return WORDS[self.passed]


def check_within(name: str, value: float, limit: float, says: str, more: bool = True) -> Check:
    """A check that passes if the value is within its limit, and `more` holds; NaN never does."""
    return Check(name, float(value), limit, says, bool(value <= limit) and more)


def skipped(name: str, why: str) -> Check:
    return Check(name, 0.0, inf, why, None)


@dataclass(frozen=True)
class TrustReport(Displayed):
    """All checks of a mechanism; it is to be trusted if none failed."""

    mechanism: str  # its name
    time: float  # of the motion, seconds
    step: float  # seconds
    stepper: str  # how steps were taken
    checks: tuple[Check, ...]  # in the order in which they were made
    mobility: str = ""  # its freedoms, and how many are driven, such as "2, 1 driven"

    @property
    def passed(self) -> bool:
        """Whether none failed."""
        return all(check.passed is not False for check in self.checks)

    @property
    def moved(self) -> bool:
        """Whether energy was exchanged: at rest, no motion was checked."""
        return any(check.name == "energy" and check.passed is not None for check in self.checks)

    def __getitem__(self, name: str) -> Check:
        return next(check for check in self.checks if check.name == name)

    def data(self) -> dict[str, Any]:
        """For machines."""
        return {
            **{name: getattr(self, name) for name in ("mechanism", "mobility", "time", "step", "stepper")},
            **{name: getattr(self, name) for name in ("moved", "passed")},
            "checks": [vars(check) for check in self.checks],
        }
