"""Compiled kernels are called without CasADi between them, and give the same to the last bit."""

from __future__ import annotations

import gc
import sys
import threading
from dataclasses import replace

import numpy as np
import pytest
from cutjoint import Simulation
from cutjoint.model.compile import calling, kernel
from cutjoint.model.compile.kernel import find_compiler

pytestmark = pytest.mark.skipif(find_compiler() is None, reason="needs a C compiler")
ANYWHERE = pytest.mark.skipif(not calling.DIRECT, reason="elsewhere CasADi calls")


@pytest.fixture(scope="module")
def platform() -> Simulation:
    return Simulation("stewart")


def test_both_ways_give_the_same(platform: Simulation, monkeypatch: pytest.MonkeyPatch) -> None:
    ours = platform.bind(platform.engine.kernels.dynamics)
    monkeypatch.setattr(kernel, "_caller_library", lambda: None)
    casadi = platform.bind(platform.engine.kernels.dynamics)
    platform.v[:] = np.linspace(-1, 1, platform.v.size)
    for one in (ours, casadi):
        one.evaluate()
    assert all(np.array_equal(a, b) for a, b in zip(ours.results, casadi.results, strict=True))
    assert np.abs(ours.results[0]).max() > 0
    platform.reset()


@ANYWHERE
def test_it_is_a_function_of_python_that_takes_nothing(platform: Simulation) -> None:
    evaluate = platform.bind(platform.engine.kernels.dynamics).evaluate
    assert type(evaluate) is type(len)
    with pytest.raises(TypeError):
        evaluate(1)


@ANYWHERE
def test_nothing_is_leaked_and_none_keeps_its_count(platform: Simulation) -> None:
    bound = platform.bind(platform.engine.kernels.dynamics)
    before = sys.getrefcount(None)
    for _ in range(10_000):
        assert bound.evaluate() is None
    assert abs(sys.getrefcount(None) - before) < 100
    for _ in range(200):  # memory that is given back is not used again by those that live on
        platform.bind(platform.engine.kernels.dynamics).evaluate()
        gc.collect(0)
    bound.evaluate()
    assert np.isfinite(bound.results[0]).all()


def test_threads_call_one_kernel(platform: Simulation) -> None:
    dynamics, wrong = platform.engine.kernels.dynamics, []
    places = [replace(platform.state, v=np.full(platform.v.size, 0.1 * k)).at for k in range(4)]
    exact = [dynamics(*at)[0] for at in places]

    def work(k: int) -> None:
        for _ in range(500):
            if not np.array_equal(dynamics(*places[k])[0], exact[k]):
                wrong.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_where_it_can_not_be_compiled_casadi_calls(
    platform: Simulation, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> None:
        raise RuntimeError("no such thing")

    kernel._caller_library.cache_clear()
    monkeypatch.setattr(kernel, "compile_library", fails)
    try:
        bound = platform.bind(platform.engine.kernels.dynamics)
        bound.evaluate()
    finally:
        kernel._caller_library.cache_clear()
    assert type(bound.evaluate) is not type(len)
    assert np.isfinite(bound.results[0]).all()
