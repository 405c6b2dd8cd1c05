"""Laws from tables: values at times, held, joined by straight lines or by a cubic spline."""

from __future__ import annotations

import csv
import io
from bisect import bisect_right
from itertools import pairwise
from math import isfinite
from typing import Any

import numpy as np

from ..base.errors import DescriptionError, SimulationError
from ..base.units import quantity
from ..base.untrusted import LARGEST_TABLE, read_text
from ..describe.validation import nearest
from .law import Law, numbers

HELD, LINEAR, CUBIC = INTERPOLATIONS = ("held", "linear", "cubic")
REFUSED, KEPT = OUTSIDE = ("refused", "kept")  # what times outside of a table get: a sentence, or its ends


def table(
    times: Any, values: Any, interpolation: str = CUBIC, outside: str = REFUSED, name: str = "table"
) -> Law:
    """Values at increasing times: a cubic spline, straight lines, or each held until the next.

    times, values : seconds, increasing, and a value for each.
    interpolation : "cubic", "linear" or "held".
    outside : what it is before the first and after the last time: "refused", an error, or "kept", its ends.

    Steps of time end where lines meet or held values change; a spline has continuous accelerations.
    """
    for word, known in ((interpolation, INTERPOLATIONS), (outside, OUTSIDE)):
        if word not in known:
            raise DescriptionError(f"table '{name}': there is no '{word}'; known: {', '.join(known)}")
    t, x = numbers(times, name), np.asarray(values, float)
    if len(t) < 2 or len(x) != len(t) or (np.diff(t) <= 0).any() or not np.isfinite(x).all():
        raise DescriptionError(
            f"motion law '{name}' needs two or more increasing times and a finite value for each"
        )
    flat = x.reshape(len(x), -1)
    knots = tuple(t.tolist())
    if interpolation == CUBIC:
        from scipy.interpolate import CubicSpline  # few need it, and SciPy takes a while to import

        c = CubicSpline(t, flat).c
    elif interpolation == LINEAR:
        c = np.stack([np.diff(flat, axis=0) / np.diff(t)[:, None], flat[:-1]])
    else:
        c = flat[None, :-1]
    pieces = [c[:, k] if flat.shape[1] > 1 else c[:, k, 0] for k in range(len(t) - 1)]
    first, last = (row if flat.shape[1] > 1 else row.item() for row in (flat[0], flat[-1]))
    begin, end = knots[0], knots[-1]

    def evaluate(at: float) -> tuple[Any, Any, Any]:
        if begin <= at < end or (at == end and interpolation != HELD):
            k = min(bisect_right(knots, at), len(pieces)) - 1
            s = at - knots[k]
            x = dx = ddx = 0.0 * first
            for factor in pieces[k]:  # Horner's rule, differentiated twice
                x, dx, ddx = x * s + factor, dx * s + x, ddx * s + 2 * dx
            return x, dx, ddx
        if outside == REFUSED and at != end:
            raise SimulationError(
                f"motion law '{name}' is a table from {begin:g} to {end:g} s and says nothing at "
                f"t = {at:g} s; lengthen it"
            )
        return (first if at < begin else last), 0.0 * first, 0.0 * first

    span = (begin, end) if outside == REFUSED else Law.span
    breaks = (begin, end) if interpolation == CUBIC else knots
    longest = float(np.diff(t).min()) if interpolation == CUBIC else Law.longest
    return Law(name, flat.shape[1], evaluate, breaks=breaks, span=span, longest=longest)


def read_table(
    path: str, column: str, unit: str, time: str = "", interpolation: str = LINEAR, outside: str = REFUSED
) -> Law:
    """A column of a CSV file as a law in SI; the file's first line names the columns.

    `time` names the column of times; "time" if there is one, otherwise the first. A title may end with a
    unit, `torque (N.mm)`; numbers without are in `unit` and in seconds.
    """
    titles, rows = _rows(path)
    known = [_name_and_unit(title)[0] for title in titles]
    wanted = _place(path, titles, known, column)
    times = _place(path, titles, known, time) if time else known.index("time") if "time" in known else 0
    if wanted == times:
        raise DescriptionError(f"'{path}': column '{column}' holds the times; name another")
    t = _column(path, titles[times], rows, times, "s")
    for k, (a, b) in enumerate(pairwise(t)):
        if b <= a:
            raise DescriptionError(
                f"'{path}', line {rows[k + 1][0]}: times must increase, but {b:g} s follows {a:g} s"
            )
    if len(t) < 2:
        raise DescriptionError(f"'{path}' has {len(t)} row(s) of numbers; a table needs two or more")
    values = _column(path, titles[wanted], rows, wanted, unit)
    return table(t, values, interpolation, outside, f"{path}:{column}")


def _rows(path: str) -> tuple[list[str], list[tuple[int, list[str]]]]:
    """Titles, and every further row that is not empty with the line it ends at."""
    try:
        reader = csv.reader(io.StringIO(read_text(path, LARGEST_TABLE, "table", "CSV"), newline=""))
        titles = next(reader, [])
        rows = [(reader.line_num, row) for row in reader if row]
    except csv.Error as error:
        raise DescriptionError(f"'{path}' is no table of text (CSV): {error}") from error
    if not titles:
        raise DescriptionError(f"'{path}' is empty; a table begins with a line of names")
    for line, row in rows:
        if len(row) != len(titles):
            raise DescriptionError(
                f"'{path}', line {line}: it has {len(row)} cells, but there are {len(titles)} columns"
            )
    return titles, rows


def _name_and_unit(title: str) -> tuple[str, str | None]:
    """Of "torque (N.mm)"."""
    name, opened, unit = title.strip().rpartition("(")
    if opened and unit.endswith(")") and ")" not in unit[:-1]:
        return name.strip(), unit[:-1]
    return title.strip(), None


def _place(path: str, titles: list[str], known: list[str], name: str) -> int:
    for names in (titles, known):
        if name in names:
            return names.index(name)
    raise DescriptionError(f"'{path}' has no column '{name}'; {nearest(name, known)}")


def _column(path: str, title: str, rows: list[tuple[int, list[str]]], place: int, unit: str) -> list[float]:
    _, own = _name_and_unit(title)
    try:
        scale = 1.0 if own is None else quantity(f"1 {own}", unit)
    except DescriptionError as error:
        raise DescriptionError(f"'{path}': column '{title}' {error}") from None
    found = []
    for line, row in rows:
        try:
            x = float(row[place])
        except ValueError:
            raise DescriptionError(
                f"'{path}', line {line}: '{row[place][:40]}' in column '{title}' is not a number"
            ) from None
        if not isfinite(x):
            raise DescriptionError(f"'{path}', line {line}: column '{title}' must be finite, not {x}")
        found.append(scale * x)
    return found
