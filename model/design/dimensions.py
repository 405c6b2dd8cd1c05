"""What a designer can change or leave free, as columns of one Jacobian of the loop residual.

Columns are the tree's speeds (coordinates move along them) and every dimension of a joint: its
position s' on either body, its orientation C there (turned by a small rotation ξ' in the body's
axes, δC = ξ̃' C), its length, travel and pitch; ratios, offset and curve of every coupling. All derivatives
come from the traced residual g(q, p) by automatic differentiation; `tests/support/zou_derivatives.py` has the
paper's formulas.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import casadi as ca
import numpy as np

from ..base.errors import CutjointError
from ..describe import parameters
from ..describe.check import check
from ..describe.mechanism import Mechanism
from ..equations.loops import of_poses
from ..equations.terms import Equations, equations, start_pose
from ..equations.traced import closure, retraction
from ..joints.euler import world_matrix
from ..joints.types import TYPES
from ..run.driven_motions import without_motions
from ..variables import Table, Variable

GROUPS = {
    "q": "all joint coordinates",
    "s": "positions of joints on their inner bodies, and of cut joints on both",
    "C": "orientations of the same joints",
    "l": "lengths",
    "all": "all of these",
}


@dataclass(frozen=True)
class Block:
    """One coordinate vector (`q.<joint>`) or one dimension (its path), and its columns."""

    name: str
    kind: str  # "coordinate", "position", "orientation", "length", "travel", "pitch", "ratio", "offset", …
    owner: str  # the joint or coupling
    columns: slice  # of the Jacobian
    values: slice  # of q for coordinates, of p for dimensions
    units: tuple[str, ...]  # of the columns
    added: tuple[int | None, ...]  # the value each column is added to; None for rotations, which compose


class Design:
    """All design variables of a mechanism: names, values, the residual and its derivative."""

    def __init__(self, mechanism: Mechanism):
        self.mechanism = check(mechanism)
        geometry = (at for at in parameters.paths(self.mechanism) if at.field.changes_geometry)
        dims = {f"d{k}": at.whole for k, at in enumerate(geometry)}
        marked = replace(self.mechanism, parameters=dims)
        self._marked = without_motions(marked)  # who moves it is no matter
        eq = self.equations = equations(self._marked, beside=False)  # no force acts, no turn counts
        self.tree = eq.tree
        self.blocks = tuple(self._blocks(eq))
        known = {b.name: Variable(b.name, b.kind, b.columns, b.units) for b in self.blocks}
        own = {key: known[path] for key, path in self.mechanism.parameters.items() if path in known}
        self.table = Table("design variable", known | own)
        self.q = start_pose(eq)
        self.p = parameters.default_vector(self._marked)
        self._slope, self._retract = _slope(eq), retraction(eq)
        self.size = size(self.mechanism)

    def _blocks(self, eq: Equations) -> Iterable[Block]:
        for name, v in eq.tree.v.items():
            if v.stop > v.start:
                kind = TYPES[self.mechanism.joint(name).type]
                units = tuple(unit.removesuffix("/s") for unit in kind.speed_units)
                added: list[int | None] = []
                for move, q, _ in kind.parts:
                    added += range(q.start, q.stop) if move.plain else [None] * move.nv
                yield Block(f"q.{name}", "coordinate", name, v, eq.tree.q[name], units, tuple(added))
        at = eq.tree.nv
        for item in eq.parameters:
            what, owner = item.path.split(".")[-1], item.path.split(".")[1]
            turns = what == "orientation"
            added = [None] * 3 if turns else [*range(item.slice.stop - item.slice.start)]
            count, unit = len(added), "rad" if turns else item.at.unit
            columns = slice(at, at + count)
            yield Block(item.path, what, owner, columns, item.slice, (unit,) * count, tuple(added))
            at += count

    @property
    def width(self) -> int:
        """Number of columns."""
        return self.blocks[-1].columns.stop

    def natural_weights(self, scale: float) -> np.ndarray:
        """One for radians, 1/scale for metres."""
        W = np.ones(self.width)
        for block in self.blocks:
            metres = np.array([unit.split("/")[0] == "m" for unit in block.units])
            W[block.columns] = np.where(metres, 1 / scale, 1.0)
        return W

    def state(self, q: np.ndarray, p: np.ndarray) -> np.ndarray:
        """Present value of each column; 0 for rotations, which have no bounds."""
        x = np.zeros(self.width)
        for block in self.blocks:
            values = self.value(block, q, p)
            for k, place in enumerate(block.added):
                x[block.columns.start + k] = 0.0 if place is None else values[place]
        return x

    def residual(self, q: np.ndarray, p: np.ndarray) -> np.ndarray:
        return np.array(self._slope(q, p)[0]).ravel()

    def slope(self, q: np.ndarray, p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """g(q, p), m, and its derivative by every column, m × width."""
        g, G, g_p = (np.array(x) for x in self._slope(q, p))
        J = np.zeros((len(g), self.width))
        J[:, : self.tree.nv] = G
        for block in self.blocks:
            if block.kind == "orientation":
                # δp = ½ Eᵀ ξ' for Euler parameters of unit length (paper 003, Eq. 39)
                J[:, block.columns] = g_p[:, block.values] @ (0.5 * world_matrix(p[block.values]).T)
            elif block.kind != "coordinate":
                J[:, block.columns] = g_p[:, block.values]
        return g.ravel(), J

    def moved(self, q: np.ndarray, p: np.ndarray, step: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The design a step away; rotations stay rotations."""
        p = p.copy()
        for block in self.blocks:
            if block.kind == "orientation":
                e = p[block.values] + 0.5 * world_matrix(p[block.values]).T @ step[block.columns]
                p[block.values] = e / np.linalg.norm(e)
            elif block.kind != "coordinate":
                p[block.values] += step[block.columns]
        return np.array(self._retract(q, step[: self.tree.nv])).ravel(), p

    def value(self, block: Block, q: np.ndarray, p: np.ndarray) -> np.ndarray:
        return (q if block.kind == "coordinate" else p)[block.values]

    def described(self, q: np.ndarray, p: np.ndarray) -> Mechanism:
        """The mechanism with these dimensions, starting from these coordinates."""
        coordinates = (b for b in self.blocks if b.kind == "coordinate")
        result = self.mechanism.with_start({b.owner: self.value(b, q, p) for b in coordinates})
        for block in self.blocks:
            new = self.value(block, q, p)
            if block.kind != "coordinate" and not np.array_equal(new, self.p[block.values]):
                alone = parameters.locate(result, block.name).alone
                result = parameters.replace_value(result, block.name, new[0] if alone else new)
        return check(result)

    def given(self, change: Mapping[str, Any]) -> tuple[np.ndarray, set[int]]:
        """Dimensions p with the wanted values, checked, and the columns they settle."""
        changed, settled = self.mechanism, set[int]()
        for name, value in change.items():
            path = self.path(name)
            whole = parameters.split_component(path)[0]
            if self.table.find(whole).kind == "coordinate":
                raise CutjointError(
                    f"'{name}' can't be set, only dimensions can; lock it, or give it a start"
                )
            changed = parameters.replace_value(changed, path, value)
            settled |= set(self.columns(whole if ".orientation" in path else path))
        return parameters.default_vector(replace(check(changed), parameters=self._marked.parameters)), settled

    def columns(self, name: str) -> list[int]:
        """Columns of a group, of a named parameter, of a path with or without index, or of a pattern."""
        if name in GROUPS:
            found = [b for b in self.blocks if self._group(b) and name in ("all", self._group(b))]
            if not found:
                raise CutjointError(f"mechanism '{self.mechanism.name}' has none of '{name}', {GROUPS[name]}")
            return [k for b in found for k in range(b.columns.start, b.columns.stop)]
        whole, k = parameters.split_component(self.path(name))
        one = k == 1 and whole in self.table.named and self.table.find(whole).size == 1  # of a list of one
        return list(dict.fromkeys(self.table.rows([whole if one else self.path(name)]).tolist()))

    def path(self, name: str) -> str:
        return path_of(self.mechanism, name)

    def label(self, column: int) -> str:
        return next(c.name for c in self.table.columns() if c.where.start == column)

    def _group(self, block: Block) -> str:
        if block.kind in ("coordinate", "travel"):
            return "q"
        if block.kind == "length":
            return "l"
        if block.kind not in ("position", "orientation"):
            return ""
        # A tree joint's place on its outer body only shifts that body's other joints, whose own
        # places are free already (the paper puts a body's origin there).
        joint = self.mechanism.joint(block.owner)
        link = next((x for x in self.tree.links if x.joint == joint.name), None)
        side = block.name.split(".")[2]
        inner = link is None or (side == "on_child") == link.reverse
        letter = "s" if block.kind == "position" else "C"
        return letter if inner else ""


def _slope(eq: Equations) -> ca.Function:
    """(q, p) → (g, G, ∂g/∂p), all of the traced loops."""
    g, G, _ = closure(eq)(eq.q, eq.s, eq.p)
    out = [ca.densify(x) for x in (g, of_poses(eq.model, G), ca.jacobian(g, eq.p))]
    return ca.Function("slope", [eq.q, eq.p], out, ["q", "p"], ["g", "G", "g_p"])


def size(mechanism: Mechanism) -> float:
    """The longest distance between two joints of one body, or the longest rod, metres."""
    points: dict[str, list[np.ndarray]] = {}
    for joint in mechanism.joints:
        points.setdefault(joint.parent, []).append(np.asarray(joint.on_parent.position, float))
        points.setdefault(joint.child, []).append(np.asarray(joint.on_child.position, float))
    spans = [float(np.linalg.norm(a - b)) for group in points.values() for a in group for b in group]
    return max([*spans, *(float(j.length) for j in mechanism.joints)], default=0.0) or 1.0


def path_of(mechanism: Mechanism, name: str) -> str:
    """The path behind a name: `s21`, `joint.s21` or `joint.ball.on_child.position` alike."""
    whole, k = parameters.split_component(name)
    for alias in (whole, whole.removeprefix("joint.")):
        if alias in mechanism.parameters:
            return mechanism.parameters[alias] + ("" if k is None else f"[{k}]")
    return name


def as_names(free: str | Iterable[str]) -> list[str]:
    """`q,s` or a list of names."""
    return [n.strip() for n in free.split(",") if n.strip()] if isinstance(free, str) else list(free)
