"""One mechanism of the browser's view: its time line, its scene, and the sliders that drive and pose it."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..base.errors import CutjointError
from ..describe.validation import nearest
from ..joints.moves import Turn
from ..joints.types import TYPES
from ..show.measures import arrow_newtons, drive_range
from ..simulation import Simulation
from .pull import grab, handles, own_inputs, own_outputs
from .scene import Scene
from .timeline import FRAME, STEP, TimeLine

TRACED = 20.0  # seconds of a path that are shown

Poser = Callable[["Station", str, float], None]


class Station:
    """A simulation on the page."""

    def __init__(self, server: Any, simulation: Simulation, root: str, alone: bool):
        self.simulation, self.first = simulation, simulation.state
        self.name = simulation.mechanism.name
        self.line = TimeLine(simulation)
        self.scene = Scene(server, simulation, root, alone)
        self.inputs = own_inputs(simulation)
        outputs = simulation.variables().outputs
        self.outputs = own_outputs(simulation, outputs.named)
        self.forces = outputs.rows([n for n in self.outputs if _is_force(n)])  # of reactions, by threes
        self.places = {path: f"{path}.position" for path in self._paths()}
        self.traced: list[str] = []
        self.was_playing = False  # before it was taken hold of
        self.torques: dict[str, Any] = {}
        self.poses: dict[str, Any] = {}

    def _paths(self) -> list[str]:
        """Bodies and frames whose way can be drawn."""
        starts = [n.removesuffix(".position") for n in self.outputs if n.endswith(".position")]
        return [n for n in starts if n.startswith(("body.", "frame."))]

    def trace(self, name: str) -> None:
        """Draw the way of a body or a frame, named with or without its kind."""
        found = [path for path in self.places if name in (path, path.partition(".")[2])]
        if not found:
            known = [path.partition(".")[2] for path in self.places]
            raise CutjointError(
                f"there is no body or frame '{name}' to trace in '{self.name}'; {nearest(name, known)}"
            )
        self.traced = [*dict.fromkeys([*self.traced, found[0]])]

    def untrace(self) -> None:
        self.traced = []
        self.scene.untrace()

    # -- sliders ------------------------------------------------------------------------------

    def add_sliders(self, gui: Any, hand: Callable[[Any], Any], title: str, pose: Poser) -> None:
        """Motors and poses; `hand` makes an action of a control that only a person's hand sets off."""
        if self.inputs:
            with gui.add_folder(f"{title}motors"):
                for name in self.inputs:
                    self._torque_slider(gui, hand, name)
        joints = movable(self.simulation)
        if joints:
            with gui.add_folder(f"{title}pose", expand_by_default=False):
                for name in joints:
                    self._pose_slider(gui, hand, name, pose)

    def _torque_slider(self, gui: Any, hand: Any, name: str) -> None:
        driven = self.simulation.variables().inputs.find(name)
        value = float(self.simulation.u[driven.where.start])
        low, high = drive_range(self.simulation.mechanism, driven.where.start, self.scene.size, value)
        held = min(max(value, low), high)  # what is asked for may be more than the motor has
        slider = gui.add_slider(f"{name} ({driven.unit})", low, high, (high - low) / 400, held)
        slider.on_update(hand(lambda _: self.drive()))
        self.torques[name] = slider

    def _pose_slider(self, gui: Any, hand: Any, name: str, pose: Poser) -> None:
        joint = self.simulation.mechanism.joint(name)
        turns = TYPES[joint.type].position_units[0] == "rad"
        span = math.pi if turns else 0.5 * self.scene.size
        low, high = (x if math.isfinite(x) else s * span for x, s in zip(joint.limits, (-1, 1), strict=True))
        slider = gui.add_slider(
            f"{name} ({'rad' if turns else 'm'})", low, high, (high - low) / 400, min(max(0.0, low), high)
        )
        slider.on_update(hand(lambda _: pose(self, name, float(slider.value))))
        self.poses[name] = slider

    # -- what hands do ------------------------------------------------------------------------

    def reset(self) -> None:
        """Back to the start, under the inputs that the sliders say."""
        self.simulation.put(self.first)
        self.line = TimeLine(self.simulation)
        self.drive()

    def drive(self) -> None:
        self.line.drive({name: float(slider.value) for name, slider in self.torques.items()})

    def pose(self, name: str, value: float) -> None:
        """Set a joint by hand; the other driven ones stay where they are."""
        outputs = self.simulation.outputs()
        driven = {motor.joint for motor in self.simulation.mechanism.motors}
        others = [n for n in self.poses if n in driven and n != name]
        held = {n: float(outputs[f"joint.{n}.position"]) for n in others}
        here = float(outputs[f"joint.{name}.position"])
        if self.turns_on(name):  # not a turn back
            value = here + wrapped(value - here)
        self.line.pose({**held, name: value})

    def turns_on(self, name: str) -> bool:
        """Whether a joint may turn for ever and comes back to where it was."""
        joint = self.simulation.mechanism.joint(name)
        moves = TYPES[joint.type].moves or ()
        return len(moves) == 1 and isinstance(moves[0], Turn) and not np.isfinite(joint.limits).any()

    def grab(self, body: str, place: Any) -> None:
        """Take hold of a body at a place of the scene."""
        if body in handles(self.simulation):
            self.line.drive({})
            here = np.asarray(place, float) - self.scene.origin
            self.line.hand = grab(self.simulation, body, here, self.scene.size, STEP)

    def draw_on(self, place: Any) -> None:
        """The hand is at another place of the scene."""
        if self.line.hand:
            self.line.drive({})
            self.line.hand = self.line.hand.at(np.asarray(place, float) - self.scene.origin)

    def let_go(self) -> None:
        self.line.hand = None

    # -- showing ------------------------------------------------------------------------------

    def refresh(self) -> None:
        """Show the present frame."""
        self._outputs, line = self.simulation.outputs(), self.line
        outputs = self._outputs
        self.scene.newtons = self._newtons()
        self.scene.show(self.simulation, outputs, line.hand)
        first = max(0, line.now - round(TRACED / FRAME))
        for path in self.traced:
            self.scene.trace(path, line.values(self.places[path], slice(first, line.now + 1)))
        for name, slider in self.poses.items():
            value = float(outputs[f"joint.{name}.position"])
            if self.turns_on(name):
                value = wrapped(value)
            slider.min, slider.max = min(slider.min, value), max(slider.max, value)
            slider.value = value

    def _newtons(self) -> float:
        """The force by which arrows are measured, from frames all along."""
        if not self.forces.size:
            return self.scene.newtons
        rows = np.array(self.line.rows[:: 1 + len(self.line.rows) // 100])
        forces = rows[:, self.forces].reshape(len(rows), -1, 3)
        return arrow_newtons(np.linalg.norm(forces, axis=2).max(axis=1), self.scene.weight)

    def numbers(self) -> list[tuple[str, str]]:
        """What the page says of the present frame."""
        outputs = self._outputs
        rows = [("time", f"{self.simulation.time:.2f} s"), ("energy", f"{outputs['energy']:.4g} J")]
        if self.simulation.tree.cuts:
            rows += [
                ("singularity distance", f"{outputs['singularity.distance']:.4g}"),
                ("loop residual", f"{outputs['loop.residual']:.1e}"),
            ]
        forces = {n: float(np.linalg.norm(outputs[n])) for n in self.outputs if _is_force(n)}
        if forces:
            most = max(forces, key=lambda n: forces[n])
            rows.append(("largest reaction", f"{forces[most]:.4g} N at {most.split('.')[1]}"))
        if self.forces.size and self.scene.reactions:
            rows.append(("arrow of ¼ size", f"{self.scene.newtons:g} N"))
        if self.line.hand:
            force = outputs[f"input.{self.line.hand.frame}.force"]
            rows.append(("pull", f"{np.linalg.norm(force):.4g} N"))
        return rows


def movable(simulation: Simulation) -> list[str]:
    """Joints a hand can set: driven ones with one coordinate in the tree, or all such joints."""
    one = [n for n, where in simulation.tree.q.items() if where.stop - where.start == 1]
    driven = [m.joint for m in simulation.mechanism.motors if m.joint in one]
    return driven or one


def wrapped(angle: float) -> float:
    """The same angle between −π and π."""
    return math.remainder(angle, 2 * math.pi)


def _is_force(name: str) -> bool:
    return name.startswith("reaction.") and name.endswith(".force")
