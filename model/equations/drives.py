"""What a motor does to its joint: servo, limits, lag, winding, gear, play; and friction that sticks.

Everything is written at the joint, behind the gear: a rotor of inertia J in front of a gear of ratio n is an
inertia n²J there, which is added to the joint's armature (`dynamics.armature`).
"""

from collections.abc import Mapping
from math import inf
from typing import Any, NamedTuple

import casadi as ca

from ..describe.mechanism import Joint
from ..describe.motors import Motor, has, plain, reflected, signals


class Flow(NamedTuple):
    """Rate of an internal state, ż = a − b z, and b."""

    rate: Any
    decay: Any


class DriveForce(NamedTuple):
    effort: Any  # on the joint
    supplied: Any  # power that comes in
    dissipated: Any = ca.SX(0)
    potential: Any = ca.SX(0)
    kinetic: Any = ca.SX(0)  # energy of a rotor that moves by itself, and of a current
    states: Mapping[str, Flow] = {}
    seen: Mapping[str, Any] = {}  # outputs by name


def drive_force(
    motor: Motor, joint: Joint, q: Any, v: Any, inputs: Mapping[str, Any], z: Mapping[str, Any]
) -> DriveForce:
    """What a motor does to its joint at coordinate q and speed v, with internal states z by name.

    A servo asks for τ = k(x_w − x) + d(ẋ_w − ẋ) + τ_w, x and ẋ those of the rotor, which are the joint's but
    for play. Then, each where it is there,

    - a lag T: T τ̇ = τ_wanted − τ;
    - a winding: L i̇ = V − R i − K ẋ, τ = K i, with K = ratio·`torque_constant` and V the input within
      ±`supply`; a servo gives it V = R τ_wanted/K + K ẋ. Of the power V i, R i² is lost and ½ L i² kept;
    - play: the rotor moves by itself, n²J ẍ = τ − T, and T = k e + c |e| ė, never of the other sign than e,
      is what the joint gets; e is what x − q exceeds half the play by;
    - a gear of efficiency η, which loses (1 − η)|τ| tanh(v/v_f) on the way, as dry friction would, with the
      joint's `friction_speed`: it never gives energy, and passes on η τ where it drives.
    """
    given = [inputs[f"{motor.name}{signal.ending}"] for signal in signals(motor)]
    if plain(motor):
        effort = saturated(given[0], motor.limit)
        return DriveForce(effort, effort * v)
    stem = f"motor.{motor.name}"
    play = has(motor.backlash)
    x, rate = (q + z[f"{stem}.play"], z[f"{stem}.rotor_speed"]) if play else (q, v)
    states: dict[str, Flow] = {}
    seen: dict[str, Any] = {}
    lost = stored = moving = ca.SX(0)
    wanted = _servo(motor, x, rate, given) if has(motor.servo_stiffness) else given[0]
    if has(motor.resistance):
        K, R = motor.gear_ratio * motor.torque_constant, motor.resistance
        if has(motor.servo_stiffness):
            wanted = R / K * within_limit(motor, wanted, rate) + K * rate
        voltage = saturated(wanted, motor.supply)
        if has(motor.inductance):
            current = z[f"{stem}.current"]
            L = motor.inductance
            states[f"{stem}.current"] = Flow((voltage - R * current - K * rate) / L, R / L)
            moving += 0.5 * L * current**2
        else:
            current = (voltage - K * rate) / R
            seen[f"{stem}.current"] = current
        seen[f"{stem}.voltage"] = voltage
        torque, supplied, lost = K * current, voltage * current, R * current**2
    else:
        torque = within_limit(motor, wanted, rate)
        if has(motor.lag):
            wanted, torque = torque, z[f"{stem}.lagged"]
            states[f"{stem}.lagged"] = Flow((wanted - torque) / motor.lag, 1 / motor.lag)
        supplied = torque * rate
    if play:
        inertia, half = reflected(motor), motor.backlash / 2
        x = z[f"{stem}.play"]
        e = ca.fmax(x - half, 0) + ca.fmin(x + half, 0)
        spring = motor.mesh_stiffness * e
        mesh = spring + motor.mesh_damping * ca.fabs(e) * (rate - v)
        mesh = ca.if_else(e > 0, ca.fmax(mesh, 0), ca.fmin(mesh, 0))
        states[f"{stem}.play"] = Flow(rate - v, ca.SX(0))
        states[f"{stem}.rotor_speed"] = Flow((torque - mesh) / inertia, ca.SX(0))
        stored, lost = 0.5 * spring * e, lost + (mesh - spring) * (rate - v)
        moving += 0.5 * inertia * rate**2
        torque = mesh
    if has(1 - motor.efficiency):
        loss = (1 - motor.efficiency) * ca.fabs(torque) * ca.tanh(v / joint.friction_speed)
        torque, lost = torque - loss, lost + loss * v
    return DriveForce(torque, supplied, lost, stored, moving, states, seen)


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
    nv = v.numel()
    level, stuck, stiff, damping = (
        ca.SX(ca.vertcat(*(entry_of(x, k) for k in range(nv))))
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


def fading(x: Any) -> Any:
    """eˣ for x ≤ 0, to round-off of one: exp has a newer version in some C libraries, tanh has not."""
    t = ca.tanh(x / 2)
    return (1 + t) / (1 - t)


def entry_of(values: Any, k: int) -> Any:
    """Entry k of an attribute that may be empty, a tuple of numbers, or symbols."""
    if isinstance(values, ca.SX):
        return values[k]
    return values[k] if len(values) else 0.0


def _servo(motor: Motor, q: Any, v: Any, given: list[Any]) -> Any:
    """The torque that a servo asks for; `given` are its inputs in the order of `signals`."""
    wanted = dict(zip((signal.what for signal in signals(motor)), given, strict=True))
    torque = motor.servo_stiffness * (wanted["position"] - q)
    torque += motor.servo_damping * (wanted.get("speed", 0) - v)
    return torque + wanted.get("torque", 0)


def within_limit(motor: Motor, torque: Any, v: Any) -> Any:
    """The torque within the motor's limit, which falls with the speed it drives to, down to zero at the top.

    It holds against being driven faster with all its limit.
    """
    if motor.top_speed == inf:
        return saturated(torque, motor.limit)
    forth, back = (motor.limit * ca.fmin(ca.fmax(1 - sign * v / motor.top_speed, 0), 1) for sign in (1, -1))
    return ca.fmin(ca.fmax(torque, -back), forth)


def saturated(u: Any, limit: float) -> Any:
    return u if limit == inf else ca.fmin(ca.fmax(u, -limit), limit)
