"""A mechanism to play with in the browser: a time line, sliders, and what they do.

The time line holds a state for every frame. Playing moves along it and, at its end, simulates
on. A slider of a torque keeps the past and forgets what came after the present frame. A slider
of a position closes the loops anew and starts the time line again, at rest.
"""

import contextlib
import io
import math
import threading
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from ..errors import CutjointError
from ..joints.types import TYPES
from ..simulation import Simulation
from ..state import State
from .measures import most_drive
from .view_scene import Scene, movable

FRAME = 1 / 50  # seconds between frames
STEP = 1e-3  # seconds, of the simulation
LONGEST = 300.0  # seconds of one time line
SPEEDS = ("0.05", "0.1", "0.25", "0.5", "1")
HOST = "127.0.0.1"


class TimeLine:
    """Frames of a simulation, the past kept, the future computed when it is asked for."""

    def __init__(self, simulation: Simulation):
        self.simulation = simulation
        self.frames: list[State] = [simulation.state]
        self.now = 0

    @property
    def length(self) -> float:
        """Seconds from the first frame to the last."""
        return FRAME * (len(self.frames) - 1)

    def go(self, frame: int) -> None:
        """Show a frame, simulating up to it if the time line is not that long yet."""
        while frame >= len(self.frames):
            self.simulation.put(self.frames[-1])
            count = round(FRAME / STEP)
            for _ in range(count):
                self.simulation.step(FRAME / count)
            self.frames.append(self.simulation.state)
        self.now = max(frame, 0)
        self.simulation.put(self.frames[self.now])

    def drive(self, inputs: Mapping[str, float]) -> None:
        """Other inputs from now on; what was computed beyond now is forgotten."""
        self.simulation.put(self.frames[self.now])
        self.simulation.set_inputs(inputs)
        self.frames[self.now :] = [self.simulation.state]

    def pose(self, held: Mapping[str, float]) -> None:
        """Close the loops with joints held, and start again from there, at rest."""
        self.simulation.put(self.frames[self.now])
        self.simulation.assemble(held)
        here = self.simulation.state
        self.simulation.put(replace(here, time=0.0, work=0.0, v=np.zeros_like(here.v)))
        self.frames, self.now = [self.simulation.state], 0


class Viewer:
    """A browser page for one simulation; `run` keeps it moving until it is interrupted."""

    def __init__(self, simulation: Simulation, port: int, inputs: Mapping[str, float], seconds: float):
        import viser

        with contextlib.redirect_stdout(io.StringIO()):  # its banner names no mechanism
            self.server = viser.ViserServer(HOST, port, label=simulation.mechanism.name, verbose=False)
        self.simulation = simulation
        self.first = simulation.state
        self.lock = threading.RLock()
        self.playing, self.ahead, self.problem = False, 0.0, ""
        simulation.set_inputs(inputs)
        self.line = TimeLine(simulation)
        self.server.gui.configure_theme(show_share_button=False, show_logo=False)
        self.scene = Scene(self.server, simulation)
        self._add_controls(inputs)
        with self.lock:
            self._try(lambda: self.line.go(round(seconds / FRAME)))
            self.line.go(0)
            self.refresh()

    @property
    def address(self) -> str:
        return f"http://localhost:{self.server.get_port()}"

    def close(self) -> None:
        """Take the page away."""
        with contextlib.redirect_stdout(io.StringIO()):
            self.server.stop()

    def run(self, stop: threading.Event | None = None) -> None:
        """Advance in real time until interrupted."""
        last = time.monotonic()
        while not (stop and stop.is_set()):
            time.sleep(max(0.0, last + FRAME - time.monotonic()))
            present = time.monotonic()
            self.tick(min(present - last, 2 * FRAME))  # never catch up by a burst
            last = present

    def tick(self, seconds: float) -> None:
        """Let a little time pass."""
        with self.lock:
            if not self.playing:
                return
            self.ahead += seconds * float(self.speed.value) / FRAME
            frames = int(self.ahead)
            if frames:
                self.ahead -= frames
                self._try(lambda: self.line.go(self.line.now + frames))
                if self.line.length >= LONGEST and self.line.now >= len(self.line.frames) - 1:
                    self.problem = f"The time line is full ({LONGEST:g} s). Reset to start again."
                    self._play(False)
                self.refresh()

    def refresh(self) -> None:
        """Show the present frame."""
        outputs = self.simulation.outputs()
        with self.server.atomic():
            self.scene.show(self.simulation, outputs)
            self.scrub.max = max(self.line.length, FRAME)
            self.scrub.value = round(FRAME * self.line.now, 4)
            for name, slider in self.poses.items():
                slider.value = _between(slider, float(outputs[f"joint.{name}.position"]))
            self.numbers.content = self._numbers(outputs)

    # -- controls ------------------------------------------------------------------------

    def _add_controls(self, inputs: Mapping[str, float]) -> None:
        gui = self.server.gui
        self.button = gui.add_button("Play")
        self.button.on_click(lambda _: self._locked(lambda: self._play(not self.playing)))
        gui.add_button("Reset").on_click(lambda _: self._locked(self._reset))
        self.scrub = gui.add_slider(
            "time (s)", 0.0, 1.0, FRAME, 0.0, hint="Drag through what has been simulated"
        )
        self.scrub.on_update(self._hand(self._scrub))
        self.speed = gui.add_dropdown("speed", SPEEDS, initial_value="1", hint="times real time")
        self.numbers = gui.add_markdown("")
        self.torques: dict[str, Any] = {}
        self.poses: dict[str, Any] = {}
        with gui.add_folder("motors"):
            for name in self.simulation.inputs:
                self.torques[name] = self._torque_slider(name, inputs.get(name, 0.0))
        with gui.add_folder("pose", expand_by_default=False):
            for name in movable(self.simulation):
                self.poses[name] = self._pose_slider(name)
        with gui.add_folder("show", expand_by_default=False):
            arrows = gui.add_checkbox("reactions", True, hint="Forces of the parent on the child")
            length = gui.add_slider("arrow length", 0.1, 5.0, 0.1, 1.0)
            names = gui.add_checkbox("names of motors", True)

        def shown(_: Any) -> None:
            self.scene.arrow_length = float(length.value)
            self.scene.show_reactions(bool(arrows.value))
            self.scene.show_names(bool(names.value))
            self.refresh()

        for control in (arrows, length, names):
            control.on_update(self._hand(shown))

    def _torque_slider(self, name: str, value: float) -> Any:
        driven = self.simulation.variables().inputs.find(name)
        most = most_drive(driven, self.scene.weight, self.scene.size, value)
        held = min(max(value, -most), most)  # what is asked for may be more than the motor has
        slider = self.server.gui.add_slider(f"{name} ({driven.unit})", -most, most, most / 200, held)
        slider.on_update(self._hand(lambda _: self._drive()))
        return slider

    def _pose_slider(self, name: str) -> Any:
        joint = self.simulation.mechanism.joint(name)
        turns = TYPES[joint.type].position_units[0] == "rad"
        span = math.pi if turns else 0.5 * self.scene.size
        low, high = (x if math.isfinite(x) else s * span for x, s in zip(joint.limits, (-1, 1), strict=True))
        slider = self.server.gui.add_slider(
            f"{name} ({'rad' if turns else 'm'})", low, high, (high - low) / 400, min(max(0.0, low), high)
        )
        slider.on_update(self._hand(lambda _: self._pose(name, float(slider.value))))
        return slider

    def _hand(self, action: Any) -> Any:
        """An action for when a person moves a control; when we move it ourselves, nothing."""

        def moved(event: Any) -> None:
            if event.client_id is not None:
                self._locked(lambda: action(event))

        return moved

    def _locked(self, action: Any) -> None:
        with self.lock:
            self.problem = ""
            self._try(action)
            self.refresh()

    def _try(self, action: Any) -> None:
        """Do it; if the engine refuses, stay at the last good frame and say why."""
        try:
            action()
        except CutjointError as error:
            self.problem = str(error)
            self._play(False)
            self.line.go(min(self.line.now, len(self.line.frames) - 1))

    # -- what they do --------------------------------------------------------------------

    def _play(self, playing: bool) -> None:
        self.playing, self.ahead = playing, 0.0
        self.button.label = "Pause" if playing else "Play"

    def _reset(self) -> None:
        self._play(False)
        self.simulation.put(self.first)
        self.line = TimeLine(self.simulation)
        self._drive()

    def _scrub(self, _: Any) -> None:
        self._play(False)
        self.line.go(min(round(float(self.scrub.value) / FRAME), len(self.line.frames) - 1))

    def _drive(self) -> None:
        self.line.drive({name: float(slider.value) for name, slider in self.torques.items()})

    def _pose(self, name: str, value: float) -> None:
        self._play(False)
        outputs = self.simulation.outputs()
        held = {n: float(outputs[f"joint.{n}.position"]) for n in self._held(name)}
        self.line.pose({**held, name: value})

    def _held(self, name: str) -> list[str]:
        """The other driven joints, which a hand on one of them leaves where they are."""
        driven = {motor.joint for motor in self.simulation.mechanism.motors}
        return [n for n in self.poses if n in driven and n != name]

    def _numbers(self, outputs: Mapping[str, Any]) -> str:
        rows = [("time", f"{self.simulation.time:.2f} s"), ("energy", f"{outputs['energy']:.4g} J")]
        if self.simulation.tree.cuts:
            rows += [
                ("singularity distance", f"{outputs['singularity.distance']:.4g}"),
                ("loop residual", f"{outputs['loop.residual']:.1e}"),
            ]
        forces = {n: v for n, v in outputs.items() if n.startswith("reaction.") and n.endswith(".force")}
        if forces:
            most = max(forces, key=lambda n: float(np.linalg.norm(forces[n])))
            rows.append(("largest reaction", f"{np.linalg.norm(forces[most]):.4g} N at {most.split('.')[1]}"))
        table = "\n".join(f"| {name} | {value} |" for name, value in rows)
        return f"| | |\n|---|---|\n{table}" + (f"\n\n**{self.problem}**" if self.problem else "")


def _between(slider: Any, value: float) -> float:
    return float(min(max(value, slider.min), slider.max))
