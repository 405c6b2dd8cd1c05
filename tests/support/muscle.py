"""A kind of element that Cutjoint does not have, in one file: run as a program it is `cutjoint` with muscles.

A muscle pulls its ends together with a·F; its activation a follows what it is told with a lag, ȧ = (u − a)/T.
Beside that it is a spring and a damper: thrust = k(L₀ − L) − c L̇ − a F.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import casadi as ca
from cutjoint.model.describe.elements import ORIGIN, Number, Vector
from cutjoint.model.describe.field_kinds import Group, Reference
from cutjoint.model.describe.fields import NOT_NEGATIVE, ONE, POSITIVE, Quantity
from cutjoint.model.describe.inputs import Input
from cutjoint.model.describe.mechanism import Mechanism
from cutjoint.model.equations.elements.contract import (
    Action,
    Element,
    Flow,
    InternalState,
    Output,
    Wrench,
    register,
)
from cutjoint.model.equations.elements.instant import Instant
from cutjoint.model.equations.struts import body_point
from cutjoint.model.joints.types import JointType


@dataclass(frozen=True)
class Muscle:
    """Its numbers, and its input."""

    name: str
    body1: Annotated[str, Reference("where it starts", "body")]
    body2: Annotated[str, Reference("where it ends", "body")]
    point1: Annotated[Vector, Quantity("where on `body1`", "m", 3, on="body1")] = ORIGIN
    point2: Annotated[Vector, Quantity("where on `body2`", "m", 3, on="body2")] = ORIGIN
    rest: Annotated[Number, Quantity("relaxed length", "m", ONE, POSITIVE)] = 1.0
    stiffness: Annotated[Number, Quantity("stiffness", "N/m", ONE, NOT_NEGATIVE)] = 0.0
    damping: Annotated[Number, Quantity("damping", "N.s/m", ONE, NOT_NEGATIVE)] = 0.0
    strength: Annotated[Number, Quantity("pull at full activation", "N", ONE, POSITIVE)] = 1.0
    lag: Annotated[Number, Quantity("time constant of the activation", "s", ONE, POSITIVE)] = 0.1

    def inputs(self, kind: JointType | None) -> tuple[Input, ...]:
        about = f"wanted activation of {self.name}"
        return (Input(self.name, f"muscle.{self.name}", "command", ("1",), about, low=0.0, high=1.0),)


class MuscleElement(Element):
    """What it does."""

    group, word = "muscles", "muscle"
    field = Group("what contracts", Muscle, "muscle", ("muscles",))

    def states(self, item: Muscle, mechanism: Mechanism) -> list[InternalState]:
        return [InternalState("activation", ("1",), f"activation of {item.name}")]

    def outputs(self, item: Muscle, mechanism: Mechanism) -> list[Output]:
        return [
            Output("tension", ("N",), f"with what {item.name} pulls"),
            Output("length", ("m",), f"length of {item.name}", low=0.0),
        ]

    def evaluate(self, item: Muscle, at: Instant, u: Mapping[str, Any], z: Mapping[str, Any]) -> Action:
        first, second = (
            body_point(at.model, at.motion, body, point)
            for body, point in ((item.body1, item.point1), (item.body2, item.point2))
        )
        d, a = second.r - first.r, z["activation"]
        length = ca.norm_2(d)
        rate = ca.dot(d / length, second.v - first.v)
        stretch, pull = length - item.rest, a * item.strength
        tension = item.stiffness * stretch + item.damping * rate + pull
        force, none = tension / length * d, ca.SX.zeros(3, 1)
        return Action(
            wrenches=[Wrench(first.link, first.r, force, none), Wrench(second.link, second.r, -force, none)],
            potential=0.5 * item.stiffness * stretch**2,
            supplied=-pull * rate,
            dissipated=item.damping * rate**2,
            flows={"activation": Flow((u["command"] - a) / item.lag, 1 / item.lag)},
            values={"tension": tension, "length": length},
        )


MUSCLES = MuscleElement()

if __name__ == "__main__":
    from cutjoint.model.cli.main import main

    register(MUSCLES)
    sys.exit(main(sys.argv[1:]))
