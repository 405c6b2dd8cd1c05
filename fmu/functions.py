"""The traced functions that an FMU is compiled from, file by file."""

import casadi as ca

from ..model.describe import parameters
from ..model.manifold import charts, judge, tangent
from ..model.manifold.step import ALONG, HELD
from ..model.run.assembly import described_speeds, speeds_at
from .plan import Plan


def functions(plan: Plan, adjoint: bool) -> dict[str, list[ca.Function]]:
    """File -> the traced functions that are written to it, all under names of ours."""
    engine, eq = plan.simulation.engine, plan.simulation.equations
    y = engine.traced("outputs")(eq.q, eq.v, eq.u, eq.p)
    shown = ca.Function("outputs", [eq.q, eq.v, eq.u, eq.p], [y[plan.traced_rows]])
    values = {
        "outputs": shown,
        "dynamics": engine.traced("dynamics"),
        "jacobian": engine.traced("unitless_jacobian"),
        "allowed": parameters.allowed(plan.mechanism),
        "mass_pivots": engine.traced("mass_pivots"),
        "assembly": engine.traced("assembly"),
        "start_speeds": _start_speeds(plan),
        "lifted": engine.traced("lift"),
        "partition": charts.partition(eq, plan.ranks),
        "margin": charts.margin(eq, plan.ranks),
        "passed": charts.passed(eq, plan.ranks.speeds),
        "opened": judge.opened(eq),
    }
    forward = {
        "tangent": engine.traced("tangent", lambda eq: tangent.tangent(eq, shown)),
        "sigma_tangent": tangent.singular_tangent(eq),
    }
    stepping = plan.simulation.stepping
    steps = {
        "step": engine.traced(*stepping.traced(HELD)),
        "step_along": engine.traced(*stepping.traced(ALONG)),
    }
    files = {"step.c": steps, "kernels.c": values, "derivatives.c": forward}
    if adjoint:
        backward = {
            "adjoint_kernel": tangent.adjoint(eq, shown),
            "sigma_adjoint": tangent.singular_adjoint(eq),
        }
        files["adjoint.c"] = backward
    return {file: [_named(f"cj_{name}", f) for name, f in group.items()] for file, group in files.items()}


def _start_speeds(plan: Plan) -> ca.Function:
    """(q, s, held, p) → (v, fits), with the description's speeds of cut joints."""
    engine = plan.simulation.engine
    q, s, held, p = engine.equations.symbols("q", "s", "held", "p")
    cut = speeds_at(engine, described_speeds(engine))[1]
    return ca.Function("start_speeds", [q, s, held, p], engine.traced("start_speeds")(q, s, held, *cut, p))


def _named(name: str, f: ca.Function) -> ca.Function:
    if f.is_a("SXFunction"):
        symbols = f.sx_in()
        return ca.Function(name, symbols, [ca.densify(x) for x in f.call(symbols)])
    symbols = f.mx_in()
    return ca.Function(name, symbols, f.call(symbols, True, False))
