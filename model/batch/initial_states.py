"""Assembled starts for many sets of parameters, as `Simulation(engine, parameters=…)` would find each."""

from typing import NamedTuple

import numpy as np

from ..base.errors import CutjointError
from ..describe.parameters import allowed_values
from ..engine import Engine
from ..run import assembly
from ..state import State
from .batch_arrays import refuse_motions


class Starts(NamedTuple):
    """q and v, a row a run; and why a run has no start, empty if it has one."""

    q: np.ndarray
    v: np.ndarray
    why: list[str]
    refused: np.ndarray  # those whose parameters no description may have


def many_starts(engine: Engine, p: np.ndarray, guess: np.ndarray | None = None) -> Starts:
    """Close the loops under the parameters of every row. What has no start has NaN, and a sentence.

    `guess` is where assembly begins, `assembly.start_guess(engine)` if None.
    """
    refuse_motions(engine)
    n, tree = len(p), engine.tree
    guess = assembly.start_guess(engine) if guess is None else guess
    u, still, z = (np.zeros(n) for n in (len(engine.inputs), tree.nv, tree.nz))
    q, v, why = np.full((n, tree.nq), np.nan), np.full((n, tree.nv), np.nan), [""] * n
    rule = engine.kernel("allowed", lambda eq: allowed_values(eq.described))
    fits = np.array([all(x.all() for x in rule(row)) for row in p], bool).reshape(n)
    for k in range(n):
        try:
            if not fits[k]:
                _refuse(engine, p[k])
            found, _ = assembly.assemble(engine, State(0.0, guess, still, u, p[k], z=z), {})
            q[k], v[k] = found.q, found.v
        except CutjointError as problem:
            why[k] = " ".join(str(problem).split())
    return Starts(q, v, why, ~fits)


def _refuse(engine: Engine, p: np.ndarray) -> None:
    """Raise the sentence that a description with these numbers would get."""
    parameters = engine.equations.parameters
    engine.parameters({x.name: p[x.slice][0] if x.at.alone else p[x.slice] for x in parameters})
    raise CutjointError("these parameters do not fit together")
