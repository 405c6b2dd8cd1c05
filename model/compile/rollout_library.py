"""The compiled loop over lanes and the threads that run it, with nothing of Python inside."""

import ctypes
import math
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np

from ..base.errors import SimulationError
from .calling import address
from .kernel import FLAGS, Kernel, compile_library, find_compiler
from .lanes import LaneKernel

NUMBERS = ctypes.POINTER(ctypes.c_double)
INTEGERS = ctypes.POINTER(ctypes.c_longlong)
INTEGER = ctypes.c_longlong
SHORT = 200_000  # steps: done before anybody has found Ctrl-C
LOOK = 0.05  # seconds between looks at progress and Ctrl-C


class Code(ctypes.Structure):
    """`kernel` of rollout.c."""

    _fields_ = [("run", ctypes.c_void_p), *((name, INTEGER) for name in ("arg", "res", "iw", "w", "lanes"))]

    @classmethod
    def of(cls, found: LaneKernel | Kernel | None) -> "Code":
        """The code of a kernel over lanes, or of a single one, that is compiled; none if None."""
        if found is None:
            return cls(None, 0, 0, 0, 0, 1)
        if isinstance(found, LaneKernel):
            return cls(found.address, *found.work, found.lanes)
        function = found.function
        assert found.library is not None
        sizes = function.sz_arg(), function.sz_res(), function.sz_iw(), function.sz_w()
        return cls(address(found.library, function.name()), *sizes, 1)


class Job(ctypes.Structure):
    """`job` of rollout.c."""

    _fields_ = [
        *((name, Code) for name in ("single", "step", "outputs")),
        *(
            (name, INTEGER)
            for name in (
                "nq",
                "nv",
                "nz",
                "nu",
                "np",
                "ny",
                "nverdict",
                "left_open",
                "has_loops",
                "n",
                "steps",
                "every",
            )
        ),
        ("h", ctypes.c_double),
        *((name, NUMBERS) for name in ("q", "v", "z", "work", "u", "p", "gain", "reference")),
        *(
            (name, INTEGER)
            for name in ("u_run", "u_step", "p_run", "gain_run", "reference_run", "reference_step")
        ),
        *((name, NUMBERS) for name in ("series", "works", "last", "least", "most", "counters")),
        *((name, INTEGERS) for name in ("taken", "status")),
        *((name, INTEGER) for name in ("next", "done", "stop")),
    ]


class Places(ctypes.Structure):
    """`places` of rollout.c."""

    _fields_ = [
        ("kernel", Code),
        *((name, INTEGER) for name in ("n", "n_in", "n_out")),
        *((name, INTEGERS) for name in ("in_size", "out_size", "in_run")),
        ("in", ctypes.POINTER(NUMBERS)),
        ("out", ctypes.POINTER(NUMBERS)),
        ("next", INTEGER),
        ("stop", INTEGER),
    ]


def memory_of(array: np.ndarray | None) -> Any:
    """An array's memory; null if None."""
    if array is None:
        return None
    kind = INTEGERS if array.dtype == np.int64 else NUMBERS
    return array.ctypes.data_as(kind)


def held(name: str, like: type[ctypes.Structure]) -> str:
    """C that is compiled only if a struct has the size, and its members the names and places, that we say."""
    facts = {"size": f"sizeof({name}) == {ctypes.sizeof(like)}"}
    for field, *_ in like._fields_:
        facts[field] = f"offsetof({name}, {field}) == {getattr(like, field).offset}"
    return "\n".join(f"typedef char {name}_{key}_fits[{fact} ? 1 : -1];" for key, fact in facts.items())


@cache
def loop() -> ctypes.CDLL:
    """The compiled loop, the same for every mechanism."""
    compiler = find_compiler()
    assert compiler is not None, "without a compiler there is no kernel to loop over"
    facts = (held(name, like) for name, like in (("kernel", Code), ("job", Job), ("places", Places)))
    source = "\n".join([(files(__package__) / "rollout.c").read_text("utf-8"), *facts])
    flags = ["-O3" if flag == "-O1" else flag for flag in FLAGS]
    return ctypes.CDLL(str(compile_library(source, compiler, flags)))


def threads(workers: int | None, blocks: int) -> int:
    """How many threads to start: as many as asked for, or as processors; no more than there is work for."""
    if workers is not None and (isinstance(workers, bool) or not isinstance(workers, int) or workers < 1):
        raise SimulationError(f"workers must be a whole number from 1 on, not {workers}")
    return max(1, min(workers or processors(), blocks))


def processors() -> int:
    """Processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def together(
    function: Any, job: Job | Places, workers: int, total: int, progress: Callable[[float], None] | None
) -> None:
    """Let threads work on a job until it is done. Ctrl-C stops it within some steps, and then is raised."""
    if workers == 1 and progress is None and total < SHORT:
        codes = [function(ctypes.byref(job))]
    else:
        with ThreadPoolExecutor(workers, thread_name_prefix="cutjoint") as pool, _stopping(job):
            futures = [pool.submit(function, ctypes.byref(job)) for _ in range(workers)]
            while wait(futures, LOOK).not_done:
                if progress:
                    progress(min(job.done / max(total, 1), 1.0))
            codes = [future.result() for future in futures]
    if 2 in codes:
        raise MemoryError
    if progress:
        progress(1.0)


@contextmanager
def _stopping(job: Job | Places) -> Iterator[None]:
    """Tell the threads to stop when we are told."""
    try:
        yield
    except BaseException:
        job.stop = 1
        raise


def blocks(n: int, lanes: int) -> int:
    return math.ceil(n / lanes)
