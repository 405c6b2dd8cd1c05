"""Primitive constraints between two frames, the rows from which every cut joint is made.

The frames i (on the parent) and j (on the child) have origins r_i, r_j and axes a_i, a_j in
world axes; d = r_j − r_i. These are the dot-1, dot-2, coincident-point and distance
constraints of papers 000 and 003, and a screw row. Each says how many `rows` it has, which
`fields` of the joint it reads, whether the frames' `axes` matter to it, and whether its residual
`wraps`, that is forgets whole turns. It returns

- its residual Φ,
- its derivative as covectors (c_ω, c_r) such that
  Φ̇ = c_ωj·ω_j + c_rj·ṙ_j + c_ωi·ω_i + c_ri·ṙ_i with ω in world axes,
- the part Φ̈ of the second derivative that does not contain accelerations, given the
  velocities (ω, ṙ).

Relative quantities do not change when both frames move together, so the joints that both
frames hang on never enter; `loops.py` relies on it.
"""

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import casadi as ca

AXIS = "xyz"


class Ends(NamedTuple):
    """The two frames of a cut joint and their velocities, all in world axes."""

    Ri: Any
    ri: Any
    Rj: Any
    rj: Any
    wi: Any
    vi: Any
    wj: Any
    vj: Any


class Row(NamedTuple):
    """One scalar constraint: residual, covectors on (ω_i, ṙ_i, ω_j, ṙ_j), velocity terms of Φ̈."""

    residual: Any
    wi: Any
    ri: Any
    wj: Any
    rj: Any
    bias: Any


class _Primitive:
    """One row that looks at the frames' axes, reads no field and tells all turns apart.

    `power` tells how Φ grows with the size of the mechanism: 0 for angles, 1 for lengths.
    """

    label: ClassVar[str] = ""
    rows: ClassVar[int] = 1
    power: ClassVar[int] = 1
    fields: ClassVar[tuple[str, ...]] = ()
    axes: ClassVar[bool] = True
    wraps: ClassVar[bool] = False

    def names(self) -> tuple[str, ...]:
        """A name for each row."""
        return (self.label.format(**{field: AXIS[axis] for field, axis in vars(self).items()}),)


@dataclass(frozen=True)
class Across(_Primitive):
    """Dot-1: axis `a` of frame i stays perpendicular to axis `b` of frame j, Φ = u·w."""

    label = "{a} across {b}"
    a: int
    b: int
    power = 0

    def evaluate(self, e: Ends, joint: Any, base: Any) -> list[Row]:
        u, w = e.Ri[:, self.a], e.Rj[:, self.b]
        du, dw = ca.cross(e.wi, u), ca.cross(e.wj, w)
        c = ca.cross(w, u)
        bias = ca.dot(ca.cross(e.wi, du), w) + 2 * ca.dot(du, dw) + ca.dot(u, ca.cross(e.wj, dw))
        zero = ca.SX(3, 1)
        return [Row(ca.dot(u, w), -c, zero, c, zero, bias)]


@dataclass(frozen=True)
class Along(_Primitive):
    """Dot-2: d has no component along axis `a` of frame i, Φ = u·d."""

    label = "offset along {a}"
    a: int

    def evaluate(self, e: Ends, joint: Any, base: Any) -> list[Row]:
        return [_offset(e, e.Ri[:, self.a])]


def _offset(e: Ends, u: Any) -> Row:
    d, dd = e.rj - e.ri, e.vj - e.vi
    du = ca.cross(e.wi, u)
    bias = ca.dot(ca.cross(e.wi, du), d) + 2 * ca.dot(du, dd)
    return Row(ca.dot(u, d), ca.cross(u, d), -u, ca.SX(3, 1), u, bias)


@dataclass(frozen=True)
class AlongChild(_Primitive):
    """Dot-2 the other way round: d has no component along axis `a` of frame j, Φ = w·d."""

    label = "offset along the child's {a}"
    a: int

    def evaluate(self, e: Ends, joint: Any, base: Any) -> list[Row]:
        w, d, dd = e.Rj[:, self.a], e.rj - e.ri, e.vj - e.vi
        dw = ca.cross(e.wj, w)
        bias = ca.dot(ca.cross(e.wj, dw), d) + 2 * ca.dot(dw, dd)
        return [Row(ca.dot(w, d), ca.SX(3, 1), -w, ca.cross(w, d), w, bias)]


@dataclass(frozen=True)
class Together(_Primitive):
    """The two origins coincide: Φ = A_baseᵀ d, in the axes of the body both chains start from."""

    rows = 3
    axes = False

    def names(self) -> tuple[str, ...]:
        return tuple(f"gap along {x}" for x in AXIS)

    def evaluate(self, e: Ends, joint: Any, base: Any) -> list[Row]:
        """`base` is (A, ω, ω̇) of the common body; its axes make Φ independent of that body's motion."""
        A, w, dw = base
        d, dd = e.rj - e.ri, e.vj - e.vi
        zero = ca.SX(3, 1)
        rows = []
        for k in range(3):
            u = A[:, k]
            du = ca.cross(w, u)
            bias = ca.dot(ca.cross(w, du) + ca.cross(dw, u), d) + 2 * ca.dot(du, dd)
            rows.append(Row(ca.dot(u, d), zero, -u, zero, u, bias))
        return rows


@dataclass(frozen=True)
class FixedDistance(_Primitive):
    """The origins stay `length` apart: Φ = d·d − ℓ² (paper 003, Eq. 17)."""

    label = "distance"
    fields = ("length",)
    axes = False
    power = 2

    def evaluate(self, e: Ends, joint: Any, base: Any) -> list[Row]:
        d, dd = e.rj - e.ri, e.vj - e.vi
        zero = ca.SX(3, 1)
        return [Row(ca.dot(d, d) - joint.length**2, zero, -2 * d, zero, 2 * d, 2 * ca.dot(dd, dd))]


@dataclass(frozen=True)
class SlideDistance(_Primitive):
    """A point `travel` along the parent's z axis stays `length` from the child's origin.

    Φ = l·l − ℓ² with l = d − t z_i (paper 003, Eq. 53, with the sign of s12 put right).
    """

    label = "distance from the slide"
    fields = ("length", "travel")
    power = 2

    def evaluate(self, e: Ends, joint: Any, base: Any) -> list[Row]:
        z, t = e.Ri[:, 2], joint.travel
        dz = ca.cross(e.wi, z)
        rod, rate = e.rj - e.ri - t * z, e.vj - e.vi - t * dz
        bias = 2 * ca.dot(rate, rate) - 2 * t * ca.dot(rod, ca.cross(e.wi, dz))
        Phi = ca.dot(rod, rod) - joint.length**2
        return [Row(Phi, -2 * t * ca.cross(z, rod), -2 * rod, ca.SX(3, 1), 2 * rod, bias)]


@dataclass(frozen=True)
class Thread(_Primitive):
    """Travel along the axis is pitch times the turn about it, whatever the number of turns.

    Φ = P·atan2(sin φ, cos φ) with φ = d·z_i/P − θ and θ the turn about z. Wrapping φ and
    not θ keeps Φ continuous: a residual of a whole lead is another start of the thread.
    """

    label = "screw"
    fields = ("pitch",)
    wraps = True

    def evaluate(self, e: Ends, joint: Any, base: Any) -> list[Row]:
        travel = _offset(e, e.Ri[:, 2])
        P = joint.pitch
        x, y, xj = e.Ri[:, 0], e.Ri[:, 1], e.Rj[:, 0]
        c, s = ca.dot(x, xj), ca.dot(y, xj)
        # θ = atan2(s, c) with c, s dot-1 products: differentiate them as such.
        k = c * c + s * s
        cosine = Across(0, 0).evaluate(e, joint, base)[0]
        sine = Across(1, 0).evaluate(e, joint, base)[0]
        dc = ca.dot(cosine.wj, e.wj - e.wi)
        ds = ca.dot(sine.wj, e.wj - e.wi)
        wj = (c * sine.wj - s * cosine.wj) / k
        rate = (c * ds - s * dc) / k
        bias = (c * sine.bias - s * cosine.bias) / k - 2 * (c * dc + s * ds) * rate / k
        phi = travel.residual / P - ca.atan2(s, c)
        return [
            Row(
                P * ca.atan2(ca.sin(phi), ca.cos(phi)),
                travel.wi + P * wj,
                travel.ri,
                -P * wj,
                travel.rj,
                travel.bias - P * bias,
            )
        ]


Primitive = Across | Along | AlongChild | Together | FixedDistance | SlideDistance | Thread
