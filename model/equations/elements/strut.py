"""Struts: springs, dampers, cables and cylinders between two points of bodies."""

from collections.abc import Mapping
from typing import Any

import casadi as ca

from ...base.thresholds import TAUT, TINY
from ...describe.elements import Strut
from ...describe.mechanism import Mechanism
from ...describe.motors import FORCE, tells_motion
from ..struts import strut_motion
from .contract import Action, Element, Indicator, Output, Wrench
from .instant import Instant, Solved

STRESS = {"pulls": "tension", "pushes": "thrust"}  # what the force of a one-sided strut is called


class StrutElement(Element):
    """A force along the line between two points, positive when it pushes them apart."""

    group, word = "struts", "strut"

    def outputs(self, item: Strut, mechanism: Mechanism) -> list[Output]:
        found = []
        if item.actuated:
            about = f"what {item.name} does to its ends, positive when it pushes, within its limit"
            found.append(Output("effort", ("N",), about))
        if item.acts != "both" or item.actuated:
            found.append(Output("length", ("m",), f"length of {item.name}", low=0.0))
        if item.acts != "both":
            stress = STRESS[item.acts]
            found.append(Output(stress, ("N",), f"{stress} of {item.name}", low=0.0))
        if item.actuated:
            found.append(Output("speed", ("m/s",), f"rate of the length of {item.name}"))
        return found

    def indicators(self, item: Strut, mechanism: Mechanism) -> list[Indicator]:
        if item.acts == "both":
            return []
        about = f"stretch of {item.name} beyond its length; it {item.acts} where this is positive"
        return [Indicator("taut", "m", about)]

    def evaluate(self, item: Strut, at: Instant, u: Mapping[str, Any], z: Mapping[str, Any]) -> Action:
        ends, direction, length, rate = strut_motion(at.model, at.motion, item)
        values, supplied = {"length": length, "speed": rate}, ca.SX(0)
        if item.acts == "both":
            thrust = item.stiffness * (item.length - length) - item.damping * rate
            potential = 0.5 * item.stiffness * (item.length - length) ** 2
            dissipated = item.damping * rate**2
        else:
            thrust, potential, dissipated = one_sided(item, length, rate)
        if item.actuated and item.drive == FORCE:
            values["effort"] = effort = u[FORCE]
            thrust, supplied = thrust + effort, effort * rate
        values["force"] = thrust
        if item.acts != "both":
            values[STRESS[item.acts]] = ca.fabs(thrust)
        force, none = thrust * direction, ca.SX.zeros(3, 1)
        wrenches = [Wrench(e.link, e.r, sign * force, none) for sign, e in zip((-1, 1), ends, strict=True)]
        stretch = (1 if item.acts == "pulls" else -1) * (length - item.length)
        kinks = {"taut": stretch} if item.acts != "both" else {}
        return Action({}, wrenches, potential, ca.SX(0), supplied, dissipated, {}, values, kinks)

    def measure(self, item: Strut, at: Solved) -> Mapping[str, Any]:
        return {"effort": at.efforts[item.name]} if item.actuated and tells_motion(item) else {}


def one_sided(strut: Strut, length: Any, rate: Any) -> tuple[Any, Any, Any]:
    """Thrust, energy and lost power of a spring that only pulls, or only pushes.

    With the stretch e = distance − length beyond which it acts (e < 0 where it pushes), and ė its rate,
    T = k e + c w ė, never of the other sign than e; the energy is ½ k e². The damper takes hold with
    w = |e|/(`TAUT`·length), at most 1, so that forces do not jump; what it takes is never negative.
    """
    pull = 1 if strut.acts == "pulls" else -1
    e = ca.fmax(pull * (length - strut.length), 0)
    hold = ca.fmin(e / (TAUT * strut.length + TINY), 1)
    spring, rate = strut.stiffness * e, pull * rate
    total = ca.fmax(spring + strut.damping * hold * rate, 0)
    return -pull * total, 0.5 * spring * e, (total - spring) * rate
