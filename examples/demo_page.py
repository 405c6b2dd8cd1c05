"""The demo's page: one HTML file with pictures, motion and numbers inside; it loads nothing."""

from __future__ import annotations

import html
import json
import platform
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..model.show.picture import COLOURS
from ..model.show.sketch import family

STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; color: #222; max-width: 960px; margin: 0 auto; padding: 1.5rem; }
h1 { margin-bottom: 0; } h2 { margin-top: 2.5rem; border-bottom: 1px solid #ddd; }
code { background: #f3f3f3; padding: .1em .35em; border-radius: 3px; font-size: 90%; }
code { overflow-wrap: anywhere; }
table { border-collapse: collapse; } td { padding: .15rem 1.2rem .15rem 0; vertical-align: top; }
td:first-child { color: #666; white-space: nowrap; }
img { max-width: 100%; } figure { margin: 1rem 0; } figcaption { color: #666; font-size: 90%; }
canvas { width: 100%; aspect-ratio: 16/10; border: 1px solid #ddd; border-radius: 4px; touch-action: none; }
.note { background: #fff6dd; padding: .5rem .8rem; border-left: 4px solid #f0b400; }
.controls { display: flex; gap: 1rem; align-items: center; margin: .5rem 0; } .controls input { flex: 1; }
"""

SCRIPT = """
const film = JSON.parse(document.getElementById('film').textContent);
const canvas = document.getElementById('motion'), pen = canvas.getContext('2d');
const slider = document.getElementById('when'), button = document.getElementById('play');
const says = document.getElementById('says'), arrows = document.getElementById('arrows');
let azimuth = -1.3, elevation = 0.35, playing = false, begin = 0;
slider.max = film.frames.length - 1;

function flat(p) {
  const x = p[0] - film.middle[0], y = p[1] - film.middle[1], z = p[2] - film.middle[2];
  const s = Math.sin(azimuth), c = Math.cos(azimuth), k = canvas.height / (1.2 * film.size);
  const across = -s * x + c * y, away = c * x + s * y;
  const up = Math.cos(elevation) * z - Math.sin(elevation) * away;
  return [canvas.width / 2 + k * across, canvas.height / 2 - k * up,
          Math.cos(elevation) * away + Math.sin(elevation) * z];
}
function line(points, colour, width, fill) {
  pen.beginPath();
  points.forEach((p, i) => i ? pen.lineTo(p[0], p[1]) : pen.moveTo(p[0], p[1]));
  pen.strokeStyle = colour; pen.lineWidth = width; pen.lineCap = pen.lineJoin = 'round';
  if (fill) {
    pen.closePath(); pen.globalAlpha = 0.55; pen.fillStyle = colour; pen.fill(); pen.globalAlpha = 1;
  }
  pen.stroke();
}
function draw() {
  const frame = film.frames[+slider.value], wide = canvas.height / 90;
  pen.clearRect(0, 0, canvas.width, canvas.height);
  const parts = Object.entries(frame.bodies).map(([name, points]) => [name, points.map(flat)]);
  const depth = points => points.reduce((sum, p) => sum + p[2], 0) / (points.length || 1);
  parts.sort((a, b) => (a[0] !== 'ground') - (b[0] !== 'ground') || depth(a[1]) - depth(b[1]));
  for (const [name, points] of parts) {
    line(points, film.colours[name], name === 'ground' ? 1 : wide, points.length > 2);
    for (const p of points) {
      pen.beginPath(); pen.arc(p[0], p[1], 0.8 * wide, 0, 7);
      pen.fillStyle = 'white'; pen.fill(); pen.lineWidth = 2; pen.strokeStyle = '#222'; pen.stroke();
    }
  }
  if (arrows.checked) for (const [place, force] of frame.forces) {
    const a = flat(place), b = flat(place.map((x, k) => x + force[k] * film.metres_per_newton));
    line([a, b], '#dc3c8c', 3);
    const angle = Math.atan2(b[1] - a[1], b[0] - a[0]);
    if (Math.hypot(b[0] - a[0], b[1] - a[1]) > 8)
      { const side = t => [b[0] + 12 * Math.cos(angle + t), b[1] + 12 * Math.sin(angle + t)];
        line([side(-2.6), b, side(2.6)], '#dc3c8c', 3); }
  }
  says.textContent = frame.time.toFixed(2) + ' s, singularity distance ' + frame.distance.toFixed(3);
}
function tick(now) {
  if (!playing) return;
  slider.value = Math.floor((now - begin) / 20) % film.frames.length;
  draw(); requestAnimationFrame(tick);
}
button.onclick = () => {
  playing = !playing; button.textContent = playing ? 'Pause' : 'Play';
  if (playing) { begin = performance.now() - 20 * slider.value; requestAnimationFrame(tick); }
};
slider.oninput = () => { playing = false; button.textContent = 'Play'; draw(); };
arrows.onchange = draw;
canvas.onpointermove = event => {
  if (!event.buttons) return;
  azimuth -= event.movementX / 150;
  elevation = Math.max(-1.5, Math.min(1.5, elevation + event.movementY / 150));
  draw();
};
function fit() {
  canvas.width = 2 * canvas.clientWidth; canvas.height = 2 * canvas.clientHeight; draw();
}
addEventListener('resize', fit); fit();
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


def page(chapters: Sequence[Chapter], frames: Sequence[dict[str, Any]], folder: Path, seconds: float) -> str:
    """The whole page as text."""
    parts = [_chapter(chapter) for chapter in chapters]
    parts.insert(min(1, len(parts)), _film(frames))
    files = "".join(
        f"<li><a href='{html.escape(f)}'>{html.escape(f)}</a></li>" for c in chapters for f in c.files
    )
    machine = f"Python {platform.python_version()}, {platform.system()} {platform.machine()}"
    return (
        "<!doctype html><html lang='en'><head><meta charset='utf-8'>"
        "<meta name='viewport' content='width=device-width, initial-scale=1'>"
        f"<title>Cutjoint: a platform on three legs</title><style>{STYLE}</style></head><body>"
        "<h1>Cutjoint</h1><p>A platform on three motor-driven legs, described once and taken through "
        "everything the engine does. Each chapter names the command that makes it. "
        f"All of it took {seconds:.0f} s on this machine ({html.escape(machine)}).</p>"
        + "".join(parts)
        + f"<h2>Files</h2><p>In <code>{html.escape(str(folder))}</code>:</p><ul>{files}</ul>"
        + f"<script>{SCRIPT}</script></body></html>\n"
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


def _film(frames: Sequence[dict[str, Any]]) -> str:
    """The moving picture: a canvas, its controls, and the poses as data."""
    cloud = [p for frame in frames for points in frame["bodies"].values() for p in points]
    low, high = ([f(p[k] for p in cloud) for k in range(3)] for f in (min, max))
    size = max(b - a for a, b in zip(low, high, strict=True))
    names = list(frames[0]["bodies"])
    families = list(dict.fromkeys(family(n) for n in names if n != "ground"))
    colours = {n: COLOURS[families.index(family(n))] for n in names if n != "ground"} | {"ground": "#bbbbbb"}
    sizes = sorted(sum(x * x for x in force) ** 0.5 for frame in frames for _, force in frame["forces"])
    usual = sizes[9 * len(sizes) // 10]  # the few largest may leave the picture
    film = {
        "frames": list(frames),
        "colours": colours,
        "middle": [(a + b) / 2 for a, b in zip(low, high, strict=True)],
        "size": size,
        "metres_per_newton": 0.25 * size / (usual or 1.0),
    }
    data = json.dumps(film, separators=(",", ":")).replace("</", "<\\/")
    return (
        "<h2>In motion</h2><p>The simulation below, drawn. Drag to turn it. Arrows are reactions: forces of "
        "each joint's parent on its child.</p><canvas id='motion'></canvas><div class='controls'>"
        "<button id='play'>Play</button><input id='when' type='range' min='0' max='1' step='1' value='0'>"
        "<span id='says'></span><label><input id='arrows' type='checkbox' checked> reactions</label></div>"
        f"<script id='film' type='application/json'>{data}</script>"
        "<p>To drive it by hand: <code>cutjoint view stewart</code>.</p>"
    )
