"""The demo's page: one HTML file with pictures, motion and numbers inside; it loads nothing."""

from __future__ import annotations

import html
import platform
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..model.show import player

STYLE = """
h2 { margin-top: 2.5rem; border-bottom: 1px solid #ddd; }
code { background: #f3f3f3; padding: .1em .35em; border-radius: 3px; font-size: 90%; }
code { overflow-wrap: anywhere; }
table { border-collapse: collapse; } td { padding: .15rem 1.2rem .15rem 0; vertical-align: top; }
td:first-child { color: #666; white-space: nowrap; }
img { max-width: 100%; } figure { margin: 1rem 0; } figcaption { color: #666; font-size: 90%; }
"""

# Plays a recorded motion.
FILM = """
const film = JSON.parse(document.getElementById('film').textContent);
const slider = document.getElementById('when'), button = document.getElementById('play');
const says = document.getElementById('says');
const show = player(film.scene, document.getElementById('motion'), document.getElementById('arrows'));
let playing = false, begin = 0;
slider.max = film.frames.length - 1;
film.frames.forEach(show.widen);

function picture() {
  const frame = film.frames[+slider.value];
  show.draw(frame);
  says.textContent = frame.time.toFixed(2) + ' s, singularity distance ' + frame.distance.toFixed(3);
}
function tick(now) {
  if (!playing) return;
  slider.value = Math.floor((now - begin) / 20) % film.frames.length;
  picture(); requestAnimationFrame(tick);
}
button.onclick = () => {
  playing = !playing; button.textContent = playing ? 'Pause' : 'Play';
  if (playing) { begin = performance.now() - 20 * slider.value; requestAnimationFrame(tick); }
};
slider.oninput = () => { playing = false; button.textContent = 'Play'; picture(); };
picture();
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


def film(scene: dict[str, Any], frames: Sequence[dict[str, Any]]) -> str:
    """A recorded motion: a canvas, its controls, and the frames as data."""
    return (
        "<p>The simulation below, drawn. Drag to turn it. Arrows are reactions: forces of each joint's "
        "parent on its child.</p><canvas id='motion'></canvas><div class='controls'>"
        "<button id='play'>Play</button><input id='when' type='range' min='0' max='1' step='1' value='0'>"
        "<span id='says'></span><label><input id='arrows' type='checkbox' checked> reactions</label></div>"
        f"{player.data('film', {'scene': scene, 'frames': list(frames)})}"
        f"<script>{player.script()}{FILM}</script>"
        "<p>To drive it by hand: <code>cutjoint view stewart</code>.</p>"
    )
