"""Motion drives: joints and cylinders that follow an input, as rows of g, G and γ behind the couplings'.

With the motion s(t) of a joint with one freedom and the coordinate q (rheonomic constraints, paper 001):

    position:  0 = g = q − s,   0 = q̇ − ṡ,   0 = q̈ − s̈          velocity:  the last two, no pose is held

so b = ∂g/∂t = −ṡ and γ = s̈ − (what q̈ is without accelerations). The torque of the motor is −λ, and its power
−λ ṡ = λ b. An acceleration holds neither poses nor speeds: it is met by the force that it takes, a row of the
equations of motion alone.

s, ṡ and s̈ are inputs, in u at the places of `motion_places`. All of them in one column are called s: what
closes loops takes that alone, what forces do takes u. G depends on none of them. `later_inputs` says where
time takes them.
"""

from typing import Any, NamedTuple

import casadi as ca

from ..describe.mechanism import Mechanism, Strut
from ..describe.motors import ACCELERATION, MOTIONS, POSITION, Motor, signal_names
from .couplings import Tie
from .kinematics import Model, Motion
from .struts import length_tie


class Symbols(NamedTuple):
    """s, ṡ, s̈ of a motor's joint; s is zero where no pose is held."""

    s: Any
    ds: Any
    dds: Any


def motion_symbols(mechanism: Mechanism, u: Any) -> dict[str, Symbols]:
    """The symbols of driven motions among those of inputs, by motor."""
    names, found = mechanism.inputs(), {}
    for motor in mechanism.driven:
        own = [u[names.index(name)] for name in signal_names(motor)]
        found[motor.name] = Symbols(*([ca.SX(0)] * (len(MOTIONS) - len(own)) + own))
    return found


def driven_ties(model: Model, motion: Motion, motors: tuple[Motor | Strut, ...]) -> list[Tie]:
    """The rows that hold the motions of these motors and cylinders; a motor's joint is in the tree."""
    found = []
    for motor in motors:
        at = model.motions.get(motor.name, Symbols(*[ca.SX(0)] * 3))
        if isinstance(motor, Strut):
            tie = length_tie(model, motion, motor.name, *at)
            found.append(tie if motor.drive == POSITION else tie._replace(residual=ca.SX(0)))
            continue
        k = model.tree.v[motor.joint].start
        miss = motion.q[model.tree.q[motor.joint].start] - at.s if motor.drive == POSITION else ca.SX(0)
        found.append(Tie(miss, {k: ca.SX(1)}, motion.dv[k] - at.dds, -at.ds))
    return found


def tie_rows(model: Model, driven: list[Tie]) -> Any:
    """What G would hold of them, a row each."""
    rows = ca.SX(len(driven), model.tree.nv)
    for n, tie in enumerate(driven):
        for k, slope in tie.slopes.items():
            rows[n, k] = slope
    return rows


def acceleration_drives(mechanism: Mechanism) -> tuple[Motor | Strut, ...]:
    """Motors and cylinders whose input is an acceleration."""
    return tuple(item for item in mechanism.drives if item.drive == ACCELERATION)


def driven_joint(item: Motor | Strut) -> str:
    """The joint that follows, empty for a cylinder."""
    return item.joint if isinstance(item, Motor) else ""


def motion_places(mechanism: Mechanism) -> list[int]:
    """Where the motions stand among the inputs."""
    names = mechanism.inputs()
    return [names.index(name) for name in mechanism.motions]


def motion_rates(mechanism: Mechanism) -> list[int]:
    """Where the rate of each motion stands among the inputs; −1 where it is none of them."""
    names = mechanism.inputs()
    rates = (rate for motor in mechanism.driven for rate in (*signal_names(motor)[1:], None))
    return [names.index(rate) if rate else -1 for rate in rates]


def later_inputs(mechanism: Mechanism, w: Any, t: Any) -> Any:
    """Inputs, and their rates if w has them behind, after t seconds; motions go on by their derivatives.

    The rate of the highest derivative counts, which is all that is not known of a motion.
    """
    count = len(mechanism.inputs())
    along = w.numel() > count
    later = [w[k] + t * w[count + k] if along else w[k] for k in range(count)]
    names = mechanism.inputs()
    for motor in mechanism.driven:
        at = [names.index(name) for name in signal_names(motor)]
        series = [w[k] for k in at] + ([w[count + at[-1]]] if along else [])
        for n, k in enumerate(at):
            later[k] = ca.MX(0)
            for rate in reversed(range(n, len(series))):  # Horner: s + t(ṡ + t/2(s̈ + t/3 …))
                later[k] = series[rate] + t / (rate - n + 1) * later[k]
    return ca.vertcat(*later, w[count:])
