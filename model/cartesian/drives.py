"""Joints of the engine as lock constraints, and joints driven by motion laws (paper 001, section 6)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from types import SimpleNamespace

import casadi as ca
import numpy as np

from ..describe.mechanism import Joint
from ..errors import DescriptionError
from ..joints import euler
from ..joints.moves import Move
from ..joints.types import LOCK_ROWS, TYPES, lock_rows
from .laws import IDENTITY, ORIGIN, Jet, Law, plus, times, turned
from .lock import Lock, Marker, Moved, marker

Laws = Law | Sequence[Law | None]


def joint_lock(joint: Joint) -> Lock:
    """The lock that a joint is: P its frame on the child, S its frame on the parent."""
    return _lock(joint, Marker(), TYPES[joint.type].mask or "")


def driven_lock(joint: Joint, laws: Laws) -> Lock:
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

    def jets(t: float) -> tuple[Jet, Jet]:
        position, orientation = ORIGIN, IDENTITY
        for law, move in pairs:
            slide, turn = _jets(move, joint, law(t))
            position = plus(position, turned(orientation, slide))
            orientation = times(euler.multiply, orientation, turn)
        return position, orientation

    return _lock(joint, Moved(jets), "".join(c for c in LOCK_ROWS if c in mask))


def _jets(move: Move, joint: Joint, x: Jet) -> tuple[Jet, Jet]:
    """Slide and Euler parameters of a move whose coordinates follow a law."""
    values = _traced(move)(*x, *(getattr(joint, name) for name in move.fields))
    p, dp, ddp, e, de, dde = (np.array(value).ravel() for value in values)
    return Jet(p, dp, ddp), Jet(e, de, dde)


@cache
def _traced(move: Move) -> ca.Function:
    """(x, ẋ, ẍ, fields) → slide and Euler parameters of a move along x, each with two derivatives."""
    x, dx, ddx = (ca.SX.sym(name, move.nq) for name in ("x", "dx", "ddx"))
    fields = {name: ca.SX.sym(name) for name in move.fields}
    q = move.normalized(x)
    results = []
    for value in (move.pose(q, SimpleNamespace(**fields)).p, move.euler_parameters(q)):
        rate = ca.jtimes(value, x, dx)
        results += [value, rate, ca.jtimes(rate, x, dx) + ca.jtimes(rate, dx, ddx)]
    return ca.Function("jets", [x, dx, ddx, *fields.values()], [ca.densify(r) for r in results])


def _lock(joint: Joint, wanted: Marker | Moved, mask: str) -> Lock:
    ends = (joint.child, joint.parent, marker(joint.on_child), marker(joint.on_parent))
    return Lock(joint.name, *ends, wanted, mask)
