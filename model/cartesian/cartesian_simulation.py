"""Simulate a described mechanism in Cartesian coordinates (paper 001, Eq. 27), motors as motion laws."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..base.errors import AssemblyError, SimulationError
from ..base.thresholds import RANK
from ..compile.kernel import kernel
from ..describe.mechanism import Mechanism
from ..describe.motors import tells_motion
from ..joints.euler import multiply
from ..laws import Law
from ..loading import load
from ..manifold.newton import descend
from ..manifold.rank import rank
from ..run.integrate import Projected, run_and_record
from ..run.trajectory import Trajectory
from ..simulation import Simulation
from .augmented import cartesian_multipliers, solve_augmented
from .drives import Laws
from .lock import Lock
from .system import System, system

Array = np.ndarray
STATE = ("position", "orientation", "velocity", "angular_velocity")


class CartesianSimulation:
    """A mechanism in motion with seven coordinates a body.

    Parameters
    ----------
    mechanism : Mechanism, or the name of an example, or the path of a description.
    drives : joint -> motion law, or one law per coordinate; the joint then moves as told.
    locks : further lock constraints between bodies, such as a trajectory to follow.
    gravity : number g for (0, 0, −g), or a vector; the description's own if None.
    baumgarte : (α, β) of Q_s = −2α Ċ − β² C, 1/s each; (0, 0) for none.
    start : joint -> coordinates held while the mechanism is first assembled.
    compile : as of `Simulation`; False unless told, since most runs are short.
    """

    def __init__(
        self,
        mechanism: Mechanism | str,
        *,
        drives: Mapping[str, Laws] | None = None,
        locks: Sequence[Lock] = (),
        gravity: float | Iterable[float] | None = None,
        baumgarte: tuple[float, float] = (10.0, 10.0),
        start: Mapping[str, Any] | None = None,
        compile: bool | None = False,
    ):
        described = load(mechanism) if isinstance(mechanism, str) else mechanism
        described = described if gravity is None else described.with_gravity(gravity)
        if described.couplings:
            raise SimulationError(
                f"'{described.name}' has couplings, which Cartesian simulations do not know; use Simulation"
            )
        if any(map(tells_motion, described.drives)):
            raise SimulationError(
                f"'{described.name}' has drives of motions; give those to Cartesian ones as drives"
            )
        self.mechanism = replace(described, parameters={})
        drives = {name: _named(law, name) for name, law in (drives or {}).items()}
        for name in drives:
            self.mechanism.joint(name)
        self.system: System = system(self.mechanism, drives, locks)
        self.inputs = self.mechanism.inputs()
        self.baumgarte = baumgarte
        self._coefficients = kernel(self.system.coefficients, compile)
        self._outputs = kernel(self.system.outputs, compile)
        self._u = np.zeros(len(self.inputs))
        self.time = 0.0
        self.q, self.dq = self._begin(drives, dict(start or {}))
        self.q = self._close(0.0, self.q)
        self.dq = self._onto_velocities(0.0, self.q, self.dq)

    # -- motion --------------------------------------------------------------------------

    def set_inputs(self, values: Mapping[str, float]) -> None:
        """Motor torques and cylinder forces by name, held until set again."""
        for name, value in values.items():
            if name not in self.inputs or not math.isfinite(value):
                raise SimulationError(
                    f"'{self.mechanism.name}' takes finite values for its inputs "
                    f"{', '.join(self.inputs) or '(none)'}, not {name} = {value}"
                )
            self._u[self.inputs.index(name)] = value

    def accelerations(self, t: float, q: Array, dq: Array) -> tuple[Array, Array]:
        """q̈ and λ of system (27) with Baumgarte's terms."""
        M, f, C, Cq, Ct, Qc = self._terms(t, q, dq)
        alpha, beta = self.baumgarte
        ddq, lam = solve_augmented(M, Cq, f, Qc - 2 * alpha * (Cq @ dq + Ct) - beta**2 * C)
        if not np.isfinite(ddq).all():
            raise SimulationError(
                f"the accelerations of '{self.mechanism.name}' are not finite at t = {t:g} s; give every "
                "body that can move freely a mass and an inertia"
            )
        return ddq, lam

    def run(
        self,
        duration: float,
        step: float = 1e-2,
        tolerance: float = 1e-10,
        record: Iterable[str] | None = None,
        progress: Callable[[float], None] | None = None,
    ) -> Trajectory:
        """Move on by `duration` seconds to `tolerance`, recording every `step`.

        Dormand-Prince 8(5,3); after every step Euler parameters are brought back to length one and
        their rates to the tangent, and Baumgarte's terms hold the rest.
        """
        if not (duration >= 0 and math.isfinite(duration) and step > 0):
            raise SimulationError(
                f"a run takes a finite duration and a positive step, not {duration} and {step}"
            )
        n = self.system.size

        def slope(t: float, x: Array) -> Array:
            return np.concatenate([x[n:-1], self.accelerations(t, x[:n], x[n:-1])[0], [0.0]])

        start = self.time, np.concatenate([self.q, self.dq, [0.0]])
        solver = Projected(slope, self._unit, n, start, self.time + duration, tolerance)
        columns = self.system.variables.columns(record)
        return run_and_record(self, solver, duration, step, columns, progress)

    def go(self, time: float, q: Array, v: Array, z: Array, work: float) -> None:
        """Go where a solver says; there are no internal states, and work is not counted here."""
        self.time, self.q, self.dq = time, q.copy(), v.copy()

    def read(self, rows: Array) -> Array:
        """Outputs at rows of `system.variables`."""
        return self._output_vector(self._solved())[rows]

    def kinematics(self, times: Iterable[float], record: Iterable[str] | None = None) -> Trajectory:
        """Motion and reactions that the laws alone decide: inverse kinematics, then inverse dynamics.

        C(q, t) = 0, C_q q̇ = −C_t, C_q q̈ = Q_c (24, 25), and C_qᵀλ = Q − M q̈. The laws must leave no freedom.
        """
        due = [float(t) for t in times]
        values, columns = [], self.system.variables.columns(record)
        for t in due:
            self._follow(t)
            values.append(self._output_vector(self._prescribed())[[c.where.start for c in columns]])
        return Trajectory(np.array(due), tuple(c.name for c in columns), np.array(values))

    # -- reading -------------------------------------------------------------------------

    def outputs(self) -> dict[str, Any]:
        """Everything by structured name at the present state, as the engine names it, and `drive.<joint>`."""
        y = self._output_vector(self._solved())
        return {v.name: float(y[v.where][0]) if v.size == 1 else y[v.where] for v in self.system.variables}

    def residual(self) -> float:
        """Largest entry of C at the present state."""
        return float(np.abs(self._terms(self.time, self.q, self.dq)[2]).max(initial=0.0))

    def freedom(self) -> int:
        """Freedoms that constraints and laws leave at the present pose."""
        return self.system.size - rank(self._terms(self.time, self.q, self.dq)[3])

    # -- inside --------------------------------------------------------------------------

    def _terms(self, t: float, q: Array, dq: Array) -> list[Array]:
        result: list[Array] = self._coefficients(q, dq, self._laws(t), self._u)
        return result

    def _laws(self, t: float) -> Array:
        if not self.system.moving:
            return np.zeros((7, 0))
        return np.hstack([place.columns(t) for place in self.system.moving])

    def _begin(self, drives: Mapping[str, Laws], start: dict[str, Any]) -> tuple[Array, Array]:
        """The engine's assembled start, with driven joints where their laws begin."""
        engine = Simulation(self.mechanism, compile=False)
        for name, laws in drives.items():
            given = [laws] if isinstance(laws, Law) else list(laws)
            if name in engine.tree.q and all(law is not None for law in given):
                start.setdefault(name, np.concatenate([law(0.0).x for law in given if law is not None]))
        engine.assemble(start)
        y = engine.outputs()
        q, dq = np.zeros(self.system.size), np.zeros(self.system.size)
        for body, where in self.system.at.items():
            r, p, v, w = (y[f"body.{body}.{name}"] for name in STATE)
            q[where] = np.concatenate([r, p])
            dq[where] = np.concatenate([v, 0.5 * multiply(np.append(0.0, w), p)])
        return q, dq

    def _close(self, t: float, q: Array) -> Array:
        """The pose near q with C(q, t) = 0."""
        rest = np.zeros_like(q)

        def slope(x: Array) -> tuple[Array, Array]:
            _, _, C, Cq, _, _ = self._terms(t, x, rest)
            return C, Cq

        found, _, _, closed = descend(slope, q)
        if closed:
            return self._unit(np.concatenate([found, rest]))[: len(q)]
        C = self._terms(t, found, rest)[2]
        worst = max(self.system.groups, key=lambda g: np.abs(C[g.where]).max(initial=0.0))
        raise AssemblyError(
            f"'{self.mechanism.name}' can't follow its motion laws at t = {t:g} s: '{worst.name}' stays off "
            f"by {np.abs(C[worst.where]).max():.3g} m or rad; check the laws against what the joints allow"
        )

    def _onto_velocities(self, t: float, q: Array, dq: Array) -> Array:
        """The nearest rates, in the mass metric, with C_q q̇ = −C_t (24)."""
        M, _, _, Cq, Ct, _ = self._terms(t, q, dq)
        return dq + solve_augmented(M, Cq, np.zeros(len(q)), -(Cq @ dq + Ct))[0]

    def _follow(self, t: float) -> None:
        """Go to time t along the laws, in shorter steps where Newton's method would lose the branch."""
        while self.time != t:
            h = t - self.time
            ddq = self._prescribed()[0] if h else 0
            while True:
                guess = self.q + h * self.dq + 0.5 * h * h * ddq
                try:
                    q = self._close(self.time + h, guess)
                    if np.abs(q - guess).max() < 0.1:
                        break
                except AssemblyError:
                    if abs(h) < 1e-6:
                        raise
                h = h / 2
            self.q, self.time = q, t if h == t - self.time else self.time + h
            self.dq = self._rates()
        self.dq = self._rates()

    def _rates(self) -> Array:
        _, _, _, Cq, Ct, _ = self._terms(self.time, self.q, 0 * self.q)
        free = self.freedom()
        if free:
            raise SimulationError(
                f"the motion laws leave '{self.mechanism.name}' {free} degree{'s' * (free > 1)} of freedom; "
                "prescribe as many coordinates more"
            )
        return np.linalg.lstsq(Cq, -Ct, rcond=RANK)[0]

    def _prescribed(self) -> tuple[Array, Array]:
        """q̈ that the laws ask for, and the λ they take."""
        M, f, _, Cq, _, Qc = self._terms(self.time, self.q, self.dq)
        ddq = np.linalg.lstsq(Cq, Qc, rcond=RANK)[0]
        return ddq, cartesian_multipliers(M, Cq, f, ddq)

    def _solved(self) -> tuple[Array, Array]:
        """q̈ of (27), and λ; of redundant rows the λ of least norm to the last digit, since it is shown."""
        ddq, _ = self.accelerations(self.time, self.q, self.dq)
        M, f, _, Cq, _, _ = self._terms(self.time, self.q, self.dq)
        return ddq, cartesian_multipliers(M, Cq, f, ddq)

    def _unit(self, x: Array) -> Array:
        """Euler parameters at length one, their rates tangent."""
        n, x = self.system.size, x.copy()
        for where in self.system.at.values():
            p, dp = x[where][3:], x[n + where.start + 3 : n + where.stop]
            p /= np.linalg.norm(p)
            dp -= p * (p @ dp)
        return x

    def _output_vector(self, solved: tuple[Array, Array]) -> Array:
        result: Array = self._outputs(self.q, self.dq, *solved, self._laws(self.time), self._u)
        return result


def _named(laws: Laws, joint: str) -> Laws:
    """Laws that say in messages which joint they drive."""
    if isinstance(laws, Law):
        return laws.named(f"{laws.name} of joint {joint}")
    return [None if law is None else law.named(f"{law.name} of joint {joint}") for law in laws]
