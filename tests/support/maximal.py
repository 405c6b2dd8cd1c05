"""An independent reference: Newton and Euler for every body in its own coordinates, no tree and no cut.

All joints are treated alike. Unknown are the accelerations of bodies (6 each, world axes), the rates v̇ of
joint speeds, the wrench λ that every joint passes on, and the forces μ of couplings and drives:

    bodies:  I a + bias = forces + Σ wrenches of joints
    joints:  relative acceleration of the two frames = S v̇ + Ṡ v,    Sᵀλ = τ − J v̇ + μ
    ties:    Σ sₖ v̇ₖ + Σ s'ₖ vₖ² = 0,    drives: v̇ = s̈

S(q) are the joints' own Jacobians, written down by hand; Ṡ is its complex step along q̇. It shares no line
with the engine: descriptions are all that it reads.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from cutjoint.model.describe.mechanism import GROUND, Joint, Mechanism, Motor
from scipy.integrate import solve_ivp

STEP = 1e-30
X, Y, Z = np.eye(3)
NONE = np.zeros(3)


class Here(NamedTuple):
    """A state: of bodies (position, Euler parameters, velocity, ω in world axes), joints, internal states."""

    bodies: dict[str, tuple[np.ndarray, ...]]
    joints: dict[str, tuple[np.ndarray, np.ndarray]]
    inner: dict[str, np.ndarray]
    inputs: dict[str, float]


def skew(a: np.ndarray) -> np.ndarray:
    return np.array([[0, -a[2], a[1]], [a[2], 0, -a[0]], [-a[1], a[0], 0]])


def cross(a: Any, b: Any) -> np.ndarray:
    """a × b; of such short arrays, NumPy's takes ten times as long."""
    (p, q, r), (x, y, z) = a, b
    return np.array([q * z - r * y, r * x - p * z, p * y - q * x])


def matrix(e: Any) -> np.ndarray:
    """Rotation of unit Euler parameters, complex ones too."""
    w, v = e[0], np.asarray(e[1:])
    return (w * w - v @ v) * np.eye(3) + 2 * np.outer(v, v) + 2 * w * skew(v)


def about_z(angle: Any) -> np.ndarray:
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]])


def jacobian(joint: Joint, q: np.ndarray) -> np.ndarray:
    """S, 6 × nv: ω and ṗ of the child's frame against the parent's, in the parent's axes, by joint speeds."""
    column = lambda w, p: np.concatenate([w, p])  # noqa: E731
    match joint.type:
        case "revolute":
            found = [column(Z, NONE)]
        case "prismatic":
            found = [column(NONE, Z)]
        case "cylindrical":
            found = [column(Z, NONE), column(NONE, Z)]
        case "universal":
            found = [column(Z, NONE), column(about_z(q[0]) @ X, NONE)]
        case "planar":
            found = [column(NONE, X), column(NONE, Y), column(Z, NONE)]
        case "helical":
            found = [column(Z, joint.pitch * Z)]
        case "spherical":
            found = [column(w, NONE) for w in matrix(q).T]
        case "free":
            found = [*(column(NONE, p) for p in np.eye(3)), *(column(w, NONE) for w in matrix(q[3:]).T)]
        case "spherical-translational":
            R = matrix(q[:4])
            found = [*(column(w, cross(w, R[:, 2] * q[4])) for w in R.T), column(NONE, R[:, 2])]
        case _:
            found = []
    return np.array(found).T if found else np.zeros((6, 0))


def offset(joint: Joint, q: np.ndarray) -> np.ndarray:
    """Where the child's frame is in the parent's."""
    match joint.type:
        case "prismatic":
            return Z * q[0]
        case "cylindrical":
            return Z * q[1]
        case "planar":
            return X * q[0] + Y * q[1]
        case "helical":
            return Z * joint.pitch * q[0]
        case "free":
            return np.asarray(q[:3])
        case "spherical-translational":
            return matrix(q[:4])[:, 2] * q[4]
    return NONE


def euler_rates(e: np.ndarray, w: np.ndarray) -> np.ndarray:
    """ė for ω in body axes."""
    return 0.5 * np.concatenate([[-e[1:] @ w], e[0] * w + cross(e[1:], w)])


def coordinate_rates(joint: Joint, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    match joint.type:
        case "spherical":
            return euler_rates(q, v)
        case "free":
            return np.concatenate([v[:3], euler_rates(q[3:], v[3:])])
        case "spherical-translational":
            return np.concatenate([euler_rates(q[:4], v[:3]), v[3:]])
    return v


def joint_force(joint: Joint, q: np.ndarray, v: np.ndarray, bristle: np.ndarray | None) -> np.ndarray:
    """Springs, dampers, friction and stops."""
    nv = v.size
    full = lambda values: np.array(values, float) if len(values) else np.zeros(nv)  # noqa: E731
    k, rest, c, f = (full(x) for x in (joint.stiffness, joint.rest, joint.damping, joint.friction))
    tau = -c * v
    balls = {"spherical": (0, 0), "free": (3, 3), "spherical-translational": (0, 0)}
    straight = list(range(nv))
    if joint.type in balls:
        at, _ = balls[joint.type]
        e = q[at : at + 4]
        angle = np.linalg.norm(rest[at : at + 3])
        if angle:
            half = np.sin(angle / 2) / angle * rest[at : at + 3]
            w0 = np.cos(angle / 2)
            e = np.concatenate([[w0 * e[0] + half @ e[1:]], w0 * e[1:] - e[0] * half - cross(half, e[1:])])
        pull = k[at : at + 3] * e[1:]
        tau[at : at + 3] -= 2 * (e[0] * pull + cross(pull, e[1:]))
        straight = [n for n in straight if not at <= n < at + 3]
    places = {n: n if joint.type != "spherical-translational" else 4 for n in straight}
    for n in straight:
        x = q[places[n]]
        tau[n] -= k[n] * (x - rest[n])
        over = max(x - joint.limits[1], 0.0) + min(x - joint.limits[0], 0.0)
        tau[n] -= joint.limit_stiffness * over + joint.limit_damping * abs(over) * v[n]
    if bristle is not None:
        return tau - _lugre(joint, v, bristle)[0]
    return tau - (f * np.tanh(v / joint.friction_speed) if f.any() else 0.0)


def _lugre(joint: Joint, v: np.ndarray, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    f, s0 = np.array(joint.friction), np.array(joint.bristle_stiffness)
    s1 = np.array(joint.bristle_damping) if joint.bristle_damping else np.zeros(v.size)
    g = f
    if joint.stiction:
        g = f + (np.array(joint.stiction) - f) * np.exp(-((v / joint.stribeck_speed) ** 2))
    rate = v - s0 * np.abs(v) / g * z
    return s0 * z + s1 / (1 + s1 * np.abs(v) / (4 * f)) * rate, rate


def motor_torque(motor: Motor, q: float, v: float, at: Here) -> tuple[float, dict[str, float]]:
    """Torque on the joint, and rates of the motor's states: servo, limit, lag, play."""
    state = {
        key.rsplit(".", 1)[1]: float(np.ravel(x)[0])
        for key, x in at.inner.items()
        if key.startswith(f"motor.{motor.name}.")
    }
    u = {
        key.removeprefix(motor.name).lstrip("."): x
        for key, x in at.inputs.items()
        if key.split(".")[0] == motor.name
    }
    x, rate = (q + state["play"], state["rotor_speed"]) if "play" in state else (q, v)
    first = u.get("", 0.0)
    torque = first
    if motor.servo_stiffness:
        more = u.get("torque", u.get("force", 0.0))
        torque = (
            motor.servo_stiffness * (first - x) + motor.servo_damping * (u.get("speed", 0.0) - rate) + more
        )
    torque = float(np.clip(torque, -motor.limit, motor.limit))
    rates: dict[str, float] = {}
    if "lagged" in state:
        rates["lagged"] = (torque - state["lagged"]) / motor.lag
        torque = state["lagged"]
    if "play" in state:
        half, inertia = motor.backlash / 2, motor.gear_ratio**2 * motor.rotor_inertia
        e = max(state["play"] - half, 0.0) + min(state["play"] + half, 0.0)
        mesh = motor.mesh_stiffness * e + motor.mesh_damping * abs(e) * (rate - v)
        mesh = max(mesh, 0.0) if e > 0 else min(mesh, 0.0)
        rates |= {"play": rate - v, "rotor_speed": (torque - mesh) / inertia}
        torque = mesh
    return torque, {f"motor.{motor.name}.{key}": x for key, x in rates.items()}


def rotor(mechanism: Mechanism, joint: Joint) -> np.ndarray | float:
    """Inertia at a joint's speeds: its armature, and rotors that turn with it."""
    own = np.array(joint.armature) if joint.armature else 0.0
    rigid = (m for m in mechanism.motors if m.joint == joint.name and not m.backlash)
    return own + sum(m.gear_ratio**2 * m.rotor_inertia for m in rigid)


class Rates(NamedTuple):
    bodies: dict[str, tuple[np.ndarray, np.ndarray]]  # acceleration of the origin, angular acceleration
    joints: dict[str, np.ndarray]  # v̇
    inner: dict[str, Any]


def accelerations(mechanism: Mechanism, at: Here) -> Rates:
    """The linear system at the top of this file, solved by least squares: redundant rows are no matter."""
    bodies = {body.name: 6 * k for k, body in enumerate(mechanism.bodies)}
    place, size = dict[str, tuple[slice, slice]](), 6 * len(bodies)
    for joint in mechanism.joints:
        nv = jacobian(joint, at.joints[joint.name][0]).shape[1]
        place[joint.name] = slice(size, size + nv), slice(size + nv, size + nv + 6)
        size += nv + 6
    driven = [m for m in mechanism.motors if m.drive != "torque"]
    ties = size
    size += len(mechanism.couplings) + len(driven)
    A, b, inner = np.zeros((size, size)), np.zeros(size), dict[str, Any]()
    for body in mechanism.bodies:
        _newton_euler(mechanism, body, at.bodies[body.name], bodies[body.name], A, b)
    for joint in mechanism.joints:
        inner |= _joint(mechanism, joint, at, bodies, place[joint.name], A, b)
    _between_points(mechanism, at, bodies, b)
    for n, tie in enumerate(mechanism.couplings, ties):
        for k, name in enumerate((tie.joint, *tie.follows)):
            (x,), (rate,) = at.joints[name]
            factors = [1.0] if k == 0 else [-tie.ratio[k - 1], *(-c for c in (tie.curve if k == 1 else ()))]
            slope = sum(m * c * x ** (m - 1) for m, c in enumerate(factors, 1))
            b[n] -= sum(m * (m - 1) * c * x ** (m - 2) for m, c in enumerate(factors, 1) if m > 1) * rate**2
            A[n, place[name][0]] = slope
            A[place[name][0], n] -= slope
    for n, motor in enumerate(driven, ties + len(mechanism.couplings)):
        own = [x for key, x in at.inputs.items() if key.split(".")[0] == motor.name]
        A[n, place[motor.joint][0]] = 1.0
        A[place[motor.joint][0], n] -= 1.0
        b[n] = own[-1]  # the highest derivative
    scale = np.abs(A).max(axis=1)
    x = np.linalg.lstsq(A / scale[:, None], b / scale, rcond=1e-13)[0]
    moves = {name: (x[k : k + 3], x[k + 3 : k + 6]) for name, k in bodies.items()}
    return Rates(moves, {name: x[v] for name, (v, _) in place.items()}, inner)


def _newton_euler(mechanism: Mechanism, body: Any, at: Any, k: int, A: np.ndarray, b: np.ndarray) -> None:
    _, e, _, w = at
    R = matrix(e)
    parts = [(body.mass, np.array(body.com), _full(body.inertia))]
    parts += [
        (x.mass, np.array(x.point), np.zeros((3, 3))) for x in mechanism.point_masses if x.body == body.name
    ]
    for mass, com, inertia in parts:
        c, I = R @ com, R @ inertia @ R.T  # noqa: E741
        block = np.block(
            [[mass * np.eye(3), -mass * skew(c)], [mass * skew(c), I - mass * skew(c) @ skew(c)]]
        )
        A[k : k + 6, k : k + 6] += block
        pull = mass * (np.array(mechanism.gravity) - cross(w, cross(w, c)))
        b[k : k + 6] += np.concatenate([pull, cross(c, pull) - cross(w, I @ w)])


def _full(six: Any) -> np.ndarray:
    xx, yy, zz, xy, xz, yz = six
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def _end(at: Here, body: str, frame: Any) -> tuple[np.ndarray, ...]:
    """Lever of a frame from its body's origin, its axes, the body's ω."""
    if body == GROUND:
        return np.array(frame.position), matrix(frame.orientation), NONE
    _, e, _, w = at.bodies[body]
    return matrix(e) @ np.array(frame.position), matrix(e) @ matrix(frame.orientation), w


def _joint(
    mechanism: Mechanism,
    joint: Joint,
    at: Here,
    bodies: dict[str, int],
    place: tuple[slice, slice],
    A: np.ndarray,
    b: np.ndarray,
) -> dict[str, Any]:
    q, v = at.joints[joint.name]
    rows_v, rows = place
    S = jacobian(joint, q)
    along = q + 1j * STEP * coordinate_rates(joint, q, v)
    dS = jacobian(joint, along).imag / STEP if v.size else S
    (si, Ri, wi), (sj, _, wj) = (
        _end(at, *end) for end in ((joint.parent, joint.on_parent), (joint.child, joint.on_child))
    )
    d = Ri @ offset(joint, q)
    turn, slide = Ri @ (S @ v)[:3], Ri @ (S @ v)[3:]
    more = Ri @ (dS @ v)[:3], Ri @ (dS @ v)[3:]
    # relative acceleration, angular rows first: α_j − α_i − R ω̇ = ω_i × Rω, and so for the points
    b[rows] = np.concatenate(
        [
            cross(wi, turn) + more[0],
            cross(wi, cross(wi, d)) + 2 * cross(wi, slide) + more[1]
            + cross(wi, cross(wi, si)) - cross(wj, cross(wj, sj)),
        ]
    )  # fmt: skip
    turned = np.kron(np.eye(2), Ri) @ S
    A[rows, rows_v] = -turned
    # λ = (n, f) on the child at the child's frame, in world axes; the parent feels the opposite there
    for body, sign, lever in ((joint.child, 1, sj), (joint.parent, -1, si + d)):
        if body in bodies:
            k = bodies[body]
            point = np.block([[np.zeros((3, 3)), np.eye(3)], [np.eye(3), -skew(lever)]])
            A[rows, k : k + 6] += sign * point
            A[k : k + 6, rows] -= sign * point.T
    inner, tau = dict[str, Any](), NONE[:0]
    key = f"joint.{joint.name}.bristle"
    if v.size:
        tau = joint_force(joint, q, v, at.inner.get(key))
    if key in at.inner:
        inner[key] = _lugre(joint, v, at.inner[key])[1]
    for motor in (m for m in mechanism.motors if m.joint == joint.name and m.drive == "torque"):
        torque, rates = motor_torque(motor, q[0], v[0], at)
        loss = (1 - motor.efficiency) * abs(torque) * np.tanh(v[0] / joint.friction_speed)
        tau, inner = tau + torque - loss, inner | rates
    A[rows_v, rows] = turned.T
    A[rows_v, rows_v] += np.eye(v.size) * rotor(mechanism, joint)
    b[rows_v] = tau
    return inner


def _between_points(mechanism: Mechanism, at: Here, bodies: dict[str, int], b: np.ndarray) -> None:
    """Struts and loads."""

    def point(body: str, where: Any) -> tuple[np.ndarray, ...]:
        if body == GROUND:
            return np.array(where), NONE, np.array(where)
        r, e, v, w = at.bodies[body]
        lever = matrix(e) @ np.array(where)
        return r + lever, v + cross(w, lever), lever

    def push(body: str, lever: np.ndarray, force: np.ndarray, torque: np.ndarray = NONE) -> None:
        if body in bodies:
            k = bodies[body]
            b[k : k + 6] += np.concatenate([force, torque + cross(lever, force)])

    for s in mechanism.struts:
        (ra, va, la), (rb, vb, lb) = point(s.body1, s.point1), point(s.body2, s.point2)
        length = np.linalg.norm(rb - ra)
        n = (rb - ra) / length
        thrust = s.stiffness * (s.length - length) - s.damping * (n @ (vb - va))
        thrust += float(np.clip(at.inputs.get(s.name, 0.0), -s.limit, s.limit)) if s.actuated else 0.0
        push(s.body2, lb, thrust * n)
        push(s.body1, la, -thrust * n)
    for load in mechanism.loads:
        R = matrix(at.bodies[load.body][1]) if load.axes == "body" else np.eye(3)
        push(load.body, point(load.body, load.point)[2], R @ np.array(load.force), R @ np.array(load.torque))


def motion(mechanism: Mechanism, at: Here, time: float) -> Here:
    """The state after a time, inputs held; by steps that become short where a force has a kink."""
    parts = [*(x for body in at.bodies.values() for x in body), *(x for j in at.joints.values() for x in j)]
    parts = [np.ravel(x) for x in (*parts, *at.inner.values())]
    ends = np.cumsum([x.size for x in parts])[:-1]

    def here(y: np.ndarray) -> Here:
        flow = iter(np.split(y, ends))
        bodies = {name: tuple(next(flow) for _ in body) for name, body in at.bodies.items()}
        joints = {name: (next(flow), next(flow)) for name in at.joints}
        return Here(bodies, joints, {name: next(flow) for name in at.inner}, at.inputs)

    def rates(_: float, y: np.ndarray) -> np.ndarray:
        return np.concatenate([np.ravel(x) for x in _slope(mechanism, here(y))])

    found = solve_ivp(rates, (0.0, time), np.concatenate(parts), "DOP853", rtol=1e-11, atol=1e-11)
    return here(found.y[:, -1])


def _slope(mechanism: Mechanism, at: Here) -> list[np.ndarray]:
    found = accelerations(mechanism, at)
    rates: list[np.ndarray] = []
    for name, (_, e, v, w) in at.bodies.items():
        rates += [v, euler_rates(e, matrix(e).T @ w), *found.bodies[name]]
    for name, (q, v) in at.joints.items():
        joint = mechanism.joint(name)
        rates += [coordinate_rates(joint, q, v), found.joints[name]]
    return rates + [np.asarray(found.inner[name]) for name in at.inner]
