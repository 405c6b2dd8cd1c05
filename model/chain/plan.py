"""Smooth ways to targets, found and checked before anything moves.

A frame goes from its present motion to rest at its target. Every coordinate is a sum: of a polynomial of
fourth degree, by which the present motion comes to rest, and one of fifth degree from rest to rest over the
time T, which makes up for what is left. So speed and acceleration begin as they are and end at zero. T is the
shortest time for which speed, acceleration and jerk keep their bounds. Orientations are R(t) = exp(φ(t)) R*,
φ(T) = 0. The whole way is solved for the joints first: what meets a limit or singular pose is refused
before it begins.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from math import ceil
from typing import Any, NamedTuple

import casadi as ca
import numpy as np

from ..base.errors import SimulationError
from ..base.thresholds import SAME_TIME, SMALL_TURN
from ..describe.mechanism import Mechanism
from ..describe.targets import BOUNDS
from ..describe.validation import nearest
from ..joints.rigid_motion import conjugate, product
from ..state import State
from .core import ChainMotion
from .inverse import inverse
from .rows import FrameRows, rotation_vector
from .target import Target, resolve, target_numbers, target_rows

POINTS = 200  # of a way, by which its bounds are judged
MORE_TIME = 1.02  # by which a way is made longer until it keeps its bounds
LONGEST_WAY = 1000.0  # seconds
ZERO = np.zeros(3)
SPACING = 0.01  # seconds between poses of a way that are solved; between them joints go by fifth degree


class Bounds(NamedTuple):
    """Largest speed, acceleration and jerk of a frame's origin, m/s, m/s², m/s³; and of its turning, rad."""

    speed: float
    acceleration: float
    jerk: float
    turn_speed: float
    turn_acceleration: float
    turn_jerk: float


def bounds_of(mechanism: Mechanism, target: Target, given: Mapping[str, float]) -> Bounds:
    """Bounds by name; those not given are the described target's, or the defaults."""
    for name, value in given.items():
        if name not in Bounds._fields:
            raise SimulationError(f"there is no bound '{name}'; {nearest(name, Bounds._fields)}")
        if not 0 < value < np.inf:
            raise SimulationError(f"the bound '{name}' is a positive number, not {value}")
    described = next((x for x in mechanism.targets if x.name == target.frame), None)
    default = {name: value for name, (_, value) in BOUNDS.items()}
    own = {name: getattr(described, name) for name in BOUNDS} if described else default
    return Bounds(**{**own, **given})


@dataclass(frozen=True)
class Plan:
    """The motion of all actuators over time, solved at `times`; `at` gives it between them."""

    actuators: tuple[str, ...]  # by name
    times: np.ndarray  # seconds since the beginning
    positions: np.ndarray  # times × actuators
    speeds: np.ndarray  # the same
    accelerations: np.ndarray  # the same
    end: ChainMotion  # the whole chain at the end

    @property
    def duration(self) -> float:
        """Seconds that it takes."""
        return float(self.times[-1])

    def at(self, t: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Position, speed and acceleration of every actuator after t seconds; at rest at the end."""
        if t >= self.duration:
            still = np.zeros(len(self.actuators))
            return self.positions[-1], still, still
        k = min(int(np.searchsorted(self.times, t, side="right")), len(self.times) - 1)
        h = self.times[k] - self.times[k - 1]
        ends = [(self.positions[i], self.speeds[i], self.accelerations[i]) for i in (k - 1, k)]
        c = quintic(*ends[0], *ends[1], h)
        s = t - self.times[k - 1]
        return tuple(_evaluate(c, s, order) for order in range(3))  # type: ignore[return-value]


def quintic(x0: Any, v0: Any, a0: Any, x1: Any, v1: Any, a1: Any, T: float) -> np.ndarray:
    """Coefficients, lowest first, of the polynomial with these values, rates and second rates at 0 and T."""
    x0, v0, a0, x1, v1, a1 = (np.asarray(x, float) for x in (x0, v0, a0, x1, v1, a1))
    d, r, s = x1 - x0 - T * (v0 + T * a0 / 2), v1 - v0 - T * a0, a1 - a0
    return np.array(
        [
            x0,
            v0,
            a0 / 2,
            (10 * d - 4 * T * r + T**2 * s / 2) / T**3,
            (-15 * d + 7 * T * r - T**2 * s) / T**4,
            (6 * d - 3 * T * r + T**2 * s / 2) / T**5,
        ]
    )


def braked(x0: Any, v0: Any, a0: Any, T: float) -> np.ndarray:
    """Coefficients, lowest first, of the polynomial of fourth degree that begins so and is at rest at T."""
    x0, v0, a0 = (np.asarray(x, float) for x in (x0, v0, a0))
    return np.array([x0, v0, a0 / 2, -(v0 + 2 * a0 * T / 3) / T**2, (v0 / 2 + a0 * T / 4) / T**3])


def _evaluate(c: np.ndarray, t: Any, order: int) -> np.ndarray:
    """The polynomial's derivative of that order; a row for each time, if there are several."""
    for _ in range(order):
        c = c[1:] * np.arange(1, len(c)).reshape(-1, *[1] * (c.ndim - 1))
    powers = np.asarray(t, float)[..., None] ** np.arange(len(c))
    return np.asarray(np.tensordot(powers, c, 1))


@cache
def _turned() -> ca.Function:
    """(φ, φ̇, φ̈) → (e, ω, α, A): Euler parameters of exp(φ), their motion in the fixed axes, A = ∂ω/∂φ̇."""
    phi, rate, more = (ca.SX.sym(name, 3) for name in ("phi", "rate", "more"))
    square = ca.sumsqr(phi)
    small = square < SMALL_TURN**2
    n = ca.sqrt(ca.if_else(small, 1, square))
    half = ca.if_else(small, 0.5 - square / 48 + square**2 / 3840, ca.sin(n / 2) / n)
    e = ca.vertcat(ca.if_else(small, 1 - square / 8 + square**2 / 384, ca.cos(n / 2)), half * phi)
    de = ca.jtimes(e, phi, rate)
    dde = ca.jtimes(de, phi, rate) + ca.jtimes(de, rate, more)
    w, a = (2 * product(x, conjugate(e))[1:] for x in (de, dde))
    names = ["phi", "rate", "more"], ["e", "w", "a", "A"]
    return ca.Function("turned", [phi, rate, more], [e, w, a, ca.jacobian(w, rate)], *names)


class FrameWay:
    """One frame's way from its present motion to a target."""

    def __init__(
        self, chain: Any, target: Target, state: State, motion: ChainMotion | None, given: Mapping[str, float]
    ):
        self.bounds = bounds_of(chain.mechanism, target, given)
        target = resolve(chain.mechanism, target)
        rows = target_rows(chain.mechanism, target)
        self.target, self.goal = target, target_numbers(target)
        whole = (FrameRows(rows.frame, base=rows.base),)
        t, w, W, bias = chain.values(whole, state)
        a = W @ motion.accelerations + bias if motion is not None else np.zeros(6)
        self.line = np.array([t[:3], w[:3], a[:3]]), self.goal[:3]
        if target.position is None:
            self.line = np.zeros((3, 3)), np.zeros(3)
        self.turn = (
            self._start_of_turn(t[3:], w[3:], a[3:]) if target.orientation is not None else np.zeros((3, 3))
        )
        self.stop = self._stopping_time()

    def _start_of_turn(self, e: np.ndarray, w: np.ndarray, a: np.ndarray) -> np.ndarray:
        """φ, φ̇, φ̈ of the present motion against the target's orientation."""
        off = product(ca.DM(e), conjugate(ca.DM(self.goal[3:])))
        phi = np.array(ca.DM(rotation_vector(ca.SX(off)))).ravel()
        zero = np.zeros(3)
        A = np.array(_turned()(phi, zero, zero)[3])
        rate = np.linalg.solve(A, w)
        bias = np.array(_turned()(phi, rate, zero)[2]).ravel()
        return np.array([phi, rate, np.linalg.solve(A, a - bias)])

    def course(self, T: float, t: Any, order: int) -> tuple[np.ndarray, np.ndarray]:
        """Origin and rotation vector φ at times t of a way of T seconds, or their rates of an order."""
        line, turn = (
            _evaluate(c, np.minimum(t, self.stop), order) * (np.less(t, self.stop)[..., None] | (not order))
            + _evaluate(quintic(ZERO, ZERO, ZERO, rest, ZERO, ZERO, T), np.minimum(t, T), order)
            for c, rest in self._brakes(self.stop)
        )
        return line, turn

    def _brakes(self, stop: float) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """How the present motion comes to rest by itself, and what is left to the goal then."""
        for (x, v, a), goal in (self.line, (self.turn, ZERO)):
            c = braked(x, v, a, stop)
            yield c, goal - _evaluate(c, stop, 0)

    def _stopping_time(self) -> float:
        """The shortest time, to a few percent, in which acceleration and jerk let it come to rest."""
        T = SPACING
        while any(
            np.linalg.norm(_evaluate(c, np.linspace(0.0, T, POINTS), order), axis=-1).max()
            > max(most[order - 1], begun if order == 2 else 0.0) * (1 + SAME_TIME)
            for (c, _), most, begun in zip(self._brakes(T), self._most, self._begun(), strict=True)
            for order in (2, 3)
        ):
            T *= MORE_TIME
        return T

    @property
    def _most(self) -> tuple[tuple[float, ...], tuple[float, ...]]:
        return self.bounds[:3], self.bounds[3:]

    def _begun(self) -> tuple[float, float]:
        """Accelerations that there are."""
        return float(np.linalg.norm(self.line[0][2])), float(np.linalg.norm(self.turn[2]))

    def keeps(self, T: float) -> bool:
        """Whether speed, acceleration and jerk stay within bounds, or within what coming to rest takes."""
        times = np.linspace(0.0, max(T, self.stop), POINTS)
        brakes = [c for c, _ in self._brakes(self.stop)]
        for order in (1, 2, 3):
            for c, x, most in zip(brakes, self.course(T, times, order), self._most, strict=True):
                alone = np.linalg.norm(_evaluate(c, np.minimum(times, self.stop), order), axis=-1).max()
                if np.linalg.norm(x, axis=-1).max() > max(most[order - 1], alone) * (1 + SAME_TIME):
                    return False
        return True

    def target_at(self, T: float, t: float) -> Target:
        """Where the frame is to be after t seconds, and how it is to move."""
        (r, v, a), phi = zip(*(self.course(T, t, order) for order in range(3)), strict=True)
        e, w, dw, _ = (np.array(x).ravel() for x in _turned()(*phi))
        placed, turned = self.target.position is not None, self.target.orientation is not None
        orientation = np.array(product(ca.DM(e), ca.DM(self.goal[3:]))).ravel()
        return replace(
            self.target,
            position=r if placed else None,
            orientation=orientation if turned else None,
            velocity=v if placed else None,
            acceleration=a if placed else None,
            angular_velocity=w if turned else None,
            angular_acceleration=dw if turned else None,
        )


def plan(
    chain: Any,
    targets: Sequence[Target],
    start: State,
    motion: ChainMotion | None,
    bounds: Mapping[str, float],
    duration: float | None,
    margin: float | None,
) -> Plan:
    """The way of all actuators to targets, or a sentence why there is none; see `Chain.plan`."""
    for target in targets:
        if target.axes != "base" or target.velocity is not None or target.angular_velocity is not None:
            raise SimulationError(
                "a frame comes to rest at a target, in axes of its base; leave out axes and speeds"
            )
    state = chain.released(start)
    if motion is None:
        inverse(chain, targets, start, {}, False, margin)  # says at once whether it can be reached
    ways = [FrameWay(chain, target, state, motion, bounds) for target in targets]
    T = _duration(ways) if duration is None else duration
    for way in ways:
        way.stop = min(way.stop, T)
    return followed(chain, lambda t: [way.target_at(T, t) for way in ways], T, start, margin)


def _duration(ways: Sequence[FrameWay]) -> float:
    """The shortest time, to a few percent, in which all ways keep their bounds."""
    T = SPACING
    while not all(way.keeps(T) for way in ways):
        T *= MORE_TIME
        if T > LONGEST_WAY:
            raise SimulationError(
                f"within its bounds that takes longer than {LONGEST_WAY:g} s; give wider ones"
            )
    return max(T, *(way.stop for way in ways))


def followed(
    chain: Any, path: Callable[[float], Sequence[Target]], T: float, start: State, margin: float | None
) -> Plan:
    """Joints along a path of targets over T seconds, each pose from the one before."""
    if not 0 < T <= LONGEST_WAY:
        raise SimulationError(f"a way takes a time between 0 and {LONGEST_WAY:g} s, not {T:g}")
    times = np.linspace(0.0, T, ceil(T / SPACING) + 1)
    rows, here = [], start
    for t in times:
        try:
            found = inverse(chain, path(float(t)), here, {}, False, margin)
        except SimulationError as problem:
            raise SimulationError(f"the way is barred after {t:.3g} s of {T:.3g}: {problem}") from None
        rows.append(list(found.actuators.values()))
        here = replace(found.state, v=start.v)
    table = np.array(rows).reshape(len(times), len(chain.actuators), 3)
    return Plan(chain.actuators, times, table[..., 0], table[..., 1], table[..., 2], found)
