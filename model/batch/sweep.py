"""A sweep: one mechanism, many samples of its numbers, a row of results for each run.

The runs are cut into parts of fixed size, and a part depends on the sweep and its number alone. So parts
can be made by anybody, in any order and again, and are always the same; `store.py` keeps them.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ..base.errors import CutjointError, UnknownName
from ..compile.cache import source_digest
from ..compile.kernel import digest
from ..describe import parameters
from ..describe.mechanism import Mechanism
from ..describe.validation import Flaw, nearest
from ..describe.writer import write
from ..engine import Engine
from ..equations.topology import span
from ..loading import load
from ..run.assembly import start_guess
from ..run.steppers import stepper as chosen_stepper
from ..variables import variables
from .batch_arrays import DONE, ENDS, NOT_STARTED, Rollout, exact_outputs
from .initial_states import Starts, many_starts
from .parameter_samples import Nominal, Samples, Variation, samples
from .rollout import rollout

KEPT = ("final", "min", "max", "series")
INPUT = "input."
PART = 1000  # runs in a part at most: some seconds of work
LEAST_PARTS = 64  # of a small sweep, so that there is something for everyone
COUNTED = ("refined", "unsettled", "undecided")
MOST_ENGINES = 4  # kept in a process
REFUSED, NOT_ASSEMBLED = "refused", "not assembled"


@dataclass(frozen=True)
class Sweep:
    """All that the rows depend on. Make one with `sweep`."""

    mechanism: Mechanism  # with what is varied as its parameters
    where: tuple[tuple[str, str], ...]  # each varied name, and the parameter or input that it sets
    samples: Samples  # what the varied names are in each run
    inputs: tuple[tuple[str, float], ...]  # held in all runs
    duration: float  # of a run, seconds
    step: float  # seconds
    record: tuple[str, ...]  # outputs
    keep: tuple[str, ...]  # what of them: final, min, max, series
    every: int  # steps between two records
    substeps: int | None  # as of `Simulation`

    @property
    def runs(self) -> int:
        """How many there are."""
        return self.samples.runs

    @property
    def size(self) -> int:
        """Runs in a part: by the number of runs alone, in whole vectors."""
        return min(PART, max(8, -(-self.runs // LEAST_PARTS // 8) * 8))

    @property
    def parts(self) -> int:
        """Files that the rows are in."""
        return -(-self.runs // self.size)

    @property
    def steps(self) -> int:
        """Of a run."""
        return max(0, round(self.duration / self.step))

    def told(self) -> dict[str, Any]:
        """The sweep in plain words; another one differs in some of them."""
        own = {k: v for k, v in vars(self).items() if k not in ("mechanism", "samples", "where")}
        varied = {k: v for k, v in vars(self.samples).items() if k not in ("laws", "grids")}
        laws = {name: [law.name, *law.numbers, law.nominal] for name, law in self.samples.laws}
        found = {"name": self.mechanism.name, "mechanism": digest(write(self.mechanism)), **own}
        told = {**found, **varied, "laws": laws, "grids": self.samples.grids, "rows_in_a_part": self.size}
        told["version_of_cutjoint"] = source_digest()  # another one may round differently
        plain: dict[str, Any] = json.loads(json.dumps(told))
        return plain


def sweep(
    mechanism: Mechanism | str,
    vary: Sequence[str | Variation],
    duration: float,
    *,
    runs: int | None = None,
    record: Sequence[str] | None = None,
    keep: Sequence[str] = ("final", "min", "max"),
    step: float = 1e-3,
    every: int = 1,
    inputs: Mapping[str, float] | None = None,
    gravity: Any = None,
    sampling: str = "random",
    seed: int = 0,
    table: str | Path | None = None,
    substeps: int | None = None,
) -> Sweep:
    """A sweep over a mechanism, checked: everything that is wrong with it is said before it starts.

    Parameters
    ----------
    mechanism : Mechanism, or the name of an example, or the path of a description.
    vary : such as "body.platform.mass=5:15:0.5", "joint.rod.length~normal(0.7,0.002)", "input.motor1=1,2";
        names of parameters, paths of numbers, or inputs. "+=-1 mm,1 mm" and "~+normal(0,0.5 mm)" add to the
        nominal value, which is what the description or `inputs` has.
    duration, step : seconds of every run, and of its steps.
    record : outputs, of which the last, least and greatest values are kept, or all as "series", read after
        every `every` steps; the energy if None.
    keep : what of them: "final", "min", "max", "series".
    runs, sampling, seed : how many samples of laws are drawn ("random", "sobol", "halton", "latin"), and
        the number they follow from.
    inputs : input -> value held in all runs; zero if not named.
    gravity, substeps : as of `Simulation`.
    table : a CSV file with a line of names and a sample a line.
    """
    described = load(mechanism) if isinstance(mechanism, str) else mechanism
    described = described if gravity is None else described.with_gravity(gravity)
    if not 0 < duration < np.inf:
        raise CutjointError(f"a sweep's time must be positive and finite, not {duration}")
    if not 0 < step <= duration:
        raise CutjointError(f"a sweep's step must be positive and no longer than its time, not {step}")
    if isinstance(every, bool) or not isinstance(every, int) or every < 1:
        raise CutjointError(f"'every' must be a whole number from 1 on, not {every}")
    if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
        raise CutjointError(f"a seed must be a whole number from 0 on, not {seed}")
    for word in keep:
        if word not in KEPT:
            raise CutjointError(f"there is no way '{word}' to keep results; {nearest(word, KEPT)}")
    chosen_stepper("runge_kutta", substeps)
    found = samples(vary, runs, sampling, seed, table, partial(_nominal, described, inputs or {}))
    changed, where = _with_parameters(described, found.names)
    known = variables(changed, span(changed)).inputs
    held = {known.find(name).name: known.find(name).numbers(x).item() for name, x in (inputs or {}).items()}
    result = Sweep(
        changed,
        where,
        found,
        tuple(sorted(held.items())),
        float(duration),
        float(step),
        tuple(("energy",) if record is None else record),
        tuple(word for word in KEPT if word in keep),
        every,
        substeps,
    )
    exact_outputs(engine_of(result)[0], result.record)  # or a sentence
    return result


def _nominal(mechanism: Mechanism, held: Mapping[str, Any], name: str) -> Nominal:
    """Unit and value of a number that can be varied; what is none is said by `_with_parameters`."""
    if name.startswith(INPUT):
        known = variables(mechanism, span(mechanism)).inputs
        with suppress(UnknownName):
            found = known.find(name.removeprefix(INPUT))
            given = {known.find(key).name: known.find(key).numbers(x).item() for key, x in held.items()}
            return Nominal(found.unit, given.get(found.name, 0.0))
        return Nominal()
    path = mechanism.parameters.get(name, name)
    try:
        at = parameters.locate(mechanism, path)
    except Flaw:
        return Nominal()
    return Nominal(at.unit, float(parameters.lookup(mechanism, path)) if at.alone else None)


def _with_parameters(
    mechanism: Mechanism, names: Sequence[str]
) -> tuple[Mechanism, tuple[tuple[str, str], ...]]:
    """The mechanism with the varied numbers, and no others, as its parameters."""
    named, where = dict[str, str](), []
    for k, name in enumerate(names):
        if name.startswith(INPUT):
            inputs = variables(mechanism, span(mechanism)).inputs
            try:
                where.append((name, INPUT + inputs.find(name.removeprefix(INPUT)).name))
            except UnknownName:
                known = [INPUT + x for x in (*inputs.named, *inputs.aliases)]
                raise CutjointError(f"there is no input '{name}'; {nearest(name, known)}") from None
            continue
        path = mechanism.parameters.get(name, name)
        try:
            at = parameters.locate(mechanism, path)
        except Flaw as flaw:
            raise CutjointError(f"can't vary '{name}': {flaw.sentence}") from None
        if not at.alone:
            raise CutjointError(
                f"'{name}' has {len(at.units)} numbers; vary one of them, such as '{name}[1]'"
            )
        named[f"varied{k + 1}"] = path
        where.append((name, f"varied{k + 1}"))
    return replace(mechanism, parameters=named), tuple(where)


_building = threading.Lock()
_engines: dict[str, tuple[Engine, np.ndarray]] = {}  # by what they are of


def engine_of(planned: Sweep) -> tuple[Engine, np.ndarray]:
    """The engine of a sweep and where its assembly begins, made once in a process, whoever asks."""
    with _building:
        key = repr(planned.mechanism)
        if key not in _engines:
            if len(_engines) >= MOST_ENGINES:
                _engines.clear()
            engine = Engine(planned.mechanism)
            engine.expect_many_starts()
            _engines[key] = engine, start_guess(engine)
        return _engines[key]


@dataclass(frozen=True)
class SweepPart:
    """Rows of a part: columns by name, each an array, or a list of texts."""

    number: int
    columns: dict[str, Any]


def make_part(
    planned: Sweep, number: int, stop: Callable[[float], None] | None = None, workers: int = 1
) -> SweepPart:
    """The runs of a part, from its number alone. `stop` is called now and then and may raise."""
    engine, guess = engine_of(planned)
    first = number * planned.size
    count = min(planned.size, planned.runs - first)
    values = planned.samples.values(first, count)
    p, u = np.tile(engine.parameters({}), (count, 1)), np.zeros((count, len(engine.inputs)))
    for name, value in planned.inputs:
        u[:, engine.inputs.index(name)] = value
    places = {x.name: x.slice for x in engine.equations.parameters}
    for k, (_, target) in enumerate(planned.where):
        if target.startswith(INPUT):
            u[:, engine.inputs.index(target.removeprefix(INPUT))] = values[:, k]
        else:
            p[:, places[target]] = values[:, k : k + 1]
    with _building:  # what an engine needs is compiled once, and threads share what it keeps
        began = many_starts(engine, p, guess)
        at_once = partial(rollout, engine, record=planned.record, substeps=planned.substeps)
        at_once((began.q[:1], began.v[:1]), 0, ends=np.full(1, NOT_STARTED))
    found = at_once(
        (began.q, began.v),
        planned.steps,
        planned.step,
        inputs=u,
        parameters=p,
        every=planned.every,
        series="series" in planned.keep,
        workers=1,
        progress=stop,
        ends=np.where([bool(why) for why in began.why], NOT_STARTED, DONE),
    )
    return SweepPart(number, _columns(planned, first, values, began, found))


def _columns(planned: Sweep, first: int, values: np.ndarray, began: Starts, found: Rollout) -> dict[str, Any]:
    columns: dict[str, Any] = {"run": np.arange(first, first + len(values))}
    columns |= {name: values[:, k] for k, (name, _) in enumerate(planned.where)}
    ends = [ENDS[end] for end in found.ends]
    why = list(began.why)
    for k, end in enumerate(found.ends):
        if end == NOT_STARTED:
            ends[k] = REFUSED if began.refused[k] else NOT_ASSEMBLED
        elif end != DONE:
            what = "the state became infinite" if ENDS[end] == "infinite" else "a step left a loop open"
            why[k] = f"{what} at {found.steps[k] * planned.step:.6g} s; take smaller steps"
    columns |= {"end": ends, "why": why, "time": found.steps * planned.step}
    columns |= {name: found.verdict(name).astype(np.int64) for name in COUNTED}
    kinds = {"final": found.last, "min": found.least, "max": found.most}
    for k, name in enumerate(found.names):
        columns |= {f"{kind}.{name}": kinds[kind][:, k] for kind in planned.keep if kind in kinds}
        if found.series is not None:
            columns[f"series.{name}"] = found.series[:, :, k]
    return columns
