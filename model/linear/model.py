"""A linear model: matrices with names, and what control engineers do with it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..display import Displayed
from ..errors import CutjointError, brought_by
from ..files import write_atomically


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

    A: np.ndarray
    B: np.ndarray
    C: np.ndarray
    D: np.ndarray
    states: tuple[str, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    state_units: tuple[str, ...]
    input_units: tuple[str, ...]
    output_units: tuple[str, ...]
    tangent: np.ndarray
    joints: tuple[str, ...]  # name of each row of `tangent`
    time: float = 0.0
    step: float | None = None  # seconds between samples of a discrete model

    def eigenvalues(self) -> np.ndarray:
        """Eigenvalues of A, those with the largest real part first."""
        values = np.linalg.eigvals(self.A)
        return values[np.lexsort((values.imag, -values.real.round(12)))]

    def stable(self, margin: float = 0.0) -> bool:
        """Whether every mode decays (discrete: lies inside the unit circle)."""
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
        """C (jω − A)⁻¹ B + D at angular frequencies, (frequencies, outputs, inputs)."""
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
            raise CutjointError(f"python-control is not installed; {brought_by('control')}") from error
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

    eigenvalue: complex
    frequency: float
    damping: float
    shape: dict[str, complex]
