"""Joints of the engine as lock constraints, and joints driven by motion laws (paper 001, section 6)."""

from collections.abc import Sequence
from typing import Any

import casadi as ca

from ..base.errors import DescriptionError
from ..describe.mechanism import Joint
from ..joints.rigid_motion import product, rotation
from ..joints.types import LOCK_ROWS, TYPES, lock_rows
from ..laws import Law, stack
from .lock import Lock, Marker, marker

Laws = Law | Sequence[Law | None]


def joint_lock(joint: Joint) -> Lock:
    """The lock that a joint is: P its frame on the child, S its frame on the parent."""
    return _lock(joint, Marker(), TYPES[joint.type].mask or "")


def motion_lock(joint: Joint, laws: Laws) -> Lock:
    """The lock that moves a joint as its laws say, one law per elementary move.

    None leaves a coordinate free, if the joint is a lock with rows left out. A ball takes one law of
    four Euler parameters, of any length.
    """
    kind = TYPES[joint.type]
    if not kind.moves:
        raise DescriptionError(
            f"joint '{joint.name}' ({joint.type}) can't follow a motion law; driven joints have coordinates, "
            "and a lock constraint moves any body"
        )
    given: list[Law | None] = [laws] if isinstance(laws, Law) else list(laws)
    if len(given) != len(kind.moves):
        raise DescriptionError(
            f"joint '{joint.name}' ({joint.type}) takes {len(kind.moves)} motion laws, not {len(given)}"
        )
    pairs = [(law, move) for law, move in zip(given, kind.moves, strict=True) if law is not None]
    if len(pairs) < len(given) and kind.mask is None:
        raise DescriptionError(f"joint '{joint.name}' ({joint.type}) needs a motion law for every coordinate")
    for law, move in pairs:
        if law.size != move.nq:
            raise DescriptionError(
                f"motion law '{law.name}' of joint '{joint.name}' must give {move.nq} numbers, not {law.size}"
            )
    mask = LOCK_ROWS if kind.mask is None else kind.mask + "".join(lock_rows(move) for _, move in pairs)
    if not pairs:
        return joint_lock(joint)
    law = stack(*(law for law, _ in pairs))

    def place(x: Any) -> tuple[Any, Any]:
        """Where the moves lead along coordinates x: slide and Euler parameters."""
        r, e, at = ca.SX.zeros(3, 1), ca.SX([1, 0, 0, 0]), 0
        for _, move in pairs:
            q = move.normalized(x[at : at + move.nq])
            r, e = r + rotation(e) @ move.pose(q, joint).p, product(e, move.euler_parameters(q))
            at += move.nq
        return r, e

    wanted = Marker(law.through(lambda x: place(x)[0], 3), law.through(lambda x: place(x)[1], 4))
    return _lock(joint, wanted, "".join(c for c in LOCK_ROWS if c in mask))


def _lock(joint: Joint, wanted: Marker, mask: str) -> Lock:
    ends = (joint.child, joint.parent, marker(joint.on_child), marker(joint.on_parent))
    return Lock(joint.name, *ends, wanted, mask)
