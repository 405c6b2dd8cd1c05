"""Joint forces: springs, dampers, friction, stops, and friction that sticks (LuGre)."""

from collections.abc import Mapping
from math import inf
from typing import Any, NamedTuple

import casadi as ca

from ...base.thresholds import NO_LENGTH, STANDING
from ...describe.fields import PER_FREEDOM, Quantity
from ...describe.friction import sticks
from ...describe.mechanism import Joint, Mechanism
from ...describe.motors import has
from ...joints.rigid_motion import product
from ...joints.types import TYPES
from ..functions import fading
from .contract import Action, Element, Flow, Indicator, InternalState
from .instant import Instant


class JointForceElement(Element):
    """Spring, damper, friction and stops of a joint at its coordinates and speeds, as the user counts them.

    τ = −k(q − q_rest) − c v − f tanh(v/v_f) − k_s e − c_s |e| v, with e the overrun of a stop; the springs of
    a ball are those of `ball_spring`, and friction that sticks is that of `bristles`, with a state.
    """

    group, word = "joints", "joint"

    def states(self, item: Joint, mechanism: Mechanism) -> list[InternalState]:
        if not sticks(item):
            return []
        units = Quantity("", "rad or m", PER_FREEDOM).units(TYPES[item.type])
        return [InternalState("bristle", units, f"how far what sticks at {item.name} is bent")]

    def indicators(self, item: Joint, mechanism: Mechanism) -> list[Indicator]:
        """Stops of its coordinates, and speeds where friction turns round."""
        kind, found = TYPES[item.type], list[Indicator]()
        places = Quantity("", "rad or m", PER_FREEDOM).units(kind)
        speeds = Quantity("", "rad/s or m/s", PER_FREEDOM).units(kind)
        for k in _plain(item) if item.limits != (-inf, inf) else ():
            for word, limit in (("lower", item.limits[0]), ("upper", item.limits[1])):
                if abs(limit) != inf:
                    about = f"how far {item.name} is from its {word} stop; negative where it is pushed back"
                    found.append(Indicator(_numbered(f"{word}_stop", k, kind.nv), places[k], about))
        for k in range(kind.nv):
            if has(_entry(item.friction, k)):
                about = f"speed of {item.name}, whose friction turns round with it"
                found.append(Indicator(_numbered("sliding", k, kind.nv), speeds[k], about, STANDING))
        return found

    def evaluate(self, item: Joint, at: Instant, u: Mapping[str, Any], z: Mapping[str, Any]) -> Action:
        if not (acts(item) and at.has_joint(item.name)):
            return Action(flows={name: Flow(0 * x, 0 * x) for name, x in z.items()})
        kind, (q, v) = TYPES[item.type], at.joint(item.name)
        tau = ca.SX.zeros(kind.nv, 1)
        potential = dissipated = ca.SX(0)
        stuck = bristles(item, v, z["bristle"]) if sticks(item) else None
        for move, place, rows in kind.parts:
            if not move.plain:
                k, rest = (_entries(x, range(rows.start, rows.stop)) for x in (item.stiffness, item.rest))
                tau[rows], stored = ball_spring(k, rest, q[place])
                potential += stored
        plain, kinks = _plain(item), dict[str, Any]()
        for k in range(kind.nv):
            speed = v[k]
            kinks[_numbered("sliding", k, kind.nv)] = speed
            loss = _entry(item.damping, k) * speed
            level = _entry(item.friction, k)
            if stuck is None and has(level):
                loss += level * ca.tanh(speed / item.friction_speed)
            if k in plain:
                stretch = q[plain[k]] - _entry(item.rest, k)
                stiffness = _entry(item.stiffness, k)
                tau[k] -= stiffness * stretch
                potential += 0.5 * stiffness * stretch**2
                overrun = _overrun(item, q[plain[k]])
                kinks[_numbered("lower_stop", k, kind.nv)] = q[plain[k]] - item.limits[0]
                kinks[_numbered("upper_stop", k, kind.nv)] = item.limits[1] - q[plain[k]]
                if overrun is not None:
                    tau[k] -= item.limit_stiffness * overrun
                    potential += 0.5 * item.limit_stiffness * overrun**2
                    loss += item.limit_damping * ca.fabs(overrun) * speed
            tau[k] -= loss
            dissipated += loss * speed
        flows = {}
        if stuck is not None:
            tau, flows = tau - stuck.force, {"bristle": stuck.flow}
            potential, dissipated = potential + stuck.potential, dissipated + stuck.dissipated
        return Action(
            joint_forces={item.name: tau},
            potential=potential,
            dissipated=dissipated,
            flows=flows,
            values={"passive": tau},
            indicators={name: kinks[name] for name, *_ in self.indicators(item, at.model.mechanism)},
        )


def ball_spring(k: Any, rest: Any, q: Any) -> tuple[Any, Any]:
    """Torque, on ω in child axes, and energy of springs k about the three axes of a ball.

    V = 2 Σ kᵢ eᵢ² with the Euler parameters (e0, e) of the turn from the relaxed orientation, which the
    rotation vector `rest` leads to. For small angles that is ½ Σ kᵢ φᵢ², for equal stiffness k(1 − cos φ) at
    any angle, and it is smooth everywhere. τ = −2(e0 k∘e + (k∘e) × e), since ė = ½(e0 ω + e × ω).
    """
    if not rest.is_zero():
        angle = ca.sqrt(ca.sumsqr(rest) + NO_LENGTH)
        q = product(ca.vertcat(ca.cos(angle / 2), -ca.sin(angle / 2) / angle * rest), q)
    e0, e = q[0], q[1:]
    pull = k * e
    return -2 * (e0 * pull + ca.cross(pull, e)), 2 * ca.dot(pull, e)


class Bristles(NamedTuple):
    force: Any  # against the motion
    potential: Any
    dissipated: Any
    flow: Flow


def bristles(joint: Joint, v: Any, z: Any) -> Bristles:
    """Friction that sticks: bristles bent by z (Canudas de Wit and others, 1995, LuGre), for each speed.

    With g = f + (f_s − f) exp(−(v/v_s)²), from the `stiction` f_s at rest to the `friction` f,

        ż = v − b z,  b = σ₀|v|/g,     F = σ₀ z + σ ż,     σ = σ₁/(1 + σ₁|v|/4f).

    The energy kept is ½σ₀z². σ falls with the speed so that σ|v| < 4g, which is what σ₀b z² + σ v ż ≥ 0
    takes: friction never gives energy, whatever its numbers. For any v, z fades towards g/σ₀ in the time 1/b,
    which is short: a step takes that as it is (`manifold/exponential.py`).
    """
    level, stuck, stiff, damping = (
        _entries(x, range(v.numel()))
        for x in (joint.friction, joint.stiction, joint.bristle_stiffness, joint.bristle_damping)
    )
    g = level
    if has(joint.stiction):
        g = level + (stuck - level) * fading(-((v / joint.stribeck_speed) ** 2))
    decay = stiff * ca.fabs(v) / g
    rate = v - decay * z
    force = stiff * z + damping / (1 + damping * ca.fabs(v) / (4 * level)) * rate
    lost = ca.dot(force, v) - ca.dot(stiff * z, rate)
    return Bristles(force, 0.5 * ca.dot(stiff * z, z), lost, Flow(rate, decay))


def _plain(joint: Joint) -> dict[int, int]:
    """Speed -> coordinate of the turns and slides of a joint."""
    return {part.v.start: part.q.start for part in TYPES[joint.type].parts if part.move.plain}


def _numbered(name: str, k: int, count: int) -> str:
    return name if count == 1 else f"{name}_{k + 1}"


def _entry(values: Any, k: int) -> Any:
    """Entry k of an attribute that may be empty, a tuple of numbers, or symbols."""
    if isinstance(values, ca.SX):
        return values[k]
    return values[k] if len(values) else 0.0


def _entries(values: Any, rows: range) -> Any:
    return ca.SX(ca.vertcat(*(_entry(values, k) for k in rows)))


def _overrun(joint: Joint, q: Any) -> Any:
    low, high = joint.limits
    if low == -inf and high == inf:
        return None
    return ca.fmax(q - high, 0) + ca.fmin(q - low, 0)


def acts(joint: Joint) -> bool:
    """Whether a joint carries any spring, damper, friction or stop."""
    parts = (joint.damping, joint.stiffness, joint.friction)
    given = any(isinstance(part, ca.SX) or any(part) for part in parts)
    return given or joint.limits != (-inf, inf)
