"""Any traced function at many places at once."""

import ctypes
from typing import Any

import numpy as np

from ..base.errors import SimulationError
from ..compile.rollout_library import (
    INTEGER,
    INTEGERS,
    NUMBERS,
    Code,
    Places,
    blocks,
    loop,
    memory_of,
    threads,
    together,
)
from ..engine import Engine
from ..kernels import Trace, trace_of


class BatchKernel:
    """A traced function over rows: arguments (n, size), or (size,) for all alike, to results (n, size).

    It runs as many places side by side as the processor has lanes. Without a compiler it runs in CasADi's
    virtual machine; a function that branches runs compiled, one place after the other. What is computed at
    a place does not depend on the others. Matrices are rows in column order.

    Parameters
    ----------
    engine, name : the mechanism, and a traced function of it, as of `Engine.kernel`.
    make : traces a function of one's own from the equations, which then has that name.
    """

    def __init__(self, engine: Engine, name: str, make: Trace | None = None):
        self.name, make = name, trace_of(name, make)
        self.code = engine.lanes(name, make)
        if self.code is not None:
            self.sizes_in, self.sizes_out = self.code.sizes_in, self.code.sizes_out
            self.lanes = self.code.lanes
            return
        self.single = engine.kernel(name, make)
        f, self.lanes = self.single.function, 1
        self.sizes_in = tuple(f.nnz_in(k) for k in range(f.n_in()))
        self.sizes_out = tuple(f.nnz_out(k) for k in range(f.n_out()))

    def __call__(self, *arguments: Any, workers: int | None = 1) -> Any:
        """Results at all places; one array if the function has one result."""
        rows = [np.ascontiguousarray(x, float) for x in arguments]
        if len(rows) != len(self.sizes_in):
            raise TypeError(f"{self.name} takes {len(self.sizes_in)} arguments, not {len(rows)}")
        for k, (row, size) in enumerate(zip(rows, self.sizes_in, strict=True)):
            if row.ndim not in (1, 2) or row.shape[-1] != size:
                raise SimulationError(
                    f"argument {k + 1} of {self.name} has rows of {size} numbers, not the shape {row.shape}"
                )
        counts = {len(row) for row in rows if row.ndim == 2}
        if len(counts) > 1:
            raise SimulationError(f"arguments of {self.name} have {' and '.join(map(str, counts))} rows")
        n = counts.pop() if counts else 1
        results = [np.zeros((n, size)) for size in self.sizes_out]
        if self.code is None and not self.single.compiled:
            self._virtual(n, rows, results)
        elif n:
            self._native(n, rows, results, workers)
        return results if len(results) > 1 else results[0]

    def _native(self, n: int, rows: list[np.ndarray], results: list[np.ndarray], workers: int | None) -> None:
        def integers(values: Any) -> Any:
            return ctypes.cast((INTEGER * len(values))(*values), INTEGERS)

        def pointers(arrays: list[np.ndarray]) -> Any:
            return ctypes.cast((NUMBERS * len(arrays))(*map(memory_of, arrays)), ctypes.POINTER(NUMBERS))

        distances = [row.shape[1] if row.ndim == 2 else 0 for row in rows]
        kept = (
            integers(self.sizes_in),
            integers(self.sizes_out),
            integers(distances),
            pointers(rows),
            pointers(results),
        )
        code = Code.of(self.code if self.code is not None else self.single)
        job = Places(code, n, len(rows), len(results), *kept, 0, 0)
        together(loop().evaluate, job, threads(workers, blocks(n, self.lanes)), n, None)

    def _virtual(self, n: int, rows: list[np.ndarray], results: list[np.ndarray]) -> None:
        kernel = self.single.bind(())
        for k in range(n):
            for argument, row in zip(kernel.arguments, rows, strict=True):
                argument.reshape(-1, order="F")[...] = row[k] if row.ndim == 2 else row
            kernel.evaluate()
            for result, found in zip(results, kernel.results, strict=True):
                result[k] = found.reshape(-1, order="F")
