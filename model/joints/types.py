"""Every joint type, each in one place.

A joint type is data, under this contract:

1. `moves`: the elementary moves that carry the child's joint frame away from the
   parent's, in order. `Rx Ry Rz` turn about an axis of the moving frame, `Px Py Pz` slide
   along one, `Hz` is a screw about z, `Q` a free rotation by Euler parameters. Every move
   has a constant motion subspace S in the frame behind it, so no algorithm ever needs Ṡ
   (the multiple-freedom joints of paper 004, A.2.7, become chains of massless links).
   None: the joint can't be in the tree and is always cut.
2. `locks`: what it forbids when it is cut, as primitive constraints (`joints/rows.py`,
   papers 000 and 003) between the frame on the parent (i) and the frame on the child (j).
   The number of rows plus the number of speeds is 6 for joints with moves.
3. `measure`: the coordinates read back from the relative pose, the inverse of the moves.
   It says where a cut joint is, and turns Cartesian poses into joint coordinates.

A new type is one entry of `TYPES`; the property tests pick it up from there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import casadi as ca

from .rows import Across, Along, AlongChild, Distance, Lock, Screw, SlideDistance, Together

X, Y, Z = 0, 1, 2
# Coordinates and speeds of each elementary move, by the ending of their names and unit.
MOVES: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "Rx": (("rx",), ("rad",)),
    "Ry": (("ry",), ("rad",)),
    "Rz": (("rz",), ("rad",)),
    "Hz": (("rz",), ("rad",)),
    "Px": (("x",), ("m",)),
    "Py": (("y",), ("m",)),
    "Pz": (("z",), ("m",)),
    "Q": (("e0", "e1", "e2", "e3"), ("1", "1", "1", "1")),
}


@dataclass(frozen=True)
class JointType:
    """One kind of joint; see the contract at the top of this file."""

    name: str
    moves: tuple[str, ...] | None
    locks: tuple[Lock, ...]
    measure: Callable[..., list[Any]]
    about: str

    @property
    def nq(self) -> int:
        return sum(4 if move == "Q" else 1 for move in self.moves or ())

    @property
    def nv(self) -> int:
        return sum(3 if move == "Q" else 1 for move in self.moves or ())

    @property
    def rows(self) -> int:
        return sum(lock.rows for lock in self.locks)

    @property
    def ball(self) -> tuple[slice, slice] | None:
        """Where the Euler parameters are among the coordinates, and ω among the speeds."""
        if self.moves is None or "Q" not in self.moves:
            return None
        k = self.moves.index("Q")  # no type has two balls, so what is before has one number each
        return slice(k, k + 4), slice(k, k + 3)

    @property
    def fields(self) -> tuple[str, ...]:
        """What a description must or may say of such a joint beside its frames, such as a pitch."""
        return tuple(dict.fromkeys(field for lock in self.locks for field in lock.fields))

    @property
    def two_ends(self) -> bool:
        """Whether it spans a distance: it is always cut, and drawn from a point to another."""
        return self.moves is None

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
        turns, slides = self._along
        return bool(turns) or len(slides) in (1, 2)

    @property
    def needs_across(self) -> bool:
        """Whether it matters where x points about the axis z: x and y are not treated alike."""
        return any(("x" in along) != ("y" in along) for along in self._along)

    @property
    def _along(self) -> tuple[set[str], set[str]]:
        """The axes it turns about and slides along, one by one."""
        moves = self.moves or ()
        return {m[1] for m in moves if m[0] in "RH"}, {m[1] for m in moves if m[0] == "P"}

    @property
    def zero(self) -> tuple[float, ...]:
        """Coordinates at which the two frames coincide."""
        return tuple(x for m in self.moves or () for x in ((1.0, 0.0, 0.0, 0.0) if m == "Q" else (0.0,)))

    @property
    def position_units(self) -> tuple[str, ...]:
        return tuple(u for m in self.moves or () for u in MOVES[m][1])

    @property
    def speed_units(self) -> tuple[str, ...]:
        return tuple(
            u for m in self.moves or () for u in (("rad/s",) * 3 if m == "Q" else (MOVES[m][1][0] + "/s",))
        )


def _angle_z(R: Any, p: Any, e: Any, joint: Any) -> list[Any]:
    return [ca.atan2(R[1, 0], R[0, 0])]


NO_TILT = (Across(X, Z), Across(Y, Z))
NO_TURN = (Across(X, Y), Across(Y, Z), Across(Z, X))

TYPES: dict[str, JointType] = {
    t.name: t
    for t in (
        JointType(
            "revolute",
            ("Rz",),
            (Together(), *NO_TILT),
            _angle_z,
            "turns about its axis",
        ),
        JointType(
            "prismatic",
            ("Pz",),
            (Along(X), Along(Y), *NO_TURN),
            lambda R, p, e, joint: [p[2]],
            "slides along its axis",
        ),
        JointType(
            "cylindrical",
            ("Rz", "Pz"),
            (Along(X), Along(Y), *NO_TILT),
            lambda R, p, e, joint: [*_angle_z(R, p, e, joint), p[2]],
            "turns about and slides along its axis",
        ),
        JointType(
            "universal",
            ("Rz", "Rx"),
            (Together(), Across(Z, X)),
            lambda R, p, e, joint: [*_angle_z(R, p, e, joint), ca.atan2(R[2, 1], R[2, 2])],
            "turns about its axis (held by the parent), then about 'across' (held by the child)",
        ),
        JointType(
            "spherical",
            ("Q",),
            (Together(),),
            lambda R, p, e, joint: [e[0], e[1], e[2], e[3]],
            "turns any way about a point",
        ),
        JointType(
            "planar",
            ("Px", "Py", "Rz"),
            (Along(Z), *NO_TILT),
            lambda R, p, e, joint: [p[0], p[1], *_angle_z(R, p, e, joint)],
            "slides in the plane across its axis and turns about the axis",
        ),
        JointType(
            "helical",
            ("Hz",),
            (Along(X), Along(Y), *NO_TILT, Screw()),
            lambda R, p, e, joint: [p[2] / joint.pitch],
            "a screw: turns about its axis and moves pitch metres a radian along it",
        ),
        JointType(
            "free",
            ("Px", "Py", "Pz", "Q"),
            (),
            lambda R, p, e, joint: [p[0], p[1], p[2], e[0], e[1], e[2], e[3]],
            "moves any way",
        ),
        JointType("fixed", (), (Together(), *NO_TURN), lambda R, p, e, joint: [], "does not move"),
        JointType(
            "distance",
            None,
            (Distance(),),
            lambda R, p, e, joint: [],
            "a massless rod with ball ends: keeps two points 'length' apart",
        ),
        # Composite joints of paper 003 (5): a massless body between two simple joints.
        JointType(
            "revolute-spherical",
            None,
            (Along(Z), Distance()),
            lambda R, p, e, joint: [],
            "a massless arm 'length' long: a hinge on the parent, a ball on the child",
        ),
        JointType(
            "spherical-translational",
            ("Q", "Pz"),
            (AlongChild(X), AlongChild(Y)),
            lambda R, p, e, joint: [e[0], e[1], e[2], e[3], ca.dot(R[:, 2], p)],
            "a ball on the parent, then a slide along the axis of the child",
        ),
        JointType(
            "translational-distance",
            None,
            (SlideDistance(),),
            lambda R, p, e, joint: [],
            "a massless rod 'length' long, from a slide held at 'travel' along the parent's axis",
        ),
    )
}
