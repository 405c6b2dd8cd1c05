"""Where a sweep's rows are kept: a folder of Parquet files, a part each, written whole or not at all.

`sweep.json` says what the rows are of. A folder that has some parts already is gone on with, if it is of
the same sweep; the parts are the same bytes whoever made them and in whatever order.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import CutjointError, brought_by
from ..files import write_atomically
from .sweep import Sweep, SweepPart

TOLD = "sweep.json"
SUMMARY = "summary.json"


def need_parquet() -> None:
    """One sentence if pyarrow is missing, before the work starts."""
    if find_spec("pyarrow") is None:
        raise CutjointError(f"sweeps are written by pyarrow; {brought_by('sweep')}")


class Store:
    """The folder of a sweep."""

    def __init__(self, folder: str | os.PathLike[str], planned: Sweep):
        need_parquet()
        self.folder, self.sweep = Path(folder), planned
        self._open()

    def _open(self) -> None:
        folder, told = self.folder, self.sweep.told()
        if folder.exists() and not folder.is_dir():
            raise CutjointError(f"can't write results to '{folder}': it is a file; give the name of a folder")
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as problem:
            raise CutjointError(f"can't create the folder '{folder}': {problem.strerror}") from None
        if not os.access(folder, os.W_OK | os.X_OK):
            raise CutjointError(f"can't write to the folder '{folder}': permission denied; choose another")
        known = folder / TOLD
        if known.exists():
            before = read_told(folder)
            other = [key for key in told if before.get(key) != told[key]]
            if other:
                raise CutjointError(
                    f"'{folder}' holds another sweep, with another {other[0].replace('_', ' ')}; "
                    "choose another folder, or remove it"
                )
        elif any(folder.iterdir()):
            raise CutjointError(f"the folder '{folder}' is not empty and holds no sweep; choose another")
        else:
            with write_atomically(known) as temporary:
                temporary.write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")
        for left in folder.glob(".part-*"):  # of a process that was killed while it wrote
            with contextlib.suppress(OSError):
                left.unlink()

    def path(self, number: int) -> Path:
        return part_path(self.folder, number)

    def missing(self) -> list[int]:
        """Parts that are not there, or damaged."""
        return [k for k in range(self.sweep.parts) if not self._whole(k)]

    def _whole(self, number: int) -> bool:
        import pyarrow as pa
        import pyarrow.parquet as pq

        rows = min(self.sweep.size, self.sweep.runs - number * self.sweep.size)
        try:
            return bool(pq.read_metadata(self.path(number)).num_rows == rows)
        except (OSError, pa.ArrowException):
            return False

    def write(self, part: SweepPart) -> None:
        with write_atomically(self.path(part.number)) as temporary:
            temporary.write_bytes(in_parquet(part))


def part_path(folder: Path, number: int) -> Path:
    return folder / f"part-{number:06d}.parquet"


def in_parquet(part: SweepPart) -> bytes:
    """A part as a Parquet file: one row a run, series as lists."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    arrays = {}
    for name, column in part.columns.items():
        if isinstance(column, np.ndarray) and column.ndim == 2:
            ends = np.arange(len(column) + 1, dtype=np.int32) * column.shape[1]
            arrays[name] = pa.ListArray.from_arrays(pa.array(ends), pa.array(column.ravel()))
        else:
            arrays[name] = pa.array(column)
    file = io.BytesIO()
    pq.write_table(pa.table(arrays), file, compression="zstd")
    return file.getvalue()


def read_told(folder: str | os.PathLike[str]) -> dict[str, Any]:
    """What a folder says that its rows are of."""
    try:
        found: dict[str, Any] = json.loads((Path(folder) / TOLD).read_text(encoding="utf-8"))
    except OSError as problem:
        raise CutjointError(f"'{folder}' holds no sweep: {problem.strerror}") from None
    except ValueError:
        raise CutjointError(
            f"'{Path(folder) / TOLD}' is damaged; remove the folder and sweep again"
        ) from None
    return found


def read_columns(folder: str | os.PathLike[str], names: list[str] | None = None) -> Iterator[dict[str, Any]]:
    """Columns of one part after the other, in the order of runs: no more than a part is in memory."""
    need_parquet()
    import pyarrow.parquet as pq

    for path in sorted(Path(folder).glob("part-*.parquet")):
        table = pq.read_table(path, columns=names)
        yield {name: table[name].to_numpy() for name in table.column_names}


def read_results(folder: str | os.PathLike[str], names: list[str] | None = None) -> dict[str, np.ndarray]:
    """Columns of all runs by name; series are arrays of arrays."""
    parts = list(read_columns(folder, names))
    if not parts:
        raise CutjointError(f"'{folder}' holds no results yet; run the sweep")
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
