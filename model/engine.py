"""The engine: a mechanism's equations as fast code, without a state of its own.

An engine is frozen in meaning. It holds the checked description, the tree, the symbols, and the
kernels that were traced and compiled so far; what it answers depends on its arguments alone, so
several simulations may share one. A copy, also in another process, carries the description and
the options, and finds compiled code in the cache.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import casadi as ca
import numpy as np

from .base.errors import SimulationError
from .base.units import kind
from .compile.cache import ours, recall_kernel, recall_lanes
from .compile.kernel import Kernel
from .compile.lanes import LaneKernel
from .compile.tracing import tracing
from .describe import parameters
from .describe.check import check
from .describe.mechanism import Mechanism
from .equations import terms
from .equations.elements.contract import each
from .equations.motion_drives import motion_places
from .equations.terms import Equations
from .joints.types import TYPES
from .kernels import RARE, Registry, Trace
from .loading import load
from .manifold import charts, rank
from .variables import variables

MOST_RANKS = 1000  # sets of parameters whose rank is remembered
MOST_OTHERS = 20  # choices of parameters whose equations are kept beside the mechanism's own
MOST_SHARED = 200  # speeds of the mechanisms whose equations wait for the next engine: some 100 MB of symbols
_SHARED: dict[str, "Shared"] = {}  # the one asked for last stands last


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
    functions, kernels : what every engine can compute, over symbols and as fast code, by name
        (`model/kernels.py`).

    Methods
    -------
    closure, parameters, described, generic_rank, singularity, compiled, kernel
    """

    def __init__(
        self,
        mechanism: Mechanism | str,
        *,
        gravity: float | Iterable[float] | None = None,
        compile: bool | None = None,
        changeable: Iterable[str] = (),
    ):
        described = load(mechanism) if isinstance(mechanism, str | os.PathLike) else mechanism
        if not isinstance(described, Mechanism):
            sentence = "a mechanism is a Mechanism, the name of an example or the path of a file"
            raise SimulationError(f"{sentence}, not {kind(mechanism)}")
        described = parameters.mark_parameters(described, changeable)
        self.mechanism = check(described if gravity is None else described.with_gravity(gravity))
        self.compile = compile
        self._identity = identity(self.mechanism)
        self.equations, self._traced = share(self._identity, self.mechanism)
        self.tree = self.equations.tree
        self.inputs = self.mechanism.inputs()
        self.motion_places = motion_places(self.mechanism)  # among the inputs
        self.variables = variables(self.mechanism, self.tree)
        self.sampled = any(v.sampled for v in self.variables.outputs)  # whether sensors take samples
        self._foreign: dict[str, ca.Function] = {}  # by traces that are not ours
        self._kernels: dict[str, Kernel] = {}
        self._lanes: dict[str, LaneKernel | None] = {}
        self._often, self._plain = False, set[str]()  # those never compiled
        self._ranks: dict[bytes, tuple[int, np.ndarray]] = {}
        self.functions, self.kernels = Registry(self.traced), Registry(self.kernel)
        self._others: dict[tuple[tuple[str, str], ...], Engine] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(Engine, compile=self.compile), (self.mechanism,)

    def traced(self, name: str, make: Trace) -> ca.Function:
        """A function over symbols, traced when it is first needed and kept under its name."""
        traced = self._traced if ours(make) else self._foreign
        with tracing():
            if name not in traced:
                traced[name] = make(self.equations)
        return traced[name]

    def kernel(self, name: str, make: Trace, native: bool = True) -> Kernel:
        """The function that `make` traces from the equations as fast code, built when first needed.

        It is kept under its name; not `native`: never compiled. `kernels` has what every engine computes.
        """
        if name not in self._kernels:
            of = self._identity if ours(make) else ""
            native = native and (self._often or name not in RARE)
            if not native:
                self._plain.add(name)
            self._kernels[name] = recall_kernel(
                of, name, lambda: self.traced(name, make), self.compile, native
            )
        return self._kernels[name]

    def lanes(self, name: str, make: Trace) -> LaneKernel | None:
        """The same for many mechanisms side by side; None if it can't be compiled so (`model/batch/`)."""
        if name not in self._lanes:
            of = self._identity if ours(make) else ""
            self._lanes[name] = recall_lanes(of, name, lambda: self.traced(name, make), self.compile)
        return self._lanes[name]

    def expect_many_starts(self) -> None:
        """From now on compile what is usually called once a start, too."""
        self._often = True
        for name in RARE:
            self._kernels.pop(name, None)
            self.kernels.forget(name)

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

    def motions(self, u: np.ndarray) -> np.ndarray:
        """s: the driven motions that are among inputs."""
        return u[self.motion_places]

    def closure(self, q: np.ndarray, s: np.ndarray, p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Loop residual g and Jacobian G at coordinates q, driven motions s and parameters p."""
        g, G, _ = self.kernels.closure(q, s, p)
        return g, G

    def slip(self, q: np.ndarray, v: np.ndarray, s: np.ndarray, p: np.ndarray) -> tuple[np.ndarray, float]:
        """G v + b, which is zero for speeds that fit, and how large its parts are."""
        _, G, b = self.kernels.closure(q, s, p)
        return G @ v + b, float(np.linalg.norm(G) * np.linalg.norm(v) + np.linalg.norm(b))

    def unitless_jacobian(self, q: np.ndarray, p: np.ndarray) -> np.ndarray:
        """G with lengths measured by the size of the mechanism: what rank is judged by."""
        return self.kernels.unitless_jacobian(q, p)

    def retract(self, q: np.ndarray, delta: np.ndarray) -> np.ndarray:
        """q moved along speeds δ for unit time, Euler parameters kept at length one."""
        return self.kernels.retraction(q, delta)

    def assembly(
        self, q: np.ndarray, s: np.ndarray, p: np.ndarray, movable: np.ndarray | None = None
    ) -> Assembled:
        """The closed pose near q; `movable` masks the speeds along which it may change."""
        mask = np.ones(self.tree.nv) if movable is None else movable
        new, g, steps, closed = self.kernels.assembly(q, mask, s, p)
        return Assembled(new, g, int(steps[0]), bool(closed[0]))

    def partition(self, q: np.ndarray, s: np.ndarray, p: np.ndarray) -> tuple[np.ndarray, np.ndarray, bool]:
        """1 for every dependent coordinate, for every dependent speed; whether the pose is regular."""
        ranks = self.ranks(q, s, p)
        dependent_q, dependent_v, regular = self.kernel(
            f"partition{ranks}", lambda eq: charts.partition(eq, ranks)
        )(q, p)
        return dependent_q, dependent_v, bool(regular[0])

    def margin(
        self, q: np.ndarray, d: np.ndarray, dependent: Sequence[np.ndarray], s: np.ndarray, p: np.ndarray
    ) -> float:
        """How far a chart is from being left; negative beyond, NaN at a singular pose."""
        ranks = self.ranks(q, s, p)
        return float(
            self.kernel(f"margin{ranks}", lambda eq: charts.margin(eq, ranks))(q, d, *dependent, p)[0]
        )

    def ranks(self, q: np.ndarray, s: np.ndarray, p: np.ndarray) -> charts.Ranks:
        """Of the rows that hold poses, and of all, at regular poses."""
        speeds, pose = self.generic_rank(q, s, p)
        held = np.array(self.tree.holds_poses, bool)
        poses = speeds if held.all() else rank.rank(self.unitless_jacobian(pose, p)[held])
        return charts.Ranks(poses, speeds)

    def generic_rank(self, q: np.ndarray, s: np.ndarray, p: np.ndarray) -> tuple[int, np.ndarray]:
        """Rank of G at regular poses with the parameters p, and such a pose, found around a closed q."""
        key = p.tobytes()
        if key not in self._ranks:
            if len(self._ranks) >= MOST_RANKS:
                self._ranks.clear()

            def near(q: np.ndarray, delta: np.ndarray) -> np.ndarray | None:
                found = self.assembly(self.retract(q, delta * self.equations.scales.speeds), s, p)
                return found.q if found.closed else None

            self._ranks[key] = rank.generic_rank(lambda q: self.unitless_jacobian(q, p), near, q.copy())
        return self._ranks[key]

    def singularity(self, q: np.ndarray, s: np.ndarray, p: np.ndarray) -> tuple[float, float]:
        """What needs singular values: the distance from a singularity, and the rank of G at q, s, p."""
        return rank.distance_and_rank(self.unitless_jacobian(q, p), self.generic_rank(q, s, p)[0])

    # -- parameters --------------------------------------------------------------------------

    def parameters(self, values: Mapping[str, Any], p: np.ndarray | None = None) -> np.ndarray:
        """p (the description's if None) with other values by name, checked as a description is."""
        return parameters.parameter_vector(self.mechanism if p is None else self.described(p), values)

    def described(self, p: np.ndarray) -> Mechanism:
        """The mechanism with the values p of its parameters."""
        mechanism = self.mechanism
        for item in self.equations.parameters:
            value = p[item.slice]
            mechanism = parameters.replace_value(mechanism, item.path, value[0] if item.at.alone else value)
        return mechanism


class Shared(NamedTuple):
    """What engines of the same mechanism have in common."""

    equations: Equations
    functions: dict[str, ca.Function]  # traced from them, by name


def share(of: str, mechanism: Mechanism) -> Shared:
    """What is kept of the mechanism that the text `of` describes, or its equations, laid out now."""
    with tracing():
        found = _SHARED.pop(of, None) or Shared(terms.equations(mechanism), {})
        if of:
            _SHARED[of] = found
        while sum(kept.equations.tree.nv for kept in _SHARED.values()) > MOST_SHARED:
            del _SHARED[next(iter(_SHARED))]
        return found


def identity(mechanism: Mechanism) -> str:
    """All that traced code depends on besides our source; empty if some of it is not ours."""
    kinds = [TYPES[name] for name in sorted({joint.type for joint in mechanism.joints})]
    parts: list[Any] = [x for kind in kinds for x in (*(kind.moves or ()), *kind.locks, kind.measure)]
    parts += [element for element, *_ in each(mechanism)]
    return repr((mechanism, [(kind.name, kind.moves, kind.locks) for kind in kinds])) if ours(*parts) else ""
