"""The demo's page: one HTML file with pictures, motion and numbers inside; it loads nothing."""

from __future__ import annotations

import html
import platform
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from cutjoint.model.view import player

STYLE = """
h2 { margin-top: 2.5rem; border-bottom: 1px solid #ddd; }
code { background: #f3f3f3; padding: .1em .35em; border-radius: 3px; font-size: 90%; }
code { overflow-wrap: anywhere; }
table { border-collapse: collapse; } td { padding: .15rem 1.2rem .15rem 0; vertical-align: top; }
td:first-child { color: #666; white-space: nowrap; }
img { max-width: 100%; } figure { margin: 1rem 0; } figcaption { color: #666; font-size: 90%; }
"""


@dataclass
class Chapter:
    """A part of the page: what was done, with which command, what came out."""

    title: str
    command: str
    about: str
    rows: list[tuple[str, str]] = field(default_factory=list)
    pictures: list[tuple[str, str]] = field(default_factory=list)  # (data address, what it shows)
    files: list[str] = field(default_factory=list)
    note: str = ""


def page(chapters: Sequence[Chapter], motion: str, folder: Path, seconds: float) -> str:
    """The whole page as text; `motion` is the part that moves."""
    parts = [_chapter(chapter) for chapter in chapters]
    parts.insert(min(1, len(parts)), f"<h2>In motion</h2>{motion}")
    files = "".join(
        f"<li><a href='{html.escape(f)}'>{html.escape(f)}</a></li>" for c in chapters for f in c.files
    )
    machine = f"Python {platform.python_version()}, {platform.system()} {platform.machine()}"
    return (
        "<!doctype html><html lang='en'><head><meta charset='utf-8'>"
        "<meta name='viewport' content='width=device-width, initial-scale=1'>"
        f"<title>Cutjoint: a platform on three legs</title><style>{player.STYLE}{STYLE}</style></head><body>"
        "<h1>Cutjoint</h1><p>A platform on three motor-driven legs, described once and taken through "
        "everything the engine does. Each chapter names the command that makes it. "
        f"All of it took {seconds:.0f} s on this machine ({html.escape(machine)}).</p>"
        + "".join(parts)
        + f"<h2>Files</h2><p>In <code>{html.escape(str(folder))}</code>:</p><ul>{files}</ul></body></html>\n"
    )


def _chapter(chapter: Chapter) -> str:
    rows = "".join(f"<tr><td>{html.escape(a)}</td><td>{html.escape(b)}</td></tr>" for a, b in chapter.rows)
    pictures = "".join(
        f"<figure><img src='{address}' alt='{html.escape(about)}'>"
        f"<figcaption>{html.escape(about)}</figcaption></figure>"
        for address, about in chapter.pictures
    )
    note = f"<p class='note'>{html.escape(chapter.note)}</p>" if chapter.note else ""
    return (
        f"<h2>{html.escape(chapter.title)}</h2><p>{html.escape(chapter.about)}</p>"
        f"<p><code>{html.escape(chapter.command)}</code></p>{note}<table>{rows}</table>{pictures}"
    )
