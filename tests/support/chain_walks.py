"""Random poses of a chain that are reachable by construction: walks on the closed poses from its start."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from cutjoint import Chain, Target
from cutjoint.model.chain.core import ChainCore
from cutjoint.model.chain.reach import overruns
from cutjoint.model.chain.rows import SIX, FrameRows
from cutjoint.model.manifold.rank import allowed_motions
from cutjoint.model.state import State

STEP = 0.02  # radians or sizes along each walk


def hand(chain: ChainCore) -> str:
    """What a robot would hold things with: the platform, or the body farthest from ground."""
    names = [body.name for body in chain.mechanism.bodies]
    tree = chain.free.tree
    return "platform" if "platform" in names else max(names, key=lambda x: len(tree.path(tree.holder[x])))


def independent_rows(chain: ChainCore, frame: str, state: State) -> tuple[str, ...]:
    """As many of the six rows as can be chosen at will at a pose, the best first."""
    from scipy.linalg import qr

    A = chain.freedoms((FrameRows(frame),), state)
    _, R, order = qr(A.T, pivoting=True)
    count = int((np.abs(np.diag(R)) > 1e-3).sum())
    return tuple(row for k, row in enumerate(SIX) if k in order[:count])


def walk(chain: ChainCore, state: State, random: np.random.Generator, steps: int) -> State:
    """A closed pose some steps away, within limits, each step a small one in one direction of its own."""
    free, nothing = chain.free, np.zeros(0)
    generic = free.generic_rank(state.q, nothing, state.p)[0]
    direction = None
    for _ in range(steps):
        K, _ = allowed_motions(chain.loop_rows(state.q, state.p), generic)
        direction = K @ random.normal(size=K.shape[1]) if direction is None else K @ (K.T @ direction)
        direction = direction / max(np.abs(direction).max(), 1e-12)
        q = free.retract(state.q, STEP * direction * free.equations.scales.speeds)
        found = free.assembly(q, nothing, state.p)
        trial = replace(state, q=found.q)
        if not found.closed or overruns(chain, trial):
            break
        state = trial
    return state


def target_at(chain: Chain, frame: str, rows: tuple[str, ...], state: State) -> Target:
    """What a frame would be asked for to be as at a state."""
    t = chain.values((FrameRows(frame, rows),), state)[0]
    position = t[:3] if set(rows) & set(SIX[:3]) else None
    return Target(frame, position, t[3:] if set(rows) & set(SIX[3:]) else None, rows)
