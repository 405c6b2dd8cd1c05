"""A mechanism ready to be written as an FMU: its variables, what they depend on, which are shown."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import casadi as ca
import numpy as np

from ..model.describe.mechanism import Mechanism
from ..model.equations.sampled_sensors import Tick
from ..model.manifold.charts import Ranks
from ..model.simulation import Simulation
from ..model.variables import Variable

OF_EXCHANGE = ("state", "derivative", "margin", "kink", "coordinate")  # kinds that only it needs


@dataclass(frozen=True)
class FmuVariable(Variable):
    """One variable of the FMU, a scalar or an array; `where` are its slots.

    Kinds are input, hidden (an input that was not chosen), parameter, start, output, state, derivative,
    margin, kink (where an element has one), linear, effort (an output that counts; counted if it was not
    chosen), coordinate, clock, time.
    """

    shape: tuple[int, ...] = ()
    start: tuple[float, ...] = ()
    fixed: bool = True
    depends: tuple[str, ...] = ()  # derivatives: on "position", "speed", inputs and parameters by name
    rows: tuple[int, ...] = ()  # outputs: of the engine's outputs

    @property
    def slot(self) -> int:
        return self.where.start

    def elements(self) -> list[str]:
        return elements(self.name, self.shape)


def elements(name: str, shape: Sequence[int]) -> list[str]:
    """Names of the elements of an array, with indices from 1."""
    if not shape:
        return [name]
    stem, end = (name[:-1], ")") if name.startswith("der(") else (name, "")
    return [f"{stem}[{','.join(str(i + 1) for i in at)}]{end}" for at in np.ndindex(*shape)]


class Shown(NamedTuple):
    """What FMI 3.0 gives one value reference: a variable, or an element of one."""

    name: str
    variable: FmuVariable
    which: slice  # of its elements
    shape: tuple[int, ...]

    @property
    def slot(self) -> int:
        return self.variable.slot + self.which.start

    @property
    def size(self) -> int:
        return int(self.which.stop - self.which.start)


@dataclass
class Plan:
    """A mechanism ready to be written as an FMU."""

    mechanism: Mechanism
    simulation: Simulation
    step: float
    ranks: Ranks
    variables: list[FmuVariable] = field(default_factory=list)
    first: dict[str, int] = field(default_factory=dict)  # kind of slot -> its first slot
    linear_rows: list[int] = field(default_factory=list)  # rows of C and D, as indices into `rows`
    slots: int = 0
    choices: dict[str, Any] = field(default_factory=dict)  # what `plan` was asked for, to plan it again
    scalar: bool = False  # FMI 3.0 shows every element as a variable of its own, as 2.0 does
    exchange: bool = True  # it offers model exchange, and shows what that needs
    ticks: list[Tick] = field(default_factory=list)  # of the clocks of FMI 3.0, in their order
    left_out: int = 0  # outputs, of a large mechanism, that nobody has asked for

    def begin(self, kind: str) -> None:
        """Slots of this kind follow."""
        self.first[kind] = self.slots

    @property
    def freedoms(self) -> int:
        """Independent speeds."""
        return self.simulation.tree.nv - self.ranks.speeds

    @property
    def coordinates(self) -> int:
        """Independent coordinates: as many, or more where there are velocity constraints."""
        return self.simulation.tree.nv - self.ranks.poses

    @property
    def states(self) -> int:
        """Independent coordinates and speeds, and internal states."""
        return self.coordinates + self.freedoms + self.simulation.tree.nz

    def shown(self) -> list[Shown]:
        """In the order of the value references of FMI 3.0."""
        result = []
        for v in self.variables:
            if self.scalar:
                result += [Shown(name, v, slice(k, k + 1), ()) for k, name in enumerate(v.elements())]
            else:
                result.append(Shown(v.name, v, slice(0, v.size), v.shape))
        return result

    def listed(self, variable: FmuVariable) -> bool:
        """Whether the description of an FMU shows it."""
        return variable.kind != "hidden" and (self.exchange or variable.kind not in OF_EXCHANGE)

    def of(self, *kinds: str) -> list[FmuVariable]:
        return [v for v in self.variables if v.kind in kinds]

    @property
    def rows(self) -> list[int]:
        """Outputs shown, as rows of the engine's outputs: those traced first, then the singular values."""
        return [row for v in self.of("output") for row in v.rows]

    @property
    def traced_rows(self) -> list[int]:
        return [row for v in self.of("output") if v.differentiable for row in v.rows]

    def _parameters_in(self, row: np.ndarray) -> list[str]:
        """Names of the parameters that a row of a pattern is not zero at."""
        entries = zip(self.of("parameter"), self.simulation.equations.parameters, strict=True)
        return [v.name for v, entry in entries if row[entry.slice].any()]

    @cached_property
    def in_loops(self) -> list[str]:
        """Parameters that the loops depend on: with them everything that positions and speeds follow from."""
        function = self.simulation.engine.functions.closure
        patterns = [np.array(ca.DM(function.jac_sparsity(k, 2), 1)) for k in range(2)]
        return self._parameters_in(np.atleast_1d(np.concatenate(patterns).any(axis=0)))

    @cached_property
    def moving(self) -> list[str]:
        """Driven motions among the inputs: poses and speeds follow from them."""
        first = self.first["input"]
        return [v.name for v in self.of("input") if v.slot - first in self.simulation.motions]

    @cached_property
    def dependence(self) -> list[tuple[str, ...]]:
        """For every row of the engine's outputs: "position", "speed" (then both), inputs and parameters."""
        found = self.words_of(self.simulation.engine.functions.outputs)
        return found + [("position",) if self.ranks.speeds else ()] * 2

    def words_of(self, function: ca.Function) -> list[tuple[str, ...]]:
        """What every row of a function of (q, v, z, u, p) depends on, in these words."""
        patterns = [np.array(ca.DM(function.jac_sparsity(0, k), 1)) for k in range(5)]
        inputs, first = self.of("input"), self.first["input"]
        result = []
        for on_q, on_v, on_z, on_u, on_p in zip(*patterns, strict=True):
            words = ["position"] if on_q.any() or on_v.any() else []
            words += ["speed"] if on_v.any() else []
            words += ["internal"] if on_z.any() else []
            words += [v.name for v in inputs if on_u[v.slot - first : v.where.stop - first].any()]
            result.append((*words, *self._parameters_in(on_p)))
        return result

    def depends(self, variable: FmuVariable) -> tuple[str, ...]:
        """What an output, derivative or margin depends on: "position", "speed", and others by name."""
        words = [*variable.depends, *(word for row in variable.rows for word in self.dependence[row])]
        if "position" in words:
            words += self.in_loops + self.moving
        return tuple(dict.fromkeys(words))

    def depends_at_start(self, variable: FmuVariable) -> tuple[str, ...]:
        """What it depends on while it is initialized: start values in place of states."""
        words = list(self.depends(variable))
        starts = {
            kind: [v.name for v in self.of("start") if v.name.endswith(f".{kind}")]
            for kind in ("position", "speed")
        }
        found = [word for word in words if word not in (*starts, "internal")]
        if "position" in words:
            found += starts["position"]
        if "speed" in words:  # made consistent in the mass metric
            found += [*starts["speed"], *(v.name for v in self.of("parameter"))]
        return tuple(dict.fromkeys(found))
