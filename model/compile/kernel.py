"""Run traced functions: at once in CasADi's virtual machine, faster as compiled C.

Compiled libraries are kept in the cache (`storage`) under a hash of their source, the compiler and its flags.
"""

from __future__ import annotations

import contextlib
import logging
import os
import platform
import shlex
import shutil
import subprocess
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import casadi as ca
import numpy as np

from ..base.errors import CutjointError
from ..base.subprocesses import run_program, scratch_folder
from . import calling
from .c_pieces import FORM, files_of, split_functions
from .casadi_c import generate, without_calls
from .storage import cache_folder, digest, is_whole, store

# More than -O1 gains nothing in straight-line code and takes twice as long; what it needs from
# further up are the fused multiply-adds, which gcc has under "expensive optimizations". Calls
# between the pieces of a kernel stay within its library and need no detour.
FLAGS: tuple[str, ...] = ("-O1", "-fexpensive-optimizations", "-march=native", "-fno-math-errno")
FLAGS += ("-fno-semantic-interposition", "-fno-plt", "-fPIC", "-shared")
# Passes of gcc that look for what such code does not have, as measured: without them it is compiled in
# two thirds of the time and runs as fast.
_IDLE = "tree-dse dse tree-dominator-opts tree-ccp tree-bit-ccp tree-forwprop tree-copy-prop tree-pta"
_IDLE += " tree-sink forward-propagate cprop-registers"
WITHOUT_IDLE = tuple(f"-fno-{name}" for name in _IDLE.split())
TIMEOUT = 600  # seconds for one compilation
LONG = 100_000  # lines of code, one an operation, whose compilation takes seconds and is told
MOST = 800_000  # lines that are compiled unasked: a minute of a processor, less of several
Made = TypeVar("Made")
LOG = logging.getLogger(__name__)


class TooLong(RuntimeError):
    """Code that would keep a compiler busy for longer than anyone expects."""


class Kernel:
    """A traced function with its argument and result arrays, ready to be called many times.

    `kernel(q, v, ...)` returns fresh arrays, from any thread. For tight loops `bind` the code to
    arrays of your own, fill them in place, call `evaluate()` and read `results`: nothing is
    allocated or copied. Keep the kernel itself as long as its `evaluate`: the arrays are the kernel's.
    """

    def __init__(
        self,
        function: ca.Function,
        library: Path | None = None,
        arguments: Sequence[np.ndarray] = (),
        results: Sequence[np.ndarray] = (),
    ):
        self.function = function
        self.library = library
        own = [_array(function.name_in(k), function.size_in(k)) for k in range(function.n_in())]
        self.arguments = [*arguments, *own[len(arguments) :]]
        own = [_array(function.name_out(k), function.size_out(k)) for k in range(function.n_out())]
        self.results = [*results, *own[len(results) :]]
        self._copies = [array.copy for array in self.results]
        self._idle: list[Kernel] = []  # memory for calls, a set for each thread: cheaper than a lock
        self.evaluate = self._called()

    def taking(self, to: np.ndarray, found: np.ndarray, said: np.ndarray) -> Callable[[], Any]:
        """What evaluates and copies `found` into `to`, unless the code has `said` anything: then, True."""
        if direct := self._direct((to, found, said)):
            return direct
        plain, moved, words, nothing = to.data, found.data, said.data.cast("B").tobytes, bytes(said.nbytes)

        def take() -> bool:
            self.evaluate()
            if words() != nothing:
                return True
            plain[:] = moved
            return False

        return take

    def _direct(self, moves: Sequence[np.ndarray] = ()) -> Callable[[], Any] | None:
        """What calls the compiled code itself, where that is possible."""
        by = _caller_library() if self.library else None
        if not (by and self.library):
            return None
        f = self.function
        sizes = f.sz_arg(), f.sz_res(), f.sz_iw(), f.sz_w()
        code = calling.address(self.library, f.name())
        return calling.caller(by, code, sizes, self.arguments, self.results, moves)

    def _called(self) -> Callable[[], Any]:
        """What runs the code on our arrays."""
        if direct := self._direct():
            return direct
        buffer, evaluate = self.function.buffer()
        for k, array in enumerate(self.arguments):
            buffer.set_arg(k, _flat(array))
        for k, array in enumerate(self.results):
            buffer.set_res(k, _flat(array))
        self._buffer = buffer
        return evaluate  # type: ignore[no-any-return]

    @property
    def compiled(self) -> bool:
        """Whether it runs as compiled code."""
        return self.library is not None

    def bind(self, arguments: Sequence[np.ndarray], results: Sequence[np.ndarray] = ()) -> Kernel:
        """The same code on other memory: the first arguments and results are these arrays themselves."""
        return Kernel(self.function, self.library, arguments, results)

    def __call__(self, *values: Any) -> Any:
        try:
            mine = self._idle.pop()
        except IndexError:  # the first call, or other threads are at it
            mine = Kernel(self.function, self.library)
        arguments = mine.arguments
        if len(values) != len(arguments):
            raise TypeError(f"{self.function.name()} takes {len(arguments)} arguments, not {len(values)}")
        for k, value in enumerate(values):
            arguments[k][...] = value
        mine.evaluate()
        results = [copy() for copy in mine._copies]
        self._idle.append(mine)
        return results if len(results) > 1 else results[0]


@cache
def _caller_library() -> Path | None:
    """The compiled way into kernels, the same for all; None where CasADi's has to do."""
    compiler = find_compiler() if calling.DIRECT else None
    if compiler is None:
        return None
    with contextlib.suppress(OSError, RuntimeError, subprocess.SubprocessError, CutjointError):
        made = compile_library(calling.source(), compiler)
        return made if calling.address(made, "call") else None
    return None


def _array(name: str, size: tuple[int, int]) -> np.ndarray:
    """Memory of an argument or result: what has a capital name, such as G, is a matrix."""
    if name[0].isupper():
        return np.zeros(size, order="F")
    if size[1] != 1:
        raise AssertionError(f"{name} is a matrix and wants a capital letter")
    return np.zeros(size[0])


def _flat(array: np.ndarray) -> memoryview:
    """The same memory as one row of numbers, in CasADi's column order."""
    return array.reshape(-1, order="F").data


def kernel(function: ca.Function, compile: bool | None = None) -> Kernel:
    """A callable for a traced function.

    compile None: compiled where a C compiler is found; True: or an error; False: never.
    """
    if compile is False:
        return Kernel(function)
    compiler = find_compiler()
    if compiler is None:
        if compile:
            raise CutjointError("no C compiler found; install gcc or clang, set CC, or pass compile=False")
        return Kernel(function)

    def build() -> Kernel:
        library = build_library(function, compiler, None if compile else MOST)
        return Kernel(ca.external(function.name(), str(library)), library)

    return compile_or_warn(build, compiler, compile) or Kernel(function)


def compile_or_warn(build: Callable[[], Made], compiler: Sequence[str], compile: bool | None) -> Made | None:
    """What is built, or None and a warning if the compiler fails; an error where that is insisted on."""
    named = shlex.join(compiler)
    try:
        return build()
    except (TooLong, CutjointError) as problem:
        if compile and isinstance(problem, CutjointError):
            raise
        warnings.warn(f"{problem}; running in the slower virtual machine", stacklevel=3)
        return None
    except (OSError, subprocess.SubprocessError, RuntimeError) as problem:
        if compile:
            raise CutjointError(f"the C compiler '{named}' failed: {_first_line(problem)}") from problem
        warnings.warn(
            f"the C compiler '{named}' failed ({_first_line(problem)}); "
            "running in the slower virtual machine",
            stacklevel=3,
        )
        return None


def find_compiler() -> tuple[str, ...] | None:
    """The command of the C compiler: $CC, which may have options, or the first of cc, gcc, clang on the path.

    None if there is none, or CUTJOINT_COMPILE=0.
    """
    if os.environ.get("CUTJOINT_COMPILE") == "0":
        return None
    wanted = os.environ.get("CC", "").strip()
    there = [wanted] if shutil.which(wanted) else _words(wanted)
    if there and shutil.which(there[0]):
        return tuple(there)
    found = next((name for name in ("cc", "gcc", "clang") if shutil.which(name)), None)
    if wanted:
        instead = f"'{found}' is taken instead" if found else "nor is cc, gcc or clang"
        warnings.warn(f"CC: the compiler '{wanted}' is not there; {instead}", stacklevel=2)
    return (found,) if found else None


def _words(command: str) -> list[str]:
    try:
        return shlex.split(command)
    except ValueError:  # a quote that never ends
        return []


def build_library(function: ca.Function, compiler: Sequence[str], most: int | None = MOST) -> Path:
    """Path of the shared library of a function, compiled now or found in the cache."""
    code = generate([function])
    lines = code.count("\n")
    if most is not None and lines > most:
        raise TooLong(
            f"'{function.name()}' takes {lines:,} operations, more than the {most:,} that are compiled "
            "unasked (compile=True asks for it)"
        )
    if lines > LONG:
        LOG.info("compiling '%s', %s operations", function.name(), f"{lines:,}")
    return compile_library(without_calls(code), compiler, key=FORM, change=_in_files)


def _in_files(code: str) -> list[str]:
    return files_of(split_functions(code))


def compile_library(
    code: str,
    compiler: Sequence[str],
    flags: Sequence[str] | None = None,
    libraries: Sequence[str] = ("-lm",),
    key: str = "",
    change: Callable[[str], list[str]] = lambda code: [code],
) -> Path:
    """Path of the shared library of C code, made now of the files `key` stands for, or found in the cache."""
    flags = flags_of(compiler) if flags is None else flags
    name = f"{digest(code, key, compiler_fingerprint(compiler, (*flags, *libraries[1:])))}.so"
    target = cache_folder() / name
    if is_whole(target):
        return target
    with scratch_folder() as folder:
        files, made = change(code), folder / "kernel.so"
        units = [f"kernel{k}" for k in range(len(files))]
        for unit, text in zip(units, files, strict=True):
            Path(folder, f"{unit}.c").write_text(text, encoding="utf-8")
        if len(files) > 1:
            with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
                plain = [flag for flag in flags if flag != "-shared"]
                each = ([*compiler, *plain, "-c", f"{unit}.c"] for unit in units)
                list(pool.map(lambda words: _run(words, folder), each))
        sources = [f"{unit}.{'o' if len(files) > 1 else 'c'}" for unit in units]
        _run([*compiler, *flags, "-o", str(made), *sources, *libraries], folder)
        return store(name, lambda path: shutil.copyfile(made, path))


def _run(words: Sequence[str], folder: Path) -> None:
    run = run_program(words, TIMEOUT, folder, compiler_environment() | {"TMPDIR": str(folder)})
    if run.returncode != 0:
        raise RuntimeError(run.stderr.decode(errors="replace").strip() or f"exit code {run.returncode}")


def compiler_fingerprint(compiler: Sequence[str], flags: Sequence[str] | None = None) -> str:
    """What the same source would become something else without: compiler, flags and processor."""
    by = (*compiler[1:], *(flags_of(compiler) if flags is None else flags), compiler_version(*compiler))
    return "\0".join([*by, platform.machine(), _processor()])


def flags_of(compiler: Sequence[str]) -> tuple[str, ...]:
    """How kernels are compiled."""
    return (*FLAGS, *(WITHOUT_IDLE if is_gcc(compiler_version(*compiler)) else ()))


def compiler_version(program: str, *options: str) -> str:
    """What a compiler says of itself."""
    return _version(shutil.which(program) or program, *options)


@cache
def _version(*command: str) -> str:
    words = [*command, "--version"]
    return subprocess.run(
        words, capture_output=True, text=True, timeout=60, check=False, env=compiler_environment()
    ).stdout


def compiler_environment() -> dict[str, str]:
    """What compilers see: zig, which needs a cache, has it beside ours."""
    with contextlib.suppress(CutjointError):
        return {"ZIG_GLOBAL_CACHE_DIR": str(cache_folder() / "zig"), **os.environ}
    return dict(os.environ)


def is_gcc(said: str) -> bool:
    """Whether that is what a compiler says of itself; others do not know the names of its passes."""
    return "Free Software Foundation" in said


@cache
def _processor() -> str:
    """Code for the native processor must not be found by another one that shares the home folder."""
    with contextlib.suppress(OSError):
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next((line for line in lines if line.startswith(("flags", "Features"))), platform.processor())
    return platform.processor()


def _first_line(problem: BaseException) -> str:
    lines = str(problem).strip().splitlines()
    return lines[0][:200] if lines else type(problem).__name__
