"""CasADi's arithmetic on symbols in a fifth of its time, as tracing does little else.

`a * b` of two SX first finds out, by calls of Python, that neither is a number, an array, a sparse matrix or
a DM: nine tenths of the time. `SX.binary`, which it comes to, takes nothing else and need not ask.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import casadi as ca

OPERATIONS = {"add": ca.OP_ADD, "sub": ca.OP_SUB, "mul": ca.OP_MUL, "truediv": ca.OP_DIV}


def _forward(usual: Callable[[Any, Any], Any], operation: int) -> Callable[[Any, Any], Any]:
    binary, quick = ca.SX.binary, (ca.SX, float, int)

    def apply(x: Any, y: Any) -> Any:
        return binary(operation, x, y) if y.__class__ in quick else usual(x, y)

    return apply


def _reflected(usual: Callable[[Any, Any], Any], operation: int) -> Callable[[Any, Any], Any]:
    binary, quick = ca.SX.binary, (float, int)

    def apply(x: Any, y: Any) -> Any:
        return binary(operation, y, x) if y.__class__ in quick else usual(x, y)

    return apply


QUICK = {
    f"__{before}{name}__": make(getattr(ca.SX, f"__{before}{name}__"), operation)
    for before, make in (("", _forward), ("i", _forward), ("r", _reflected))
    for name, operation in OPERATIONS.items()
}


@contextmanager
def quick_arithmetic() -> Iterator[None]:
    """While this lasts, `+ - * /` of symbols skip that search; what comes out is the same."""
    inside = vars(ca.SX).get("__mul__") is QUICK["__mul__"]
    before = {} if inside else {name: vars(ca.SX).get(name) for name in QUICK}
    for name in before:
        setattr(ca.SX, name, QUICK[name])
    try:
        yield
    finally:
        for name, own in before.items():
            if own is None:  # it is inherited
                delattr(ca.SX, name)
            else:
                setattr(ca.SX, name, own)
