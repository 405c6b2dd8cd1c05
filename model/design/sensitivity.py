"""How much any output changes with any number of the description, exactly.

A parameter moves the dependent coordinates as well: they stay on the loops while the independent
ones are held. At a state (q, v), with G split into independent and dependent columns,

    G_d δθ_d = −∂g/∂p,        δθ_i = 0   (coordinates move by N(q) δθ)
    G_d δv_d = −d(G v)/dp,    δv_i = 0   (total derivative at constant v)
    dy/dp = ∂y/∂p + ∂y/∂q N δθ + ∂y/∂v δv

all by automatic differentiation of the traced equations. Along a motion the derivative of every
step is carried along, from the same initial condition: independent coordinates and speeds held.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import casadi as ca
import numpy as np

from ..describe import parameters
from ..describe.check import check
from ..describe.mechanism import Mechanism
from ..equations.kinematics import motion, position_rates
from ..equations.loops import jacobian, loops, residual
from ..equations.outputs import outputs
from ..equations.terms import Equations, equations
from ..errors import SimulationError
from ..manifold.step import runge_kutta
from ..run.independent import selected
from ..simulation import Simulation
from ..variables import positions, variables

FOLLOWS = 1e-7  # part of a parameter's effect on the loops that may be left unexplained


@dataclass(frozen=True)
class Sensitivity:
    """dy/dp: `matrix` has a row for each output component and a column for each parameter component.

    `held` names the independent coordinates and speeds that stay as they are.
    """

    outputs: tuple[str, ...]
    parameters: tuple[str, ...]
    held: tuple[str, ...]
    matrix: np.ndarray

    def of(self, output: str, parameter: str) -> np.ndarray | float:
        """The part that belongs to an output and a parameter, by name with or without `[k]`."""
        rows = positions(self.outputs, output, "row")
        columns = positions(self.parameters, parameter, "column")
        part = self.matrix[np.ix_(rows, columns)]
        return float(part[0, 0]) if part.size == 1 else part


@dataclass(frozen=True)
class MotionSensitivity:
    """dy/dp along a motion: `matrix` is (times, outputs, parameters), `values` (times, outputs)."""

    outputs: tuple[str, ...]
    parameters: tuple[str, ...]
    held: tuple[str, ...]
    time: np.ndarray
    values: np.ndarray
    matrix: np.ndarray


def sensitivities(
    simulation: Simulation,
    outputs: str | Iterable[str],
    parameters: str | Iterable[str],
    independent: Iterable[str] | None = None,
) -> Sensitivity:
    """dy/dp at the present state and inputs of a simulation.

    Parameters
    ----------
    outputs : names such as `body.platform.position[3]` or `reaction.hinge1.force`, or the
        description's own; a vector stands for all its components.
    parameters : names or paths such as `body.leg1.mass`, `joint.ball1.on_parent.position[3]`.
    independent : joints (`motor1`, `planar[2]`) whose coordinates and speeds are held; the
        motors' where they are a choice, a well-conditioned one otherwise.
    """
    tracer = Tracer(simulation, as_list(outputs), as_list(parameters))
    state, u = simulation.state, simulation.state.u
    held = selected(simulation.engine, state, independent)
    dq, dv = tracer.tangent(state.q, state.v, held)
    matrix = np.array(tracer.directional(state.q, state.v, u, tracer.p, dq, dv, np.eye(tracer.p.size)))
    return Sensitivity(tracer.rows, tracer.columns, tracer.names(held), matrix)


def motion_sensitivities(
    simulation: Simulation,
    duration: float,
    outputs: str | Iterable[str],
    parameters: str | Iterable[str],
    step: float = 1e-3,
    every: int = 1,
    independent: Iterable[str] | None = None,
) -> MotionSensitivity:
    """dy(t)/dp along the motion from the present state under constant inputs.

    Each `every`-th fixed step is recorded. The simulation itself stays where it is.
    """
    if not (duration >= 0 and step > 0 and np.isfinite(duration / step) and every >= 1):
        raise SimulationError(f"can't follow a motion of {duration:g} s in steps of {step:g} s")
    tracer = Tracer(simulation, as_list(outputs), as_list(parameters))
    state, u = simulation.state, simulation.state.u
    held = selected(simulation.engine, state, independent)
    q, v, work = state.q, state.v, np.array([state.work])
    dq, dv = tracer.tangent(q, v, held)
    dwork, eye = np.zeros((1, tracer.p.size)), np.eye(tracer.p.size)
    advance = runge_kutta(tracer.eq, substeps=1)
    slope = advance.forward(tracer.p.size)
    still = [np.zeros((u.size, tracer.p.size)), eye, np.zeros((1, tracer.p.size))]
    times, values, matrices = [], [], []
    count = round(duration / step)
    for k in range(count + 1):
        if k % every == 0:
            times.append(state.time + k * step)
            values.append(np.array(tracer.read(q, v, u, tracer.p)).ravel())
            matrices.append(np.array(tracer.directional(q, v, u, tracer.p, dq, dv, eye)))
        if k == count:
            break
        inputs = (q, v, work, u, tracer.p, step)
        new = advance(*inputs)
        dq, dv, dwork = (np.array(x) for x in slope(*inputs, *new, dq, dv, dwork, *still))
        q, v, work = (np.array(x).ravel() for x in new)
    if not np.isfinite(matrices[-1]).all():
        raise SimulationError(
            f"the motion of '{simulation.mechanism.name}' became infinite; take a smaller step"
        )
    names = tracer.names(held)
    return MotionSensitivity(
        tracer.rows, tracer.columns, names, np.array(times), np.array(values), np.array(matrices)
    )


class Tracer:
    """The wanted outputs and parameters of a mechanism as traced functions."""

    def __init__(self, simulation: Simulation, wanted: list[str], paths: list[str]):
        described = simulation.engine.described(simulation.p)
        marked = {f"p{k}": _path(described, name) for k, name in enumerate(paths)}
        mechanism = check(replace(described, parameters=marked))
        eq = self.eq = equations(mechanism)
        self.p = parameters.default_vector(mechanism)
        table = self.table = variables(mechanism, eq.tree)
        self.columns = tuple(
            column.name
            for given, item in zip(paths, table.parameters, strict=True)
            for column in replace(item, name=given).components()
        )
        chosen = table.outputs.columns(wanted, traced=True)
        self.rows = tuple(row.name for row in chosen)
        column = outputs(eq, table.layout)(eq.q, eq.v, eq.u, eq.p)
        y = column[[row.where.start for row in chosen]]
        self.read = ca.Function("read", [eq.q, eq.v, eq.u, eq.p], [y])
        self.directional = _directional(eq, y)
        self._loops, self._drift, self._rates = _loop_slopes(eq)

    def tangent(self, q: np.ndarray, v: np.ndarray, held: list[int]) -> tuple[np.ndarray, np.ndarray]:
        """dq/dp and dv/dp on the loops, with the held coordinates and speeds as they are."""
        tree = self.eq.tree
        G, g_p = (np.array(x) for x in self._loops(q, self.p))
        follow = [k for k in range(tree.nv) if k not in held]
        theta, dv = np.zeros((tree.nv, self.p.size)), np.zeros((tree.nv, self.p.size))
        theta[follow] = self._solve(G[:, follow], -g_p)
        dq = np.hstack([np.array(self._rates(q, column)) for column in theta.T])
        drift = np.array(self._drift(q, v, self.p, dq, np.eye(self.p.size)))
        dv[follow] = self._solve(G[:, follow], -drift)
        return dq, dv

    def motions(self, q: np.ndarray, held: list[int], dy: np.ndarray) -> np.ndarray:
        """dq for motions of the held coordinates by dy (held × directions), the loops closed."""
        G = np.array(self._loops(q, self.p)[0])
        follow = [k for k in range(self.eq.tree.nv) if k not in held]
        theta = np.zeros((self.eq.tree.nv, dy.shape[1]))
        theta[held] = dy
        theta[follow] = self._solve(G[:, follow], -G[:, held] @ dy)
        return np.hstack([np.array(self._rates(q, column)) for column in theta.T])

    def _solve(self, A: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Least squares, since rows may be redundant; what they can't follow is refused."""
        if not b.size:
            return np.zeros((A.shape[1], b.shape[1]))
        x = np.linalg.lstsq(A, b, rcond=1e-9)[0]
        left, size = np.abs(A @ x - b).max(axis=0), np.abs(b).max(axis=0)
        for k in np.flatnonzero(left > FOLLOWS * (size + 1e-6)):
            raise SimulationError(
                f"the loops of '{self.eq.mechanism.name}' can't follow a change of '{self.columns[k]}': "
                "its redundant constraints would contradict each other; change several numbers together"
            )
        return x

    def names(self, held: list[int]) -> tuple[str, ...]:
        speeds = self.table.speeds.columns()
        return tuple(speeds[k].name for k in held)


def _directional(eq: Equations, y: Any) -> ca.Function:
    """(q, v, u, p, dq, dv, dp) → dy, one column for each column of dq, dv, dp."""
    dq, dv = ca.SX.sym("dq", eq.tree.nq, eq.p.numel()), ca.SX.sym("dv", eq.tree.nv, eq.p.numel())
    dp = ca.SX.sym("dp", eq.p.numel(), eq.p.numel())
    dy = ca.jtimes(y, ca.vertcat(eq.q, eq.v, eq.p), ca.vertcat(dq, dv, dp))
    return ca.Function("directional", [eq.q, eq.v, eq.u, eq.p, dq, dv, dp], [ca.densify(dy)])


def _loop_slopes(eq: Equations) -> tuple[ca.Function, ca.Function, ca.Function]:
    """(q, p) → (G, ∂g/∂p); (q, v, p, dq, dp) → d(Gv) at constant v; (q, δθ) → dq."""
    move = motion(eq.model, eq.q, ca.SX.zeros(eq.tree.nv, 1))
    closed = loops(eq.model, move)
    G = jacobian(eq.model, closed, move.X)
    g_p = ca.jacobian(residual(eq.model, closed), eq.p)
    dq, dp = ca.SX.sym("dq", eq.tree.nq, eq.p.numel()), ca.SX.sym("dp", eq.p.numel(), eq.p.numel())
    drift = ca.jtimes(ca.densify(G @ eq.v), ca.vertcat(eq.q, eq.p), ca.vertcat(dq, dp))
    theta = ca.SX.sym("theta", eq.tree.nv)
    return (
        ca.Function("loops", [eq.q, eq.p], [ca.densify(G), ca.densify(g_p)]),
        ca.Function("drift", [eq.q, eq.v, eq.p, dq, dp], [ca.densify(drift)]),
        ca.Function("rates", [eq.q, theta], [ca.densify(position_rates(eq.model, eq.q, theta))]),
    )


def as_list(names: str | Iterable[str]) -> list[str]:
    return [names] if isinstance(names, str) else list(names)


def _path(mechanism: Mechanism, name: str) -> str:
    path = mechanism.parameters.get(name, name)
    parameters.locate(mechanism, path)
    return path
