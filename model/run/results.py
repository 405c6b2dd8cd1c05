"""Results as files, in the format that the ending names; written whole or not at all."""

import csv
import importlib
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..base.errors import CutjointError
from ..base.files import write_atomically
from ..base.marks import MARK
from ..base.units import in_si

Where = str | os.PathLike[str]
# Ending -> the library it takes, and what the format is called.
ENDINGS = {
    ".csv": ("", "CSV"),
    ".parquet": ("pyarrow", "Parquet"),
    ".h5": ("h5py", "HDF5"),
    ".hdf5": ("h5py", "HDF5"),
}


def library(name: str, what: str) -> Any:
    """A library that not everybody has installed, or a sentence that says how to get it."""
    try:
        return importlib.import_module(name)
    except ImportError:
        raise CutjointError(f"{what} needs {name}, which is not installed: pip install {name}") from None


def check_result(path: Where) -> str:
    """The ending of a file for results, once it is sure that it can be written; long work asks before."""
    ending = Path(path).suffix.lower()
    if ending not in ENDINGS:
        known = ", ".join(ENDINGS)
        raise CutjointError(f"can't write results to '{path}': the name must end in one of {known}")
    needed, what = ENDINGS[ending]
    if needed:
        library(needed, f"a file in {what}")
    return ending


def write_result(
    path: Where, time: np.ndarray, columns: Mapping[str, np.ndarray], units: Sequence[str]
) -> None:
    """Write times (s) and columns with their units, in the format of the path's ending."""
    ending = check_result(path)
    {"": write_table, "pyarrow": _write_parquet, "h5py": _write_hdf5}[ENDINGS[ending][0]](
        path, time, columns, units
    )


def write_table(
    path: Where,
    time: np.ndarray,
    columns: Mapping[str, np.ndarray],
    units: Sequence[str] = (),
    first: str = "time",
) -> None:
    """CSV with every digit that matters; titles name units that are not SI. `first` titles `time`."""
    known = dict(zip(columns, units, strict=False))
    titles = [name if in_si(known.get(name, "1")) else f"{name} ({known[name]})" for name in columns]
    with write_atomically(path) as temporary, temporary.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        file.write(f'"{first}"' + ("," if titles else ""))  # in quotes: by that we know a table of ours
        writer.writerow(titles)
        for row in zip(time, *columns.values(), strict=True):
            writer.writerow([repr(float(x)) for x in row])


def _write_parquet(
    path: Where, time: np.ndarray, columns: Mapping[str, np.ndarray], units: Sequence[str]
) -> None:
    pyarrow = library("pyarrow", "Parquet")
    parquet = library("pyarrow.parquet", "Parquet")
    known = {"time": "s", **dict(zip(columns, units, strict=False))}
    fields = [
        pyarrow.field(name, pyarrow.float64(), metadata={"unit": known.get(name, "")})
        for name in ("time", *columns)
    ]
    schema = pyarrow.schema(fields, metadata={"tool": MARK})
    arrays = [pyarrow.array(np.ascontiguousarray(x, float)) for x in (time, *columns.values())]
    with write_atomically(path) as temporary:
        parquet.write_table(pyarrow.Table.from_arrays(arrays, schema=schema), temporary)


def _write_hdf5(
    path: Where, time: np.ndarray, columns: Mapping[str, np.ndarray], units: Sequence[str]
) -> None:
    """A data set for each column, with the attribute `unit`; `time` is the scale of all of them."""
    h5py = library("h5py", "HDF5")
    known = dict(zip(columns, units, strict=False))
    with write_atomically(path) as temporary, h5py.File(temporary, "w") as file:
        file.create_dataset("time", data=time).attrs["unit"] = "s"
        file["time"].make_scale("time")
        for name, values in columns.items():
            column = file.create_dataset(name, data=values)
            column.attrs["unit"] = known.get(name, "")
            column.dims[0].attach_scale(file["time"])
