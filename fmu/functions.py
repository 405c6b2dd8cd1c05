"""The traced functions that an FMU is compiled from, file by file."""

from __future__ import annotations

from typing import Any

import casadi as ca

from ..model.equations import terms as written
from ..model.manifold import charts, closing, lift, step, tangent
from .plan import Plan


def functions(plan: Plan, adjoint: bool) -> dict[str, list[ca.Function]]:
    """File -> the traced functions that are written to it, all under names of ours."""
    eq = plan.simulation.equations
    y = plan.simulation.engine.traced("outputs")(eq.q, eq.v, eq.u, eq.p)
    shown = ca.Function("outputs", [eq.q, eq.v, eq.u, eq.p], [y[plan.traced_rows]])
    make = {
        "step.c": lambda: {"step": step.runge_kutta(eq)},
        "kernels.c": lambda: _values(plan, eq, shown),
        "derivatives.c": lambda: (
            {"tangent": tangent.tangent(eq, shown)}
            | ({"sigma_tangent": tangent.singular_tangent(eq)} if plan.rank else {})
        ),
        "adjoint.c": lambda: (
            {"adjoint_kernel": tangent.adjoint(eq, shown)}
            | ({"sigma_adjoint": tangent.singular_adjoint(eq)} if plan.rank else {})
        ),
    }
    files = [name for name in make if adjoint or name != "adjoint.c"]
    for name in files:
        if name not in plan.traced:
            plan.traced[name] = make[name]()
    return {name: [_named(f"cj_{n}", f) for n, f in plan.traced[name].items()] for name in files}


def _values(plan: Plan, eq: Any, shown: ca.Function) -> dict[str, ca.Function]:
    return {
        "outputs": shown,
        "dynamics": written.dynamics(eq),
        "jacobian": charts.unitless_jacobian(eq),
        "assembly": closing.assembly(eq),
        "start_speeds": closing.start_speeds(eq),
        "lifted": lift.lift(eq),
        "partition": charts.partition(eq, plan.rank),
        "margin": charts.margin(eq, plan.rank),
        "passed": charts.passed(eq, plan.rank),
    }


def _named(name: str, f: ca.Function) -> ca.Function:
    if f.is_a("SXFunction"):
        symbols = f.sx_in()
        return ca.Function(name, symbols, [ca.densify(x) for x in f.call(symbols)])
    symbols = f.mx_in()
    return ca.Function(name, symbols, f.call(symbols, True, False))
