"""A linear model: matrices with names, and what control engineers do with it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..base.display import Displayed
from ..base.errors import CutjointError, how_to_install
from ..base.files import write_atomically


def model_format(path: str | Path) -> Path:
    """The path, if its ending is one that a linear model can be written to."""
    path = Path(path)
    if path.suffix not in (".json", ".npz"):
        raise CutjointError(f"can't write a linear model to '{path}': give it the ending .json or .npz")
    return path


@dataclass(frozen=True)
class LinearModel(Displayed):
    """δẋ = A δx + B δu, δy = C δx + D δu around a state, x the independent coordinates and speeds.

    `tangent` maps δx to displacements of all joints, δθ = tangent δx (nv × states), for shapes.
    """

    A: np.ndarray  # (states, states)
    B: np.ndarray  # (states, inputs)
    C: np.ndarray  # (outputs, states)
    D: np.ndarray  # (outputs, inputs)
    states: tuple[str, ...]  # names: positions, speeds, internal states of drives and friction
    inputs: tuple[str, ...]  # names
    outputs: tuple[str, ...]  # names
    state_units: tuple[str, ...]  # one for each state
    input_units: tuple[str, ...]  # one for each input
    output_units: tuple[str, ...]  # one for each output
    tangent: np.ndarray  # (nv, states)
    joints: tuple[str, ...]  # name of each row of `tangent`
    time: float = 0.0  # seconds, of the state it is around
    step: float | None = None  # seconds between samples of a discrete model

    def __repr__(self) -> str:
        kind = "LinearModel" if self.step is None else f"LinearModel in steps of {self.step:g} s"
        parts = {"states": self.states, "inputs": self.inputs, "outputs": self.outputs}
        lists = (
            f"{len(names)} {what}: {', '.join(names[:4])}{', …' * (len(names) > 4)}"
            for what, names in parts.items()
        )
        return f"{kind}({'; '.join(lists)})"

    def eigenvalues(self) -> np.ndarray:
        """Eigenvalues of A, those with the largest real part first."""
        values = np.linalg.eigvals(self.A)
        return values[np.lexsort((values.imag, -values.real.round(12)))]

    def stable(self, margin: float = 0.0) -> bool:
        """Whether every mode decays by `margin`, 1/s, or more (discrete: so far inside the unit circle)."""
        values = self.eigenvalues()
        if self.step is not None:
            return bool((np.abs(values) < 1 - margin).all())
        return bool((values.real < -margin).all())

    def modes(self) -> list[Mode]:
        """Oscillations and decays, slowest first, each with the joint displacements of its shape."""
        values, vectors = np.linalg.eig(self.A)
        result = []
        for value, vector in zip(values, vectors.T, strict=True):
            if value.imag < 0:
                continue  # the conjugate partner says the same
            shape = self.tangent @ vector
            largest = shape[np.argmax(np.abs(shape))] if np.abs(shape).max(initial=0) > 0 else 1.0
            frequency = abs(value) / (2 * np.pi)
            damping = -value.real / abs(value) if abs(value) > 0 else 1.0
            result.append(
                Mode(value, frequency, damping, dict(zip(self.joints, shape / largest, strict=True)))
            )
        return sorted(result, key=lambda mode: mode.frequency)

    def response(self, omega: Iterable[float]) -> np.ndarray:
        """C (jω − A)⁻¹ B + D at angular frequencies `omega`, rad/s, as (frequencies, outputs, inputs)."""
        eye = np.eye(len(self.A))
        points = (
            1j * np.asarray(list(omega))
            if self.step is None
            else np.exp(1j * np.asarray(list(omega)) * self.step)
        )
        return np.array([self.C @ np.linalg.solve(s * eye - self.A, self.B) + self.D for s in points])

    def to_scipy(self) -> Any:
        """scipy.signal.StateSpace."""
        from scipy.signal import StateSpace

        blocks = (self.A, self.B, self.C, self.D)
        return StateSpace(*blocks) if self.step is None else StateSpace(*blocks, dt=self.step)

    def to_control(self) -> Any:
        """control.StateSpace of the python-control package, with signal names.

        They are written with slashes, `joint/crank/position`, since there a dot ends the name of a system.
        """
        try:
            import control
        except ImportError as error:
            raise CutjointError(f"python-control is not installed; {how_to_install('control')}") from error
        signals = {"states": self.states, "inputs": self.inputs, "outputs": self.outputs}
        names = {what: [name.replace(".", "/") for name in group] for what, group in signals.items()}
        blocks = (self.A, self.B, self.C, self.D)
        return control.ss(*blocks, **names) if self.step is None else control.ss(*blocks, self.step, **names)

    def as_dict(self) -> dict[str, Any]:
        """Plain lists and strings, for JSON."""
        values = self.eigenvalues()
        return {
            **{name: getattr(self, name).tolist() for name in "ABCD"},
            **{name: list(getattr(self, name)) for name in ("states", "inputs", "outputs")},
            "units": {
                "states": list(self.state_units),
                "inputs": list(self.input_units),
                "outputs": list(self.output_units),
            },
            "eigenvalues": [[float(x.real), float(x.imag)] for x in values],
            "time": self.time,
            "step": self.step,
        }

    def save(self, path: str | Path) -> None:
        """Write to .json or .npz, by the ending of the path."""
        path = model_format(path)
        with write_atomically(path) as temporary:
            if path.suffix == ".json":
                temporary.write_text(json.dumps(self.as_dict(), indent=1) + "\n")
            else:
                x, u, y = (np.array(names) for names in (self.states, self.inputs, self.outputs))
                np.savez(temporary, A=self.A, B=self.B, C=self.C, D=self.D, states=x, inputs=u, outputs=y)


@dataclass(frozen=True)
class Mode:
    """One eigenvalue: frequency in hertz, damping ratio (1: no oscillation), joint displacements."""

    eigenvalue: complex  # 1/s
    frequency: float  # hertz
    damping: float  # ratio to the critical one
    shape: dict[str, complex]  # joint -> displacement, the largest being 1
