"""Speeds in which a closed mechanism is solved: behind a ball the angular velocity over the world.

A ball passes forces on, and no moment but its own. If ω of the link behind it is counted from the world
instead of from the link before it, those before see all that is behind as a mass at the ball's centre, and
every loop through the ball sees the same motion of that centre: M and G have fewer and simpler entries. With
v = T w,

    TᵀM T a + (G T)ᵀλ = Tᵀ(τ − h),   G T a = γ,   v̇ = T a,

and S = G M⁻¹Gᵀ and λ are what they are. Nothing of this is seen outside: q and v stay the mechanism's own.
"""

from collections.abc import Collection
from typing import Any

import casadi as ca

from ..describe.motors import has
from ..joints.moves import Ball
from .kinematics import Model
from .prescribed import driven_joint
from .topology import Link

Free = Collection[int]  # links that turn by speeds counted from the world


def free_links(model: Model) -> Free:
    """Links behind balls; not where it would tie loops to joints that turn them as a whole.

    A joint that turns a loop whole would move its ends against each other if a link of the loop did not turn
    along. A drive that measures a cut joint, or a cylinder's length, sees every speed.
    """
    tree = model.tree
    if any(driven_joint(item) not in tree.v for item in tree.driven):
        return ()
    tied = set[int]()
    for cut in tree.cuts:
        ends = [tree.holder[body] for body in (cut.parent, cut.child)]
        shared = tree.path(tree.common(*ends))
        if any(_turns(tree.links[k]) for k in shared):
            tied |= {k for end in ends for k in tree.path(end)} - set(shared)
    return [
        i
        for i, link in enumerate(tree.links)
        if isinstance(link.move, Ball)
        and link.parent >= 0
        and i not in tied
        and not has(model.mechanism.joint(link.joint).armature)
    ]


def _turns(link: Link) -> bool:
    return link.move is not None and bool(link.move.turns)


def own_speeds(model: Model, f: Any, free: Free, w: Any) -> Any:
    """v = T w: each joint's own part of what the links behind balls turn by."""
    return _counted(model, f, free, w, -1)


def solved_speeds(model: Model, f: Any, free: Free, v: Any) -> Any:
    """w = T⁻¹v."""
    return _counted(model, f, free, v, 1)


def _counted(model: Model, f: Any, free: Free, speeds: Any, sign: int) -> Any:
    """Speeds with what turns the links before balls added to those of the balls, or taken off."""
    found, turns = speeds + ca.SX.zeros(speeds.shape), list[Any]()
    for i, link in enumerate(model.tree.links if free else ()):
        before = f[i].R.T @ turns[link.parent] if link.parent >= 0 else ca.SX.zeros(3, 1)
        own = model.subspaces[i][:3, :] @ speeds[link.v, :]
        if i in free:
            found[link.v] = own + sign * before
        turns.append(own if i in free and sign < 0 else before + own)
    return found
