"""Cut joints as places where forces act: their coordinates, and a joint force as wrenches on two links."""

from typing import Any

import casadi as ca

from ..joints.measured import cut_speeds
from ..joints.rigid_motion import conjugate, product
from ..joints.types import TYPES
from .kinematics import Model, Motion, body_quaternion, unit_quaternion
from .loops import CutLoop


def cut_coordinates(model: Model, loop: CutLoop, q: Any, turns: list[Any]) -> tuple[Any, Any]:
    """Coordinates and speeds of a cut joint, from its two ends and the links' Euler parameters.

    Angles are counted by the tree's coordinates q where those can tell (`turn_counts.py`).
    """
    joint, e = loop.joint, loop.ends
    kind = TYPES[joint.type]
    turn = ca.SX([1, 0, 0, 0]) if kind.plain else relative_quaternion(model, loop, turns)
    position = kind.measure(e.Ri.T @ e.Rj, e.Ri.T @ (e.rj - e.ri), turn, joint)
    for place, count in model.turn_counts.get(joint.name, {}).items():
        position[place] = count.nearest(position[place], q)
    return ca.vertcat(*position, ca.SX(0, 1)), cut_speeds(joint, e)


def relative_quaternion(model: Model, loop: CutLoop, turns: list[Any]) -> Any:
    """Euler parameters of frame j seen from frame i."""
    joint = loop.joint

    def world(body: str, frame: Any) -> Any:
        local = product(body_quaternion(model, body), unit_quaternion(frame.orientation))
        index = model.tree.holder[body]
        return local if index < 0 else product(turns[index], local)

    return product(conjugate(world(joint.parent, joint.on_parent)), world(joint.child, joint.on_child))


def cut_wrenches(loop: CutLoop, tau: Any) -> dict[str, Any]:
    """Forces and torques of a joint force τ at a cut joint, such that its power is τ·speeds."""
    names = ("wi", "vi", "wj", "vj")
    fresh = {n: ca.SX.sym(n, 3) for n in names}
    power = ca.dot(tau, cut_speeds(loop.joint, loop.ends._replace(**fresh)))
    return {n: ca.gradient(power, fresh[n]) for n in names}


def push_ends(
    wrenches: dict[int, Any], motion: Motion, loop: CutLoop, on_i: tuple[Any, Any], on_j: tuple[Any, Any]
) -> None:
    """Add world force and torque at both ends of a cut joint, which are points of their links."""
    for end, (F, T) in ((loop.i, on_i), (loop.j, on_j)):
        if end.link >= 0:
            back = motion.X[end.link].R.T
            f = back @ F
            wrench = ca.vertcat(back @ T + ca.cross(end.local, f), f)
            wrenches[end.link] = wrenches.get(end.link, 0) + wrench
