"""How much any output changes with any number of the description, exactly.

A parameter moves the dependent coordinates as well: they stay on the loops while the independent
ones are held. At a state (q, v), with G split into independent and dependent columns,

    G_d δθ_d = −∂g/∂p δp,      δθ_i = 0   (coordinates move by N(q) δθ)
    G_d δv_d = −d(G v)         δv_i = 0   (total derivative at constant v)
    dy/dp = ∂y/∂p + ∂y/∂q N δθ/δp + ∂y/∂v δv/δp

all by automatic differentiation of the traced equations. Along a motion the derivative of every
step is carried along, from the same initial condition: independent coordinates and speeds held.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

import casadi as ca
import numpy as np

from ..describe import parameters as numbers
from ..engine import Engine
from ..equations.terms import closure
from ..errors import SimulationError
from ..linear.directional import Directional
from ..linear.linearize import coordinate_map
from ..manifold.rank import nearest_solution
from ..manifold.step import unjudged
from ..run.independent import Independent, selected
from ..simulation import Simulation
from ..thresholds import CLOSED, FOLLOWS
from ..variables import column_places


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
        rows = column_places(self.outputs, output, "row")
        columns = column_places(self.parameters, parameter, "column")
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
    design = Marked(simulation, parameters, independent)
    names, read = design.outputs(outputs)
    _, (matrix,) = read(design.at, [design.dq, design.dv, None, design.dp])
    return Sensitivity(names, design.columns, design.held, matrix)


def motion_sensitivities(
    simulation: Simulation,
    duration: float,
    outputs: str | Iterable[str],
    parameters: str | Iterable[str],
    step: float = 1e-3,
    every: int = 1,
    independent: Iterable[str] | None = None,
) -> MotionSensitivity:
    """dy(t)/dp along the motion from the present state under constant inputs; driven motions go on.

    Each `every`-th fixed step is recorded. The simulation itself stays where it is.
    """
    if not (duration >= 0 and step > 0 and np.isfinite(duration / step) and every >= 1):
        raise SimulationError(f"can't follow a motion of {duration:g} s in steps of {step:g} s")
    design = Marked(simulation, parameters, independent)
    names, read = design.outputs(outputs)
    (q, v, u, p), work, begin = design.at, np.array([simulation.work]), simulation.time
    dq, dv, dp = design.dq, design.dv, design.dp
    dwork = np.zeros((1, dp.shape[1]))
    advance = Directional(unjudged(design.engine.equations), dp.shape[1])
    times, values, matrices = [], [], []
    count = round(duration / step)
    for k in range(count + 1):
        if k % every == 0:
            times.append(begin + k * step)
            (y,), (slope,) = read((q, v, u, p), [dq, dv, None, dp])
            values.append(y.ravel())
            matrices.append(slope)
        if k < count:
            seeds = [dq, dv, dwork, None, dp, None]
            (q, v, work), (dq, dv, dwork) = advance((q, v, work, u, p, step), seeds)
            u, p = design.later(u, p, step)
    if not np.isfinite(matrices[-1]).all():
        raise SimulationError(
            f"the motion of '{simulation.mechanism.name}' became infinite; take a smaller step"
        )
    return MotionSensitivity(
        names, design.columns, design.held, np.array(times), np.array(values), np.array(matrices)
    )


class Marked:
    """A simulation's mechanism with the wanted numbers as symbols, and how its state moves with them.

    dq and dv, a column for each component of a number, keep the loops closed with the `held`
    coordinates and speeds as they are; `at` is (q, v, u, p).
    """

    def __init__(
        self, simulation: Simulation, paths: str | Iterable[str], independent: Iterable[str] | None = None
    ):
        paths = [paths] if isinstance(paths, str) else list(paths)
        picked, count = selected(simulation.engine, simulation.state, independent)
        described = simulation.engine.described(simulation.p)
        marked = {f"p{k}": described.parameters.get(name, name) for k, name in enumerate(paths)}
        for path in marked.values():
            numbers.locate(described, path)
        engine = self.engine = Engine(replace(described, parameters=marked), compile=False)
        state, p = simulation.state, numbers.default_vector(engine.mechanism)
        self.moving = simulation.motions
        self.at = (state.q, state.v, state.u, np.concatenate([p, state.u[self.moving]]))
        self.columns = tuple(
            column.name
            for given, item in zip(paths, engine.variables.parameters, strict=True)
            for column in replace(item, name=given).components()
        )
        speeds = engine.variables.speeds.columns()
        self.held = tuple(speeds[k].name for k in picked)
        self.chart, self.dp = (
            Independent(np.eye(engine.tree.nv)[picked], count),
            np.eye(len(self.at[3]), p.size),
        )
        self.N = coordinate_map(engine, state.q)
        self.dq, self.dv = self._followed(picked, count)

    def later(self, u: np.ndarray, p: np.ndarray, t: float) -> tuple[np.ndarray, np.ndarray]:
        """Inputs and parameters after t seconds: driven motions go on by their derivatives, whatever p is."""
        if not self.moving:
            return u, p
        along = np.concatenate([u, np.zeros(u.size)])
        u = self.engine.kernel("moved_inputs")(along, t)[: u.size]
        return u, np.concatenate([p[: p.size - len(self.moving)], u[self.moving]])

    def outputs(self, wanted: str | Iterable[str]) -> tuple[tuple[str, ...], Directional]:
        """Names of the wanted outputs' components, and (q, v, u, p) → their values, with derivatives."""
        chosen = self.engine.variables.outputs.columns(wanted, traced=True)
        eq = self.engine.equations
        y = self.engine.traced("outputs")(eq.q, eq.v, eq.u, eq.p)[[row.where.start for row in chosen]]
        read = ca.Function("read", [eq.q, eq.v, eq.u, eq.p], [y])
        return tuple(row.name for row in chosen), Directional(read, self.dp.shape[1])

    def _followed(self, picked: list[int], count: int) -> tuple[np.ndarray, np.ndarray]:
        """dq and dv that keep g and G v zero; what redundant rows can't follow is refused."""
        eq, (q, v, _, p), n = self.engine.equations, self.at, self.dp.shape[1]
        g, G, b = closure(eq)(eq.q, eq.p)
        both = Directional(ca.Function("loops", [eq.q, eq.v, eq.p], [g, ca.densify(G @ eq.v + b)]), n)
        free, free_v = ([k for k in range(eq.tree.nv) if k not in held] for held in (picked, picked[:count]))

        def change(dq: np.ndarray | None, dv: np.ndarray | None) -> list[np.ndarray]:
            return both((q, v, p), [dq, dv, self.dp])[1]

        theta, dv = np.zeros((2, eq.tree.nv, n))
        own, G = change(None, None), np.array(closure(eq)(q, p)[1])
        poses = G * np.array(eq.tree.holds_poses, float)[:, None]
        theta[free] = nearest_solution(poses[:, free], -own[0])
        dq = self.N @ theta
        dv[free_v] = nearest_solution(G[:, free_v], -change(dq, None)[1])
        left, size = (np.abs(np.vstack(x)).max(axis=0, initial=0.0) for x in (change(dq, dv), own))
        for k in np.flatnonzero(left > FOLLOWS * size + CLOSED):
            raise SimulationError(
                f"the loops of '{eq.mechanism.name}' can't follow a change of '{self.columns[k]}': "
                "its redundant constraints would contradict each other; change several numbers together"
            )
        return dq, dv
