"""Where driven motions take a mechanism as they are told anew, and where they are as time goes on."""

from typing import Any

import casadi as ca

from ..equations.prescribed import with_motions
from ..equations.terms import Equations, once
from ..equations.traced import project_position
from ..thresholds import SEATING_SWEEPS
from .judge import energy, finished, projected
from .rest import inputs_later


@once
def seated(eq: Equations) -> ca.Function:
    """(q, v, work, p) → (q, v, work): the nearest state that follows the driven motions as p tells them.

    A motion that jumps takes the mechanism along, by impulses whose work is what the energy changes by.
    """
    q, v, work, p = eq.symbols("q", "v", "work", "p")
    pose = projected(project_position(eq), SEATING_SWEEPS)(q, p)
    speeds, *_, kinetic, potential = finished(eq)(pose, v, p)
    before = energy(eq)(q, v, p)
    gained = kinetic + potential - before[0] - before[1]
    names = ["q", "v", "work", "p"], ["q_new", "v_new", "work_new"]
    return ca.Function("seated", [q, v, work, p], [pose, speeds, work + gained], *names)


@once
def moved_inputs(eq: Equations) -> ca.Function:
    """(w, t) → w: inputs and their rates after t seconds."""
    w, t = *eq.symbols("w"), ca.MX.sym("t")
    return ca.Function("moved_inputs", [w, t], [inputs_later(eq, w, t)], ["w", "t"], ["w_new"])


def told(eq: Equations, w: Any, p: Any) -> Any:
    """p with the motions that the inputs tell."""
    return with_motions(eq.mechanism, w, p)
