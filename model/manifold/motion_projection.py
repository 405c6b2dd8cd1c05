"""Where driven motions take a mechanism as they are told anew, and where they are as time goes on."""

import casadi as ca

from ..base.thresholds import SEATING_SWEEPS
from ..equations.terms import Equations, once
from ..equations.traced import project_position
from .singular_start import inputs_later
from .step_error import energy, newton_steps, project_velocity_and_measure


@once
def project_to_motion(eq: Equations) -> ca.Function:
    """(q, v, z, work, s, p) → (q, v, work): the nearest state that follows the driven motions s.

    A motion that jumps takes the mechanism along, by impulses whose work is what the energy changes by.
    """
    q, v, z, work, s, p = symbols = eq.symbols("q", "v", "z", "work", "s", "p")
    pose = newton_steps(project_position(eq), SEATING_SWEEPS)(q, s, p)
    speeds, *_, kinetic, potential = project_velocity_and_measure(eq)(pose, v, z, s, p)
    before = energy(eq)(q, v, z, p)
    gained = kinetic + potential - before[0] - before[1]
    names = ["q", "v", "z", "work", "s", "p"], ["q_new", "v_new", "work_new"]
    return ca.Function("seated", symbols, [pose, speeds, work + gained], *names)


@once
def inputs_after(eq: Equations) -> ca.Function:
    """(w, t) → w: inputs and their rates after t seconds."""
    w, t = *eq.symbols("w"), ca.MX.sym("t")
    return ca.Function("moved_inputs", [w, t], [inputs_later(eq, w, t)], ["w", "t"], ["w_new"])
