"""Counts the lines of every room and puts them into the tables of docs/architecture.md.

python docs/site/rooms.py docs/architecture.md

A row that begins with a folder gets the lines of its sources in the last column, without those of folders
that have rows of their own; a row in bold gets the sum of the rows below it, down to the next one in bold.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCES = {".py", ".c", ".h", ".cpp", ".hpp", ".js"}
ROW = re.compile(r"^\| (?:`(?P<folder>[\w/]+)/`|\*\*.*\*\*) \|.*\| (?P<lines>[\d,]*) \|$")


def lines_of(folder: str, others: set[str]) -> int:
    """Lines of sources in a folder, but for those in `others`."""
    total = 0
    for path in (ROOT / folder).rglob("*"):
        inside = path.relative_to(ROOT).parents
        own = max((str(p) for p in inside if str(p) in others), key=len)
        if path.suffix in SOURCES and own == folder:
            total += len(path.read_text(encoding="utf-8").splitlines())
    return total


def updated(text: str) -> str:
    """The page with present numbers."""
    lines = text.splitlines()
    rows = [(k, found) for k, line in enumerate(lines) if (found := ROW.match(line))]
    folders = {found["folder"] for _, found in rows if found["folder"]}
    total = 0
    for k, found in reversed(rows):
        count = lines_of(found["folder"], folders) if found["folder"] else total
        total = total + count if found["folder"] else 0
        lines[k] = f"{lines[k][: found.start('lines')]}{count:,} |"
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    page = Path(sys.argv[1])
    page.write_text(updated(page.read_text(encoding="utf-8")), encoding="utf-8")
