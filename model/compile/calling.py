"""A compiled kernel as a function of Python, without CasADi between them (`call.c`)."""

import ctypes
import sys
from collections.abc import Callable, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path

import numpy as np

DIRECT = sys.platform == "linux" and sys.implementation.name == "cpython"
POINTER, INTEGER = ctypes.c_void_p, ctypes.c_longlong
TAKES_NOTHING = 4  # METH_NOARGS


class _Bound(ctypes.Structure):
    """`bound` of call.c."""

    _fields_ = [
        *((name, POINTER) for name in ("run", "arg", "in", "res", "out", "iw", "w")),
        *((name, INTEGER) for name in ("n_in", "n_out")),
        *((name, POINTER) for name in ("to", "from", "said")),
        *((name, INTEGER) for name in ("n_moved", "n_said")),
    ]


class _Method(ctypes.Structure):
    """PyMethodDef."""

    _fields_ = [
        ("name", ctypes.c_char_p),
        ("call", POINTER),
        ("flags", ctypes.c_int),
        ("about", ctypes.c_char_p),
    ]


def source() -> str:
    """The C that calls: the same for every kernel."""
    return (files(__package__) / "call.c").read_text("utf-8")


@cache
def load_caller(path: Path) -> ctypes.CDLL:
    return ctypes.CDLL(str(path))


def address(library: Path, name: str) -> int:
    """Where a function of a library is."""
    found = ctypes.cast(getattr(load_caller(library), name), POINTER).value
    assert found is not None
    return found


def caller(
    caller_library: Path,
    code: int,
    sizes: Sequence[int],
    arguments: Sequence[np.ndarray],
    results: Sequence[np.ndarray],
    moves: Sequence[np.ndarray] = (),
) -> Callable[[], bool | None]:
    """What runs the code at an address on these arrays.

    `sizes` are CasADi's sz_arg, sz_res, sz_iw and sz_w. `moves` are two arrays and a third: unless that one
    has something to say, and True is returned, the second is copied into the first.
    """
    lists = [(POINTER * max(size, 1))() for size in sizes[:2]]
    given = [(POINTER * len(of))(*(x.ctypes.data for x in of)) for of in (arguments, results)]
    work = np.zeros(max(sizes[2], 1), np.int64), np.zeros(max(sizes[3], 1))
    arg, res, given_in, given_out = (ctypes.addressof(x) for x in (*lists, *given))
    places = code, arg, given_in, res, given_out, *(x.ctypes.data for x in work)
    places += len(arguments), len(results)
    if moves:
        places += *(x.ctypes.data for x in moves), moves[0].size, moves[2].size
    bound = _Bound(*places)
    python = _python()
    capsule = python.PyCapsule_New(ctypes.addressof(bound), None, None)
    alive = lists, given, work, bound, tuple(arguments), tuple(results), tuple(moves)  # as the function is
    method = _method(caller_library, "take" if moves else "call")
    function: Callable[[], bool | None] = python.PyCFunction_NewEx(ctypes.addressof(method), capsule, alive)
    return function


@cache
def _python() -> ctypes.PyDLL:
    """Python's own functions."""
    found = ctypes.PyDLL(None)
    found.PyCapsule_New.restype = found.PyCFunction_NewEx.restype = ctypes.py_object
    found.PyCapsule_New.argtypes = [POINTER, ctypes.c_char_p, POINTER]
    found.PyCFunction_NewEx.argtypes = [POINTER, ctypes.py_object, ctypes.py_object]
    return found


@cache
def _method(library: Path, name: str) -> _Method:
    return _Method(name.encode(), address(library, name), TAKES_NOTHING, None)
