"""A recorded motion: times and named columns."""

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ..files import write_atomically
from ..variables import column_places
from .judgement import NOT_JUDGED, Judgement


@dataclass(frozen=True)
class Trajectory:
    """Outputs over time. `names` are scalar columns such as `body.platform.position[3]`.

    `dict(trajectory)` has the columns by name.
    """

    time: np.ndarray  # (n,)
    names: tuple[str, ...]
    values: np.ndarray  # (n, len(names))
    events: tuple[tuple[str, float], ...] = ()  # name and time of each that was met, in order
    judgement: Judgement = NOT_JUDGED  # of the run: steps that did not settle, energy that is missing

    def __getitem__(self, name: str) -> np.ndarray:
        """One column, or all components of a vector output as (n, k)."""
        found = column_places(self.names, name, "column")
        return self.values[:, found[0] if name in self.names else found]

    def __len__(self) -> int:
        return len(self.names)

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __contains__(self, name: object) -> bool:
        return name in self.names

    def keys(self) -> tuple[str, ...]:
        """The names of the columns."""
        return self.names

    def write_csv(self, path: str | Path) -> None:
        """Write `time` and all columns with every digit that matters."""
        with write_atomically(path) as temporary, temporary.open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["time", *self.names])
            for t, row in zip(self.time, self.values, strict=True):
                writer.writerow([repr(float(t)), *(repr(float(x)) for x in row)])
