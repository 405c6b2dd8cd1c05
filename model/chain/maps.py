"""Linear maps of a chain at a pose: Jacobians of frames, and transmissions from actuators to virtual joints.

With v = K ẏ the speeds that inputs y moving at ẏ lead to, a frame moves at W K ẏ: J = W K. By virtual power
the efforts of the inputs that hold a wrench F on the frame are −JᵀF, springs k of the inputs are the
compliance J k⁻¹Jᵀ at the frame, and they feel the inertia KᵀM K.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..base.display import Displayed
from ..base.errors import SimulationError
from ..manifold.rank import rank_of
from ..state import State
from .complete import complete, require_determined
from .core import ChainCore, row_names
from .rows import FrameRows, Item, frame_name, number_row
from .target import held_numbers


@dataclass(frozen=True)
class FrameJacobian(Displayed):
    """(v; ω) of a frame = matrix · speeds of the inputs; `rate` is its derivative at the state's speeds.

    Rows are x, y, z, rx, ry, rz along and about the chosen axes.
    """

    matrix: np.ndarray  # rows × inputs
    rate: np.ndarray  # the same
    inertia: np.ndarray  # what the inputs feel, inputs × inputs
    inputs: tuple[str, ...]

    def efforts(self, wrench: Sequence[float]) -> np.ndarray:
        """What the inputs have to give so that a wrench (force; moment) on the frame moves nothing: −JᵀF."""
        return -self.matrix.T @ np.asarray(wrench, float)

    def compliance(self, stiffness: Sequence[float]) -> np.ndarray:
        """Displacement of the frame per wrench on it, J k⁻¹Jᵀ, by the stiffness k of each input."""
        k = np.asarray(stiffness, float)
        if k.shape != (len(self.inputs),) or not (k > 0).all():
            raise SimulationError(f"a stiffness is one positive number for each of {', '.join(self.inputs)}")
        return self.matrix @ (self.matrix.T / k[:, None])

    def stiffness(self, stiffness: Sequence[float]) -> np.ndarray:
        """Of the frame, by the stiffness of each input: the inverse of the compliance, where there is one."""
        C = self.compliance(stiffness)
        if rank_of(np.linalg.svd(C, compute_uv=False)) < len(C):
            raise SimulationError("the inputs can't move the frame along all rows; ask for its compliance")
        return np.linalg.inv(C)


def jacobian(
    chain: ChainCore, frame: str, inputs: Iterable[str] | None, state: State, base: str, axes: str
) -> FrameJacobian:
    """Of a frame against inputs at a state; see `Chain.jacobian`."""
    items: tuple[Item, ...] = chain.drive_items(inputs)
    require_independent(chain, state, items)
    rows = FrameRows(
        frame_name(chain.mechanism, frame), base=frame_name(chain.mechanism, base, True), axes=axes
    )
    T, dT, inertia = chain.kernel("jacobian", (rows,), items)(state.q, state.v, state.p)
    return FrameJacobian(T, dT, inertia, row_names(items))


def require_independent(chain: ChainCore, state: State, items: Sequence[Item]) -> None:
    """Rows that determine the motion, and of which none follows from others."""
    require_determined(chain, state, items)
    freedoms = chain.freedoms(items, state).shape[1]
    if len(items) > freedoms:
        raise SimulationError(
            f"{', '.join(row_names(items))} are {len(items)}, but '{chain.mechanism.name}' has {freedoms} "
            f"degree{'s' * (freedoms > 1)} of freedom: they follow from each other; name {freedoms} of them"
        )


@dataclass(frozen=True)
class Side(Displayed):
    """Positions, speeds and efforts on one side of a transmission, by name; and the pose they belong to."""

    positions: dict[str, float]  # rad or m
    speeds: dict[str, float]  # rad/s or m/s
    efforts: dict[str, float]  # N·m or N
    state: State  # of the whole mechanism there


class Transmission:
    """Actuators and virtual joints of a chain, each side by the other.

    Virtual joints determine the motion: coordinates of joints, or x, y, z and the rotation vector of a frame,
    such as `platform.z`. Speeds ẏ_a = T ẏ_j, efforts τ_j = Tᵀτ_a: power is the same on both sides.

    Attributes
    ----------
    joints, actuators : names on both sides.

    Methods
    -------
    to_actuators, to_joints, matrix, inertia
    """

    def __init__(self, chain: ChainCore, joints: Iterable[str], actuators: Iterable[str] | None):
        self.chain = chain
        self._joints = tuple(number_row(chain.mechanism, name) for name in joints)
        self._actuators: tuple[Item, ...] = chain.drive_items(actuators)
        self.joints, self.actuators = row_names(self._joints), row_names(self._actuators)
        require_independent(chain, chain.released(None), self._joints)

    def matrix(self, at: State | None = None) -> np.ndarray:
        """T, actuators × joints, at a state."""
        return self._maps(at)[0]

    def inertia(self, at: State | None = None) -> np.ndarray:
        """What the virtual joints feel of all masses and rotors at a state, joints × joints."""
        return self._maps(at)[1]

    def _maps(self, at: State | None) -> tuple[np.ndarray, np.ndarray]:
        state = self.chain.released(at)
        T, inertia = self.chain.kernel("transmission", self._actuators, self._joints)(state.q, state.p)
        return T, inertia

    def to_actuators(
        self,
        positions: Mapping[str, Any],
        speeds: Mapping[str, Any] | None = None,
        efforts: Mapping[str, Any] | None = None,
        near: State | None = None,
    ) -> Side:
        """What actuators are when virtual joints have these positions, speeds and efforts, found from `near`.

        Actuators that are more than joints share efforts with least norm.
        """
        state, w = self._at(self._joints, positions, speeds, near)
        T = self.matrix(state)
        tau = np.linalg.lstsq(T.T, _ordered(self.joints, efforts, "effort"), rcond=None)[0]
        return self._side(self._actuators, state, T @ w, tau)

    def to_joints(
        self,
        positions: Mapping[str, Any],
        speeds: Mapping[str, Any] | None = None,
        efforts: Mapping[str, Any] | None = None,
        near: State | None = None,
    ) -> Side:
        """What virtual joints are when actuators have these positions, speeds, efforts, found from `near`."""
        state, w = self._at(self._actuators, positions, speeds, near)
        T = self.matrix(state)
        rates = np.linalg.lstsq(T, w, rcond=None)[0]
        return self._side(self._joints, state, rates, T.T @ _ordered(self.actuators, efforts, "effort"))

    def _at(
        self,
        items: Sequence[Item],
        positions: Mapping[str, Any],
        speeds: Mapping[str, Any] | None,
        near: State | None,
    ) -> tuple[State, np.ndarray]:
        names = row_names(items)
        given = dict(zip(names, _ordered(names, positions, "position", True), strict=True))
        w = _ordered(names, speeds, "speed")
        rates = dict(zip(names, w, strict=True))
        return complete(self.chain, given, rates, None, {}, None, near).state, w

    def _side(self, items: Sequence[Item], state: State, rates: np.ndarray, efforts: np.ndarray) -> Side:
        names, t = row_names(items), self.chain.values(items, self.chain.released(state))[0]
        at, speeds, tau = (dict(zip(names, map(float, x), strict=True)) for x in (t, rates, efforts))
        return Side(at, speeds, tau, state)


def _ordered(
    names: Sequence[str], given: Mapping[str, Any] | None, what: str, all_of: bool = False
) -> np.ndarray:
    """Numbers in the order of names; zero for those that are not given, unless all are needed."""
    given = given or {}
    for name in given:
        if name not in names:
            raise SimulationError(f"there is no '{name}' on this side; it has {', '.join(names)}")
    if all_of and len(given) < len(names):
        missing = next(name for name in names if name not in given)
        raise SimulationError(f"the {what} of '{missing}' is missing")
    return np.array([held_numbers({x: given[x]}, what)[0] if x in given else 0.0 for x in names])
