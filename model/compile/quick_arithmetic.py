"""CasADi's arithmetic on symbols in a fifth of its time, as tracing does little else.

`a * b` of two SX first finds out, by calls of Python, that neither is a number, an array, a sparse matrix or
a DM: nine tenths of the time. `SX.binary`, which it comes to, takes nothing else and need not ask.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock
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


QUICK = {  # method of SX -> ours
    f"__{before}{name}__": make(getattr(ca.SX, f"__{before}{name}__"), operation)
    for before, make in (("", _forward), ("i", _forward), ("r", _reflected))
    for name, operation in OPERATIONS.items()
    if hasattr(ca.SX, f"__{before}{name}__")
}
_LOCK = Lock()
_inside = 0  # how many, in all threads, are inside


@contextmanager
def quick_arithmetic() -> Iterator[None]:
    """While this lasts, `+ - * /` of symbols skip that search; what comes out is the same."""
    global _inside
    with _LOCK:
        _inside += 1
        if _inside == 1:
            for name, apply in QUICK.items():
                setattr(ca.SX, name, apply)
    try:
        yield
    finally:
        with _LOCK:
            _inside -= 1
            if not _inside:
                for name in QUICK:
                    delattr(ca.SX, name)  # CasADi's own are inherited
