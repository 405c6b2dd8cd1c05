"""Controllers that can be written as texts, for quick closed loops: `pd(kp=100, kd=5, target=0.2)`.

They are sampled as those of one's own are: asked once a step, held until the next.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ..base.errors import CutjointError, DescriptionError
from ..describe.validation import nearest
from ..laws import Law, constant
from ..laws.texts import Call, make_law, named, number_of, parse_law
from ..state import Stepper

USAGE = "pd(kp=…, [kd=…], [target=LAW], [feedforward=LAW])"
_KNOWN = {"kp": "", "kd": "", "target": "", "feedforward": ""}


class PD(NamedTuple):
    """u = kp·(target − q) + kd·(d/dt target − q̇) + feedforward, for the joint of one motor."""

    kp: float
    kd: float
    target: Law
    feedforward: Law

    def __call__(self, t: float, q: float, v: float) -> float:
        x, dx, _ = self.target(t)
        return float(self.kp * (x[0] - q) + self.kd * (dx[0] - v) + self.feedforward(t).x[0])


class Loops:
    """A controller made of one loop for each of some motors."""

    def __init__(self, simulation: Stepper, loops: Mapping[str, PD]):
        joints = {motor.name: motor.joint for motor in simulation.mechanism.motors}
        outputs = simulation.engine.variables.outputs
        names = (f"joint.{joints[motor]}.{what}" for motor in loops for what in ("position", "velocity"))
        self._rows = np.array([outputs.find(name).where.start for name in names], int)
        self.loops = loops

    def __call__(self, t: float, simulation: Stepper) -> dict[str, float]:
        seen = simulation.read(self._rows).reshape(-1, 2)
        return {name: loop(t, *x) for (name, loop), x in zip(self.loops.items(), seen, strict=True)}


def controller(simulation: Stepper, texts: Sequence[str]) -> Loops:
    """The controller of texts such as `pd(kp=100, kd=5)`, for every motor, or `motor1=pd(…)` for one.

    A `target` that is not given is where the joint is now.
    """
    motors = [motor.name for motor in simulation.mechanism.motors]
    loops: dict[str, PD] = {}
    for text in texts:
        head, equals, rest = text.partition("=")
        chosen = [head.strip()] if equals and "(" not in head else motors
        try:
            for name in chosen:
                if name not in motors:
                    raise DescriptionError(f"there is no motor '{name}'; {nearest(name, motors)}")
                if name in loops:
                    raise DescriptionError(f"motor '{name}' has two controllers; give it one")
                loops[name] = _pd(simulation, name, rest if chosen is not motors else text)
        except CutjointError as error:
            raise DescriptionError(f"controller '{text.strip()[:60]}': {error}") from None
    if not loops:
        raise DescriptionError(f"'{simulation.mechanism.name}' has no motor to control")
    return Loops(simulation, loops)


def _pd(simulation: Stepper, name: str, text: str) -> PD:
    call = parse_law(text)
    if not isinstance(call, Call) or call.name != "pd":
        raise DescriptionError(f"there is no such controller; write {USAGE}")
    given = named(call, _KNOWN, ["kp"], USAGE)
    variables = simulation.engine.variables
    joint = next(m.joint for m in simulation.mechanism.motors if m.name == name)
    place = variables.outputs.find(f"joint.{joint}.position")
    u, x = variables.inputs.find(name).unit, place.unit
    if u not in ("N.m", "N"):
        raise DescriptionError(f"the input of '{name}' is no torque or force but a motion; give it a law")
    here = float(simulation.read(np.array([place.where.start]))[0])
    return PD(
        number_of(given["kp"], f"{u}/{x}", "pd: kp"),
        number_of(given.get("kd", "0"), f"{u}.s/{x}", "pd: kd"),
        make_law(given["target"], x) if "target" in given else constant(here),
        make_law(given.get("feedforward", "0"), u),
    )
