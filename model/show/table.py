"""Tables of words and numbers for people."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np


def table(rows: Iterable[Sequence[Any]], header: Sequence[str] = (), indent: str = "  ") -> str:
    """Columns side by side; numbers to the right, words to the left."""
    body = [[text(cell) for cell in row] for row in rows]
    lines = [list(header), *body] if header else body
    columns = len(lines[0]) if lines else 0
    right = [all(_is_number(row[k]) for row in body) for k in range(columns)]
    widths = [max(len(line[k]) for line in lines) for k in range(len(right))]
    aligned = (
        (cell.rjust(w) if r else cell.ljust(w) for cell, w, r in zip(line, widths, right, strict=True))
        for line in lines
    )
    return "\n".join((indent + "  ".join(cells)).rstrip() for cells in aligned)


def text(value: Any) -> str:
    """A number with six digits, a vector with commas, anything else as it is."""
    if isinstance(value, float | np.floating):
        return f"{value + 0.0:.6g}"  # no −0
    if isinstance(value, np.ndarray | list | tuple):
        return ", ".join(text(x) for x in value)
    return str(value)


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return cell == ""
    return True
