"""The lock constraint between two markers (paper 001), with motion laws, over symbols.

Marker P sits on body O1 and marker S on body O2, at u_P, q_P and u_S, q_S in their bodies; all four,
and the wanted place q_Δ of P seen from S, may be functions of time. Seven rows,

    C = [Λ_Sᵀ Λ₂ᵀ w − x_Δ;  q̄_Δ ⊗ q̄_S ⊗ q̄_O2 ⊗ q_O1 ⊗ q_P − 1],  w = P − S in world axes (29, 49),

of which x, y, z and the imaginary i, j, k are kept, or fewer: 64 joints. The real row follows from
|q| = 1. q_rel = −1 locks as well as +1: continuity decides.

Put right against the print: 49 has q_P, not its inverse; 43 has the opposite sign; 59, 60 and 63
lack the conjugation of q_O2. The rotation blocks of 42 hold on the tangent δq ⟂ q only, as
Λ(q/|q|) has them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from typing import Any, NamedTuple

import casadi as ca
import numpy as np

from ..describe.mechanism import Frame
from ..errors import DescriptionError
from ..joints.rigid_motion import conjugate, product, rotation
from ..joints.types import LOCK_ROWS
from .laws import Jet, Law, constant, unit

Array = np.ndarray
ROWS = {"x": 0, "y": 1, "z": 2, "i": 4, "j": 5, "k": 6}  # place among the seven
# Table 1. The Oldham row slides across x where the others turn about or slide along z.
TABLE1 = {
    "bolt": "xyzijk",
    "point on line": "xy",
    "point on plane": "z",
    "plane on plane": "zij",
    "revolute": "xyzij",
    "cylindrical": "xyij",
    "angular alignment": "ijk",
    "Oldham": "xijk",
    "prismatic": "xyijk",
    "Birfield or Rzeppa": "xyk",
    "homokinetic": "xyzk",
    "spherical": "xyz",  # section 6.1
}


def masks() -> list[str]:
    """All 64, from no row to all six."""
    return ["".join(chosen) for count in range(7) for chosen in combinations(LOCK_ROWS, count)]


class Terms(NamedTuple):
    """C, C_q, C_t and Q_c of all seven rows, columns (x_O1, q_O1, x_O2, q_O2)."""

    C: Any  # 7
    Cq: Any  # 7 × 14
    Ct: Any  # 7
    Qc: Any  # 7: C_q q̈ = Q_c


class SymbolJet(NamedTuple):
    """Value and derivatives of a law, as symbols or as constants."""

    x: Any
    dx: Any
    ddx: Any


def terms(q1: Any, dq1: Any, q2: Any, dq2: Any, P: Any, S: Any, D: Any) -> Terms:
    """The lock at coordinates q = (x, q_O) and their rates, 7 each, |q_O| = 1.

    P, S, D are 7 × 3: position and Euler parameters of the markers in their bodies and of the
    wanted place, with first and second derivatives as further columns.
    """
    translation = _translation(q1, dq1, q2, dq2, _jet(P, 0, 3), _jet(S, 0, 3), _jet(S, 3, 7), _jet(D, 0, 3))
    turning = _rotation(q1[3:], dq1[3:], q2[3:], dq2[3:], _jet(P, 3, 7), _jet(S, 3, 7), _jet(D, 3, 7))
    return Terms(*(ca.vertcat(a, b) for a, b in zip(translation, turning, strict=True)))


def _jet(columns: Any, first: int, last: int) -> SymbolJet:
    return SymbolJet(*(columns[first:last, k] for k in range(3)))


def local_matrix(q: Any) -> Any:
    """Gl, 3 × 4, factor 2 included: ω in body axes is Gl(q) q̇, and α is Gl(q) q̈ (37)."""
    e0, e = q[0], q[1:]
    return 2 * ca.horzcat(-e, e0 * ca.SX.eye(3) - ca.skew(e))


def _translation(
    q1: Any, dq1: Any, q2: Any, dq2: Any, uP: SymbolJet, uS: SymbolJet, qS: SymbolJet, D: SymbolJet
) -> Terms:
    """Eqs. 29, 32, 42 and 43 (all of 43 with a minus)."""
    A1, A2, AS = rotation(q1[3:]), rotation(q2[3:]), rotation(qS.x)
    G1, G2, GS = local_matrix(q1[3:]), local_matrix(q2[3:]), local_matrix(qS.x)
    o1, o2, oS = ca.skew(G1 @ dq1[3:]), ca.skew(G2 @ dq2[3:]), ca.skew(GS @ qS.dx)
    # Λ̇ = Λω̂ and Λ̈ = Λ(α̂ + ω̂ω̂), ω and α in the turning axes (37)
    dA1, dA2, dAS = A1 @ o1, A2 @ o2, AS @ oS
    ddAS = AS @ (ca.skew(GS @ qS.ddx) + oS @ oS)
    w = q1[:3] + A1 @ uP.x - q2[:3] - A2 @ uS.x
    dw = dq1[:3] + dA1 @ uP.x + A1 @ uP.dx - dq2[:3] - dA2 @ uS.x - A2 @ uS.dx
    back = AS.T @ A2.T
    C = back @ w - D.x
    Cq = ca.horzcat(
        back,
        -back @ A1 @ ca.skew(uP.x) @ G1,
        -back,
        AS.T @ (ca.skew(uS.x) + ca.skew(A2.T @ w)) @ G2,
    )
    Ct = dAS.T @ A2.T @ w + AS.T @ (A2.T @ A1 @ uP.dx - uS.dx) - D.dx
    Qc = -(
        AS.T @ o2 @ o2 @ A2.T @ w
        + back @ (A1 @ o1 @ o1 @ uP.x + 2 * dA1 @ uP.dx + A1 @ uP.ddx)
        - AS.T @ (o2 @ o2 @ uS.x + 2 * o2 @ uS.dx + uS.ddx)
        + ddAS.T @ A2.T @ w
        + 2 * dAS.T @ dA2.T @ w
        + 2 * dAS.T @ A2.T @ dw
        + 2 * AS.T @ dA2.T @ dw
        - D.ddx
    )
    return Terms(C, Cq, Ct, Qc)


def _rotation(q1: Any, dq1: Any, q2: Any, dq2: Any, qP: SymbolJet, qS: SymbolJet, qD: SymbolJet) -> Terms:
    """Eqs. 49, 51, 53, 67 and 69."""
    zero = ca.SX.zeros(4, 1)
    chain = [
        SymbolJet(*(conjugate(x) for x in qD)),
        SymbolJet(*(conjugate(x) for x in qS)),
        SymbolJet(conjugate(q2), conjugate(dq2), zero),
        SymbolJet(q1, dq1, zero),
        qP,
    ]

    def chained(orders: list[int]) -> Any:
        result = chain[0][orders[0]]
        for factor, order in zip(chain[1:], orders[1:], strict=True):
            result = product(result, factor[order])
        return result

    C = chained([0] * 5) - ca.SX([1, 0, 0, 0])
    left = product(chain[0].x, chain[1].x)
    conjugation = ca.diag(ca.SX([1, -1, -1, -1]))
    by1 = _left(product(left, chain[2].x)) @ _right(qP.x)
    by2 = _left(left) @ _right(product(q1, qP.x)) @ conjugation
    Cq = ca.horzcat(ca.SX(4, 3), by1, ca.SX(4, 3), by2)
    Ct, bias = zero, zero
    for a in range(5):
        if a not in (2, 3):  # the bodies' own rates belong to C_q
            Ct = Ct + chained([int(k == a) for k in range(5)])
            bias = bias + chained([2 * int(k == a) for k in range(5)])
        for b in range(a):
            bias = bias + 2 * chained([int(k in (a, b)) for k in range(5)])
    return Terms(C, Cq, Ct, -bias)


def _left(q: Any) -> Any:
    """[q]⁺ of Eq. 56: q ⊗ r = [q]⁺ r."""
    return ca.horzcat(*(product(q, ca.SX.eye(4)[:, k]) for k in range(4)))


def _right(q: Any) -> Any:
    """[q]⁻ of Eq. 58: r ⊗ q = [q]⁻ r."""
    return ca.horzcat(*(product(ca.SX.eye(4)[:, k], q) for k in range(4)))


# -- locks with laws, over numbers -----------------------------------------------------------


_ORIGIN, _NO_TURN = constant((0.0, 0.0, 0.0)), constant((1.0, 0.0, 0.0, 0.0))


@dataclass(frozen=True)
class Marker:
    """A place that may move: position (3) and Euler parameters (4, of any length) over time."""

    position: Law = _ORIGIN
    orientation: Law = _NO_TURN

    @property
    def still(self) -> bool:
        return self.position.still and self.orientation.still

    def columns(self, t: float) -> Array:
        """Value, first and second derivative side by side, 7 × 3."""
        parts = (self.position(t), unit(self.orientation(t)))
        return np.vstack([np.column_stack(part) for part in parts])


@dataclass(frozen=True)
class Moved:
    """A place over time computed as a whole, such as a driven joint's frame."""

    jets: Callable[[float], tuple[Jet, Jet]]
    still: bool = False

    def columns(self, t: float) -> Array:
        return np.vstack([np.column_stack(part) for part in self.jets(t)])


def marker(frame: Frame) -> Marker:
    """A marker fixed to its body."""
    return Marker(constant(frame.position), constant(frame.orientation))


@dataclass(frozen=True)
class Lock:
    """A lock by name: `body1` carries P, `body2` carries S, `mask` names the rows kept.

    `wanted` is where P shall be, seen from S. A joint of the engine is the lock with P its frame on
    the child, S its frame on the parent.
    """

    name: str
    body1: str
    body2: str
    P: Marker = Marker()
    S: Marker = Marker()
    wanted: Marker | Moved = Marker()
    mask: str = LOCK_ROWS

    def __post_init__(self) -> None:
        if len(set(self.mask)) != len(self.mask) or not set(self.mask) <= set(LOCK_ROWS):
            raise DescriptionError(
                f"lock '{self.name}': a mask is some of the letters {LOCK_ROWS}, not '{self.mask}'"
            )

    @property
    def kept(self) -> list[int]:
        """The rows kept, among the seven."""
        return [ROWS[c] for c in LOCK_ROWS if c in self.mask]

    def evaluate(self, t: float, q1: Array, dq1: Array, q2: Array, dq2: Array) -> Terms:
        """C, C_q, C_t, Q_c of the kept rows at a time, as arrays."""
        values = function()(q1, dq1, q2, dq2, self.P.columns(t), self.S.columns(t), self.wanted.columns(t))
        C, Cq, Ct, Qc = (np.array(v) for v in values)
        return Terms(C[self.kept, 0], Cq[self.kept], Ct[self.kept, 0], Qc[self.kept, 0])


@cache
def function() -> ca.Function:
    """All seven rows as one function, of numbers or, inlined, of other symbols; traced when first needed."""
    q = [ca.SX.sym(n, 7) for n in ("q1", "dq1", "q2", "dq2")]
    laws = [ca.SX.sym(n, 7, 3) for n in "PSD"]
    return ca.Function("lock", [*q, *laws], [ca.densify(x) for x in terms(*q, *laws)])
