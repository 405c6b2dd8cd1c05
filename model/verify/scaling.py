"""The same mechanism in other units of mass, length and time: the motion must be the same."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ..base.thresholds import SCALE_TRUSTED
from ..base.units import parse_unit
from ..describe import parameters
from ..describe.mechanism import Coupling, Mechanism
from ..equations.elements.contract import internal_states
from ..joints.types import TYPES
from ..simulation import Simulation
from ..state import State
from .report import Check, check_within, skipped

FACTORS = ((1e6, 1e-3, 1e2), (1e-6, 1e3, 1e-2))  # of mass, length, time
STEPS = 20
PLAIN = (1.0, 1.0, 1.0)


def factor(unit: str, mass: float, length: float, time: float) -> float:
    """By what a number in this unit is multiplied."""
    known = parse_unit(unit)
    assert known is not None, unit
    return mass**known.mass * length**known.length * time**known.time


def scale_units(mechanism: Mechanism, *by: float) -> Mechanism:
    """All masses, lengths and times of a description multiplied."""
    result = replace(mechanism, parameters={}, outputs={})
    for path in parameters.paths(result):
        value = np.ravel(parameters.lookup(result, path.whole))
        new = [x * factor(unit, *by) for x, unit in zip(value, path.units, strict=True)]
        result = parameters.replace_value(result, path.whole, new[0] if path.alone else new)
    joints = []
    for joint in result.joints:
        kind = TYPES[joint.type]
        start = tuple(x * factor(u, *by) for x, u in zip(joint.start, kind.position_units, strict=False))
        speed = tuple(x * factor(u, *by) for x, u in zip(joint.speed, kind.speed_units, strict=False))
        unit = kind.position_units[0] if kind.position_units else "1"
        low, high = (x * factor(unit, *by) for x in joint.limits)
        knee = joint.friction_speed
        if not joint.friction and kind.speed_units:  # no parameter, but the knee of a gear's losses
            knee *= factor(kind.speed_units[0], *by)
        joints.append(
            replace(joint, start=start, speed=speed, limits=(low, high), friction_speed=float(knee))
        )
    kinds = {motor.name: TYPES[result.joint(motor.joint).type].speed_units[0] for motor in result.motors}
    units = {name: "N.m" if unit == "rad/s" else "N" for name, unit in kinds.items()}
    motors = tuple(
        replace(
            m,
            limit=m.limit * factor(units[m.name], *by),
            top_speed=m.top_speed * factor(kinds[m.name], *by),
            supply=m.supply * factor("V", *by),
        )
        for m in result.motors
    )
    frames = tuple(replace(f, at=tuple(x * by[1] for x in f.at)) for f in result.frames)
    struts = tuple(replace(s, limit=s.limit * factor("N", *by)) for s in result.struts)
    couplings = tuple(_retied(result, tie, *by) for tie in result.couplings)
    return replace(
        result, joints=tuple(joints), motors=motors, struts=struts, couplings=couplings, frames=frames
    )


def _retied(mechanism: Mechanism, tie: Coupling, *by: float) -> Coupling:
    """A relation between coordinates in other units: its ratios have those of its joints."""
    unit, *units = (
        factor(TYPES[mechanism.joint(name).type].position_units[0], *by) for name in (tie.joint, *tie.follows)
    )
    ratio = tuple(r * unit / other for r, other in zip(tie.ratio, units, strict=True))
    curve = tuple(c * unit / units[0] ** power for power, c in enumerate(tie.curve, 2))
    return replace(tie, ratio=ratio, curve=curve)


def motion(
    mechanism: Mechanism,
    inputs: Sequence[float],
    h: float,
    steps: int,
    *by: float,
    stepper: str = "runge_kutta",
    start: State | None = None,
) -> np.ndarray:
    """Coordinates and speeds after some steps from a start, or its own, in units of the unscaled one."""
    simulation = Simulation(scale_units(mechanism, *by), compile=False, stepper=stepper)
    names = simulation.variables()
    units = [names.inputs.find(name).unit for name in simulation.inputs]
    simulation.set_inputs([x * factor(u, *by) for x, u in zip(inputs, units, strict=True)])
    own = names.positions, names.speeds, internal_states(mechanism)
    q, v, z = (np.array([factor(unit, *by) for item in items for unit in item.units]) for items in own)
    if start is not None:
        simulation.put(replace(simulation.state, q=start.q * q, v=start.v * v, z=start.z * z))
    for _ in range(steps):
        simulation.step(h * by[2])
    return np.concatenate([simulation.q / q, simulation.v / v, simulation.z / z])


def check_scales(simulation: Simulation, h: float) -> Check:
    """The first steps from the present state again with other masses, lengths and times.

    The start is given: where a description is drawn open at a singular pose, round-off decides how it closes.
    """
    name, mechanism = "scale invariance", simulation.mechanism
    for joint in mechanism.joints:
        if joint.friction and len(set(TYPES[joint.type].speed_units)) > 1:
            return skipped(
                name, f"friction of '{joint.name}' has one knee for turns and slides: it has no scale"
            )
    plain, *others = (
        motion(
            mechanism, list(simulation.u), h, STEPS, *by, stepper=simulation.stepper, start=simulation.state
        )
        for by in (PLAIN, *FACTORS)
    )
    apart = max(float(np.abs(other - plain).max(initial=0.0)) for other in others)
    worst = apart / max(float(np.abs(plain).max(initial=0.0)), 1.0)
    return check_within(
        name, worst, SCALE_TRUSTED, f"of the motion's numbers after {STEPS} steps in other units"
    )
