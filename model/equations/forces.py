"""Applied forces: the sum of what all elements do.

Joint forces of tree joints act on the speeds directly. Those of cut joints, and all
forces between points, become wrenches on the links, which Newton-Euler carries inward.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import casadi as ca

from .cut_joints import cut_wrenches, push_ends
from .elements.contract import Action, each
from .elements.instant import Instant
from .functions import saturated
from .kinematics import Model, Motion
from .loops import CutLoop
from .struts import StrutEnd


class Applied(NamedTuple):
    """Everything that acts on the tree besides gravity and the cut joints' reactions."""

    tau: Any  # generalized forces, nv
    wrenches: dict[int, Any]  # link -> wrench in its frame
    potential: Any  # energy stored in springs and stops
    kinetic: Any  # energy of rotors that move by themselves, and of currents
    supplied: Any  # power of motors, cylinders and loads
    dissipated: Any  # power taken by dampers and friction, not negative
    at_cuts: dict[str, Any]  # cut joint -> its own force (motor, spring, damper) on its speeds
    rates: Any  # ż of the internal states, and how fast they fade
    decays: Any
    values: dict[str, Any]  # of outputs of elements, by name
    indicators: dict[str, Any]  # of elements, by name


def applied(model: Model, motion: Motion, loops: list[CutLoop], q: Any, v: Any, z: Any, u: Any) -> Applied:
    """All applied forces at coordinates, speeds and internal states under inputs u."""
    states = {name: z[where] for name, where in model.tree.z.items()}
    done = _actions(Instant(model, motion, loops, q, v), u, states)
    forces: dict[str, Any] = {}
    for name, force in (pair for action in done.values() for pair in action.joint_forces.items()):
        forces[name] = forces.get(name, 0) + force
    wrenches: dict[int, Any] = {}
    at_cuts = {loop.joint.name: forces[loop.joint.name] for loop in loops if loop.joint.name in forces}
    for loop in (loop for loop in loops if loop.joint.name in at_cuts):
        part = cut_wrenches(loop, at_cuts[loop.joint.name])
        push_ends(wrenches, motion, loop, (part["vi"], part["wi"]), (part["vj"], part["wj"]))
    for wrench in (wrench for action in done.values() for wrench in action.wrenches):
        push(wrenches, motion, *wrench)
    flows = {f"{stem}.{name}": flow for stem, a in done.items() for name, flow in a.flows.items()}
    rates, decays = (ca.vertcat(*(flows[name][k] for name in states), ca.SX(0, 1)) for k in (0, 1))
    values = {f"{stem}.{name}": x for stem, a in done.items() for name, x in a.values.items()}
    return Applied(
        _on_tree(model, q, forces),
        wrenches,
        sum(a.potential for a in done.values()),
        sum(a.kinetic for a in done.values()),
        sum(a.supplied for a in done.values()),
        sum(a.dissipated for a in done.values()),
        at_cuts,
        rates,
        decays,
        values | states,
        {f"{stem}.{name}": x for stem, a in done.items() for name, x in a.indicators.items()},
    )


def _actions(at: Instant, u: Any, z: Mapping[str, Any]) -> dict[str, Action]:
    """What every element does, by what its names begin with; no input is more than its row allows."""
    mechanism, given = at.model.mechanism, dict[str, dict[str, Any]]()
    for row in mechanism.input_table:
        given.setdefault(row.element, {})[row.role] = saturated(u[row.where], row.low, row.high)
    found = {}
    for element, item, stem in each(mechanism):
        own = {state.name: z[f"{stem}.{state.name}"] for state in element.states(item, mechanism)}
        found[stem] = element.evaluate(item, at, given.get(stem, {}), own)
    return found


def _on_tree(model: Model, q: Any, forces: Mapping[str, Any]) -> Any:
    """Forces on the speeds of the tree's joints, nv."""
    tree = model.tree
    tau = ca.SX.zeros(tree.nv, 1)
    for name in tree.v.keys() & forces.keys():
        tau[tree.v[name]] += forces[name]
    for move, at in tree.moves:  # a turn of speeds is one of forces too
        tau[at.v] = move.engine_speed(q[at.q], tau[at.v], at.reverse)
    return tau


def push_apart(wrenches: dict[int, Any], motion: Motion, ends: tuple[StrutEnd, ...], force: Any) -> None:
    """Add what a strut does to the links at its ends: the force on the second, and what it reacts with."""
    for sign, end in zip((-1, 1), ends, strict=True):
        push(wrenches, motion, end.link, end.r, sign * force, ca.SX.zeros(3, 1))


def push(wrenches: dict[int, Any], motion: Motion, link: int, r: Any, F: Any, T: Any) -> None:
    """Add a world force F at world point r and a torque T to a link's wrench."""
    if link < 0:
        return
    X = motion.X[link]
    wrench = ca.vertcat(X.R.T @ (T + ca.cross(r - X.p, F)), X.R.T @ F)
    wrenches[link] = wrenches.get(link, 0) + wrench
