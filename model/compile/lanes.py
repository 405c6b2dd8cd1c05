"""Generated C over lanes (SIMD): the code of one mechanism computes as many as a processor vector holds.

CasADi writes a traced function as assignments of single numbers. With `casadi_real` a vector of 2, 4 or
8 numbers, the same lines compute as many mechanisms; what C does not do with vectors (constants,
comparisons, functions) becomes a call of `lanes.h`. Nothing is traced anew and no equation is written
again. Every line must be of a form that is known (`casadi_c`): a function that branches is refused, since
its lanes would go different ways.
"""

import ctypes
import platform
import re
from collections.abc import Sequence
from importlib.resources import files
from itertools import count
from pathlib import Path

import casadi as ca

from . import casadi_c
from .c_pieces import split_functions
from .casadi_c import generate
from .kernel import FLAGS, MOST, compile_library


class NotInLanes(Exception):
    """A function whose lanes could not go together."""


# Divisions of vectors are dear: many by one number become one, and products.
MORE_FLAGS = ("-freciprocal-math", "-w")

_OPERATIONS = {
    "<": "lt",
    "<=": "le",
    "==": "eq",
    "!=": "ne",
    "&&": "and",
    "||": "or",
}
_FUNCTIONS = {
    *("sq", "fabs", "fmax", "fmin", "sign", "sqrt", "sin", "cos", "tan", "asin", "acos", "atan", "atan2"),
    *("exp", "log", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "log1p", "expm1", "erf"),
    *("floor", "ceil", "fmod", "pow", "copysign", "hypot", "remainder"),
}
_WORD = re.compile(r"\w+|\W")


def in_lanes(function: ca.Function) -> str:
    """C of a traced function over lanes: `int kernel(const lanes**, lanes**, long long*, lanes*, int)`."""
    code = generate([function])
    main = casadi_c.MAIN.search(code)
    if main is None or casadi_c.TABLE.search(code):
        raise NotInLanes(f"{function.name()} is not written as plain functions")
    parts = [head + _checked(body) + "}\n" for head, body in casadi_c.FUNCTION.findall(code)]
    zeros = [f"static const casadi_real {found} = {{{{0.}}}};" for found in casadi_c.ZEROS.findall(code)]
    whole = _translated(split_functions("\n".join(parts)))
    header = (files(__package__) / "lanes.h").read_text("utf-8")
    sizes_in = [function.nnz_in(k) for k in range(function.n_in())]
    sizes_out = [function.nnz_out(k) for k in range(function.n_out())]
    work = [function.sz_arg(), function.sz_res(), function.sz_iw(), function.sz_w()]
    shape = [*work, len(sizes_in), *sizes_in, len(sizes_out), *sizes_out]
    entry = (
        "int kernel(const casadi_real** arg, casadi_real** res, casadi_int* iw, casadi_real* w, int mem) {\n"
        f"  return {main[1]}(arg, res, iw, w, mem);\n}}\n"
        f"const casadi_int shape[] = {{LANES, {', '.join(map(str, shape))}}};\n"
    )
    return "\n".join([header, *zeros, whole, entry])


def vector_library() -> bool:
    """Whether sines of vectors are there: glibc's, which only gcc and clang on x86 know how to call."""
    return platform.machine() in ("x86_64", "AMD64") and platform.libc_ver()[0] == "glibc"


def build_lanes(function: ca.Function, compiler: Sequence[str]) -> Path:
    """Path of the shared library of a function over lanes, compiled now or found in the cache."""
    together = vector_library()
    flags = (*FLAGS, *MORE_FLAGS, *(("-DVECTOR_LIBRARY",) if together else ()))
    code = in_lanes(function)
    if code.count("\n") > MOST:
        raise NotInLanes(f"{function.name()} is too long to compile over lanes")
    return compile_library(code, compiler, flags, ("-lm", *(("-lmvec",) if together else ())))


def _checked(body: str) -> str:
    """The body of a function, if all of its lines are of known forms."""
    for line in body.splitlines():
        found = casadi_c.ASSIGNED.fullmatch(line)
        if found:
            _value(found[2])
        elif not (casadi_c.KEPT.fullmatch(line) or casadi_c.FILLED.fullmatch(line)):
            raise NotInLanes(f"a line that lanes can't share: {line.strip()[:80]}")
    return body


def _translated(code: str) -> str:
    """The same lines with what C does not do with vectors as calls; lines of other kinds stay.

    Sine and cosine of one angle are computed together, where the first of them is wanted.
    """
    lines, angles = list[str](), dict[str, str]()
    held, numbers = dict[str, str](), dict[str, str]()  # what variables hold: equal ones have equal numbers
    for line in code.splitlines():
        if line.startswith("static"):  # another function
            angles, held, numbers = {}, {}, {}
        elif found := casadi_c.ASSIGNED.fullmatch(line):
            value = found[2].strip()
            if turned := casadi_c.TURNED.fullmatch(value):
                angle = held.get(turned[2], turned[2])
                if angle not in angles:
                    angles[angle] = f"turned{len(angles)}"
                    lines.append(f"  const pair {angles[angle]} = lanes_turned({_lanes(turned[2])});")
                value = f"{angles[angle]}.{turned[1]}"
            else:
                value = _value(value)
            key = " ".join(held.get(word, word) for word in _WORD.findall(value))
            target = casadi_c.LEFT.search(found[1])
            assert target is not None
            if casadi_c.CHANGES.search(value) or target[2]:
                key = f"line {len(lines)}"
            held[target[1]] = numbers.setdefault(key, f"#{len(numbers)}")
            line = f"{found[1]}{value};"
        elif found := casadi_c.FILLED.fullmatch(line):
            line = f"{found[1]}spread({found[2]}));"
        lines.append(line)
    return "\n".join([*lines, ""])


def _value(text: str) -> str:
    """A right side for lanes."""
    text = text.strip()
    if casadi_c.CONSTANT.fullmatch(text):
        return f"spread({text})"
    if casadi_c.PLAIN.fullmatch(text):
        return text
    if found := casadi_c.COMPARED.fullmatch(text):
        return f"lanes_{_OPERATIONS[found[2]]}({_lanes(found[1])}, {_lanes(found[3])})"
    if found := casadi_c.CHOSEN.fullmatch(text):
        return f"lanes_where({_lanes(found[1])}, {_lanes(found[2])})"
    if found := casadi_c.NEGATED.fullmatch(text):
        return f"lanes_not({_lanes(found[1])})"
    if found := casadi_c.GIVEN.fullmatch(text):
        return f"*({found[1]} ? {found[1]} + {found[2]} : &(const casadi_real){{0}})"
    found = casadi_c.CALLED.fullmatch(text)
    if found and found[1] in _FUNCTIONS:
        return f"lanes_{found[1]}({', '.join(_lanes(x) for x in found.groups()[1:] if x)})"
    raise NotInLanes(f"an operation that lanes can't share: {text[:80]}")


def _lanes(value: str) -> str:
    return f"spread({value})" if casadi_c.CONSTANT.fullmatch(value) else value


class LaneKernel:
    """Compiled code over lanes: where it is, what it works in, and the sizes of arguments and results."""

    def __init__(self, library: Path):
        self.library = library
        self.code = ctypes.CDLL(str(library))
        self.address = ctypes.cast(self.code.kernel, ctypes.c_void_p).value
        first = ctypes.c_longlong.in_dll(self.code, "shape")
        shape = ctypes.cast(ctypes.pointer(first), ctypes.POINTER(ctypes.c_longlong))
        numbers = (shape[k] for k in count())
        self.lanes = next(numbers)
        self.work = tuple(next(numbers) for _ in range(4))  # arg, res, iw, w
        self.sizes_in = tuple(next(numbers) for _ in range(next(numbers)))
        self.sizes_out = tuple(next(numbers) for _ in range(next(numbers)))
