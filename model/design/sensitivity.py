"""How much any output changes with any number of the description, exactly.

A parameter moves the dependent coordinates as well: they stay on the loops while the independent
ones are held. At a state (q, v), with G split into independent and dependent columns,

    G_d δθ_d = −∂g/∂p δp,      δθ_i = 0   (coordinates move by N(q) δθ)
    G_d δv_d = −d(G v)         δv_i = 0   (total derivative at constant v)
    dy/dp = ∂y/∂p + ∂y/∂q N δθ/δp + ∂y/∂v δv/δp

all by automatic differentiation of the traced equations. Along a motion the derivative of every
step is carried along, from the same initial condition: independent coordinates and speeds held.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import casadi as ca
import numpy as np

from ..base.errors import SimulationError
from ..base.thresholds import CLOSED, FOLLOWS
from ..describe import parameters as numbers
from ..describe.mechanism import Mechanism
from ..engine import Engine
from ..equations.terms import Equations
from ..equations.traced import closure
from ..linear.directional import Directional, directional
from ..linear.linearize import coordinate_map
from ..manifold.rank import nearest_solution
from ..manifold.step import LEFT_OPEN
from ..run.independent import Independent, selected_coordinates
from ..simulation import Simulation
from ..variables import column_places


@dataclass(frozen=True)
class Sensitivity:
    """dy/dp: `matrix` has a row for each output component and a column for each parameter component.

    `held` names the independent coordinates and speeds that stay as they are.
    """

    outputs: tuple[str, ...]  # names of the rows
    parameters: tuple[str, ...]  # names of the columns
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
    simulation : the mechanism in the state that is asked about.
    outputs : names such as `body.platform.position[3]` or `reaction.hinge1.force`, or the
        description's own; a vector stands for all its components.
    parameters : names or paths such as `body.leg1.mass`, `joint.ball1.on_parent.position[3]`.
    independent : joints (`motor1`, `planar[2]`) whose coordinates and speeds are held; the
        motors' where they are a choice, a well-conditioned one otherwise.
    """
    design = Marked(simulation, parameters, independent)
    names, read = design.outputs(outputs)
    _, (matrix,) = read(design.at, [design.dq, design.dv, design.dz, design.dp])
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

    The steps are those that the simulation takes, sub-steps included.

    Parameters
    ----------
    simulation : where the motion begins; it stays there.
    duration, step : seconds of the motion, and of its fixed steps.
    outputs, parameters, independent : as of `sensitivities`.
    every : how many steps lie between two records.
    """
    if not (duration >= 0 and step > 0 and np.isfinite(duration / step) and every >= 1):
        raise SimulationError(f"can't follow a motion of {duration:g} s in steps of {step:g} s")
    design = Marked(simulation, parameters, independent)
    names, read = design.outputs(outputs)
    (q, v, z, u, p), work, begin = design.at, np.array([simulation.work]), simulation.time
    dq, dv, dz, dp, width = design.dq, design.dv, design.dz, design.dp, len(design.columns)
    dwork = np.zeros((1, width))
    name, make = simulation.traced_step()
    advance = directional(design.engine, name, width, "q v z work p", make)
    times, values, matrices = [], [], []
    count = round(duration / step)
    for k in range(count + 1):
        if k % every == 0:
            times.append(begin + k * step)
            (y,), (slope,) = read((q, v, z, u, p), [dq, dv, dz, dp])
            values.append(y)
            matrices.append(slope)
        if k < count:
            at, seeds = (q, v, z, work, u, p, step), [dq, dv, dz, dwork, dp]
            (q, v, z, work, verdict), (dq, dv, dz, dwork, _) = advance(at, seeds)
            if verdict[LEFT_OPEN]:
                raise SimulationError(
                    f"a step of '{simulation.mechanism.name}' leaves a loop open; take smaller steps"
                )
            u = design.later(u, step)
    if not np.isfinite(matrices[-1]).all():
        raise SimulationError(
            f"the motion of '{simulation.mechanism.name}' became infinite; take a smaller step"
        )
    return MotionSensitivity(
        names, design.columns, design.held, np.array(times), np.array(values), np.array(matrices)
    )


class Marked:
    """A simulation's mechanism with the wanted numbers as symbols, and how its state moves with them.

    dq, dv and dz, a column for each component of a number, keep the loops closed with the `held`
    coordinates and speeds, and internal states, as they are; `at` is (q, v, z, u, p). Its equations are kept
    by the simulation's engine, so that the same question at another state traces nothing.
    """

    def __init__(
        self, simulation: Simulation, paths: str | Iterable[str], independent: Iterable[str] | None = None
    ):
        paths = [paths] if isinstance(paths, str) else list(paths)
        if not paths:
            raise SimulationError("name at least one number whose change is asked for, such as body.arm.mass")
        own = simulation.engine
        wanted = [own.mechanism.parameters.get(name, name) for name in paths]
        engine = self.engine = own.with_symbols(_symbols(own.mechanism, wanted))
        picked, count = selected_coordinates(own, simulation.state, independent)
        state = simulation.state
        p = state.p
        if engine is not own:
            p = numbers.default_vector(replace(own.described(p), parameters=engine.mechanism.parameters))
        self.at = replace(state, p=p).at
        columns, places = zip(*_columns(engine, paths, wanted), strict=True)
        self.columns: tuple[str, ...] = columns
        speeds = engine.variables.speeds.columns()
        self.held = tuple(speeds[k].name for k in picked)
        self.chart, self.dp = Independent(np.eye(engine.tree.nv)[picked], count), np.eye(p.size)[:, places]
        self.N = coordinate_map(own, state.q)
        self.dz = np.zeros((state.z.size, len(places)))
        self.dq, self.dv = self._followed(picked, count, own.closure(state.q, simulation.s, state.p)[1])

    def later(self, u: np.ndarray, t: float) -> np.ndarray:
        """Inputs after t seconds: driven motions go on by their derivatives, whatever p is."""
        if not self.engine.motion_places:
            return u
        along = np.concatenate([u, np.zeros(u.size)])
        return np.asarray(self.engine.kernels.inputs_after(along, t)[: u.size])

    def outputs(self, wanted: str | Iterable[str]) -> tuple[tuple[str, ...], Directional]:
        """Names of the wanted outputs' components, and (q, v, z, u, p) → their values, with derivatives."""
        chosen = self.engine.variables.outputs.columns(wanted, traced=True)
        rows = [row.where.start for row in chosen]

        def make(eq: Equations) -> ca.Function:
            arguments = [eq.q, eq.v, eq.z, eq.u, eq.p]
            y = self.engine.functions.outputs(*arguments)[rows]
            return ca.Function("read", arguments, [y], ["q", "v", "z", "u", "p"], ["y"])

        read = directional(self.engine, f"outputs{rows}", len(self.columns), "q v z p", make)
        return tuple(row.name for row in chosen), read

    def _followed(self, picked: list[int], count: int, G: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """dq and dv that keep g and G v zero; what redundant rows can't follow is refused."""
        eq, (q, v, _, u, p), width = self.engine.equations, self.at, len(self.columns)
        both = directional(self.engine, "loops", width, "q v p", _loops)
        dependent_q, dependent_v = (
            [k for k in range(eq.tree.nv) if k not in held] for held in (picked, picked[:count])
        )

        s = self.engine.motions(u)

        def change(dq: np.ndarray, dv: np.ndarray) -> list[np.ndarray]:
            return both((q, v, s, p), [dq, dv, self.dp])[1]

        still = np.zeros((len(q), width)), np.zeros((len(v), width))
        theta, dv = np.zeros((2, eq.tree.nv, width))
        own = change(*still)
        poses = G * np.array(eq.tree.holds_poses, float)[:, None]
        theta[dependent_q] = nearest_solution(poses[:, dependent_q], -own[0])
        dq = self.N @ theta
        dv[dependent_v] = nearest_solution(G[:, dependent_v], -change(dq, still[1])[1])
        left, size = (np.abs(np.vstack(x)).max(axis=0, initial=0.0) for x in (change(dq, dv), own))
        for k in np.flatnonzero(left > FOLLOWS * size + CLOSED):
            raise SimulationError(
                f"the loops of '{eq.mechanism.name}' can't follow a change of '{self.columns[k]}': "
                "its redundant constraints would contradict each other; change several numbers together"
            )
        return dq, dv


def _loops(eq: Equations) -> ca.Function:
    """(q, v, s, p) → (g, G v + b), which both are zero."""
    g, G, b = closure(eq)(eq.q, eq.s, eq.p)
    names = ["q", "v", "s", "p"], ["g", "slip"]
    return ca.Function("loops", [eq.q, eq.v, eq.s, eq.p], [g, G @ eq.v + b], *names)


def _symbols(mechanism: Mechanism, paths: Iterable[str]) -> dict[str, str]:
    """The mechanism's parameters, and those of these paths that they do not have; no number twice."""
    found = dict(mechanism.parameters)
    for path in paths:
        at = numbers.locate(mechanism, path)
        same = {name: other for name, other in found.items() if numbers.split_component(other)[0] == at.whole}
        if path in same.values() or at.whole in same.values():
            continue
        if path == at.whole:  # its components are among it
            found = {name: other for name, other in found.items() if name not in same}
        found[numbers.name_of(path, found)] = path
    return found


def _columns(engine: Engine, names: Sequence[str], paths: Sequence[str]) -> Iterator[tuple[str, int]]:
    """What each component of the wanted numbers is called, and its place in p."""
    for name, path in zip(names, paths, strict=True):
        at = numbers.locate(engine.mechanism, path)
        items = [item for item in engine.equations.parameters if item.at.whole == at.whole]
        for k in at.indices:
            item = next(item for item in items if k in item.at.indices)
            label = name if len(at.indices) == 1 else f"{name}[{k + 1}]"
            yield label, item.slice.start + item.at.indices.index(k)
