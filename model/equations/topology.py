"""From a graph of bodies and joints to a spanning tree and the joints that are cut.

The tree grows from ground (Prim's algorithm). It keeps the joints that couplings tie and those
that carry motors, then those that would cost the most constraint rows if they were cut, then
those nearest to ground; so the joints left to cut are the fewest and simplest, and chains stay short, which
keeps the mass matrix sparse. A user's `cut` is obeyed first. A joint left to cut whose coordinates matter
stays in the tree after all, and its loop is cut beside it (`halves.py`).
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..base.errors import DescriptionError
from ..base.slices import consecutive_slices
from ..describe.mechanism import GROUND, Coupling, Joint, Mechanism, Strut
from ..describe.motors import POSITION, Motor, has, rigid_rotor
from ..describe.validation import Flaw
from ..joints.moves import Move
from ..joints.types import TYPES
from .elements.contract import internal_states


@dataclass(frozen=True)
class Link:
    """One elementary move and the frame behind it (paper 004, A.2: a link, or a massless one).

    `parent` is the index of the link it hangs on, −1 for ground. The frame of the last
    link of a joint is the joint's frame on the outer body. `reverse` tells that the outer
    body is the joint's parent: the moves are then undone in opposite order.
    """

    joint: str
    move: Move | None  # None for a fixed joint
    parent: int
    reverse: bool
    first: bool
    last: bool
    q: slice
    v: slice


@dataclass(frozen=True)
class Tree:
    """The spanning tree: links with parents before children, where each body sits, what is cut."""

    links: tuple[Link, ...]
    holder: dict[str, int]  # body -> the link whose frame carries it, −1 for ground
    cuts: tuple[Joint, ...]
    q: dict[str, slice]  # tree joint -> its coordinates
    v: dict[str, slice]
    nq: int
    nv: int
    couplings: tuple[Coupling, ...] = ()
    driven: tuple[Motor | Strut, ...] = ()
    z: dict[str, slice] = field(default_factory=dict)  # internal state of a drive or of friction -> its place
    beside: dict[str, str] = field(default_factory=dict)  # cut between halves of a body -> joint beside it

    @property
    def nz(self) -> int:
        """How many numbers internal states are."""
        return max((where.stop for where in self.z.values()), default=0)

    @property
    def rows(self) -> dict[str, slice]:
        """Cut joint -> its rows of g and G; behind them a row for each coupling and each driven motion."""
        counts = {cut.name: TYPES[cut.type].rows for cut in self.cuts}
        counts |= {tie.name: 1 for tie in self.couplings} | {drive_row(motor): 1 for motor in self.driven}
        return dict(zip(counts, consecutive_slices(counts.values()), strict=True))

    @property
    def cut_names(self) -> tuple[str, ...]:
        """The described joints at or beside which loops are cut."""
        return tuple(self.beside.get(cut.name, cut.name) for cut in self.cuts)

    @property
    def cut_v(self) -> dict[str, slice]:
        """Cut joint -> its speeds among those of all cut joints."""
        places = consecutive_slices(TYPES[cut.type].nv for cut in self.cuts)
        return {cut.name: place for cut, place in zip(self.cuts, places, strict=True)}

    @property
    def holds_poses(self) -> tuple[bool, ...]:
        """For each row of G whether it holds poses: those of velocity constraints hold speeds alone."""
        held = (held for cut in self.cuts for held in TYPES[cut.type].holds_poses)
        return (*held, *(True for _ in self.couplings), *(motor.drive == POSITION for motor in self.driven))

    @property
    def row_count(self) -> int:
        ties = len(self.couplings) + len(self.driven)
        return sum(TYPES[cut.type].rows for cut in self.cuts) + ties

    def path(self, link: int) -> list[int]:
        """Links from ground to this one, this one included."""
        chain = []
        while link >= 0:
            chain.append(link)
            link = self.links[link].parent
        return chain[::-1]

    def speeds_above(self, link: int) -> int:
        """How many speeds move a link."""
        return sum(self.links[k].v.stop - self.links[k].v.start for k in self.path(link))

    def common(self, a: int, b: int) -> int:
        """The last link both paths share, −1 for ground."""
        shared = [i for i, j in zip(self.path(a), self.path(b), strict=False) if i == j]
        return shared[-1] if shared else -1

    def loop(self, cut: Joint) -> list[str]:
        """Names of the joints that the loop of a cut joint runs through, the cut one first."""
        ends = [self.holder[body] for body in (cut.parent, cut.child)]
        shared = self.path(self.common(*ends))
        found = [self.links[k].joint for end in ends for k in self.path(end) if k not in shared]
        return list(dict.fromkeys([self.beside.get(cut.name, cut.name), *found]))

    @property
    def moves(self) -> Iterator[tuple[Move, Link]]:
        """Every move with its link; fixed joints have none."""
        return ((link.move, link) for link in self.links if link.move)

    @property
    def children(self) -> tuple[tuple[int, ...], ...]:
        lists: list[list[int]] = [[] for _ in self.links]
        for i, link in enumerate(self.links):
            if link.parent >= 0:
                lists[link.parent].append(i)
        return tuple(tuple(c) for c in lists)


def span(mechanism: Mechanism) -> Tree:
    """Choose the spanning tree of a mechanism."""
    kept = _grow(mechanism)
    links: list[Link] = []
    holder = {GROUND: -1}
    q_of: dict[str, slice] = {}
    v_of: dict[str, slice] = {}
    nq = nv = 0
    for name in kept:
        joint = mechanism.joint(name)
        reverse = joint.parent not in holder
        inner, outer = (joint.child, joint.parent) if reverse else (joint.parent, joint.child)
        parent = holder[inner]
        kind = TYPES[joint.type]
        parts: list[Any] = list(kind.parts) or [(None, slice(0, 0), slice(0, 0))]
        for n, (move, q, v) in enumerate(parts[::-1] if reverse else parts):
            first, last = n == 0, n == len(parts) - 1
            links.append(Link(name, move, parent, reverse, first, last, _shifted(q, nq), _shifted(v, nv)))
            parent = len(links) - 1
        holder[outer] = parent
        q_of[name], v_of[name] = slice(nq, nq + kind.nq), slice(nv, nv + kind.nv)
        nq, nv = nq + kind.nq, nv + kind.nv
    cuts = tuple(j for j in mechanism.joints if j.name not in q_of and TYPES[j.type].locks)
    states = internal_states(mechanism)
    places = consecutive_slices(len(state.units) for state in states)
    z_of = {state.name: place for state, place in zip(states, places, strict=True)}
    return Tree(tuple(links), holder, cuts, q_of, v_of, nq, nv, mechanism.couplings, mechanism.driven, z_of)


def drive_row(motor: Motor | Strut) -> str:
    """What the row of a driven motion is called among those of cut joints and couplings."""
    return f"motor.{motor.name}"


def start_coordinates(mechanism: Mechanism, tree: Tree) -> np.ndarray:
    """Guess of q: each tree joint's `start`, or the pose where its frames coincide."""
    q = np.zeros(tree.nq)
    for name, where in tree.q.items():
        joint = mechanism.joint(name)
        q[where] = joint.start or TYPES[joint.type].zero
    return q


def _shifted(where: slice, by: int) -> slice:
    return slice(where.start + by, where.stop + by)


def _grow(mechanism: Mechanism) -> list[str]:
    """Names of the tree's joints in the order they are reached."""
    driven = {m.joint for m in mechanism.motors}
    heavy = {j.name for j in mechanism.joints if any(j.armature)}
    heavy |= {m.joint for m in mechanism.motors if has(rigid_rotor(m))}
    tied = {name for tie in mechanism.couplings for name in (tie.joint, *tie.follows)}
    depth = {GROUND: 0}
    kept: list[str] = []

    def worth(index: int, joint: Joint) -> tuple[float, ...]:
        near = min(depth.get(joint.parent, 10**9), depth.get(joint.child, 10**9))
        return (
            joint.cut is not True,
            joint.cut is False,
            joint.name in tied,
            joint.name in driven,
            joint.name in heavy,
            TYPES[joint.type].wraps,
            TYPES[joint.type].rows,
            -near,
            -index,
        )

    while len(depth) <= len(mechanism.bodies):
        frontier = [
            (worth(i, j), j)
            for i, j in enumerate(mechanism.joints)
            if (j.parent in depth) != (j.child in depth) and not TYPES[j.type].always_cut
        ]
        if not frontier:
            loose = ", ".join(b.name for b in mechanism.bodies if b.name not in depth)
            raise DescriptionError(
                f"no joint but rods connects {loose} to ground; add one (type: free if it floats)"
            )
        joint = max(frontier, key=lambda pair: pair[0])[1]
        outer = joint.child if joint.parent in depth else joint.parent
        depth[outer] = 1 + depth[joint.parent if outer == joint.child else joint.child]
        kept.append(joint.name)
    for joint in mechanism.joints:
        if joint.name not in kept:
            if joint.cut is False:
                raise _flaw(joint, "cut", "says cut: false, but every joint of its loop does; let one be cut")
        elif joint.cut is True:
            raise _flaw(joint, "cut", "says cut: true, but it is in no loop; remove 'cut'")
    return kept


def _flaw(joint: Joint, field: str, sentence: str) -> Flaw:
    return Flaw(("joints", joint.name, field), f"joint '{joint.name}' {sentence}", whole=True)
