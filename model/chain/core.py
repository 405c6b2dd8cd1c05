"""A mechanism that its loops alone hold, with `traced.py` as its kernels, and what a solution tells."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from ..base.display import Displayed
from ..base.thresholds import RANK
from ..compile.kernel import Kernel
from ..compile.storage import digest
from ..describe.mechanism import Mechanism
from ..describe.motors import FORCE, Motor, plain, signal_names, tells_motion
from ..engine import Engine
from ..kernels import Trace
from ..manifold.rank import allowed_motions
from ..run import assembly
from ..state import State, Stepper
from . import traced
from .rows import CoordinateRow, Item, coordinate_row, limited, row_units

Rates: TypeAlias = tuple[float, float, float]
Room: TypeAlias = tuple[float, float]


@dataclass(frozen=True)
class ChainMotion(Displayed):
    """A pose of a whole chain, how it moves, and what is left around it.

    `state` is one of the mechanism as it is described: `simulation.state = motion.state` goes there.
    """

    state: State
    accelerations: np.ndarray  # v̇ of the tree's joints, in the order of the speeds
    coordinates: dict[str, list[float]]  # joint -> where it is, metres and radians
    actuators: dict[str, Rates]  # drive -> position, speed, acceleration of what it drives
    residual: float  # the largest left in loops and hard rows, metres or radians
    slack: dict[str, float]  # what rows that could not all be met are off by
    limits_left: dict[str, Room]  # joint -> how far it is above its lower, below its upper limit
    distance: float  # smallest singular value of loops and actuators together; 0 where these lose hold


class ChainCore:
    """A mechanism with its kernels, and what all questions share (`chain.py`)."""

    def __init__(self, mechanism: Mechanism | str | Engine | Stepper):
        state = mechanism.state if isinstance(mechanism, Stepper) else None
        given = mechanism.engine if isinstance(mechanism, Stepper) else mechanism
        self.engine = given if isinstance(given, Engine) else Engine(given)
        self.mechanism = self.engine.mechanism
        self.free = self.engine if all(map(_bare, self.mechanism.drives)) else _released(self.mechanism)
        self.kept = _kept_parameters(self.engine, self.free)
        if state is None:
            p = self.engine.parameters({})
            state = assembly.initial_state(self.engine, p, {})[0]
        self.start = state
        self.drive_rows = {x.name: drive_row(self.mechanism, x) for x in self.mechanism.drives}
        self.actuators = tuple(self.drive_rows)
        self.limits = limited(self.mechanism)
        self.limit_rows = tuple(CoordinateRow(name) for name in self.limits)

    # -- kernels ---------------------------------------------------------------------------------

    def kernel(self, what: str, *rows: Sequence[Item]) -> Kernel:
        """One of the functions of `traced.py` for these rows, traced when it is first needed."""
        own = tuple(tuple(items) for items in rows)
        trace: Trace = lambda eq: getattr(traced, what)(eq, *own)  # noqa: E731
        return self.free.kernel(f"chain_{what}_{digest(repr(own))}", trace, native=False)

    def values(self, items: Sequence[Item], state: State) -> Any:
        """Where rows are, how fast, W and bias, at a state."""
        return self.kernel("values", items)(state.q, state.v, state.p)

    def loop_rows(self, q: np.ndarray, p: np.ndarray) -> np.ndarray:
        """G of the released mechanism, lengths measured by its size."""
        return self.free.unitless_jacobian(q, p)

    def rows_unitless(self, items: Sequence[Item], state: State) -> np.ndarray:
        """W with lengths measured by the size of the mechanism."""
        scales = self.free.equations.scales
        return self.values(items, state)[2] * scales.speeds / row_scales(self, items)[:, None]

    def hold(self, items: Sequence[Item], state: State) -> float:
        """Smallest singular value of loops and rows together: 0 where rows don't determine the motion."""
        J = np.vstack([self.loop_rows(state.q, state.p), self.rows_unitless(items, state)])
        values = np.linalg.svd(J, compute_uv=False)
        return float(values[-1]) if len(values) == J.shape[1] else 0.0

    def freedoms(self, items: Sequence[Item], state: State) -> np.ndarray:
        """A = W K, what rows see of an orthonormal basis of the motions that loops allow; all unitless."""
        generic = self.free.generic_rank(state.q, np.zeros(0), state.p)[0]
        K, _ = allowed_motions(self.loop_rows(state.q, state.p), generic)
        return self.rows_unitless(items, state) @ K

    def drive_items(self, names: Iterable[str] | None = None) -> tuple[CoordinateRow, ...]:
        """Rows of motors, cylinders or coordinates by name; of all drives if None."""
        if names is None:
            return tuple(self.drive_rows.values())
        return tuple(self.drive_rows.get(x) or coordinate_row(self.mechanism, x) for x in names)

    def motion(
        self,
        state: State,
        given: State,
        dv: np.ndarray,
        residual: float,
        slack: Mapping[str, float] | None = None,
    ) -> ChainMotion:
        """All that is told of a solution, found from a `given` state of the mechanism."""
        items = tuple(self.drive_rows.values())
        t, w, W, bias = self.values(items, state) if items else (np.zeros(0),) * 4
        rates = W @ dv + bias if items else bias
        at = self.values(self.limit_rows, state)[0] if self.limit_rows else ()
        left = {
            name: (float(x - low), float(high - x))
            for x, (name, (low, high)) in zip(at, self.limits.items(), strict=True)
        }
        tree = self.free.tree
        return ChainMotion(
            self.as_described(state, given),
            dv,
            {joint: state.q[where].tolist() for joint, where in tree.q.items()},
            {
                x: (float(a), float(b), float(c))
                for x, a, b, c in zip(self.actuators, t, w, rates, strict=True)
            },
            residual,
            dict(slack or {}),
            left,
            self.hold(items, state) if items else 0.0,
        )

    def released(self, state: State | None) -> State:
        """A state of the mechanism as its loops alone hold it."""
        state = self.start if state is None else state
        if self.free is self.engine:
            return state
        z, u = np.zeros(self.free.tree.nz), np.zeros(len(self.free.inputs))
        return replace(state, u=u, z=z, p=state.p[self.kept], sensed=np.zeros(0))

    def as_described(self, state: State, given: State) -> State:
        """The mechanism as it is described in the pose of a released one, else as it was given.

        Driven motions are where the joints are then, and so are the set points of servos.
        """
        if self.free is self.engine:
            return replace(given, q=state.q, v=state.v)
        u, table = given.u.copy(), self.engine.variables.inputs
        t, w, _, _ = self.values(tuple(self.drive_rows.values()), state)
        for item, x, speed in zip(self.mechanism.drives, t, w, strict=True):
            numbers = {"position": x, "speed": speed, "velocity": speed, "acceleration": 0.0}
            for signal, name in zip(item.signals(), signal_names(item), strict=True):
                if signal.role in numbers:
                    u[table.find(name).where] = numbers[signal.role]
        return replace(given, q=state.q, v=state.v, u=u)

    def determined(self, items: Sequence[Item], state: State) -> bool:
        """Whether rows determine every motion."""
        A = self.freedoms(items, state)
        return seen_rank(np.linalg.svd(A, compute_uv=False)) == A.shape[1]


def _bare(item: Any) -> bool:
    """Whether a drive is a force and no more."""
    return plain(item) if isinstance(item, Motor) else not tells_motion(item)


def _released(mechanism: Mechanism) -> Engine:
    """The mechanism as its loops alone hold it: motors that are told motions, and servos, give way."""
    motors = tuple(
        Motor(x.name, x.joint, gear_ratio=x.gear_ratio, rotor_inertia=x.rotor_inertia)
        for x in mechanism.motors
    )
    struts = tuple(replace(x, drive=FORCE) for x in mechanism.struts)
    gone = {name for name, path in mechanism.parameters.items() if path.startswith("motor.")}
    parameters = {name: path for name, path in mechanism.parameters.items() if name not in gone}
    return Engine(
        replace(mechanism, motors=motors, struts=struts, outputs={}, parameters=parameters), compile=False
    )


def _kept_parameters(engine: Engine, free: Engine) -> np.ndarray:
    """Where the parameters of the released mechanism stand among all."""
    return engine.variables.parameters.rows([x.name for x in free.variables.parameters])


def seen_rank(values: np.ndarray) -> int:
    """Rank of what rows see of motions, by singular values: rows are of size one, or see nothing at all."""
    return int((values > RANK * max(values.max(initial=0.0), 1.0)).sum())


def drive_row(mechanism: Mechanism, item: Any) -> CoordinateRow:
    """The coordinate that a motor or cylinder drives."""
    joint = getattr(item, "joint", "")
    return coordinate_row(mechanism, f"joint.{joint}") if joint else CoordinateRow(item.name)


def row_names(items: Iterable[Item]) -> tuple[str, ...]:
    return tuple(name for item in items for name in item.names)


def row_scales(chain: ChainCore, items: Sequence[Item]) -> np.ndarray:
    """1 for angles, the size of the mechanism for lengths."""
    length = chain.free.equations.scales.length
    return np.array([1.0 if unit == "rad" else length for unit in row_units(chain.mechanism, items)])
