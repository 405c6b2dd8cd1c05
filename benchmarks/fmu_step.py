"""Steps of the FMU beside the engine's own: called from Python, and in a loop of C as other hosts do."""

from __future__ import annotations

import ctypes
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from ..model.base.subprocesses import scratch_folder
from ..model.compile.kernel import build_library, find_compiler
from ..model.manifold import step
from ..model.simulation import Simulation
from .measure import Effort, Rows, rows, side_by_side
from .subjects import Subject

STEP = 1e-3
TURN = 100  # steps from the start, so that all stay where the mechanism is regular
TASK = "FMU step"
STEPPED = "cutjoint, step"
IN_C, NATIVE = "cutjoint, step in C", "native FMU in C"
LOOPS = r"""
#include <string.h>
typedef int (*fmu_step)(void*, double, double, int);
typedef int (*traced_step)(const double**, double**, long long*, double*, int);

int fmu_loop(fmu_step step, void* instance, double h, int n)
{
    int bad = 0;
    for (int k = 0; k < n; ++k) bad |= step(instance, k * h, h, 1);
    return bad;
}

/* A traced function of n_in arguments and n_out results, the first n_new of which are arguments anew. */
int traced_loop(traced_step step, double** state, int n_in, double** next, const int* sizes, int n_out,
                int n_new, const double** arg, double** res, long long* iw, double* w, int n)
{
    int bad = 0;
    for (int k = 0; k < n; ++k) {
        for (int i = 0; i < n_in; ++i) arg[i] = state[i];
        for (int i = 0; i < n_out; ++i) res[i] = next[i];
        bad |= step(arg, res, iw, w, 0);
        for (int i = 0; i < n_new; ++i) memcpy(state[i], next[i], (size_t)sizes[i] * sizeof(double));
    }
    return bad;
}
"""


def fmu_step(subject: Subject, effort: Effort, show: Callable[[float], None]) -> Rows:
    """1 ms of the co-simulation FMUs and of the engine; ratios are to the engine's step from Python."""
    simulation = subject.simulation
    simulation.reset()
    simulation.set_inputs(subject.u)
    with ExitStack() as stack:
        folder = stack.enter_context(scratch_folder())
        called, native, python = (
            stack.enter_context(_instance(subject, folder, runtime))
            for runtime in ("native", "native", "python")
        )
        loops = _compiled(folder)
        contenders = {
            STEPPED: again(lambda: simulation.step(STEP), lambda: simulation.state, simulation.put),
            "native FMU in FMPy": again(_stepping(called), called.getFMUState, called.setFMUState),
            IN_C: _traced(loops, simulation),
            NATIVE: _looping(loops, native),
            "pythonfmu FMU in C": _looping(loops, python),
        }
        timings = side_by_side(contenders, effort, show)
    return rows(TASK, subject.name, timings, timings[STEPPED])


@contextmanager
def _instance(subject: Subject, folder: Path, runtime: str) -> Iterator[Any]:
    """An initialized instance of FMPy's."""
    from fmpy import extract, instantiate_fmu, read_model_description

    from ..fmu.export import export
    from ..fmu.linear import begin

    path = folder / f"{runtime}.fmu"
    if not path.exists():
        export(subject.simulation.mechanism, path, runtime=runtime, step=STEP, picture=False)
        extract(path, folder / runtime)
    described = read_model_description(path)
    slave = instantiate_fmu(str(folder / runtime), described, "CoSimulation")
    inputs = [v.valueReference for v in described.modelVariables if v.causality == "input"]
    begin(slave, False, dict(zip(inputs, subject.u.tolist(), strict=True)))
    try:
        yield slave
    finally:
        slave.terminate()
        slave.freeInstance()


def _compiled(folder: Path) -> ctypes.CDLL:
    source, library = folder / "loops.c", folder / "loops.so"
    source.write_text(LOOPS)
    command = [*(find_compiler() or ()), "-O2", "-fPIC", "-shared", "-o", str(library), str(source)]
    subprocess.run(command, check=True, capture_output=True)
    return ctypes.CDLL(str(library))


def again(
    advance: Callable[[], None], save: Callable[[], Any], restore: Callable[[Any], None]
) -> Callable[[], None]:
    """One step a call, back to the start after every TURN."""
    start, count = save(), 0

    def call() -> None:
        nonlocal count
        if count % TURN == 0:
            restore(start)
        count += 1
        advance()

    return call


def _stepping(slave: Any) -> Callable[[], None]:
    count = 0

    def advance() -> None:
        nonlocal count
        slave.doStep(count % TURN * STEP, STEP)
        count += 1

    return advance


def _looping(loops: ctypes.CDLL, slave: Any) -> Callable[[], None]:
    """TURN steps a call, from the start."""
    start = slave.getFMUState()
    do_step = ctypes.cast(slave.dll.fmi2DoStep, ctypes.c_void_p)
    instance = ctypes.c_void_p(slave.component)

    def call() -> None:
        slave.setFMUState(start)
        if loops.fmu_loop(do_step, instance, ctypes.c_double(STEP), TURN):
            raise RuntimeError("a step of the FMU failed")

    call.calls = TURN  # type: ignore[attr-defined]
    return call


def _traced(loops: ctypes.CDLL, simulation: Simulation) -> Callable[[], None]:
    """The engine's own step without Python: TURN steps a call, from the start."""
    function = step.runge_kutta(simulation.equations)
    library = ctypes.CDLL(str(build_library(function, find_compiler() or ())))
    values = [*simulation.memory, [STEP]]
    begin = [np.array(x, float) for x in values]
    state, following = (
        [x.copy() for x in begin],
        [np.zeros(function.numel_out(i)) for i in range(function.n_out())],
    )
    renewed = sum(name.endswith("_new") for name in function.name_out())
    room = [ctypes.c_longlong() for _ in range(4)]
    getattr(library, f"{function.name()}_work")(*map(ctypes.byref, room))
    arg, res, iw, w = (np.zeros(size.value + 1, np.int64) for size in room)
    sizes = np.array([x.size for x in following], np.intc)
    places = [np.array([x.ctypes.data for x in group], np.uint64) for group in (state, following)]
    call_ = ctypes.cast(getattr(library, function.name()), ctypes.c_void_p)

    def call() -> None:
        for here, first in zip(state, begin, strict=True):
            here[:] = first
        (s, n), counts = (_at(x) for x in places), (function.n_in(), function.n_out())
        if loops.traced_loop(
            call_, s, counts[0], n, _at(sizes), counts[1], renewed, _at(arg), _at(res), _at(iw), _at(w), TURN
        ):
            raise RuntimeError("a step of the engine failed")

    call.calls = TURN  # type: ignore[attr-defined]
    return call


def _at(array: np.ndarray) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)
