"""The lock constraint between two markers (paper 001), with motion laws, over symbols.

Marker P sits on body O1 and marker S on body O2, at u_P, q_P and u_S, q_S in their bodies; all four,
and the wanted place q_Δ of P seen from S, may be functions of time. Seven rows,

    C = [Λ_Sᵀ Λ₂ᵀ w − x_Δ;  q̄_Δ ⊗ q̄_S ⊗ q̄_O2 ⊗ q_O1 ⊗ q_P − 1],  w = P − S in world axes (29, 49),

of which x, y, z and the imaginary i, j, k are kept, or fewer: 64 joints. The real row follows from
|q| = 1. q_rel = −1 locks as well as +1: continuity decides.

Put right against the print: 49 has q_P, not its inverse; 43 has the opposite sign; 59, 60 and 63
lack the conjugation of q_O2. The rotation blocks of 42 hold on the tangent δq ⟂ q only; here all are
those of Λ(q/|q|).
"""

from dataclasses import dataclass
from functools import cache
from itertools import combinations
from typing import Any, NamedTuple

import casadi as ca
import numpy as np

from ..base.errors import DescriptionError
from ..describe.mechanism import Frame
from ..joints.rigid_motion import conjugate, product, rotation
from ..joints.types import LOCK_ROWS
from ..laws import Law, constant
from ..laws.law import unit_turn

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


class LockTerms(NamedTuple):
    """C, C_q, C_t and Q_c of all seven rows, columns (x_O1, q_O1, x_O2, q_O2)."""

    C: Any  # 7
    Cq: Any  # 7 × 14
    Ct: Any  # 7
    Qc: Any  # 7: C_q q̈ = Q_c


def lock_terms(q1: Any, dq1: Any, q2: Any, dq2: Any, P: Any, S: Any, D: Any) -> LockTerms:
    """The lock at coordinates q = (x, q_O) and their rates, 7 each, |q_O| = 1, of numbers or symbols.

    P, S, D are 7 × 3: position and Euler parameters of the markers in their bodies and of the
    wanted place, with first and second derivatives as further columns.
    """
    return LockTerms(*lock_function()(q1, dq1, q2, dq2, P, S, D))


@cache
def lock_function() -> ca.Function:
    """All seven rows, their derivatives by automatic differentiation; traced when first needed.

    These are Eqs. 32, 42, 43, 51, 53, 67 and 69: C_q = ∂C/∂q, C_t along the laws alone, and −Q_c what is
    left of C̈ when q̈ is zero.
    """
    (q1, dq1, q2, dq2), laws = (ca.SX.sym(n, 7) for n in ("q1", "dq1", "q2", "dq2")), ca.SX.sym("laws", 7, 9)
    q, dq = ca.vertcat(q1, q2), ca.vertcat(dq1, dq2)
    place, rate, acceleration = (ca.vec(laws[:, k::3]) for k in range(3))
    C = _residual(q1, q2, *(laws[:, k] for k in (0, 3, 6)))
    Ct = ca.jtimes(C, place, rate)
    along, motion = ca.vertcat(q, place, rate), ca.vertcat(dq, rate, acceleration)
    Qc = -ca.jtimes(ca.jtimes(C, q, dq) + Ct, along, motion)
    whole = [ca.densify(x) for x in (C, ca.jacobian(C, q), Ct, Qc)]
    P, S, D = ca.horzsplit(laws, 3)
    return ca.Function("lock", [q1, dq1, q2, dq2, P, S, D], whole)


def _residual(q1: Any, q2: Any, P: Any, S: Any, D: Any) -> Any:
    """C (29, 49)."""
    w = q1[:3] + rotation(q1[3:]) @ P[:3] - q2[:3] - rotation(q2[3:]) @ S[:3]
    turn = product(product(conjugate(D[3:]), conjugate(S[3:])), conjugate(q2[3:]))
    relative = product(turn, product(q1[3:], P[3:]))
    return ca.vertcat(rotation(S[3:]).T @ rotation(q2[3:]).T @ w - D[:3], relative - ca.SX([1, 0, 0, 0]))


def local_matrix(q: Any) -> Any:
    """Gl, 3 × 4, factor 2 included: ω in body axes is Gl(q) q̇, and α is Gl(q) q̈ (37)."""
    e0, e = q[0], q[1:]
    return 2 * ca.horzcat(-e, e0 * ca.SX.eye(3) - ca.skew(e))


# -- locks with laws, over numbers -----------------------------------------------------------


_ORIGIN, _NO_TURN = constant((0.0, 0.0, 0.0)), constant((1.0, 0.0, 0.0, 0.0))


@dataclass(frozen=True)
class Marker:
    """A place that may move: position (3) and Euler parameters (4, of any length) over time."""

    position: Law = _ORIGIN  # metres
    orientation: Law = _NO_TURN  # Euler parameters (w, x, y, z)

    @property
    def still(self) -> bool:
        """Whether it never moves."""
        return self.position.still and self.orientation.still

    def columns(self, t: float) -> Array:
        """Value, first and second derivative side by side, 7 × 3."""
        parts = (self.position(t), unit_turn(self.orientation(t)))
        return np.vstack([np.column_stack(part) for part in parts])


def marker(frame: Frame) -> Marker:
    """A marker fixed to its body."""
    return Marker(constant(frame.position), constant(frame.orientation))


@dataclass(frozen=True)
class Lock:
    """A lock by name: `body1` carries P, `body2` carries S, `mask` names the rows kept.

    `wanted` is where P shall be, seen from S. A joint of the engine is the lock with P its frame on
    the child, S its frame on the parent.
    """

    name: str  # by which reactions are read
    body1: str
    body2: str
    P: Marker = Marker()
    S: Marker = Marker()
    wanted: Marker = Marker()
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

    def evaluate(self, t: float, q1: Array, dq1: Array, q2: Array, dq2: Array) -> LockTerms:
        """C, C_q, C_t, Q_c of the kept rows at a time, as arrays."""
        places = (self.P.columns(t), self.S.columns(t), self.wanted.columns(t))
        C, Cq, Ct, Qc = (np.array(v) for v in lock_terms(q1, dq1, q2, dq2, *places))
        return LockTerms(C[self.kept, 0], Cq[self.kept], Ct[self.kept, 0], Qc[self.kept, 0])
