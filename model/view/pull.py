"""A hand that pulls at a body: a spring and a damper from a point of the body to where the hand is.

What it exerts enters the mechanism as any wrench on a frame does (`port: force`), so that the engine accounts
for its work. Each body gets such a frame at its origin; the wrench of a force at another point is that force,
and its moment about the origin.
"""

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..describe.mechanism import Mechanism
from ..describe.visuals import NamedFrame
from ..joints.euler import rotation
from ..show.measures import GRAVITY, whole_weight
from ..simulation import Simulation

HANDLE = "hand_"  # and the body's name: the frame a hand holds
GIVES = 0.1  # of the mechanism's size: what the spring gives under the weight of the whole mechanism
FASTEST = 0.2  # of a step: the period of hand and body, over 2π, is never shorter than a step over this


def with_handles(mechanism: Mechanism) -> Mechanism:
    """The same mechanism with a frame on every body for the hand's wrench; all frames tell how they move."""
    own = [f if f.port != "none" else replace(f, port="motion") for f in mechanism.frames]
    taken = {frame.name for frame in own}
    added = [NamedFrame(HANDLE + b.name, b.name, port="force") for b in mechanism.bodies]
    return replace(mechanism, frames=(*own, *(f for f in added if f.name not in taken)))


def handles(simulation: Simulation) -> dict[str, str]:
    """Bodies that can be pulled, and the frames they are pulled by."""
    known = {frame.name for frame in simulation.mechanism.frames if frame.port == "force"}
    names = (body.name for body in simulation.mechanism.bodies)
    return {name: HANDLE + name for name in names if HANDLE + name in known}


def own_inputs(simulation: Simulation) -> list[str]:
    """Inputs that are the mechanism's own, not the hand's."""
    hands = {f"{frame}.{what}" for frame in handles(simulation).values() for what in ("force", "torque")}
    return [name for name in simulation.inputs if name.partition("[")[0] not in hands]


def own_outputs(simulation: Simulation, names: Collection[str]) -> list[str]:
    """Outputs that are the mechanism's own, not those of the hand's frames."""
    frames = tuple(
        f"{start}{frame}." for frame in handles(simulation).values() for start in ("frame.", "input.")
    )
    return [name for name in names if not name.startswith(frames)]


@dataclass(frozen=True)
class Pull:
    """A point of a body, in its frame, and where the hand is in the world; N/m and N·s/m."""

    frame: str
    point: np.ndarray
    hand: np.ndarray
    stiffness: float
    damping: float

    def at(self, hand: Any) -> "Pull":
        return replace(self, hand=np.asarray(hand, float))


def grab(simulation: Simulation, body: str, place: Any, size: float, step: float) -> Pull:
    """Take hold of a body at a place in the world.

    The spring gives a part of the mechanism's size under its weight, but is never so stiff that the mass
    which is felt at the point answers faster than steps can follow; the damper is critical for that mass.
    """
    frame = handles(simulation)[body]
    read = _reader(simulation, frame)
    R, r = rotation(read("orientation")), read("position")
    point = R.T @ (np.asarray(place, float) - r)
    felt = _mass_felt(simulation, frame, R @ point)
    stiffness = min(whole_weight(simulation.mechanism) / (GIVES * size), felt * (FASTEST / step) ** 2)
    return Pull(frame, point, np.asarray(place, float), stiffness, 2 * float(np.sqrt(stiffness * felt)))


def pull(simulation: Simulation, by: Pull) -> None:
    """Set the inputs of the frame to what the hand exerts in this state."""
    read = _reader(simulation, by.frame)
    arm = rotation(read("orientation")) @ by.point
    place = read("position") + arm
    speed = read("velocity") + np.cross(read("angular_velocity"), arm)
    force = by.stiffness * (by.hand - place) - by.damping * speed
    _exert(simulation, by.frame, force, np.cross(arm, force))


def held_point(simulation: Simulation, by: Pull) -> np.ndarray:
    """Where the point is that the hand holds."""
    read = _reader(simulation, by.frame)
    return np.asarray(read("position") + rotation(read("orientation")) @ by.point)


def let_go(simulation: Simulation) -> None:
    """No hand exerts anything."""
    if held := handles(simulation):
        u = simulation.u.copy()
        for frame in held.values():
            for what in ("force", "torque"):
                u[simulation.variables().inputs.whole(f"{frame}.{what}").where] = 0.0
        simulation.take_inputs(u)


def _reader(simulation: Simulation, frame: str) -> Any:
    y, outputs = simulation.output_vector(), simulation.variables().outputs
    return lambda what: y[outputs.whole(f"frame.{frame}.{what}").where].copy()


def _exert(simulation: Simulation, frame: str, force: np.ndarray, torque: np.ndarray) -> None:
    u, inputs = simulation.u.copy(), simulation.variables().inputs
    u[inputs.whole(f"{frame}.force").where] = force
    u[inputs.whole(f"{frame}.torque").where] = torque
    simulation.take_inputs(u)


def _mass_felt(simulation: Simulation, frame: str, arm: np.ndarray) -> float:
    """The least mass that a force on the point meets in any direction: newtons over acceleration."""

    def acceleration(force: np.ndarray) -> np.ndarray:
        _exert(simulation, frame, force, np.cross(arm, force))
        read = _reader(simulation, frame)
        return np.asarray(read("acceleration") + np.cross(read("angular_acceleration"), arm))

    state = simulation.state
    still = acceleration(np.zeros(3))
    answers = np.array([acceleration(e) - still for e in np.eye(3)])
    simulation.put(state)
    most = float(np.linalg.eigvalsh((answers + answers.T) / 2).max())
    whole = whole_weight(simulation.mechanism) / GRAVITY or 1.0
    return min(1 / most, whole) if most > 0 else whole
