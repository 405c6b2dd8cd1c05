"""What `cutjoint show` says of a mechanism: tree, cuts, rank, mobility, redundant constraints."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from ..describe.motors import tells_motion
from ..engine import Engine
from ..equations.least_reactions import exertable, sharing
from ..equations.loops import row_names
from ..manifold.rank import distance_and_rank, redundant_rows, undetermined, unique_reactions
from ..state import State


@dataclass(frozen=True)
class Mobility:
    """What `cutjoint show` says of a mechanism."""

    bodies: tuple[str, ...]  # their names
    joints: tuple[tuple[str, str, str, str], ...]  # name, type, parent, child
    cuts: tuple[str, ...]  # joints that are cut to open the loops
    coordinates: int  # of the spanning tree, nq
    speeds: int  # of the spanning tree, nv
    rows: int  # constraint rows, holonomic and non-holonomic
    freedoms_structural: int  # speeds minus rows: what Grübler's count says
    rank: int  # on the manifold around the pose
    rank_here: int  # at the pose itself
    mobility: int  # speeds minus rank: independent speeds
    redundant: tuple[str, ...]  # rows that follow from others
    singular_value: float  # smallest that belongs to the rank; 0 at a singularity
    not_unique: tuple[str, ...]  # joints whose reactions the redundant rows leave open
    unique: dict[str, tuple[str, str]]  # of those joints: directions in which force and moment are unique
    driven: int  # freedoms whose motion is an input; those of positions and velocities are in the rank
    places: int  # independent coordinates: the mobility, or more where velocity constraints hold speeds alone
    freedoms: int  # the mobility, and what positions and velocities drive

    @property
    def summary(self) -> str:
        """Freedoms, and how many of them are driven."""
        return freedom_summary(self.freedoms, self.driven)

    def as_dict(self) -> dict[str, Any]:
        """For machines."""
        return asdict(self)


def freedom_summary(freedoms: int, driven: int) -> str:
    """Such as "2, 1 driven"; "1, driven" where none is left."""
    if not driven:
        return str(freedoms)
    return f"{freedoms}, {'' if driven == freedoms else f'{driven} '}driven"


def mobility(engine: Engine, state: State) -> Mobility:
    """The mechanism at a pose."""
    mechanism, tree = engine.mechanism, engine.tree
    s = engine.motions(state.u)
    generic, pose = engine.generic_rank(state.q, s, state.p)
    G = engine.unitless_jacobian(state.q, state.p)
    distance, here = distance_and_rank(G, generic)
    names = row_names(engine.equations.model)
    open_reactions = undetermined(G, tree)
    return Mobility(
        tuple(b.name for b in mechanism.bodies),
        tuple((j.name, j.type, j.parent, j.child) for j in mechanism.joints),
        tree.cut_names,
        tree.nq,
        tree.nv,
        len(names),
        tree.nv - len(names),
        generic,
        here,
        tree.nv - generic,
        redundant_rows(engine.unitless_jacobian(pose, state.p), generic, names),
        distance,
        open_reactions,
        _unique(engine, state) if open_reactions else {},
        sum(map(tells_motion, mechanism.drives)),
        tree.nv - engine.ranks(state.q, s, state.p).poses,
        tree.nv - generic + len(tree.driven),
    )


def _unique(engine: Engine, state: State) -> dict[str, tuple[str, str]]:
    """Directions in which forces and moments of joints are unique although not all are."""
    E, W = exertable(engine.equations)(state.q, state.p)
    return unique_reactions(np.array(E), np.array(W), sharing(engine.equations))
