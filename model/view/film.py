"""A recorded motion as something to watch: a web page of one file, an animated picture, a video."""

import html
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from itertools import pairwise
from math import ceil
from pathlib import Path
from typing import Any

import numpy as np

from ..base.errors import CutjointError
from ..base.files import write_atomically
from ..describe.mechanism import GROUND, Mechanism
from ..joints.euler import rotation
from ..run.trajectory import Trajectory
from ..show.measures import arrow_newtons, whole_weight
from ..show.sketch import Angle, Pose
from ..simulation import Simulation
from . import player

ENDINGS = (".gif", ".mp4", ".html")
FRAMES_PER_SECOND = 25  # of a motion as fast as it was
MOST_FRAMES = 1500  # a minute: longer motions are played faster
_MISSING = "an MP4 needs ffmpeg, which is not installed: pip install imageio-ffmpeg, or write a .gif or .html"

# Plays a recorded motion.
SCRIPT = """
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
  says.textContent = frame.time.toFixed(2) + ' s' + (frame.says || '');
}
function tick(now) {
  if (!playing) return;
  slider.value = Math.floor((now - begin) / film.every) % film.frames.length;
  picture(); requestAnimationFrame(tick);
}
button.onclick = () => {
  playing = !playing; button.textContent = playing ? 'Pause' : 'Play';
  if (playing) { begin = performance.now() - film.every * slider.value; requestAnimationFrame(tick); }
};
slider.oninput = () => { playing = false; button.textContent = 'Play'; picture(); };
picture();
"""


def check_film(path: str | os.PathLike[str]) -> str:
    """The ending of a file for a motion, once it is sure that it can be made; long work asks before."""
    ending = Path(path).suffix.lower()
    if ending not in ENDINGS:
        raise CutjointError(f"can't animate into '{path}': the name must end in {', '.join(ENDINGS)}")
    if ending == ".mp4" and _ffmpeg() is None:
        raise CutjointError(_MISSING)
    return ending


def save_film(
    path: str | os.PathLike[str],
    simulation: Simulation,
    motion: Trajectory,
    angle: Angle | None = None,
    progress: Callable[[float], None] | None = None,
) -> None:
    """Write a motion in which the outputs of `frame_names` were recorded."""
    ending = check_film(path)
    if ending == ".html":
        with write_atomically(path) as temporary:
            temporary.write_text(film_page(simulation, motion, angle), encoding="utf-8")
        return
    chosen = frame_places(motion.time)
    images = _images(simulation.mechanism, motion, chosen, angle, progress)
    every = _every(motion.time, chosen)
    with write_atomically(path) as temporary:
        (_write_gif if ending == ".gif" else _write_mp4)(temporary, images, every)


# -- the page ------------------------------------------------------------------------------------


def film_page(
    simulation: Simulation, motion: Trajectory, angle: Angle | None = None, headed: bool = True
) -> str:
    """A whole page that plays a motion; it loads nothing."""
    name = html.escape(simulation.mechanism.name)
    about = html.escape(simulation.mechanism.description)
    head = f"<h1>{name}</h1><p>{about}</p>" if headed else ""
    return (
        "<!doctype html><html lang='en'><head><meta charset='utf-8'>"
        "<meta name='viewport' content='width=device-width, initial-scale=1'>"
        f"<title>{name}</title><style>{player.STYLE}</style></head><body>{head}"
        f"{film(simulation, motion, angle)}</body></html>\n"
    )


def film(simulation: Simulation, motion: Trajectory, angle: Angle | None = None) -> str:
    """The part of a page that plays a motion: a canvas, its controls, and the frames as data."""
    names = player.frame_names(simulation)
    sizes = [simulation.variables().outputs.whole(name).size for name in names]
    places = dict(zip(names, np.cumsum([0, *sizes]).tolist(), strict=False))
    chosen = frame_places(motion.time)
    y = np.column_stack([motion[name] for name in names])[chosen]
    near = motion["singularity.distance"][chosen] if "singularity.distance" in motion else None
    frames: list[dict[str, Any]] = []
    for k, row in enumerate(y):
        frames.append(
            {"time": round(float(motion.time[chosen[k]]), 6), "y": [float(f"{x:.5g}") for x in row]}
        )
        if near is not None and np.isfinite(near[k]):
            frames[-1]["says"] = f", singularity distance {near[k]:.3f}"
    content = {
        "scene": player.scene(simulation, places, angle, _newtons(simulation, names, motion, chosen)),
        "frames": frames,
        "every": _every(motion.time, chosen) * 1000,
    }
    return (
        "<p>Drag to turn it. Arrows are reactions: forces of each joint's parent on its child.</p>"
        "<canvas id='motion'></canvas><div class='controls'>"
        "<button id='play'>Play</button><input id='when' type='range' min='0' max='1' step='1' value='0'>"
        "<span id='says'></span><label><input id='arrows' type='checkbox' checked> reactions</label></div>"
        f"{player.data('film', content)}<script>{player.script()}{SCRIPT}</script>"
    )


def _newtons(simulation: Simulation, names: list[str], motion: Trajectory, chosen: np.ndarray) -> float:
    """The force by which arrows are measured."""
    sizes = [np.linalg.norm(motion[n][chosen], axis=1) for n in names if n.startswith("reaction.")]
    largest = np.max(sizes, axis=0).tolist() if sizes else []
    return arrow_newtons(largest, whole_weight(simulation.mechanism))


def frame_places(time: np.ndarray) -> np.ndarray:
    """Which records become frames: those nearest to even times, the first and the last among them."""
    length = float(time[-1] - time[0])
    count = min(max(2, ceil(length * FRAMES_PER_SECOND) + 1), len(time), MOST_FRAMES)
    wanted = np.linspace(time[0], time[-1], count)
    after = np.clip(np.searchsorted(time, wanted), 1, max(len(time) - 1, 1))
    nearest = after - (wanted - time[after - 1] < time[np.minimum(after, len(time) - 1)] - wanted)
    return np.unique(np.minimum(nearest, len(time) - 1))


def _every(time: np.ndarray, chosen: np.ndarray) -> float:
    """Seconds for which a frame is shown."""
    length = float(time[-1] - time[0])
    return (
        max(length / max(len(chosen) - 1, 1), 0.001) if len(chosen) < MOST_FRAMES else 1 / FRAMES_PER_SECOND
    )


# -- pictures ------------------------------------------------------------------------------------


def poses_of(mechanism: Mechanism, motion: Trajectory, k: int) -> dict[str, Pose]:
    """Where the bodies were at a record."""
    return {
        body.name: (
            rotation(motion[f"body.{body.name}.orientation"][k]),
            motion[f"body.{body.name}.position"][k],
        )
        for body in mechanism.bodies
    } | {GROUND: (np.eye(3), np.zeros(3))}


def _images(
    mechanism: Mechanism,
    motion: Trajectory,
    chosen: np.ndarray,
    angle: Angle | None,
    progress: Callable[[float], None] | None,
) -> Iterator[np.ndarray]:
    """The frames as pictures (height, width, 3), all of one size and seen from one place."""
    from ..show.picture import Stage

    everywhere = [poses_of(mechanism, motion, k) for k in chosen]
    stage = Stage(mechanism, everywhere, angle)
    for n, (k, poses) in enumerate(zip(chosen, everywhere, strict=True)):
        yield stage.image(poses, f"{motion.time[k]:.2f} s")
        if progress:
            progress((n + 1) / len(chosen))


def _write_gif(path: Path, images: Iterator[np.ndarray], every: float) -> None:
    from PIL import Image

    first, *others = (Image.fromarray(image).quantize(64) for image in images)
    ends = [round(100 * every * k) for k in range(len(others) + 2)]  # a GIF counts hundredths of a second
    shown = [max(20, 10 * (b - a)) for a, b in pairwise(ends)]
    first.save(path, format="GIF", save_all=True, append_images=others, duration=shown, loop=0)


def _ffmpeg() -> str | None:
    """The program that makes videos: the system's, or the one that imageio-ffmpeg brings."""
    found = shutil.which("ffmpeg")
    if found is None:
        try:
            from imageio_ffmpeg import get_ffmpeg_exe

            found = get_ffmpeg_exe()
        except (ImportError, RuntimeError):
            return None
    return found


def _write_mp4(path: Path, images: Iterator[np.ndarray], every: float) -> None:
    program = _ffmpeg()
    if program is None:
        raise CutjointError(_MISSING)
    first = next(images)
    height, width = first.shape[:2]
    words = [program, "-y", "-loglevel", "error", "-f", "rawvideo", "-pix_fmt", "rgb24"]
    words += ["-s", f"{width}x{height}", "-r", f"{1 / every:.6f}", "-i", "-", "-an"]
    words += ["-c:v", "libx264", "-pix_fmt", "yuv420p", "-f", "mp4", os.fspath(path)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdin is not None and process.stderr is not None
        try:
            for image in (first, *images):
                process.stdin.write(image.tobytes())
            process.stdin.close()
        except BrokenPipeError:
            pass  # it says why, below
        except BaseException:
            process.kill()
            raise
        said = process.stderr.read().decode(errors="replace").strip()
    if process.returncode:
        raise CutjointError(
            f"ffmpeg could not write the video: {said.splitlines()[-1] if said else 'no reason'}"
        )
