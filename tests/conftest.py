"""Settings all tests share."""

from __future__ import annotations

import os

# Tests draw without a display and never ask for one.
os.environ["MPLBACKEND"] = "Agg"
# A traceback hidden from users is what we want to see when a test fails unexpectedly; tests
# of the command line's own messages must not inherit the switch.
os.environ.pop("CUTJOINT_DEBUG", None)
