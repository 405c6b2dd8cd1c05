"""One step of time: (q, v, work, u, p, h) → (q, v, work), the same for Python, FMU and ROS.

A CasADi MX function that calls the traced kernels, so that the C it becomes is generated
from the very functions that Python evaluates.
"""

from __future__ import annotations

from typing import Any

import casadi as ca

from .equations import Equations, project_position, project_velocity, rates

# Classical Runge-Kutta: nodes, weights. Each stage uses the slope before it.
NODES = (0.0, 0.5, 0.5, 1.0)
WEIGHTS = (1 / 6, 1 / 3, 1 / 3, 1 / 6)
POSITION_SWEEPS = 2


def runge_kutta(eq: Equations) -> ca.Function:
    """Fourth-order Runge-Kutta on the underlying ODE, then projection onto g = 0 and G v = 0.

    `work` integrates the power of inputs, loads and losses alongside, with the same weights,
    so that energy minus work stays constant but for the integration error.
    """
    slope, onto_position, onto_velocity = rates(eq), project_position(eq), project_velocity(eq)
    q, v, work = ca.MX.sym("q", eq.tree.nq), ca.MX.sym("v", eq.tree.nv), ca.MX.sym("work")
    u, p, h = ca.MX.sym("u", eq.u.numel()), ca.MX.sym("p", eq.p.numel()), ca.MX.sym("h")
    dq = dv = power = None
    total: list[Any] = [0, 0, 0]
    for node, weight in zip(NODES, WEIGHTS, strict=True):
        at = (q, v) if dq is None else (q + node * h * dq, v + node * h * dv)
        dq, dv, power = slope(*at, u, p)
        total = [a + weight * b for a, b in zip(total, (dq, dv, power), strict=True)]
    q1, v1, work1 = q + h * total[0], v + h * total[1], work + h * total[2]
    for _ in range(POSITION_SWEEPS):
        q1 = onto_position(q1, p)
    v1 = onto_velocity(q1, v1, p)
    names = ["q", "v", "work", "u", "p", "h"], ["q_new", "v_new", "work_new"]
    return ca.Function("step", [q, v, work, u, p, h], [q1, v1, work1], *names)
