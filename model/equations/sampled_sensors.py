"""Sensors that take samples: when, what they make of what they measure, and what they tell at a time.

Samples are counted from time zero: number k is taken at k T, T the `period`, so that no round-off adds up.
Each is

    x̂ = r ⌊(x + σ n)/r + ½⌋

with the exact reading x, the `noise` σ, the `resolution` r (none: as it is), and n of mean 0 and variance 1.
It is told from k T + `delay` on, until the next one is. Before the first one arrives, the one that was taken
at the start is told.

n is the sum of twelve even numbers between 0 and 1, less 6: nearly normal, never beyond 6. They come from
L'Ecuyer's combined multiple recursive generator MRG32k3a (Operations Research 47, 1999), whose whole numbers
stay below 2⁵³: all of it is exact in floating point, the same on every machine and in every language. Each
sensor has a sequence of its own, begun by its `seed` and name.

Everything that is to be remembered stands in one column of numbers, `m`, a part of the state: for each sensor
whether it has begun, the number of its last sample, the generator's six numbers, and its last samples, the
newest first.
"""

from hashlib import sha256
from typing import Any, NamedTuple

import casadi as ca
import numpy as np

from ..base.thresholds import HUGE, ROUNDED, SAME_TIME
from ..describe.mechanism import Mechanism
from ..describe.sensors import KINDS, Sensor, reading_units
from .outputs import readings
from .terms import Equations, once

M1, M2 = 4294967087.0, 4294944443.0  # of the generator
EVEN = 12  # even numbers that make one of the noise's


class Sampled(NamedTuple):
    """A sensor that takes samples, and where what it remembers stands in `m`."""

    sensor: Sensor
    names: tuple[str, ...]  # of its readings among the outputs
    steps: tuple[float, ...]  # resolution and noise of each number
    noises: tuple[float, ...]
    kept: int  # samples that are remembered
    begun: int
    number: int
    random: slice
    samples: slice


def sampled_groups(mechanism: Mechanism) -> list[Sampled]:
    """All of a mechanism; what they tell stands in their order."""
    found, at = [], 0
    for sensor in (sensor for sensor in mechanism.sensors if sensor.period):
        sizes = [
            len(x) for x in reading_units(sensor.type, mechanism.joint_type(sensor) if sensor.joint else None)
        ]
        names = tuple(f"sensor.{sensor.name}.{reading.name}" for reading in KINDS[sensor.type].readings)
        steps, noises = (_spread(x, sizes) for x in (sensor.resolution, sensor.noise))
        kept = int(sensor.delay / sensor.period + SAME_TIME) + 2
        first = at + 2 + 6 * any(noises)
        end = first + kept * sum(sizes)
        found.append(
            Sampled(sensor, names, steps, noises, kept, at, at + 1, slice(at + 2, first), slice(first, end))
        )
        at = end
    return found


class Tick(NamedTuple):
    """When outputs of these names tell something new: at `shift` + k `period`, counted from time zero."""

    period: float
    shift: float
    names: tuple[str, ...]


def ticks(mechanism: Mechanism) -> list[Tick]:
    """One for all sensors that tell at the same times."""
    found: dict[tuple[float, float], tuple[str, ...]] = {}
    for part in sampled_groups(mechanism):
        period, delay = part.sensor.period, part.sensor.delay
        shift = max(delay - int(delay / period + SAME_TIME) * period, 0.0)
        found[period, shift] = found.get((period, shift), ()) + part.names
    return [Tick(*when, names) for when, names in found.items()]


def _spread(values: tuple[float, ...], sizes: list[int]) -> tuple[float, ...]:
    """A number for every number of the readings; zero where none was given."""
    given = (*values, *[0.0] * (len(sizes) - len(values)))
    return tuple(x for x, size in zip(given, sizes, strict=True) for _ in range(size))


def initial_memory(mechanism: Mechanism) -> np.ndarray:
    """`m` before the start: nobody has begun, the generators are set."""
    parts = sampled_groups(mechanism)
    m = np.zeros(parts[-1].samples.stop if parts else 0)
    for part in parts:
        digest = sha256(f"{part.sensor.seed:.0f} {part.sensor.name}".encode()).digest()
        numbers = [1 + int.from_bytes(digest[4 * k : 4 * k + 4], "little") % int(M2 - 1) for k in range(6)]
        m[part.random] = numbers[: part.random.stop - part.random.start]
    return m


@once
def sampling(eq: Equations) -> ca.Function:
    """(q, v, z, u, p, m, t) → m: samples of all sensors whose time has come at t, of this state."""
    parts = sampled_groups(eq.described)
    found = readings(eq)
    m, t = _memory(parts), ca.SX.sym("t")
    new = ca.SX(m)
    for part in parts:
        now = _count(t, part.sensor.period)
        fresh = _fresh(part, m, now)
        due = ca.logic_or(fresh, now > m[part.number])
        exact = ca.vertcat(*(found[name] for name in part.names))
        random, taken = m[part.random], []
        for k, (step, noise) in enumerate(zip(part.steps, part.noises, strict=True)):
            x = exact[k]
            if noise:
                n, random = _normal(random)
                x += noise * n
            taken.append(step * ca.floor(x / step + 0.5) if step else x)
        sample, before = ca.vertcat(*taken), m[part.samples]
        again = ca.repmat(sample, part.kept)
        moved = ca.vertcat(sample, before[: -sample.numel()])
        new[part.begun], new[part.number] = 1, ca.if_else(due, now, m[part.number])
        new[part.random] = ca.if_else(due, random, m[part.random])
        new[part.samples] = ca.if_else(due, ca.if_else(fresh, again, moved), before)
    names = ["q", "v", "z", "u", "p", "m", "t"]
    arguments = [eq.q, eq.v, eq.z, eq.u, eq.p, m, t]
    return ca.Function("sampling", arguments, [ca.densify(new)], names, ["m_new"])


@once
def sample_values(eq: Equations) -> ca.Function:
    """(m, t) → y: what the sensors tell at a time, in the order of `sampled_groups`."""
    parts = sampled_groups(eq.described)
    m, t = _memory(parts), ca.SX.sym("t")
    told = []
    for part in parts:
        count = len(part.steps)
        arrived = _count(t - part.sensor.delay, part.sensor.period)
        age = ca.fmin(ca.fmax(m[part.number] - arrived, 0), part.kept - 1)
        samples = ca.reshape(m[part.samples], count, part.kept)
        y = samples[:, 0]
        for k in range(1, part.kept):
            y = ca.if_else(age == k, samples[:, k], y)
        told.append(y)
    return ca.Function("sample_values", [m, t], [ca.densify(ca.vertcat(*told))], ["m", "t"], ["y"])


@once
def upcoming(eq: Equations) -> ca.Function:
    """(m, t) → (sample, change): when the next sample is due, and when anything is told anew after t.

    What is due at t, but for round-off, is due at t itself; sensors that have not begun are due at once.
    """
    parts = sampled_groups(eq.described)
    m, t = _memory(parts), ca.SX.sym("t")
    sample = change = ca.SX(HUGE)
    for part in parts:
        period, delay = part.sensor.period, part.sensor.delay
        coming = (m[part.number] + 1) * period
        coming = ca.if_else(ca.fabs(coming - t) <= SAME_TIME * period + ROUNDED * ca.fabs(t), t, coming)
        coming = ca.if_else(_fresh(part, m, _count(t, period)), t, coming)
        arrival = (_count(t - delay, period) + 1) * period + delay
        sample, change = ca.fmin(sample, coming), ca.fmin(change, ca.fmin(coming, arrival))
    return ca.Function("upcoming", [m, t], [sample, change], ["m", "t"], ["sample", "change"])


def _memory(parts: list[Sampled]) -> Any:
    return ca.SX.sym("m", parts[-1].samples.stop)


def _count(t: Any, period: float) -> Any:
    """The number of the last sample whose time has come at t."""
    return ca.floor(t / period + SAME_TIME + ROUNDED * ca.fabs(t) / period)


def _fresh(part: Sampled, m: Any, now: Any) -> Any:
    """Whether a sensor begins now: it has not begun, or time was set back."""
    return ca.logic_or(m[part.begun] == 0, m[part.number] > now)


def _normal(state: Any) -> tuple[Any, Any]:
    """A number of the noise, and the generator after it."""
    a, b = ca.vertsplit(state[:3]), ca.vertsplit(state[3:])
    total = 0
    for _ in range(EVEN):
        a = [a[1], a[2], _modulo(1403580 * a[1] - 810728 * a[0], M1)]
        b = [b[1], b[2], _modulo(527612 * b[2] - 1370589 * b[0], M2)]
        difference = a[2] - b[2]
        total += ca.if_else(difference <= 0, difference + M1, difference)
    return (total - EVEN / 2 * (M1 + 1)) * (1 / (M1 + 1)), ca.vertcat(*a, *b)


def _modulo(x: Any, m: float) -> Any:
    """x mod m of whole numbers below 2⁵³."""
    rest = x - m * ca.floor(x / m)
    rest = ca.if_else(rest < 0, rest + m, rest)
    return ca.if_else(rest >= m, rest - m, rest)
