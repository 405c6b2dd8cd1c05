"""Ports: frames whose motion is an output, and on which a wrench from outside may act."""

from collections.abc import Mapping
from typing import Any

import casadi as ca

from ...describe.mechanism import Mechanism
from ...describe.visuals import NamedFrame
from ...joints.rigid_motion import product, vector
from ..frame_motion import MOTION, placed
from ..kinematics import Model, Motion, body_quaternion, turning, unit_quaternion
from .contract import Action, Element, Output, Wrench
from .instant import Instant, Solved


class PortElement(Element):
    """A named frame whose motion is an output; it may take a wrench, in axes of world, body or a frame."""

    group, word = "frames", "frame"

    def outputs(self, item: NamedFrame, mechanism: Mechanism) -> list[Output]:
        if item.port == "none":
            return []
        return [
            Output(what, units, f"{what.replace('_', ' ')} of frame {item.name}")
            for what, units in MOTION.items()
        ]

    def evaluate(self, item: NamedFrame, at: Instant, u: Mapping[str, Any], z: Mapping[str, Any]) -> Action:
        if item.port != "force":
            return Action()
        place, R = placed(at.model, at.motion, item.name), _axes(at.model, at.motion, item)
        F, T = R @ u["force"], R @ u["torque"]
        power = ca.dot(F, place.v) + ca.dot(T, place.w)
        return Action(wrenches=[Wrench(place.link, place.r, F, T)], supplied=power)

    def measure(self, item: NamedFrame, at: Solved) -> Mapping[str, Any]:
        if item.port == "none":
            return {}
        place = placed(at.model, at.motion, item.name)
        e = product(body_quaternion(at.model, item.body), unit_quaternion(item.orientation))
        e = e if place.link < 0 else product(at.turns[place.link], e)
        own = place.r, e, place.v, place.w, place.dv + vector(at.model.mechanism.gravity), place.dw
        return dict(zip(MOTION, own, strict=True))


def _axes(model: Model, motion: Motion, frame: NamedFrame) -> Any:
    """Axes in which the wrench on a frame is given."""
    if frame.axes == "world":
        return ca.SX.eye(3)
    if frame.axes == "body":
        link = model.tree.holder[frame.body]
        return turning(motion, link)[0] @ model.in_link[frame.body].R
    return placed(model, motion, frame.axes).R
