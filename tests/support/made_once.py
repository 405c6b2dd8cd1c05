"""What takes long to make and no test changes: made once for all tests of a run, whatever worker needs it."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from cutjoint.model.compile.cache import alone
from cutjoint.model.compile.kernel import digest

SHARED = "CUTJOINT_TESTS_SHARE"  # names the folder; `conftest.py` makes and removes it


@cache
def shared() -> Path:
    return Path(os.environ.get(SHARED) or tempfile.mkdtemp(prefix="cutjoint-tests-"))


def made_once(make: Callable[[Path], Any], ending: str, *key: Any) -> Path:
    """The file or folder that `make` wrote, by this process or by another; the key says all it depends on."""
    path = shared() / f"{digest(*map(repr, key))}{ending}"
    with alone(path, path.name):
        if not path.exists():
            unfinished = path.with_name(f"unfinished-{path.name}")
            make(unfinished)
            unfinished.rename(path)
    return path


def text_of(name: str) -> str:
    """A description's text for a key, as files are written anew by every process; an example's name."""
    return Path(name).read_text(encoding="utf-8") if os.sep in name else name
