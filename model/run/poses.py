"""Where bodies and joints of a simulation are in the world."""

import casadi as ca
import numpy as np

from ..joints.rigid_motion import rotation
from ..state import Stepper

Places = dict[str, tuple[np.ndarray, np.ndarray]]


def body_poses(simulation: Stepper) -> Places:
    """Rotation matrix and origin of every body's frame in the world."""
    y, outputs = simulation.output_vector(), simulation.engine.variables.outputs
    result: Places = {"ground": (np.eye(3), np.zeros(3))}
    for body in simulation.mechanism.bodies:
        R = np.array(rotation(ca.DM(y[outputs.find(f"body.{body.name}.orientation").where])))
        result[body.name] = (R, y[outputs.find(f"body.{body.name}.position").where].copy())
    return result


def joint_positions(simulation: Stepper) -> Places:
    """Where each joint is in the world: its point on the parent and its point on the child."""
    poses = body_poses(simulation)
    result = {}
    for j in simulation.mechanism.joints:
        ends = ((j.parent, j.on_parent), (j.child, j.on_child))
        a, b = (poses[body][0] @ np.asarray(frame.position) + poses[body][1] for body, frame in ends)
        result[j.name] = (a, b)
    return result
