"""Orders from outside: checked, held until the next ones, relaxed when they stop.

Nothing here knows ROS; the node hands over lists of numbers and names. What can't be used is
refused as a whole with a sentence that says why, and the last good orders stay. An order is a force or
torque, or a position or velocity that a drive makes its joint follow (`model/control/computed_torque.py`).
"""

import time
from collections.abc import Sequence
from math import inf, isfinite, isnan, nan

import numpy as np

from ..model.base.errors import CutjointError
from ..model.control.command_law import FORCE, POSITION, VELOCITY, input_columns, motion_limits
from ..model.control.command_policy import RANGE_OF_OTHERS
from ..model.control.computed_torque import CommandPath, Wanted, input_places
from ..model.control.input_ranges import drive_ranges
from ..model.describe.inputs import EFFORT_ROLES
from ..model.describe.mechanism import Mechanism
from .histogram import Jitter

INTERFACES = {"effort": FORCE, "position": POSITION, "velocity": VELOCITY}

STOPPED = "the emergency stop is on; release it first"


class Refused(CutjointError):
    """A message that was not obeyed."""


class Stale(Refused):
    """One that was made too long ago."""


class Commands:
    """What every input was last told, in the order of the mechanism's inputs."""

    def __init__(self, mechanism: Mechanism, period: float, timeout: float, watchdog: str = "zero"):
        self.mechanism, self.inputs = mechanism, mechanism.inputs()
        self.timeout = timeout  # seconds of silence before orders are relaxed; 0 for never
        self.index = input_places(mechanism)
        self.path = CommandPath(mechanism)
        rows = input_columns(mechanism)
        self._added = np.array(
            [row.follows and row.role in EFFORT_ROLES for row in rows], bool
        )  # beside a servo
        self.ranges = np.array(drive_ranges(mechanism))
        self.watchdog = watchdog  # what forces do when commands stop: vanish, or stay
        self.jitter = Jitter(period)
        self.received = self.refused = self.saturated = self.lost = self.stale = 0
        self._stamps: dict[int, int] = {}  # of the newest command that an input obeyed, nanoseconds
        self.cut = ""  # input whose latest command is beyond a limit of the description
        self.silent = True  # nobody commands
        self.expired = False  # since the watchdog has acted
        self.holding = False  # at the start, until the first command
        self.seen = 0.0  # steady time of the latest good command
        self._latest = self._zero = Wanted.forces(np.zeros(len(self.inputs)))

    def accept(self, wanted: Wanted, now: float | None = None) -> Wanted:
        """Take new orders for all inputs; in the loop's thread, as all that is done here."""
        now = time.monotonic() if now is None else now
        if self.seen and not self.silent:
            self.jitter.add(now - self.seen)
        self.received += 1
        cut = self.path.check_order(wanted, self.ranges)[1]  # where inputs are given, they are cut
        self.cut = self.inputs[cut - 1] if cut else ""
        self.saturated += cut > 0
        self._latest, self.seen, self.silent, self.holding = wanted, now, False, False
        self.expired = False
        return wanted

    def limits(self) -> str:
        """Of the input whose command was cut, in words."""
        k = self.inputs.index(self.cut)
        row, (low, high, speed) = input_columns(self.mechanism)[k], motion_limits(self.mechanism)[k]
        ranges = {"position": (low, high), "speed": (-speed, speed), row.role: (row.low, row.high)}
        return ", ".join(f"{word} {a:g} to {b:g}" for word, (a, b) in ranges.items() if (a, b) != (-inf, inf))

    def in_time(self, names: Sequence[str], stamp: int, now: int, paced: bool) -> None:
        """Refuse what was said before something that is obeyed or, where time is `paced`, not about now.

        Stamps and `now` are nanoseconds of the node's clock; 0 means now. Each input has its own newest
        stamp, since senders may share the joints. Where time passes as fast as it can, or by commands, a
        command's age says nothing.
        """
        if not stamp:
            return
        told = [self._stamps[k] for k in self._inputs_of(names) if k in self._stamps]
        before, age = (max(told, default=stamp) - stamp) / 10**9, (now - stamp) / 10**9
        if before > 0:
            self.stale += 1
            raise Stale(f"its stamp is {before:.3g} s older than that of a command obeyed already")
        if paced and self.timeout and abs(age) > self.timeout:
            self.stale += 1
            where = "old" if age > 0 else "ahead"
            raise Stale(
                f"by its stamp it is {abs(age):.3g} s {where}, more than command_timeout "
                f"({self.timeout:g} s); give the sender this node's clock (use_sim_time), leave the stamp 0, "
                "or set command_stamps:=false"
            )

    def stamped(self, names: Sequence[str], stamp: int) -> None:
        """A command with this stamp is obeyed."""
        if stamp:
            self._stamps |= dict.fromkeys(self._inputs_of(names), stamp)

    def forget_stamps(self) -> None:
        """Time has jumped."""
        self._stamps.clear()

    def _inputs_of(self, names: Sequence[str]) -> list[int]:
        return [self.index[name] for name in names if name in self.index]

    def present(self, now: float) -> Wanted:
        """Orders to follow now: the latest, relaxed once the sender has been silent too long."""
        if not self.silent:
            stays, age = self.watchdog != "zero", now - self.seen
            self._latest, self.silent = self.path.relax_order(self._latest, age, self.timeout, stays)
            self.expired = self.silent
        return self._latest

    def kept(self) -> str:
        """What inputs do without commands, in words."""
        stays = "torques are zero" if self.watchdog == "zero" else "torques stay as they were"
        words = {FORCE: stays, POSITION: "positions are held", VELOCITY: "velocities are zero"}
        return ", ".join(words[k] for k in words if (self._latest.kind == k).any()) or "nothing is driven"

    @property
    def latest(self) -> Wanted:
        return self._latest

    def clear(self) -> None:
        """Forget the latest orders: no force."""
        self.take_over(self._zero)

    def take_over(self, wanted: Wanted, holding: bool = False) -> None:
        """Orders that no sender gave: a pose to hold, a trajectory's present point."""
        self.silent, self.holding, self.expired, self._latest = True, holding, False, wanted

    def from_vector(self, data: Sequence[float], kind: int = FORCE) -> Wanted:
        """Forces, positions or velocities in the order of the inputs."""
        if len(data) != len(self.inputs):
            raise Refused(
                f"{len(data)} values, but there are {len(self.inputs)} inputs: {', '.join(self.inputs)}"
            )
        values = np.array(data, float)
        if not np.isfinite(values).all():
            raise Refused(f"the value of '{self.inputs[int(np.argmin(np.isfinite(values)))]}' is not finite")
        if kind == FORCE:
            return self._within(self.path.order_of_values(values))
        return self._within(self._zero._replace(kind=np.where(self._added, FORCE, kind), value=values))

    def _within(self, wanted: Wanted) -> Wanted:
        """The same orders, if there are drives that could give such forces."""
        k = self.path.check_order(wanted, self.ranges)[0] - 1
        if k >= 0:
            most = self.ranges[k] if wanted.kind[k] == FORCE else RANGE_OF_OTHERS
            raise Refused(
                f"{wanted.value[k]:g} for '{self.inputs[k]}' is more than any drive of this mechanism gives "
                f"({most:g}); it is taken for an error"
            )
        return wanted

    def from_names(
        self,
        names: Sequence[str],
        effort: Sequence[float],
        known: Sequence[str],
        position: Sequence[float] = (),
        velocity: Sequence[float] = (),
    ) -> Wanted | None:
        """Orders by joint or motor name; inputs that are not named keep theirs. None: nothing is told.

        An effort is a force; without one a position is held (with a velocity that goes with it), or a
        velocity kept. ros2_control's topic hardware names all its joints but fills a field for those with
        that interface only: then there are as many values as driven joints among the names. Joints without
        a motor may have an effort of zero or NaN. NaN means "no command": before a controller is active,
        everything is NaN.
        """
        unknown = next((n for n in names if n not in self.index and n not in known), None)
        if unknown is not None:
            raise Refused(f"there is no joint '{unknown}'; driven joints: {', '.join(self.index) or 'none'}")
        given = {
            what: self._by_name(names, values, what)
            for what, values in (("effort", effort), ("position", position), ("velocity", velocity))
        }
        if not any(given.values()):
            raise Refused("effort, position and velocity are empty; one of them says what to do")
        for name, value in given["effort"].items():
            if name not in self.index and not isnan(value) and value != 0:
                raise Refused(f"joint '{name}' has no motor to give {value:g}; leave it out or give zero")
        fields = np.full((4, len(self.inputs)), nan)
        for field, values in zip(fields, given.values(), strict=False):  # accelerations are not told
            for name in (name for name in values if name in self.index):
                field[self.index[name]] = values[name]
        return self.from_fields(fields)

    def from_fields(self, fields: np.ndarray) -> Wanted | None:
        """Orders of efforts, positions, velocities, accelerations; NaN says nothing. None: nothing told."""
        if np.isnan(fields).all():
            return None
        return self._within(self.path.order_of_fields(fields, self._latest.still()))

    def _by_name(self, names: Sequence[str], values: Sequence[float], what: str) -> dict[str, float]:
        """A field of a message by joint."""
        driven = [n for n in names if n in self.index]
        if not len(values):
            return {}
        if len(values) not in (len(names), len(driven)):
            raise Refused(
                f"{len(values)} values of {what} for {len(names)} names of which {len(driven)} are driven; "
                "give one for each name, or one for each driven joint"
            )
        found = dict(zip(names if len(values) == len(names) else driven, map(float, values), strict=True))
        for name, value in found.items():
            if name in self.index and not isfinite(value) and not isnan(value):
                raise Refused(f"the {what} of '{name}' is not finite")
        return found
