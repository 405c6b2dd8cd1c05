"""Speeds in which a closed mechanism is solved: behind a ball the angular velocity over the world.

A ball passes forces on, and no moment but its own. If ω of the link behind it is counted from the world
instead of from the link before it, those before see all that is behind as a mass at the ball's centre, and
every loop through the ball sees the same motion of that centre: M and G have fewer and simpler entries. If ω
is also given in the world's axes, G is simpler still, and M less so. With v = T w,

    TᵀM T a + (G T)ᵀλ = Tᵀ(τ − h),   G T a = γ,   v̇ = T a,

and S = G M⁻¹Gᵀ and λ are what they are. Nothing of this is seen outside: q and v stay the mechanism's own.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import casadi as ca

from ..describe.mechanism import Strut
from ..describe.motors import has
from ..joints.moves import Ball
from ..joints.rigid_motion import IDENTITY
from .kinematics import Model, Motion
from .topology import Link, Tree


class FreeLinks(NamedTuple):
    """Links that turn by speeds counted from the world, in their own axes or in the world's."""

    links: tuple[int, ...] = ()
    in_world_axes: bool = False

    def axes(self, motion: Motion, i: int) -> Any:
        """From a link's own axes to those of its speeds."""
        return motion.X[i].R if self.in_world_axes else IDENTITY.R


NOT_FREE = FreeLinks()


def free_links(model: Model) -> tuple[int, ...]:
    """Links behind balls; not where it would tie loops to joints that turn them as a whole.

    A joint that turns a loop whole would move its ends against each other if a link of the loop did not turn
    along. A drive of a cylinder's length sees every speed.
    """
    tree = model.tree
    if any(isinstance(item, Strut) for item in tree.driven):
        return ()
    tied = set[int]()
    for cut in tree.cuts:
        ends = [tree.holder[body] for body in (cut.parent, cut.child)]
        shared = tree.path(tree.common(*ends))
        if any(_turns(tree.links[k]) for k in shared):
            tied |= {k for end in ends for k in tree.path(end)} - set(shared)
    return tuple(
        i
        for i, link in enumerate(tree.links)
        if isinstance(link.move, Ball)
        and link.parent >= 0
        and i not in tied
        and not has(model.mechanism.joint(link.joint).armature)
    )


def _turns(link: Link) -> bool:
    return link.move is not None and bool(link.move.turns)


def own_speeds(model: Model, motion: Motion, free: FreeLinks, w: Any) -> Any:
    """v = T w: each joint's own part of what the links behind balls turn by."""
    v, turns = w + ca.SX.zeros(w.shape), list[Any]()
    for i, before in _before(model, motion, free, turns):
        at = model.tree.links[i].v
        if i in free.links:
            turns.append(free.axes(motion, i).T @ w[at])
            v[at] = turns[i] - before
        else:
            turns.append(before + model.subspaces[i][:3, :] @ w[at])
    return v


def solved_speeds(model: Model, motion: Motion, free: FreeLinks, v: Any) -> Any:
    """w = T⁻¹v."""
    w, turns = v + ca.SX.zeros(v.shape), list[Any]()
    for i, before in _before(model, motion, free, turns):
        at = model.tree.links[i].v
        turns.append(before + model.subspaces[i][:3, :] @ v[at])
        if i in free.links:
            w[at] = free.axes(motion, i) @ turns[i]
    return w


def solved_forces(motion: Motion, tree: Tree, free: FreeLinks, right: Any) -> Any:
    """The same forces about the axes of w, `right` already being those that do work with ω over the world."""
    found = right + ca.SX.zeros(right.shape)
    for i in free.links:
        found[tree.links[i].v] = free.axes(motion, i) @ right[tree.links[i].v]
    return found


def _before(model: Model, motion: Motion, free: FreeLinks, turns: list[Any]) -> Iterator[tuple[int, Any]]:
    """Every link with what the one before it turns by, of all `turns` so far, in the link's axes."""
    for i, link in enumerate(model.tree.links if free.links else ()):
        yield i, motion.f[i].R.T @ turns[link.parent] if link.parent >= 0 else ca.SX.zeros(3, 1)
