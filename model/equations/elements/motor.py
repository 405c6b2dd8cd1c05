"""Motors, the actuators of joints; servo, limits, lag, winding, gear, play.

Everything is written at the joint, behind the gear: a rotor of inertia J in front of a gear of ratio n is an
inertia n²J there, which is added to the joint's armature (`dynamics.armature`).
"""

from collections.abc import Mapping
from math import inf
from typing import Any

import casadi as ca

from ...describe.fields import Quantity
from ...describe.mechanism import Mechanism
from ...describe.motors import TORQUE, Motor, has, plain, reflected_inertia, tells_motion
from ..functions import saturated
from .contract import Action, Element, Flow, Indicator, InternalState, Output
from .instant import Instant, Solved


class MotorElement(Element):
    """A torque on a joint, or a motion that it follows, whose torque is a constraint's (`prescribed.py`).

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

    group, word = "motors", "motor"

    def states(self, item: Motor, mechanism: Mechanism) -> list[InternalState]:
        seen = f"of the rotor of {item.name}, as seen behind its gear"
        found = [
            (item.lag, "lagged", "N.m or N", f"torque that {item.name} has come to"),
            (item.inductance, "current", "A", f"current of {item.name}"),
            (item.backlash, "play", "rad or m", f"place {seen}, less that of its joint"),
            (item.backlash, "rotor_speed", "rad/s or m/s", f"speed {seen}"),
        ]
        kind = mechanism.joint_type(item)
        return [
            InternalState(n, Quantity("", unit).units(kind), about) for of, n, unit, about in found if has(of)
        ]

    def outputs(self, item: Motor, mechanism: Mechanism) -> list[Output]:
        unit = Quantity("", "N.m or N").units(mechanism.joint_type(item))
        about = f"what {item.name} does to joint {item.joint}, within its limit"
        found = [Output("effort", unit, about)]
        if has(item.resistance) and not has(item.inductance):
            found.append(Output("current", ("A",), f"current of {item.name}"))
        if has(item.resistance):
            found.append(Output("voltage", ("V",), f"voltage of {item.name}"))
        return found

    def indicators(self, item: Motor, mechanism: Mechanism) -> list[Indicator]:
        if not has(item.backlash):
            return []
        unit = Quantity("", "rad or m").units(mechanism.joint_type(item))[0]
        about = f"play of {item.name} that is left until its gear meshes"
        return [Indicator(name, unit, about) for name in ("mesh_back", "mesh_forth")]

    def evaluate(self, item: Motor, at: Instant, u: Mapping[str, Any], z: Mapping[str, Any]) -> Action:
        if item.drive != TORQUE:
            return Action()
        q, v = (x[0] for x in at.joint(item.joint))
        if plain(item):
            (effort,) = u.values()
            return Action({item.joint: effort}, supplied=effort * v, values={"effort": effort})
        flows: dict[str, Flow] = {}
        values: dict[str, Any] = {}
        kinks: dict[str, Any] = {}
        play = has(item.backlash)
        x, rate = (q + z["play"], z["rotor_speed"]) if play else (q, v)
        lost = stored = moving = ca.SX(0)
        if has(item.resistance):
            K, R = item.gear_ratio * item.torque_constant, item.resistance
            voltage = u["voltage"] if "voltage" in u else _counter(item, _servo(item, x, rate, u), rate)
            if has(item.inductance):
                current, L = z["current"], item.inductance
                flows["current"] = Flow((voltage - R * current - K * rate) / L, R / L)
                moving += 0.5 * L * current**2
            else:
                current = (voltage - K * rate) / R
            values |= {"current": current, "voltage": voltage}
            torque, supplied, lost = K * current, voltage * current, R * current**2
        else:
            torque = _within_limit(item, _servo(item, x, rate, u), rate)
            if has(item.lag):
                wanted, torque = torque, z["lagged"]
                flows["lagged"] = Flow((wanted - torque) / item.lag, 1 / item.lag)
            supplied = torque * rate
        if play:
            inertia = reflected_inertia(item)
            kinks = {"mesh_back": item.backlash / 2 + z["play"], "mesh_forth": item.backlash / 2 - z["play"]}
            mesh, stored, loss = _mesh(item, z["play"], rate - v)
            flows["play"] = Flow(rate - v, ca.SX(0))
            flows["rotor_speed"] = Flow((torque - mesh) / inertia, ca.SX(0))
            lost, moving = lost + loss, moving + 0.5 * inertia * rate**2
            torque = mesh
        if has(1 - item.efficiency):
            friction_speed = at.model.mechanism.joint(item.joint).friction_speed
            loss = (1 - item.efficiency) * ca.fabs(torque) * ca.tanh(v / friction_speed)
            torque, lost = torque - loss, lost + loss * v
        values["effort"] = torque
        return Action({item.joint: torque}, (), stored, moving, supplied, lost, flows, values, kinks)

    def measure(self, item: Motor, at: Solved) -> Mapping[str, Any]:
        return {"effort": at.efforts[item.name]} if tells_motion(item) else {}


def _servo(motor: Motor, q: Any, v: Any, u: Mapping[str, Any]) -> Any:
    """The torque that is asked for: by a servo, or by the input itself."""
    torque = u.get("torque", u.get("force", 0))  # of a joint that turns or slides
    if not has(motor.servo_stiffness):
        return torque
    asked = motor.servo_stiffness * (u["position"] - q)
    asked += motor.servo_damping * (u.get("speed", 0) - v)
    return asked + torque


def _counter(motor: Motor, torque: Any, v: Any) -> Any:
    """The voltage, within its supply, with which a winding gives a torque within its limit at a speed."""
    K = motor.gear_ratio * motor.torque_constant
    wanted = motor.resistance / K * _within_limit(motor, torque, v) + K * v
    return saturated(wanted, -motor.supply, motor.supply)


def _mesh(motor: Motor, x: Any, rate: Any) -> tuple[Any, Any, Any]:
    """Torque, energy and lost power of a gear with play, whose rotor is off by x, at a rate."""
    half = motor.backlash / 2
    e = ca.fmax(x - half, 0) + ca.fmin(x + half, 0)
    spring = motor.mesh_stiffness * e
    mesh = spring + motor.mesh_damping * ca.fabs(e) * rate
    mesh = ca.if_else(e > 0, ca.fmax(mesh, 0), ca.fmin(mesh, 0))
    return mesh, 0.5 * spring * e, (mesh - spring) * rate


def _within_limit(motor: Motor, torque: Any, v: Any) -> Any:
    """The torque within the motor's limit, which falls with the speed it drives to, down to zero at the top.

    It holds against being driven faster with all its limit. An input that is a torque is within it already.
    """
    if motor.top_speed == inf:
        return saturated(torque, -motor.limit, motor.limit) if has(motor.servo_stiffness) else torque
    forth, back = (motor.limit * ca.fmin(ca.fmax(1 - sign * v / motor.top_speed, 0), 1) for sign in (1, -1))
    return ca.fmin(ca.fmax(torque, -back), forth)
