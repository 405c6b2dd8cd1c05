"""Generated C over lanes: the code of one mechanism computes as many as a vector of the processor holds.

CasADi writes a traced function as assignments of single numbers. With `casadi_real` a vector of 2, 4 or
8 numbers, the same lines compute as many mechanisms; what C does not do with vectors (constants,
comparisons, functions) becomes a call of `lanes.h`. Nothing is traced anew and no equation is written
again. Every line must be of a form known here: a function that branches is refused, since its lanes
would go different ways.
"""

import ctypes
import platform
import re
from importlib.resources import files
from itertools import count
from pathlib import Path

import casadi as ca

from .c_pieces import split_functions
from .kernel import FLAGS, MOST, compiled


class NotInLanes(Exception):
    """A function whose lanes could not go together."""


# Divisions of vectors are dear: many by one number become one, and products.
MORE_FLAGS = ("-freciprocal-math", "-w")

_NAME = r"[a-z]\w*(?:\[-?\d+\])*|\(\*\w+\+\+\)|\*\w+"
_NUMBER = r"-?\d+\.?\d*(?:e[-+]\d+)?"
_VALUE = rf"(?:{_NAME}|{_NUMBER})"
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
# Right sides, and what they become.
_CONSTANT = re.compile(_NUMBER)
_PLAIN = re.compile(rf"-?\s*{_NAME}|\(\s*-?\s*{_VALUE}\s*(?:[-+*/]\s*{_VALUE}\s*)?\)")
_COMPARED = re.compile(rf"\(\s*({_VALUE})\s*(<=|<|==|!=|&&|\|\|)\s*({_VALUE})\s*\)")
_CHOSEN = re.compile(rf"\(\s*({_VALUE})\s*\?\s*({_VALUE})\s*:\s*0\s*\)")
_NEGATED = re.compile(rf"\(\s*!\s*({_VALUE})\s*\)")
_CALLED = re.compile(rf"(?:casadi_)?(\w+)\(\s*({_VALUE})\s*(?:,\s*({_VALUE})\s*)?\)")
_TURNED = re.compile(rf"(sin|cos)\(\s*({_VALUE})\s*\)")
_WORD = re.compile(r"\w+|\W")
_LEFT = re.compile(r"(\S+?)\s*([-+*/]?)=\s*$")
_CHANGES = re.compile(r"\bs\[|\+\+|\bw\d+\[")  # memory that is written to
_GIVEN = re.compile(r"(arg\[\d+\])\s*\? \1\[(\d+)\] : 0")
# Lines: assignments, whose right side is looked at, and what stays as it is.
_FOR = r"for \([^(){};]*;[^(){};]*;[^(){};]*\) "
_TARGET = r"(?:a\d+|w\d+(?:\[\d+\])?|\(\*\w+\+\+\)|\*\w+\+\+|res\[\d+\]\[\d+\])"
_ASSIGNED = re.compile(rf"(\s*(?:if \(res\[\d+\](?:!=0)?\) )?(?:{_FOR})?{_TARGET}\s*[-+*/]?=\s*)(.+);")
_KEPT = re.compile(
    r"\s*(?:(?:const )?casadi_(?:real|int) [^()]*;"
    r"|(?:arg|res)\d+\[\d+\]\s*=\s*[^()]*(?:\(&\w+\))?;"
    r"|if \(casadi_f\d+\([\w, ]+\)\) return 1;"
    r"|wr\d+ = (arg\[\d+\]) \? \1 : casadi_zeros;"
    r"|casadi_copy\([\w, +\[\]]+\);|casadi_clear\([\w, +]+\);"
    r"|/\*[^*]*(?:\*(?!/)[^*]*)*\*/"
    r"|return 0;|)"
)
_FILLED = re.compile(rf"(\s*casadi_fill\([\w+ ]+, \d+, )({_NUMBER})\);")
_FUNCTION = re.compile(
    r"^(static int casadi_f\d+\(const casadi_real\*\* arg, [^)]*\) \{\n)(.*?)^\}\n", re.M | re.S
)
_ZEROS = re.compile(r"^static const casadi_real (casadi_zeros\[\d+\]) =\s*\{0\.\};$", re.M)
_TABLE = re.compile(r"^static const casadi_real casadi_c\d+", re.M)
_MAIN = re.compile(r"return (casadi_f\d+)\(arg, res, iw, w, mem\);")


def in_lanes(function: ca.Function) -> str:
    """C of a traced function over lanes: `int kernel(const lanes**, lanes**, long long*, lanes*, int)`."""
    generator = ca.CodeGenerator("kernel.c", {"with_header": False})
    generator.add(function)
    code = generator.dump()
    main = _MAIN.search(code)
    if main is None or _TABLE.search(code):
        raise NotInLanes(f"{function.name()} is not written as plain functions")
    parts = [head + _checked(body) + "}\n" for head, body in _FUNCTION.findall(code)]
    zeros = [f"static const casadi_real {found} = {{{{0.}}}};" for found in _ZEROS.findall(code)]
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


def build_lanes(function: ca.Function, compiler: str) -> Path:
    """Path of the shared library of a function over lanes, compiled now or found in the cache."""
    together = vector_library()
    flags = (*FLAGS, *MORE_FLAGS, *(("-DVECTOR_LIBRARY",) if together else ()))
    code = in_lanes(function)
    if code.count("\n") > MOST:
        raise NotInLanes(f"{function.name()} is too long to compile over lanes")
    return compiled(code, compiler, flags, ("-lm", *(("-lmvec",) if together else ())))


def _checked(body: str) -> str:
    """The body of a function, if all of its lines are of known forms."""
    for line in body.splitlines():
        found = _ASSIGNED.fullmatch(line)
        if found:
            _value(found[2])
        elif not (_KEPT.fullmatch(line) or _FILLED.fullmatch(line)):
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
        elif found := _ASSIGNED.fullmatch(line):
            value = found[2].strip()
            if turned := _TURNED.fullmatch(value):
                angle = held.get(turned[2], turned[2])
                if angle not in angles:
                    angles[angle] = f"turned{len(angles)}"
                    lines.append(f"  const pair {angles[angle]} = lanes_turned({_lanes(turned[2])});")
                value = f"{angles[angle]}.{turned[1]}"
            else:
                value = _value(value)
            key = " ".join(held.get(word, word) for word in _WORD.findall(value))
            target = _LEFT.search(found[1])
            assert target is not None
            if _CHANGES.search(value) or target[2]:
                key = f"line {len(lines)}"
            held[target[1]] = numbers.setdefault(key, f"#{len(numbers)}")
            line = f"{found[1]}{value};"
        elif found := _FILLED.fullmatch(line):
            line = f"{found[1]}spread({found[2]}));"
        lines.append(line)
    return "\n".join([*lines, ""])


def _value(text: str) -> str:
    """A right side for lanes."""
    text = text.strip()
    if _CONSTANT.fullmatch(text):
        return f"spread({text})"
    if _PLAIN.fullmatch(text):
        return text
    if found := _COMPARED.fullmatch(text):
        return f"lanes_{_OPERATIONS[found[2]]}({_lanes(found[1])}, {_lanes(found[3])})"
    if found := _CHOSEN.fullmatch(text):
        return f"lanes_where({_lanes(found[1])}, {_lanes(found[2])})"
    if found := _NEGATED.fullmatch(text):
        return f"lanes_not({_lanes(found[1])})"
    if found := _GIVEN.fullmatch(text):
        return f"*({found[1]} ? {found[1]} + {found[2]} : &(const casadi_real){{0}})"
    found = _CALLED.fullmatch(text)
    if found and found[1] in _FUNCTIONS:
        return f"lanes_{found[1]}({', '.join(_lanes(x) for x in found.groups()[1:] if x)})"
    raise NotInLanes(f"an operation that lanes can't share: {text[:80]}")


def _lanes(value: str) -> str:
    return f"spread({value})" if _CONSTANT.fullmatch(value) else value


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
