"""A vector environment for learning: many mechanisms behind Gymnasium's interface, moved by rollouts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

import numpy as np

from ..base.errors import CutjointError, SimulationError, how_to_install
from ..engine import Engine
from ..state import State
from .batch_arrays import DONE, exact_outputs
from .kernels import BatchKernel
from .rollout import reading, rollout

try:
    import gymnasium
    from gymnasium import spaces
    from gymnasium.vector import AutoresetMode, VectorEnv
except ImportError as problem:
    raise CutjointError(f"environments need Gymnasium; {how_to_install('learn')}") from problem

Reward = Callable[[np.ndarray, np.ndarray], np.ndarray]
Ending = Callable[[np.ndarray], np.ndarray]
Start = Callable[[np.random.Generator, int], tuple[np.ndarray, ...]]


class Environment(VectorEnv):
    """`num_envs` mechanisms at once; an action is held for `hold` steps.

    Parameters
    ----------
    engine, state : the mechanism, and where every episode starts; state.u is what actions are added to.
    observe : names of outputs, the observation.
    reward : (observations, actions) → rewards, a row each.
    ended : observations → which episodes have ended; none ever does if None. One whose state becomes
        infinite, or whose loops open, has ended as well; `infos["failed"]` says which.
    start : (random generator, n) → q and v, and z if it has any, of n new episodes; the state's if None.
    largest : the largest action of each input, or of all; the motors' limits if None.
    step, hold : seconds of a step, and how many of them an action is held.
    length : steps of an episode, in actions.
    workers : threads; as many as there are processors if None.
    """

    metadata = {"autoreset_mode": AutoresetMode.NEXT_STEP, "render_modes": []}  # noqa: RUF012

    def __init__(
        self,
        engine: Engine,
        state: State,
        observe: Sequence[str],
        reward: Reward,
        num_envs: int = 64,
        *,
        ended: Ending | None = None,
        start: Start | None = None,
        largest: Any = None,
        step: float = 1e-3,
        hold: int = 10,
        length: int = 200,
        workers: int | None = 1,
    ):
        self.engine, self.state, self.reward, self.ended, self.start = engine, state, reward, ended, start
        self.num_envs, self.h, self.hold, self.length, self.workers = num_envs, step, hold, length, workers
        self.columns = exact_outputs(engine, observe)
        self.names = tuple(column.name for column in self.columns)
        self._read = BatchKernel(engine, *reading(engine, self.columns))
        limits = [engine.variables.inputs.find(name).high for name in engine.inputs]
        high = np.broadcast_to(np.asarray(limits if largest is None else largest, float), len(engine.inputs))
        if not (np.isfinite(high).all() and (high > 0).all()):
            raise SimulationError("an action needs a largest value: give 'largest', or the motors a limit")
        infinite = np.full(len(self.columns), np.inf)
        self.single_observation_space = spaces.Box(-infinite, infinite, dtype=np.float64)
        self.single_action_space = spaces.Box(-high, high, dtype=np.float64)
        batch = gymnasium.vector.utils.batch_space
        self.observation_space = batch(self.single_observation_space, num_envs)
        self.action_space = batch(self.single_action_space, num_envs)
        self.q, self.v, self.z = (np.tile(x, (num_envs, 1)) for x in state.at[:3])
        self._taken = np.zeros(num_envs, int)
        self._over = np.zeros(num_envs, bool)

    def reset(self, *, seed: Any = None, options: Any = None) -> tuple[np.ndarray, dict[str, Any]]:
        """All episodes begin anew, with random numbers from `seed`; there are no `options`."""
        super().reset(seed=seed)
        self._begin(np.ones(self.num_envs, bool))
        return self._observed(np.tile(self.state.u, (self.num_envs, 1))), {}

    def _begin(self, which: np.ndarray) -> None:
        count = int(which.sum())
        given = self.start(self.np_random, count) if self.start else self.state.at[:3]
        self.q[which], self.v[which], self.z[which] = (*given, self.state.z)[:3]
        self._taken[which], self._over[which] = 0, False

    def step(
        self, actions: Any
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, np.ndarray]]:
        """Hold the actions for some steps. Episodes that were over begin anew instead, with reward 0."""
        given = np.asarray(actions, float)
        if given.shape != self.action_space.shape:
            raise SimulationError(f"actions have the shape {self.action_space.shape}, not {given.shape}")
        anew = self._over.copy()
        given = np.clip(given, self.action_space.low, self.action_space.high)
        u = self.state.u + np.where(anew[:, None], 0.0, given)
        if anew.any():
            self._begin(anew)
        found = rollout(
            self.engine,
            (self.q, self.v, self.z),
            self.hold,
            self.h,
            inputs=u,
            parameters=self.state.p,
            workers=self.workers,
            ends=anew.astype(int),
        )
        self.q, self.v, self.z = found.q, found.v, found.z
        failed = (found.ends != DONE) & ~anew
        self._taken += ~anew
        observed = self._observed(u)
        rewards = np.where(anew, 0.0, self.reward(observed, given))
        terminated = failed | (self.ended(observed) if self.ended else False)
        terminated = terminated & ~anew
        truncated = (self._taken >= self.length) & ~terminated & ~anew
        self._over = terminated | truncated
        return observed, rewards, terminated, truncated, {"failed": failed}

    def _observed(self, u: np.ndarray) -> np.ndarray:
        observed: np.ndarray = self._read(self.q, self.v, self.z, u, self.state.p, workers=self.workers)
        return observed


def __getattr__(name: str) -> Any:
    """`MechanismEnv`, as it was called."""
    return import_module("cutjoint").old_name(__name__, name)
