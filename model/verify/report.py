"""What a trust report says: one line a check."""

from dataclasses import dataclass
from math import inf
from typing import Any

from ..display import Displayed

WORDS = {True: "ok", False: "FAILED", None: "not asked"}


@dataclass(frozen=True)
class Check:
    """One question to a mechanism: the number found, the most it may be, and what it is.

    `passed` is None where the question makes no sense for this motion; `says` then tells why.
    """

    name: str
    value: float
    limit: float
    says: str
    passed: bool | None

    @property
    def verdict(self) -> str:
        return WORDS[self.passed]


def limited(name: str, value: float, limit: float, says: str, more: bool = True) -> Check:
    """A check that passes if the value is within its limit, and `more` holds; NaN never does."""
    return Check(name, float(value), limit, says, bool(value <= limit) and more)


def not_asked(name: str, why: str) -> Check:
    return Check(name, 0.0, inf, why, None)


@dataclass(frozen=True)
class TrustReport(Displayed):
    """All checks of a mechanism; it is to be trusted if none failed."""

    mechanism: str
    time: float
    step: float
    stepper: str
    checks: tuple[Check, ...]

    @property
    def passed(self) -> bool:
        return all(check.passed is not False for check in self.checks)

    def __getitem__(self, name: str) -> Check:
        return next(check for check in self.checks if check.name == name)

    def data(self) -> dict[str, Any]:
        """For machines."""
        return {
            **{name: getattr(self, name) for name in ("mechanism", "time", "step", "stepper", "passed")},
            "checks": [vars(check) for check in self.checks],
        }
