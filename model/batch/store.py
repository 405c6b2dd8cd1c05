"""Where a sweep's rows are kept: a folder of Parquet files, a part each, written whole or not at all.

`sweep.json` says what the rows are of. A folder that has some parts already is gone on with, if it is of
the same sweep; the parts are the same bytes whoever made them and in whatever order.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import warnings
import zlib
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from ..base.errors import CutjointError, how_to_install
from ..base.files import write_atomically
from ..base.untrusted import read_text
from .sweep import Sweep, SweepPart

TOLD = "sweep.json"
SUMMARY = "summary.json"
CHECKSUM = "checksum of values"
LARGEST_TOLD = 10_000_000  # bytes; tables of samples are not in it
LARGEST_PART = 1_000_000_000  # bytes in memory


def need_parquet() -> None:
    """One sentence if pyarrow is missing, before the work starts."""
    if find_spec("pyarrow") is None:
        raise CutjointError(f"sweeps are written by pyarrow; {how_to_install('sweep')}")


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
            before = read_summary(folder)
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
        """Parts that are not there, or damaged; those are named."""
        missing = [k for k in range(self.sweep.parts) if not self._whole(k)]
        damaged = [self.path(k).name for k in missing if self.path(k).exists()]
        if damaged:
            more = f" and {len(damaged) - 3} more" if len(damaged) > 3 else ""
            names = ", ".join(damaged[:3]) + more
            warnings.warn(f"'{self.folder}': damaged, and made again: {names}", stacklevel=3)
        return missing

    def _whole(self, number: int) -> bool:
        rows = min(self.sweep.size, self.sweep.runs - number * self.sweep.size)
        try:
            return bool(read_part(self.path(number)).num_rows == rows)
        except CutjointError:
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
    file, table = io.BytesIO(), pa.table(arrays)
    table = table.replace_schema_metadata({CHECKSUM: values_checksum(table)})
    pq.write_table(table, file, compression="zstd")
    return file.getvalue()


def values_checksum(table: Any) -> str:
    """Of names and values, wherever a file keeps them."""
    import pyarrow as pa

    total = 0
    for name in table.column_names:
        column = table[name].combine_chunks()
        parts = [name.encode()]
        if pa.types.is_list(column.type):
            parts.append(column.value_lengths().to_numpy(zero_copy_only=False).tobytes())
            column = column.flatten()
        if pa.types.is_string(column.type):
            parts.append("\0".join(map(str, column.to_pylist())).encode())
        else:
            parts.append(column.to_numpy(zero_copy_only=False).tobytes())
        for part in parts:
            total = zlib.crc32(part, total)
    return f"{total:08x}"


def read_part(path: Path, names: list[str] | None = None) -> Any:
    """Columns of a part; of a whole one the values must be those that were written."""
    import pyarrow as pa

    try:
        table = _table(path, names)
        kept = (table.schema.metadata or {}).get(CHECKSUM.encode(), b"").decode()
        if names is not None or kept == values_checksum(table):
            return table
    except (OSError, ValueError, MemoryError, pa.ArrowException):  # ValueError: text that is none
        pass
    raise CutjointError(f"'{path}' is missing or damaged; the same sweep makes it again")


def _table(path: Path, names: list[str] | None) -> Any:
    """The rows of a part, batch by batch: a few bytes can say a number, or a long text, without end."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    batches, size = [], 0
    with pq.ParquetFile(path) as file:
        for batch in file.iter_batches(batch_size=1000, columns=names):
            batches.append(batch)
            size += batch.nbytes
            if size > LARGEST_PART:
                raise ValueError("larger than any part")
        schema = batches[0].schema if batches else file.schema_arrow
        return pa.Table.from_batches(batches, schema.with_metadata(file.schema_arrow.metadata))


def read_summary(folder: str | os.PathLike[str]) -> dict[str, Any]:
    """What a folder says that its rows are of."""
    path = Path(folder) / TOLD
    if not path.is_file():
        raise CutjointError(f"'{folder}' holds no sweep: there is no {TOLD}")
    try:
        found = json.loads(read_text(path, LARGEST_TOLD, "sweep"))
    except (ValueError, RecursionError):
        found = None
    names = found.get("names") if isinstance(found, dict) else None
    if not isinstance(names, list) or not all(isinstance(x, str) for x in (*names, found.get("name"))):
        raise CutjointError(f"'{path}' is damaged; remove the folder and sweep again")
    return dict(found)


def read_columns(folder: str | os.PathLike[str], names: list[str] | None = None) -> Iterator[dict[str, Any]]:
    """Columns of one part after the other, in the order of runs: no more than a part is in memory."""
    need_parquet()
    for path in sorted(Path(folder).glob("part-*.parquet")):
        table = read_part(path, names)
        yield {name: table[name].to_numpy() for name in table.column_names}


def read_results(folder: str | os.PathLike[str], names: list[str] | None = None) -> dict[str, np.ndarray]:
    """Columns of all runs in a sweep's `folder`, all or those in `names`; series are arrays of arrays."""
    parts = list(read_columns(folder, names))
    if not parts:
        raise CutjointError(f"'{folder}' holds no results yet; run the sweep")
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
