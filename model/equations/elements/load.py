"""Loads: constant forces and torques on bodies."""

from collections.abc import Mapping
from typing import Any

import casadi as ca

from ...describe.elements import Load
from ...joints.rigid_motion import vector
from ..struts import body_point
from .contract import Action, Element, Wrench
from .instant import Instant


class LoadElement(Element):
    """A constant force at a point of a body and a torque, in world or in body axes."""

    group, word = "loads", "load"

    def evaluate(self, item: Load, at: Instant, u: Mapping[str, Any], z: Mapping[str, Any]) -> Action:
        link, r, rate, _ = body_point(at.model, at.motion, item.body, item.point)
        F, T = vector(item.force), vector(item.torque)
        if link < 0:
            return Action()
        if item.axes == "body":
            R = at.motion.X[link].R @ at.model.in_link[item.body].R
            F, T = R @ F, R @ T
        power = ca.dot(F, rate) + ca.dot(T, at.motion.X[link].R @ at.motion.V[link][:3])
        return Action(wrenches=[Wrench(link, r, F, T)], supplied=power)
