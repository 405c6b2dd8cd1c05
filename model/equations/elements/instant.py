"""What elements see of a state: how bodies and joints move, and what is known once motion is solved for."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

from ..cut_joints import cut_coordinates
from ..kinematics import Model, Motion, quaternions, user_speeds
from ..loops import CutLoop


@dataclass
class Instant:
    """A state, without accelerations."""

    model: Model
    motion: Motion
    loops: list[CutLoop]
    q: Any
    v: Any
    _cut: dict[str, tuple[Any, Any]] = field(default_factory=dict)  # measured once, whoever asks

    @cached_property
    def cuts(self) -> dict[str, CutLoop]:
        return {loop.joint.name: loop for loop in self.loops}

    @cached_property
    def _speeds(self) -> Any:
        return user_speeds(self.model, self.q, self.v)

    @cached_property
    def _turns(self) -> list[Any]:
        return quaternions(self.model, self.q)

    def has_joint(self, name: str) -> bool:
        """Whether a joint has coordinates: a free joint in a loop has none."""
        return name in self.model.tree.v or name in self.cuts

    def joint(self, name: str) -> tuple[Any, Any]:
        """Coordinates and speeds of a joint, of the tree or cut, as the description counts them."""
        tree = self.model.tree
        if name in tree.v:
            return self.q[tree.q[name]], self._speeds[tree.v[name]]
        if name not in self._cut:
            self._cut[name] = cut_coordinates(self.model, self.cuts[name], self.q, self._turns)
        return self._cut[name]


class Solved(NamedTuple):
    """A state whose accelerations and constraint forces are known."""

    model: Model
    motion: Motion  # with accelerations
    turns: list[Any]  # Euler parameters of the links
    efforts: Mapping[str, Any]  # motor or cylinder whose input is a motion -> the force that takes
    known: Mapping[str, Any]  # readings of joints and bodies, and reactions
