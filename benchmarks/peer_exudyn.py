"""Exudyn as a contender: redundant coordinates, every joint a constraint, an implicit integrator.

It takes part in the step alone, as the time of one among a hundred steps: its solver is started
for a whole run. Where its bodies are after a while, at a fine step, checks the model.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import exudyn
import numpy as np
from exudyn.utilities import RigidBodyInertia

from .parts import Parts, motions

NAME = "Exudyn"
VERSION = exudyn.__version__
STEP = 1e-3
FINE = 1e-4  # seconds, to compare motions
RUN = 100  # steps that one call makes


class Peer:
    """Rigid bodies held together by joints; generalized alpha for index 3."""

    def __init__(self, parts: Parts):
        self.parts = parts
        if any(len(part.moves) > 1 or part.moves[0].kind == "slide" for part in parts.parts):
            raise NotImplementedError("only hinges and balls are set up for Exudyn")

    def step(self, q: Any, v: Any, u: Any) -> Callable[[], Any]:
        """A run of 100 steps of 1 ms from the same start."""
        system, _ = self._system(q, v, u)
        settings = _settings(RUN, STEP)

        def run() -> None:
            system.SolveDynamic(settings, updateInitialValues=False)

        run.calls = RUN  # type: ignore[attr-defined]
        return run

    def centres_after(self, q: Any, v: Any, u: Any, duration: float) -> np.ndarray:
        """Centres of mass in the world after `duration`, one row a part."""
        system, bodies = self._system(q, v, u)
        system.SolveDynamic(_settings(round(duration / FINE), FINE))
        where = exudyn.OutputVariableType.Position
        return np.array(
            [
                system.GetObjectOutputBody(body, where, localPosition=part.com)
                for body, part in zip(bodies, self.parts.parts, strict=True)
            ]
        )

    def _system(self, q: Any, v: Any, u: Any) -> tuple[Any, list[Any]]:
        self._container = exudyn.SystemContainer()  # owns the system
        system = self._container.AddSystem()
        ground = system.CreateGround()
        moving = motions(self.parts, q, v)
        bodies: list[Any] = []
        for part, (R, p, spin, speed) in zip(self.parts.parts, moving, strict=True):
            inertia = RigidBodyInertia(
                mass=part.mass,
                inertiaTensor=part.inertia
                + part.mass * (part.com @ part.com * np.eye(3) - np.outer(part.com, part.com)),
                com=part.com,
            )
            body = system.CreateRigidBody(
                inertia=inertia,
                referencePosition=p,
                referenceRotationMatrix=R,
                initialVelocity=speed,
                initialAngularVelocity=spin,
                gravity=self.parts.gravity,
            )
            parent = bodies[part.parent] if part.parent >= 0 else ground
            move = part.moves[0]
            ends = {"bodyNumbers": [parent, body], "position": p, "useGlobalFrame": True, "show": False}
            if move.kind == "turn":
                system.CreateRevoluteJoint(axis=R @ move.axis, **ends)
            else:
                system.CreateSphericalJoint(**ends)
            bodies.append(body)
        for cut in self.parts.cuts:
            R, p, *_ = moving[cut.i]
            system.CreateSphericalJoint(
                bodyNumbers=[bodies[cut.i], bodies[cut.j]],
                position=R @ cut.pi + p,
                useGlobalFrame=True,
                show=False,
            )
        owner = {part.moves[0].v.start: k for k, part in enumerate(self.parts.parts)}
        for torque, motor in zip(u, self.parts.motors, strict=True):
            k = owner[motor]
            if self.parts.parts[k].parent >= 0:
                raise NotImplementedError("only motors that react on ground are set up for Exudyn")
            axis = moving[k][0] @ self.parts.parts[k].moves[0].axis  # fixed in the world
            system.CreateTorque(bodyNumber=bodies[k], loadVector=list(float(torque) * axis))
        system.Assemble()
        return system, bodies


def _settings(steps: int, step: float) -> Any:
    settings = exudyn.SimulationSettings()
    settings.timeIntegration.numberOfSteps = steps
    settings.timeIntegration.endTime = steps * step
    settings.timeIntegration.generalizedAlpha.spectralRadius = 0.8
    settings.timeIntegration.verboseMode = 0
    settings.solutionSettings.writeSolutionToFile = False
    settings.displayStatistics = False
    return settings
