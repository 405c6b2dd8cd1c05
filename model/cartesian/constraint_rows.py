"""Constraint rows of a whole mechanism: C, C_q, C_t, Q_c, and which rows belong to whom."""

from dataclasses import dataclass
from typing import Any

import casadi as ca

from ..base.errors import DescriptionError
from ..describe.mechanism import GROUND, Joint
from ..equations.terms import Forces
from ..joints.rigid_motion import rotation
from .lock import Lock, Marker, lock_terms


@dataclass(frozen=True)
class RowGroup:
    """The rows of one joint or lock, between `body1` (child) and `body2` (parent).

    `point` is where its reaction is taken, in world axes; None for rows that are no joint.
    """

    name: str
    body1: str
    body2: str
    where: slice
    point: Any = None


class Rows:
    """Collects the rows one joint or lock after the other; columns are those of q."""

    def __init__(self, at: dict[str, slice], q: Any, dq: Any):
        self.at, self.q, self.dq = at, q, dq
        self.parts: tuple[list[Any], ...] = ([], [], [], [])
        self.groups: list[RowGroup] = []
        self.laws: list[Any] = []
        self.moving: list[Marker] = []
        self.count = 0

    def _append(self, group: str, ends: tuple[str, str], point: Any, *values: Any) -> None:
        if point is not None and group in {g.name for g in self.groups}:
            raise DescriptionError(f"two joints or locks are named '{group}'; rename one")
        for part, value in zip(self.parts, values, strict=True):
            part.append(value)
        where = slice(self.count, self.count + values[0].numel())
        self.groups.append(RowGroup(group, *ends, where, point))
        self.count = where.stop

    def _body(self, name: str) -> tuple[Any, Any]:
        if name == GROUND:
            return ca.SX([0, 0, 0, 1, 0, 0, 0]), ca.SX(7, 1)
        if name not in self.at:
            raise DescriptionError(f"a lock names the body '{name}'; known: {', '.join(self.at)}")
        return self.q[self.at[name]], self.dq[self.at[name]]

    def _place(self, place: Marker) -> Any:
        """A marker's columns: numbers if it never moves, else symbols to be filled at every time."""
        if place.still:
            return ca.sparsify(ca.SX(ca.DM(place.columns(0.0))))
        self.moving.append(place)
        self.laws.append(ca.SX.sym(f"law{len(self.laws)}", 7, 3))
        return self.laws[-1]

    def add_lock(self, lock: Lock) -> None:
        (q1, dq1), (q2, dq2) = self._body(lock.body1), self._body(lock.body2)
        P, S, wanted = (self._place(m) for m in (lock.P, lock.S, lock.wanted))
        full = lock_terms(q1, dq1, q2, dq2, P, S, wanted)
        C, Cq, Ct, Qc = (ca.sparsify(part[lock.kept, :]) for part in full)
        wide = ca.SX(len(lock.kept), self.q.numel())
        for body, columns in ((lock.body1, Cq[:, :7]), (lock.body2, Cq[:, 7:])):
            if body != GROUND:
                wide[:, self.at[body]] += columns
        point = q1[:3] + rotation(q1[3:]) @ P[:3, 0]
        self._append(lock.name, (lock.body1, lock.body2), point, C, wide, Ct, Qc)

    def add_engine(self, joint: Joint, engine: Forces, rows: slice, N: Any) -> None:
        loop = next(loop for loop in engine.loops if loop.joint.name == joint.name)
        C = ca.vertcat(*(row.residual for row in loop.rows))
        values = (C, engine.G[rows, :] @ N, ca.SX(C.numel(), 1), engine.gamma[rows])
        self._append(joint.name, (joint.child, joint.parent), loop.ends.rj, *values)

    def add_unit_length(self) -> None:
        for body, where in self.at.items():
            p, dp = self.q[where][3:], self.dq[where][3:]
            Cq = ca.SX(1, self.q.numel())
            Cq[0, where.start + 3 : where.stop] = 2 * p.T
            values = (ca.sumsqr(p) - 1, Cq, ca.SX(1, 1), -2 * ca.sumsqr(dp))
            self._append(body, (body, body), None, *values)
