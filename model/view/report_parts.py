"""Parts of pages: tables, pictures and verdicts as HTML; every text is escaped."""

import base64
import html
from collections.abc import Iterable, Sequence
from typing import Any

from ..base.thresholds import TRUSTED
from ..run.run_quality import RunQuality
from ..run.trajectory import Trajectory
from ..show.plot import as_png, draw_plot
from ..show.table import text as shown

MOST_PLOTTED = 24  # columns of a plot that can still be read


def verdict(judgement: RunQuality) -> str:
    """Whether a run can be trusted, and why."""
    part = (
        f"Energy and work balance up to {judgement.part:.2g} of what was exchanged; "
        f"up to {TRUSTED:g} a run is trusted."
        if judgement.part
        else "Energy and work balance to round-off."
    )
    if judgement.trusted:
        return f"<div class='verdict'>This run can be trusted. {part}</div>"
    advice = "Take smaller steps, a tighter tolerance, or the implicit stepper."
    return f"<div class='verdict bad'>Do not trust this run: {'; '.join(judgement.doubts)}. {advice}</div>"


def rows(pairs: Iterable[tuple[str, Any]]) -> str:
    """What something is, line by line."""
    cells = "".join(
        f"<tr><td>{html.escape(str(a))}</td><td>{html.escape(shown(b))}</td></tr>" for a, b in pairs
    )
    return f"<div class='wide'><table>{cells}</table></div>"


def grid(head: Sequence[str], lines: Iterable[Sequence[Any]]) -> str:
    """Lines below a head; numbers to the right."""

    def cells(tag: str, row: Sequence[Any], like: Sequence[Any]) -> str:
        return "".join(
            f"<{tag}{'' if isinstance(kind, str) else ' class=number'}>{html.escape(shown(x))}</{tag}>"
            for x, kind in zip(row, like, strict=True)
        )

    listed = list(lines)
    body = "".join(f"<tr>{cells('td', row, row)}</tr>" for row in listed)
    top = cells("th", head, listed[0] if listed else head)
    return f"<div class='wide'><table><tr>{top}</tr>{body}</table></div>"


def image(figure: Any, about: str) -> str:
    """A figure within the page."""
    address = f"data:image/png;base64,{base64.b64encode(as_png(figure, tight=True)).decode()}"
    told = html.escape(about)
    return f"<figure><img src='{address}' alt='{told}'><figcaption>{told}</figcaption></figure>"


def plot(motion: Trajectory, about: str) -> str:
    """Columns over time."""
    if not motion.names:
        return "<p>None.</p>"
    columns = dict(zip(motion.names, motion.values.T, strict=True))
    left_out = list(columns)[MOST_PLOTTED:]
    drawn = {name: columns[name] for name in list(columns)[:MOST_PLOTTED]}
    units = dict(zip(motion.names, motion.units, strict=False))
    note = f"<p>{len(left_out)} more columns are not drawn.</p>" if left_out else ""
    return image(draw_plot(motion.time, drawn, "", units), about) + note


def ranges(motion: Trajectory, most: int | None = None) -> str:
    """First, last, lowest and highest value of every column, or of the first ones."""
    if not motion.names:
        return ""
    lines = []
    units = motion.units or ("1",) * len(motion.names)
    for name, unit, x in list(zip(motion.names, units, motion.values.T, strict=True))[:most]:
        lines.append((name, "" if unit == "1" else unit, x[0], x[-1], x.min(), x.max()))
    head = ("output", "unit", "at the start", "at the end", "lowest", "highest")
    more = len(motion.names) - len(lines)
    return grid(head, lines) + (f"<p>{more} more columns are not listed.</p>" if more else "")
