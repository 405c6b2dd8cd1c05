"""A recorded motion: times and named columns."""

import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..base.display import Displayed
from ..base.units import in_unit
from ..describe.parameters import split_component
from ..engine import Engine
from ..state import State
from ..variables import Variable, column_places
from .results import library, write_result, write_table
from .run_quality import NOT_JUDGED, RunQuality


class Seen(NamedTuple):
    """Some states of a motion, enough to see it again, and the engine that knows what they mean."""

    engine: Engine
    states: tuple[State, ...]


@dataclass(frozen=True)
class Trajectory(Displayed):
    """Outputs over time. `names` are scalar columns such as `body.platform.position[3]`.

    `dict(trajectory)` has the columns by name.
    """

    time: np.ndarray  # (n,)
    names: tuple[str, ...]
    values: np.ndarray  # (n, len(names))
    events: tuple[tuple[str, float], ...] = ()  # name and time of each that was met, in order
    judgement: RunQuality = NOT_JUDGED  # of the run: steps that did not settle, energy that is missing
    units: tuple[str, ...] = ()  # of the columns, if anybody knows them
    energies: np.ndarray | None = None  # (n, 3): kinetic, potential, work put in; joules
    cut_off: tuple[tuple[Variable, float], ...] = ()  # inputs asked for more than their limit, and how much
    seen: Seen | None = field(default=None, repr=False, compare=False)  # for pictures of the motion

    def __repr__(self) -> str:
        t = self.time
        span = f"{len(t)} times from {t[0]:g} to {t[-1]:g} s" if len(t) else "empty"
        names = ", ".join(self.names[:6]) + (", …" if len(self.names) > 6 else "")
        return f"Trajectory({span}; {len(self.names)} columns: {names})"

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) | {"seen": None}

    def __getitem__(self, name: str) -> np.ndarray:
        """One column, all components of a vector output as (n, k), or its magnitude `NAME.norm`."""
        if name.endswith(".norm") and name not in self.names:
            return np.linalg.norm(self[name.removesuffix(".norm")].reshape(len(self.time), -1), axis=1)
        found = column_places(self.names, name, "column")
        return self.values[:, found[0] if name in self.names else found]

    def __len__(self) -> int:
        return len(self.names)

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __contains__(self, name: object) -> bool:
        return name in self.names

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        """The numbers alone, for whoever does not ask for names: `numpy.asarray`, `pandas.DataFrame`."""
        return np.array(self.values, dtype=dtype)

    def keys(self) -> tuple[str, ...]:
        """The names of the columns."""
        return self.names

    def warn(self) -> None:
        """Say what is not as it was asked for."""
        for given, most in self.cut_off:
            word, element, role = given.port.split(".")
            gave = role.removeprefix("wanted_") if role.startswith("wanted_") else "effort"
            told = f", {word}.{element}.{gave} what it gave" if word in ("motor", "strut") else ""
            warnings.warn(
                f"'{given.name}' was commanded {most:.6g} {given.unit} and gave no more than its limit, "
                f"{given.high if most > given.high else given.low:.6g}; "
                f"input.{given.name} is the command{told}",
                stacklevel=3,
            )

    def part(self, names: Iterable[str]) -> "Trajectory":
        """Some of the columns: those in `names`, in that order."""
        places = [self.names.index(name) for name in names]
        units = tuple(self.units[k] for k in places) if self.units else ()
        return replace(
            self, names=tuple(self.names[k] for k in places), values=self.values[:, places], units=units
        )

    def in_units(self, *wanted: str) -> "Trajectory":
        """The same motion in `wanted` units, such as "deg" and "mm", which serve rates too; others stay."""
        shown = [in_unit(unit, wanted) for unit in self.units]
        values = self.values / np.array([factor for _, factor in shown] or 1.0)
        return replace(self, values=values, units=tuple(unit for unit, _ in shown))

    def to_pandas(self) -> Any:
        """A pandas.DataFrame over time; `attrs["units"]` has the unit of each column."""
        pandas = library("pandas", "a data frame")
        frame = pandas.DataFrame(
            self.values, index=pandas.Index(self.time, name="time"), columns=list(self.names)
        )
        frame.attrs["units"] = dict(zip(self.names, self.units, strict=False))
        return frame

    def to_xarray(self) -> Any:
        """An xarray.Dataset over time, vectors whole, each variable with the attribute `units`."""
        xarray = library("xarray", "a data set")
        found: dict[str, Any] = {}
        for whole in dict.fromkeys(split_component(name)[0] for name in self.names):
            places = column_places(self.names, whole, "column")
            unit = {"units": self.units[places[0]]} if self.units else {}
            if len(places) > 1:
                found[whole] = ("time", f"component{len(places)}"), self.values[:, places], unit
            else:
                found[self.names[places[0]]] = "time", self.values[:, places[0]], unit
        return xarray.Dataset(found, coords={"time": ("time", self.time, {"units": "s"})})

    def write(self, path: str | Path) -> None:
        """Write `time` and all columns in the format that the ending of `path` names: csv, parquet, h5."""
        write_result(path, self.time, dict(zip(self.names, self.values.T, strict=True)), self.units)

    def write_csv(self, path: str | Path) -> None:
        """Write `time` and all columns to the CSV file `path` with every digit that matters."""
        write_table(path, self.time, dict(zip(self.names, self.values.T, strict=True)), self.units)
