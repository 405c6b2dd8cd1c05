"""Primitive constraints between two frames, the rows from which every cut joint is made.

The frames i (on the parent) and j (on the child) have origins r_i, r_j and axes a_i, a_j in
world axes; d = r_j − r_i. These are the dot-1, dot-2, coincident-point and distance
constraints of papers 000 and 003, and a screw row. Each says how many `rows` it has, which
`fields` of the joint it reads, whether the frames' `axes` matter to it, whether its residual
`wraps`, that is forgets whole turns, whether it keeps the two origins `apart`, and whether it is
`of_speeds`: a velocity constraint, which no residual belongs to. It returns

- its residual Φ, zero where it is of speeds,
- its derivative as covectors (c_ω, c_r) such that
  Φ̇ = c_ωj·ω_j + c_rj·ṙ_j + c_ωi·ω_i + c_ri·ṙ_i + rate with ω in world axes; `rate` is what
  does not depend on speeds, as of a surface that runs like a belt,
- the part Φ̈ of the second derivative that does not contain accelerations, given the
  velocities (ω, ṙ).

A velocity constraint is Φ̇ = 0 without a Φ, as non-holonomic ones are: it enters accelerations and speeds,
but no pose is wrong by it.

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
    """One scalar constraint: residual, covectors on (ω_i, ṙ_i, ω_j, ṙ_j), velocity terms of Φ̈, rate."""

    residual: Any
    wi: Any
    ri: Any
    wj: Any
    rj: Any
    bias: Any
    rate: Any = 0.0


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
    apart: ClassVar[bool] = False
    of_speeds: ClassVar[bool] = False

    def names(self) -> tuple[str, ...]:
        """A name for each row."""
        axes = {field: AXIS[axis] for field, axis in vars(self).items() if isinstance(axis, int)}
        return (self.label.format(**axes),)


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
    apart = True
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
    apart = True
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


class _Touching(_Primitive):
    """A `round` body around frame j touches the plane through frame i's origin across its z axis.

    The lowest point is r_j + s. A ball has s = −ρ z_i; a wheel, a thin ring about z_j, has s = ρ a × t with
    the axle a = z_j and the track t = a × z_i / |a × z_i|. Along a direction u fixed in the plane the
    body's material point there moves over the plane's by

        u·(ṙ_j + ω_j × s − ṙ_i − ω_i × (d + s)),

    which for u = z_i is the rate of the gap: at the lowest point, going along the body changes no height.
    """

    apart = True
    round: str

    def arm(self, e: Ends, joint: Any) -> tuple[Any, Any]:
        """s and its rate."""
        n, dn = e.Ri[:, 2], ca.cross(e.wi, e.Ri[:, 2])
        if self.round == "ball":
            return -joint.radius * n, -joint.radius * dn
        a, da = e.Rj[:, 2], ca.cross(e.wj, e.Rj[:, 2])
        along, rate = ca.cross(a, n), ca.cross(da, n) + ca.cross(a, dn)
        size = ca.norm_2(along)
        t = along / size
        dt = (rate - t * ca.dot(t, rate)) / size
        return joint.radius * ca.cross(a, t), joint.radius * (ca.cross(da, t) + ca.cross(a, dt))

    def touch(self, e: Ends, joint: Any, axis: int) -> Row:
        """The row of one axis of frame i."""
        s, ds = self.arm(e, joint)
        u, lever, dd = e.Ri[:, axis], e.rj - e.ri + s, e.vj - e.vi + ds
        speed = e.vj + ca.cross(e.wj, s) - e.vi - ca.cross(e.wi, lever)
        bias = ca.dot(ca.cross(e.wi, u), speed) + ca.dot(u, ca.cross(e.wj, ds) - ca.cross(e.wi, dd))
        return Row(ca.dot(u, lever), ca.cross(u, lever), -u, ca.cross(s, u), u, bias)


@dataclass(frozen=True)
class Contact(_Touching):
    """The lowest point lies in the plane: Φ = z_i·(d + s)."""

    label = "contact"
    fields = ("radius",)
    round: str

    def evaluate(self, e: Ends, joint: Any, base: Any) -> list[Row]:
        return [self.touch(e, joint, 2)]


@dataclass(frozen=True)
class NoSlip(_Touching):
    """The material point that touches moves with the plane's surface, which runs by `belt` along x and y."""

    rows = 2
    fields = ("radius", "belt")
    of_speeds = True
    round: str

    def names(self) -> tuple[str, ...]:
        return tuple(f"slip along {x}" for x in AXIS[:2])

    def evaluate(self, e: Ends, joint: Any, base: Any) -> list[Row]:
        return [
            self.touch(e, joint, k)._replace(residual=ca.SX(0), rate=-joint.belt[k]) for k in range(self.rows)
        ]


@dataclass(frozen=True)
class NoSideslip(_Primitive):
    """Frame j's origin does not move along its axis `a` over the parent: w·(ṙ_j − ṙ_i − ω_i × d) = 0."""

    label = "slip along the child's {a}"
    a: int
    of_speeds = True

    def evaluate(self, e: Ends, joint: Any, base: Any) -> list[Row]:
        w, d, dd = e.Rj[:, self.a], e.rj - e.ri, e.vj - e.vi
        bias = ca.dot(ca.cross(e.wj, w), dd - ca.cross(e.wi, d)) - ca.dot(w, ca.cross(e.wi, dd))
        return [Row(ca.SX(0), ca.cross(w, d), -w, ca.SX(3, 1), w, bias)]


Primitive = (
    Across
    | Along
    | AlongChild
    | Together
    | FixedDistance
    | SlideDistance
    | Thread
    | Contact
    | NoSlip
    | NoSideslip
)
