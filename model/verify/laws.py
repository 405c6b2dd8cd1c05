"""Checks of single states: Newton's law for every body, the linear model against differences, the start."""

from math import inf
from typing import Any

import numpy as np

from ..base.errors import SimulationError
from ..base.thresholds import DIFFERENCE, FORCES_TRUSTED, LINEAR_TRUSTED, OPEN, SLIP, TAUT, TINY
from ..describe.elements import SIDES, effort_name
from ..describe.mechanism import GROUND, Bushing, Mechanism, Strut, find
from ..describe.motors import tells_motion
from ..manifold.gaps import loop_gaps
from ..run.local_form import ChartLost, LocalForm
from ..simulation import Simulation
from .motion import WatchedMotion
from .report import Check, check_within, skipped

STATES = 11  # of the motion, at which forces are added up


# -- Newton's law -----------------------------------------------------------------------------------


class Ledger:
    """Forces on every body and their moments about its centre of mass, in world axes, added one by one."""

    def __init__(self, mechanism: Mechanism, y: dict[str, Any]):
        self.mechanism, self.y = mechanism, y
        self.R = {b.name: _rotation(y[f"body.{b.name}.orientation"]) for b in mechanism.bodies}
        self.force = {b.name: b.mass * np.array(mechanism.gravity) for b in mechanism.bodies}
        self.moment = {b.name: np.zeros(3) for b in mechanism.bodies}
        self.largest = max(float(np.linalg.norm(f)) for f in self.force.values())

    def point(self, body: str, local: Any) -> tuple[np.ndarray, np.ndarray]:
        """Place and velocity of a body's point."""
        if body == GROUND:
            return np.array(local), np.zeros(3)
        arm = self.R[body] @ np.array(local)
        turning = np.cross(self.y[f"body.{body}.angular_velocity"], arm)
        return self.y[f"body.{body}.position"] + arm, self.y[f"body.{body}.velocity"] + turning

    def acceleration(self, body: str, local: Any) -> np.ndarray:
        """Of a body's point."""
        arm = self.R[body] @ np.array(local)
        a, w, dw = (
            self.y[f"body.{body}.{n}"] for n in ("acceleration", "angular_velocity", "angular_acceleration")
        )
        return np.asarray(a + np.cross(dw, arm) + np.cross(w, np.cross(w, arm)))

    def push(self, body: str, at: np.ndarray, force: np.ndarray, moment: Any = 0.0) -> None:
        """A force at a place and a moment act on a body."""
        self.largest = max(self.largest, float(np.linalg.norm(force)))
        if body != GROUND:
            com = self.point(body, self.mechanism.body(body).com)[0]
            self.force[body] = self.force[body] + force
            self.moment[body] = self.moment[body] + moment + np.cross(at - com, force)

    def hold(self, bushing: Bushing) -> None:
        """Two frames are held together: by the rotation's own Euler parameters, not by its matrix."""
        from scipy.spatial.transform import Rotation  # few need it, and SciPy takes a while to import

        first, second = (find(self.mechanism.frames, n, "frame") for n in (bushing.frame1, bushing.frame2))
        (a, va), (b, vb) = (self.point(frame.body, frame.at) for frame in (first, second))
        R1, R2 = (
            self.turned(frame.body) @ _rotation(np.array(frame.orientation)) for frame in (first, second)
        )
        w1, w2 = (
            np.zeros(3) if frame.body == GROUND else self.y[f"body.{frame.body}.angular_velocity"]
            for frame in (first, second)
        )
        rate = R1.T @ (vb - va - np.cross(w1, b - a))
        force = -R1 @ (np.array(bushing.stiffness) * (R1.T @ (b - a)) + np.array(bushing.damping) * rate)
        *e, e0 = Rotation.from_matrix(R1.T @ R2).as_quat()
        pull = np.array(bushing.turn_stiffness) * e
        moment = -2 * R2 @ (e0 * pull + np.cross(pull, e))
        moment -= R1 @ (np.array(bushing.turn_damping) * (R1.T @ (w2 - w1)))
        self.push(second.body, b, force, moment)
        self.push(first.body, b, -force, -moment)

    def turned(self, body: str) -> np.ndarray:
        """Axes of a body."""
        return np.eye(3) if body == GROUND else self.R[body]


def check_newton(simulation: Simulation, motion: WatchedMotion) -> Check:
    """m a and I ω̇ + ω × I ω of each body against weight, reactions, springs, cylinders and loads on it."""
    if simulation.mechanism.more:
        return skipped("Newton's law", f"{', '.join(simulation.mechanism.more)} are known to the engine only")
    worst, size = 0.0, simulation.equations.scales.length
    slow = size / motion.time**2  # an acceleration that would be noticed
    for k in np.linspace(0, len(motion.states) - 1, STATES).astype(int):
        simulation.put(motion.states[k])
        now = simulation.engine.described(simulation.p)
        worst = max(worst, unbalanced(now, simulation.outputs(), size, slow))
    return check_within(
        "Newton's law", worst, FORCES_TRUSTED, "of the largest force is left over on some body"
    )


def unbalanced(mechanism: Mechanism, y: dict[str, Any], size: float, slow: float) -> float:
    """What no motion explains, forces or moments over the mechanism's size; of the largest force."""
    counters = Ledger(mechanism, y)
    for joint in mechanism.joints:
        if f"reaction.{joint.name}.force" in y:
            at = counters.point(joint.child, joint.on_child.position)[0]
            force, moment = (y[f"reaction.{joint.name}.{what}"] for what in ("force", "moment"))
            counters.push(joint.child, at, force, moment)
            counters.push(joint.parent, at, -force, -moment)
    for strut in mechanism.struts:
        (a, va), (b, vb) = (
            counters.point(strut.body1, strut.point1),
            counters.point(strut.body2, strut.point2),
        )
        length = np.linalg.norm(b - a)
        along = (b - a) / length
        push = _thrust(strut, float(length), float(along @ (vb - va)))
        if strut.actuated:
            low, high = (side * strut.limit if side else 0.0 for side in SIDES[strut.acts])
            driven = tells_motion(strut)
            push += y[effort_name(strut)] if driven else np.clip(y[f"input.{strut.name}"], low, high)
        counters.push(strut.body2, b, push * along)
        counters.push(strut.body1, a, -push * along)
    for bushing in mechanism.bushings:
        counters.hold(bushing)
    for load in mechanism.loads:
        R = counters.R[load.body] if load.axes == "body" else np.eye(3)
        at = counters.point(load.body, load.point)[0]
        counters.push(load.body, at, R @ np.array(load.force), R @ np.array(load.torque))
    for mass in mechanism.point_masses:  # weight, and the force that carries it along, turned round
        at = counters.point(mass.body, mass.point)[0]
        counters.push(
            mass.body, at, mass.mass * (mechanism.gravity - counters.acceleration(mass.body, mass.point))
        )
    worst = 0.0
    for body in mechanism.bodies:
        R, w, dw = (
            counters.R[body.name],
            *(y[f"body.{body.name}.angular_{n}"] for n in ("velocity", "acceleration")),
        )
        a = counters.acceleration(body.name, body.com)
        xx, yy, zz, xy, xz, yz = body.inertia
        inertia = R @ np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) @ R.T
        force = body.mass * a - counters.force[body.name]
        moment = inertia @ dw + np.cross(w, inertia @ w) - counters.moment[body.name]
        worst = max(worst, np.abs(force).max(), np.abs(moment).max() / size)
    return float(worst / max(counters.largest, slow * max(body.mass for body in mechanism.bodies), TINY))


def _thrust(strut: Strut, length: float, rate: float) -> float:
    """Of a spring and damper between two points, one-sided or not; a slack cable does nothing."""
    stretch = length - strut.length
    if strut.acts == "both":
        return float(-strut.stiffness * stretch - strut.damping * rate)
    sign = 1 if strut.acts == "pulls" else -1
    if sign * stretch <= 0:
        return 0.0
    hold = min(abs(stretch) / max(TAUT * strut.length, TINY), 1.0)
    total = strut.stiffness * stretch + strut.damping * hold * rate
    return float(-sign * max(sign * total, 0.0))


def _rotation(e: np.ndarray) -> np.ndarray:
    from scipy.spatial.transform import Rotation  # few need it, and SciPy takes a while to import

    return np.asarray(Rotation.from_quat([*e[1:], e[0]]).as_matrix())


# -- linear model -----------------------------------------------------------------------------------


def check_linear(simulation: Simulation, motion: WatchedMotion) -> Check:
    """A and B against differences of the motion's own ẋ = f(x, u), where it is farthest from singular.

    Stops have a knee, and a mechanism may rest on one: shorter differences do not reach over it.
    """
    name = "linear model"
    distance = motion.read(simulation, "singularity.distance")
    simulation.put(motion.states[int(np.argmax(distance)) if np.isfinite(distance).all() else -1])
    try:
        model, form = simulation.linearize(states="partition"), LocalForm(simulation, simulation.q)
    except (SimulationError, ChartLost) as problem:
        return skipped(name, str(problem))
    if not len(model.A):
        return skipped(name, "there is no degree of freedom")
    exact = np.hstack([model.A, model.B])
    worst = inf
    for h in (DIFFERENCE, DIFFERENCE / 10):
        differences = _differences(simulation, form, h)
        rows = np.maximum(*(np.abs(x).max(axis=1, keepdims=True) for x in (exact, differences)))
        worst = min(worst, float((np.abs(differences - exact) / np.maximum(rows, 1.0)).max()))
    says = "of the largest derivative of a row: A and B against finite differences"
    return check_within(name, worst, LINEAR_TRUSTED, says)


def _differences(simulation: Simulation, form: LocalForm, h: float) -> np.ndarray:
    """∂f/∂x and ∂f/∂u side by side, by differences of fourth order."""
    y, u = form.to_local(*simulation.at[:3]), simulation.u.copy()

    def under(k: int, x: float) -> np.ndarray:
        simulation.set_inputs(_with(u, k, x))
        return form.rates(y)[0]

    columns = [_slope(lambda x, k=k: form.rates(_with(y, k, x))[0], h) for k in range(len(y))]
    columns += [_slope(lambda x, k=k: under(k, x), h * max(1.0, abs(u[k]))) for k in range(len(u))]
    simulation.set_inputs(u)
    return np.array(columns).T


def _with(x: np.ndarray, k: int, more: float) -> np.ndarray:
    return np.concatenate([x[:k], [x[k] + more], x[k + 1 :]])


def _slope(f: Any, h: float) -> np.ndarray:
    """df/dx at 0."""
    return np.asarray((8 * (f(h) - f(-h)) - (f(2 * h) - f(-2 * h))) / (12 * h))


# -- start ------------------------------------------------------------------------------------------


def check_start(simulation: Simulation) -> list[Check]:
    """Loops closed at the start, and the speeds that the description asks for."""
    y, scales = simulation.outputs(), simulation.equations.scales
    g, _ = simulation.closure()
    missed, name = 0.0, ""
    for joint in simulation.mechanism.joints:
        if joint.speed and f"joint.{joint.name}.velocity" in y:
            off = np.abs(np.ravel(y[f"joint.{joint.name}.velocity"]) - joint.speed).max()
            off /= max(1.0, np.abs(joint.speed).max())
            missed, name = max((missed, name), (off, f"; worst at joint '{joint.name}'"))
    gaps = loop_gaps(g, simulation.tree)
    worst = f"; the widest at '{max(gaps, key=lambda cut: gaps[cut])}'" if gaps else ""
    return [
        check_within(
            "start: loops", np.abs(g / scales.rows).max(initial=0.0), OPEN, f"rad or sizes open{worst}"
        ),
        check_within("start: speeds", missed, SLIP, f"of a wanted speed is missed{name}"),
    ]
