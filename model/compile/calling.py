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
def loaded(path: Path) -> ctypes.CDLL:
    return ctypes.CDLL(str(path))


def address(library: Path, name: str) -> int:
    """Where a function of a library is."""
    found = ctypes.cast(getattr(loaded(library), name), POINTER).value
    assert found is not None
    return found


def caller(
    caller_library: Path,
    code: int,
    sizes: Sequence[int],
    arguments: Sequence[np.ndarray],
    results: Sequence[np.ndarray],
) -> Callable[[], None]:
    """What runs the code at an address on these arrays.

    `sizes` are CasADi's sz_arg, sz_res, sz_iw and sz_w.
    """
    lists = [(POINTER * max(size, 1))() for size in sizes[:2]]
    given = [(POINTER * len(of))(*(x.ctypes.data for x in of)) for of in (arguments, results)]
    work = np.zeros(max(sizes[2], 1), np.int64), np.zeros(max(sizes[3], 1))
    arg, res, given_in, given_out = (ctypes.addressof(x) for x in (*lists, *given))
    places = code, arg, given_in, res, given_out, *(x.ctypes.data for x in work)
    bound = _Bound(*places, len(arguments), len(results))
    python = _python()
    capsule = python.PyCapsule_New(ctypes.addressof(bound), None, None)
    alive = lists, given, work, bound, tuple(arguments), tuple(results)  # as long as the function is
    function: Callable[[], None] = python.PyCFunction_NewEx(
        ctypes.addressof(_method(caller_library)), capsule, alive
    )
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
def _method(library: Path) -> _Method:
    return _Method(b"evaluate", address(library, "call"), TAKES_NOTHING, None)
