"""Which joint makes explicit steps fail because it answers too fast, in words."""

from collections.abc import Callable

import numpy as np

from ..base.thresholds import DIFFERENCE, EXPLICIT_REACH
from ..describe.joint import Joint
from ..describe.mechanism import Mechanism
from ..describe.motors import Motor
from ..equations.topology import Tree

Accelerations = Callable[[np.ndarray, np.ndarray], np.ndarray]  # q, v -> v̇


def advise_implicit(
    mechanism: Mechanism, tree: Tree, accelerations: Accelerations, q: np.ndarray, h: float
) -> str:
    """What to do where steps of h are too long for the fastest joint at rest in q; empty if none is to blame.

    A joint's own rate is |∂v̇ᵢ/∂vᵢ|, or √|∂v̇ᵢ/∂qᵢ|; explicit steps diverge beyond about 2.8/rate.
    """
    found: list[tuple[float, str]] = []
    with np.errstate(all="ignore"):
        rest = accelerations(q, np.zeros(tree.nv))
        for name, where in tree.v.items():
            joint, place = mechanism.joint(name), tree.q[name]
            motor = next((m for m in mechanism.motors if m.joint == name), None)
            for i in range(where.start, where.stop):
                step = DIFFERENCE * (np.arange(tree.nv) == i)
                slope = abs(accelerations(q, step)[i] - rest[i]) / DIFFERENCE
                found.append((slope, _resisting(joint, motor)))
            if place.stop - place.start == where.stop - where.start == 1:
                step = DIFFERENCE * (np.arange(tree.nq) == place.start)
                slope = abs(accelerations(q + step, np.zeros(tree.nv))[where.start] - rest[where.start])
                found.append(((slope / DIFFERENCE) ** 0.5, _pulling(joint, motor)))
    rate, what = max(((r, w) for r, w in found if np.isfinite(r)), default=(0.0, ""))
    if rate * h < EXPLICIT_REACH:
        return ""
    return (
        f"{what} answers within {1 / rate:.1g} s, too fast for explicit steps of {h:g} s: take implicit ones "
        f"(--stepper implicit, stepper='implicit'), or steps below {EXPLICIT_REACH / rate:.1g} s"
    )


def _resisting(joint: Joint, motor: Motor | None) -> str:
    """What resists the speed of a joint most."""
    friction = max(joint.friction, default=0.0) / joint.friction_speed
    return _strongest(
        joint, motor, "servo_damping", damping=max(joint.damping, default=0.0), friction=friction
    )


def _pulling(joint: Joint, motor: Motor | None) -> str:
    """What pulls a joint to its place most."""
    return _strongest(joint, motor, "servo_stiffness", spring=max(joint.stiffness, default=0.0))


def _strongest(joint: Joint, motor: Motor | None, servo: str, **own: float) -> str:
    driven = "" if motor is None else f", which motor '{motor.name}' drives,"
    words = {f"the {what} of joint '{joint.name}'{driven}": float(x) for what, x in own.items()}
    if motor is not None:
        words[f"the servo of motor '{motor.name}'"] = float(getattr(motor, servo))
    best = max(words, key=lambda word: words[word])
    return best if words[best] else f"joint '{joint.name}'{driven}"
