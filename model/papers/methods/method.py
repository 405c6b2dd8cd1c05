"""A simulation's way of moving, put together from names: formulation, stabilization, stepper, chart."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from ...compile.kernel import Kernel
from ...errors import SimulationError
from ...joints.types import TYPES
from ...manifold.step import NODES, WEIGHTS
from . import accelerations, charts, huang, stabilization, traced

if TYPE_CHECKING:
    from ...simulation import Simulation

STEPPERS = ("runge_kutta", "single", "implicit", "taylor")
# Sub-steps near a singularity: most of them, and the condition of G at which a second one is taken.
MOST_SUBSTEPS = 64
NEAR = 0.005
DEFAULTS = ("default", "projection", "runge_kutta")


def check(formulation: str, stabilizing: str, stepper: str, chart: str) -> None:
    """Raise one sentence that lists the names there are, unless all four are known and go together."""
    known = {
        "formulation": (formulation, accelerations.NAMES),
        "stabilization": (stabilizing, stabilization.NAMES),
        "stepper": (stepper, STEPPERS),
        "chart": (chart, charts.KINDS),
    }
    for what, (name, names) in known.items():
        if name not in names:
            raise SimulationError(f"there is no {what} '{name}'; known: {', '.join(names)}")
    if stepper in ("implicit", "taylor", "single") and (formulation, stabilizing) != DEFAULTS[:2]:
        raise SimulationError(
            f"the stepper '{stepper}' brings its own formulation and stabilization; "
            "leave both at their defaults"
        )


class Method:
    """Numeric accelerations and projections of one simulation, by name.

    Nothing here is part of the state: a chart is only a way to compute the same motion.
    """

    def __init__(
        self,
        simulation: Simulation,
        formulation: str = "default",
        stabilizing: str = "projection",
        chart: str = "partition",
        coordinates: Iterable[str] | None = None,
    ):
        check(formulation, stabilizing, "runge_kutta", chart)
        self.simulation = simulation
        self.formulation, self.stabilization, self.kind = formulation, stabilizing, chart
        self.tree = simulation.tree
        self.rank, pose = simulation.generic_rank()
        self.rows = accelerations.independent_rows(self.closure(pose)[1], self.rank)
        self.chosen = chosen_speeds(simulation, coordinates) if chart == "chosen" else None
        self.most_substeps = MOST_SUBSTEPS
        self.taylor: huang.Taylor | None = None
        self.chart: charts.Chart | None = None

    def kernel(self, make: Callable[[Any], ca.Function]) -> Kernel:
        """A traced function of `traced.py`, kept with the simulation's own."""
        return self.simulation.kernel(make.__name__, lambda: make(self.simulation.equations))

    def closure(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return self.simulation.closed(q)

    def retract(self, q: np.ndarray, delta: np.ndarray) -> np.ndarray:
        return self.simulation.kernel("retraction")(q, delta)

    def invariants(self, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        s = self.simulation
        h, H = self.kernel(traced.invariants)(q, v, s.u, s.p)
        return h, H

    def chart_at(self, q: np.ndarray, G: np.ndarray) -> charts.Chart:
        """The present chart, or a new one at q before the present one degrades."""
        if self.chart is None or charts.degraded(self.chart, G):
            self.chart = charts.choose(self.kind, q, G, self.rank, self.chosen)
        return self.chart

    def accelerate(
        self, q: np.ndarray, v: np.ndarray, reactions: bool = True
    ) -> tuple[np.ndarray, np.ndarray]:
        """v̇ and, if wanted, λ at a state under the simulation's inputs."""
        s = self.simulation
        if self.formulation == "default":
            dv, lam = s.kernel("dynamics")(q, v, s.u, s.p)
            return dv, lam
        M, G, F, gamma, _ = s.kernel("coefficients")(q, v, s.u, s.p)
        if self.stabilization == "baumgarte":
            gamma = stabilization.target("baumgarte", self.closure(q)[0], G, v, gamma)
        t = accelerations.Terms(M, G, F, gamma, self.rank)
        if self.formulation == "multipliers":
            return accelerations.multipliers(t, self.rows)
        if self.formulation == "svd":
            dv = accelerations.svd(t)
        else:
            rate = self.kernel(traced.jacobian_rate)(q, v, s.p) if self.kind == "differentiable" else None
            dv = accelerations.on_chart(t, self.chart_at(q, G), v, rate)
        return dv, accelerations.least_multipliers(t, dv) if reactions else np.zeros(0)

    def rates(self, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
        """q̇, v̇ and the power that changes the energy."""
        s = self.simulation
        dq, dv, power = s.kernel("rates")(q, v, s.u, s.p)
        if self.formulation != "default":
            dv = self.accelerate(q, v, reactions=False)[0]
        return dq, dv, float(power[0])

    def step(self, q: np.ndarray, v: np.ndarray, h: float) -> tuple[np.ndarray, np.ndarray, float]:
        """A step of length h, in sub-steps where G is nearly singular; q, v and the work done."""
        count, work = self.substeps(q), 0.0
        for _ in range(count):
            q, v, done = self.single(q, v, h / count)
            work += done
        return q, v, work

    def substeps(self, q: np.ndarray) -> int:
        """How many sub-steps to take here: the ratio of extreme singular values times NEAR, bounded."""
        G = self.closure(q)[1] if self.most_substeps > 1 else np.zeros((0, 0))
        if not G.size:
            return 1
        s = np.linalg.svd(G, compute_uv=False)[: self.rank]
        return int(min(self.most_substeps, max(1.0, np.ceil(NEAR * s[0] / max(s[-1], 1e-300)))))

    def single(self, q: np.ndarray, v: np.ndarray, h: float) -> tuple[np.ndarray, np.ndarray, float]:
        """Fourth-order Runge-Kutta, then the stabilization; q, v and the work done meanwhile."""
        energy = float(self.invariants(q, v)[0][-1]) if self.stabilization == "energy" else 0.0
        slopes: list[tuple[np.ndarray, np.ndarray, float]] = []
        for node in NODES:
            at = (q, v) if not slopes else (q + node * h * slopes[-1][0], v + node * h * slopes[-1][1])
            slopes.append(self.rates(*at))
        weighted = list(zip(WEIGHTS, slopes, strict=True))
        q1 = q + h * sum((w * dq for w, (dq, _, _) in weighted), np.zeros(len(q)))
        v1 = v + h * sum((w * dv for w, (_, dv, _) in weighted), np.zeros(len(v)))
        work = h * sum(w * power for w, (_, _, power) in weighted)
        q1 = self.retract(q1, np.zeros(len(v)))
        if self.stabilization == "projection":
            q1, v1 = stabilization.project(self, q1, v1)
        elif self.stabilization == "energy":
            q1, v1 = stabilization.project_energy(self, q1, v1, energy + work)
        return q1, v1, work


def advance(simulation: Simulation, h: float) -> None:
    """One step of a simulation that does not take the traced one."""
    from . import implicit  # it needs `Method` itself

    method, q, v = simulation.method(), simulation.q.copy(), simulation.v.copy()
    if simulation.stepper == "implicit":
        q, v, work = implicit.step(method, q, v, h)
    elif simulation.stepper == "taylor":
        if method.taylor is None:
            method.taylor = huang.Taylor(simulation)
        q, v, work = method.taylor.step(q, v, h)
    else:
        q, v, work = method.step(q, v, h)
    if not np.isfinite(q.sum() + v.sum() + work):
        raise SimulationError(
            f"the state of '{simulation.mechanism.name}' became infinite at {simulation.time:.6g} s; "
            f"take a smaller step than {h:g} s; the state stays as it was"
        )
    simulation.q[:], simulation.v[:] = q, v
    simulation.work += work
    simulation.time += h


def chosen_speeds(simulation: Simulation, names: Iterable[str] | None) -> np.ndarray:
    """Indices of the speeds of the named joints; of the motors' joints if no names are given."""
    wanted = list(names) if names is not None else [m.joint for m in simulation.mechanism.motors]
    if not wanted:
        raise SimulationError(
            f"'{simulation.mechanism.name}' has no motors; name the joints whose coordinates are to be chosen"
        )
    result: list[int] = []
    for name in wanted:
        joint = simulation.mechanism.joint(name)
        if name not in simulation.tree.v:
            raise SimulationError(f"joint '{name}' is cut and has no coordinates to choose; name another")
        if "Q" in (TYPES[joint.type].moves or ()):
            raise SimulationError(
                f"joint '{name}' turns freely and can't be chosen; name joints with one axis each"
            )
        result += range(*simulation.tree.v[name].indices(simulation.tree.nv))
    return np.array(result)
