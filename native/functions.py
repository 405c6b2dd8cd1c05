"""The traced functions that an FMU is compiled from, file by file."""

import logging

import casadi as ca
import numpy as np

from ..model.compile.tracing import tracing
from ..model.control.command_law import PATH, ample, follow_order
from ..model.describe import parameters
from ..model.equations.indicators import indicators
from ..model.equations.traced import rates
from ..model.linear import singular_values, tangent
from ..model.linear.start_tangent import motion_tangent, start_tangent
from ..model.manifold import charts, closing, step_error
from ..model.manifold.step import ALONG
from ..model.run.assembly import speeds_at
from .plan import Plan
from .sampled_rows import memory

LOG = logging.getLogger(__name__)


@tracing()
def functions(plan: Plan, adjoint: bool) -> dict[str, list[ca.Function]]:
    """File -> the traced functions that are written to it, all under names of ours.

    What one of them calls stands once in a file, so those that call the same are in one file.
    """
    LOG.info("writing the equations of '%s' as C and compiling them", plan.mechanism.name)
    engine, eq = plan.simulation.engine, plan.simulation.equations
    known = engine.functions
    arguments = [eq.q, eq.v, eq.z, eq.u, eq.p]
    y = known.outputs(*arguments)
    shown = ca.Function("outputs", arguments, [y[plan.traced_rows]], {"cse": True})
    values = {
        "outputs": shown,
        "internal_rates": known.internal_rates,
        "jacobian": _calling(known.unitless_jacobian),
        "allowed": parameters.allowed_values(plan.mechanism),
        "mass_pivots": known.mass_pivots,
        "partition": charts.partition(eq, plan.ranks),
        "margin": charts.margin(eq, plan.ranks),
        "passes_singularity": charts.passes_singularity(eq, plan.ranks.speeds),
        "open_loops": step_error.open_loops(eq),
        "kinks": indicators(eq),
    }
    if len(memory(plan)):
        values |= {"sample_values": known.sample_values, "upcoming": known.upcoming}
    if eq.tree.driven:
        values |= {"project_to_motion": known.project_to_motion, "inputs_after": known.inputs_after}
    derived = list(plan.traced_rows), eq.tree.nv - plan.ranks.speeds, indicators(eq)(*arguments)
    forward = {
        "tangent": tangent.tangent(eq, *derived),
        "sigma_tangent": singular_values.singular_tangent(eq),
        "assembly": known.assembly,
        "start_speeds": _start_speeds(plan),
        "lifted": known.lift,
    }
    forward["start_tangent"] = start_tangent(eq, known.assembly, forward["start_speeds"])
    if eq.tree.driven:
        forward["motion_tangent"] = motion_tangent(eq, known.project_to_motion)
    steps = {
        "step": engine.traced(*plan.simulation.stepping.traced(ALONG)),  # held inputs have rates of zero
        "dynamics": _calling(rates(eq), "dv"),
    }
    if len(memory(plan)):
        steps["sampling"] = known.sampling
    files = {"step.c": steps, "kernels.c": values, "derivatives.c": forward}
    if adjoint:
        backward = {
            "adjoint_kernel": tangent.adjoint(eq, *derived),
            "sigma_adjoint": singular_values.singular_adjoint(eq),
        }
        files["adjoint.c"] = backward
    return {file: [_named(f"cj_{name}", f) for name, f in group.items()] for file, group in files.items()}


@tracing()
def native_functions(plan: Plan) -> dict[str, list[ca.Function]]:
    """File -> what a native library has besides: single joints, the path of commands, forces that follow."""
    eq, known = plan.simulation.equations, plan.simulation.engine.functions
    joints = {"joints": known.joint_values}
    commands = {name: trace(plan.mechanism) for name, trace in PATH.items()}
    driven = {
        "joint_accelerations": known.joint_accelerations,
        "follow_order": follow_order(eq),
        "ample": ample(eq),
    }
    return {
        file: [_named(f"cj_{name}", f) for name, f in group.items()]
        for file, group in (("joints.c", joints), ("commands.c", commands), ("servo.c", driven))
    }


def _start_speeds(plan: Plan) -> ca.Function:
    """(q, x, held, s, p) → (v, fits), with the description's speeds of cut joints, which mostly has none."""
    engine, eq = plan.simulation.engine, plan.simulation.equations
    cut = speeds_at(engine, closing.described_speeds(engine.equations))[1]
    if eq.tree.row_count and not np.any(cut[1]):
        return closing.start_speeds_of_tree(eq)
    whole = engine.functions.start_speeds
    q, x, held, *_, s, p = whole.sx_in()
    return ca.Function("start_speeds", [q, x, held, s, p], whole(q, x, held, *cut, s, p), {"cse": True})


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
