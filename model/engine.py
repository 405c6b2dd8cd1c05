"""The engine: a mechanism's equations as fast code, without a state of its own.

An engine is frozen in meaning. It holds the checked description, the tree, the symbols, and the
kernels that were traced and compiled so far; what it answers depends on its arguments alone, so
several simulations may share one. A copy, also in another process, carries the description and
the options, and finds compiled code in the cache.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import casadi as ca
import numpy as np

from .compile.cache import ours, remembered, remembered_lanes
from .compile.kernel import Kernel
from .compile.lanes import LaneKernel
from .describe import parameters
from .describe.check import check
from .describe.mechanism import Mechanism
from .equations import sampling, terms, traced
from .equations.outputs import outputs
from .equations.terms import Equations
from .joints.types import TYPES
from .loading import load
from .manifold import charts, closing, lift, rank, rest, seat
from .variables import variables

# What closes loops and lifts.
MANIFOLD: dict[str, Callable[[Equations], ca.Function]] = {
    "assembly": closing.assembly,
    "unitless_jacobian": charts.unitless_jacobian,
    "start_speeds": closing.start_speeds,
    "from_rest": rest.from_rest,
    "lift": lift.lift,
    "lift_along": lift.lift_along,
    "dependent_speeds": closing.dependent_speeds,
    "displacement": lift.displacement,
    "displacement_rates": lift.displacement_rates,
    "driven_jacobian": charts.driven_jacobian,
    "seated": seat.seated,
    "moved_inputs": seat.moved_inputs,
}
SENSED: dict[str, Callable[[Equations], ca.Function]] = {
    "sampling": sampling.sampling,
    "told_samples": sampling.told_samples,
    "upcoming": sampling.upcoming,
}
RARE = (
    "assembly",
    "start_speeds",
    "from_rest",
    "mass_pivots",
    "driven_jacobian",
)  # once a start: compiling would take longer
MOST_RANKS = 1000  # sets of parameters whose rank is remembered
MOST_OTHERS = 20  # choices of parameters whose equations are kept beside the mechanism's own


class Assembled(NamedTuple):
    """A pose, the residual left in its loops, the steps it took, and whether they are closed."""

    q: np.ndarray
    g: np.ndarray
    steps: int
    closed: bool


class Engine:
    """A mechanism ready to compute with.

    Parameters
    ----------
    mechanism : Mechanism, or the name of an example, or the path of a description.
    gravity : number g for (0, 0, −g), or a vector; the description's own if None.
    compile : None compiles where a C compiler is found, False never does, True insists.
    changeable : paths of numbers, such as `body.leg1.mass`, that can be changed beside those that the
        description names.

    Attributes
    ----------
    inputs : names of motors and cylinders, in the order of `u`.
    variables : every name there is, with units and places.
    tree, equations : the spanning tree and the symbols of all traced functions.
    """

    def __init__(
        self,
        mechanism: Mechanism | str,
        *,
        gravity: float | Iterable[float] | None = None,
        compile: bool | None = None,
        changeable: Iterable[str] = (),
    ):
        described = load(mechanism) if isinstance(mechanism, str) else mechanism
        described = parameters.marked(described, changeable)
        self.mechanism = check(described if gravity is None else described.with_gravity(gravity))
        self.compile = compile
        self.equations: Equations = terms.equations(self.mechanism)
        self.tree = self.equations.tree
        self.inputs = self.mechanism.inputs()
        self.motion_count = len(self.mechanism.motions)  # at the end of p
        self.variables = variables(self.mechanism, self.tree)
        self.sampled = any(v.sampled for v in self.variables.outputs)  # whether sensors take samples
        self._identity = identity(self.mechanism)
        self._traced: dict[str, ca.Function] = {}
        self._kernels: dict[str, Kernel] = {}
        self._lanes: dict[str, LaneKernel | None] = {}
        self._often, self._plain = False, set[str]()  # those never compiled
        self._ranks: dict[bytes, tuple[int, np.ndarray]] = {}
        self._others: dict[tuple[tuple[str, str], ...], Engine] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(Engine, compile=self.compile), (self.mechanism,)

    def traced(self, name: str, make: Callable[[Equations], ca.Function] | None = None) -> ca.Function:
        """A function over symbols, traced when it is first needed and kept under its name.

        `make` traces it; without, it is "outputs", one of `MANIFOLD`, or a function of `traced.py`.
        """
        if name not in self._traced:
            if name == "outputs":
                self._traced[name] = outputs(self.equations, self.variables.layout)
            else:
                known = MANIFOLD | SENSED
                self._traced[name] = (make or known.get(name) or getattr(traced, name))(self.equations)
        return self._traced[name]

    def kernel(
        self, name: str, make: Callable[[Equations], ca.Function] | None = None, native: bool = True
    ) -> Kernel:
        """A traced function as fast code, built when it is first needed; not `native`: never compiled."""
        if name not in self._kernels:
            of = self._identity if make is None or ours(make) else ""
            native = native and (self._often or name not in RARE)
            if not native:
                self._plain.add(name)
            self._kernels[name] = remembered(of, name, lambda: self.traced(name, make), self.compile, native)
        return self._kernels[name]

    def lanes(self, name: str, make: Callable[[Equations], ca.Function] | None = None) -> LaneKernel | None:
        """The same for many mechanisms side by side; None if it can't be compiled so (`model/batch/`)."""
        if name not in self._lanes:
            of = self._identity if make is None or ours(make) else ""
            self._lanes[name] = remembered_lanes(of, name, lambda: self.traced(name, make), self.compile)
        return self._lanes[name]

    def expect_many_starts(self) -> None:
        """From now on compile what is usually called once a start, too."""
        self._often = True
        for name in RARE:
            self._kernels.pop(name, None)

    @property
    def compiled(self) -> bool:
        """Whether everything traced so far that could be compiled runs as compiled code."""
        return all(k.compiled for name, k in self._kernels.items() if name not in self._plain)

    def with_symbols(self, names: Mapping[str, str]) -> "Engine":
        """The same mechanism with these numbers, name -> path, as its parameters: made once, and kept."""
        if names == self.mechanism.parameters:
            return self
        key = tuple(names.items())
        if key not in self._others:
            if len(self._others) >= MOST_OTHERS:
                del self._others[next(iter(self._others))]
            mechanism = replace(self.mechanism, parameters=dict(names))
            self._others[key] = Engine(mechanism, compile=self.compile)
        return self._others[key]

    # -- loops -------------------------------------------------------------------------------

    def closure(self, q: np.ndarray, p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Loop residual g and Jacobian G."""
        g, G, _ = self.kernel("closure")(q, p)
        return g, G

    def slip(self, q: np.ndarray, v: np.ndarray, p: np.ndarray) -> tuple[np.ndarray, float]:
        """G v + b, which is zero for speeds that fit, and how large its parts are."""
        _, G, b = self.kernel("closure")(q, p)
        return G @ v + b, float(np.linalg.norm(G) * np.linalg.norm(v) + np.linalg.norm(b))

    def unitless_jacobian(self, q: np.ndarray, p: np.ndarray) -> np.ndarray:
        """G with lengths measured by the size of the mechanism: what rank is judged by."""
        return self.kernel("unitless_jacobian")(q, p)

    def retract(self, q: np.ndarray, delta: np.ndarray) -> np.ndarray:
        """q moved along speeds δ for unit time, Euler parameters kept at length one."""
        return self.kernel("retraction")(q, delta)

    def assembly(self, q: np.ndarray, p: np.ndarray, free: np.ndarray | None = None) -> Assembled:
        """The closed pose near q; `free` masks the speeds along which it may change."""
        mask = np.ones(self.tree.nv) if free is None else free
        new, g, steps, closed = self.kernel("assembly")(q, mask, p)
        return Assembled(new, g, int(steps[0]), bool(closed[0]))

    def partition(self, q: np.ndarray, p: np.ndarray) -> tuple[np.ndarray, np.ndarray, bool]:
        """1 for every dependent coordinate, for every dependent speed; whether the pose is regular."""
        ranks = self.ranks(q, p)
        free, free_v, regular = self.kernel(f"partition{ranks}", lambda eq: charts.partition(eq, ranks))(q, p)
        return free, free_v, bool(regular[0])

    def margin(self, q: np.ndarray, d: np.ndarray, free: Sequence[np.ndarray], p: np.ndarray) -> float:
        """How far a chart is from being left; negative beyond, NaN at a singular pose."""
        ranks = self.ranks(q, p)
        return float(self.kernel(f"margin{ranks}", lambda eq: charts.margin(eq, ranks))(q, d, *free, p)[0])

    def ranks(self, q: np.ndarray, p: np.ndarray) -> charts.Ranks:
        """Of the rows that hold poses, and of all, at regular poses."""
        speeds, pose = self.generic_rank(q, p)
        held = np.array(self.tree.holds_poses, bool)
        poses = speeds if held.all() else rank.rank(self.unitless_jacobian(pose, p)[held])
        return charts.Ranks(poses, speeds)

    def generic_rank(self, q: np.ndarray, p: np.ndarray) -> tuple[int, np.ndarray]:
        """Rank of G at regular poses with these parameters, and such a pose, found around a closed q."""
        key = p[: p.size - self.motion_count].tobytes()
        if key not in self._ranks:
            if len(self._ranks) >= MOST_RANKS:
                self._ranks.clear()

            def near(q: np.ndarray, delta: np.ndarray) -> np.ndarray | None:
                found = self.assembly(self.retract(q, delta * self.equations.scales.speeds), p)
                return found.q if found.closed else None

            self._ranks[key] = rank.generic_rank(lambda q: self.unitless_jacobian(q, p), near, q.copy())
        return self._ranks[key]

    def singularity(self, q: np.ndarray, p: np.ndarray) -> tuple[float, float]:
        """Outputs that need singular values: the distance from a singularity, and the rank of G here."""
        return rank.distance_and_rank(self.unitless_jacobian(q, p), self.generic_rank(q, p)[0])

    # -- parameters --------------------------------------------------------------------------

    def parameters(self, values: Mapping[str, Any], p: np.ndarray | None = None) -> np.ndarray:
        """p (the description's if None) with other values by name, checked as a description is."""
        new = parameters.parameter_vector(self.mechanism if p is None else self.described(p), values)
        motions = np.zeros(self.motion_count) if p is None else p[new.size :]
        return np.concatenate([new, motions])

    def described(self, p: np.ndarray) -> Mechanism:
        """The mechanism with the values p of its parameters."""
        mechanism = self.mechanism
        for item in self.equations.parameters:
            value = p[item.slice]
            mechanism = parameters.replace_value(mechanism, item.path, value[0] if item.at.alone else value)
        return mechanism


def identity(mechanism: Mechanism) -> str:
    """All that traced code depends on besides our source; empty if some of it is not ours."""
    kinds = [TYPES[name] for name in sorted({joint.type for joint in mechanism.joints})]
    parts = [x for kind in kinds for x in (*(kind.moves or ()), *kind.locks, kind.measure)]
    return repr((mechanism, [(kind.name, kind.moves, kind.locks) for kind in kinds])) if ours(*parts) else ""
