"""Assembly problems: parts, primitive constraints between them, and which parts may move.

Newton's method on Φ = 0 and pᵀp = 1 of every part that moves (paper 000, Algorithm 1), by shortest steps.
Where that fails, `conflict.py` searches wider, and says which constraints exclude one another if it
finds nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from ..base.display import Displayed
from ..base.errors import AssemblyError, DescriptionError
from ..base.thresholds import CARRIED
from ..describe.mechanism import GROUND
from ..manifold.newton import descend
from ..manifold.rank import rank_of
from .conflict import conflict, search
from .constraints import BodyPose, Constraint, Side, body_pose, exact

Array = np.ndarray
Derivative = Callable[[Side, BodyPose], Array]


@dataclass(frozen=True)
class Part:
    """A rigid part: where it starts, and whether it may move: all, turn (about its origin) or none."""

    name: str  # by which constraints refer to it
    position: tuple[float, ...] = (0.0, 0.0, 0.0)  # of its origin, metres
    orientation: tuple[float, ...] = (1.0, 0.0, 0.0, 0.0)  # Euler parameters (w, x, y, z)
    move: str = "all"

    @property
    def unknowns(self) -> int:
        """How many of its seven coordinates are looked for."""
        return {"all": 7, "turn": 4, "none": 0}[self.move]


@dataclass(frozen=True)
class Problem:
    """Parts and named constraints. A part named `ground` is there without being listed."""

    name: str  # of the problem
    parts: tuple[Part, ...]  # the bodies
    constraints: Mapping[str, Constraint]  # by name

    def __post_init__(self) -> None:
        names = [p.name for p in self.parts] + [GROUND]
        for part in self.parts:
            if part.move not in ("all", "turn", "none"):
                raise DescriptionError(f"part '{part.name}': move is all, turn or none, not '{part.move}'")
            if names.count(part.name) > 1:
                raise DescriptionError(f"two parts are named '{part.name}'; rename one")
            if not np.linalg.norm(part.orientation) > 0:
                raise DescriptionError(f"part '{part.name}': orientation must not be zero")
        for key, constraint in self.constraints.items():
            for body in (constraint.body1, constraint.body2):
                if body not in names:
                    raise DescriptionError(
                        f"constraint '{key}': there is no part '{body}'; known: {', '.join(names)}"
                    )

    def start(self) -> Array:
        """The unknowns as described, Euler parameters at length one."""
        values = []
        for part in self.parts:
            p = np.asarray(part.orientation, float)
            both = np.concatenate([np.asarray(part.position, float), p / np.linalg.norm(p)])
            values.append(both[7 - part.unknowns :])
        return np.concatenate(values) if values else np.zeros(0)

    def poses(self, x: Array) -> dict[str, BodyPose]:
        """Poses of all parts at unknowns x (..., k), one problem or many."""
        result = {GROUND: body_pose(np.zeros(3), np.array([1.0, 0.0, 0.0, 0.0]))}
        for part, where in zip(self.parts, self._places(), strict=True):
            p = np.asarray(part.orientation, float)
            r, p = np.asarray(part.position, float), p / np.linalg.norm(p)
            if part.move == "all":
                r = x[..., where.start : where.start + 3]
            if part.move != "none":
                p = x[..., where.stop - 4 : where.stop]
            result[part.name] = body_pose(r, p)
        return result

    def _places(self) -> list[slice]:
        ends = np.cumsum([0] + [part.unknowns for part in self.parts])
        return [slice(int(a), int(b)) for a, b in pairwise(ends)]

    def rows(self) -> list[str]:
        """Whom each row belongs to: a constraint, or the length of a part's Euler parameters (blank)."""
        names = [key for key, c in self.constraints.items() for _ in range(c.rows)]
        return names + [""] * sum(part.move != "none" for part in self.parts)

    def system(self, derivative: Derivative = exact) -> Callable[[Array], tuple[Array, Array]]:
        """x (n, k) -> Φ (n, m) and J (n, m, k), for `newton`.

        `derivative` is `constraints.exact`, or `constraints.virtual_rotation` for Peng's formula.
        """
        where = dict(zip((p.name for p in self.parts), self._places(), strict=True))
        moving = [part for part in self.parts if part.move != "none"]
        rows, k = len(self.rows()), sum(part.unknowns for part in self.parts)

        def evaluate(x: Array) -> tuple[Array, Array]:
            poses = self.poses(x)
            phi, J = np.empty((len(x), rows)), np.zeros((len(x), rows, k))
            at = 0
            for c in self.constraints.values():
                value = c.evaluate(poses[c.body1], poses[c.body2])
                mine = slice(at, at + c.rows)
                phi[:, mine] = value.residual
                for body, side in ((c.body1, value.side1), (c.body2, value.side2)):
                    columns = where.get(body, slice(0, 0))
                    if columns.stop > columns.start:
                        J[:, mine, columns.stop - 4 : columns.stop] += derivative(side, poses[body])
                    if columns.stop - columns.start == 7:
                        J[:, mine, columns.start : columns.start + 3] += side.by_origin
                at = mine.stop
            for n, part in enumerate(moving):
                e = slice(where[part.name].stop - 4, where[part.name].stop)
                phi[:, at + n] = (x[:, e] ** 2).sum(-1) - 1
                J[:, at + n, e] = 2 * x[:, e]
            return phi, J

        return evaluate

    def solve(self) -> Report:
        """Assemble, or raise an error that names the constraints that conflict."""
        if not self.constraints or not any(part.unknowns for part in self.parts):
            raise DescriptionError(f"assembly '{self.name}' needs a constraint and a part that moves")
        first = descend(self.slope, self.start())
        if first.closed:
            return report(self, first.x, first.steps, False)
        found, best = search(self.slope, self.start())
        if found is None:
            raise AssemblyError(self._conflict(best))
        return report(self, found, first.steps, True)

    def slope(self, x: Array) -> tuple[Array, Array]:
        """Φ and J at one x."""
        phi, J = self.system()(x[None])
        return phi[0], J[0]

    def _conflict(self, best: Array) -> str:
        misfits = self.residuals(self.slope(best)[0])

        def solvable(names: list[str]) -> bool:
            return search(self.only(names).slope, best)[0] is not None

        return (
            f"assembly '{self.name}' can't be solved: {conflict(misfits, solvable)}; "
            "change or remove one of them, or start nearer to a pose that fits"
        )

    def residuals(self, phi: Array) -> dict[str, float]:
        """Constraint -> its largest residual."""
        owners = np.array(self.rows())
        return {n: float(np.abs(phi[owners == n]).max()) for n in self.constraints}

    def only(self, names: list[str]) -> Problem:
        """The same parts under some of the constraints."""
        return Problem(self.name, self.parts, {key: self.constraints[key] for key in names})


@dataclass(frozen=True)
class Report(Displayed):
    """How an assembly went.

    `redundant` are groups of constraints that repeat one another, with the number of rows too
    many; `free` are groups of parts that can still move together, with their freedoms.
    """

    iterations: int  # steps of Newton's method
    searched: bool  # Newton's method failed from the start; a wider search found this pose
    residual: float  # ‖Φ‖₂
    residuals: dict[str, float]  # constraint -> the largest of its rows
    rows: int  # of all constraints
    unknowns: int  # coordinates that were looked for
    rank: int  # of the Jacobian
    freedom: int  # unknowns less rank
    redundant: tuple[tuple[tuple[str, ...], int], ...]
    free: tuple[tuple[tuple[str, ...], int], ...]
    poses: dict[str, tuple[Array, Array]]  # part -> origin, Euler parameters

    def text(self) -> str:
        """The report for people."""
        lines = [
            f"{self.iterations} iterations{' and a search' if self.searched else ''}, "
            f"residual {self.residual:.2g}, {self.rows} rows on {self.unknowns} unknowns, rank {self.rank}"
        ]
        for names, count in self.redundant:
            lines.append(f"over-constrained by {count}: {', '.join(names)}")
        for names, count in self.free:
            freedoms = "1 degree of freedom" if count == 1 else f"{count} degrees of freedom"
            lines.append(f"under-constrained, {freedoms}: {', '.join(names)}")
        if not (self.redundant or self.free):
            lines.append("well constrained")
        for name, (r, p) in self.poses.items():
            lines.append(f"  {name}: position {_vector(r)}, Euler parameters {_vector(p)}")
        return "\n".join(lines)


def _vector(v: Array) -> str:
    return "(" + ", ".join(f"{x + 0.0:.6g}" for x in np.where(np.abs(v) < 1e-12, 0.0, v)) + ")"


def report(problem: Problem, x: Array, steps: int, searched: bool) -> Report:
    """What there is to say about a problem at unknowns x."""
    phi, J = problem.slope(x)
    rows, parts = problem.rows(), [p.name for p in problem.parts for _ in range(p.unknowns)]
    left, sizes, right = np.linalg.svd(J)
    rank = rank_of(sizes)
    redundant = [(names, count) for names, count in _groups(left[:, rank:], rows) if names]
    poses = {n: (p.r, p.p) for n, p in problem.poses(x).items() if n != GROUND}
    free, size = tuple(_groups(right[rank:].T, parts)), float(np.linalg.norm(phi))
    counts = (len(rows), len(x), rank, len(x) - rank)
    return Report(steps, searched, size, problem.residuals(phi), *counts, tuple(redundant), free, poses)


def _groups(basis: Array, owners: list[str]) -> list[tuple[tuple[str, ...], int]]:
    """Owners that a null space ties together, with the dimension of each group's share.

    The projector onto the null space does not depend on the basis; where two owners share no
    entry of it, they take part in no common dependency.
    """
    projector = basis @ basis.T
    names = [n for n in dict.fromkeys(owners) if n]
    tied = {n: [k for k, owner in enumerate(owners) if owner == n] for n in names}
    groups: list[set[str]] = []
    for a in names:
        near = {b for b in names if np.abs(projector[np.ix_(tied[a], tied[b])]).max() > CARRIED}
        joined = [g for g in groups if g & near]
        groups = [g for g in groups if not g & near] + [near.union(*joined)] * bool(near)
    return [
        (tuple(n for n in names if n in g), round(sum(projector[k, k] for n in g for k in tied[n])))
        for g in groups
    ]
