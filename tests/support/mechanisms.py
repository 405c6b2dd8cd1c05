"""Mechanisms the tests of singularities, formulations and steppers share, built in Python."""

from __future__ import annotations

from dataclasses import replace
from math import acos, asin, pi

import numpy as np
from cutjoint import Body, Frame, Joint, Mechanism, Strut

HALF_TURN = (0.0, 0.0, 0.0, 1.0)  # about z
DOWN = (0.0, -9.81, 0.0)

# Paper 004, 3.2: the singular pose (as corrected) and the start of the second example.
SINGULAR = (pi, 0.0, pi, 0.0)
SYMMETRIC = (2 * pi / 3, pi / 3 + acos(2 / 3), 2 * asin(2 / 3), pi / 3 + acos(2 / 3))


def rod(name: str, length: float, mass: float, inertia: float | None = None) -> Body:
    """A rod along x from the origin; slender if no inertia across it is given."""
    across = mass * length**2 / 12 if inertia is None else inertia
    return Body(name, mass, (length / 2, 0.0, 0.0), (0.0, across, across, 0.0, 0.0, 0.0))


def five_bar(start: tuple[float, ...] = SYMMETRIC, cut: str = "right") -> Mechanism:
    """Paper 004, Fig. 3.1 and Table 3.1: four rods between supports 1 m apart, q interior angles."""
    lengths = (1.0, 1.5, 1.5, 1.0)
    bodies = tuple(
        rod(f"rod{k + 1}", length, mass, inertia)
        for k, (length, mass, inertia) in enumerate(zip(lengths, (2, 3, 3, 2), (1, 2, 2, 1), strict=True))
    )
    joints = [
        Joint("left", "revolute", "ground", "rod1", start=(start[0],), cut=False if cut == "right" else None)
    ]
    for k, name in enumerate(("elbow1", "apex", "elbow2")):
        at = Frame((lengths[k], 0.0, 0.0), HALF_TURN)
        joints.append(
            Joint(
                name,
                "revolute",
                f"rod{k + 1}",
                f"rod{k + 2}",
                at,
                start=(start[k + 1],),
                cut=name == cut or None,
            )
        )
    right = Frame((1.0, 0.0, 0.0)), Frame((1.0, 0.0, 0.0))
    last = start[0] + sum(start[1:]) - 3 * pi  # absolute angle of the last rod
    joints.append(
        Joint("right", "revolute", "ground", "rod4", *right, start=(last,), cut=cut == "right" or None)
    )
    return Mechanism("fivebar", bodies, tuple(joints), gravity=DOWN)


def four_bars(loops: int, angle: float = pi / 2, speed: float = -1.0) -> Mechanism:
    """A row of parallelograms: loops + 1 rods on ground, a coupler between neighbours (each one cut).

    All of 1 m and 1 kg, turning about z; the rods line up with ground and couplers twice a turn.
    """
    bodies: list[Body] = []
    joints: list[Joint] = []
    for k in range(loops + 1):
        bodies.append(rod(f"rod{k}", 1.0, 1.0))
        at = Frame((float(k), 0.0, 0.0))
        joints.append(Joint(f"base{k}", "revolute", "ground", f"rod{k}", at, start=(angle,), speed=(speed,)))
    end = Frame((1.0, 0.0, 0.0))
    for k in range(loops):
        bodies.append(rod(f"coupler{k}", 1.0, 1.0))
        joints += [
            Joint(f"pin{k}", "revolute", f"rod{k}", f"coupler{k}", end, start=(-angle,), speed=(-speed,)),
            Joint(f"close{k}", "revolute", f"coupler{k}", f"rod{k + 1}", end, end, cut=True),
        ]
    return Mechanism(f"fourbars{loops}", tuple(bodies), tuple(joints), gravity=DOWN)


TURN = {
    "x": (0.5**0.5, 0.0, 0.5**0.5, 0.0),
    "y": (0.5**0.5, -(0.5**0.5), 0.0, 0.0),
    "z": (1.0, 0.0, 0.0, 0.0),
}


def bricard() -> Mechanism:
    """Bricard's linkage: six hinges along six edges of a cube, bricks of 1 m and 1 kg as links.

    Five speeds, five rows, and yet it moves: one row follows from the others on the manifold.
    """
    corners = [(0, 0, 0), (1, 0, 0), (1, 1, 0), (1, 1, 1), (0, 1, 1), (0, 0, 1)]
    axes = "yzxyzx"
    names = ["ground", "brick1", "brick2", "brick3", "brick4", "brick5"]
    bodies = []
    for k in range(1, 6):
        a, b = np.array(corners[k], float), np.array(corners[(k + 1) % 6], float)
        along = np.abs(b - a)
        inertia = tuple(np.where(along == 1, 2 * 0.1**2, 1 + 0.1**2) / 12)
        bodies.append(Body(names[k], 1.0, tuple((a + b) / 2), (*inertia, 0.0, 0.0, 0.0)))
    joints = []
    for k in range(6):
        at = Frame(tuple(float(x) for x in corners[k]), TURN[axes[k]])
        cut = True if k == 0 else None
        parent, child = (names[k - 1], names[k]) if k else ("ground", names[5])
        joints.append(Joint(f"hinge{k}", "revolute", parent, child, at, at, cut=cut))
    return Mechanism("bricard", tuple(bodies), tuple(joints))


def bennett(a: float = 1.0, b: float = 0.6, twist: float = 0.9) -> Mechanism:
    """Bennett's linkage: four hinges in space, opposite bars alike, sin α/a = sin β/b.

    Three speeds, five rows, rank two on the manifold and three beside it.
    """
    other = float(np.arcsin(b * np.sin(twist) / a))
    lengths, twists = (a, b, a, b), (twist, other, twist, other)
    theta = 1.9
    half = np.tan(theta / 2)
    phi = 2 * np.arctan(np.sin((other + twist) / 2) / np.sin((other - twist) / 2) / half)
    angles = (theta, phi, -theta, -phi)
    names = ["ground", "bar1", "bar2", "bar3"]
    bodies = [
        Body(names[k], 1.0, (lengths[k] / 2, 0.0, 0.0), (0.01, 0.1, 0.1, 0.0, 0.0, 0.0)) for k in (1, 2, 3)
    ]
    joints = []
    for k in range(4):
        # bar k runs along x from hinge k, whose axis is z, to hinge k + 1, whose axis is twisted about x
        end = Frame(
            (lengths[k], 0.0, 0.0), (float(np.cos(twists[k] / 2)), float(np.sin(twists[k] / 2)), 0.0, 0.0)
        )
        start = () if k == 3 else (float(angles[k]),)
        joints.append(
            Joint(f"hinge{k}", "revolute", names[k], names[(k + 1) % 4], end, start=start, cut=k == 3 or None)
        )
    return Mechanism("bennett", tuple(bodies), tuple(joints))


def stiff_five_bar(stiffness: float = 1e6, damping: float = 2e4) -> Mechanism:
    """The five-bar with a stiff, damped strut between its elbows: one fast and one slow freedom."""
    plain = five_bar()
    length = 2.0  # between the elbows at the start
    strut = Strut("strut", "rod1", "rod4", (1.0, 0.0, 0.0), (0.0, 0.0, 0.0), stiffness, damping, length)
    # Sideways, so that the strut is not stretched at first and no time is spent on a fast transient.
    left, elbow, apex, *rest = plain.joints
    joints = (replace(left, speed=(1.0,)), elbow, replace(apex, speed=(0.0,)), *rest)
    return replace(plain, name="stiff", joints=joints, struts=(strut,))


def cartesian_pendulum(angle: float) -> Mechanism:
    """Paper 004, Fig. 2.2: a body free in the plane, held 1 m from the origin by a rod."""
    body = Body("bob", 1.0, (0.0, 0.0, 0.0), (0.1, 0.1, 0.1, 0.0, 0.0, 0.0))
    start = (float(np.cos(angle)), float(np.sin(angle)), 0.0)
    slide = Joint("slide", "planar", "ground", "bob", start=start)
    held = Joint("held", "distance", "ground", "bob", length=1.0)
    return Mechanism("pendulum", (body,), (slide, held), gravity=DOWN)
