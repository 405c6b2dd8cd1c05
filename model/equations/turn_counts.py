"""Whole turns of cut joints in plane loops.

The angle of a cut joint is measured between its two frames, which do not know how often it went round. But
where all axes of a loop are parallel, its rate is a constant combination of the tree's speeds, θ̇ = w·v, and
so is the angle, θ = w·q + const: of all angles that the frames allow, the one nearest to that is it.
"""

from typing import Any, NamedTuple

import casadi as ca
import numpy as np

from ..base.thresholds import PLANE_LOOP
from ..joints.angles import nearest_angle
from ..joints.moves import Turn
from ..joints.types import TYPES
from .cut_joints import cut_coordinates
from .kinematics import Model, Motion, outward
from .loops import CutLoop
from .topology import start_coordinates


class TurnCount(NamedTuple):
    """What a cut joint's angle is of the tree's coordinates, but for round-off and changes of frames."""

    weights: dict[int, float]  # place in q -> w
    offset: float

    def nearest(self, angle: Any, q: Any) -> Any:
        """The angle among `angle` + 2πn that the coordinates tell."""
        return nearest_angle(angle, self.offset + _sum(self.weights, q), 2 * np.pi)


def start_motion(model: Model) -> Motion:
    """The tree at rest where it is described to start; of a model with plain numbers."""
    q = ca.SX(ca.DM(start_coordinates(model.mechanism, model.tree)))
    return outward(model, q, ca.SX.zeros(model.tree.nv, 1))


def angle_place(joint: Any) -> int | None:
    """Where the angle of a joint that turns about its axis z alone stands among its coordinates."""
    turns = [part for part in TYPES[joint.type].parts if part.move.turns]
    alone = len(turns) == 1 and isinstance(turns[0].move, Turn)
    return turns[0].q.start if alone else None


def plane_weights(model: Model, motion: Motion, loop: CutLoop) -> dict[int, float] | None:
    """w by place in q where all that turns in a loop does so about the cut joint's axis; else None."""
    of_speed = {link.v.start: link.q.start for move, link in model.tree.moves if move.plain}
    z, found = np.array(ca.DM(loop.ends.Ri[:, 2])).ravel(), dict[int, float]()
    for k, is_j, turn, _ in loop.columns(model, motion):
        w = np.array(ca.DM(turn)).ravel()
        along = float(np.rint(w @ z))  # files with few digits leave axes nearly parallel
        if np.abs(w - along * z).max() > PLANE_LOOP or (along and k not in of_speed):
            return None
        if along:
            found[of_speed[k]] = found.get(of_speed[k], 0.0) + (along if is_j else -along)
    return found


def turn_counts(model: Model) -> dict[str, dict[int, TurnCount]]:
    """Cut joint -> place of an angle among its coordinates -> its count; of a model with plain numbers."""
    found: dict[str, dict[int, TurnCount]] = {}
    cuts = [(cut, place) for cut in model.tree.cuts if (place := angle_place(cut)) is not None]
    motion = start_motion(model) if cuts else None
    for cut, place in cuts:
        loop = CutLoop(model, motion, model.mechanism.joint(cut.name))  # type: ignore[arg-type]
        weights = plane_weights(model, motion, loop)  # type: ignore[arg-type]
        if weights is not None:
            q = motion.q  # type: ignore[union-attr]
            drawn = cut.start[place] if cut.start else 0.0
            angle = nearest_angle(cut_coordinates(model, loop, q, [])[0][place], drawn, 2 * np.pi)
            found[cut.name] = {place: TurnCount(weights, float(angle - _sum(weights, q)))}
    return found


def _sum(weights: dict[int, float], q: Any) -> Any:
    return sum(w * q[k] for k, w in weights.items())
