"""Long mechanisms: the cost of a body in a chain of few and of many, with and without loops."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import sqrt
from types import ModuleType
from typing import Any

import numpy as np

from ..model.compile.kernel import kernel
from ..model.describe.mechanism import Body, Frame, Joint, Mechanism
from ..model.equations.terms import Equations, equations
from ..model.equations.traced import dynamics
from .measure import Effort, Rows, side_by_side
from .parts import parts
from .subjects import chain

FOURBARS, LINKS = "four-bars", "links"
COUNTS = {FOURBARS: (1, 2, 5, 10, 20, 40, 100), LINKS: (3, 10, 50, 200)}
QUICK_COUNTS = {FOURBARS: COUNTS[FOURBARS][:4], LINKS: COUNTS[LINKS][:2]}
PEER = "Pinocchio"  # the only one that has dynamics without a step, and closed loops


def links(count: int) -> Mechanism:
    """`count` bars of 1 m and 1 kg, one hanging on the other by pins across each other."""
    inertia = (1e-3, 1 / 12, 1 / 12, 0.0, 0.0, 0.0)  # a bar along x, about its middle
    bodies = tuple(Body(f"bar{k}", 1.0, (0.5, 0.0, 0.0), inertia) for k in range(count))
    joints = []
    for k in range(count):
        across = Frame((float(k > 0), 0.0, 0.0), (sqrt(0.5), sqrt(0.5) * (-1) ** k, 0.0, 0.0))
        joints.append(Joint(f"pin{k}", "revolute", f"bar{k - 1}" if k else "ground", f"bar{k}", across))
    return Mechanism(f"links{count}", bodies, tuple(joints))


def scaling(
    effort: Effort,
    show: Callable[[float], None],
    counts: dict[str, tuple[int, ...]],
    modules: list[ModuleType],
) -> Rows:
    """Dynamics of chains: a cost that grows with the bodies, and no faster; of the longest by a peer, too."""
    made = {FOURBARS: chain, LINKS: links}
    wanted = [(kind, count) for kind, several in counts.items() for count in several]
    functions, kernels, calls = {}, {}, dict[str, Callable[[], Any]]()
    for n, (kind, count) in enumerate(wanted):
        eq = equations(made[kind](count))
        functions[kind, count] = dynamics(eq)
        kernels[kind, count] = found = kernel(functions[kind, count])
        at = np.full(eq.tree.nq, 0.1), np.full(eq.tree.nv, 0.1), np.zeros(0)
        q, v, none = at
        found(q, v, none, none, none)  # a chain has neither internal states nor inputs nor parameters
        calls[f"{kind} {count}"] = found.evaluate
        if count == counts[kind][-1]:
            calls |= {f"{kind} {PEER}": peer.dynamics(*at) for peer in _peers(eq, modules)}
        show(0.5 * (n + 1) / len(wanted))
    timings = side_by_side(calls, effort, lambda fraction: show(0.5 + 0.5 * fraction))
    rows: Rows = []
    for kind, count in wanted:
        timing, bodies = timings[f"{kind} {count}"], 2 * count + 1 if kind == FOURBARS else count
        row = {"chain": kind, "count": count, "bodies": bodies, **vars(timing)}
        row["operations"] = functions[kind, count].n_instructions()
        row |= {"compiled": kernels[kind, count].compiled, "per_body": timing.best / bodies}
        other = timings.get(f"{kind} {PEER}") if count == counts[kind][-1] else None
        rows.append(row | ({"peer": other.best / timing.best} if other else {}))
    return rows


def _peers(eq: Equations, modules: list[ModuleType]) -> list[Any]:
    """The peer's model of the same tree; its cut pins hold points, which in a plane is the same."""
    joints = (replace(j, type="spherical") if j in eq.tree.cuts else j for j in eq.described.joints)
    balls = replace(eq.described, joints=tuple(joints))
    found = parts(equations(balls) if eq.tree.cuts else eq)
    return [module.Peer(found, redundant=True) for module in modules if module.NAME == PEER]
