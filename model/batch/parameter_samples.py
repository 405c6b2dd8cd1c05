"""What a sweep varies: grids, lists and distributions, and the sample of every run by its number alone.

Points of grids and lists are crossed, and every run takes the next of them; distributions are drawn for
every run anew. A run's random numbers come from the seed and its own number, or from a low-discrepancy
sequence at its place, so any part of a sweep can be made by itself.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import stats
from scipy.stats import qmc

from ..base.errors import CutjointError, DescriptionError
from ..base.units import quantity
from ..base.untrusted import LARGEST_TABLE, read_text
from ..describe.validation import nearest

SAMPLINGS = ("random", "sobol", "halton", "latin")
Grid = tuple[tuple[str, ...], tuple[tuple[float, ...], ...]]  # names, and rows of values
MOST_POINTS = 10**8
_WORD = re.compile(r"([^=~+]+)(\+=|~\s*\+|=|~)(.*)", re.S)
_DISTRIBUTION = re.compile(r"(\w+)\(([^()]*)\)")


@dataclass(frozen=True)
class Distribution:
    """A law by name and its numbers, around `nominal`; `quantiles` are its values at probabilities."""

    name: str
    numbers: tuple[float, ...]
    nominal: float = 0.0  # what is added to what the law gives

    def quantiles(self, probability: np.ndarray) -> np.ndarray:
        return self.nominal + self._deviations(probability)

    def _deviations(self, probability: np.ndarray) -> np.ndarray:
        a, b, *c = self.numbers
        if self.name == "uniform":
            return a + (b - a) * probability
        if self.name == "normal":
            return np.asarray(stats.norm.ppf(probability, a, b))
        if self.name == "lognormal":
            return np.asarray(stats.lognorm.ppf(probability, b, scale=a))
        return np.asarray(stats.triang.ppf(probability, (b - a) / (c[0] - a), a, c[0] - a))


# Name -> what its numbers are called, and which rule they keep.
DISTRIBUTIONS = {
    "uniform": (("low", "high"), "low < high"),
    "normal": (("mean", "deviation"), "a deviation above 0"),
    "lognormal": (("median", "deviation"), "a median and a deviation above 0"),
    "triangular": (("low", "peak", "high"), "low <= peak <= high, low < high"),
}


@dataclass(frozen=True)
class Variation:
    """One number that differs from run to run: the points of a list, or a law."""

    name: str
    points: tuple[float, ...] = ()
    law: Distribution | None = None


@dataclass(frozen=True)
class Samples:
    """All that is varied; `values(first, count)` are the samples of some runs, a row each."""

    names: tuple[str, ...]
    grids: tuple[Grid, ...]
    laws: tuple[tuple[str, Distribution], ...]
    runs: int
    sampling: str = "random"
    seed: int = 0

    def values(self, first: int, count: int) -> np.ndarray:
        found = np.zeros((count, len(self.names)))
        place: np.ndarray = np.arange(first, first + count) % max(grid_size(self.grids), 1)
        for names, rows in reversed(self.grids):  # the last one changes fastest
            place, at = np.divmod(place, len(rows))
            found[:, [self.names.index(name) for name in names]] = np.array(rows)[at]
        if self.laws:
            probability = self._probabilities(first, count)
            for k, (name, law) in enumerate(self.laws):
                found[:, self.names.index(name)] = law.quantiles(probability[:, k])
        return found

    def _probabilities(self, first: int, count: int) -> np.ndarray:
        d = len(self.laws)
        if self.sampling == "random":
            sequences = (np.random.SeedSequence(self.seed, spawn_key=(first + k,)) for k in range(count))
            return np.array([np.random.default_rng(sequence).random(d) for sequence in sequences])
        if self.sampling == "latin":
            return _sequence(qmc.LatinHypercube, d, self.seed).random(self.runs)[first : first + count]
        engine = _sequence(qmc.Sobol if self.sampling == "sobol" else qmc.Halton, d, self.seed)
        if first:
            engine.fast_forward(first)
            return np.asarray(engine.random(count))
        # one by itself: Sobol's sequence warns of first numbers that are no power of two
        return np.vstack([engine.random(1), engine.random(count - 1)]) if count > 1 else engine.random(1)


def _sequence(kind: Any, d: int, seed: int) -> Any:
    """A sequence of `scipy.stats.qmc`, whose seed was renamed with version 1.15."""
    try:
        return kind(d, rng=np.random.default_rng(seed))
    except TypeError:
        return kind(d, seed=np.random.default_rng(seed))


def grid_size(grids: Sequence[Grid]) -> int:
    return math.prod(len(rows) for _, rows in grids)


class Nominal(NamedTuple):
    """The unit of a number and its value as described; None where that is said later, or not known."""

    unit: str | None = None
    value: float | None = None


Described = Callable[[str], Nominal]  # what a name stands for


def variation(word: str, described: Described = lambda name: Nominal()) -> Variation:
    """NAME=FIRST:LAST:STEP, NAME=VALUE,VALUE,… or NAME~LAW(…); += and ~+ add to the nominal value."""
    found = _WORD.fullmatch(word.strip())
    if not found:
        raise CutjointError(
            f"--vary takes NAME=FIRST:LAST:STEP, NAME=VALUE,VALUE or NAME~normal(MEAN,SPREAD), not '{word}'; "
            "NAME+=… and NAME~+… add to its nominal value"
        )
    name, sign, text = (part.strip() for part in found.groups())
    unit, value = described(name)
    nominal = (value or 0.0) if "+" in sign else 0.0
    if "~" in sign:
        return Variation(name, law=replace(distribution(name, text, unit), nominal=nominal))
    if _DISTRIBUTION.fullmatch(text):
        instead = f"{name}~{'+' if '+' in sign else ''}{text}"
        raise CutjointError(f"--vary {name}: a law follows '~', not '='; write {instead}")
    return Variation(name, tuple(nominal + x for x in _points(name, text, unit)))


def distribution(name: str, text: str, unit: str | None = None) -> Distribution:
    """A law as it is written: normal(0.7,0.002)."""
    found = _DISTRIBUTION.fullmatch(text)
    if not found:
        raise CutjointError(f"--vary {name}: a law is written like normal(0.7,0.002), not '{text}'")
    if found[1] not in DISTRIBUTIONS:
        raise CutjointError(
            f"--vary {name}: there is no law '{found[1]}'; {nearest(found[1], DISTRIBUTIONS)}"
        )
    words, rule = DISTRIBUTIONS[found[1]]
    numbers = tuple(_number(name, part, unit) for part in found[2].split(",")) if found[2].strip() else ()
    if len(numbers) != len(words):
        raise CutjointError(f"--vary {name}: {found[1]} takes {', '.join(words)}, not '{found[2]}'")
    low, high = numbers[0], numbers[-1]
    fine = {
        "uniform": low < high,
        "normal": high > 0,
        "lognormal": low > 0 and high > 0,
        "triangular": low < high and low <= numbers[1] <= high,
    }
    if not fine[found[1]]:
        raise CutjointError(f"--vary {name}: {found[1]} wants {rule}, not '{found[2]}'")
    return Distribution(found[1], numbers)


def _points(name: str, text: str, unit: str | None = None) -> tuple[float, ...]:
    if ":" not in text:
        return tuple(_number(name, part, unit) for part in text.split(","))
    numbers = [_number(name, part, unit) for part in text.split(":")]
    if len(numbers) != 3:
        raise CutjointError(f"--vary {name}: a range is FIRST:LAST:STEP, not '{text}'")
    first, last, step = numbers
    if not step or (last - first) / step < 0:
        raise CutjointError(f"--vary {name}: steps of {step:g} do not lead from {first:g} to {last:g}")
    count = (last - first) / step
    if count > MOST_POINTS:
        raise CutjointError(f"--vary {name}: the range '{text}' has {count:.1g} points; take longer steps")
    whole = math.floor(count * (1 + 2.0**-40) + 2.0**-40)  # the last one counts although steps are rounded
    return tuple(first + step * k for k in range(whole + 1))


def _number(name: str, text: str, unit: str | None = None) -> float:
    try:
        value = float(text) if unit is None else quantity(text.strip(), unit)
    except ValueError:
        value = math.nan
    except DescriptionError as error:
        raise CutjointError(f"--vary {name}={text.strip()}: {error}") from None
    if not math.isfinite(value):
        raise CutjointError(f"--vary {name}: '{text.strip()}' is not a finite number")
    return value


def read_samples(path: str | Path) -> tuple[tuple[str, ...], tuple[tuple[float, ...], ...]]:
    """Names and rows of a CSV file whose first line has the names."""
    try:
        reader = csv.reader(io.StringIO(read_text(path, LARGEST_TABLE, "table", "CSV"), newline=""))
        header, *lines = [row for row in reader if any(cell.strip() for cell in row)] or [[]]
    except (DescriptionError, csv.Error) as problem:
        raise CutjointError(f"can't read the samples '{path}': {problem}") from None
    names = tuple(cell.strip() for cell in header)
    if not names or not lines:
        raise CutjointError(f"'{path}' has no samples: give a line of names and lines of numbers")
    rows = []
    for number, line in enumerate(lines, 2):
        try:
            values = tuple(float(cell) for cell in line)
        except ValueError:
            values = ()
        if len(values) != len(names) or not all(map(math.isfinite, values)):
            raise CutjointError(f"line {number} of '{path}' must have {len(names)} finite numbers")
        rows.append(values)
    return names, tuple(rows)


def samples(
    varied: Sequence[str | Variation],
    runs: int | None = None,
    sampling: str = "random",
    seed: int = 0,
    table: str | Path | None = None,
    described: Described = lambda name: Nominal(),
) -> Samples:
    """What a sweep takes its runs from; one sentence if that makes no sense."""
    found = [variation(x, described) if isinstance(x, str) else x for x in varied]
    grids: list[Grid] = [((x.name,), tuple((p,) for p in x.points)) for x in found if x.law is None]
    if table is not None:
        grids.insert(0, read_samples(table))
    laws = tuple((x.name, x.law) for x in found if x.law is not None)
    names = [name for group, _ in grids for name in group] + [name for name, _ in laws]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise CutjointError(f"'{twice[0]}' is varied twice; give it once")
    if not names:
        raise CutjointError(
            "nothing is varied; give --vary NAME=FIRST:LAST:STEP or NAME~normal(MEAN,DEVIATION)"
        )
    if sampling not in SAMPLINGS:
        raise CutjointError(f"there is no sampling '{sampling}'; {nearest(sampling, SAMPLINGS)}")
    size = grid_size(grids)
    if runs is None:
        if laws:
            raise CutjointError("--runs must say how many samples to draw")
        runs = size
    if isinstance(runs, bool) or not isinstance(runs, int) or not 1 <= runs <= MOST_POINTS:
        raise CutjointError(f"--runs must be a whole number from 1 to {MOST_POINTS}, not {runs}")
    if grids and runs % size:
        raise CutjointError(f"--runs must be a multiple of the {size} points of the grid, not {runs}")
    return Samples(tuple(names), tuple(grids), laws, runs, sampling, seed)
