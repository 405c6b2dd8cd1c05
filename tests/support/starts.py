"""Random held starts of a mechanism, and where Python, a native FMU and a pythonfmu FMU end from each.

A held start gives some joints of the tree a coordinate away from the description's; the others follow
so that the loops close. Every runtime either ends on a pose or refuses.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from cutjoint import CutjointError, Mechanism, Simulation
from cutjoint.fmu.export import contents, write_zip
from cutjoint.fmu.python_export import write_python_fmu as write_python
from cutjoint.model.engine import Engine
from cutjoint.model.joints.types import TYPES
from cutjoint.model.run.assembly import start_guess
from cutjoint.native.c_compile import check_platforms
from cutjoint.native.variable_layout import plan
from fmpy.fmi1 import FMICallException
from fmu_tools import get, initialize, instance
from scipy.spatial.transform import Rotation

AGREED = 1e-9  # metres, and entries of rotation matrices
NEAR, FAR = (1.0, 0.3), (3.0, 0.3)  # rad and m: how far held coordinates are from the start, by turns
NUDGE = 1e-6  # moves a start over a border between branches, if it lies on one
JUMP = 1e-3  # what counts as another branch

Held = dict[str, np.ndarray]
Pose = np.ndarray | None  # rotation matrices and origins of all bodies; None is a refusal
OUTPUTS = ("body.*.position", "body.*.orientation")


class Python:
    """`Simulation(mechanism, start=held)`, assembled again and again by one engine."""

    def __init__(self, engine: Engine):
        self.simulation = Simulation(engine)
        self.start = replace(self.simulation.state, q=start_guess(engine))
        self.assembled = self.simulation.state.q

    def pose(self, held: Held) -> Pose:
        self.simulation.put(self.start)
        try:
            self.simulation.assemble(held)
        except CutjointError:
            return None
        return pose(self.simulation)


def pose(simulation: Simulation) -> np.ndarray:
    found = simulation.body_poses()
    return np.concatenate([np.column_stack(found[b.name]).ravel() for b in simulation.mechanism.bodies])


@dataclass
class Fmu:
    """Either runtime through FMPy; one instance goes back to where it was before it was initialized."""

    fmu: Any
    bodies: list[str]
    saved: Any = None

    def pose(self, held: Held) -> Pose:
        if self.saved is None:
            self.saved = self.fmu.getFMUstate()
        else:
            self.fmu.setFMUstate(self.saved)
        values = {}
        for joint, q in held.items():
            name = f"start.{joint}.position"
            values |= {name: q[0]} if len(q) == 1 else {f"{name}[{k + 1}]": x for k, x in enumerate(q)}
        try:
            initialize(self.fmu, values)
            shown = get(self.fmu, self.outputs)
            self.fmu.doStep(0.0, 1e-3)  # pythonfmu can't return the status of initialization
        except FMICallException:
            return None
        return matrices(shown)

    @property
    def outputs(self) -> list[str]:
        ends = [f"position[{k}]" for k in (1, 2, 3)] + [f"orientation[{k}]" for k in (1, 2, 3, 4)]
        return [f"body.{body}.{end}" for body in self.bodies for end in ends]


def matrices(shown: np.ndarray) -> np.ndarray:
    """Position and Euler parameters of every body to what `pose` gives."""
    places = []
    for row in shown.reshape(-1, 7):
        R = Rotation.from_quat(np.roll(row[3:], -1)).as_matrix()
        places.append(np.column_stack([R, row[:3]]).ravel())
    return np.concatenate(places)


@contextmanager
def runtimes(mechanism: Mechanism, folder: Path) -> Iterator[dict[str, Any]]:
    """All three, ready to be asked for poses; Python's comes first."""
    laid_out = plan(mechanism, outputs=OUTPUTS)
    native, slave = folder / f"{mechanism.name}.fmu", folder / f"{mechanism.name}-python.fmu"
    write_zip(native, contents(laid_out, 2, check_platforms(()), 0, False))
    write_python(laid_out, slave, picture=False)
    said: list[Any] = []  # refusals are expected and not to be printed
    with instance(native, log=said) as a, instance(slave, log=said) as b:
        bodies = [body.name for body in mechanism.bodies]
        yield {
            "Python": Python(laid_out.simulation.engine),
            "native": Fmu(a, bodies),
            "pythonfmu": Fmu(b, bodies),
        }


def held_starts(ours: Python, count: int, seed: int) -> list[Held]:
    """Joints of at most as many speeds as the mobility, every fifth time of more, held off the start.

    Every third start holds joints where they are in a pose that an earlier one reached. (Not in the
    start pose itself: an FMU holds what differs from its default.)
    """
    random = np.random.default_rng(seed)
    tree, mechanism = ours.simulation.tree, ours.simulation.mechanism
    speeds = {name: where.stop - where.start for name, where in tree.v.items() if where.stop > where.start}
    mobility = ours.simulation.topology().mobility
    reached: list[np.ndarray] = []
    result = []
    for k in range(count):
        over = k % 5 == 4
        wanted = mobility + 1 if over else int(random.integers(1, max(mobility, 1) + 1))
        known = k % 3 == 2 and bool(reached)
        q = reached[random.integers(len(reached))] if known else ours.assembled
        held: Held = {}
        for name in map(str, random.permutation(list(speeds))):
            if sum(speeds[n] for n in held) + (0 if over else speeds[name] - 1) < wanted:
                units = TYPES[mechanism.joint(name).type].position_units
                there = q[tree.q[name]]
                held[name] = there if known else elsewhere(there, units, random, (NEAR, FAR)[k % 2])
        if ours.pose(held) is not None:
            reached.append(ours.simulation.state.q)
        result.append(held)
    return result


def elsewhere(
    q: np.ndarray, units: tuple[str, ...], random: np.random.Generator, reach: tuple[float, float]
) -> np.ndarray:
    """Coordinates of a joint at most `reach` (turn, slide) away from the given ones."""
    new = q.copy()
    for k, unit in enumerate(units):
        if unit in ("rad", "m"):
            new[k] += random.uniform(-1, 1) * reach[unit == "m"]
    if "1" in units:  # Euler parameters
        ball = slice(units.index("1"), units.index("1") + 4)
        axis = random.normal(size=3)
        turn = Rotation.from_rotvec(random.uniform(0, reach[0]) * axis / np.linalg.norm(axis))
        new[ball] = np.roll((turn * Rotation.from_quat(np.roll(q[ball], -1))).as_quat(), 1)  # scalar first
    return new


# -- comparing -----------------------------------------------------------------------------


@dataclass
class Count:
    """What became of the starts of one mechanism."""

    name: str
    starts: int = 0
    asked: int = 0  # comparisons: starts times runtimes
    refused: int = 0  # by Python
    other_verdict: int = 0  # one takes what the other refuses
    other_pose: int = 0
    borders: int = 0  # of those that differ
    worst: float = 0.0  # difference of those that agree
    different: list[str] = field(default_factory=list)

    def row(self) -> str:
        numbers = (self.starts, self.refused, self.asked, self.other_verdict, self.other_pose, self.borders)
        return f"{self.name:16}" + "".join(f"{n:9}" for n in numbers) + f"  {self.worst:.1e}"


HEADER = f"{'':16}" + "".join(
    f"{word:>9}" for word in ("starts", "refused", "compared", "verdict", "pose", "border")
)


def compare(ways: dict[str, Any], starts: list[Held]) -> Count:
    """Every start through all runtimes."""
    ours = ways["Python"]
    count = Count(ours.simulation.mechanism.name, len(starts))
    for held in starts:
        wanted = ours.pose(held)
        count.refused += wanted is None
        for runtime, other in ways.items():
            if other is ours:
                continue
            count.asked += 1
            gap = apart(wanted, other.pose(held))
            if gap < AGREED:
                count.worst = max(count.worst, gap)
                continue
            border = on_a_border(ours, held)
            count.borders += border
            count.other_verdict += gap == np.inf
            count.other_pose += gap < np.inf
            given = ", ".join(f"{n} = {q.tolist()}" for n, q in held.items())
            count.different.append(f"{runtime}{' (border)' if border else ''}: {count.name} with {given}")
    return count


def apart(a: Pose, b: Pose) -> float:
    """Largest difference of two poses; two refusals agree, one does not."""
    if a is None or b is None:
        return 0.0 if a is b else np.inf
    return float(np.abs(a - b).max())


def on_a_border(ours: Python, held: Held) -> bool:
    """Whether Python itself ends elsewhere from a start that is moved by NUDGE."""
    random = np.random.default_rng(0)
    here = ours.pose(held)
    moved = ({n: q + NUDGE * random.uniform(-1, 1, q.size) for n, q in held.items()} for _ in range(8))
    return any(apart(here, ours.pose(near)) > JUMP for near in moved)
