"""Cut long functions of generated C into pieces, so that compilers take time in proportion.

A traced function is one block of straight-line code. Register allocation takes time that
grows with the square of such a block and more: the linear model of a six-legged platform,
49,000 operations, kept gcc busy for 28 s. The same code as a row of functions of `SIZE`
lines takes 4 s and runs no slower. What one piece hands to a later one goes through
an array, loaded where it is first used and stored where it was last written; constants
and arguments are written out again instead. Code that runs from end to end is as fast as it is
short in bytes, so the tests for arguments and results that are not there are made once.

The pieces of a large mechanism are shared out among files (`files_of`), which are compiled side by side: no
compiler sees so much at once that it takes long or much memory.

Only functions in the plain form that CasADi gives to SX functions (`casadi_c`) are touched; whatever is
written differently stays as it is.
"""

import re
from collections import Counter
from typing import NamedTuple

from .casadi_c import ARGUMENT, BEFORE, LINE, NUMBERED, OUTWARD, RESULT, STRAIGHT, VARIABLE

FORM = "pieces 4"  # part of the key of compiled libraries: change it when other code is written
NEAR = 16  # places in front of the pointer to the array: 32 are within reach of a short address
SIZE = 450  # lines; 300 to 1000 differ by a few in a hundred, as measured
SPARE = 256  # numbers of a result that is not wanted, up to which it is written beside where stack is dear
FILE = 20_000  # lines of a file, which a compiler takes a second and 80 MB for

PIECE = re.compile(r"^static (__attribute__\(\(noinline)(\)\) void \w+\([^)]*\)) \{\n.*?^\}\n", re.M | re.S)


class Piece(NamedTuple):
    """Some lines in a row: where each variable from before is first read, and each last written."""

    lines: list[re.Match[str]]
    read: dict[str, int]
    written: dict[str, int]


def split_functions(source: str, size: int = SIZE, on_stack: bool = True) -> str:
    """The same C code with long straight-line functions cut into pieces.

    What they hand on stands on the stack, or in the caller's work space, of which CasADi asks for a number
    each variable: a thread of little stack can then call it, however long the code.
    """
    return STRAIGHT.sub(lambda found: _rewritten(found, size, on_stack), source)


def files_of(source: str, size: int = FILE, name: str = "casadi") -> list[str]:
    """The same C code as files of so many lines: the first calls the pieces that the others hold.

    Their names, which the linker sees, begin with `name`.
    """
    begin = BEFORE.search(source)
    if begin is None or source.count("\n") < 2 * size:
        return [source]
    declared, files, lines = list[str](), [""], 0

    def moved(found: re.Match[str]) -> str:
        nonlocal lines
        if lines > size:
            files.append("")
            lines = 0
        lines += found[0].count("\n")
        declared.append(f'{found[1]}, visibility("hidden"){found[2]};\n')
        files[-1] += found[0].removeprefix("static ")
        return ""

    before, after = source[: begin.start()], NUMBERED.sub(rf"{name}\1", source[begin.start() :])
    after = PIECE.sub(moved, after)
    shared, known = OUTWARD.sub("static ", before), "".join(declared)
    return [before + known + after, *(shared + known + text for text in files)]


def _rewritten(found: re.Match[str], size: int, on_stack: bool) -> str:
    head, name, body = found.groups()
    lines = [match for line in body.splitlines() if (match := LINE.fullmatch(line))]
    if len(lines) < 2 * size or len(lines) != body.count("\n"):
        return found[0]
    pieces = [_piece(lines[k : k + size]) for k in range(0, len(lines), size)]
    wanted: set[str] = set()
    wanted_after = []
    for piece in reversed(pieces):
        wanted_after.append(set(wanted))
        wanted = wanted - piece.written.keys() | piece.read.keys()
    often = Counter(a for piece in pieces for a in piece.read)
    places = {a: k - NEAR for k, (a, _) in enumerate(often.most_common())}
    text, constants = "", dict[str, str]()
    for k, (piece, after) in enumerate(zip(pieces, reversed(wanted_after), strict=True)):
        text += (
            f"static __attribute__((noinline)) void {name}_{k}"
            "(const casadi_real** arg, casadi_real** res, casadi_real* __restrict s) {\n"
            + _inside(piece, after, constants, places)
            + "}\n"
        )
    zeros, out = "static const casadi_real none", "res"
    there = _there(ARGUMENT, body, zeros, "const casadi_real* in", "arg", "none", " = {0}")
    text = ARGUMENT.sub(r"arg[\1][\2]", text)
    if (
        on_stack or max((int(n) for _, n in RESULT.findall(body)), default=0) < SPARE
    ):  # else tested for in place
        there += _there(RESULT, body, "casadi_real unused", "casadi_real* out", "res", "unused")
        text, out = RESULT.sub(r"res[\1][\2]", text), "out"
    calls = "".join(f"  {name}_{k}(in, {out}, s + {NEAR});\n" for k in range(len(pieces)))
    array = f"s[{len(places) + NEAR}]" if on_stack else "*s = w"
    return f"{text}\n{head}  casadi_real {array};\n{there}{calls}  return 0;\n}}\n"


def _there(
    pattern: re.Pattern[str], body: str, spare: str, pointers: str, given: str, other: str, start: str = ""
) -> str:
    """Pointers that are never null: what the caller leaves out reads as zeros, or is written nowhere."""
    used = [(int(k), int(n)) for k, n in pattern.findall(body)]
    count, size = 1 + max((k for k, _ in used), default=0), 1 + max((n for _, n in used), default=0)
    chosen = ", ".join(f"{given}[{k}] ? {given}[{k}] : {other}" for k in range(count))
    return f"  {spare}[{size}]{start};\n  {pointers}[{count}] = {{{chosen}}};\n"


def _piece(lines: list[re.Match[str]]) -> Piece:
    piece = Piece(lines, {}, {})
    for n, line in enumerate(lines):
        target, value, result = line.groups()
        for a in VARIABLE.findall(value or result):
            if a not in piece.written:
                piece.read.setdefault(a, n)
        if target:
            piece.written[target] = n
    return piece


def _inside(piece: Piece, after: set[str], constants: dict[str, str], places: dict[str, int]) -> str:
    """Declarations and lines of a piece; `constants`, kept up to date, need not be stored.

    Those that only later pieces use are not written here: compilers warn of variables that nobody reads.
    """
    named = {a for line in piece.lines for a in VARIABLE.findall(line[2] or line[3])}
    computed = {line[1] for line in piece.lines if line[1] and VARIABLE.search(line[2])}
    text = [f"  casadi_real {a};" for a in sorted(named | computed)]
    for n, line in enumerate(piece.lines):
        target, value, result = line.groups()
        for a in dict.fromkeys(VARIABLE.findall(value or result)):
            if piece.read.get(a) == n:
                text.append(f"  {a}={constants.get(a, f's[{places[a]}]')};")
        if not target or target in named or target in computed:
            text.append(line[0])
        if target:
            constants.pop(target, None)
            if not VARIABLE.search(value):
                constants[target] = value
            elif target in after and piece.written[target] == n:
                text.append(f"  s[{places[target]}]={target};")
    return "\n".join(text) + "\n"
