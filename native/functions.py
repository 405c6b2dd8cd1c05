"""The traced functions that an FMU is compiled from, file by file."""

import logging

import casadi as ca
import numpy as np

from ..model.describe import parameters
from ..model.equations.driving import driving
from ..model.equations.single_joints import joint_accelerations, joint_values
from ..model.equations.traced import rates
from ..model.manifold import charts, closing, judge, tangent
from ..model.manifold.step import ALONG
from ..model.run.assembly import described_speeds, speeds_at
from .plan import Plan
from .sampled import memory

LOG = logging.getLogger(__name__)


def functions(plan: Plan, adjoint: bool) -> dict[str, list[ca.Function]]:
    """File -> the traced functions that are written to it, all under names of ours.

    What one of them calls stands once in a file, so those that call the same are in one file.
    """
    LOG.info("writing the equations of '%s' as C and compiling them", plan.mechanism.name)
    engine, eq = plan.simulation.engine, plan.simulation.equations
    y = engine.traced("outputs")(eq.q, eq.v, eq.u, eq.p)
    shown = ca.Function("outputs", [eq.q, eq.v, eq.u, eq.p], [y[plan.traced_rows]], {"cse": True})
    values = {
        "outputs": shown,
        "internal_rates": engine.traced("internal_rates"),
        "jacobian": _calling(engine.traced("unitless_jacobian")),
        "allowed": parameters.allowed(plan.mechanism),
        "mass_pivots": engine.traced("mass_pivots"),
        "partition": charts.partition(eq, plan.ranks),
        "margin": charts.margin(eq, plan.ranks),
        "passed": charts.passed(eq, plan.ranks.speeds),
        "opened": judge.opened(eq),
    }
    if len(memory(plan)):
        values |= {name: engine.traced(name) for name in ("told_samples", "upcoming")}
    if eq.tree.driven:
        values |= {name: engine.traced(name) for name in ("seated", "moved_inputs")}
    forward = {
        "tangent": engine.traced("tangent", lambda eq: tangent.tangent(eq, shown)),
        "sigma_tangent": tangent.singular_tangent(eq),
        "assembly": engine.traced("assembly"),
        "start_speeds": _start_speeds(plan),
        "lifted": engine.traced("lift"),
    }
    steps = {
        "step": engine.traced(*plan.simulation.stepping.traced(ALONG)),  # held inputs have rates of zero
        "dynamics": _calling(rates(eq), "dv"),
    }
    if len(memory(plan)):
        steps["sampling"] = engine.traced("sampling")
    files = {"step.c": steps, "kernels.c": values, "derivatives.c": forward}
    if adjoint:
        backward = {
            "adjoint_kernel": tangent.adjoint(eq, shown),
            "sigma_adjoint": tangent.singular_adjoint(eq),
        }
        files["adjoint.c"] = backward
    return {file: [_named(f"cj_{name}", f) for name, f in group.items()] for file, group in files.items()}


def native_functions(plan: Plan) -> dict[str, list[ca.Function]]:
    """File -> what a native library has besides: single joints, and forces of drives that follow."""
    engine = plan.simulation.engine
    joints = {"joints": engine.traced("joint_values", joint_values)}
    driven = {
        "joint_accelerations": engine.traced("joint_accelerations", joint_accelerations),
        "driving": engine.traced("driving", driving),
    }
    return {
        file: [_named(f"cj_{name}", f) for name, f in group.items()]
        for file, group in (("joints.c", joints), ("servo.c", driven))
    }


def _start_speeds(plan: Plan) -> ca.Function:
    """(q, s, held, p) → (v, fits), with the description's speeds of cut joints, which mostly has none."""
    engine, eq = plan.simulation.engine, plan.simulation.equations
    cut = speeds_at(engine, described_speeds(engine))[1]
    if eq.tree.row_count and not np.any(cut[1]):
        return closing.start_speeds_of_tree(eq)
    whole = engine.traced("start_speeds")
    q, s, held, *_, p = whole.sx_in()
    return ca.Function("start_speeds", [q, s, held, p], whole(q, s, held, *cut, p), {"cse": True})


def _calling(f: ca.Function, *results: str) -> ca.Function:
    """A function that calls f and gives some of its results, or all: f itself stands once for all who do."""
    found = dict(zip(f.name_out(), f.call(symbols := f.mx_in(), False, True), strict=True))
    return ca.Function(f.name(), symbols, [ca.densify(found[name]) for name in results or found])


def _named(name: str, f: ca.Function) -> ca.Function:
    if f.is_a("SXFunction"):
        symbols = f.sx_in()
        return ca.Function(name, symbols, [ca.densify(x) for x in f.call(symbols)])
    symbols = f.mx_in()
    return ca.Function(name, symbols, f.call(symbols, True, False))  # inlined: f itself calls the others
