"""A simulation's way of moving, put together from names: formulation, stabilization, chart."""

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import casadi as ca
import numpy as np

from ...model.base.errors import SimulationError
from ...model.compile.kernel import Kernel
from ...model.describe.motors import tells_motion
from ...model.describe.parameters import split_component
from ...model.joints.types import TYPES
from ...model.manifold.step import CLASSICAL
from ...model.state import Stepper
from . import accelerations, stabilization, thesis_charts, traced

# Sub-steps near a singularity: most of them, and the condition of G at which a second one is taken.
MOST_SUBSTEPS = 64
NEAR = 0.005


class Method:
    """Numeric accelerations and projections of one simulation, by name.

    Nothing here is part of the state: a chart is only a way to compute the same motion.
    """

    def __init__(
        self,
        simulation: Stepper,
        formulation: str = "default",
        stabilizing: str = "projection",
        chart: str = "partition",
        coordinates: Iterable[str] | None = None,
    ):
        unknown = "couplings" if simulation.tree.couplings else "velocity constraints"
        moving = any(map(tells_motion, simulation.mechanism.drives))
        unknown = "driven motions" if moving else unknown
        if moving or simulation.tree.couplings or not all(simulation.tree.holds_poses):
            raise SimulationError(
                f"'{simulation.mechanism.name}' has {unknown}, which the papers' methods do not know; "
                "use Simulation"
            )
        self.simulation = simulation
        self.formulation, self.stabilization, self.kind = formulation, stabilizing, chart
        self.tree = simulation.tree
        self.rank, pose = simulation.engine.generic_rank(simulation.q, simulation.s, simulation.p)
        self.rows = accelerations.independent_rows(self.closure(pose)[1], self.rank)
        self.chosen = chosen_speeds(simulation, coordinates) if chart == "chosen" else None
        self.most_substeps = MOST_SUBSTEPS
        self.chart: thesis_charts.Chart | None = None

    def kernel(self, make: Callable[[Any], ca.Function]) -> Kernel:
        """A traced function of `traced.py`, kept with the engine's own."""
        return self.simulation.engine.kernel(make.__name__, make)

    def closure(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return self.simulation.engine.closure(q, self.simulation.s, self.simulation.p)

    def retract(self, q: np.ndarray, delta: np.ndarray) -> np.ndarray:
        return self.simulation.engine.retract(q, delta)

    def invariants(self, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        s = self.simulation
        h, H = self.kernel(traced.invariants)(q, v, s.z, s.u, s.p)
        return h, H

    def chart_at(self, q: np.ndarray, G: np.ndarray) -> thesis_charts.Chart:
        """The present chart, or a new one at q before the present one degrades."""
        if self.chart is None or thesis_charts.degraded(self.chart, G):
            self.chart = thesis_charts.choose(self.kind, q, G, self.rank, self.chosen)
        return self.chart

    def accelerate(
        self, q: np.ndarray, v: np.ndarray, reactions: bool = True
    ) -> tuple[np.ndarray, np.ndarray]:
        """v̇ and, if wanted, λ at a state under the simulation's inputs."""
        s = self.simulation
        if self.formulation == "default":
            dv, lam = s.engine.kernels.dynamics(q, v, s.z, s.u, s.p)
            return dv, lam
        M, G, F, gamma, _ = s.engine.kernels.coefficients(q, v, s.z, s.u, s.p)
        if self.stabilization == "baumgarte":
            gamma = stabilization.target("baumgarte", self.closure(q)[0], G, v, gamma)
        t = accelerations.Terms(M, G, F, gamma, self.rank)
        if self.formulation == "multipliers":
            return accelerations.on_independent_rows(t, self.rows)
        if self.formulation == "svd":
            dv = accelerations.svd(t)
        else:
            rate = self.kernel(traced.jacobian_rate)(q, v, s.p) if self.kind == "differentiable" else None
            dv = accelerations.on_chart(t, self.chart_at(q, G), v, rate)
        return dv, accelerations.least_multipliers(t, dv) if reactions else np.zeros(0)

    def rates(self, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
        """q̇, v̇ and the power that changes the energy."""
        s = self.simulation
        dq, dv, _, power = s.engine.kernels.rates(q, v, s.z, s.u, s.p)
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
        if not (G.size and self.rank):
            return 1
        s = np.linalg.svd(G, compute_uv=False)[: self.rank]
        return int(min(self.most_substeps, max(1.0, np.ceil(NEAR * s[0] / max(s[-1], 1e-300)))))

    def single(self, q: np.ndarray, v: np.ndarray, h: float) -> tuple[np.ndarray, np.ndarray, float]:
        """Fourth-order Runge-Kutta, then the stabilization; q, v and the work done meanwhile."""
        energy = float(self.invariants(q, v)[0][-1]) if self.stabilization == "energy" else 0.0
        x: np.ndarray = np.concatenate([q, v, [0.0]])
        slopes: list[np.ndarray] = [np.zeros(len(q) + len(v) + 1)]
        for node in CLASSICAL.nodes:
            at = x + node * h * slopes[-1]
            slopes.append(np.hstack(self.rates(at[: len(q)], at[len(q) : -1])))
        x = x + h * sum(w * slope for w, slope in zip(CLASSICAL.weights, slopes[1:], strict=True))
        q1, v1, work = self.retract(x[: len(q)], np.zeros(len(v))), x[len(q) : -1], float(x[-1])
        close = partial(stabilization.project, self.simulation.engine, self.simulation.p)
        if self.stabilization == "projection":
            q1, v1 = close(q1, v1)
        elif self.stabilization == "energy":
            q1, v1 = stabilization.project_energy(self.invariants, self.retract, close, q1, v1, energy + work)
        return q1, v1, work


def chosen_speeds(simulation: Stepper, names: Iterable[str] | None) -> np.ndarray:
    """Indices of the speeds of the named joints; of the motors' joints if no names are given."""
    wanted = list(names) if names is not None else [m.joint for m in simulation.mechanism.motors]
    if not wanted:
        raise SimulationError(
            f"'{simulation.mechanism.name}' has no motors; name the joints whose coordinates are to be chosen"
        )
    speeds = simulation.engine.variables.speeds
    for name in (speed.name for speed in speeds.choose(wanted)):
        joint = simulation.mechanism.joint(split_component(name)[0])
        if not TYPES[joint.type].plain:
            raise SimulationError(
                f"joint '{name}' turns freely and can't be chosen; name joints with one axis each"
            )
    return speeds.rows(wanted)
