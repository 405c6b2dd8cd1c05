"""Runs before they start and when they have ended: arrays of the right shapes."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..base.errors import SimulationError
from ..engine import Engine
from ..manifold.step import STEP_INFO
from ..manifold.stepper import StepMethod
from ..state import State
from ..variables import Variable

DONE, INFINITE, OPEN, NOT_STARTED = range(4)  # how a run ended
ENDS = ("done", "infinite", "open", "not started")


class Feedback(NamedTuple):
    """Inputs u − K (x − x₀) with x = (q, v, z): K (inputs, nx), x₀ (nx,), or one for every run: (n, …).

    `reference` may also follow time, (n, steps, nx).
    """

    gain: Any  # K
    reference: Any  # x₀


@dataclass(frozen=True)
class Rollout:
    """What came of the runs, a row each.

    `series` (n, samples, columns) has the recorded outputs over `time`, NaN from where a run ended
    early; `last`, `least`, `most` are taken over the same samples. `verdicts` add up what steps said of
    themselves (`manifold/step.py`).
    """

    q: np.ndarray  # (n, nq): coordinates at the end
    v: np.ndarray  # (n, nv): speeds at the end
    z: np.ndarray  # (n, nz): internal states at the end
    work: np.ndarray  # (n,): energy put in, joules
    steps: np.ndarray  # taken, of each run
    ends: np.ndarray  # of each run: 0 done, 1 became infinite, 2 a loop opened, 3 not started
    verdicts: np.ndarray
    names: tuple[str, ...]  # of the recorded columns
    time: np.ndarray
    series: np.ndarray | None
    last: np.ndarray
    least: np.ndarray
    most: np.ndarray

    def __len__(self) -> int:
        return len(self.q)

    def verdict(self, name: str) -> np.ndarray:
        """The verdict `name` of each run: how many steps were refined, unsettled, undecided, …"""
        return self.verdicts[:, STEP_INFO.index(name)]

    def __getitem__(self, name: str) -> np.ndarray:
        """One recorded column over time, (n, samples)."""
        if self.series is None:
            raise SimulationError("no series was kept; call rollout with series=True")
        if name not in self.names:
            raise SimulationError(
                f"'{name}' was not recorded; recorded: {', '.join(self.names) or 'nothing'}"
            )
        return self.series[:, :, self.names.index(name)]


@dataclass(frozen=True)
class Runs:
    """Runs before they start: arrays of the right shapes, and how they are to be taken."""

    engine: Engine
    q: np.ndarray
    v: np.ndarray
    z: np.ndarray
    work: np.ndarray
    u: np.ndarray  # (n or 1, steps or 1, inputs)
    p: np.ndarray  # (n or 1, parameters)
    feedback: Feedback | None
    steps: int
    h: float
    every: int
    columns: tuple[Variable, ...]
    stepper: StepMethod
    ends: np.ndarray

    @property
    def n(self) -> int:
        return len(self.q)


def plan_batch(
    engine: Engine,
    states: Any,
    steps: int,
    h: float,
    inputs: Any,
    feedback: Feedback | None,
    parameters: Any,
    record: Iterable[str],
    every: int,
    stepper: StepMethod,
    ends: np.ndarray | None,
) -> Runs:
    """Everything in arrays, or one sentence that says what does not fit."""
    tree, nu = engine.tree, len(engine.inputs)
    refuse_motions(engine)
    for name, value, least in (("steps", steps, 0), ("every", every, 1)):
        if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
            raise SimulationError(f"'{name}' must be a whole number from {least} on, not {value}")
    if not 0 < h < np.inf:
        raise SimulationError(f"a step must be positive and finite, not {h}")
    q, v, z, work, u, p = _unpacked(engine, states)
    given = [np.asarray(x, float) for x in (inputs, parameters) if x is not None]
    gains = [np.asarray(x, float) for x in feedback or ()]
    many = [len(x) for x in (q, v, z) if x.ndim > 1]
    many += [len(x) for x in given if x.ndim > 1]
    many += [len(x) for x, one in zip(gains, (2, 1), strict=False) if x.ndim > one]
    n = max(many, default=1)
    q, v = _rows(q, n, tree.nq, "coordinates"), _rows(v, n, tree.nv, "speeds")
    z = _rows(z, n, tree.nz, "internal states")
    u = _inputs(u if inputs is None else inputs, n, int(steps), nu)
    p = _rows(p if parameters is None else parameters, n, engine.equations.p.numel(), "parameters", False)
    for what, array in (("inputs", u), ("parameters", p)):
        if not np.isfinite(array).all():
            raise SimulationError(f"the {what} hold NaN or infinity")
    began = np.zeros(n, np.int64) if ends is None else np.array(np.broadcast_to(ends, n), np.int64)
    if not all(np.isfinite(x[began == DONE]).all() for x in (q, v, z)):
        raise SimulationError("a state must be finite; one holds NaN or infinity")
    columns = exact_outputs(engine, record)
    back = None if feedback is None else _feedback(gains, n, int(steps), nu, tree.nq + tree.nv + tree.nz)
    work = np.array(np.broadcast_to(work, n), float)
    return Runs(engine, q, v, z, work, u, p, back, int(steps), float(h), int(every), columns, stepper, began)


def refuse_motions(engine: Engine) -> None:
    """Driven motions go on during a run, and inputs of many runs at once are held."""
    if driven := [item.name for item in engine.mechanism.driven]:
        raise SimulationError(
            f"'{engine.mechanism.name}' has a driven motion, '{driven[0]}', which many runs at once can't "
            "follow; drive it by torque or acceleration, or run them one by one"
        )


def exact_outputs(engine: Engine, names: Iterable[str]) -> tuple[Variable, ...]:
    """Outputs by name, none of a sensor that takes samples: runs side by side remember nothing."""
    columns = engine.variables.outputs.columns(names, True)
    for column in columns:
        if column.sampled:
            raise SimulationError(
                f"'{column.name}' is sampled, which many runs at once can't be; "
                "remove the sensor's 'period', or run them one by one"
            )
    return columns


def _unpacked(engine: Engine, states: Any) -> tuple[np.ndarray, ...]:
    """q, v, z, work, u, p of states."""
    tree, rest = engine.tree, (np.zeros(()), np.zeros(len(engine.inputs)), engine.parameters({}))
    if isinstance(states, State):
        states = [states]
    if isinstance(states, tuple) and len(states) in (2, 3) and not isinstance(states[0], State):
        q, v, z = (np.asarray(x, float) for x in (*states, np.zeros(tree.nz))[:3])
        return q, v, z, *rest
    if not all(isinstance(state, State) for state in states):
        raise SimulationError("states are a list of State, one State, or the arrays (q, v) or (q, v, z)")
    if not states:
        return *(np.zeros((0, n)) for n in (tree.nq, tree.nv, tree.nz)), *rest
    z = np.array([s.z if s.z.size else np.zeros(tree.nz) for s in states])
    if len(states) == 1:
        s = states[0]
        return s.q, s.v, z[0], np.array(s.work), s.u, s.p
    q, v, work, u, p = (np.array([getattr(s, x) for s in states]) for x in ("q", "v", "work", "u", "p"))
    return q, v, z, work, u, p


def _rows(values: Any, n: int, size: int, what: str, whole: bool = True) -> np.ndarray:
    """(n, size) of one row for all or a row each; one row is kept as one unless `whole`."""
    array = np.atleast_2d(np.asarray(values, float))
    if array.shape not in ((1, size), (n, size)):
        raise SimulationError(
            f"{what} of {n} runs have the shape ({n}, {size}) or ({size},), not {array.shape}"
        )
    return np.array(np.broadcast_to(array, (n if whole else len(array), size)), order="C")


def _inputs(values: Any, n: int, steps: int, nu: int) -> np.ndarray:
    array = np.asarray(values, float)
    array = array.reshape(1, 1, -1) if array.ndim == 1 else array[:, None] if array.ndim == 2 else array
    if (
        array.ndim != 3
        or len(array) not in (1, n)
        or array.shape[1] not in (1, steps)
        or array.shape[2] != nu
    ):
        raise SimulationError(
            f"inputs of {n} runs have the shape ({nu},), ({n}, {nu}) or ({n}, {steps}, {nu}), "
            f"not {np.shape(values)}"
        )
    return np.ascontiguousarray(array)


def _feedback(gains: list[np.ndarray], n: int, steps: int, nu: int, nx: int) -> Feedback:
    K, x0 = gains
    K = K[None] if K.ndim == 2 else K
    x0 = x0.reshape(1, 1, -1) if x0.ndim == 1 else x0[:, None] if x0.ndim == 2 else x0
    if K.shape not in ((1, nu, nx), (n, nu, nx)):
        raise SimulationError(
            f"a gain on q, v and z has the shape ({nu}, {nx}) or ({n}, {nu}, {nx}), not {K.shape}"
        )
    if x0.ndim != 3 or len(x0) not in (1, n) or x0.shape[1] not in (1, steps) or x0.shape[2] != nx:
        raise SimulationError(f"a reference has {nx} numbers, q, v and z, not the shape {x0.shape}")
    if not (np.isfinite(K).all() and np.isfinite(x0).all()):
        raise SimulationError("the feedback holds NaN or infinity")
    return Feedback(np.ascontiguousarray(K), np.ascontiguousarray(x0))


def empty(plan: Runs, series: bool) -> Rollout:
    """Memory for the results; q, v, z and work start as they are."""
    n, ny, samples = plan.n, len(plan.columns), 1 + plan.steps // plan.every
    kept = np.full((n, samples, ny), np.nan) if series else None
    time = plan.h * plan.every * np.arange(samples)
    extremes = [np.full((n, ny), np.nan) for _ in range(3)]
    names = tuple(column.name for column in plan.columns)
    taken = np.zeros(n, np.int64)
    counters = np.zeros((n, len(STEP_INFO)))
    state = plan.q, plan.v, plan.z, plan.work
    return Rollout(*state, taken, plan.ends, counters, names, time, kept, *extremes)
