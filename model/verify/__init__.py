"""The trust report: a mechanism put through what an expert would check before relying on it.

Every check is a function that returns a `Check`: a number, what it may be at most, and whether it is. None of
them asks the code it judges for the answer: steps are compared with shorter steps, forces with Newton's law
written out body by body, derivatives with differences, and the motion with the same motion in other units.
"""

from .report import Check, TrustReport
from .verify import verify

__all__ = ["Check", "TrustReport", "verify"]
