"""How expressions are written down: by one thread at a time, with arithmetic in a fifth of CasADi's time.

`a * b` of two SX first finds out, by calls of Python, that neither is a number, an array, a sparse matrix or
a DM: nine tenths of the time. `SX.binary`, which it comes to, takes nothing else and need not ask. What is
no operator still asks, for the shape above all: `@` does so six times. Other threads run meanwhile, and who
holds a symbol, some of which all threads share, is counted without a lock.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import RLock
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


QUICK: dict[str, Any] = {  # attribute of SX -> ours
    f"__{before}{name}__": make(getattr(ca.SX, f"__{before}{name}__"), operation)
    for before, make in (("", _forward), ("i", _forward), ("r", _reflected))
    for name, operation in OPERATIONS.items()
    if hasattr(ca.SX, f"__{before}{name}__")
}
# both numbers at once, by no function of Python
QUICK["shape"] = property(ca._casadi.GenSX_size)  # noqa: SLF001
OWN = {name: vars(ca.SX)[name] for name in QUICK if name in vars(ca.SX)}  # the others are inherited
_LOCK = RLock()
_depth = 0


@contextmanager
def tracing() -> Iterator[None]:
    """While this lasts no other thread traces; `+ - * /` and shapes of symbols are the same, found sooner."""
    global _depth
    with _LOCK:
        if not _depth:
            for name, apply in QUICK.items():
                setattr(ca.SX, name, apply)
        _depth += 1
        try:
            yield
        finally:
            _depth -= 1
            if not _depth:
                for name in QUICK:
                    if name in OWN:
                        setattr(ca.SX, name, OWN[name])
                    else:
                        delattr(ca.SX, name)
