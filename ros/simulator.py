"""A mechanism as simulation_interfaces sees simulators: what can be asked of it, without ROS.

Entities are the mechanism itself, by its name, and its bodies. Every answer is a code, as `Result`
of that package has them, a sentence if something went wrong, and a value.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from scipy.spatial.transform import Rotation

from ..model.base.errors import CutjointError
from ..model.control.frame_readings import Place, Sensed, moving
from ..model.describe.mechanism import GROUND
from .loop import Loop
from .settings import LOCK_STEP, PAUSED

# Names of `SimulatorFeatures`. What is not here is refused with a sentence.
FEATURES = (
    "ENTITY_CATEGORIES",
    "ENTITY_STATE_GETTING",
    "ENTITY_STATE_SETTING",
    "ENTITY_INFO_GETTING",
    "SIMULATION_RESET",
    "SIMULATION_RESET_TIME",
    "SIMULATION_RESET_STATE",
    "SIMULATION_STATE_GETTING",
    "SIMULATION_STATE_SETTING",
    "SIMULATION_STATE_PAUSE",
    "STEP_SIMULATION_SINGLE",
    "STEP_SIMULATION_MULTIPLE",
    "STEP_SIMULATION_ACTION",
)
UNSUPPORTED, OK, NOT_FOUND, INCORRECT_STATE, FAILED = range(5)
STOPPED, PLAYING, PAUSE, QUITTING = range(4)
ALREADY, INCORRECT_TRANSITION = 101, 103
TIME, STATE, SPAWNED, ALL = 1, 2, 4, 255
OBJECT, ROBOT = 0, 1
WORLD = "world"
ABOUT = (
    "Cutjoint: a node is one mechanism with closed loops. Spawn others by starting other nodes; "
    "SetEntityState moves bodies on free joints, others are moved by their joints."
)


class Answer(NamedTuple):
    """How a request went."""

    code: int
    text: str = ""
    value: Any = None


class Simulator:
    """Answers for one loop; its methods are called by the loop's thread."""

    def __init__(self, loop: Loop):
        self.loop, self._stopped = loop, False
        self.name = loop.simulation.mechanism.name
        self._places = {name: Place(loop.simulation, name) for name in moving(loop.simulation.mechanism)}

    # -- time ------------------------------------------------------------------------------------

    def state(self) -> Answer:
        """Stopped: at the start, paused; paused; or playing, which is what lock-step always is."""
        mode = self.loop.settings.mode
        if mode != PAUSED and self.loop.active:
            self._stopped = False
        return Answer(OK, "", PLAYING if mode != PAUSED else STOPPED if self._stopped else PAUSE)

    def set_state(self, wanted: int) -> Answer:
        now = self.state().value
        if wanted not in (STOPPED, PLAYING, PAUSE, QUITTING):
            return Answer(UNSUPPORTED, "a node has one world, which is always loaded")
        if wanted == now:
            return Answer(ALREADY, "it is in that state already")
        if wanted == QUITTING:
            return Answer(OK, "", QUITTING)
        if self.loop.settings.mode == LOCK_STEP:
            return Answer(UNSUPPORTED, "in lock-step time passes by commands alone; it can't be paused")
        if wanted == PAUSE and now == STOPPED:
            return Answer(INCORRECT_TRANSITION, "it is stopped; play it first")
        if wanted == PLAYING:
            if self.loop.fault:
                return Answer(INCORRECT_STATE, f"{self.loop.fault}; reset it first")
            self.loop.set_mode(self.loop.running)
        else:
            self.loop.set_mode(PAUSED)
            if wanted == STOPPED:
                self.loop.put(self.loop.simulation.reset)
                self.loop.set_mode(PAUSED)
        self._stopped = wanted == STOPPED
        return Answer(OK)

    def step(self, count: int, tell: Callable[[int], None] = lambda k: None) -> Answer:
        """Periods, while it is paused; `tell` hears the number of each."""
        if self.loop.settings.mode not in (PAUSED, LOCK_STEP):
            return Answer(FAILED, "time runs by itself; pause it first")
        for k in range(count):
            if self.loop.fault or not self.loop.active:
                return Answer(FAILED, self.loop.fault or "the node is not active", k)
            self.loop.advance()
            tell(k + 1)
        self._stopped = False
        return Answer(OK, "", count) if not self.loop.fault else Answer(FAILED, self.loop.fault, count)

    def reset(self, scope: int) -> Answer:
        """Back to the start; time and state can go alone, and nothing was ever spawned."""
        scope = scope or ALL
        if not scope & (TIME | STATE):
            return Answer(UNSUPPORTED, "nothing can be spawned here, so nothing can be removed")
        simulation = self.loop.simulation
        before = simulation.state

        def change() -> None:
            if scope & STATE:
                simulation.reset()
            time = 0.0 if scope & TIME else before.time
            simulation.put(replace(simulation.state, time=time))

        self.loop.put(change)
        return Answer(OK)

    # -- entities --------------------------------------------------------------------------------

    def entities(self, pattern: str = "", categories: Sequence[int] = ()) -> Answer:
        """Names that a regular expression fits wholly, of the given categories."""
        try:
            fits = re.compile(pattern or ".*")
        except re.error as problem:
            return Answer(FAILED, f"'{pattern}' is no regular expression: {problem}")
        kinds = {self.name: ROBOT} | {f"{self.name}/{body}": OBJECT for body in self._places}
        found = [
            n for n, kind in kinds.items() if fits.fullmatch(n) and (not categories or kind in categories)
        ]
        return Answer(OK, "", found)

    def info(self, entity: str) -> Answer:
        mechanism = self.loop.simulation.mechanism
        if entity == self.name:
            return Answer(OK, "", (ROBOT, mechanism.description, ["mechanism"]))
        body = self._body(entity)
        if body is None:
            return self._unknown(entity)
        frame = body in {f.name for f in mechanism.frames}
        what = "frame" if frame else "body"
        return Answer(OK, "", (OBJECT, f"{what} of {self.name}", [what]))

    def entity_state(self, entity: str) -> Answer:
        """Pose and twist in the world; the mechanism itself is where its ground is, which does not move."""
        if entity == self.name:
            still = (0.0, 0.0, 0.0)
            return Answer(OK, "", Sensed(still, (1.0, 0.0, 0.0, 0.0), *[still] * 6))
        body = self._body(entity)
        if body is None:
            return self._unknown(entity)
        return Answer(OK, "", self._places[body].read(self.loop.simulation.output_vector()))

    def entity_states(self, pattern: str = "", categories: Sequence[int] = ()) -> Answer:
        """Pairs of name and state, of those that `entities` finds."""
        found = self.entities(pattern, categories)
        if found.code != OK:
            return found
        return Answer(OK, "", [(name, self.entity_state(name).value) for name in found.value])

    def set_entity_state(
        self, entity: str, pose: Any = None, twist: Any = None, frame: str = WORLD
    ) -> Answer:
        """Pose (position, w, x, y, z) and twist (velocity, ω) of a body on a free joint of ground.

        They are told in the ground's frame, which is the world's unless the mechanism was placed in it.
        """
        body, simulation, settings = self._body(entity), self.loop.simulation, self.loop.settings
        if body is None:
            return self._unknown(entity)
        ground = f"{settings.frame_prefix}{GROUND}"
        if frame != ground and (frame not in ("", WORLD) or any(settings.placed_at)):
            return Answer(UNSUPPORTED, f"a state is set in the frame '{ground}', not in '{frame or WORLD}'")
        joints = (j for j in simulation.mechanism.joints if j.type == "free" and j.child == body)
        joint = next((j for j in joints if j.parent == GROUND and j.name in simulation.tree.q), None)
        plain = joint is not None and not any(
            any(f.position) or any(f.orientation[1:]) for f in (joint.on_parent, joint.on_child)
        )
        if joint is None or not plain:
            return Answer(UNSUPPORTED, f"'{body}' is carried by joints: command those instead")
        state = simulation.state
        q, v = state.q.copy(), state.v.copy()
        turn = np.array(q[simulation.tree.q[joint.name]][3:] if pose is None else pose[3:], float)
        if not np.isfinite(turn).all() or not 0.99 < np.linalg.norm(turn) < 1.01:
            return Answer(101, "the orientation must have length one")
        turn /= np.linalg.norm(turn)
        if pose is not None:
            q[simulation.tree.q[joint.name]] = [*pose[:3], *turn]
        if twist is not None:
            w, *xyz = turn
            back = Rotation.from_quat([*xyz, w]).inv()
            v[simulation.tree.v[joint.name]] = [*twist[:3], *back.apply(twist[3:])]

        def change() -> None:
            simulation.state = replace(state, q=q, v=v)

        try:
            self.loop.put(change)
        except CutjointError as problem:
            return Answer(FAILED, str(problem))
        return Answer(OK)

    def _body(self, entity: str) -> str | None:
        body = entity.removeprefix(f"{self.name}/")
        return body if body in self._places else None

    def _unknown(self, entity: str) -> Answer:
        return Answer(NOT_FOUND, f"there is no entity '{entity}'")
