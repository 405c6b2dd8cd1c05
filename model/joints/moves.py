"""The elementary moves that joints are made of, each a class that knows all about itself.

A move carries a frame away from another one. `reverse` tells that a joint is passed from its
child to its parent: the frames change places, while the coordinates keep their meaning. `joint`
is the described joint, of which a move reads its `fields` only. A move is frozen, works over
symbols (SX) and numbers (DM), and obeys this contract:

1. `nq` coordinates q and `nv` speeds v, with name `endings`, `units`, `speed_units`, and `zero`, the
   coordinates at which the frames coincide. `plain`: q is any vector and q̇ = v; if not, q has
   length one, as Euler parameters have.
2. `turns` and `slides`: the axes (0, 1, 2 for x, y, z) about and along which it moves. `about_z`: it
   keeps to z, so that turns about z and slides along z may be put before or behind it alike.
3. `pose` f(q) of the frame behind in the frame before, and its `euler_parameters`. Moves about z take
   a constant turn and slide along, for which `frames.py` finds a use.
4. `subspace` S, 6 × nv and constant: S v is the twist of the frame behind in its own axes, so no
   algorithm ever needs Ṡ (the multiple-freedom joints of paper 004, A.2.7, become chains).
5. `rates` q̇ = N(q) v, and `normalized`: the same coordinates, of length one where not plain.
6. `displacement` d of q = r ⊕ d, that is q = normalized(r + N(r) d); `displacement_rates`
   ḋ = E(d) v with E(0) = 1; `by_displacement`: rows of derivatives along v as rows along d, by E(d)⁻¹.
7. `bracket`: the matrix of k ↦ [v, k], nv × nv, of the fields N v and N k of constant v and k.
8. `user_speed` and `engine_speed`: from the speeds of the frame behind against the one before to those
   of the child against the parent, each in its own axes, and back. Accelerations go the same way.
9. `singles`: moves with one coordinate each that do the same, and `single_values`: their positions and
   speeds, those nearest to `near` where a turn leaves them open.

Constants fold into the code that is traced, and structural zeros stay structural.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import casadi as ca

from .angles import angle_rates, yaw_pitch_roll
from .rigid_motion import Pose, about_z, conjugate, product, rotation

Values = tuple[Sequence[Any], Sequence[Any]]


@dataclass(frozen=True)
class _Axial:
    """One plain coordinate about or along an axis of the moving frame."""

    axis: int
    nq: ClassVar[int] = 1
    nv: ClassVar[int] = 1
    plain: ClassVar[bool] = True
    zero: ClassVar[tuple[float, ...]] = (0.0,)
    fields: ClassVar[tuple[str, ...]] = ()
    turning: ClassVar[bool] = False
    sliding: ClassVar[bool] = False

    @property
    def turns(self) -> tuple[int, ...]:
        return (self.axis,) if self.turning else ()

    @property
    def slides(self) -> tuple[int, ...]:
        return (self.axis,) if self.sliding else ()

    @property
    def about_z(self) -> bool:
        return self.axis == 2

    @property
    def endings(self) -> tuple[str, ...]:
        return (("r" if self.turning else "") + "xyz"[self.axis],)

    @property
    def units(self) -> tuple[str, ...]:
        return ("rad" if self.turning else "m",)

    @property
    def speed_units(self) -> tuple[str, ...]:
        return (f"{self.units[0]}/s",)

    def travel(self, joint: Any) -> Any:
        """How far it slides, in units of q."""
        return 1.0

    def pose(self, q: Any, joint: Any, reverse: bool = False, turn: float = 0.0, slide: float = 0.0) -> Pose:
        R, p = ca.SX(about_z(turn)), ca.SX(ca.DM([0, 0, slide]))
        sign = -1 if reverse else 1
        for k in self.turns:
            i, j = (k + 1) % 3, (k + 2) % 3
            c, s = ca.cos(sign * q + turn), ca.sin(sign * q + turn)
            R[i, i], R[i, j], R[j, i], R[j, j] = c, -s, s, c
        for k in self.slides:
            p[k] += sign * self.travel(joint) * q
        return Pose(R, p)

    def euler_parameters(self, q: Any, reverse: bool = False) -> Any:
        e = ca.SX([1, 0, 0, 0])
        for k in self.turns:
            e[0], e[1 + k] = ca.cos(q / 2), (-1 if reverse else 1) * ca.sin(q / 2)
        return e

    def subspace(self, joint: Any, reverse: bool = False) -> Any:
        S, sign = ca.SX(6, 1), -1 if reverse else 1
        for k in self.turns:
            S[k] = sign
        for k in self.slides:
            S[3 + k] = sign * self.travel(joint)
        return S

    def rates(self, q: Any, v: Any, reverse: bool = False) -> Any:
        return v

    def normalized(self, q: Any) -> Any:
        return q

    def displacement(self, r: Any, q: Any, reverse: bool = False) -> Any:
        return q - r

    def displacement_rates(self, d: Any, v: Any) -> Any:
        return v

    def by_displacement(self, rows: Any, d: Any) -> Any:
        return rows

    def bracket(self, v: Any) -> Any:
        return ca.SX(1, 1)

    def user_speed(self, q: Any, v: Any, reverse: bool = False) -> Any:
        return v

    def engine_speed(self, q: Any, s: Any, reverse: bool = False) -> Any:
        return s

    @property
    def singles(self) -> tuple[Turn | Slide, ...]:
        return (*(Turn(k) for k in self.turns), *(Slide(k) for k in self.slides))

    def single_values(self, q: Any, v: Any, near: Any, joint: Any) -> Values:
        scales = (1.0, self.travel(joint))[: len(self.singles)]
        return [x * q[0] for x in scales], [x * v[0] for x in scales]


class Turn(_Axial):
    """Turns by q about its axis."""

    turning = True


class Slide(_Axial):
    """Slides by q along its axis."""

    sliding = True


class Screw(_Axial):
    """Turns by q about its axis and slides `pitch` metres a radian along it."""

    turning = sliding = True
    fields = ("pitch",)

    def travel(self, joint: Any) -> Any:
        return joint.pitch


@dataclass(frozen=True)
class Ball:
    """Turns any way about a point, by Euler parameters q and the angular velocity v.

    v is ω of the frame behind over the one before in the axes behind. The Euler parameters are always
    those of the child in the parent, so in reverse the frame's own parameters are the conjugate ones.
    """

    nq: ClassVar[int] = 4
    nv: ClassVar[int] = 3
    plain: ClassVar[bool] = False
    zero: ClassVar[tuple[float, ...]] = (1.0, 0.0, 0.0, 0.0)
    fields: ClassVar[tuple[str, ...]] = ()
    turns: ClassVar[tuple[int, ...]] = (0, 1, 2)
    slides: ClassVar[tuple[int, ...]] = ()
    about_z: ClassVar[bool] = False
    endings: ClassVar[tuple[str, ...]] = ("e0", "e1", "e2", "e3")
    units: ClassVar[tuple[str, ...]] = ("1",) * 4
    speed_units: ClassVar[tuple[str, ...]] = ("rad/s",) * 3

    def pose(self, q: Any, joint: Any, reverse: bool = False, turn: float = 0.0, slide: float = 0.0) -> Pose:
        return Pose(rotation(self.euler_parameters(q, reverse)), ca.SX.zeros(3, 1))

    def euler_parameters(self, q: Any, reverse: bool = False) -> Any:
        return conjugate(q) if reverse else q

    def subspace(self, joint: Any, reverse: bool = False) -> Any:
        return ca.vertcat(ca.SX.eye(3), ca.SX(3, 3))

    def rates(self, q: Any, v: Any, reverse: bool = False) -> Any:
        """ė = ½ e ⊗ (0, ω) of the frame's own e."""
        e = 0.5 * product(self.euler_parameters(q, reverse), ca.vertcat(0, v))
        return self.euler_parameters(e, reverse)

    def normalized(self, q: Any) -> Any:
        return q / ca.norm_2(q)

    def displacement(self, r: Any, q: Any, reverse: bool = False) -> Any:
        """Twice the Rodrigues vector of the turn from r to q."""
        turn = product(r, conjugate(q)) if reverse else product(conjugate(r), q)
        return 2 * turn[1:] / turn[0]

    def displacement_rates(self, d: Any, v: Any) -> Any:
        """ḋ = ω + ½ d×ω + ¼ d dᵀω."""
        return v + 0.5 * ca.cross(d, v) + 0.25 * d * ca.dot(d, v)

    def by_displacement(self, rows: Any, d: Any) -> Any:
        """E⁻¹ = (1 − ½ d×)/(1 + ¼ dᵀd)."""
        back = (ca.SX.eye(3) - 0.5 * ca.skew(d)) / (1 + 0.25 * ca.sumsqr(d))
        return ca.sparsify(rows @ back)

    def bracket(self, v: Any) -> Any:
        """ω×, as rotations in the moving axes have it."""
        return ca.skew(v)

    def user_speed(self, q: Any, v: Any, reverse: bool = False) -> Any:
        return -(rotation(q).T @ v) if reverse else v

    def engine_speed(self, q: Any, s: Any, reverse: bool = False) -> Any:
        return -(rotation(q) @ s) if reverse else s

    @property
    def singles(self) -> tuple[Turn | Slide, ...]:
        return (Rz, Ry, Rx)

    def single_values(self, q: Any, v: Any, near: Any, joint: Any) -> Values:
        """Yaw, pitch and roll; single moves of a reversed ball are undone in opposite order."""
        angles = yaw_pitch_roll(q, near)
        return angles, angle_rates(angles, v)


Move = Turn | Slide | Screw | Ball
Rx, Ry, Rz = (Turn(k) for k in range(3))
Px, Py, Pz = (Slide(k) for k in range(3))
Hz, Q = Screw(2), Ball()
