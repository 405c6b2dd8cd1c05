"""Statics over a stroke: the efforts that hold a mechanism at rest, and its natural frequencies there.

At every value of one coordinate y the loops are closed, and inputs u with v̇(q, v = 0, u) = 0 are found
(`equilibrium.hold`). Frequencies are Im λ / 2π of the exact linear model with these inputs held constant.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from math import inf

import numpy as np

from ..base.errors import AssemblyError, CutjointError, SimulationError
from ..base.thresholds import GROWTH
from ..describe.mechanism import Mechanism
from ..describe.motors import POSITION
from ..describe.validation import nearest
from ..joints.types import TYPES
from ..simulation import Simulation
from .equilibrium import hold


@dataclass(frozen=True)
class StaticPoint:
    """A pose of the stroke at rest; `problem` says why there is none."""

    value: float  # of the coordinate, m or rad
    efforts: dict[str, float] = field(default_factory=dict)  # motor or cylinder -> N·m or N
    reactions: dict[str, float] = field(default_factory=dict)  # joint -> magnitude of its force, N
    frequencies: tuple[float, ...] = ()  # Hz, of what oscillates, lowest first
    verdict: str = ""  # stable, marginal or unstable
    problem: str = ""


class Stroke:
    """A coordinate that is led through values: of a joint, of a motor's joint, or a cylinder's length."""

    def __init__(self, simulation: Simulation, name: str):
        self.simulation, mechanism = simulation, simulation.mechanism
        self.joint, self._led = _joint_of(mechanism, name), None
        if self.joint:
            kind = TYPES[mechanism.joint(self.joint).type]
            if len(kind.position_units) != 1:
                raise CutjointError(
                    f"joint '{self.joint}' has {len(kind.position_units)} coordinates, not one"
                )
            self.unit = kind.position_units[0]
            self.start = float(simulation.outputs()[f"joint.{self.joint}.position"])
            self._others = [m.joint for m in mechanism.motors if m.joint != self.joint]
        else:
            self.unit, self._name = "m", name
            struts = [
                replace(s, drive=POSITION, limit=inf) if s.name == name else s for s in mechanism.struts
            ]
            self._led = Simulation(replace(mechanism, struts=tuple(struts)), compile=False)
            self.start = float(self._led.outputs()[f"strut.{name}.length"])

    def lead(self, value: float) -> None:
        """Close the loops with the coordinate at a value; other driven joints stay where they are."""
        s = self.simulation
        if self._led is None:
            known = s.outputs()
            s.assemble({n: known[f"joint.{n}.position"] for n in self._others} | {self.joint: value})
            return
        led = self._led
        led.set_inputs({self._name: value})
        led.assemble()
        q = s.state.q
        for name, where in s.tree.q.items():
            q[where] = led.q[led.tree.q[name]]
        s.put(replace(s.state, q=q))
        s.assemble()

    def at(self, value: float) -> StaticPoint:
        """The mechanism at rest there."""
        s = self.simulation
        try:
            self.lead(value)
            rest = hold(s)
        except (SimulationError, AssemblyError) as problem:
            return StaticPoint(value, problem=str(problem))
        known = s.outputs()
        efforts = {n.split(".")[1]: float(known[n]) for n in known if n.endswith(".effort")}
        reactions = {
            n.split(".")[1]: float(np.linalg.norm(known[n]))
            for n in known
            if n.startswith("reaction.") and n.endswith(".force")
        }
        least = GROWTH * (1 + np.abs(rest.eigenvalues).max(initial=0.0))  # below is round-off of zero
        turns = rest.eigenvalues.imag[rest.eigenvalues.imag > least]
        return StaticPoint(
            value, efforts, reactions, tuple(sorted((turns / (2 * np.pi)).tolist())), rest.verdict
        )


def statics_over(simulation: Simulation, name: str, values: Iterable[float]) -> list[StaticPoint]:
    """The mechanism at rest, for each value of a coordinate: efforts, reactions, natural frequencies.

    Parameters
    ----------
    simulation : the mechanism; it ends at the last value.
    name : of a joint with one coordinate, of a motor on one, or of a cylinder, whose length it is.
    values : of the coordinate, m or rad.
    """
    stroke = Stroke(simulation, name)
    return [stroke.at(float(value)) for value in values]


def _joint_of(mechanism: Mechanism, name: str) -> str:
    """The joint that a name means: a motor's, or its own; none for a cylinder."""
    motors = {motor.name: motor.joint for motor in mechanism.motors}
    joints = [joint.name for joint in mechanism.joints]
    cylinders = [strut.name for strut in mechanism.struts if strut.actuated]
    if name in motors or name in joints:
        return motors.get(name, name)
    if name in cylinders:
        return ""
    raise CutjointError(
        f"there is no motor, cylinder or joint '{name}'; {nearest(name, [*motors, *joints, *cylinders])}"
    )
