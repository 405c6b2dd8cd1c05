"""What is measured: the mechanisms, the states they are measured in, and a chain as long as wanted."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..model.describe.mechanism import Body, Frame, Joint, Mechanism
from ..model.simulation import Simulation
from .parts import Parts, parts

MECHANISMS = ("stewart", "hexapod")
PUSH = {"stewart": 10.0, "hexapod": 120.0}  # N·m or N on every motor
SETTLE = 0.3  # seconds from rest to the state in motion


@dataclass(frozen=True)
class Subject:
    """A simulation with two assembled states: at rest, and in motion."""

    name: str
    simulation: Simulation
    parts: Parts
    u: np.ndarray
    states: dict[str, tuple[np.ndarray, np.ndarray]]

    @property
    def moving(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return (*self.states["in motion"], self.u)


def subject(name: str) -> Subject:
    """A shipped mechanism, pushed by all motors alike."""
    simulation = Simulation(name)
    u = np.full(len(simulation.inputs), PUSH[name])
    simulation.set_inputs(u)
    rest = simulation.state
    for _ in range(round(SETTLE / 1e-3)):
        simulation.step(1e-3)
    moving = simulation.state
    return Subject(
        name,
        simulation,
        parts(simulation),
        u,
        {"at rest": (rest.q, rest.v), "in motion": (moving.q, moving.v)},
    )


def chain(count: int) -> Mechanism:
    """`count` four-bars side by side that share cranks: 2 count + 1 bars of 1 m and 1 kg."""
    inertia = (1 / 12, 1e-3, 1 / 12, 0.0, 0.0, 0.0)  # a bar along y, about its middle
    bodies, joints = [], []
    for k in range(count + 1):
        bodies.append(Body(f"crank{k}", 1.0, (0.0, 0.5, 0.0), inertia))
        joints.append(Joint(f"foot{k}", "revolute", "ground", f"crank{k}", Frame((float(k), 0.0, 0.0))))
    for k in range(count):
        bodies.append(Body(f"bar{k}", 1.0, (0.5, 0.0, 0.0), (1e-3, 1 / 12, 1 / 12, 0.0, 0.0, 0.0)))
        top = Frame((0.0, 1.0, 0.0))
        joints.append(Joint(f"left{k}", "revolute", f"crank{k}", f"bar{k}", top, Frame()))
        joints.append(Joint(f"right{k}", "revolute", f"bar{k}", f"crank{k + 1}", Frame((1.0, 0.0, 0.0)), top))
    return Mechanism(f"chain{count}", tuple(bodies), tuple(joints), gravity=(0.0, -9.81, 0.0))
