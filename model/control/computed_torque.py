"""Computed torque at a state, by the law of `command_law.py`; and whether a path can be followed."""

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil
from typing import Any, NamedTuple

import numpy as np

from ..base.errors import SimulationError
from ..base.thresholds import CUT_OFF, FASTER, FOLLOWED, PATH_SAMPLES, REACHED, REHEARSED, SETTLED
from ..compile.kernel import Kernel
from ..describe.mechanism import Mechanism, outer_name
from ..describe.motors import has, has_delay
from ..state import State, Stepper
from .command_law import FORCE, PATH, POSITION, Limits, ample, driven_values, follow_order, motion_limits
from .joint_values import JointValues
from .runtime_parameters import FORCE as EXTERNAL_FORCE
from .runtime_parameters import TORQUE as EXTERNAL_TORQUE


class Wanted(NamedTuple):
    """What every input is told, in their order; never changed, only replaced.

    `value` is a force, a position or a velocity, as `kind` says; `rate` and `acceleration` go with positions.
    """

    kind: np.ndarray
    value: np.ndarray
    rate: np.ndarray
    acceleration: np.ndarray

    @classmethod
    def forces(cls, u: np.ndarray) -> "Wanted":
        """Every input gives a force."""
        zero = np.zeros(len(u))
        return cls(zero + FORCE, np.asarray(u, float), zero, zero)

    @classmethod
    def positions(cls, q: np.ndarray) -> "Wanted":
        """Every input holds its coordinate."""
        zero = np.zeros(len(q))
        return cls(zero + POSITION, np.asarray(q, float), zero, zero)

    def changed(self, at: Any, kind: int, value: Any, rate: Any = 0.0, acceleration: Any = 0.0) -> "Wanted":
        """The same with other orders for some inputs."""
        parts = [part.copy() for part in self]
        for part, new in zip(parts, (kind, value, rate, acceleration), strict=True):
            part[at] = new
        return Wanted(*parts)

    def still(self) -> "Wanted":
        """The same without going on: positions are held where they are."""
        return self._replace(rate=0 * self.rate, acceleration=0 * self.acceleration)


class CommandPath:
    """What makes, checks and relaxes orders, as numbers."""

    def __init__(self, mechanism: Mechanism):
        self._kernels = {name: Kernel(trace(mechanism)) for name, trace in PATH.items()}

    def order_of_values(self, values: Any) -> Wanted:
        """What one value for each input tells: forces, and places and rates of servos and driven motions."""
        return Wanted(*self._kernels["order_of_values"](values))

    def order_of_fields(self, fields: np.ndarray, before: Wanted) -> Wanted:
        """What efforts, positions, velocities and accelerations tell; NaN says nothing."""
        return Wanted(*self._kernels["order_of_fields"](*fields, *before))

    def check_order(self, wanted: Wanted, ranges: np.ndarray) -> tuple[int, int]:
        """The number, from 1, of the first input that can't obey, or 0; and that of the first to be cut."""
        refused, saturated = self._kernels["check_order"](*wanted, ranges)
        return int(refused[0]), int(saturated[0])

    def stop_order(self, position: np.ndarray, brake: bool) -> Wanted:
        """An emergency stop: no force, or with `brake` held at the positions of what inputs drive."""
        return Wanted(*self._kernels["stop_order"](position, brake))

    def relax_order(self, wanted: Wanted, age: float, timeout: float, stays: bool) -> tuple[Wanted, bool]:
        """What is left of orders of this age, and whether their sender has been silent for too long."""
        *order, silent = self._kernels["relax_order"](*wanted, age, timeout, stays)
        return Wanted(*order), bool(silent[0])


@dataclass(frozen=True)
class Path:
    """Where some inputs shall go: `at` are their places.

    `wanted(t)` gives position, velocity and acceleration after t seconds, rows of them for several times.
    """

    at: np.ndarray
    wanted: Callable[[Any], tuple[np.ndarray, np.ndarray, np.ndarray]]
    end: float


class Drives:
    """Forces of all inputs for what is wanted of them, at the present state of a simulation."""

    def __init__(self, simulation: Stepper, values: JointValues, frequency: float):
        self.simulation, self.values = simulation, values
        mechanism = simulation.mechanism
        places = driven_values(mechanism, [part.joint for part in values.joints])
        self.places = np.array([max(k, 0) for k in places], int)  # in `values`
        self.moves = np.array(places, int) >= 0  # the others, such as wrenches, move nothing of their own
        self.names = [values.names[k] for k in self.places]
        slides = [*(part.move.sliding for part in values.joints), *(True for _ in values.names)]
        self.sliding = np.array([slides[k] for k in places], bool)
        self.sizes = np.where(self.sliding, simulation.equations.scales.length, 1.0)
        self.knows_wrench = False  # whether it compensates an external wrench, as no servo can
        if self.names:
            engine = simulation.engine
            self._p = simulation.p.copy()  # as far as they are known
            at = simulation.q, simulation.v, simulation.z, simulation.u, self._p
            self._kernel = engine.kernel("follow_order", follow_order).bind(at)
            parameters = engine.variables.parameters
            self._external = np.zeros(len(self._p), bool)
            for variable in parameters:
                self._external[variable.where] |= variable.name in (EXTERNAL_FORCE, EXTERNAL_TORQUE)
            self._ample = engine.kernel("ample", ample, native=False)
            self._start = [x.copy() for x in (simulation.q, simulation.z, simulation.u, simulation.p)]
            self._set_frequency(frequency)

    def _set_frequency(self, frequency: float) -> None:
        self._frequency = frequency
        self.bounds = np.array(self._ample(*self._start, frequency))

    @property
    def position(self) -> np.ndarray:
        """Of what each input drives, as last read."""
        return self.values.position[self.places]

    @property
    def velocity(self) -> np.ndarray:
        return self.values.velocity[self.places]

    @property
    def effort(self) -> np.ndarray:
        """What each motor or cylinder gives."""
        return self.values.effort[self.places]

    def forces(self, wanted: Wanted, frequency: float) -> np.ndarray:
        """Inputs for the present state, none beyond its limit, nor beyond what is ample where it follows."""
        if not self.names:
            return np.zeros(0)
        if (wanted.kind != FORCE).any():
            self.values.read()
        if frequency != self._frequency:
            self._set_frequency(frequency)
        self._p[:] = self.simulation.p
        if not self.knows_wrench:
            self._p[self._external] = 0.0
        arguments = *wanted, self.position, self.velocity, frequency, *self.bounds
        for place, value in zip(self._kernel.arguments[5:], arguments, strict=True):
            place[...] = value
        self._kernel.evaluate()
        return self._kernel.results[0]

    def held(self) -> Wanted:
        """The present pose, to be held; refused with a sentence if there is nothing to hold, or nobody to."""
        name = self.simulation.mechanism.name
        if not self.names:
            raise SimulationError(f"'{name}' has no inputs to hold it")
        self.values.read()
        blind = self.blind
        if blind:
            raise SimulationError(
                f"'{blind[0]}' has a winding, a lag or play and no servo: nothing holds it still"
            )
        if self.velocity.any():
            raise SimulationError(f"'{name}' starts in motion, which inputs that hold would stop")
        return Wanted.positions(self.position)

    @property
    def blind(self) -> list[str]:
        """Motors with states of their own that no servo looks after."""
        motors = [m for m in self.simulation.mechanism.motors if not has(m.servo_stiffness)]
        return [m.name for m in motors if has_delay(m) or has(m.resistance)]

    def check_path(self, path: Path) -> None:
        """Refuse a path that leads beyond a stop, or faster than a motor's speed limit."""
        limits = [motion_limits(self.simulation.mechanism)[k] for k in path.at]
        if all(x == Limits() for x in limits):
            return
        times = np.linspace(0.0, path.end, PATH_SAMPLES)
        position, velocity, _ = path.wanted(times)
        for k, (low, high, speed), q, v in zip(path.at, limits, position.T, velocity.T, strict=True):
            unit = "m" if self.sliding[k] else "rad"
            for x, least, most, what in ((q, low, high, unit), (v, -speed, speed, f"{unit}/s")):
                beyond = np.maximum(x - most, least - x)
                worst = int(np.argmax(beyond))
                if beyond[worst] > CUT_OFF * max(abs(x[worst]), 1.0):
                    raise SimulationError(
                        f"'{self.names[k]}' would be at {x[worst]:.4g} {what} after {times[worst]:.3g} s, "
                        f"beyond its limit of {most if x[worst] > most else least:g} {what}; "
                        "give it more time, or a nearer goal"
                    )

    def is_where(self, path: Path) -> bool:
        """Whether it is at rest where a path begins, so that nothing changes by waiting."""
        self.values.read()
        off = np.abs(path.wanted(0.0)[0] - self.position[path.at]) / self.sizes[path.at]
        return bool(off.max(initial=0.0) < REACHED and np.abs(self.velocity).max(initial=0.0) < REACHED)

    def too_fast(self) -> list[str]:
        """What moves faster than its motor may be asked for, as last read: told forces do that."""
        limits = motion_limits(self.simulation.mechanism)
        fast = [abs(v) > (1 + FASTER) * x.speed for v, x in zip(self.velocity, limits, strict=True)]
        return [name for name, beyond in zip(self.names, fast, strict=True) if beyond]

    def stopping_place(self, frequency: float) -> np.ndarray:
        """Where inputs come to rest that are told to stay there from now on.

        Critically damped, q̈ = −2ω q̇ + ω²(q_d − q) with q_d = q + q̇/ω: the way that is left fades as
        e^(−ωt), and nothing comes back. A driven motion stops where it is.
        """
        self.values.read()
        motions = self.simulation.mechanism.motions
        exact = np.array([name in motions for name in self.simulation.mechanism.inputs()], bool)
        return self.position + np.where(exact, 0.0, self.velocity / frequency)


def input_places(mechanism: Mechanism) -> dict[str, int]:
    """Every name by which an input may be told: its own, its port's, its joint's, ROS's -> number."""
    places = {name: k for k, name in enumerate(mechanism.inputs())}
    places |= {f"{row.element}.{row.role}": row.first for row in mechanism.input_table if row.size == 1}
    for row in (row for row in mechanism.input_table if row.joint):
        for name in (row.joint, outer_name(mechanism.joint(row.joint))):
            places.setdefault(name, row.first)
    return places


class Rehearsal:
    """Tries a path out on a double before it is followed: the very motion that will come, in advance.

    It may run in a thread of its own. `abandoned` says that nobody waits for it any more.
    """

    def __init__(self, drives: Drives, frequency: float):
        simulation = drives.simulation
        self.double = Stepper(simulation.engine, simulation.state, simulation.stepping)
        self.drives = Drives(self.double, JointValues(self.double), frequency)
        self.abandoned: Callable[[], bool] = lambda: False
        self._like = drives

    def begin(self, state: State, near: np.ndarray, abandoned: Callable[[], bool] = lambda: False) -> None:
        """From a state; `near` are the joints' values that angles are counted from."""
        self.double.put(state)
        self.drives.values.position[:] = near
        self.drives.knows_wrench = self._like.knows_wrench
        self.abandoned = abandoned

    def go_on(
        self, orders: Callable[[float], Wanted], periods: int, h: float, steps: int, frequency: float
    ) -> None:
        """Some periods of `steps` steps h with what is wanted at their times."""
        begin = self.double.time
        for k in range(periods):
            self._advance(self.drives.forces(orders(begin + k * h * steps), frequency), h, steps)

    def run(self, others: Wanted, path: Path, h: float, steps: int, frequency: float) -> None:
        """Follow a path from here in periods of `steps` steps h; a sentence says why it can't be done.

        `others` is what is wanted of all inputs that are not on the path. Paths longer than `REHEARSED` are
        tried so far.
        """
        drives = self.drives
        past = path.end + SETTLED / frequency
        times = h * steps * np.arange(ceil(min(past, REHEARSED) / (h * steps)))
        for t, position, velocity, acceleration in zip(times, *path.wanted(times), strict=True):
            wanted = others.changed(path.at, POSITION, position, velocity, acceleration)
            u = drives.forces(wanted, frequency)
            off = np.abs(position - drives.position[path.at]) / drives.sizes[path.at]
            worst = int(np.argmax(off))
            if not off[worst] <= FOLLOWED:
                self._refuse(path.at[worst], off[worst], u, f"off its path after {t:.3g} s")
            self._advance(u, h, steps)
        if past <= REHEARSED and off[worst] > REACHED:
            self._refuse(path.at[worst], off[worst], u, "off its goal")

    def _advance(self, u: np.ndarray, h: float, steps: int) -> None:
        if self.abandoned():
            raise SimulationError("nobody waits for it any more")
        try:
            self.double.set_inputs(u)
            for _ in range(steps):
                self.double.step(h)
        except SimulationError as problem:
            raise SimulationError(f"it can't be followed: {problem}") from problem

    def _refuse(self, k: int, off: float, u: np.ndarray, where: str) -> None:
        drives = self.drives
        size, (least, most) = drives.sizes[k], drives.bounds[:, k]
        unit, force = ("m", "N") if drives.sliding[k] else ("rad", "N·m")
        full = "" if least < u[k] < most else f" with the {abs(u[k]):.4g} {force} that it may give"
        raise SimulationError(
            f"it can't be followed: '{drives.names[k]}' would be {off * size:.2g} {unit} {where}{full}; "
            "give it more time, or a goal nearer to where it is and where it moves"
        )
