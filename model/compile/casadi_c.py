"""How CasADi writes C: all that is known of it here, and what is taken off it.

CasADi promises nothing about the text of the C that it generates. What others make of that text, in pieces
(`c_pieces`) and over lanes (`lanes`), rests on the following. The tests hold a release of CasADi to it, one
by one (`tests/compile/test_casadi_contract.py`): code that is written otherwise would still run, but slower.

1. A function is `static int casadi_fN(const casadi_real** arg, ...) {`, ends in `return 0;` and `}`, and
   is called from the function of its own name by `return casadi_f0(arg, res, iw, w, mem);`.
2. Of scalars (SX) it is straight-line code: declarations of `a0, a1, ...`, then a line for each operation,
   `aN=...;`, or result, `if (res[i]!=0) res[i][k]=...;`. What the caller leaves out is tested for in place.
3. Of matrices (MX) it is assignments to `wN`, loops, copies, and calls of other such functions.
4. The right side of an assignment is a name, a number, one operation or one call.
5. `fmax` and `fmin` are functions of its own, `casadi_fmax`, `casadi_fmin`, that call those of C.
6. Its own functions come before all others, and `CASADI_SYMBOL_EXPORT` before what a library shows.
7. What it adds for its own loader is named after the function: `NAME_n_in`, `NAME_sparsity_out`, ...
"""

import re
from collections.abc import Iterable

import casadi as ca

# Functions (1) and their lines (2): what assigns, what is read and written.
SIGNATURE = (
    r"\(const casadi_real\*\* arg, casadi_real\*\* res, casadi_int\* iw, casadi_real\* w, int mem\) \{\n"
)
FUNCTION = re.compile(rf"^(static int casadi_f\d+{SIGNATURE})(.*?)^\}}\n", re.M | re.S)
STRAIGHT = re.compile(
    rf"^(static int (\w+){SIGNATURE})(?:  casadi_real [a0-9, \n]+;\n)+(.*?)  return 0;\n\}}\n", re.M | re.S
)
MAIN = re.compile(r"return (casadi_f\d+)\(arg, res, iw, w, mem\);")
LINE = re.compile(r"  (?:(a\d+)=(.*)|if \(res\[\d+\]!=0\) res\[\d+\]\[\d+\]=(.*));")
ARGUMENT = re.compile(r"arg\[(\d+)\]\? arg\[\1\]\[(\d+)\] : 0")
RESULT = re.compile(r"if \(res\[(\d+)\]!=0\) res\[\1\]\[(\d+)\]")
VARIABLE = re.compile(r"\ba\d+\b")
NUMBERED = re.compile(r"\bcasadi(_f\d+_\d+\()")
# What stands before all functions (6), with what a library shows.
BEFORE = re.compile(r"^(?:static (?:int casadi_f|__attribute__\(\(noinline)|/\* \w+:\()", re.M)
OUTWARD = re.compile(r"^(?:CASADI_SYMBOL_EXPORT |(?=(?:casadi_real|casadi_int|void) casadi_\w+\())", re.M)
ZEROS = re.compile(r"^static const casadi_real (casadi_zeros\[\d+\]) =\s*\{0\.(?:,\s*0\.)*\};$", re.M)
TABLE = re.compile(r"^static const casadi_real casadi_c\d+", re.M)

# Right sides (4).
NAME = r"[a-z]\w*(?:\[-?\d+\])*|\(\*\w+\+\+\)|\*\w+"
NUMBER = r"-?\d+\.?\d*(?:e[-+]\d+)?"
VALUE = rf"(?:{NAME}|{NUMBER})"
CONSTANT = re.compile(NUMBER)
PLAIN = re.compile(rf"-?\s*{NAME}|\(\s*-?\s*{VALUE}\s*(?:[-+*/]\s*{VALUE}\s*)?\)")
COMPARED = re.compile(rf"\(\s*({VALUE})\s*(<=|<|==|!=|&&|\|\|)\s*({VALUE})\s*\)")
CHOSEN = re.compile(rf"\(\s*({VALUE})\s*\?\s*({VALUE})\s*:\s*0\s*\)")
NEGATED = re.compile(rf"\(\s*!\s*({VALUE})\s*\)")
CALLED = re.compile(rf"(?:casadi_)?(\w+)\(\s*({VALUE})\s*(?:,\s*({VALUE})\s*)?\)")
TURNED = re.compile(rf"(sin|cos)\(\s*({VALUE})\s*\)")
GIVEN = re.compile(r"(arg\[\d+\])\s*\? \1\[(\d+)\] : 0")
# Lines (2, 3): assignments, whose right side is looked at, and what stays as it is.
_FOR = r"for \([^(){};]*;[^(){};]*;[^(){};]*\) "
_TARGET = r"(?:a\d+|w\d+(?:\[\d+\])?|\(\*\w+\+\+\)|\*\w+\+\+|res\[\d+\]\[\d+\])"
ASSIGNED = re.compile(rf"(\s*(?:if \(res\[\d+\](?:!=0)?\) )?(?:{_FOR})?{_TARGET}\s*[-+*/]?=\s*)(.+);")
LEFT = re.compile(r"(\S+?)\s*([-+*/]?)=\s*$")
CHANGES = re.compile(r"\bs\[|\+\+|\bw\d+\[")  # memory that is written to
KEPT = re.compile(
    r"\s*(?:(?:const )?casadi_(?:real|int) [^()]*;"
    r"|(?:arg|res)\d+\[\d+\]\s*=\s*[^()]*(?:\(&\w+\))?;"
    r"|if \(casadi_f\d+\([\w, ]+\)\) return 1;"
    r"|wr\d+ = (arg\[\d+\]) \? \1 : casadi_zeros;"
    r"|casadi_copy\([\w, +\[\]]+\);|casadi_clear\([\w, +]+\);"
    r"|/\*[^*]*(?:\*(?!/)[^*]*)*\*/"
    r"|return 0;|)"
)
FILLED = re.compile(rf"(\s*casadi_fill\([\w+ ]+, \d+, )({NUMBER})\);")

# For its own loader (7); who is compiled together with the code knows sizes and memory.
_TYPE = r"(?:const )?(?:int|void|char|casadi_int|casadi_real)\*?"
_ASIDE = "alloc_mem|init_mem|free_mem|checkout|release|incref|decref|n_in|n_out|default_in|name_in|name_out"
_ASIDE += "|sparsity_in|sparsity_out|work|work_bytes"
_LOADER = re.compile(
    rf"^{_TYPE} (?:cj_\w+_(?:{_ASIDE})|\w+_casadi_(?:version|int_size|real_size))"
    r"\([^\n]*\{(?:[^\n]*\}\n|\n.*?^\}\n)",
    re.M | re.S,
)
_HELPERS = re.compile(rf"^(?={_TYPE} casadi_\w+\()", re.M)


def generate(functions: Iterable[ca.Function], file: str = "kernel.c", **options: bool) -> str:
    """The C of functions, as CasADi writes it; names within it are the file's own."""
    generator = ca.CodeGenerator(file, {"with_header": False, **options})
    for function in functions:
        generator.add(function)
    return str(generator.dump())


def without_calls(code: str) -> str:
    """The same C with fmax and fmin (5) written out: a call has all registers stored for two instructions.

    What is no number is passed over, as by those of C.
    """
    for name, sign in (("fmax", ">"), ("fmin", "<")):
        code = code.replace(f"casadi_real casadi_{name}(", f"static inline casadi_real casadi_{name}(")
        code = code.replace(f"return {name}(x, y);", f"return (x {sign} y) | (y != y) ? x : y;")
    return code


def without_loader(code: str) -> str:
    """The same C, of functions named `cj_...`, without what is for its loader; CasADi's own are static."""
    return _HELPERS.sub("static ", _LOADER.sub("", code))
