"""From the same held start Python, the native FMU and the pythonfmu FMU end on the same pose, or all refuse.

`make study` asks many more random mechanisms; both print a table with `pytest -s`.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import count, islice
from pathlib import Path

import numpy as np
import pytest
from bulk import KINDS, bulk
from cutjoint import Mechanism, Simulation, list_examples, load
from cutjoint.model.compile.kernel import find_compiler
from cutjoint.model.engine import Engine
from random_mechanisms import random_loop
from starts import HEADER, Python, compare, held_starts, pose, runtimes

pytestmark = pytest.mark.skipif(find_compiler() is None, reason="a native FMU needs a C compiler")
EXAMPLES = sorted(list_examples())


def random_closed(bodies: int) -> Iterable[Mechanism]:
    """Random mechanisms with loops that can move."""
    every = (random_loop(seed, bodies, forces=False) for seed in count())
    return (m for m in every if Simulation(m, compile=False).topology().mobility)


def agree(mechanisms: Iterable[Mechanism], starts: int, folder: Path) -> None:
    """At most one start, or one in a thousand, differs, and only where Python itself has a border there."""
    print("\n" + HEADER)
    rows = []
    for k, mechanism in enumerate(mechanisms):
        with runtimes(mechanism, folder) as ways:
            rows.append(compare(ways, held_starts(ways["Python"], starts, seed=k)))
        print(rows[-1].row(), flush=True)
    different = [line for row in rows for line in row.different]
    asked, borders = sum(row.asked for row in rows), sum(row.borders for row in rows)
    print(f"{len(different)} of {asked} differ, {borders} of them on a border", *different, sep="\n  ")
    assert sum(row.starts - row.refused for row in rows) > 0.3 * sum(row.starts for row in rows)
    assert len(different) == borders <= max(1, asked / 1000), "\n".join(different)


@pytest.mark.parametrize("part", bulk(range(16), 1))
def test_every_example(part: int, tmp_path: Path) -> None:
    agree(map(load, EXAMPLES[part::16]), starts=50, folder=tmp_path)


@pytest.mark.parametrize("many", bulk([1, 10], 1))
def test_random_closed_mechanisms(many: int, tmp_path: Path) -> None:
    agree(islice(random_closed(3), many), starts=10, folder=tmp_path)


@pytest.mark.study
@pytest.mark.timeout(7200)
def test_every_example_a_thousand_times(tmp_path: Path) -> None:
    agree(map(load, EXAMPLES), starts=1000, folder=tmp_path)


@pytest.mark.study
@pytest.mark.timeout(14400)
def test_many_random_closed_mechanisms(tmp_path: Path) -> None:
    agree(islice(random_closed(5), 200), starts=50, folder=tmp_path)


@pytest.mark.parametrize("name", bulk(EXAMPLES, KINDS))
def test_a_start_given_to_the_constructor_is_one_given_to_assemble(name: str) -> None:
    ours = Python(Engine(name, compile=False))
    held = next(h for h in held_starts(ours, 10, seed=5) if ours.pose(h) is not None)
    assert np.array_equal(ours.pose(held), pose(Simulation(name, start=held, compile=False)))
