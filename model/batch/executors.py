"""Who makes the parts of a sweep: threads of this process, or workers of a Dask cluster.

Threads suffice for one machine, since the runs themselves are compiled code that leaves Python alone. Rows
are written here as they come, and only a few parts are under way at a time, so memory does not grow.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from importlib.util import find_spec
from itertools import islice
from typing import Any

from ..base.errors import CutjointError, how_to_install
from ..compile.rollout_library import LOOK, threads
from .store import Store
from .sweep import Sweep, SweepPart, engine_of, make_part

AHEAD = 2  # parts under way or waiting for each worker
DEATHS = 20  # of workers over one part, before it is taken for its fault


class _Stopped(Exception):
    """The sweep was stopped while a part was made."""


def run_sweep(
    planned: Sweep,
    folder: Any,
    workers: int | None = None,
    cluster: Any = None,
    progress: Callable[[float], None] | None = None,
) -> Store:
    """Make the parts that are missing in a folder. What is stopped or fails can be gone on with.

    Parameters
    ----------
    planned : a sweep, of `sweep`.
    folder : where its rows are written, as Parquet files.
    progress : called with the part that is done.
    workers : threads; as many as processors if None. cluster : a Dask `Client`, the address of a
        scheduler, or "local" for processes of this machine.
    """
    store = Store(folder, planned)
    missing = store.missing()
    done = planned.parts - len(missing)

    def tell() -> None:
        if progress:
            progress(done / planned.parts)

    tell()
    if not missing:
        return store
    try:
        for part in _distributed(planned, missing, cluster) if cluster else _local(planned, missing, workers):
            store.write(part)
            done += 1
            tell()
    except CutjointError as problem:
        if not done:
            raise
        raise CutjointError(
            f"{problem}; {done} of {planned.parts} parts are kept; the same command resumes the sweep"
        ) from problem
    return store


def _local(planned: Sweep, missing: list[int], workers: int | None) -> Iterator[SweepPart]:
    """Parts by threads, in the order in which they get done."""
    engine_of(planned)
    stopped = threading.Event()

    def stop(_: float) -> None:
        if stopped.is_set():
            raise _Stopped

    count = threads(workers, len(missing))
    todo = iter(missing)
    with ThreadPoolExecutor(count, thread_name_prefix="cutjoint") as pool:
        try:
            under_way: set[Future[SweepPart]] = set()
            while True:
                for number in islice(todo, count * AHEAD - len(under_way)):
                    under_way.add(pool.submit(make_part, planned, number, stop))
                if not under_way:
                    return
                done, under_way = wait(under_way, LOOK, FIRST_COMPLETED)
                for future in done:
                    yield future.result()
        finally:  # done, Ctrl-C, or a full disk
            stopped.set()
            pool.shutdown(cancel_futures=True)


def _distributed(planned: Sweep, missing: list[int], cluster: Any) -> Iterator[SweepPart]:
    """The same by Dask's workers. A part whose worker died is made by another one."""
    from distributed import as_completed

    with _client(cluster) as client:
        wide = max(1, sum(client.nthreads().values()))
        sent = client.scatter(planned, broadcast=True, hash=False)
        todo = iter(missing)
        options = {"pure": False, "retries": DEATHS}
        try:
            first = [client.submit(make_part, sent, k, **options) for k in islice(todo, wide * AHEAD)]
            coming = as_completed(first)
            for future in coming:
                yield future.result()
                future.release()
                for number in islice(todo, 1):
                    coming.add(client.submit(make_part, sent, number, **options))
        except CutjointError:
            raise
        except Exception as problem:  # of Dask: a lost scheduler, a part that kills every worker
            text = " ".join(str(problem).split())[:200]
            raise CutjointError(f"the cluster failed: {type(problem).__name__}: {text}") from problem


@contextmanager
def _client(cluster: Any) -> Iterator[Any]:
    """A client of the user, or one of our own that is closed in the end."""
    if not isinstance(cluster, str):
        yield cluster
        return
    if find_spec("distributed") is None:
        raise CutjointError(f"clusters need Dask; {how_to_install('cluster')}")
    import dask
    from distributed import Client

    dask.config.set({"distributed.scheduler.allowed-failures": DEATHS})
    try:
        if cluster == "local":
            client = Client(processes=True, threads_per_worker=1, dashboard_address=None)
        else:
            client = Client(cluster, timeout="10s")
    except (OSError, ValueError, TimeoutError) as problem:
        text = " ".join(str(problem).split())[:200]
        raise CutjointError(f"can't reach a Dask scheduler at '{cluster}': {text}") from None
    with client:
        yield client
