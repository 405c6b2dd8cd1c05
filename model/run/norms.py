"""Magnitudes of vector outputs: `reaction.ball1.force.norm` is the length of `reaction.ball1.force`.

They are computed from recorded components, not traced: no FMU, linear model or sweep has them.
"""

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from ..base.errors import UnknownName
from ..variables import Table, Variable
from .trajectory import Trajectory

NORM = ".norm"


def without_norms(names: Iterable[str]) -> list[str]:
    """The outputs from which the named ones, magnitudes among them, are computed."""
    return list(dict.fromkeys(name.removesuffix(NORM) for name in names))


def columns_with_norms(outputs: Table, names: Iterable[str]) -> dict[str, Variable]:
    """Columns by name: those that outputs have, and magnitudes of vectors."""
    found: dict[str, Variable] = {}
    for name in names:
        if not name.endswith(NORM):
            found |= {column.name: column for column in outputs.columns([name])}
            continue
        vectors = outputs.choose([name.removesuffix(NORM)])
        for vector in vectors:
            if vector.size == 1 and len(vectors) == 1:
                raise UnknownName(f"there is no output '{name}': '{vector.name}' is no vector")
            if vector.size > 1:
                found[vector.name + NORM] = replace(vector, name=vector.name + NORM)
    return found


def add_norms(motion: Trajectory, outputs: Table, names: Iterable[str]) -> Trajectory:
    """The motion with the columns that were asked for, magnitudes computed from their components."""
    chosen = columns_with_norms(outputs, names)
    values = [
        np.linalg.norm(motion[name.removesuffix(NORM)], axis=1) if name.endswith(NORM) else motion[name]
        for name in chosen
    ]
    table = np.column_stack(values) if values else np.zeros((len(motion.time), 0))
    return replace(motion, names=tuple(chosen), values=table, units=tuple(v.unit for v in chosen.values()))
