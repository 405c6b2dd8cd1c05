"""Drake as a contender: the same tree, cut balls as ball constraints of a discrete plant.

Drake has no closed loops in continuous plants, so there are no accelerations to time: it takes
part in the step alone. Where its bodies are after a while, at a fine step, checks the model.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version
from typing import Any

import numpy as np
from pydrake.math import RigidTransform, RollPitchYaw, RotationMatrix
from pydrake.multibody.plant import MultibodyPlant
from pydrake.multibody.tree import (
    BallRpyJoint,
    FixedOffsetFrame,
    PrismaticJoint,
    RevoluteJoint,
    RotationalInertia,
    SpatialInertia,
    UnitInertia,
    UniversalJoint,
)
from pydrake.systems.analysis import Simulator
from scipy.spatial.transform import Rotation

from .parts import Part, Parts, coordinates

NAME = "Drake"
VERSION = version("drake")
STEP = 1e-3
FINE = 1e-4  # seconds, to compare motions
# Drake's universal joint turns about x, then y; ours about z, then x.
CYCLE = np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]])


class Peer:
    """A discrete plant, stepped by its simulator."""

    def __init__(self, parts: Parts):
        self.parts = parts
        self.model = _Model(parts, STEP)

    def centres_after(self, q: Any, v: Any, u: Any, duration: float) -> np.ndarray:
        """Centres of mass in the world after `duration`, one row a part."""
        model = _Model(self.parts, FINE)
        simulator = model.start(q, v, u)
        simulator.AdvanceTo(duration)
        return model.centres(simulator)

    def step(self, q: Any, v: Any, u: Any) -> Callable[[], Any]:
        """One step of 1 ms, of first order: the only method that it has for closed loops."""
        simulator, count = self.model.start(q, v, u), 0
        context, plant = simulator.get_mutable_context(), self.model.plant
        start = plant.GetPositionsAndVelocities(context).copy()

        def advance() -> None:
            nonlocal count
            count += 1
            if count % 100 == 0:  # stay where the mechanism is regular
                plant.SetPositionsAndVelocities(context, start)
            simulator.AdvanceTo(count * STEP)

        return advance


class _Model:
    """The plant at one length of step."""

    def __init__(self, parts: Parts, step: float):
        self.parts = parts
        self.plant = MultibodyPlant(step)
        self.plant.mutable_gravity_field().set_gravity_vector(parts.gravity)
        self.bodies = bodies = [self.plant.AddRigidBody(p.name, _inertia(p)) for p in parts.parts]
        self.joints = []
        for k, part in enumerate(parts.parts):
            parent = bodies[part.parent] if part.parent >= 0 else self.plant.world_body()
            self.joints.append(self._joint(part, parent, bodies[k]))
        for cut in parts.cuts:
            a, b = (bodies[k] if k >= 0 else self.plant.world_body() for k in (cut.i, cut.j))
            self.plant.AddBallConstraint(a, cut.pi, b, cut.pj)
        owner = {move.v.start: k for k, part in enumerate(parts.parts) for move in part.moves}
        for n, v in enumerate(parts.motors):
            self.plant.AddJointActuator(f"motor{n}", self.joints[owner[v]])
        self.plant.Finalize()

    def _joint(self, part: Part, parent: Any, body: Any) -> Any:
        kinds = tuple(move.kind for move in part.moves)
        turn = CYCLE if kinds == ("turn", "turn") else np.eye(3)
        place = RigidTransform(RotationMatrix(part.R @ turn), part.p)
        on_parent = self.plant.AddFrame(FixedOffsetFrame(f"{part.name}_in", parent.body_frame(), place))
        here = RigidTransform(RotationMatrix(turn), np.zeros(3))
        on_child = self.plant.AddFrame(FixedOffsetFrame(f"{part.name}_out", body.body_frame(), here))
        frames = f"{part.name}_joint", on_parent, on_child
        damping = float(self.parts.damping[part.moves[0].v.start]) if part.moves else 0.0
        if kinds == ("turn",):
            return self.plant.AddJoint(RevoluteJoint(*frames, part.moves[0].axis, damping=damping))
        if kinds == ("slide",):
            return self.plant.AddJoint(PrismaticJoint(*frames, part.moves[0].axis, damping=damping))
        if kinds == ("ball",):
            return self.plant.AddJoint(BallRpyJoint(*frames, damping=damping))
        if kinds == ("turn", "turn") and [int(np.argmax(m.axis)) for m in part.moves] == [2, 0]:
            return self.plant.AddJoint(UniversalJoint(*frames, damping=damping))
        raise NotImplementedError(f"no joint of Drake's has the moves {kinds}")

    def start(self, q: Any, v: Any, u: Any) -> Any:
        """A simulator at a state, motors on."""
        q, v = coordinates(self.parts, q), np.asarray(v)[self.parts.order_v]
        simulator = Simulator(self.plant)
        context = simulator.get_mutable_context()
        for part, joint in zip(self.parts.parts, self.joints, strict=True):
            for k, move in enumerate(part.moves):
                if move.kind == "ball":
                    w, x, y, z = q[move.q]
                    R = Rotation.from_quat([x, y, z, w]).as_matrix()
                    joint.set_angles(context, RollPitchYaw(RotationMatrix(R)).vector())
                    joint.set_angular_velocity(context, R @ v[move.v])
                elif len(part.moves) == 2:
                    if k == 0:
                        joint.set_angles(context, q[[m.q.start for m in part.moves]])
                        joint.set_angular_rates(context, v[[m.v.start for m in part.moves]])
                elif move.kind == "turn":
                    joint.set_angle(context, float(q[move.q][0]))
                    joint.set_angular_rate(context, float(v[move.v][0]))
                else:
                    joint.set_translation(context, float(q[move.q][0]))
                    joint.set_translation_rate(context, float(v[move.v][0]))
        self.plant.get_actuation_input_port().FixValue(context, np.asarray(u, float))
        simulator.Initialize()
        return simulator

    def centres(self, simulator: Any) -> np.ndarray:
        context = simulator.get_context()
        poses = [self.plant.EvalBodyPoseInWorld(context, body) for body in self.bodies]
        return np.array([X @ part.com for X, part in zip(poses, self.parts.parts, strict=True)])


def _inertia(part: Part) -> Any:
    I = part.inertia  # noqa: E741  the usual symbol
    full = RotationalInertia(I[0, 0], I[1, 1], I[2, 2], I[0, 1], I[0, 2], I[1, 2])
    central = UnitInertia()
    central.SetFromRotationalInertia(full, part.mass)
    return SpatialInertia(part.mass, part.com, central.ShiftFromCenterOfMass(-part.com))
