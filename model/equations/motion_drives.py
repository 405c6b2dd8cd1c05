"""Driven motions: joints and cylinders that follow an input, as rows of g, G and γ behind the couplings'.

With the motion s(t) of a joint with one freedom, whose coordinate is q in the tree and measured between its
two ends where it is cut (rheonomic constraints, paper 001):

    position:  0 = g = q − s,   0 = q̇ − ṡ,   0 = q̈ − s̈          velocity:  the last two, no pose is held

so b = ∂g/∂t = −ṡ and γ = s̈ − (what q̈ is without accelerations). The torque of the motor is −λ, and its power
−λ ṡ = λ b. An acceleration holds neither poses nor speeds: it is met by the force that it takes, a row of the
equations of motion alone.

s, ṡ and s̈ are symbols behind the parameters in p, so that all that closes loops knows them. As inputs they
are also in u, from where they are copied (`with_motions`); `later_inputs` says where time takes them.
"""

from typing import Any, NamedTuple

import casadi as ca

from ..describe.mechanism import Mechanism, Strut
from ..describe.motors import ACCELERATION, MOTIONS, POSITION, Motor, signal_names
from ..joints.measured import driven_row
from ..joints.rows import Row
from .couplings import Tie
from .kinematics import Model, Motion
from .struts import length_tie


class Symbols(NamedTuple):
    """s, ṡ, s̈ of a motor's joint; s is zero where no pose is held."""

    s: Any
    ds: Any
    dds: Any


def motion_symbols(mechanism: Mechanism) -> tuple[Any, dict[str, Symbols]]:
    """The symbols of all driven motions in one column, and by motor."""
    column, found = [ca.SX(0, 1)], {}
    for motor in mechanism.driven:
        own = [ca.SX.sym(name) for name in signal_names(motor)]
        column += own
        found[motor.name] = Symbols(*([ca.SX(0)] * (len(MOTIONS) - len(own)) + own))
    return ca.vertcat(*column), found


class DrivenTie(NamedTuple):
    """The row of a driven motion, and the cut joint it acts at, if it does."""

    tie: Tie
    at_cut: tuple[Any, Row] | None


def driven_ties(
    model: Model, motion: Motion, loops: Any, motors: tuple[Motor | Strut, ...]
) -> list[DrivenTie]:
    """The rows that hold the motions of these motors and cylinders."""
    cuts = {loop.joint.name: loop for loop in loops}
    found = []
    for motor in motors:
        at = model.motions.get(motor.name, Symbols(*[ca.SX(0)] * 3))
        if isinstance(motor, Strut):
            tie = length_tie(model, motion, motor.name, *at)
            tie = tie if motor.drive == POSITION else tie._replace(residual=ca.SX(0))
            found.append(DrivenTie(tie, None))
            continue
        if motor.joint in model.tree.v:
            k = model.tree.v[motor.joint].start
            miss = motion.q[model.tree.q[motor.joint].start] - at.s if motor.drive == POSITION else ca.SX(0)
            tie = Tie(miss, {k: ca.SX(1)}, motion.dv[k] - at.dds, -at.ds)
            found.append(DrivenTie(tie, None))
            continue
        loop = cuts[motor.joint]
        row = driven_row(loop.joint, loop.near, at.s, -at.ds)
        speeds = (row.wi, loop.i.dw), (row.wj, loop.j.dw), (row.ri, loop.i.dv), (row.rj, loop.j.dv)
        acceleration = row.bias + sum(ca.dot(c, x) for c, x in speeds) - at.dds
        miss = row.residual if motor.drive == POSITION else ca.SX(0)
        tie = Tie(miss, loop.slopes(model, motion, row), acceleration, row.rate)
        found.append(DrivenTie(tie, (loop, row)))
    return found


def tie_rows(model: Model, driven: list[DrivenTie]) -> Any:
    """What G would hold of them, a row each."""
    rows = ca.SX(len(driven), model.tree.nv)
    for n, (tie, _) in enumerate(driven):
        for k, slope in tie.slopes.items():
            rows[n, k] = slope
    return rows


def accelerated(mechanism: Mechanism) -> tuple[Motor | Strut, ...]:
    """Motors and cylinders whose input is an acceleration."""
    return tuple(item for item in mechanism.drives if item.drive == ACCELERATION)


def driven_joint(item: Motor | Strut) -> str:
    """The joint that follows, empty for a cylinder."""
    return item.joint if isinstance(item, Motor) else ""


def with_motions(mechanism: Mechanism, u: Any, p: Any) -> Any:
    """p with the motions that are among the inputs u (and what may stand behind them)."""
    places = motion_places(mechanism)
    return ca.vertcat(p[: p.numel() - len(places)], u[places]) if places else p


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
