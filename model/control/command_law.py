"""One path from a command to the inputs, traced: node, native loop and ros2_control plugin run the same code.

An order tells each input a force, a position or a velocity (`kind`, `value`), and for a motion the `rate` and
`acceleration` that go with it. On its way it is

1. made of one value for each input (`order_of_values`), or of efforts, positions and velocities
   (`order_of_fields`),
2. refused where no drive could do it (`check_order`), relaxed when its sender falls silent (`relax_order`),
   put aside while an emergency stop or a brake is on (`stop_order`),
3. given to the inputs as it is (`give_inputs`), and where an input is a force that is to move by computed
   torque (`follow_order`):

    a = q̈_d + 2ω(q̇_d − q̇) + ω²(q_d − q),

of which the exact forces follow (`equations/feedback_linearization.py`): an error fades like that of a
critically damped oscillator of frequency ω, whatever the pose. At rest at its goal an input gives exactly the
force that holds it there. A servo, or a driven motion, follows by itself: its inputs are a place and its
rate, and one of a given speed is led on ahead.

No motion is asked for beyond a joint's stops, or faster than its `speed_limit` V: places and rates
are cut, a speed towards a stop fades with the way that is left, and a is kept between −2ω(V + q̇) and
2ω(V − q̇). No force is larger than its row of the table of inputs says. A force without a limit that follows
gets up to `AMPLE` times what it takes to hold the start: the force that does, or the mechanism's whole weight
at the length of its size, or the inertia that it feels at an error of `FOLLOWED`, whichever is the largest.
"""

from collections.abc import Callable
from copy import copy
from math import inf, isfinite, nan
from typing import Any, NamedTuple

import casadi as ca
import numpy as np

from ..base.thresholds import AMPLE, FOLLOWED
from ..describe.inputs import MOTION_ROLES, Input
from ..describe.mechanism import Mechanism
from ..describe.motors import MOTIONS
from ..equations.feedback_linearization import driving
from ..equations.single_joints import single_joints, value_names
from ..equations.spatial import lump_point_masses
from ..equations.terms import Equations
from .command_policy import RANGE_OF_OTHERS

FORCE, POSITION, VELOCITY = range(3)  # what an input is told
ORDER = ("kind", "value", "rate", "acceleration")


def input_columns(mechanism: Mechanism) -> list[Input]:
    """The row of the table of inputs for each number in u."""
    return [row for row in mechanism.input_table for _ in row.units]


def driven_values(mechanism: Mechanism, joints: list[str]) -> list[int]:
    """What each input drives: a place among single joints, whose joints these are, and cylinders behind
    them; −1 for one that moves nothing of its own."""
    cylinders = [strut.name for strut in mechanism.struts if strut.actuated]
    known = [f"joint.{x}.position" for x in joints] + [f"strut.{x}.length" for x in cylinders]
    return [known.index(row.drives) if row.drives else -1 for row in input_columns(mechanism)]


def follows_by_force(row: Input) -> bool:
    """Whether it moves by a force computed here; others follow by themselves, or move nothing."""
    return bool(row.drives) and not row.follows


class Limits(NamedTuple):
    """How far and how fast orders may lead what an input drives."""

    low: float = -inf
    high: float = inf
    speed: float = inf


def motion_limits(mechanism: Mechanism) -> list[Limits]:
    """For each number in u: stops and speed limit of its joint."""
    motors = {f"motor.{motor.name}": motor for motor in mechanism.motors}
    found: list[Limits] = []
    for row in input_columns(mechanism):
        motor = motors.get(row.element)
        if motor is None or not row.drives:
            found.append(Limits())
            continue
        joint = mechanism.joint(motor.joint)
        found.append(Limits(*joint.limits, joint.speed_limit))
    return found


def _keep_limits(mechanism: Mechanism, order: list[Any], position: Any, frequency: Any) -> list[Any]:
    """The order without what leads beyond stops and speeds; who is beyond a stop already may stay there."""
    kind, value, rate, acceleration = (copy(part) for part in order)
    for k, (low, high, speed) in enumerate(motion_limits(mechanism)):
        slow = rate[k] if speed == inf else _within(rate[k], -speed, speed)
        goal, velocity, inside = value[k], value[k], ca.SX(1)
        if (low, high) != (-inf, inf):
            goal = _within(value[k], ca.fmin(low, position[k]), ca.fmax(high, position[k]))
            inside = goal == value[k]
            ways = [
                frequency / 2 * x for x in (ca.fmin(low - position[k], 0), ca.fmax(high - position[k], 0))
            ]
            velocity = _within(velocity, *ways)
        if speed != inf:
            velocity = _within(velocity, -speed, speed)
        if (low, high, speed) != Limits():
            value[k] = ca.if_else(
                kind[k] == POSITION, goal, ca.if_else(kind[k] == VELOCITY, velocity, value[k])
            )
            rate[k], acceleration[k] = inside * slow, inside * acceleration[k]
    return [kind, value, rate, acceleration]


def order_of_values(mechanism: Mechanism) -> ca.Function:
    """(values) → order: forces, and places and rates of servos and driven motions."""
    values = ca.SX.sym("values", len(mechanism.inputs()))
    kind, rate, acceleration = (ca.SX.zeros(values.shape) for _ in range(3))
    told: dict[str, dict[str, int]] = {}
    for row in mechanism.input_table:
        told.setdefault(row.element, {})[row.role] = row.first
    for own in told.values():
        _, speed, more = (values[own[x]] if x in own else ca.SX(0) for x in MOTIONS)
        if "position" in own:
            at = own["position"]
            kind[at], rate[at], acceleration[at] = (
                POSITION,
                values[own["speed"]] if "speed" in own else speed,
                more,
            )
        elif "velocity" in own:
            kind[own["velocity"]], acceleration[own["velocity"]] = VELOCITY, more
    return _function("order_of_values", [values], ["values"], [kind, values, rate, acceleration])


def order_of_fields(mechanism: Mechanism) -> ca.Function:
    """(effort, position, velocity, acceleration, order) → order: NaN says nothing, and the order stays.

    An effort is a force; without one a position is followed, and the velocity with it, or a velocity alone.
    A force told to an input that is a position or a rate, or a motion to one that moves nothing, becomes NaN,
    which `check_order` refuses.
    """
    rows = input_columns(mechanism)
    n = len(rows)
    fields = [ca.SX.sym(name, n) for name in ("effort", "position", "velocity", "more")]
    before = _order(n)
    columns: list[list[Any]] = []
    for k in range(n):
        effort, place, speed, more = (x[k] for x in fields)
        given = ca.if_else(more <= inf, more, 0)
        ways = [
            (effort, (FORCE, effort, 0, 0)),
            (place, (POSITION, place, ca.if_else(speed <= inf, speed, 0), given)),
            (speed, (VELOCITY, speed, 0, given)),
        ]
        if rows[k].role in MOTION_ROLES:
            ways[0] = effort, (FORCE, nan, 0, 0)
        if not rows[k].drives:
            ways[1:] = [(x, (kind, nan, 0, 0)) for x, (kind, *_) in ways[1:]]
        order = [part[k] for part in before]
        for told, new in reversed(ways):  # what is not a number compares with nothing
            order = [ca.if_else(told <= inf, x, old) for x, old in zip(new, order, strict=True)]
        columns.append(order)
    order = [ca.vertcat(ca.SX(0, 1), *(column[i] for column in columns)) for i in range(len(ORDER))]
    names = ["effort", "position", "velocity", "more", *ORDER]
    return _function("order_of_fields", [*fields, *before], names, order)


def check_order(mechanism: Mechanism) -> ca.Function:
    """(order, ranges) → (refused, saturated): the number of the first input that nothing could obey, or 0;
    and that of the first that a limit cuts."""
    n = len(mechanism.inputs())
    order, ranges = _order(n), ca.SX.sym("ranges", n)
    kind, value, *motion = order
    refused, saturated, limits = ca.SX(0), ca.SX(0), motion_limits(mechanism)
    for k, row in reversed(list(enumerate(input_columns(mechanism)))):
        most = ca.if_else(kind[k] == FORCE, ranges[k], RANGE_OF_OTHERS)
        fine = ca.fabs(value[k]) <= most
        for part in motion:
            fine = ca.logic_and(fine, ca.fabs(part[k]) <= RANGE_OF_OTHERS)
        refused = ca.if_else(fine, refused, k + 1)
        low, high, speed = limits[k]
        bounds = [(FORCE, row.low, row.high), (POSITION, low, high), (VELOCITY, -speed, speed)]
        cut = ca.logic_and(kind[k] != FORCE, ca.fabs(motion[0][k]) > speed)
        for told, least, most in bounds:
            beyond = ca.logic_or(value[k] < least, value[k] > most)
            cut = ca.logic_or(cut, ca.logic_and(kind[k] == told, beyond))
        saturated = ca.if_else(cut, k + 1, saturated)
    names = [*ORDER, "ranges"], ["refused", "saturated"]
    return ca.Function("check_order", [*order, ranges], [refused, saturated], *names)


def relax_order(mechanism: Mechanism) -> ca.Function:
    """(order, age, timeout, stays) → (order, silent): the watchdog.

    After more than `timeout` seconds without news (0: never) nothing goes on: positions are held as they were
    told, and forces and velocities vanish, unless they are to stay.
    """
    kind, value, rate, acceleration = order = _order(len(mechanism.inputs()))
    given = age, timeout, stays = [ca.SX.sym(name) for name in ("age", "timeout", "stays")]
    silent = ca.logic_and(timeout > 0, age > timeout)
    kept = ca.logic_or(ca.logic_not(silent), ca.logic_or(stays, kind == POSITION))
    new = [kind, ca.if_else(kept, value, 0), *(ca.if_else(silent, 0, x) for x in (rate, acceleration))]
    names = [*ORDER, "age", "timeout", "stays"]
    return _function("relax_order", [*order, *given], names, new, silent=silent)


def stop_order(mechanism: Mechanism) -> ca.Function:
    """(position, brake) → order: forces vanish, or with `brake` drives hold where they are.

    What follows by itself, a servo or a driven motion, can't coast: it stays where it is.
    """
    rows = input_columns(mechanism)
    position, brake = ca.SX.sym("position", len(rows)), ca.SX.sym("brake")
    kinds: list[Any] = []
    for row in rows:
        servo = {"position": POSITION, "velocity": VELOCITY}.get(row.role, FORCE) if row.follows else FORCE
        kinds.append(ca.if_else(brake, POSITION, FORCE) if follows_by_force(row) else ca.SX(servo))
    kind = ca.vertcat(ca.SX(0, 1), *kinds)
    still = ca.SX.zeros(position.shape)
    order = [kind, ca.if_else(kind == POSITION, position, 0), still, still]
    return _function("stop_order", [position, brake], ["position", "brake"], order)


def give_inputs(mechanism: Mechanism) -> ca.Function:
    """(order, position, frequency) → u: what inputs are given without any law, forces within their limits."""
    rows = input_columns(mechanism)
    order = _order(len(rows))
    position, frequency = ca.SX.sym("position", len(rows)), ca.SX.sym("frequency")
    kind, value, rate, acceleration = _keep_limits(mechanism, order, position, frequency)
    first = {row.element: k for k, row in reversed(list(enumerate(rows)))}
    exact, given = {mechanism.inputs().index(name) for name in mechanism.motions}, []
    for k, row in enumerate(rows):
        at = (
            first[row.element] if row.role in MOTION_ROLES else k
        )  # whose order it follows: the first of its motor
        told = ca.SX(0)
        if row.follows and row.role == "position":
            lead = position[k] + (0 if k in exact else value[at] / frequency)
            told = ca.if_else(kind[at] == VELOCITY, lead, value[at])
        elif row.follows and row.role in ("speed", "velocity"):
            told = ca.if_else(kind[at] == POSITION, rate[at], value[at])
        elif row.follows and row.role == "acceleration":
            told = acceleration[at]
        given.append(_within(ca.if_else(kind[at] == FORCE, value[k], told), row.low, row.high))
    names = [*ORDER, "position", "frequency"], ["inputs"]
    return ca.Function(
        "give_inputs", [*order, position, frequency], [ca.vertcat(ca.SX(0, 1), *given)], *names
    )


def follow_order(eq: Equations) -> ca.Function:
    """(q, v, z, u, p, order, position, velocity, frequency, least, most) → u: inputs that obey an order.

    `position` and `velocity` are of what each input drives; `least` and `most` bound forces that follow
    (`ample`). The inputs u are not read.
    """
    n, can = eq.u.numel(), [follows_by_force(row) for row in input_columns(eq.mechanism)]
    q, v, z, u, p, frequency = *eq.symbols("q", "v", "z", "u", "p"), ca.MX.sym("frequency")
    order = kind, *_ = [ca.MX.sym(name, n) for name in ORDER]
    position, velocity, least, most = (ca.MX.sym(x, n) for x in ("position", "velocity", "least", "most"))
    given = give_inputs(eq.mechanism)(*order, position, frequency)
    arguments = [q, v, z, u, p, *order, position, velocity, frequency, least, most]
    names = (
        ["q", "v", "z", "u", "p", *ORDER, "position", "velocity", "frequency", "least", "most"],
        ["inputs"],
    )
    if not any(can):
        return ca.Function("follow_order", arguments, [given], *names)
    follows = ca.logic_and(kind != FORCE, ca.DM(np.array(can, float)))
    a = _acceleration(eq.mechanism)(*order, position, velocity, frequency)
    told = [q, v, z, given, p, a, follows, least, most]
    found = ca.Function.if_else("by_torque", _by_torque(eq), _as_given(eq))(ca.sum1(follows) > 0, *told)
    return ca.Function("follow_order", arguments, [found], *names)


def _acceleration(mechanism: Mechanism) -> ca.Function:
    """(order, position, velocity, frequency) → a, by which errors fade, within the speed limits."""
    limits = motion_limits(mechanism)
    order, frequency = _order(len(limits)), ca.SX.sym("frequency")
    position, velocity = (ca.SX.sym(name, len(limits)) for name in ("position", "velocity"))
    kind, value, rate, acceleration = _keep_limits(mechanism, order, position, frequency)
    held = kind == POSITION
    a = acceleration + 2 * frequency * (ca.if_else(held, rate, value) - velocity)
    a += frequency**2 * ca.if_else(held, value - position, 0)
    for k, (_, _, speed) in enumerate(limits):
        if speed != inf:
            a[k] = _within(a[k], *(2 * frequency * (x - velocity[k]) for x in (-speed, speed)))
    return ca.Function("acceleration", [*order, position, velocity, frequency], [a])


def _by_torque(eq: Equations) -> ca.Function:
    """(q, v, z, u, p, a, follows, least, most) → u: computed torque where an input follows."""
    q, v, z, u, p = eq.symbols("q", "v", "z", "u", "p")
    a, s, least, most = more = [ca.MX.sym(name, eq.u.numel()) for name in ("a", "s", "least", "most")]
    forces = driving(eq)(q, v, z, u, p, a, s)
    finite = ca.if_else(ca.fabs(forces) <= inf, forces, 0)  # what is not a number is no force
    bounded = ca.if_else(s, _within(finite, least, most), u)
    return ca.Function("computed_torque", [q, v, z, u, p, *more], [bounded])


def _as_given(eq: Equations) -> ca.Function:
    symbols = eq.symbols("q", "v", "z", "u", "p")
    more = [ca.MX.sym(name, eq.u.numel()) for name in ("a", "s", "least", "most")]
    return ca.Function("as_given", [*symbols, *more], [symbols[3]])


def ample(eq: Equations) -> ca.Function:
    """(q, z, u, p, frequency) → (least, most): what bounds a force that follows, found at the start."""
    rows, law, frequency = input_columns(eq.mechanism), driving(eq), ca.MX.sym("frequency")
    q, z, u, p = eq.symbols("q", "z", "u", "p")
    places = driven_values(eq.mechanism, [part.joint for part in single_joints(eq)])
    slides = [*(part.move.sliding for part in single_joints(eq)), *(True for _ in value_names(eq))]
    sliding = np.array([slides[k] for k in places], bool)
    can = ca.DM([float(follows_by_force(row)) for row in rows])
    still, none = ca.MX.zeros(*eq.v.shape), ca.MX.zeros(*eq.u.shape)
    moving = ca.DM([float(name in eq.mechanism.motions) for name in eq.mechanism.inputs()])

    def forces(a: Any) -> Any:
        return law(q, still, z, moving * u, p, a, can)

    held = forces(none)
    moved = forces(FOLLOWED * frequency**2 * ca.DM(np.where(sliding, eq.scales.length, 1.0)))
    bodies, gravity = lump_point_masses(eq.described).bodies, np.linalg.norm(eq.described.gravity)
    weight = sum(float(body.mass) for body in bodies) * float(gravity)
    arms = ca.DM(np.where(sliding, 1.0, eq.scales.length))
    most = AMPLE * ca.fmax(ca.fmax(ca.fabs(held), ca.fabs(moved - held)), weight * arms)
    sides = ([row.low for row in rows], -most), ([row.high for row in rows], most)
    limits = [[x if isfinite(x) else free[k] for k, x in enumerate(given)] for given, free in sides]
    bounds = [ca.vertcat(ca.MX(0, 1), *x) for x in limits]
    names = ["q", "z", "u", "p", "frequency"], ["least", "most"]
    return ca.Function("ample", [q, z, u, p, frequency], bounds, *names)


def _order(n: int) -> list[Any]:
    return [ca.SX.sym(name, n) for name in ORDER]


def _within(x: Any, low: Any, high: Any) -> Any:
    return ca.fmin(ca.fmax(x, low), high)


def _function(name: str, symbols: list[Any], names: list[str], order: list[Any], **more: Any) -> ca.Function:
    """A function with an order among its results, each part as long as there are inputs."""
    results = [ca.densify(ca.SX(x)) for x in (*order, *more.values())]
    return ca.Function(name, symbols, results, names, [*(f"{x}_new" for x in ORDER), *more])


PATH: dict[str, Callable[[Mechanism], ca.Function]] = {
    f.__name__: f
    for f in (order_of_values, order_of_fields, check_order, relax_order, stop_order, give_inputs)
}
