"""Settings all tests share."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

# Tests draw without a display and never ask for one.
os.environ["MPLBACKEND"] = "Agg"
# A traceback hidden from users is what we want to see when a test fails unexpectedly; tests
# of the command line's own messages must not inherit the switch.
os.environ.pop("CUTJOINT_DEBUG", None)


@pytest.fixture(scope="session", autouse=True)
def own_packages() -> None:
    """Neighbours of the clone are none of our packages: its root is one, so pytest makes them importable."""
    beside = str(Path(__file__).resolve().parents[2])
    sys.path[:] = [path for path in sys.path if path != beside]
