"""Arithmetic on symbols without the search for numbers is CasADi's own, and ends when it should."""

from __future__ import annotations

import operator
from contextlib import nullcontext
from threading import Event, Thread
from typing import Any

import casadi as ca
import cutjoint.model.engine as engine
import numpy as np
import pytest
from cutjoint import Simulation
from cutjoint.model.compile.casadi_c import generate
from cutjoint.model.compile.tracing import QUICK, tracing

x, y, column = ca.SX.sym("x"), ca.SX.sym("y"), ca.SX.sym("v", 3)
VALUES = {
    "symbol": y,
    "itself": x,
    "column": column,
    "matrix": ca.SX.sym("A", 3, 3),
    "sparse": ca.SX(3, 1),
    "nothing": ca.SX(1, 1),
    "constant": ca.SX(2.5),
    "float": 2.5,
    "int": 3,
    "zero": 0,
    "one": 1.0,
    "infinity": float("inf"),
    "bool": True,
    "NumPy's number": np.float64(1.5),
    "NumPy's whole number": np.int64(2),
    "array": np.arange(3.0),
    "DM": ca.DM([1, 0, 2]),
    "list": [1.0, 2.0, 3.0],
    "text": "2",
    "none": None,
    "MX": ca.MX.sym("m"),
}
OPERATORS = [operator.add, operator.sub, operator.mul, operator.truediv]
OPERATORS += [operator.iadd, operator.isub, operator.imul, operator.itruediv]


def outcome(apply: Any, a: Any, b: Any) -> Any:
    try:
        made = apply(a, b)
    except (TypeError, RuntimeError, NotImplementedError) as error:
        return type(error)
    return type(made), getattr(made, "shape", ()), str(made)


@pytest.mark.parametrize("apply", OPERATORS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("name", VALUES)
@pytest.mark.parametrize("one", [x, column], ids=["scalar", "column"])
def test_what_comes_out_is_the_same(apply: Any, name: str, one: ca.SX) -> None:
    other = VALUES[name]
    usual = outcome(apply, one, other), outcome(apply, other, one)
    with tracing():
        assert (outcome(apply, one, other), outcome(apply, other, one)) == usual


def test_casadi_is_as_it_was_afterwards() -> None:
    own = {name: vars(ca.SX).get(name) for name in QUICK}
    with pytest.raises(ZeroDivisionError), tracing():
        with tracing():
            pass
        assert vars(ca.SX)["__mul__"] is QUICK["__mul__"]  # the inner one does not end the outer one
        1 / 0  # noqa: B018
    assert {name: vars(ca.SX).get(name) for name in QUICK} == own


def test_one_thread_traces_at_a_time() -> None:
    """CasADi lets other threads run, and counts without a lock who holds a symbol."""
    inside = Event()

    def other() -> None:
        with tracing():
            inside.set()

    thread = Thread(target=other)
    with tracing():
        thread.start()
        assert not inside.wait(0.2)
    thread.join()
    assert inside.is_set()


def test_the_same_code_is_generated(monkeypatch: pytest.MonkeyPatch) -> None:
    def code() -> list[str]:
        functions = Simulation("fourbar", compile=False).engine.functions
        return [generate([functions.dynamics]), generate([functions.outputs]), generate([functions.assembly])]

    quick = code()
    engine._SHARED.clear()
    monkeypatch.setattr(engine, "tracing", nullcontext)
    assert code() == quick
