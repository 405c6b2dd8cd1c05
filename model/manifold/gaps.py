"""Which loops are open, by name."""

import numpy as np

from ..base.errors import AssemblyError
from ..base.thresholds import ROUNDED_LOOP
from ..describe.mechanism import Mechanism, Strut
from ..describe.motors import Motor
from ..equations.topology import Tree, drive_row


def loop_gaps(g: np.ndarray, tree: Tree) -> dict[str, float]:
    """Largest residual of each cut joint and coupling, metres or radians."""
    return {
        tree.beside.get(cut, cut): float(np.abs(g[rows]).max(initial=0.0)) for cut, rows in tree.rows.items()
    }


def widest_gap(mechanism: Mechanism, tree: Tree, g: np.ndarray) -> str:
    """The beginning of a sentence: which loop is open the widest, and by how much."""
    gaps = loop_gaps(g, tree)
    worst = max(gaps, key=lambda name: gaps[name])
    gap = f"is open by {gaps[worst]:.3g} m or rad"
    motor = _motor(mechanism, worst)
    if motor is not None:
        if isinstance(motor, Strut):
            off = f"is {gaps[worst]:.3g} m off its commanded length"
            return f"cylinder '{motor.name}' of '{mechanism.name}' {off}"
        where = f"is {gaps[worst]:.3g} m or rad from where motor '{motor.name}' drives it"
        return f"joint '{motor.joint}' of '{mechanism.name}' {where}"
    if worst in {tie.name for tie in mechanism.couplings}:
        return f"the coupling '{worst}' of '{mechanism.name}' {gap}"
    return f"the loop of '{mechanism.name}' closed by joint '{worst}' {gap}"


def what_closes(mechanism: Mechanism, name: str) -> str:
    """The loop that a cut joint closes, or the relation that a coupling holds, in words."""
    tie = next((tie for tie in mechanism.couplings if tie.name == name), None)
    motor = _motor(mechanism, name)
    if motor is not None:
        if isinstance(motor, Strut):
            return f"the commanded length of cylinder '{motor.name}'"
        return f"the motion that motor '{motor.name}' gives joint '{motor.joint}'"
    if tie is not None:
        return f"the coupling '{name}' of {', '.join((tie.joint, *tie.follows))}"
    joint = mechanism.joint(name)
    return f"the loop closed by joint '{name}' ({joint.parent} to {joint.child})"


def _motor(mechanism: Mechanism, name: str) -> Motor | Strut | None:
    """The motor or cylinder whose driven motion a row of that name holds."""
    return next((motor for motor in mechanism.driven if drive_row(motor) == name), None)


def open_loop(mechanism: Mechanism, gaps: dict[str, float]) -> AssemblyError:
    """What to say of loops that can't be closed: it names the one that is open the widest."""
    worst = max(gaps, key=lambda name: gaps[name])
    if mechanism.driven:
        motors = ", ".join(f"'{motor.name}'" for motor in mechanism.driven)
        verb = "commands" if len(mechanism.driven) == 1 else "command"
        return AssemblyError(
            f"'{mechanism.name}' can't reach what {motors} {verb}: {what_closes(mechanism, worst)} "
            f"is missed by {gaps[worst]:.3g} m or rad; command a motion within reach"
        )
    advice = (
        "check the positions of the joints in this loop, or give 'start' coordinates nearer to a closed pose"
    )
    if gaps[worst] < ROUNDED_LOOP:
        advice = "a loop that holds more than it needs to must be exact: write more digits, or hold less"
    return AssemblyError(
        f"mechanism '{mechanism.name}' can't be assembled: {what_closes(mechanism, worst)} "
        f"stays open by {gaps[worst]:.3g} m or rad; {advice}"
    )
