"""Pinocchio as a contender: the same tree, cut balls as three-dimensional constraints."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pinocchio as pin

from .parts import Parts, back, balls, coordinates

NAME = "Pinocchio"
VERSION = pin.__version__
SOFT = 1e-8  # proximal term where rows are redundant: it has no solution without


class Peer:
    """Constrained forward dynamics and its analytic derivatives, called as the manual shows."""

    def __init__(self, parts: Parts, redundant: bool = False):
        self.parts = parts
        self.model = pin.Model()
        self.model.gravity.linear = parts.gravity
        self.joints: list[int] = []
        for part in parts.parts:
            parent = self.joints[part.parent] if part.parent >= 0 else 0
            place = pin.SE3(part.R, part.p)
            for k, move in enumerate(part.moves):
                parent = self.model.addJoint(parent, _joint(move), place, f"{part.name}_{k}")
                place = pin.SE3.Identity()
            inertia = pin.Inertia(part.mass, part.com, part.inertia)
            self.model.appendBodyToJoint(parent, inertia, pin.SE3.Identity())
            self.joints.append(parent)
        self.data = self.model.createData()
        self.constraints = pin.StdVec_RigidConstraintModel()
        for cut in parts.cuts:
            ends = [
                (self.joints[k] if k >= 0 else 0, pin.SE3(np.eye(3), p))
                for k, p in ((cut.i, cut.pi), (cut.j, cut.pj))
            ]
            (a, frame_a), (b, frame_b) = ends
            self.constraints.append(
                pin.RigidConstraintModel(
                    pin.ContactType.CONTACT_3D, self.model, a, frame_a, b, frame_b, pin.ReferenceFrame.LOCAL
                )
            )
        self.constraint_data = pin.StdVec_RigidConstraintData()
        for constraint in self.constraints:
            self.constraint_data.append(constraint.createData())
        pin.initConstraintDynamics(self.model, self.data, self.constraints, self.constraint_data)
        # Loops of full rank need no proximal term: one exact solve, the fastest setting.
        self.settings = pin.ProximalSettings(1e-12, *((SOFT, 2) if redundant else (0.0, 1)))

    def state(self, q: Any, v: Any, u: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Coordinates, speeds and joint forces as Pinocchio has them: quaternions end with w."""
        q, v = coordinates(self.parts, q), np.asarray(v)[self.parts.order_v]
        for where in balls(self.parts):
            q[where] = np.roll(q[where], -1)
        tau = -self.parts.damping * v
        np.add.at(tau, list(self.parts.motors), u)
        return q, v, tau

    def accelerations(self, q: Any, v: Any, u: Any) -> np.ndarray:
        return back(self.parts, self.dynamics(q, v, u)())

    def dynamics(self, q: Any, v: Any, u: Any) -> Callable[[], Any]:
        """One call of the forward dynamics at a state, to be timed."""
        q, v, tau = self.state(q, v, u)
        if not self.parts.cuts:  # what it has for trees is faster
            return lambda: pin.aba(self.model, self.data, q, v, tau)
        call, model, data, settings = pin.constraintDynamics, self.model, self.data, self.settings
        constraints, constraint_data = self.constraints, self.constraint_data
        return lambda: call(model, data, q, v, tau, constraints, constraint_data, settings)

    def linearization(self, q: Any, v: Any, u: Any) -> Callable[[], Any]:
        """Forward dynamics, then its derivatives, which need the former's results."""
        first = self.dynamics(q, v, u)
        call, model, data, settings = (
            pin.computeConstraintDynamicsDerivatives,
            self.model,
            self.data,
            self.settings,
        )
        constraints, constraint_data = self.constraints, self.constraint_data

        def both() -> Any:
            first()
            return call(model, data, constraints, constraint_data, settings)

        return both

    def slopes(self, q: Any, v: Any, u: Any, T: np.ndarray) -> np.ndarray:
        """Analytic ∂v̇ along the columns (δθ, δv) of T, with the damping that was given as a force."""
        dq, dv, dtau = (np.array(x) for x in self.linearization(q, v, u)()[:3])
        n = len(self.parts.order_v)
        along = T[:n][self.parts.order_v], T[n:][self.parts.order_v]
        return back(self.parts, dq @ along[0] + (dv - dtau * self.parts.damping) @ along[1])

    def differences(self, q: Any, v: Any, u: Any, T: np.ndarray, h: float = 1e-5) -> np.ndarray:
        """The same by central differences of Pinocchio's own accelerations."""
        n, order = len(self.parts.order_v), self.parts.order_v
        q, v, tau = self.state(q, v, u)
        columns = []
        for column in T.T:
            ends = []
            for s in (h, -h):
                shift = s * column[n:][order]
                force = tau - self.parts.damping * shift
                moved = pin.integrate(self.model, q, s * column[:n][order])
                ends.append(self._call(moved, v + shift, force).copy())
            columns.append((ends[0] - ends[1]) / (2 * h))
        return back(self.parts, np.column_stack(columns))

    def _call(self, q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> np.ndarray:
        more = self.constraints, self.constraint_data, self.settings
        return pin.constraintDynamics(self.model, self.data, q, v, tau, *more)


def _joint(move: Any) -> Any:
    if move.kind == "ball":
        return pin.JointModelSpherical()
    letter = "XYZ"[int(np.argmax(np.abs(move.axis)))]
    if move.axis.sum() < 0:
        kind = pin.JointModelRevoluteUnaligned if move.kind == "turn" else pin.JointModelPrismaticUnaligned
        return kind(move.axis)
    return getattr(pin, f"JointModel{'R' if move.kind == 'turn' else 'P'}{letter}")()
