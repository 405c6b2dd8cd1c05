"""Every joint type, each in one place: data, from which all that others ask about it follows.

1. `moves` (`joints/moves.py`) carry the child's joint frame away from the parent's, in order. None:
   the joint can't be in the tree and is always cut.
2. `locks` are what it forbids when it is cut, as primitive constraints (`joints/rows.py`, papers 000
   and 003) between the frame on the parent (i) and the frame on the child (j). The number of rows
   plus the number of speeds is 6 for joints with moves. Those of rolling and blades are of speeds.
3. `measure` reads the coordinates back from the relative pose (R, p), its Euler parameters e and
   the joint: the inverse of the moves. It says where a cut joint is, and turns Cartesian
   poses into joint coordinates.
4. `marker` is what pictures show of it, a marker of matplotlib.

A new type is one entry of `TYPES`; the property tests pick it up from there.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import casadi as ca

from .moves import Hz, Move, Px, Py, Pz, Q, Rx, Ry, Rz, Slide, Turn
from .rows import (
    Across,
    Along,
    AlongChild,
    Contact,
    FixedDistance,
    NoSideslip,
    NoSlip,
    Primitive,
    SlideDistance,
    Thread,
    Together,
)

X, Y, Z = 0, 1, 2
LOCK_ROWS = "xyzijk"  # of the lock constraint of paper 001: three slides, three turns


def lock_rows(move: Move) -> str:
    """The rows of the lock constraint that a move works on."""
    return "".join(["xyz"[k] for k in move.slides] + ["ijk"[k] for k in move.turns])


class PlacedMove(NamedTuple):
    """A move of a joint, and where its numbers stand among the joint's coordinates and speeds."""

    move: Move
    q: slice
    v: slice


@dataclass(frozen=True)
class JointType:
    """One kind of joint; see the top of this file."""

    name: str
    moves: tuple[Move, ...] | None
    locks: tuple[Primitive, ...]
    measure: Callable[..., list[Any]]
    about: str
    marker: str = "o"

    # -- coordinates and speeds ----------------------------------------------------------

    @property
    def parts(self) -> Iterator[PlacedMove]:
        nq = nv = 0
        for move in self.moves or ():
            yield PlacedMove(move, slice(nq, nq + move.nq), slice(nv, nv + move.nv))
            nq, nv = nq + move.nq, nv + move.nv

    @property
    def nq(self) -> int:
        return sum(move.nq for move in self.moves or ())

    @property
    def nv(self) -> int:
        return sum(move.nv for move in self.moves or ())

    @property
    def zero(self) -> tuple[float, ...]:
        """Coordinates at which the two frames coincide."""
        return tuple(x for move in self.moves or () for x in move.zero)

    @property
    def aligned(self) -> tuple[int, ...]:
        """Axes that point the same way in both frames; rows alone would also have them opposite."""
        locks = set(self.locks)
        return (X, Y, Z) if locks >= set(NO_TURN) else (Z,) if locks >= set(NO_TILT) else ()

    @property
    def position_units(self) -> tuple[str, ...]:
        return tuple(unit for move in self.moves or () for unit in move.units)

    @property
    def speed_units(self) -> tuple[str, ...]:
        return tuple(unit for move in self.moves or () for unit in move.speed_units)

    @property
    def plain(self) -> bool:
        """Whether all its coordinates are plain numbers, each with its own rate as speed."""
        return all(move.plain for move in self.moves or ())

    @property
    def singles(self) -> tuple[Turn | Slide, ...]:
        """Moves with one coordinate each that do the same; a rod aims by two turns."""
        moves = (Rz, Ry) if self.directionless_ends else self.moves or ()
        return tuple(single for move in moves for single in move.singles)

    # -- what it lets move, and what it forbids --------------------------------------------

    @property
    def rows(self) -> int:
        return sum(lock.rows for lock in self.locks)

    @property
    def always_cut(self) -> bool:
        """Whether it can't be in the tree."""
        return self.moves is None

    @property
    def holds_poses(self) -> tuple[bool, ...]:
        """For each row whether it holds poses, and not only speeds."""
        return tuple(not lock.of_speeds for lock in self.locks for _ in range(lock.rows))

    @property
    def wraps(self) -> bool:
        """Whether it forgets whole turns when it is cut, and so should rather be in the tree."""
        return any(lock.wraps for lock in self.locks)

    @property
    def turns(self) -> set[int]:
        """The axes it turns about."""
        return {axis for move in self.moves or () for axis in move.turns}

    @property
    def slides(self) -> set[int]:
        """The axes it slides along."""
        return {axis for move in self.moves or () for axis in move.slides}

    @property
    def mask(self) -> str | None:
        """The rows of the lock constraint that it keeps (paper 001), or None if it is no such joint.

        It is one if its coordinates can be read off one turned frame: there is one turn at most, and
        nothing slides with it or behind it, unless along its axis by a coordinate of its own.
        """
        free, turned = "", tuple[int, ...]()
        for move in self.moves or ():
            if (move.turns and (turned or move.slides)) or (turned and move.slides != turned):
                return None
            turned = turned or move.turns
            free += lock_rows(move)
        return None if self.always_cut else "".join(row for row in LOCK_ROWS if row not in free)

    # -- how it is described and drawn -----------------------------------------------------

    @property
    def fields(self) -> tuple[str, ...]:
        """What a description must or may say of such a joint beside its frames, such as a pitch."""
        return tuple(dict.fromkeys(f for part in (*(self.moves or ()), *self.locks) for f in part.fields))

    @property
    def two_ends(self) -> bool:
        """Whether it spans a distance: it is drawn from a point to another."""
        return any(lock.apart for lock in self.locks)

    @property
    def directionless_ends(self) -> bool:
        """Whether turning its frames changes nothing: a rod with ball ends."""
        return self.two_ends and not any(lock.axes for lock in self.locks)

    @property
    def directed(self) -> bool:
        """Whether a description must say where its axis points.

        Not if it turns all ways or none, and slides all ways or none.
        """
        if self.moves is None:
            return not self.directionless_ends
        return not {len(self.turns), len(self.slides)} <= {0, 3}

    @property
    def needs_across(self) -> bool:
        """Whether it matters where x points about the axis z: x and y are not treated alike."""
        return any((X in axes) != (Y in axes) for axes in (self.turns, self.slides))

    @property
    def stretched(self) -> bool:
        """Whether its two ends come apart along its axis: drawn with a line between them."""
        return "length" in self.fields or Z in self.slides

    @property
    def rides(self) -> bool:
        """Whether it is where its child is, and not at a place of the parent: what rolls, a blade."""
        return not all(self.holds_poses)

    @property
    def filled(self) -> bool:
        """Whether its marker is filled: nothing about it singles out an axis, or it is a ball that slides."""
        return not self.directed or len(self.turns) == 3

    @property
    def ticks(self) -> tuple[int, ...]:
        """Axes drawn through the marker."""
        return (Z,) * self.directed + (X,) * self.needs_across


def _angle_z(R: Any, p: Any, e: Any, joint: Any) -> list[Any]:
    return [ca.atan2(R[1, 0], R[0, 0])]


NO_TILT = (Across(X, Z), Across(Y, Z))
NO_TURN = (Across(X, Y), Across(Y, Z), Across(Z, X))

TYPES: dict[str, JointType] = {
    t.name: t
    for t in (
        JointType(
            "revolute",
            (Rz,),
            (Together(), *NO_TILT),
            _angle_z,
            "turns about its axis",
        ),
        JointType(
            "prismatic",
            (Pz,),
            (Along(X), Along(Y), *NO_TURN),
            lambda R, p, e, joint: [p[2]],
            "slides along its axis",
            "s",
        ),
        JointType(
            "cylindrical",
            (Rz, Pz),
            (Along(X), Along(Y), *NO_TILT),
            lambda R, p, e, joint: [*_angle_z(R, p, e, joint), p[2]],
            "turns about and slides along its axis",
            "D",
        ),
        JointType(
            "universal",
            (Rz, Rx),
            (Together(), Across(Z, X)),
            lambda R, p, e, joint: [*_angle_z(R, p, e, joint), ca.atan2(R[2, 1], R[2, 2])],
            "turns about its axis (held by the parent), then about 'across' (held by the child)",
            "P",
        ),
        JointType(
            "spherical",
            (Q,),
            (Together(),),
            lambda R, p, e, joint: [e[0], e[1], e[2], e[3]],
            "turns any way about a point",
        ),
        JointType(
            "planar",
            (Px, Py, Rz),
            (Along(Z), *NO_TILT),
            lambda R, p, e, joint: [p[0], p[1], *_angle_z(R, p, e, joint)],
            "slides in the plane across its axis and turns about the axis",
            "h",
        ),
        JointType(
            "pin-in-slot",
            (Px, Rz),
            (Along(Y), Along(Z), *NO_TILT),
            lambda R, p, e, joint: [p[0], *_angle_z(R, p, e, joint)],
            "a pin of the child in a slot of the parent: slides along 'across', turns about its axis",
            "H",
        ),
        JointType(
            "helical",
            (Hz,),
            (Along(X), Along(Y), *NO_TILT, Thread()),
            lambda R, p, e, joint: [p[2] / joint.pitch],
            "a screw: turns about its axis and moves pitch metres a radian along it",
            "d",
        ),
        JointType(
            "free",
            (Px, Py, Pz, Q),
            (),
            lambda R, p, e, joint: [p[0], p[1], p[2], e[0], e[1], e[2], e[3]],
            "moves any way",
        ),
        JointType("fixed", (), (Together(), *NO_TURN), lambda R, p, e, joint: [], "does not move", "s"),
        JointType(
            "distance",
            None,
            (FixedDistance(),),
            lambda R, p, e, joint: [],
            "a massless rod with ball ends: keeps two points 'length' apart",
        ),
        # Composite joints of paper 003 (5): a massless body between two simple joints.
        JointType(
            "revolute-spherical",
            None,
            (Along(Z), FixedDistance()),
            lambda R, p, e, joint: [],
            "a massless arm 'length' long: a hinge on the parent, a ball on the child",
        ),
        JointType(
            "spherical-translational",
            (Q, Pz),
            (AlongChild(X), AlongChild(Y)),
            lambda R, p, e, joint: [e[0], e[1], e[2], e[3], ca.dot(R[:, 2], p)],
            "a ball on the parent, then a slide along the axis of the child",
            "D",
        ),
        JointType(
            "translational-distance",
            None,
            (SlideDistance(),),
            lambda R, p, e, joint: [],
            "a massless rod 'length' long, from a slide held at 'travel' along the parent's axis",
            "s",
        ),
        # Velocity constraints: rows that hold speeds and no pose.
        JointType(
            "rolling",
            None,
            (Contact("wheel"), NoSlip("wheel")),
            lambda R, p, e, joint: [],
            "a wheel of `radius` about the child's axis rolls on the plane across the parent's",
            "o",
        ),
        JointType(
            "rolling-ball",
            None,
            (Contact("ball"), NoSlip("ball")),
            lambda R, p, e, joint: [],
            "a ball of `radius` around the child's point rolls on the plane across the parent's axis",
            "o",
        ),
        JointType(
            "knife-edge",
            None,
            (NoSideslip(Z),),
            lambda R, p, e, joint: [],
            "a blade or skate: its point on the child does not move along the child's axis",
            "|",
        ),
    )
}
