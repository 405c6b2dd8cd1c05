"""Mechanisms to play with in the browser: one page, one clock, and what its controls do."""

import contextlib
import io
import secrets
import socket
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from ..base.errors import CutjointError
from ..simulation import Simulation
from .camera import Cameras, stand_apart
from .controls import Controls
from .film import check_film, save_film
from .guard import EVERYWHERE, LOOPBACK, Guard, serve_guarded
from .live_plot import EVERY
from .player import frame_names
from .station import Station
from .timeline import FRAME

LONGEST = 300.0  # seconds of one time line
HOST = "127.0.0.1"
BEHIND = 0.9  # times as fast as asked for: what is slower is said
WATCHED = 1.0  # seconds over which that is measured


class Viewer:
    """A browser page for simulations; `run` keeps it moving until it is interrupted.

    Parameters
    ----------
    simulations : one, or several side by side.
    port : where the page is served on this machine; the first free one from there.
    host : who may see it: this machine alone unless told otherwise.
    seconds : how much of the motion is there when the page opens.
    trace, plot : names of points whose paths are drawn, and of outputs that are plotted.

    Methods
    -------
    address, run, close, save
    """

    def __init__(
        self,
        simulations: Simulation | Sequence[Simulation],
        port: int = 8080,
        seconds: float = 0.0,
        trace: Iterable[str] = (),
        plot: Iterable[str] = (),
        host: str = HOST,
    ):
        given = [simulations] if isinstance(simulations, Simulation) else list(simulations)
        names = " and ".join(dict.fromkeys(s.mechanism.name for s in given))
        self.host, self.guard = host, Guard("" if host in LOOPBACK else secrets.token_urlsafe())
        self.server = serve_guarded(host, port, names, self.guard)
        self.lock = threading.RLock()
        self.playing, self.ahead, self.problem, self.slow = False, 0.0, "", ""
        self._asked, self._shown = 0.0, 0.0  # seconds lately, of the clock and of the mechanisms
        try:
            self.stations = [
                Station(self.server, simulation, f"/mechanism{k}", len(given) == 1)
                for k, simulation in enumerate(given)
            ]
            stand_apart(self.stations)
            self._everywhere(trace, lambda station, name: station.trace(name))
            self.controls = Controls(self)
            self._everywhere(plot, self.controls.plots.add)
        except CutjointError:
            self.close()
            raise
        with self.lock:
            self._try(lambda: self.go(round(seconds / FRAME)))
            self.go(0)
            self.refresh()
        self.cameras = Cameras(self.server, self.stations, self.lock)

    def _everywhere(self, names: Iterable[str], add: Callable[[Station, str], None]) -> None:
        """Do it for each name with all mechanisms that know it; one that none knows is an error."""
        for name in names:
            problems = []
            for station in self.stations:
                try:
                    add(station, name)
                except CutjointError as problem:
                    problems.append(problem)
            if len(problems) == len(self.stations):
                raise problems[0]

    @property
    def address(self) -> str:
        """Where the page is; beyond this machine, with the secret that opens it."""
        if not self.guard.token:
            return f"http://localhost:{self.server.get_port()}"
        name = socket.gethostname() if self.host in EVERYWHERE else self.host
        name = f"[{name}]" if ":" in name else name
        return f"http://{name}:{self.server.get_port()}/?token={self.guard.token}"

    @property
    def now(self) -> int:
        """The present frame."""
        return max(station.line.now for station in self.stations)

    @property
    def length(self) -> float:
        """Seconds that have been simulated."""
        return max(station.line.length for station in self.stations)

    def close(self) -> None:
        """Take the page away."""
        with contextlib.redirect_stdout(io.StringIO()):
            self.server.stop()

    # -- time ---------------------------------------------------------------------------------

    def run(self, stop: threading.Event | None = None) -> None:
        """Advance in real time until interrupted, or until `stop` is set."""
        last = time.monotonic()
        while not (stop and stop.is_set()):
            time.sleep(max(0.0, last + FRAME - time.monotonic()))
            present = time.monotonic()
            self.tick(present - last)
            last = present

    def tick(self, seconds: float) -> None:
        """Let a little time pass; never catch up by a burst."""
        with self.lock:
            if not self.playing:
                return
            speed = self.controls.times_real
            self.ahead += min(seconds, 2 * FRAME) * speed / FRAME
            frames = int(self.ahead)
            self.ahead -= frames
            self._watch(seconds * speed, frames * FRAME, speed)
            if frames:
                self._try(lambda: self.go(self.now + frames))
                if self.now >= round(LONGEST / FRAME):
                    self.problem = f"The time line is full ({LONGEST:g} s). Reset to start again."
                    self.play(False)
                self.refresh()

    def _watch(self, asked: float, shown: float, speed: float) -> None:
        """Whether what is shown keeps up with the clock."""
        self._asked, self._shown = self._asked + asked, self._shown + shown
        if self._asked >= WATCHED * speed:
            late = self._shown < BEHIND * self._asked
            reached = speed * self._shown / self._asked
            self.slow = f"Slower than real time: {reached:.2g} × on this machine." if late else ""
            if late and speed < 1:
                self.slow = f"Slower than asked for: {reached:.2g} × real time on this machine."
            self._asked = self._shown = 0.0

    def go(self, frame: int) -> None:
        """Show a frame of all mechanisms."""
        for station in self.stations:
            station.line.go(frame)

    def refresh(self) -> None:
        """Show the present frame."""
        with self.server.atomic():
            for station in self.stations:
                station.refresh()
            said = [self.slow, self.problem, *(station.scene.missing for station in self.stations)]
            self.controls.refresh([text for text in said if text])
            if not self.playing or self.now % EVERY == 0:
                self.controls.plots.refresh()
        if self.playing and self.now % EVERY == 0:
            self.cameras.follow()

    # -- what controls do ---------------------------------------------------------------------

    def locked(self, action: Callable[[], Any]) -> None:
        """What a person asks for, between two frames."""
        with self.lock:
            self.problem = ""
            self._try(action)
            self.refresh()

    def _try(self, action: Callable[[], Any]) -> None:
        """Do it; if the engine refuses, stay at the last good frame and say why."""
        try:
            action()
        except CutjointError as error:
            self.problem = str(error)
            self.play(False)
            for station in self.stations:
                station.let_go()
                station.line.go(min(station.line.now, len(station.line.frames) - 1))

    def play(self, playing: bool) -> None:
        self.playing, self.ahead, self.slow = playing, 0.0, ""
        self._asked = self._shown = 0.0
        self.controls.button.label = "Pause" if playing else "Play"

    def reset(self) -> None:
        """Back to the start, under the inputs that the sliders say."""
        self.play(False)
        for station in self.stations:
            station.reset()

    def scrub(self, seconds: float) -> None:
        """Show a moment of what has been simulated."""
        self.play(False)
        self.go(min(round(seconds / FRAME), round(self.length / FRAME)))

    def pose(self, station: Station, name: str, value: float) -> None:
        """Set a joint by hand; all begin again."""
        self.play(False)
        station.pose(name, value)
        self.go(0)

    def pull(self, station: Station, body: str, event: Any) -> None:
        """A body is dragged: while it is held, time goes on."""
        if event.phase == "start":
            station.was_playing = self.playing
            station.grab(body, event.start_position)
            self.play(True)
        elif event.phase == "update":
            station.draw_on(event.end_position)
        else:
            station.let_go()
            self.play(station.was_playing and self.playing)

    def save(self, ending: str) -> list[tuple[str, bytes]]:
        """The time lines as films in the format `ending` (html, gif, mp4): names and contents of files."""
        found = []
        with tempfile.TemporaryDirectory() as folder:
            for k, station in enumerate(self.stations):
                path = Path(folder) / f"{k}.{ending}"
                check_film(path)
                with self.lock:
                    motion = station.line.motion([*frame_names(station.simulation), "singularity.distance"])
                    if ending == "html":
                        save_film(path, station.simulation, motion)
                if ending != "html":  # long, and of the motion alone
                    save_film(path, station.simulation, motion)
                found.append((f"{station.name}.{ending}", path.read_bytes()))
        return found
