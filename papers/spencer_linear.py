"""Paper 004, chapter 4: eigenvalues of linear models in several charts, and what the recursions cost.

The thesis gives no dimensions of its loader; the shipped `loader` has the same bodies and loops, and
is taken here without the damping of its cylinders, since the thesis has none.
"""

import argparse
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import casadi as ca
import numpy as np
from scipy.optimize import linear_sum_assignment

from ..model.describe.mechanism import Mechanism
from ..model.equations.dynamics import joint_wrenches, mass_matrix, onto_joints
from ..model.equations.kinematics import outward
from ..model.equations.terms import terms
from ..model.equations.traced import dynamics
from ..model.linear.exact import linear
from ..model.linear.linearize import underlying_model
from ..model.loading import load
from ..model.run.equilibrium import hold
from ..model.run.independent import chart
from ..model.show.table import table
from ..model.simulation import Simulation
from . import Progress, Study, Verdict
from .spencer_closed_recursions import basis, recursive_linear, weighted_slope
from .spencer_recursions import newton_euler_slopes

ABOUT = "004, chapter 4: eigenvalues of loader and parallel robot in two charts, cost of the recursions"
CHARTS = {"loader": ("boom,bucket", "lift,tilt"), "parallel_robot": ("q1,q2", "q1,q3")}
COUNTED = ("fourbar", "parallel_robot", "loader", "stewart", "delta", "hexapod")
SAME = 1e-9  # of the largest eigenvalue

# The matrices printed in 4.5, lower left blocks, and the eigenvalues printed with them.
PRINTED = {
    "boom, bucket": ([[-2.3763, -0.38157], [7.853, -1.9778]], "±0.54643 ± 1.5734i"),
    "cylinders": ([[-1.9649, 2.5565], [-0.58728, -2.6457]], "−0.37624 ± 1.5642i, twice"),
}


def study(args: argparse.Namespace, progress: Progress) -> Study:
    found = {name: spectra(name) for name in CHARTS}
    progress(0.2)
    counts = {}
    for k, name in enumerate(COUNTED):
        counts[name] = operations(name)
        progress(0.2 + 0.8 * (k + 1) / len(COUNTED))
    load_error = error_without_load()
    rows = [
        (name, where, states, shown(values))
        for name, places in found.items()
        for where, place in places.items()
        for states, values in place["charts"].items()
    ]
    text = "Eigenvalues of Â, 1/s\n\n" + table(rows, ("mechanism", "where", "states", "eigenvalues"))
    header = [
        "mechanism",
        "dynamics",
        "τ_NE recursive",
        "automatic",
        "A, B recursive",
        "automatic",
        "over dynamics",
    ]
    lines = [
        (n, c["dynamics"], *c["newton_euler"], *c["linear"], f"{_ratio(c):.2f}") for n, c in counts.items()
    ]
    text += "\n\nOperations (∂τ_NE/∂q and ∂τ_NE/∂v; A and B; each by 4.3 and 4.4, and by automatic "
    text += "differentiation)\n\n" + table(lines, header)
    data = {
        "eigenvalues": _each(found, lambda place: {s: _pairs(z) for s, z in place["charts"].items()}),
        "differences": _each(found, lambda place: place["difference"]),
        "operations": counts,
        "error_without_load": load_error,
    }
    verdicts = (*theorem_verdicts(found), *printed_verdicts(), *cost_verdicts(counts, load_error))
    title = "Spencer 2004, chapter 4: linear models"
    return Study(title, text, data, verdicts, lambda: {"eigenvalues": _figure(found["loader"])})


def _each(found: dict[str, Any], read: Callable[[Any], Any]) -> dict[str, Any]:
    return {name: {where: read(place) for where, place in places.items()} for name, places in found.items()}


def _pairs(values: np.ndarray) -> list[list[float]]:
    return np.column_stack([values.real, values.imag]).tolist()


def mechanism(name: str) -> Mechanism:
    """A shipped mechanism without damping in its joints."""
    whole = load(name)
    return replace(whole, joints=tuple(replace(j, damping=()) for j in whole.joints))


def spectra(name: str) -> dict[str, Any]:
    """Eigenvalues in two charts at rest without inputs, and held by its inputs at the same pose."""
    simulation = Simulation(mechanism(name), compile=False)
    places: dict[str, Any] = {"free to fall": _spectra(simulation, CHARTS[name])}
    hold(simulation)
    places["held"] = _spectra(simulation, CHARTS[name])
    return places


def _spectra(simulation: Simulation, states: tuple[str, ...]) -> dict[str, Any]:
    charts = {s: simulation.linearize(states=s).eigenvalues() for s in states}
    a, b = charts.values()
    scale = np.abs(a).max()
    whole = np.linalg.eigvals(underlying_model(simulation.engine, simulation.state, states[0])[0])
    zeros = len(whole) - len(a)
    order = np.argsort(np.abs(whole))
    return {
        "charts": charts,
        "difference": float(distance(a, b) / scale),
        "zeros": zeros,
        "largest_zero": float(np.abs(whole[order[:zeros]]).max() / scale),
        "rest": float(distance(a, whole[order[zeros:]]) / scale),
    }


def distance(a: np.ndarray, b: np.ndarray) -> float:
    """Largest distance between two sets of eigenvalues, paired as well as can be."""
    cost = np.abs(a[:, None] - b[None, :])
    return float(cost[linear_sum_assignment(cost)].max())


def shown(values: np.ndarray) -> str:
    parts = []
    for z in values[np.lexsort((values.real, np.abs(values).round(9)))]:
        if z.imag > 1e-9:
            parts.append(f"{z.real + 0.0:.4f} ± {z.imag:.4f}i" if abs(z.real) > 1e-9 else f"±{z.imag:.4f}i")
        elif abs(z.imag) <= 1e-9:
            parts.append(f"{z.real:.4f}")
    return ", ".join(parts)


def theorem_verdicts(found: dict[str, Any]) -> list[Verdict]:
    held = {name: places["held"] for name, places in found.items()}
    free = {name: places["free to fall"]["difference"] for name, places in found.items()}
    zeros = ", ".join(f"{name}: {p['zeros']} zeros below {p['largest_zero']:.0e}" for name, p in held.items())
    differences = ", ".join(f"{name} {p['difference']:.0e}" for name, p in held.items())
    return [
        Verdict(
            "theorem 4.1.1: at an equilibrium the eigenvalues are the same in every chart",
            "proved",
            f"relative difference {differences}",
            all(p["difference"] < SAME for p in held.values()),
        ),
        Verdict(
            "theorem 4.1.2: the underlying ODE has these eigenvalues and zeros",
            "proved",
            zeros,
            all(p["largest_zero"] < SAME and p["rest"] < SAME for p in held.values()),
            "the proof needs the equilibrium, which the statement does not mention",
        ),
        Verdict(
            "4.5: away from an equilibrium the eigenvalues of the loader depend on the chart",
            "0.54643 ± 1.5734i and 0.37624 ± 1.5642i",
            f"relative difference {free['loader']:.2g}",
            free["loader"] > 0.01,
            "the thesis gives no dimensions, so the numbers themselves can't be compared; "
            f"for the parallel robot K is constant and they agree anywhere ({free['parallel_robot']:.0e})",
        ),
    ]


def printed_verdicts() -> list[Verdict]:
    """The eigenvalues printed in 4.5 against those of the matrices printed beside them."""
    verdicts = []
    for states, (lower, printed) in PRINTED.items():
        A = np.block([[np.zeros((2, 2)), np.eye(2)], [np.array(lower), np.zeros((2, 2))]])
        z = np.linalg.eigvals(A)
        ours = f"±{np.abs(z.real).max():.5f} ± {np.abs(z.imag).max():.4f}i"
        same = ours == printed
        why = "" if same else "a matrix [0 1; A 0] has −z with every eigenvalue z; the signs are misprinted"
        verdicts.append(Verdict(f"4.5: eigenvalues of the matrix in {states}", printed, ours, same, why))
    return verdicts


def cost_verdicts(counts: dict[str, Any], load_error: float) -> list[Verdict]:
    ratios = {name: _ratio(c) for name, c in counts.items()}
    above = [f"{name} {ratio:.1f}" for name, ratio in ratios.items() if ratio > 4]
    fewer = [name for name, c in counts.items() if c["linear"][0] <= c["linear"][1]]
    why = f"the recursions take fewer operations for {len(fewer)} of {len(counts)} mechanisms"
    return [
        Verdict(
            "4.1: an analytic linear model costs perhaps 2 to 4 evaluations of the dynamics",
            "2 to 4",
            f"{min(ratios.values()):.1f} to {max(ratios.values()):.1f}, counted in operations",
            not above,
            f"above 4: {', '.join(above)}; {why}" if above else why,
        ),
        Verdict(
            "4.2: Â21 with τ_NE, for systems under load too",
            "Â21 contains ∂Kᵀ/∂y τ_NE",
            f"Â21 of the held loader is wrong by {100 * load_error:.0f} %",
            load_error < 1e-9,
            "it must be ∂Kᵀ/∂y (τ_NE − τ), as in B.1",
        ),
    ]


def _ratio(count: dict[str, Any]) -> float:
    """Operations of the linear model over those of the dynamics."""
    return float(min(count["linear"]) / count["dynamics"])


def error_without_load() -> float:
    """Relative error of Â21 as printed in 4.2, at the loader held by its cylinders."""
    simulation = Simulation(mechanism("loader"), compile=False)
    hold(simulation)
    R = chart(simulation.engine, simulation.state, CHARTS["loader"][0]).R
    eq = simulation.equations
    t = terms(eq)
    b = basis(eq, t.motion.f, ca.sparsify(ca.SX(ca.DM(R))), eq.v)
    M = mass_matrix(eq.model, t.motion)
    Q = weighted_slope(b.rows, b.chart.weights(t.applied.tau), eq.tree.nv)
    f = ca.Function("f", [eq.q, eq.v, eq.z, eq.u, eq.p], [b.K.T @ M @ b.K, b.K.T @ Q @ b.K])
    reduced, bent = (np.array(x) for x in f(*simulation.at))
    A21 = simulation.linearize(states=CHARTS["loader"][0]).A[len(R) :, : len(R)]
    return float(np.abs(np.linalg.solve(reduced, bent)).max() / np.abs(A21).max())


def operations(name: str) -> dict[str, Any]:
    """Operations of the dynamics, and of slopes and linear model: (recursive, automatic)."""
    simulation = Simulation(name, compile=False)
    R = ca.sparsify(ca.SX(ca.DM(chart(simulation.engine, simulation.state, None).R)))
    eq = simulation.equations
    a, delta = ca.SX.sym("a", eq.tree.nv), ca.SX.sym("delta", eq.tree.nv)
    slopes = newton_euler_slopes(eq.model, outward(eq.model, eq.q, eq.v, a), eq.v, a, {}, {}, 0)
    tau = onto_joints(eq.model, joint_wrenches(eq.model, outward(eq.model, eq.q, eq.v, a, delta), {}))
    J = ca.substitute(ca.jacobian(tau, ca.vertcat(delta, eq.v)), delta, ca.SX.zeros(eq.tree.nv, 1))
    arguments = [eq.q, eq.v, eq.p, a]
    two = [
        ca.Function("slopes", arguments, ca.cse([ca.densify(x) for x in out]))
        for out in ([slopes.q, slopes.v], [ca.sparsify(J)])
    ]
    whole = [recursive_linear(eq, R), linear(eq, R)]
    return {
        "dynamics": _count(dynamics(eq)),
        "newton_euler": [_count(f) for f in two],
        "linear": [_count(f) for f in whole],
    }


def _count(f: ca.Function) -> int:
    """Operations of a traced function after common subexpressions are merged, copies in and out left out."""
    arguments = [ca.SX.sym(f.name_in(k), f.sparsity_in(k)) for k in range(f.n_in())]
    merged = ca.Function("merged", arguments, ca.cse(list(f.call(arguments))))
    return int(merged.n_instructions() - merged.nnz_in() - merged.nnz_out())


def _figure(places: dict[str, Any]) -> Any:
    """Eigenvalues of the loader in the complex plane: two charts, falling and held."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 3.6), layout="constrained")
    for axes, (where, place) in zip(figure.subplots(1, 2), places.items(), strict=True):
        for mark, (states, values) in zip("ox", place["charts"].items(), strict=True):
            axes.plot(values.real, values.imag, mark, label=states, fillstyle="none", markersize=9)
        axes.set(title=f"loader, {where}", xlabel="real part, 1/s", ylabel="imaginary part, 1/s")
        axes.grid(alpha=0.3)
        axes.legend()
    return figure
