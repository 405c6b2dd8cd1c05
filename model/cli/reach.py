"""`cutjoint reach`: where all joints are when a frame is put somewhere, and what that takes."""

import argparse
from typing import Any

from ..base.errors import CutjointError, SimulationError
from ..chain.chain import Chain
from ..chain.core import ChainMotion
from ..describe.writer import save
from ..show.table import table
from ..simulation import Simulation
from .common import (
    MANY,
    Options,
    check_targets,
    form_to_keep,
    load_mechanism,
    number,
    read_joints,
    read_parameters,
    read_view,
    tell_written,
    to_json,
)
from .poses import TEXT, read_poses

HELP = "Put bodies or frames somewhere: joints, actuators, limits left, forces to hold it there; a picture."
EXAMPLE = """
cutjoint reach hexapod --pose platform=z:0.85,roll:5deg,pitch:0,yaw:0,x:0,y:0
cutjoint reach delta --pose platform=x:0.1,y:0.05,z:-0.7 --picture there.png
"""


def add_arguments(option: Options) -> None:
    option("mechanism")
    option("--pose", "NAME=PART:VALUE,…", TEXT, **MANY)
    option("--nearest", text="go as near as it can where it can't be reached")
    option("--margin", "X", "smallest singular value that actuators keep (default 1e-3)")
    option("--set")
    option("--parameter")
    option("-o --output", "FILE", "write the description with this pose to start from", writes=True)
    option("--picture", "FILE", "draw the mechanism there (png, svg or pdf)", writes=True)
    option("--view")
    option("--json")


def run(args: argparse.Namespace) -> int:
    check_targets(args.output, picture=args.picture)
    if not args.pose:
        raise CutjointError("say what goes where: --pose NAME=PART:VALUE, such as platform=z:0.8")
    angle = read_view(args.view)
    margin = None if args.margin is None else number(args.margin, "--margin")
    mechanism = load_mechanism(args)
    held, parameters = read_joints(args.set, mechanism), read_parameters(args.parameter, mechanism)
    simulation = Simulation(mechanism, compile=False, start=held, parameters=parameters)
    chain = Chain(simulation)
    targets = read_poses(args.pose, chain, "--pose")
    found = chain.inverse(*targets, nearest=args.nearest, margin=margin)
    forces, why = _forces(chain, found)
    if args.json:
        print(to_json(_as_dict(chain, found, forces)))
    else:
        print(page(chain, found, forces, why))
    simulation.state = found.state
    if args.output:
        save(
            simulation.mechanism.with_start(found.coordinates), args.output, like=form_to_keep(args.mechanism)
        )
    if args.picture:
        from ..show.picture import save_picture

        cuts = [cut.name for cut in simulation.tree.cuts]
        save_picture(args.picture, simulation.mechanism, simulation.body_poses(), cuts, angle)
    tell_written(args, written=args.output, picture=args.picture)
    return 0


def _forces(chain: Chain, found: ChainMotion) -> tuple[dict[str, float], str]:
    """What actuators have to give to hold the pose; or why nothing does."""
    try:
        return chain.holding_forces(found.state), ""
    except SimulationError as problem:
        return {}, str(problem)


def _as_dict(chain: Chain, found: ChainMotion, forces: dict[str, float]) -> dict[str, Any]:
    return {
        "mechanism": chain.mechanism.name,
        "residual": found.residual,
        "actuators": {name: motion[0] for name, motion in found.actuators.items()},
        "forces": forces,
        "coordinates": found.coordinates,
        "limits_left": {name: list(room) for name, room in found.limits_left.items()},
        "missing": found.slack,
        "distance": found.distance,
    }


def page(chain: Chain, found: ChainMotion, forces: dict[str, float], why: str) -> str:
    """What was found, as a page for people."""
    lines = [f"{chain.mechanism.name}: there, residual {found.residual:.2g}"]
    if found.slack:
        lines = [f"{chain.mechanism.name}: as near as it can, residual {found.residual:.2g}"]
        lines.append(
            table([(row, f"{x:.6g}") for row, x in found.slack.items()], ("row", "missing (m, rad)"))
        )
    if found.actuators:
        rows = [
            (name, f"{x[0]:.6g}", f"{forces[name]:.6g}" if forces else "")
            for name, x in found.actuators.items()
        ]
        lines.append(table(rows, ("actuator", "position (rad, m)", "to hold it (N·m, N)")))
        if why:
            lines.append(f"no forces hold it: {why}")
        lines.append(f"smallest singular value of its actuators' hold: {found.distance:.4g}")
    lines.append(table(found.coordinates.items(), ("joint", "coordinates (rad, m)")))
    if found.limits_left:
        rows = [(name, f"{low:.6g}", f"{high:.6g}") for name, (low, high) in found.limits_left.items()]
        lines.append(table(rows, ("joint", "above its lower limit", "below its upper")))
    return "\n".join(lines)
